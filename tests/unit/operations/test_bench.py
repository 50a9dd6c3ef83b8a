"""What the benchmark's figures mean."""

from __future__ import annotations

import numpy as np
import pytest

from kos_assets.operations import bench, bench_corpus


def test_recall_counts_rows_not_cosines_that_are_near() -> None:
    """R1: a row that is not among the true nearest 20 is a miss, unless half rounding cannot tell it from the 20th."""
    cosines = np.array([0.9 - 0.001 * place for place in range(40)])
    cosines[21] = cosines[19] - 0.0001
    everything = np.ones(40, dtype=bool)
    nearest = list(range(20))
    assert bench.share_of_nearest(nearest, cosines, everything) == 1.0
    assert bench.share_of_nearest([*nearest[:19], 21], cosines, everything) == 1.0, "a tie with the 20th"
    assert bench.share_of_nearest([*nearest[:19], 20], cosines, everything) == 0.95, "0.001 below the 20th is a miss"
    assert bench.share_of_nearest([0] * 20, cosines, everything) == 0.05, "one row counts once"
    assert bench.share_of_nearest([], cosines, everything) == 0.0


def test_recall_counts_rows_of_the_class_only() -> None:
    """R1: a row outside the filter never counts, however near; a class of fewer than 20 rows can be complete."""
    cosines = np.linspace(0.9, 0.1, 40)
    allowed = np.arange(40) % 10 == 3
    assert bench.share_of_nearest([3, 13, 23, 33], cosines, allowed) == 1.0
    assert bench.share_of_nearest([0, 1, 2, 3], cosines, allowed) == 0.25


@pytest.mark.parametrize(("memories", "rare"), [(2, 2), (600, 3), (1_000, 4), (10_000, 4), (100_000, 10)])
def test_the_rare_namespace_has_as_many_rows_as_the_label_says(memories: int, rare: int) -> None:
    """R1: the share that the benchmark prints is that of the rows that it loads."""
    found = sum(bench_corpus.namespace_of(number, memories) == bench_corpus.RARE for number in range(memories))
    assert found == rare == bench_corpus.rare_memories(memories)
