# ruff: noqa: SIM905 - a list of words reads as words
"""Words by which a text shows of what class a name is, in several languages (N1). Data only."""

from __future__ import annotations

from typing import Final

_KINDS: Final = {
    "person": "person people persons contact contacts personen kontakt kontakte personne personnes persona personas "
    "persone человек люди контакты 人物 人",
    "organisation": "organisation organization organisations organizations org orgs company companies firma firmen "
    "unternehmen entreprise empresa azienda компания 组织 公司 会社 team teams",
    "tool": "tool tools software app apps application library werkzeug werkzeuge outil outils herramienta service "
    "services 工具 软件 ツール инструмент",
    "project": "project projects projekt projekte projet projets proyecto proyectos progetto проект проекты 项目 "
    "プロジェクト",
    "place": "place places location locations ort orte lieu lieux lugar lugares luogo site sites место 地点 場所",
    "event": "event events ereignis veranstaltung événement evento conference conferences событие 事件",
    "product": "product products produkt produkte produit producto device hardware gerät 产品 製品",
    "topic": "topic topics concept concepts thema themen sujet tema term terms glossary тема 概念 主题",
    "repository": "repository repositories repo repos",
}
CLASS_OF_KIND: Final = {word: name for name, listed in _KINDS.items() for word in listed.split()}
"""What a note is about, by the words that people use for it in `kind`, `type`, tags and folders."""

SIGNIFICANT_TAGS: Final = frozenset(
    "person contact organisation organization company tool project place product repository".split()
)
"""Tags that say what a note is about, in the singular; `people` or `tools` on a note may only say what it touches."""

NOT_HANDLES: Final = frozenset(
    """
    param params return returns throws type types see since deprecated todo example default private public protected
    override media import export font-face keyframes charset include require ts-ignore ts-expect-error startuml enduml
    all here everyone channel property template home work office phone computer errands
    """.split()
)
NOT_OWNERS: Final = frozenset(
    "orgs topics features marketplace about settings users search sponsors apps login collections trending".split()
)
ORGANISATIONS: Final = frozenset(
    """
    gmbh ag kg ohg ug inc ltd llc llp plc corp corporation company sarl sas srl spa bv nv oy ab aps pty institute
    institut
    instituto university universität université universidad hochschule college school academy akademie hosting
    cooperative genossenschaft foundation stiftung fund bank versicherung association verein verband society club guild
    group holding ministry ministerium agency agentur department committee council labs laboratory laboratories studio
    studios hospital clinic klinik museum church library consulting technologies solutions logistics airlines insurance
    brewery press media security sensing networks partners ventures
    """.split()
)
"""Last words of an organisation's name."""

TRADES: Final = frozenset(
    """
    firma heizung dachdeckerei gasthof gasthaus hotel bäckerei tischlerei schreinerei spenglerei metzgerei fleischerei
    apotheke restaurant café banque banco università universität université instituto institut ministère ministerium
    verlag autohaus spedition refuges société genossenschaft hüttengenossenschaft praxis
    """.split()
)
"""First words of an organisation's name."""

PERSON_AFTER: Final = (
    "who says? said asks? asked wants? wanted told wrote writes phoned rang called calls thinks thought proposes "
    "proposed suggests suggested agreed joined left leads brings sent sends tested sagt sagte fragt meint schreibt dit "
    "demande"
).split()
POSSESSIONS: Final = "brother sister wife husband mother father desk office laptop eyes phone".split()
PERSON_BEFORE: Final = (
    "brother sister niece nephew mother father wife husband dispatcher landlady landlord student colleague deputy boss "
    "friend doctor successor author mentor"
).split()
