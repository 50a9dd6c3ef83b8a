"""G3 and G4's conditions as a pure decision."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kos_assets.domain.lookalike import Wording
from kos_assets.gate.verdict import Beside, Claim, Neighbour, Verdict, decide

_OLD = {
    "memory_id": UUID(int=1), "note_id": None, "memory_type": "semantic", "provenance": "raw", "confidence": 0.95,
    "event_at": None, "heading": "Port of the gateway", "content": "It listens on 8443.",
}  # fmt: skip
_AT = datetime(2026, 3, 4, 23, 30, tzinfo=UTC)


def _decide(distance: float | None, old: dict[str, Any] | None = None, **values: Any) -> Verdict:
    wording = Wording(values.pop("heading", "Port of the gateway"), values.pop("content", "It listens on 9443."))
    given = {"memory_type": "semantic", "provenance": "raw", "confidence": 0.95, "event_at": None, **values}
    near = [] if distance is None else [Neighbour({**_OLD, **(old or {})}, distance)]
    return decide(Claim(wording, **given), near, gate_distance=0.08)


@given(st.floats(0, 2))
def test_strictly_nearer_supersedes(distance: float) -> None:
    """G3: < 0.08 supersedes, 0.08 and more inserts."""
    assert _decide(distance).action == ("supersede" if distance < 0.08 else "insert")


@pytest.mark.parametrize("distance", [0.08, float("nan"), None])
def test_what_is_not_strictly_nearer_inserts(distance: float | None) -> None:
    """G3: exactly 0.08, no neighbour, and no number at all."""
    found = _decide(distance, heading="Something else", content="Entirely.")
    assert found == Verdict("insert", "no near match")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ({"note_id": UUID(int=2)}, {}, "note_backed"),
        ({"memory_type": "procedural"}, {}, "type"),
        ({"memory_type": "episodic", "event_at": _AT}, {"memory_type": "episodic"}, "event_day"),
        ({"memory_type": "episodic"}, {"memory_type": "episodic", "event_at": _AT}, "event_day"),
        ({"memory_type": "episodic", "event_at": _AT},
         {"memory_type": "episodic", "event_at": _AT + timedelta(hours=1)}, "event_day"),
        ({"confidence": 0.7}, {"provenance": "derived", "confidence": 0.69}, "weaker"),
        ({"confidence": 0.7}, {"provenance": "output", "confidence": 0.69}, "weaker"),
    ],
)  # fmt: skip
def test_vetoes(old: dict[str, Any], new: dict[str, Any], reason: str) -> None:
    """G4: both stay live, the neighbour is named, the reason is told as a code."""
    found = _decide(0.01, old, content="It listens on 8443.", **new)
    assert (found.action, found.target) == ("insert", None)
    assert found.beside == (Beside("similar_to", UUID(int=1), reason),)


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


def test_the_nearest_that_passes_is_superseded_and_vetoes_before_it_are_kept() -> None:
    """G3, G4: a nearer look-alike does not hide the writer's own earlier statement behind it."""
    claim = Claim(Wording("Port of the gateway", "It listens on 9443."), "semantic", "raw", 0.95, None)
    note = Neighbour({**_OLD, "memory_id": UUID(int=2), "note_id": UUID(int=3), "content": "It listens on 9443."}, 0.0)
    own = Neighbour(_OLD, 0.02)
    older = Neighbour({**_OLD, "memory_id": UUID(int=4)}, 0.03)
    found = decide(claim, [note, own, older], gate_distance=0.08)
    assert (found.action, found.target) == ("supersede", UUID(int=1))
    assert [(item.memory_id.int, item.code) for item in found.beside] == [(2, "note_backed"), (4, "second_match")]


def test_in_a_language_that_the_model_does_not_speak_only_the_same_heading_folds() -> None:
    """G4: distances of a small English model say little about other languages."""
    near = [Neighbour({**_OLD, "heading": "Port des Gateways"}, 0.01)]
    claim = Claim(Wording("Anschluss des Gateways", "It listens on 8443."), "semantic", "raw", 0.95, None, spoken=False)
    assert decide(claim, near, gate_distance=0.08).beside[0].code == "language"
