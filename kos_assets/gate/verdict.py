"""G3 and what G4 asks beside the distance: whether a statement supersedes its nearest neighbour. Pure.

Not here: the look-alike guard over headings and whole texts; until a caller other than the vault's owner can write, a
statement reaches this rule only from the owner's own hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID

_WEAKNESS = {"raw": 0, "derived": 1, "output": 1}


@dataclass(frozen=True)
class Verdict:
    """`insert`, or `supersede` of `target`; `similar_to` names a neighbour that stays live beside the new row."""

    action: Literal["insert", "supersede"]
    reason: str
    target: UUID | None = None
    similar_to: UUID | None = None


def decide(
    *,
    memory_type: str,
    provenance: str,
    confidence: float,
    event_at: datetime | None,
    nearest: Mapping[str, Any] | None,
    distance: float | None,
    gate_distance: float,
) -> Verdict:
    """G3: nearer than `gate_distance` (strictly) supersedes, exactly there inserts; G4's conditions veto."""
    if nearest is None or distance is None or not distance < gate_distance:
        return Verdict("insert", "no near match")
    veto = _veto(memory_type, provenance, confidence, event_at, nearest)
    target: UUID = nearest["memory_id"]
    if veto:
        return Verdict("insert", veto, similar_to=target)
    return Verdict("supersede", f"distance {distance:.4f} < {gate_distance}", target=target)


def _veto(
    memory_type: str, provenance: str, confidence: float, event_at: datetime | None, old: Mapping[str, Any]
) -> str | None:
    if old["note_id"] is not None:
        return "the near match follows a note; only its file changes it"
    if old["memory_type"] != memory_type:
        return f"types differ: {old['memory_type']} and {memory_type}"
    if memory_type == "episodic" and _day(old["event_at"]) != _day(event_at):
        return "two events on different days"
    weaker = _WEAKNESS[provenance] > _WEAKNESS[str(old["provenance"])]
    if weaker and confidence < float(old["confidence"]):
        return "a weaker statement never retires a stronger one"
    return None


def _day(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).date().isoformat()
