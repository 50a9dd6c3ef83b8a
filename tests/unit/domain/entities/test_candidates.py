"""Candidates: structure first, known names, running text; ambiguity; classes."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID, uuid5

from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.domain.entities.candidates import candidates, discovered
from kos_assets.domain.entities.classes import settled
from kos_assets.domain.entities.declared import declared
from kos_assets.domain.entities.known import KnownNames
from kos_assets.domain.entities.memory_text import Candidate, MemoryText
from kos_assets.domain.entities.names import EntityName

ROOM = UUID(int=7)


def _memory(content: str = "", **given: Any) -> MemoryText:
    heading = given.pop("heading", "A note")
    return MemoryText(uuid5(ROOM, heading + content), heading, content, **given)


PIA = _memory(heading="Pia Rauhenstein", kind="person", aliases=("Pia",))
YULAN = _memory(heading="Wen Yulan (闻雨兰)", note_path="people/Wen Yulan.md", aliases=("闻雨兰",))
TARN = _memory(heading="tarn", kind="tool")
MURMEL = _memory(heading="Murmel", kind="project", aliases=("sensor network", "node"))


def _found(memory: MemoryText, *others: MemoryText) -> dict[EntityName, Candidate]:
    known = KnownNames([one for each in (memory, *others) for one in declared(each)])
    return {one.entity: one for one in candidates(memory, known)}


def test_structure_gives_candidates_with_its_rule() -> None:
    """N1: heading, people, links, tags, signs, addresses, repositories."""
    memory = _memory(
        "Ask @pia and mail yulan@baiyun.example about https://github.com/steinkar/infra/issues/3 "
        "(Repository `murmel-node`).",
        people=("Wen Yulan <yulan@baiyun.example>", "Vroni Obersalch (Rotorwerk Inn)"),
        links=("tools/tarn.md", "2026-01-12 Murmel kick-off", "Cold rooms", "hut-map.svg"),
        tags=("murmel/radio", "daily"),
    )
    found = {entity: one.rule for entity, one in _found(memory, PIA, YULAN, TARN, MURMEL).items()}
    assert found[EntityName("person", "Wen Yulan")] == "people"
    assert found[EntityName("person", "Vroni Obersalch")] == "people"
    assert found[EntityName("organisation", "Rotorwerk Inn")] in ("people", "known_name")
    assert found[EntityName("person", "Pia Rauhenstein")] == "mention_sign"
    assert found[EntityName("tool", "tarn")] == "wikilink"
    assert found[EntityName("topic", "Cold rooms")] == "wikilink"
    assert found[EntityName("project", "Murmel")] == "tag"
    assert found[EntityName("repository", "steinkar/infra")] == "repository"
    assert found[EntityName("repository", "murmel-node")] == "repository"
    assert not [
        entity for entity in found if "kick-off" in entity.name or "svg" in entity.name or entity.name == "daily"
    ]


def test_a_link_to_a_page_is_a_document() -> None:
    """N1: a page that is about no thing of its own is a document, a link to nothing a topic."""
    memory = _memory(links=("Cold rooms",))
    known = KnownNames([])
    assert candidates(memory, known, titles={"cold rooms"})[0].entity == EntityName("document", "Cold rooms")


def test_an_address_finds_the_person_behind_another_script() -> None:
    """N1: the same address, written with the name in Chinese."""
    mail = _memory(people=("闻雨兰 <yulan@baiyun.example>",))
    assert EntityName("person", "Wen Yulan") in _found(mail, YULAN)


def test_known_names_are_found_anywhere() -> None:
    """N1: names, aliases, other scripts, possessives, short code spans; never inside words, code blocks or links."""
    text = "上周闻雨兰来信。 Pia's dog. Runs on `tarn`. The sensor network.\n```\nPia Rauhenstein\n```\n"
    found = _found(_memory(text), PIA, YULAN, TARN, MURMEL)
    assert {entity.name for entity in found} == {"Wen Yulan", "Pia Rauhenstein", "tarn", "Murmel"}
    assert _found(_memory("Utopia, tarnished; each node sleeps."), PIA, TARN, MURMEL) == {}


def test_an_ambiguous_first_name_stays_open() -> None:
    """N5: two Victors, and one of them even lists the bare name as an alias."""
    one = _memory(heading="Victor Almeida", kind="person", aliases=("Victor",))
    two = _memory(heading="Victor Brandt", kind="person")
    found = list(_found(_memory("We met Victor there."), one, two).values())
    assert [each.ambiguous for each in found] == [True]
    assert {option.name for option in found[0].options} == {"Victor Almeida", "Victor Brandt"}
    alone = _found(_memory("We met Victor there."), one)
    assert list(alone) == [EntityName("person", "Victor Almeida")]


def test_a_title_with_a_shared_surname_stays_open() -> None:
    """N5: `Frau Berg` with two Bergs."""
    people = [_memory(heading=name, kind="person") for name in ("Anna Berg", "Clara Berg")]
    assert [each.ambiguous for each in _found(_memory("Am Telefon war Frau Berg.", lang="de"), *people).values()] == [
        True
    ]
    assert EntityName("person", "Anna Berg") in _found(_memory("Am Telefon war Frau Berg.", lang="de"), people[0])


def test_running_text_gives_names_and_not_sentence_starts() -> None:
    """N1: runs in the middle of a sentence, forms of organisations, mixed case, persons by what they do."""
    text = (
        "Counted beds. Refill the tank. We host at Kobalt Hosting, in Graz. Her student, Kenji Aotsuka, wrote it.\n"
        "- Dachdeckerei Schindlauer comes on Monday\n- Meeting point: the chapel\n## Action Items\n## Big Plans Ahead\n"
        "TimescaleDB holds it; `SomeClass` does not, and max_wal_size neither."
    )
    found = {entity.name: entity.entity_class for entity in _found(_memory(text, lang="en"))}
    assert found == {
        "Kobalt Hosting": "organisation",
        "Graz": "place",
        "Kenji Aotsuka": "person",
        "Dachdeckerei Schindlauer": "organisation",
        "TimescaleDB": "tool",
    }


def test_languages_that_capitalise_nouns_or_have_no_capitals_give_no_guesses() -> None:
    """N1: German nouns; Chinese, Russian beyond what is known."""
    assert _found(_memory("Danach die Lampe tauschen und den Zähler auf null.", lang="de")) == {}
    assert _found(_memory("盒子必须装在水箱外面。", lang="zh")) == {}


def test_a_known_word_inside_another_name_is_not_it() -> None:
    """N1: `Red` in `Red Hat`, `Project` at the start of a sentence."""
    red = _memory(heading="Red", note_path="topics/red/index.md")
    assert declared(red)[0].entity == EntityName("topic", "Red")
    known = EntityName("topic", "Red")
    assert known not in _found(_memory("We met at Red Hat. Red is a colour."), red)
    assert known in _found(_memory("It is written in Red, mostly."), red)


def test_what_text_gave_is_looked_for_elsewhere_and_settled() -> None:
    """N1: a name found by its form is found again at the start of a line, with one class for both."""
    one, two = _memory("We host at Kobalt Hosting now.", lang="en"), _memory("- Kobalt Hosting: contract", lang="en")
    fresh = candidates(one, KnownNames([]))
    found = settled([each for memory in (one, two) for each in candidates(memory, KnownNames(discovered(fresh)))])
    assert [each.entity for each in found] == [EntityName("organisation", "Kobalt Hosting")] * 2
    assert {each.rule for each in found} == {"organisation_form"}


def test_declared_classes_beat_guesses() -> None:
    """N1: a page about a tool decides; else the votes do."""
    rows = [
        Candidate(UUID(int=1), EntityName("tool", "Grafana"), "Grafana", "note_heading", 1.0),
        Candidate(UUID(int=2), EntityName("place", "Grafana"), "Grafana", "capitalised_word", 0.35),
        Candidate(UUID(int=3), EntityName("topic", "Graz"), "Graz", "capitalised_word", 0.35),
        Candidate(UUID(int=4), EntityName("place", "Graz"), "Graz", "capitalised_word", 0.35),
    ]
    assert [one.entity.entity_class for one in settled(rows)] == ["tool", "tool", "place", "place"]


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=200), st.lists(st.text(max_size=30), max_size=3))
def test_any_text_is_read_and_every_span_stands_in_it(text: str, tags: list[str]) -> None:
    """N1, E7: no input fails; what running text gives is in the text; each entity at most once."""
    memory = _memory(text, tags=tuple(tags), lang="en")
    found = candidates(memory, KnownNames(declared(PIA)))
    assert all(one.span in text for one in found if one.rule not in ("tag", "note_heading"))
    assert len({(one.entity.key, one.ambiguous) for one in found}) == len(found)
    assert found == candidates(memory, KnownNames(declared(PIA)))


def test_long_notes_are_read_in_linear_time() -> None:
    """N1: twice the text takes about twice the time, for names, headings, runs of capitals and open brackets alike."""
    for piece in ("Pia Rauhenstein met Kobalt Hosting in Graz.\n## Tasks\n", "Aa ", "a", "[[", "`", "<", "%% ", "@a"):
        seconds = []
        for times in (1, 4):
            memory = _memory(piece * (20_000 * times // len(piece)), lang="en")
            known = KnownNames(declared(PIA))
            started = time.perf_counter()
            candidates(memory, known)
            seconds.append(time.perf_counter() - started)
        assert seconds[1] < 12 * seconds[0] + 0.3, (piece, seconds)
