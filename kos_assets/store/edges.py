"""Statements on edges between memories (S8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from kos_assets.store.database import Session, json
from kos_assets.store.sql import blocks

_SQL = blocks("edges")
_NEIGHBOURS = 50


def replace_outgoing(
    session: Session,
    sources: Sequence[UUID] | None,
    kinds: Sequence[str],
    found: Mapping[tuple[UUID, str, UUID], str | None],
) -> None:
    """Replace the edges of some kinds that leave `sources` (None: all); values are anchors in the target."""
    session.run(_SQL["delete_outgoing"], kinds=list(kinds), sources=None if sources is None else list(sources))
    session.run(
        _SQL["insert"],
        sources=[key[0] for key in found],
        kinds=[key[1] for key in found],
        targets=[key[2] for key in found],
        anchors=list(found.values()),
    )


def relink_similar(session: Session, memory_ids: Sequence[UUID], distance: float) -> int:
    """Bring the `similar_to` edges of memories up to date: one per live pair nearer than `distance` (cosine)."""
    return session.run(_SQL["relink_similar"], memory_ids=list(memory_ids), distance=distance, neighbours=_NEIGHBOURS)


def add(session: Session, src_id: UUID, kind: str, dst_id: UUID, *, detail: Mapping[str, Any] | None = None) -> None:
    """Add one edge, or add to its detail if it is there. A `veto` in the detail keeps a similar_to edge for good."""
    session.run(_SQL["add"], src_id=src_id, kind=kind, dst_id=dst_id, detail=json(dict(detail or {})))


def remove(session: Session, src_id: UUID, kind: str, dst_id: UUID) -> None:
    """Remove one edge."""
    session.run(_SQL["remove"], src_id=src_id, kind=kind, dst_id=dst_id)
