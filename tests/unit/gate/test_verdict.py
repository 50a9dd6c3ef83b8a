"""G3 and G4's conditions as a pure decision."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kos_assets.gate.verdict import Verdict, decide

_OLD = {
    "memory_id": UUID(int=1), "note_id": None, "memory_type": "semantic", "provenance": "raw", "confidence": 0.95,
    "event_at": None,
}  # fmt: skip
_AT = datetime(2026, 3, 4, 23, 30, tzinfo=UTC)


def _decide(distance: float | None, old: dict[str, Any] | None = None, **values: Any) -> Verdict:
    given = {"memory_type": "semantic", "provenance": "raw", "confidence": 0.95, "event_at": None}
    nearest = None if distance is None else {**_OLD, **(old or {})}
    return decide(**{**given, **values}, nearest=nearest, distance=distance, gate_distance=0.08)


@given(st.floats(0, 2))
def test_strictly_nearer_supersedes(distance: float) -> None:
    """G3: < 0.08 supersedes, 0.08 and more inserts."""
    assert _decide(distance).action == ("supersede" if distance < 0.08 else "insert")


@pytest.mark.parametrize("distance", [0.08, float("nan"), None])
def test_what_is_not_strictly_nearer_inserts(distance: float | None) -> None:
    """G3: exactly 0.08, no neighbour, and no number at all."""
    assert _decide(distance) == Verdict("insert", "no near match")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ({"note_id": UUID(int=2)}, {}, "follows a note"),
        ({"memory_type": "procedural"}, {}, "types differ"),
        ({"memory_type": "episodic", "event_at": _AT}, {"memory_type": "episodic"}, "different days"),
        ({"memory_type": "episodic"}, {"memory_type": "episodic", "event_at": _AT}, "different days"),
        ({"memory_type": "episodic", "event_at": _AT},
         {"memory_type": "episodic", "event_at": _AT + timedelta(hours=1)}, "different days"),
        ({"confidence": 0.7}, {"provenance": "derived", "confidence": 0.69}, "weaker"),
        ({"confidence": 0.7}, {"provenance": "output", "confidence": 0.69}, "weaker"),
    ],
)  # fmt: skip
def test_vetoes(old: dict[str, Any], new: dict[str, Any], reason: str) -> None:
    """G4: both stay live, the neighbour is named, the reason is told."""
    found = _decide(0.01, old, **new)
    assert (found.action, found.target, found.similar_to) == ("insert", None, UUID(int=1))
    assert reason in found.reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"memory_type": "episodic", "event_at": _AT},
         {"memory_type": "episodic", "event_at": _AT.astimezone(timezone(timedelta(hours=9)))}),
        ({"memory_type": "episodic"}, {"memory_type": "episodic"}),
        ({"memory_type": "semantic", "event_at": _AT}, {"event_at": _AT + timedelta(days=9)}),
        ({"confidence": 0.7}, {"provenance": "derived", "confidence": 0.7}),
        ({"provenance": "output", "confidence": 0.9}, {"provenance": "derived", "confidence": 0.1}),
        ({"confidence": 0.9}, {"provenance": "raw", "confidence": 0.1}),
    ],
)  # fmt: skip
def test_no_veto(old: dict[str, Any], new: dict[str, Any]) -> None:
    """G4: the same day in another zone, a fact with another date, one that is not weaker."""
    assert _decide(0.01, old, **new).target == UUID(int=1)
