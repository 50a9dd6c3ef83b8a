"""Statements on the review list (S12: each item carries a namespace and is under row-level security)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

from kos_assets.store.database import Row, Session
from kos_assets.store.sql import blocks

_SQL = blocks("review")
Kind = Literal["stale", "contradiction"]


def open_item(
    session: Session,
    kind: Kind,
    *,
    namespace: str,
    memory_id: UUID,
    code: str,
    at: datetime,
    other_id: UUID | None = None,
) -> bool:
    """List a memory (or a pair) for review; False when it is listed already."""
    return (
        session.one(
            _SQL["open_item"], kind=kind, namespace=namespace, memory_id=memory_id, other_id=other_id, code=code, at=at
        )
        is not None
    )


def close_items(session: Session, kind: Kind, memory_ids: Sequence[UUID], *, at: datetime, outcome: str) -> list[Row]:
    """Close the open items that name one of these memories: item_id, memory_id, other_id."""
    return session.rows(_SQL["close_items"], kind=kind, memory_ids=list(memory_ids), at=at, outcome=outcome)


def pair_is_open(session: Session, left_id: UUID, right_id: UUID) -> bool:
    """Whether a contradiction between two memories waits for a person."""
    return bool(session.value(_SQL["pair_is_open"], left_id=left_id, right_id=right_id))


def close_pair(session: Session, left_id: UUID, right_id: UUID, *, at: datetime, outcome: str) -> bool:
    """Close the open contradiction between two memories, whichever came first."""
    return bool(session.rows(_SQL["close_pair"], left_id=left_id, right_id=right_id, at=at, outcome=outcome))


def counts(session: Session) -> dict[str, int]:
    """Open items by kind."""
    return {row["kind"]: row["items"] for row in session.rows(_SQL["counts"])}


def close_fresh(session: Session, *, before: datetime, at: datetime, limit: int) -> list[UUID]:
    """Close stale items whose memory was verified, retired or changed since, so that it is stale no more; their ids.

    `before`: what was last confirmed then or later is fresh (H3).
    """
    return [row["memory_id"] for row in session.rows(_SQL["close_fresh"], before=before, at=at, limit=limit)]


def open_stale(session: Session, *, before: datetime, at: datetime, limit: int) -> list[UUID]:
    """List live semantic memories last confirmed before `before` that are not listed yet, oldest first; their ids."""
    return [row["memory_id"] for row in session.rows(_SQL["open_stale"], before=before, at=at, limit=limit)]
