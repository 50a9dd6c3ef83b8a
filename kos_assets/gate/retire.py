"""Ends of memories that no newer text brought about: expiry (H1). Each in history (S7)."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from kos_assets.store import memories
from kos_assets.store.database import Session


def retirement(at: datetime, reason: str) -> dict[str, Any]:
    """What history says of a live memory that ends (S7)."""
    return {
        "before": {"deleted_at": None, "deleted_reason": None},
        "after": {"deleted_at": at.isoformat(), "deleted_reason": reason},
    }


def retire_expired(session: Session, *, at: datetime, limit: int, principal: str) -> list[UUID]:
    """Soft-delete up to `limit` live memories whose time is over, with history; their ids. Idempotent."""
    rows = memories.retire(session, memories.expired(session, at=at, limit=limit), at=at, reason="expired")
    memories.record_history(
        session,
        [
            {
                "memory_id": row["memory_id"],
                "namespace": row["namespace"],
                "at": at,
                "principal": principal,
                "action": "expire",
                "reason": "expires_at passed",
                **retirement(at, "expired"),
            }
            for row in rows
        ],
    )
    return [row["memory_id"] for row in rows]
