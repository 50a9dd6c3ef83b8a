"""Folding of the lexical statistics: appended deltas become one row per term and namespace again."""

from __future__ import annotations

from kos_assets.store import chunks
from kos_assets.store.database import Store

_BATCH = 20_000


def fold_statistics(store: Store, *, most_batches: int = 500) -> int:
    """Merge deltas in bounded transactions; the number of rows written. Readers see exact sums at every moment."""
    written = 0
    with store.exclusive("hygiene:statistics"):
        for _ in range(most_batches):
            with store.transaction(pipeline=True) as session:
                if not chunks.has_unfolded(session):
                    break
                written += chunks.fold_statistics(session, _BATCH)
    return written
