"""R5: how sure a retrieval is, apart from its ranking; and the thresholds, which are data. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, get_args

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


Rule = Literal["cosine", "evidence"]
RULES: tuple[Rule, ...] = get_args(Rule)


@dataclass(frozen=True)
class Signals:
    """What one retrieval shows. `cosine`: the highest of any row, None without vectors. `evidence`: the highest mean of
    a row's cosine and of the share of the query's words (weighted by rarity) that it has; see `signals`. Both 0..1."""

    cosine: float | None
    evidence: float | None

    def by(self, rule: Rule) -> float | None:
        """The signal that a rule looks at."""
        return self.cosine if rule == "cosine" else self.evidence


@dataclass(frozen=True)
class Thresholds:
    """Of one rule under one embedding model: at `weak` or below the store does not know, from `strong` on it does."""

    weak: float
    strong: float
    rule: Rule = "evidence"

    @property
    def separable(self) -> bool:
        """Whether `strong` can be issued at all (R5: not when WEAK >= STRONG)."""
        return self.weak < self.strong


DEFAULT_THRESHOLDS = Thresholds(weak=0.28, strong=0.47)
"""For the embedded model before `kos calibrate` has run; answers then say that they are not calibrated."""


def derive(gold: Sequence[float], probes: Sequence[float], rule: Rule) -> Thresholds:
    """R5: WEAK = highest signal of the off-corpus probes + 0.003; STRONG = 0.904 x median of the gold questions'.

    Raises ValueError when either is empty.
    """
    if not gold or not probes:
        raise ValueError("thresholds need gold queries and off-corpus probes")
    return Thresholds(weak=max(probes) + WEAK_MARGIN, strong=STRONG_SHARE * statistics.median(gold), rule=rule)


def signals(rows: Iterable[tuple[float | None, float]], *, model_speaks: bool = True) -> Signals:
    """The signals of a retrieval from (cosine, coverage) of its rows.

    In a language that the model does not speak the words alone are evidence: an English model finds any two texts of a
    foreign script alike, whatever they say.
    """
    found = [(cosine, coverage) for cosine, coverage in rows if cosine is not None]
    evidence = ((cosine + coverage) / 2 if model_speaks else coverage for cosine, coverage in found)
    return Signals(
        cosine=max((cosine for cosine, _ in found), default=None),
        evidence=max(evidence, default=None),
    )


def level(seen: Signals, thresholds: Thresholds, *, every_word_matched: bool) -> ConfidenceLevel:
    """R5 for a query with results. `every_word_matched`: one passage holds each word of the query that is not a stop
    word. Without vectors only that can be said."""
    value = seen.by(thresholds.rule)
    if value is None:
        return "literal" if every_word_matched else "weak"
    if thresholds.separable and value >= thresholds.strong:
        return "strong"
    if every_word_matched:
        return "literal"
    return "weak" if value > thresholds.weak else "none"


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
