"""The labelled pair set of the gate, and how the gate does on it at each distance (G3, G4, G9).

Here: reading the set, judging its pairs as the gate would, points of the table, what went wrong. Not here: vaults
(gate_vaults.py), the verdict (gate/verdict.py), printing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import numpy as np

from kos_assets.domain.indexing import memory_text
from kos_assets.domain.language import detect
from kos_assets.domain.lookalike import Wording, difference
from kos_assets.errors import InputError
from kos_assets.evaluation import records
from kos_assets.gate.verdict import Claim, Neighbour, decide
from kos_assets.inference.embedding import Embedder

DISTANCES: Final = tuple(round(0.02 * step, 2) for step in range(1, 11))
SPLITS: Final = ("dev", "held_out")
LABELS: Final = ("restatement", "correction", "different")
SHIPPED: Final = Path(__file__).parent.parent / "demo" / "gold" / "gate_pairs.jsonl"

_WHAT = "a pair of the gate"
_FIX = 'Write {"id", "kind", "split", "label", "old": {"heading", "content"}, "new": {...}, "why"} on one line.'
_OLD, _NOTE = UUID(int=1), UUID(int=2)
_BATCH = 32


@dataclass(frozen=True)
class Side:
    """One of the two memories. Defaults are those of a statement."""

    heading: str
    content: str
    memory_type: str = "semantic"
    provenance: str = "output"
    confidence: float = 0.7
    event_at: datetime | None = None
    note: bool = False

    @property
    def text(self) -> str:
        """What is embedded of it."""
        return memory_text(self.heading, self.content)

    @property
    def wording(self) -> Wording:
        """What the guard reads of it."""
        return Wording(self.heading, self.content)

    def row(self) -> dict[str, Any]:
        """The row that the verdict is asked about."""
        return {
            "memory_id": _OLD,
            "note_id": _NOTE if self.note else None,
            "memory_type": self.memory_type,
            "provenance": self.provenance,
            "confidence": self.confidence,
            "event_at": self.event_at,
            "heading": self.heading,
            "content": self.content,
        }

    def claim(self, speaks: Callable[[str], bool]) -> Claim:
        """The statement as the gate would ask about it; `speaks`: whether the model knows a language."""
        return Claim(
            wording=self.wording,
            memory_type=self.memory_type,
            provenance=self.provenance,
            confidence=self.confidence,
            event_at=self.event_at,
            spoken=speaks(detect(f"{self.heading}\n{self.content}")),
        )


@dataclass(frozen=True)
class Pair:
    """An older memory, a newer statement, and what a reader says about the two. `same`: it may supersede."""

    id: str
    kind: str
    split: str
    label: str
    old: Side
    new: Side
    why: str

    @property
    def same(self) -> bool:
        """Whether the newer one takes the older one's place in the judgement of the reader."""
        return self.label != "different"


@dataclass(frozen=True)
class Measured:
    """A pair with its cosine distance (0..2), the guard's code, and the verdict's codes; none: nothing forbids."""

    pair: Pair
    distance: float
    guard: str | None
    codes: tuple[str, ...]


@dataclass(frozen=True)
class Point:
    """One split at one distance: pairs `within`, of them `look_alikes`; `superseded` by the verdict, `wrong` ones
    of them. Precision and recall (of restatements and corrections within): bare, with the guard, with the verdict;
    None where nothing is counted.
    """

    split: str
    distance: float
    within: int
    look_alikes: int
    bare_precision: float | None
    guard_precision: float | None
    guard_recall: float | None
    superseded: int
    wrong: int
    precision: float | None
    recall: float | None


@dataclass(frozen=True)
class Wrong:
    """A pair that the gate judges otherwise than its label; `codes` are the vetoes, empty when it was superseded."""

    id: str
    kind: str
    label: str
    distance: float
    codes: tuple[str, ...]


def read_pairs(path: Path | None = None) -> tuple[Pair, ...]:
    """The pairs of a .jsonl file, of the shipped one without a path. InputError with the line, or for an id twice."""
    source = path or SHIPPED
    pairs = tuple(_pair(line, source, number) for number, line in records.lines(records.read_bytes(source), source))
    if len({pair.id for pair in pairs}) != len(pairs):
        raise InputError(f"{source} uses an id twice.")
    return pairs


def measured(pairs: Sequence[Pair], embedder: Embedder) -> list[Measured]:
    """What the gate would say of each pair, were it within the distance. Embeds both sides, each text once."""
    vectors = _vectors(pairs, embedder)
    found = []
    for pair in pairs:
        claim = pair.new.claim(embedder.identity.speaks)
        verdict = decide(claim, [Neighbour(pair.old.row(), 0.0)], gate_distance=1.0)
        found.append(
            Measured(
                pair=pair,
                distance=1.0 - float(vectors[pair.old.text] @ vectors[pair.new.text]),
                guard=difference(pair.new.wording, pair.old.wording),
                codes=() if verdict.target is not None else tuple(item.code for item in verdict.beside),
            )
        )
    return found


def points(found: Sequence[Measured], distances: Sequence[float] = DISTANCES) -> list[Point]:
    """Every split at every distance."""
    return [
        _point(split, distance, [item for item in found if item.pair.split == split and item.distance < distance])
        for split in SPLITS
        for distance in distances
    ]


def wrongs(found: Sequence[Measured], distance: float) -> list[Wrong]:
    """Pairs within a distance that the whole verdict judges otherwise than their label."""
    return [
        Wrong(item.pair.id, item.pair.kind, item.pair.label, round(item.distance, 4), item.codes)
        for item in found
        if item.distance < distance and item.pair.same == bool(item.codes)
    ]


def _point(split: str, distance: float, near: Sequence[Measured]) -> Point:
    same = sum(item.pair.same for item in near)
    guarded = [item for item in near if item.guard is None]
    guarded_same = sum(item.pair.same for item in guarded)
    passed = [item for item in near if not item.codes]
    passed_same = sum(item.pair.same for item in passed)
    return Point(
        split=split,
        distance=distance,
        within=len(near),
        look_alikes=len(near) - same,
        bare_precision=_share(same, len(near)),
        guard_precision=_share(guarded_same, len(guarded)),
        guard_recall=_share(guarded_same, same),
        superseded=len(passed),
        wrong=len(passed) - passed_same,
        precision=_share(passed_same, len(passed)),
        recall=_share(passed_same, same),
    )


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _vectors(pairs: Sequence[Pair], embedder: Embedder) -> dict[str, np.ndarray[Any, Any]]:
    texts = list(dict.fromkeys(side.text for pair in pairs for side in (pair.old, pair.new)))
    found: dict[str, np.ndarray[Any, Any]] = {}
    for start in range(0, len(texts), _BATCH):
        batch = texts[start : start + _BATCH]
        found.update(zip(batch, embedder.embed_documents(batch), strict=True))
    return found


def _pair(line: str, path: Path, number: int) -> Pair:
    entry = records.parse(line, path, number, what=_WHAT, fix=_FIX)
    try:
        pair = Pair(
            id=str(entry["id"]),
            kind=str(entry["kind"]),
            split=str(entry["split"]),
            label=str(entry["label"]),
            old=_side(entry["old"]),
            new=_side(entry["new"]),
            why=str(entry["why"]),
        )
    except KeyError as error:
        raise records.not_a(_WHAT, path, number, why=f"It has no {error}.", fix=_FIX) from error
    except (TypeError, ValueError) as error:
        raise records.not_a(_WHAT, path, number, why=str(error), fix=_FIX) from error
    if pair.split not in SPLITS or pair.label not in LABELS:
        why = f"split is {' or '.join(SPLITS)}, label is {', '.join(LABELS)}"
        raise records.not_a(_WHAT, path, number, why=why, fix=_FIX)
    return pair


def _side(entry: dict[str, Any]) -> Side:
    event_at = entry.get("event_at")
    return Side(
        heading=str(entry["heading"]),
        content=str(entry["content"]),
        memory_type=str(entry.get("memory_type", "semantic")),
        provenance=str(entry.get("provenance", "output")),
        confidence=float(entry.get("confidence", 0.7)),
        event_at=datetime.fromisoformat(event_at) if event_at else None,
        note=bool(entry.get("note", False)),
    )
