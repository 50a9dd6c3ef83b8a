"""The fire drills, small: what `kos fire` runs in full."""

from __future__ import annotations

import os
import random
from collections import Counter

import numpy as np
import pytest

from kos_assets.operations.fire import Line
from kos_assets.operations.fire_child import name_of
from kos_assets.operations.fire_embedder import DIMENSIONS, FireEmbedder
from kos_assets.operations.fire_kills import fire_kills
from kos_assets.operations.fire_writers import Drill, fire_writers, gaps, make_wishes
from kos_assets.settings import Settings


def silent(_: str) -> None:
    """Nobody listens."""


def wrong(lines: list[Line]) -> list[Line]:
    """Lines of the books that do not hold."""
    return [line for line in lines if not line.holds]


def test_writers_at_once_leave_books_that_add_up() -> None:
    """G5: four processes, near-twins among their writes: every acknowledged result once, in rows, history and files."""
    report = fire_writers(Settings(), Drill(writers=4, writes=80, namespaces=2, seed=11), tell=silent)
    assert wrong(list(report.lines)) == []
    assert report.holds
    assert report.errors == []
    assert report.actions["supersede"] > 0
    assert sum(report.actions.values()) == 80
    assert len(report.lines) > 25
    assert report.per_second > 0


def test_kills_lose_nothing_that_was_acknowledged(capsys: pytest.CaptureFixture[str]) -> None:
    """V6: the writer, and once PostgreSQL, killed at random; after a scan the store is what the files say."""
    seed = int(os.environ.get("KOS_FIRE_SEED", random.SystemRandom().randrange(10**6)))
    with capsys.disabled():
        print(f" seed {seed} (KOS_FIRE_SEED={seed} repeats it)", end="")
    report = fire_kills(Settings(), rounds=5, seed=seed, tell=silent, compare_every=5, server_every=5)
    assert [(failure.round, failure.line) for failure in report.failures] == []
    assert (report.server_kills, report.compared >= 1) == (1, True)
    assert report.acknowledged > 0


def test_a_run_that_does_not_add_up_says_so() -> None:
    """The drill can fail: a line holds only when both counts are equal, and gaps and doubles are found."""
    assert wrong([Line("a", 1, 1), Line("b", 1, 0)]) == [Line("b", 1, 0)]
    assert (gaps([1, 2, 3]), gaps([1, 3]), gaps([1, 1, 2])) == (0, 2, 2)


def test_the_wishes_are_what_was_asked_for() -> None:
    """The same for the same seed; the wanted share of twins; every namespace."""
    drill = Drill(writers=16, writes=2000, twins=0.3, namespaces=5, seed=3)
    wishes = make_wishes(drill)
    assert wishes == make_wishes(drill)
    subjects = Counter(wish.subject for wish in wishes)
    assert 0.25 < 1 - len(subjects) / len(wishes) < 0.35
    assert len({wish.namespace for wish in wishes}) == 5
    assert len({name_of(number) for number in range(5000)}) == 5000


def test_twins_are_near_and_others_far() -> None:
    """G3: within the gate's distance for one subject, beyond the distance of a subject for two."""
    wishes = make_wishes(Drill(writes=300, seed=5))
    texts = [f"{wish.statement().heading}\n{wish.statement().content}" for wish in wishes]
    vectors = FireEmbedder().embed_documents(texts)
    assert vectors.shape == (300, DIMENSIONS)
    assert FireEmbedder().embed_documents([]).shape == (0, DIMENSIONS)
    distances = 1 - vectors @ vectors.T
    same = np.equal.outer([wish.subject for wish in wishes], [wish.subject for wish in wishes])
    assert distances[same].max() < 0.05
    assert distances[~same].min() > 0.35
