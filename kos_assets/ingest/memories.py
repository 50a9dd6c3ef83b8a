"""Step 2: changed notes to memories, through the gate; then their links as edges."""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime
from uuid import UUID

from kos_assets.gate.ends import read_ends
from kos_assets.gate.notes import tally, write_notes
from kos_assets.ingest.links import sync_links
from kos_assets.ingest.reports import SAMPLE, MemoriesReport, Progress
from kos_assets.settings import Settings
from kos_assets.store import notes as store_notes
from kos_assets.store.database import Store

_BATCH = 500


def sync_memories(
    store: Store, settings: Settings, *, now: datetime | None = None, progress: Progress | None = None
) -> MemoriesReport:
    """Let every changed note's memory follow it, in batches of one transaction each. Idempotent and resumable."""
    root = settings.require_vault()
    started = time.monotonic()
    at = now or datetime.now(UTC)
    actions: Counter[str] = Counter()
    memory_ids: list[UUID] = []
    seen, links = 0, 0
    with store.exclusive("ingest:memories"):
        while True:
            with store.transaction(pipeline=True) as session:
                written = write_notes(session, limit=_BATCH, at=at, ends=read_ends(session, root))
                if not written.note_ids:
                    links += sync_links(session, [])
                    counts = tally(session)
                    break
                actions += written.actions
                memory_ids += written.memory_ids[:SAMPLE]
                seen += len(written.note_ids)
                if len(written.note_ids) < _BATCH:
                    links += sync_links(session, written.note_ids)
                else:
                    store_notes.set_links_hash(session, "")  # many changed: resolve everything once, at the end
            if progress:
                progress("memories", seen, seen)
    return MemoriesReport(
        notes=seen,
        inserted=actions["insert"],
        updated=actions["update"],
        folded=actions["fold"],
        retired=actions["retire"],
        restored=actions["restore"],
        links=links,
        live=counts.get("live", 0),
        seconds=round(time.monotonic() - started, 3),
        memory_ids=tuple(map(str, memory_ids[:SAMPLE])),
    )
