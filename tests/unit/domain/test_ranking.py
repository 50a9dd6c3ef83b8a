"""R1, S4, O1: two arms' scores become one order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kos_assets.domain.ranking import Candidate, Standing, fuse, worth

_SCORES = st.none() | st.floats(0, 50, allow_subnormal=False).map(lambda score: round(score, 3))
_COSINES = st.none() | st.floats(-1, 1, allow_subnormal=False).map(lambda cosine: round(cosine, 3))
_ROWS = st.lists(
    st.tuples(_SCORES, _COSINES, st.sampled_from(["raw", "derived", "output"]), st.floats(0, 1), st.floats(0.5, 2)),
    min_size=1,
    max_size=8,
)
_PLAIN = Standing("raw", 0.95, 1.0)


def _candidate(number: int, bm25: float | None, cosine: float | None) -> Candidate:
    return Candidate(UUID(int=number), bm25, cosine, 0, 0.0, bm25 is not None, cosine is not None)


def _case(rows: Any) -> tuple[list[Candidate], dict[UUID, Standing]]:
    candidates = [_candidate(number, bm25, cosine) for number, (bm25, cosine, *_) in enumerate(rows, start=1)]
    standings = {
        candidate.memory_id: Standing(row[2], row[3], row[4]) for candidate, row in zip(candidates, rows, strict=True)
    }
    return candidates, standings


@given(_ROWS, st.randoms(use_true_random=False))
def test_the_order_of_candidates_never_matters(rows: Any, chance: Any) -> None:
    """R1: the same rows give the same page, ties included."""
    candidates, standings = _case(rows)
    expected = fuse(candidates, standings)
    chance.shuffle(candidates)
    assert fuse(candidates, standings) == expected


@given(_ROWS)
def test_scores_are_ordered_and_bounded(rows: Any) -> None:
    """R1: best first; relevance within 0..1; every candidate once."""
    candidates, standings = _case(rows)
    ranked = fuse(candidates, standings)
    assert [item.score for item in ranked] == sorted((item.score for item in ranked), reverse=True)
    assert all(0 <= item.relevance <= 1 + 1e-9 for item in ranked)
    assert {item.candidate for item in ranked} == set(candidates)


@given(_ROWS, st.integers(0, 7), st.floats(0.01, 5), st.sampled_from(["bm25", "cosine"]))
def test_a_better_score_never_ranks_lower(rows: Any, which: int, more: float, arm: str) -> None:
    """R1: raising one row's score in an arm that has it never lets another pass it."""
    candidates, standings = _case(rows)
    chosen = candidates[which % len(candidates)]
    value = getattr(chosen, arm)
    assume(value is not None)
    better = [replace(item, **{arm: value + more}) if item == chosen else item for item in candidates]
    before = [item.candidate.memory_id for item in fuse(candidates, standings)]
    after = [item.candidate.memory_id for item in fuse(better, standings)]
    assert set(before[: before.index(chosen.memory_id)]) >= set(after[: after.index(chosen.memory_id)])


def test_derived_at_60_is_below_raw_at_95() -> None:
    """S4: all else equal, whatever the ids say."""
    for derived, raw in ((1, 2), (2, 1)):
        candidates = [_candidate(number, 3.0, 0.5) for number in (1, 2)]
        standings = {UUID(int=derived): Standing("derived", 0.6, 1.0), UUID(int=raw): Standing("raw", 0.95, 1.0)}
        assert fuse(candidates, standings)[0].candidate.memory_id == UUID(int=raw)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0.5, 2))
def test_worth_grows_with_trust(one: float, other: float, importance: float) -> None:
    """S4, O1: more confidence never counts less; raw over derived over output; an unknown origin counts least."""
    low, high = sorted((one, other))
    assert worth(Standing("raw", low, importance)) <= worth(Standing("raw", high, importance))
    orders = [worth(Standing(origin, low, importance)) for origin in ("raw", "derived", "output", "hearsay")]
    assert orders == sorted(orders, reverse=True)
    assert worth(Standing("raw", low, importance * 2)) == pytest.approx(2 * worth(Standing("raw", low, importance)))


def test_a_retired_candidate_is_left_out_and_shapes_no_score() -> None:
    """Promise 2: what was retired between the arms and the page is not on it."""
    rows = [_candidate(1, 2.0, 0.4), _candidate(2, 1.0, 0.2), _candidate(3, 100.0, 1.0)]
    standings = {UUID(int=1): _PLAIN, UUID(int=2): _PLAIN}
    assert fuse(rows, standings) == fuse(rows[:2], standings)
    assert fuse(rows, {}) == []
    assert fuse([], standings) == []


@pytest.mark.parametrize(
    ("rows", "best", "relevance"),
    [
        ([(4.0, None), (2.0, None)], 1, [1.0, 0.5]),
        ([(None, 0.2), (None, 0.6)], 2, [1.0, 0.0]),
        ([(4.0, 0.1), (2.0, 0.9)], 2, [0.75, 0.5]),
        ([(None, 0.5)], 1, [1.0]),
        ([(None, None)], 1, [0.0]),
        ([(0.0, 0.3), (0.0, 0.6)], 2, [1.0, 0.0]),
    ],
)
def test_known_sums(rows: list[tuple[float | None, float | None]], best: int, relevance: list[float]) -> None:
    """R1: half the words over their maximum, half the cosine between its ends; one arm alone speaks for itself."""
    candidates = [_candidate(number, *row) for number, row in enumerate(rows, start=1)]
    ranked = fuse(candidates, {candidate.memory_id: _PLAIN for candidate in candidates}, words_weight=0.5)
    assert ranked[0].candidate.memory_id == UUID(int=best)
    assert [item.relevance for item in ranked] == pytest.approx(relevance)
