"""Words that dates are written with: months, weekdays, zones, labels, in the languages that people keep notes in (S10).

Here: data. Not here: how a date is put together (dates.py) or where in a note it counts (lead.py). Names are compared
case-folded. Left out: what means two things (`CST`, `IST` and `BST` are each the zone of two countries; `out` is
October in Portuguese and a word in English).
"""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENGLISH_MONTHS: Final = (
    "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
    "september sep sept", "october oct", "november nov", "december dec",
)  # fmt: skip
_OTHER_MONTHS: Final = (
    "januar jänner januari janvier janv enero ene gennaio gen janeiro styczeń stycznia январь января янв",
    "februar februari feber février févr fevrier febrero febbraio febr fevereiro fev luty lutego февраль февраля фев",
    "märz maerz maart mars marzo março marzec marca март марта",
    "avril avr abril abr aprile kwiecień kwietnia апрель апреля апр",
    "mai mei mayo maggio mag maio maj maja май мая",
    "juni juin junio giugno giu junho czerwiec czerwca июнь июня",
    "juli juillet juil julio luglio lug julho lipiec lipca июль июля",
    "augustus augusti août aout agosto ago sierpień sierpnia август августа авг",
    "septembre septiembre settembre sett setembro set wrzesień września сентябрь сентября сент",
    "oktober okt octobre octubre ottobre ott outubro październik października октябрь октября окт",
    "novembre noviembre novembro listopad listopada ноябрь ноября нояб",
    "dezember dez décembre decembre déc diciembre dic dicembre dezembro grudzień grudnia декабрь декабря дек",
)  # fmt: skip
MONTHS: Final = {
    name: number
    for table in (ENGLISH_MONTHS, _OTHER_MONTHS)
    for number, names in enumerate(table, start=1)
    for name in names.split()
}

ZONES: Final = {  # hours east of Greenwich; RFC 5322 names the American ones
    "UTC": 0.0, "GMT": 0.0, "Z": 0.0, "WET": 0.0, "WEST": 1.0, "CET": 1.0, "CEST": 2.0, "MEZ": 1.0, "MESZ": 2.0,
    "EET": 2.0, "EEST": 3.0, "MSK": 3.0, "JST": 9.0, "KST": 9.0, "AEST": 10.0, "AEDT": 11.0, "NZST": 12.0, "NZDT": 13.0,
    "EST": -5.0, "EDT": -4.0, "CDT": -5.0, "MST": -7.0, "MDT": -6.0, "PST": -8.0, "PDT": -7.0, "HST": -10.0,
}  # fmt: skip

WEEKDAYS: Final = _words(
    """
    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun
    montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag mo di mi do fr sa so
    lundi mardi mercredi jeudi vendredi samedi dimanche lun mer jeu ven sam dim
    lunes martes miércoles miercoles jueves viernes sábado sabado domingo mié jue vie sáb dom
    lunedì martedì mercoledì giovedì venerdì domenica gio
    maandag dinsdag woensdag donderdag vrijdag zaterdag zondag ma wo vr za zo
    segunda terça terca quarta quinta sexta feira seg ter qua qui sex
    poniedziałek wtorek środa czwartek piątek sobota niedziela
    понедельник вторник среда четверг пятница суббота воскресенье пн вт ср чт пт сб вс
    """
)
LABELS: Final = _words(
    """
    date day when on the at held meeting created written posted published recorded started time timestamp of
    datum tag wann am den dem vom erstellt geschrieben veröffentlicht
    le quand créé écrit publié du fecha cuándo día el creado escrito publicado en del de
    quando giorno il creato scritto pubblicato op geschreven gemaakt wanneer data em dia criado escrito
    kiedy utworzono napisano dnia dzień дата когда создано написано день от
    日期 时间 時間 创建 創建 日時 日付 作成日 날짜 일시 작성일
    """
)
"""Words that may stand before a date which says when the note is about."""

OTHER_DATES: Final = _words(
    """
    due deadline until till before expires expiry expired valid renewal born birthday birth died founded established
    since copyright launched released release sunset shut shuts
    updated modified edited revised version scheduled reminder next license
    fällig frist bis gültig geboren gestorben gegründet seit geändert aktualisiert
    échéance avant expire né née mort fondé depuis modifié vence vencimiento hasta caduca nacido
    fundado desde modificado
    scadenza entro scade nato fondato dal modificato vervalt tot geldig geboren opgericht sinds gewijzigd
    prazo até vence nascido fundado modificado termin ważny urodzony zmieniono срок до родился основан изменено
    截止 到期 更新 修改 期限 締切 更新日 마감 수정일
    """
)
"""Words before a date that is another one than the note's: when something falls due, was founded, was last touched."""
