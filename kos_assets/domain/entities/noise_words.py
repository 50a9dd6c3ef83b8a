# ruff: noqa: SIM905 - a list of words reads as words
"""Words and phrases that are never the name of an entity, in several languages (N1). Data only."""

from __future__ import annotations

from typing import Final

from kos_assets.domain.wording_lists import FUNCTION, MONTHS, NUMERALS, PRONOUNS

CALENDAR: Final = MONTHS | frozenset(
    """
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun mo di mi do fr sa so
    jänner feber maerz janv févr avr juil déc lun mar mer jeu ven sam dim ene abr ago dic gennaio febbraio marzo aprile
    maggio giugno luglio agosto settembre ottobre novembre dicembre lunedì martedì mercoledì giovedì venerdì sabato
    domenica janeiro fevereiro março abril maio junho julho setembro outubro novembro dezembro segunda terça quarta
    quinta sexta январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь января февраля марта
    апреля мая июня июля августа сентября октября ноября декабря понедельник вторник среда четверг пятница суббота
    воскресенье spring summer autumn fall winter frühling sommer herbst today tomorrow yesterday heute morgen gestern
    easter christmas ostern weihnachten pâques noël am pm utc gmt cet cest 星期一 星期二 星期三 星期四 星期五 星期六
    星期日 月曜日 火曜日 水曜日 木曜日 金曜日 土曜日 日曜日 今天 明天 昨天 今日 昨日
    """.split()
)

STARTERS: Final = (
    FUNCTION
    | PRONOUNS
    | NUMERALS
    | frozenset(
        """
    after again all almost already although always any anybody anyone anything around because before below besides best
    better between both but by call check click compare copy create delete dear do each either else even every everybody
    everyone everything except few find first fix for found from get give given good got great had hello help here hi
    hot how however hence if instead keep last later let like look made make many maybe me mind more most much my never
    new next no nobody none nor not nothing now off old once one only open order other others our out own per please put
    read regarding run same see seen send set several she show since so some somebody something sometimes soon start
    still stop such take tell test thank thanks their them then thereafter therefore they though through today together
    told too try turn under unless until up update us use used using very wait want was we well were what whatever
    whenever whether whichever why with within without worst write wrote yes yet you your yours i i'm i've it's that's
    don't can't let's there's
    aber alle alles als also an auch bei beim bis bitte da dann dass daß dein deine denn deshalb diese dieser dieses
    doch dort durch einmal erst etwas euch fertig für ganz gegen gut hallo hat heute hier ihr ihre immer ja jede jeder
    jedes jetzt kein keine mal man mehr mein meine mit nach nein neu neue nicht nichts noch nun nur ob oder ohne schon
    sehr sein seine seit sich siehe sind so sobald sonst trotzdem um und uns unser unsere viele vom von vor wann warum
    was weil wenn wer wie wir wird wo zu zuerst zum zur
    alors après aujourd'hui aussi autre avant avoir bien bonjour car ce cela ces cet cette chez comme donc elle elles
    encore enfin est et être il ils je leur mais même merci mes moi mon ne non nos notre nous on ou où oui parce pas
    peut plus pourquoi puis quand que quel quelle qui sa sans se ses si son sont sous sur ta tes toi ton tous tout tu
    voici voilà vos votre vous à
    ahora antes aquí así aunque cada como cuando de desde después donde ella ellos entonces es ese esta este gracias
    hasta hay hola hoy la las lo los mi muy no nos o para pero porque que quien se si sin sobre su también todo un una y
    """.split()
    )
)
"""Words that begin sentences; a capital letter there says nothing about them."""

TEMPLATE_HEADINGS: Final = frozenset(
    line.strip()
    for line in """
    todo
    todos
    to do
    to-do
    to-dos
    done
    doing
    backlog
    inbox
    untitled
    tasks
    task
    task list
    open tasks
    aufgaben
    offene punkte
    action items
    action item
    actions
    next actions
    next steps
    next step
    nächste schritte
    maßnahmen
    follow up
    follow-up
    follow-ups
    agenda
    tagesordnung
    attendees
    participants
    teilnehmer
    anwesend
    meeting notes
    minutes
    protokoll
    summary
    zusammenfassung
    overview
    übersicht
    überblick
    abstract
    introduction
    einleitung
    einführung
    background
    hintergrund
    context
    kontext
    decision
    decisions
    beschlüsse
    entscheidung
    entscheidungen
    consequences
    konsequenzen
    alternatives
    rationale
    conclusion
    conclusions
    fazit
    notes
    note
    notizen
    references
    reference
    further reading
    see also
    siehe auch
    links
    related
    related notes
    resources
    ressourcen
    sources
    quellen
    table of contents
    contents
    inhalt
    inhaltsverzeichnis
    getting started
    quick start
    quickstart
    installation
    usage
    configuration
    examples
    example
    beispiele
    beispiel
    troubleshooting
    faq
    q&a
    changelog
    change log
    release notes
    license
    licence
    contributing
    acknowledgements
    acknowledgments
    readme
    index
    home
    daily note
    daily notes
    weekly review
    journal
    log
    timeline
    zeitplan
    status
    scope
    goals
    goal
    ziele
    ziel
    milestones
    meilensteine
    risks
    risiken
    open questions
    questions
    question
    offene fragen
    ideas
    idea
    ideen
    cause
    root cause
    impact
    fix
    why
    why now
    what happened
    what went well
    lessons learned
    key takeaways
    takeaways
    highlights
    key points
    definition
    properties
    metadata
    template
    templates
    vorlage
    vorlagen
    résumé
    sommaire
    ordre du jour
    prochaines étapes
    tâches
    à faire
    décisions
    participants
    conclusion
    références
    voir aussi
    resumen
    tareas
    pendientes
    próximos pasos
    decisiones
    asistentes
    conclusión
    referencias
    riassunto
    attività
    prossimi passi
    resumo
    tarefas
    итоги
    задачи
    план
    решения
    участники
    повестка
    заметки
    ссылки
    резюме
    总结
    摘要
    待办
    待办事项
    会议纪要
    行动项
    下一步
    参考
    参考资料
    概述
    背景
    议程
    要約
    まとめ
    議事録
    次のステップ
    参考文献
    概要
    عناصر العمل
    ملخص
    الخطوات التالية
    """.splitlines()
    if line.strip()
)

KINDS: Final = frozenset(
    """
    daily weekly monthly meta meeting meetings decision decisions tool tools project projects people person scratch
    draft drafts runbook runbooks reading agent agents plan plans reference ref idea ideas party status incident mail
    email attachment attachments archive archived inbox note notes todo todos done important urgent private public
    personal work misc other general blog post article moc index template templates favorite favourite favorites
    starred evergreen seedling permanent fleeting literature draft wip review reviewed published unpublished question
    questions english deutsch français español 中文 日本語 русский task tasks supplier partner team board warden tag
    tags topic topics area areas resource resources chat chats calendar event events document documents
    """.split()
)
"""Tags that say what sort of note it is, or in which state: they sort notes and name nothing."""

PLAIN: Final = frozenset(
    """
    note notes warning warn info tip caution danger important hint example todo fixme xxx hack nb ps pps re fwd fw aw
    wg cc bcc eur usd gbp chf kg km cm mm mb gb tb kb kw kwh mw db dbi dbm ah va kva khz mhz ghz hz am pm ok okay id
    ids uid uuid url urls uri pin faq asap fyi tbd tba eta aka etc ie eg vs no yes true false null none nil undefined
    nan and or not if else page pages section chapter figure table part appendix version step steps day week month
    year date time name title type value field key line number settings options option menu button file files folder
    folders new old god mum mom dad sir madam mr mrs ms dr prof herr frau monsieur madame señor señora euro euros
    dollar dollars english german french spanish italian russian chinese japanese arabic markdown deutsch englisch
    doktor doctor
    """.split()
)
"""Single words that are written with capitals and still name nothing that one would look up."""

ROLE_BOXES: Final = frozenset(
    """
    info sales support contact kontakt office hello help team billing invoice invoices buchhaltung accounting admin
    service claims schaden press jobs careers newsletter news marketing security abuse webmaster postmaster hostmaster
    desk reservations booking bookings orders shop welcome
    """.split()
)
"""Local parts of addresses, and words of sender names, behind which there is a desk and not a person."""

SILENT_BOXES: Final = frozenset(
    "noreply no-reply no_reply donotreply do-not-reply mailer-daemon bounce bounces notifications notification".split()
)
