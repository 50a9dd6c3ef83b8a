"""Statements on stored traces, as the pipeline."""

from __future__ import annotations

from kos_assets.store.database import Session
from kos_assets.store.sql import blocks

_SQL = blocks("traces")


def prune(session: Session, *, keep_days: int, limit: int) -> int:
    """Delete up to `limit` traces older than `keep_days`; the number deleted."""
    return session.run(_SQL["prune"], keep_days=keep_days, limit=limit)
