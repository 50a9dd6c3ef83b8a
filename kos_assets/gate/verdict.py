"""G3, G4, G9: what a new statement does to its neighbours. Pure.

Here: the conditions of a supersede, vetoes, contradictions, each with a code that holds no text. Not here: how near the
neighbours are (store), what makes two wordings state different things (domain/lookalike.py, domain/contradiction.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal
from uuid import UUID

from kos_assets.domain.contradiction import disagrees
from kos_assets.domain.lookalike import Wording, difference

SUBJECT_DISTANCE: Final = 0.35
"""How far a neighbour may lie to be asked whether it is about the same subject and disagrees (G9)."""

NEIGHBOURS: Final = 50
_WEAKNESS: Final = {"raw": 0, "derived": 1, "output": 1}


@dataclass(frozen=True)
class Claim:
    """What is asked of the gate: a new statement, as far as the verdict needs it."""

    wording: Wording
    memory_type: str
    provenance: str
    confidence: float
    event_at: datetime | None
    spoken: bool = True
    """Whether the model was trained for the statement's language: else its distances say little."""


@dataclass(frozen=True)
class Neighbour:
    """A live memory of the same namespace, as the store holds it, and its cosine distance (0..2)."""

    row: Mapping[str, Any]
    distance: float

    @property
    def memory_id(self) -> UUID:
        """Its id."""
        found: UUID = self.row["memory_id"]
        return found


@dataclass(frozen=True)
class Beside:
    """A neighbour that stays live beside the new row: the edge to it, and the code of the reason."""

    kind: Literal["similar_to", "contradicts"]
    memory_id: UUID
    code: str


@dataclass(frozen=True)
class Verdict:
    """`insert`, or `supersede` of `target`; `beside` are the vetoes and contradictions, nearest first."""

    action: Literal["insert", "supersede"]
    reason: str
    target: UUID | None = None
    beside: tuple[Beside, ...] = ()


def decide(claim: Claim, neighbours: Sequence[Neighbour], *, gate_distance: float) -> Verdict:
    """G3: the nearest neighbour that lies nearer than `gate_distance` (strictly) and passes G4 is superseded.

    A neighbour within the distance that does not pass gets an edge and the code of its veto; one farther away about
    the same subject that disagrees gets a `contradicts` edge (G9). `neighbours` are sorted by distance.
    """
    target: Neighbour | None = None
    beside: list[Beside] = []
    for neighbour in neighbours:
        code = veto(claim, neighbour.row) if neighbour.distance < gate_distance else "distance"
        if code is None and target is None:
            target = neighbour
        elif code is None:
            beside.append(Beside("similar_to", neighbour.memory_id, "second_match"))
        elif _contradicts(claim, neighbour.row, code):
            beside.append(Beside("contradicts", neighbour.memory_id, code))
        elif code != "distance":
            beside.append(Beside("similar_to", neighbour.memory_id, code))
    if target is None:
        vetoed = any(item.code != "distance" for item in beside)
        return Verdict("insert", "look-alike" if vetoed else "no near match", beside=tuple(beside))
    reason = f"distance {target.distance:.4f} < {gate_distance:g}"
    return Verdict("supersede", reason, target.memory_id, tuple(beside))


def veto(claim: Claim, old: Mapping[str, Any]) -> str | None:
    """G4: the code of the first condition that forbids to supersede `old`; None when it may be."""
    if old["note_id"] is not None:
        return "note_backed"
    if old["memory_type"] != claim.memory_type:
        return "type"
    if claim.memory_type == "episodic" and _day(old["event_at"]) != _day(claim.event_at):
        return "event_day"
    if weaker(claim.provenance, claim.confidence, old):
        return "weaker"
    if not claim.spoken and _folded(claim.wording.heading) != _folded(str(old["heading"])):
        return "language"
    return difference(claim.wording, Wording(str(old["heading"]), str(old["content"])))


def weaker(provenance: str, confidence: float, old: Mapping[str, Any]) -> bool:
    """G4: a derived or output statement never retires a raw one of higher confidence."""
    return _WEAKNESS[provenance] > _WEAKNESS[str(old["provenance"])] and confidence < float(old["confidence"])


def _contradicts(claim: Claim, old: Mapping[str, Any], code: str) -> bool:
    """Two events may differ as they like; statements of what is true or to be done may not."""
    if "episodic" in (claim.memory_type, old["memory_type"]) or code in ("second_match", "event_day"):
        return False
    return disagrees(claim.wording, Wording(str(old["heading"]), str(old["content"]))) is not None


def _day(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).date().isoformat()


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
