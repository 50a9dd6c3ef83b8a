"""H1: memories whose time is over are soft-deleted, with history."""

from __future__ import annotations

from datetime import datetime

from kos_assets.gate.retire import retire_expired
from kos_assets.hygiene.report import Report
from kos_assets.store.database import Session


def expire(session: Session, *, at: datetime, limit: int, principal: str) -> Report:
    """H1: retire at most `limit` live memories with `expires_at` at or before `at`, oldest first, in the caller's
    pipeline transaction. Idempotent; safe beside traffic."""
    found = retire_expired(session, at=at, limit=limit, principal=principal)
    return Report({"expired": len(found)}, {"expired": tuple(found)})
