"""Concepts between recomputations: ids, labels, trends, whether enough changed (C2-C4)."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.domain.concepts import (
    WINDOW,
    Drift,
    Lineage,
    Term,
    enough_changed,
    entity_term,
    heading_terms,
    label_holds,
    labels,
    lineage,
    trend,
)

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def ids(*numbers: int) -> frozenset[UUID]:
    return frozenset(UUID(int=number) for number in numbers)


def span(first: int, last: int) -> frozenset[UUID]:
    return ids(*range(first, last))


ONE, TWO = UUID(int=1001), UUID(int=1002)


def kinds(found: Lineage) -> dict[UUID, str]:
    return {change.concept_id: change.kind for change in found.changes}


def test_a_concept_keeps_its_id_while_members_come_and_go() -> None:
    """C2: best overlap."""
    found = lineage({ONE: span(0, 10), TWO: span(20, 30)}, [span(22, 33), span(2, 12)])
    assert found.ids == (TWO, ONE)
    assert [change.kind for change in found.changes] == ["kept", "kept"]


def test_a_split_keeps_the_id_in_the_larger_part_and_is_recorded() -> None:
    """C2: splits."""
    found = lineage({ONE: span(0, 10)}, [span(0, 4), span(4, 10)])
    assert found.ids[1] == ONE
    change = next(change for change in found.changes if change.concept_id == found.ids[0])
    assert (change.kind, change.others, change.overlap) == ("split", (ONE,), 1.0)


def test_a_merge_keeps_the_larger_id_and_is_recorded() -> None:
    """C2: merges."""
    found = lineage({ONE: span(0, 6), TWO: span(6, 10)}, [span(0, 10)])
    assert found.ids == (ONE,)
    change = next(change for change in found.changes if change.concept_id == TWO)
    assert (change.kind, change.others) == ("merged", (ONE,))


def test_what_nobody_takes_over_ends_and_what_is_new_is_created() -> None:
    """C2: an id is never handed to something else."""
    found = lineage({ONE: span(0, 5)}, [span(50, 55)])
    assert found.ids[0] != ONE
    assert kinds(found) == {ONE: "ended", found.ids[0]: "created"}
    scattered = lineage({ONE: span(0, 12)}, [span(0, 2) | span(100, 120), span(4, 6) | span(200, 220)])
    assert ONE not in scattered.ids
    assert kinds(scattered)[ONE] == "ended"


def test_a_new_id_follows_from_its_founders_and_is_never_taken_twice() -> None:
    """C2: a rebuild gives the same ids; founders that meet again after their concept moved on get another one."""
    first = lineage({}, [span(0, 5)]).ids[0]
    assert lineage({}, [span(0, 5)]).ids[0] == first
    again = lineage({first: span(50, 60)}, [span(50, 60), span(0, 5)])
    assert again.ids[0] == first
    assert again.ids[1] != first


partitions = st.lists(st.integers(0, 5), min_size=12, max_size=12)


def groups(places: list[int]) -> list[frozenset[UUID]]:
    return [ids(*(n for n, at in enumerate(places) if at == place)) for place in sorted(set(places))]


@settings(max_examples=120)
@given(before=partitions, after=partitions, order=st.randoms(use_true_random=False))
def test_lineage_accounts_for_everything_in_any_order(
    before: list[int], after: list[int], order: random.Random
) -> None:
    """C2: every found community gets one id of its own, every former concept one fate, whatever the order."""
    known = {UUID(int=1000 + index): group for index, group in enumerate(groups(before))}
    found = groups(after)
    result = lineage(known, found)
    assert len(set(result.ids)) == len(found)
    told = [change.concept_id for change in result.changes]
    assert sorted(told) == sorted({*known, *result.ids})
    assert all(kinds(result)[one] != "ended" or one not in result.ids for one in known)
    mixed = list(found)
    order.shuffle(mixed)
    other = lineage(dict(reversed(known.items())), mixed)
    assert dict(zip(mixed, other.ids, strict=True)) == dict(zip(found, result.ids, strict=True))


@given(before=partitions)
def test_nothing_changed_changes_no_id(before: list[int]) -> None:
    """C2: the same communities keep their ids."""
    found = groups(before)
    first = lineage({}, found)
    second = lineage(dict(zip(first.ids, found, strict=True)), found)
    assert second.ids == first.ids
    assert {change.kind for change in second.changes} == {"kept"}


def test_a_label_holds_until_membership_really_changes() -> None:
    """C2: labels are kept; slow drift adds up against the members that the label was made from."""
    assert label_holds(span(0, 10), span(1, 11))
    assert label_holds(span(0, 10), span(0, 20))
    assert not label_holds(span(0, 10), span(5, 20))
    assert not label_holds((), span(0, 3))


def project(name: str) -> Term:
    return entity_term(name, "project")


def test_a_label_says_what_sets_a_concept_apart() -> None:
    """C2: the term that is everywhere names nothing; the project names its concept."""
    everywhere = entity_term("Jonas Ebenreit", "person")
    concepts = {
        ONE: [{everywhere, project("Kobel")} for _ in range(4)],
        TWO: [{everywhere, project("Murmel")} for _ in range(4)],
    }
    assert labels(concepts) == {ONE: "Kobel", TWO: "Murmel"}


def test_more_terms_where_one_does_not_cover_and_distinct_labels() -> None:
    """C2: up to three terms; no two concepts share a label."""
    paylark, django = entity_term("Paylark", "tool"), entity_term("Django", "tool")
    split = {
        ONE: [{paylark, project("Kobel")}, {project("Kobel")}, {paylark}, {paylark}, set(), set()],
        TWO: [{project("Kobel"), django} for _ in range(3)],
    }
    assert labels(split) == {ONE: "Paylark, Kobel", TWO: "Kobel"}
    assert labels(split, taken=["kobel", "Paylark, Kobel"]) == {
        ONE: "Paylark, Kobel (2)",
        TWO: "Kobel, Django",
    }


def test_a_label_says_nothing_twice() -> None:
    """C2: neither a tag and the tag below it, nor a phrase and its word, nor a piece of an unspaced name."""
    tags = [entity_term("murmel/radio", "topic"), entity_term("murmel", "topic")]
    words = sorted(heading_terms("snow study", "en"), key=lambda term: term.text)
    cjk = [entity_term("传感器", "topic"), entity_term("传感器安装", "topic")]
    for terms in (tags, words, cjk):
        found = labels({ONE: [{terms[0]}, {terms[1]}, {terms[-1]}, set(), set(), set()]})
        assert "," not in found[ONE]


def test_labels_come_from_what_may_be_read() -> None:
    """C2, S12: without any term there is no label, and nothing is made up."""
    assert labels({ONE: [set(), set()], TWO: [{project("Kobel")}]}) == {TWO: "Kobel"}
    assert labels({}) == {}


def test_headings_give_phrases_without_stop_words_and_numbers() -> None:
    """C2: heading terms, in scripts with and without spaces."""
    assert {term.text for term in heading_terms("The snow study of 2026-05", "en")} == {"snow", "study", "snow study"}
    assert "安装" in {term.text for term in heading_terms("传感器安装说明", "zh")}
    assert not heading_terms("ADR-005 17", "en")
    plural = {term.key for term in heading_terms("Gateways", "en")}
    assert plural == {term.key for term in heading_terms("gateway", "en")}


def at(*days: float) -> list[datetime]:
    return [NOW - timedelta(days=day) for day in days]


def test_trends() -> None:
    """C3: current or not, rising, steady, fading, from dates alone."""
    assert trend(at(1, 2, 3, 60), NOW).direction == "rising"
    assert trend(at(1, 30, 60, 90), NOW).direction == "steady"
    assert trend(at(30, 35, 60, 61, 90, 91), NOW).direction == "fading"
    old = trend(at(400, 420), NOW)
    assert (old.current, old.direction, old.last_at) == (False, "fading", at(400)[0])
    assert trend([], NOW).last_at is None
    assert trend(at(-5), NOW).current is False


@given(days=st.lists(st.floats(0, 300), max_size=20))
def test_one_more_thing_today_never_lets_a_concept_fade(days: list[float]) -> None:
    """C3: activity in the last window moves the trend up or not at all."""
    rank = {"fading": 0, "steady": 1, "rising": 2}
    before, after = trend(at(*days), NOW), trend(at(*days, 0), NOW)
    assert rank[after.direction] >= rank[before.direction]
    assert after.current
    assert trend(at(*days), NOW + 4 * WINDOW + timedelta(days=300)).current is False


@settings(max_examples=150)
@given(
    memories=st.integers(0, 100_000),
    moved=st.tuples(st.integers(0, 3000), st.integers(0, 3000), st.integers(0, 3000)),
    more=st.integers(0, 500),
    days=st.floats(0, 100),
)
def test_more_change_is_never_less_due(memories: int, moved: tuple[int, int, int], more: int, days: float) -> None:
    """C4: monotone in the changes and in the time since."""
    added, removed, changed = moved
    before = enough_changed(Drift(memories, added, removed, changed, days))
    if before.due:
        assert enough_changed(Drift(memories, added, removed, changed + more, days)).due
        assert enough_changed(Drift(memories + more, added + more, removed, changed, days)).due
        assert enough_changed(Drift(memories, added, removed, changed, days + more)).due


def test_recomputed_only_when_enough_changed() -> None:
    """C4: nothing changed means not due, however long ago; a few wait for a week; many do not wait."""
    assert enough_changed(Drift(1000, 0, 0, 0, None)).due
    assert not enough_changed(Drift(0, 0, 0, 0, None)).due
    assert not enough_changed(Drift(1000, 0, 0, 0, 900)).due
    assert not enough_changed(Drift(1000, 3, 0, 0, 1)).due
    assert enough_changed(Drift(1000, 3, 0, 0, 8)).due
    assert enough_changed(Drift(1000, 10, 5, 5, 0)).due
    assert not enough_changed(Drift(20, 2, 0, 0, 0)).due
    assert enough_changed(Drift(20, 3, 0, 0, 0)).due
