"""The replay of decisions: whatever order the records come in, one state follows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.domain.decisions import Decision, Op, flaw, fold, fold_pairs, in_order

START = datetime(2026, 11, 3, 9, tzinfo=UTC)
A, B, C, D = (str(UUID(int=number)) for number in range(1, 5))
_LINKS = ("supersedes", "cut", "instead_of")


def told(seq: int, op: Op, subject: str, *, machine: str = "m-1", minute: int | None = None, **body: Any) -> Decision:
    at = START + timedelta(minutes=seq if minute is None else minute)
    return Decision(machine, "2026-11", seq, at, "maria", op, subject, body)


@st.composite
def histories(draw: st.DrawFn) -> list[Decision]:
    """Records of two machines whose clocks meet, some with the same name and other content (a copied machine)."""
    ids = st.sampled_from((A, B, C, D))
    links = st.none() | ids
    body = st.one_of(
        st.tuples(st.sampled_from(("write", "adopt")), st.fixed_dictionaries({"supersedes": links})),
        st.tuples(
            st.just("restore"), st.fixed_dictionaries({"cut": links}) | st.fixed_dictionaries({"instead_of": links})
        ),
        st.tuples(st.sampled_from(("forget", "erase", "pending")), st.just({})),
        st.tuples(st.just("verify"), st.fixed_dictionaries({"how": st.sampled_from(("test", "person"))})),
        st.tuples(st.just("annotate"), st.fixed_dictionaries({"boost": st.sampled_from((0.5, 2))})),
        st.tuples(st.sampled_from(("merge", "unmerge", "reject")), st.fixed_dictionaries({"other": ids})),
    )
    rows = draw(
        st.lists(st.tuples(st.sampled_from("mn"), st.integers(1, 5), st.integers(0, 5), ids, body), max_size=14)
    )
    return [told(seq, op, subject, machine=machine, minute=at, **own) for machine, seq, at, subject, (op, own) in rows]


def closure(subject: str, records: Sequence[Decision]) -> list[Decision]:
    """What the index hands to the fold for one memory: all that decisions join to it."""
    touched = {subject}
    while True:
        found = [item for item in records if touched & names(item)]
        more = touched.union(*map(names, found))
        if more == touched:
            return found
        touched = more


def names(record: Decision) -> set[str]:
    return {record.subject, *(str(record.body[name]) for name in _LINKS if record.body.get(name))}


@settings(max_examples=100, deadline=None)
@given(histories(), st.randoms(use_true_random=False), st.integers(0, 14))
def test_any_order_and_any_copies_fold_to_one_state(records: list[Decision], chance: Any, cut: int) -> None:
    """V6: replay is order-independent, and a record that arrives twice counts once."""
    shuffled = list(records)
    chance.shuffle(shuffled)
    left, right = records[:cut], records[cut:]
    whole = fold(records)
    assert fold(shuffled) == whole
    assert fold(left + right) == fold(right + left)
    assert fold(records + shuffled) == whole
    assert fold_pairs(shuffled + records) == fold_pairs(records)


@settings(max_examples=100, deadline=None)
@given(histories())
def test_what_a_memory_is_joined_to_is_enough_to_fold_it(records: list[Decision]) -> None:
    """V6: a verb that folds a memory's own neighbourhood and a rebuild that folds everything agree."""
    known = in_order(records)
    whole = fold(known)
    for subject in whole:
        assert fold(closure(subject, known))[subject] == whole[subject]


@settings(max_examples=100, deadline=None)
@given(histories())
def test_links_are_two_sided_and_ends_are_final(records: list[Decision]) -> None:
    """V6, S11: who is superseded is what the successor supersedes; erase beats all; a reject beats a merge."""
    known = in_order(records)
    states = fold(known)
    for subject, state in states.items():
        assert state.supersedes != subject
        if state.superseded_by is not None:
            assert states[state.superseded_by].supersedes == subject
        if state.supersedes is not None:
            assert states[state.supersedes].superseded_by is not None
    assert {item for item, state in states.items() if state.erased} == {r.subject for r in known if r.op == "erase"}
    rejected = {frozenset((item.subject, item.body["other"])) for item in known if item.op == "reject"}
    assert {pair for pair, state in fold_pairs(known).items() if state == "rejected"} == rejected


def test_two_records_of_one_name_are_settled_alike_in_any_order() -> None:
    """V6: a copied machine's twin records: the earlier one counts, everywhere."""
    early, late = told(1, "forget", A, minute=1), told(1, "restore", A, minute=2)
    same = [told(1, "verify", A, how="test"), told(1, "verify", A, how="person")]
    assert in_order([early, late]) == in_order([late, early]) == [early]
    assert in_order(same) == in_order(same[::-1])


def test_a_correction_supersedes_and_a_restore_cuts_it() -> None:
    """V6: the latest word about a link counts."""
    wrote = [told(1, "write", A), told(2, "write", B, supersedes=A)]
    states = fold(wrote)
    assert (states[A].superseded_by, states[B].supersedes, states[B].superseded_by) == (B, A, None)
    cut = fold([*wrote, told(3, "restore", A, cut=B)])
    assert (cut[A].superseded_by, cut[B].supersedes, cut[B].undone) == (None, None, False)
    again = fold([*wrote, told(3, "restore", A, cut=B), told(4, "write", C, supersedes=A)])
    assert (again[A].superseded_by, again[B].supersedes, again[C].supersedes) == (C, None, A)


def test_of_two_successors_the_latest_word_names_the_one() -> None:
    """V6: two machines corrected one memory at once; the later write or adoption holds it."""
    records = [told(1, "write", B, supersedes=A), told(1, "write", C, machine="m-2", minute=2, supersedes=A)]
    assert fold(records)[A].superseded_by == C
    assert fold([*records, told(3, "adopt", B, supersedes=A)])[A].superseded_by == B
    moved = fold([*records, told(3, "adopt", C, supersedes=D)])
    assert (moved[A].superseded_by, moved[D].superseded_by) == (B, C)
    assert fold([told(1, "write", A, supersedes=A)])[A].superseded_by is None


def test_a_memory_restored_instead_of_another_undoes_it() -> None:
    """S7: undone until restored itself: then both live, unless it comes back instead of the first."""
    records = [told(1, "write", A), told(2, "write", B, supersedes=A), told(3, "restore", A, instead_of=B)]
    states = fold(records)
    assert (states[A].superseded_by, states[A].undone, states[B].undone, states[B].supersedes) == (
        None,
        False,
        True,
        None,
    )
    beside = fold([*records, told(4, "restore", B)])
    assert (beside[A].undone, beside[B].undone, beside[A].superseded_by) == (False, False, None)
    swapped = fold([*records, told(4, "restore", B, instead_of=A)])
    assert (swapped[A].undone, swapped[B].undone) == (True, False)


def test_forget_and_restore_the_later_wins_and_nothing_undoes_an_erasure() -> None:
    """S11: a forget holds until a restore; an erasure holds for ever, whenever it was recorded."""
    assert fold([told(1, "write", A), told(2, "forget", A)])[A].forgotten
    assert not fold([told(2, "forget", A), told(3, "restore", A)])[A].forgotten
    assert fold([told(3, "forget", A), told(2, "restore", A)])[A].forgotten
    state = fold([told(1, "erase", A), told(2, "restore", A), told(3, "write", A)])[A]
    assert state.erased


def test_a_forgotten_memory_keeps_its_successor_until_restored() -> None:
    """S7: ending a forget never leaves two live versions in one chain."""
    records = [told(1, "write", A), told(2, "write", B, supersedes=A), told(3, "forget", A)]
    states = fold(records)
    assert (states[A].forgotten, states[A].superseded_by, states[B].supersedes) == (True, B, A)
    restored = fold([*records, told(4, "restore", A)])
    assert (restored[A].forgotten, restored[A].superseded_by, restored[B].supersedes) == (False, None, None)


def test_waits_marks_and_neighbours_are_kept() -> None:
    """G8, O1: the latest verification and weight count; a wait ends with the write."""
    wait = told(1, "pending", A, digest="x")
    assert fold([wait])[A].pending == wait
    edges = [["similar_to", B, "numbers_differ"]]
    written = told(2, "write", A, digest="x", edges=edges)
    marks = [told(3, "verify", A, how="test"), told(4, "verify", A, how="person"), told(5, "annotate", A, boost=2)]
    state = fold([*marks, written, wait])[A]
    assert (state.written, state.pending, state.edges) == (written, None, (("similar_to", B, "numbers_differ"),))
    assert (state.verified_how, state.verified_by, state.verified_at) == ("person", "maria", marks[1].at)
    assert state.boost == 2.0


def test_a_reject_is_a_durable_block_and_an_unmerge_reopens() -> None:
    """V6: a reject beats a merge before or after it; otherwise the later word counts, from either side."""
    pair = frozenset(("acme", "acme-ltd"))
    merge = told(1, "merge", "acme", other="acme-ltd")
    assert fold_pairs([merge]) == {pair: "merged"}
    assert fold_pairs([merge, told(2, "unmerge", "acme-ltd", other="acme")]) == {pair: "open"}
    assert fold_pairs([merge, told(2, "unmerge", "acme", other="acme-ltd", minute=0)]) == {pair: "merged"}
    for minute in (0, 9):
        assert fold_pairs([merge, told(2, "reject", "acme-ltd", other="acme", minute=minute)]) == {pair: "rejected"}


@pytest.mark.parametrize(
    ("op", "body"),
    [
        ("annotate", {}),
        ("annotate", {"boost": True}),
        ("annotate", {"boost": 10**400}),
        ("annotate", {"boost": 5}),
        ("verify", {}),
        ("merge", {}),
        ("write", {"supersedes": "not an id"}),
        ("write", {"supersedes": A.replace("0", "A")}),
        ("forget", {"note_id": 7}),
        ("write", {"edges": [["similar_to", B]]}),
        ("write", {"edges": [["similar_to", "b", "code"]]}),
        ("write", {"digest": 1}),
        ("write", {"seq": 1}),
        ("write", {"more": float("nan")}),
        ("write", {"more": {"deep": ["\x00"]}}),
        ("write", {"more": "\ud800"}),
        ("write", {"more": {1, 2}}),
        ("wither", {}),
    ],
)
def test_a_record_that_no_row_can_follow_is_named(op: Any, body: dict[str, Any]) -> None:
    """V6: what would break the fold or the store is found before either sees it."""
    assert flaw(Decision("m-1", "2026-11", 1, START, "maria", op, A, body))
    assert flaw(Decision("m-1", "2026-11", 1, START, "maria", "forget", A, {"namespace": "global"})) is None


@pytest.mark.parametrize(
    ("seq", "by", "subject"), [(0, "m", A), (2**31, "m", A), (True, "m", A), (1, None, A), (1, "m", "\x00")]
)
def test_a_record_without_name_or_subject_is_no_record(seq: Any, by: Any, subject: Any) -> None:
    """V6: number, principal and subject have to be there."""
    assert flaw(Decision("m-1", "2026-11", seq, START, by, "forget", subject))
