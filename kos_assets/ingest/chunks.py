"""Step 3: memories whose text is newer than their index to chunks and postings. Vectors of unchanged passages stay."""

from __future__ import annotations

import time
from collections.abc import Callable
from uuid import UUID

from kos_assets.domain.indexing import INDEX_RECIPE
from kos_assets.gate.index import index_memories
from kos_assets.ingest.reports import SAMPLE, ChunksReport, Progress
from kos_assets.store import chunks as store_chunks
from kos_assets.store.database import Store

_BATCH = 200


def sync_chunks(store: Store, *, count_tokens: Callable[[str], int], progress: Progress | None = None) -> ChunksReport:
    """Index every live memory that is not indexed as it reads now; batches of one transaction each. Resumable.

    `count_tokens` is the embedder's own tokenizer, so that no chunk is longer than what its vector sees.
    """
    started = time.monotonic()
    memory_ids: list[UUID] = []
    chunks, postings, kept = 0, 0, 0
    with store.exclusive("ingest:chunks"):
        while True:
            with store.transaction(pipeline=True) as session:
                rows = store_chunks.unindexed(session, recipe=INDEX_RECIPE, limit=_BATCH)
                if not rows:
                    break
                counts = index_memories(session, rows, count_tokens)
            memory_ids += [row["memory_id"] for row in rows]
            chunks, postings, kept = chunks + counts[0], postings + counts[1], kept + counts[2]
            if progress:
                progress("chunks", len(memory_ids), len(memory_ids))
    return ChunksReport(
        memories=len(memory_ids),
        chunks=chunks,
        postings=postings,
        vectors_kept=kept,
        seconds=round(time.monotonic() - started, 3),
        memory_ids=tuple(str(memory_id) for memory_id in memory_ids[:SAMPLE]),
    )
