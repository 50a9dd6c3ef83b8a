"""R5: how sure a retrieval is, apart from its ranking; and the thresholds, which are data. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from kos_assets.domain.vocabulary import ConfidenceLevel

WEAK_MARGIN = 0.003
STRONG_SHARE = 0.904

ADVICE: dict[ConfidenceLevel, str] = {
    "strong": "The store knows about this.",
    "weak": "Possibly related only: check before relying on it.",
    "none": "The store does not know: say so, do not guess from these rows.",
    "literal": "The exact words occur; the meaning may differ.",
    "filtered": "Rows chosen by the filters alone, newest first.",
}


@dataclass(frozen=True)
class Thresholds:
    """Top-1 cosines of one embedding model: at `weak` or below the store does not know, from `strong` on it does."""

    weak: float
    strong: float

    @property
    def separable(self) -> bool:
        """Whether `strong` can be issued at all (R5: not when WEAK >= STRONG)."""
        return self.weak < self.strong


DEFAULT_THRESHOLDS = Thresholds(weak=0.40, strong=0.50)
"""For the embedded model before `kos calibrate` has run; answers then say that they are not calibrated."""


def derive(gold: Sequence[float], probes: Sequence[float]) -> Thresholds:
    """R5: WEAK = highest top-1 cosine of the off-corpus probes + 0.003; STRONG = 0.904 x median of the gold's.

    Raises ValueError when either is empty.
    """
    if not gold or not probes:
        raise ValueError("thresholds need gold queries and off-corpus probes")
    return Thresholds(weak=max(probes) + WEAK_MARGIN, strong=STRONG_SHARE * statistics.median(gold))


def level(*, top_cosine: float | None, thresholds: Thresholds, every_word_matched: bool) -> ConfidenceLevel:
    """R5 for a query with results. `every_word_matched`: one passage holds each word of the query that is not a stop
    word. Without a vector (`top_cosine` None) only that can be said."""
    if top_cosine is not None:
        if thresholds.separable and top_cosine >= thresholds.strong:
            return "strong"
        if every_word_matched:
            return "literal"
        return "weak" if top_cosine > thresholds.weak else "none"
    return "literal" if every_word_matched else "weak"


def auroc(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """The chance that a positive scores above a negative (ties count half). Raises ValueError when either is empty."""
    if not positives or not negatives:
        raise ValueError("AUROC needs both classes")
    ranked = sorted([(value, 1) for value in positives] + [(value, 0) for value in negatives])
    wins, below = 0.0, 0
    for _, tied in groupby(ranked, key=lambda item: item[0]):
        labels = [label for _, label in tied]
        ups = sum(labels)
        wins += ups * (below + (len(labels) - ups) / 2)
        below += len(labels) - ups
    return wins / (len(positives) * len(negatives))
