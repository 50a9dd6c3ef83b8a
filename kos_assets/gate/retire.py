"""Ends of memories that no newer text brought about: expiry (H1), and what ends with a memory. In history (S7)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from kos_assets.store import memories, review
from kos_assets.store.database import Session


def retirement(at: datetime, reason: str) -> dict[str, Any]:
    """What history says of a live memory that ends (S7)."""
    return {
        "before": {"deleted_at": None, "deleted_reason": None},
        "after": {"deleted_at": at.isoformat(), "deleted_reason": reason},
    }


def retire_expired(session: Session, *, at: datetime, limit: int, principal: str) -> list[UUID]:
    """Soft-delete up to `limit` live memories whose time is over, with history; their ids. Idempotent (H1)."""
    over = memories.expired(session, at=at, limit=limit)
    return retire(
        session, over, at=at, principal=principal, state="expired", action="expire", reason="expires_at passed"
    )


def retire(
    session: Session,
    memory_ids: Sequence[UUID],
    *,
    at: datetime,
    principal: str,
    state: str,
    action: str,
    reason: str,
) -> list[UUID]:
    """Soft-delete those of the memories that are live, as `state`, with one history row each (`action`, `reason`); what
    waited for a review of them waits no more. The ids of those that were live."""
    rows = memories.retire(session, memory_ids, at=at, reason=state)
    memories.record_history(
        session,
        [
            {
                "memory_id": row["memory_id"],
                "namespace": row["namespace"],
                "at": at,
                "principal": principal,
                "action": action,
                "reason": reason,
                **retirement(at, state),
            }
            for row in rows
        ],
    )
    ended = [row["memory_id"] for row in rows]
    if ended:
        review.close_items(session, "stale", ended, at=at, outcome=state)
        review.close_items(session, "contradiction", ended, at=at, outcome=state)
    return ended
