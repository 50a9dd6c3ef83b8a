"""Retention of traces: what is older than the person wants to keep is deleted in bounded batches."""

from __future__ import annotations

from kos_assets.store import traces as store_traces
from kos_assets.store.database import Store

_BATCH = 5000


def prune_traces(store: Store, *, keep_days: int) -> int:
    """Delete traces older than `keep_days`; the number deleted. Idempotent."""
    deleted = 0
    while True:
        with store.transaction(pipeline=True) as session:
            count = store_traces.prune(session, keep_days=keep_days, limit=_BATCH)
        deleted += count
        if count < _BATCH:
            return deleted
