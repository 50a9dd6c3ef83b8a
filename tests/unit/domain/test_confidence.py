"""R5: how sure a retrieval is, and the thresholds as data."""

from __future__ import annotations

import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kos_assets.domain.confidence import ADVICE, DEFAULT_THRESHOLDS, Signals, Thresholds, auroc, derive, level, signals

_SCORES = st.lists(st.integers(0, 20).map(lambda score: score / 20), min_size=1, max_size=25)
_USUAL = Thresholds(weak=0.4, strong=0.5, rule="cosine")
_ODD = Thresholds(weak=0.5, strong=0.45, rule="cosine")


@pytest.mark.parametrize(
    ("cosine", "every_word", "thresholds", "expected"),
    [
        (0.50, False, _USUAL, "strong"), (0.50, True, _USUAL, "strong"),
        (0.49, False, _USUAL, "weak"), (0.49, True, _USUAL, "literal"),
        (0.40, False, _USUAL, "none"), (0.4001, False, _USUAL, "weak"), (0.40, True, _USUAL, "literal"),
        (0.99, False, _ODD, "weak"), (0.99, True, _ODD, "literal"), (0.50, False, _ODD, "none"),
        (None, True, _USUAL, "literal"), (None, False, _USUAL, "weak"),
    ],
)  # fmt: skip
def test_the_table_of_levels(cosine: float | None, every_word: bool, thresholds: Thresholds, expected: str) -> None:
    """R5: strong from its threshold on, none up to and at WEAK, literal for exact words, no strong when they cross."""
    for rule in ("cosine", "evidence"):
        ruled = Thresholds(thresholds.weak, thresholds.strong, rule)
        seen = Signals(cosine=cosine, evidence=None) if rule == "cosine" else Signals(cosine=0.0, evidence=cosine)
        assert level(seen, ruled, every_word_matched=every_word) == expected


@given(st.floats(0, 1), st.floats(0, 1), st.booleans())
def test_more_evidence_never_says_less(one: float, other: float, every_word: bool) -> None:
    """R5: levels are monotone in the signal."""
    order = ["none", "weak", "literal", "strong"]
    low, high = sorted((one, other))
    found = [order.index(level(Signals(value, None), _USUAL, every_word_matched=every_word)) for value in (low, high)]
    assert found == sorted(found)


def test_each_level_has_its_advice() -> None:
    """R5: `none` tells the agent to say that it does not know."""
    assert set(ADVICE) == {"strong", "weak", "none", "literal", "filtered"}
    assert "does not know" in ADVICE["none"]
    assert DEFAULT_THRESHOLDS.separable


@given(_SCORES, _SCORES)
def test_thresholds_come_from_the_data(gold: list[float], probes: list[float]) -> None:
    """R5: WEAK = highest probe + 0.003, STRONG = 0.904 x median of the gold; no probe is more than `none`."""
    found = derive(gold, probes, "cosine")
    assert found.weak == pytest.approx(max(probes) + 0.003)
    assert found.strong == pytest.approx(0.904 * statistics.median(gold))
    assert found.separable == (found.weak < found.strong)
    assert {level(Signals(probe, None), found, every_word_matched=False) for probe in probes} == {"none"} or (
        found.strong <= max(probes) and found.separable
    )


@pytest.mark.parametrize(("gold", "probes"), [([], [0.1]), ([0.1], [])])
def test_nothing_is_derived_from_nothing(gold: list[float], probes: list[float]) -> None:
    """R5: thresholds need both sets."""
    with pytest.raises(ValueError, match="need"):
        derive(gold, probes, "evidence")


@given(_SCORES, _SCORES)
def test_auroc_is_the_share_of_pairs_in_order(positives: list[float], negatives: list[float]) -> None:
    """R5: equal to comparing every pair, ties counting half; turning the classes round turns it round."""
    pairs = [(up > down) + (up == down) / 2 for up in positives for down in negatives]
    assert auroc(positives, negatives) == pytest.approx(sum(pairs) / len(pairs))
    assert auroc(negatives, positives) == pytest.approx(1 - auroc(positives, negatives))


def test_auroc_needs_both_classes() -> None:
    """R5: one class says nothing."""
    with pytest.raises(ValueError, match="both"):
        auroc([], [0.1])
    with pytest.raises(ValueError, match="both"):
        auroc([0.1], [])


@pytest.mark.parametrize(
    ("rows", "speaks", "expected"),
    [
        ([], True, Signals(None, None)),
        ([(None, 0.9)], True, Signals(None, None)),
        ([(0.6, 0.2), (0.4, 1.0)], True, Signals(0.6, 0.7)),
        ([(0.6, 0.2), (0.4, 0.5)], False, Signals(0.6, 0.5)),
    ],
)
def test_signals_of_a_retrieval(rows: Any, speaks: bool, expected: Signals) -> None:
    """R5: the best cosine, and the best mean of meaning and words of any one row."""
    found = signals(rows, model_speaks=speaks)
    assert found.cosine == expected.cosine
    assert found.evidence == pytest.approx(expected.evidence)
