"""How the two arms' scores become one order. Pure; the whole choice is `fuse`.

Scores are fused, not ranks (Bruch, Gai and Ingber, arXiv 2210.11934): a convex sum of BM25 / max and min-max cosine.
The weight is chosen by `kos eval --words-weight`; the table is in docs/evaluation.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

WORDS_WEIGHT = 0.5
"""Of the words' score in relevance, for a query in a language that the embedding model speaks."""

FOREIGN_WORDS_WEIGHT = 0.85
"""The same for another language: the model's cosines then tell scripts apart more than meanings."""

_PROVENANCE: Mapping[str, float] = {"raw": 1.0, "derived": 0.97, "output": 0.94}
_CONFIDENCE_FLOOR = 0.8


@dataclass(frozen=True)
class Candidate:
    """A memory found by one arm or both. Scores are None where the arm has nothing to say.

    `matched`: words of the query that its best chunk has; `coverage`: their share, weighted by rarity (0..1).
    """

    memory_id: UUID
    bm25: float | None
    cosine: float | None
    matched: int
    coverage: float
    by_words: bool
    by_meaning: bool


@dataclass(frozen=True)
class Standing:
    """What else ranking knows of a memory (S4, O1)."""

    provenance: str
    confidence: float
    importance: float


@dataclass(frozen=True)
class Ranked:
    """A candidate with its relevance (0..1 within its query) and its final score."""

    candidate: Candidate
    relevance: float
    score: float


def fuse(
    candidates: Sequence[Candidate], standings: Mapping[UUID, Standing], *, words_weight: float = WORDS_WEIGHT
) -> list[Ranked]:
    """R1: relevance = w * bm25 / max + (1 - w) * min-max cosine, times what the row is worth; best first.

    With one arm alone its own normalised score is the relevance. Ties go to the smaller id, so order is deterministic.
    Candidates without a standing (retired since they were found) are left out.
    """
    known = [candidate for candidate in candidates if candidate.memory_id in standings]
    words = _by_maximum([candidate.bm25 for candidate in known])
    meaning = _min_max([candidate.cosine for candidate in known])
    has_words = any(candidate.bm25 for candidate in known)
    has_meaning = any(candidate.cosine is not None for candidate in known)
    weight = words_weight if has_words and has_meaning else float(has_words)
    ranked = []
    for candidate, word, sense in zip(known, words, meaning, strict=True):
        relevance = weight * word + (1 - weight) * sense
        ranked.append(Ranked(candidate, relevance, relevance * worth(standings[candidate.memory_id])))
    return sorted(ranked, key=lambda item: (-item.score, item.candidate.memory_id))


def worth(standing: Standing) -> float:
    """S4, O1: importance times confidence (0.8 to 1) times provenance: derived at 0.6 is below raw at 0.95."""
    trust = _CONFIDENCE_FLOOR + (1 - _CONFIDENCE_FLOOR) * standing.confidence
    return standing.importance * trust * _PROVENANCE.get(standing.provenance, min(_PROVENANCE.values()))


def _by_maximum(scores: Sequence[float | None]) -> list[float]:
    top = max((score for score in scores if score), default=0.0)
    return [(score or 0.0) / top if top else 0.0 for score in scores]


def _min_max(scores: Sequence[float | None]) -> list[float]:
    present = [score for score in scores if score is not None]
    if not present:
        return [0.0] * len(scores)
    low, high = min(present), max(present)
    spread = high - low
    return [0.0 if score is None else (score - low) / spread if spread else 1.0 for score in scores]
