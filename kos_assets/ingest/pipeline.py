"""The steps in their order, for whoever wants a vault ingested without an orchestrator."""

from __future__ import annotations

from dataclasses import dataclass

from kos_assets.inference.embedding import Embedder
from kos_assets.ingest.chunks import sync_chunks
from kos_assets.ingest.embeddings import sync_embeddings
from kos_assets.ingest.history import sync_history
from kos_assets.ingest.memories import sync_memories
from kos_assets.ingest.notes import sync_notes
from kos_assets.ingest.reports import (
    ChunksReport,
    EmbeddingsReport,
    HistoryReport,
    MemoriesReport,
    NotesReport,
    Progress,
    StatementsReport,
)
from kos_assets.ingest.statements import sync_statements
from kos_assets.settings import Settings
from kos_assets.store.database import Store


@dataclass(frozen=True)
class IngestReport:
    """What each step did."""

    notes: NotesReport
    statements: StatementsReport
    memories: MemoriesReport
    chunks: ChunksReport
    embeddings: EmbeddingsReport
    history: HistoryReport


def ingest_vault(
    store: Store,
    embedder: Embedder,
    settings: Settings,
    *,
    progress: Progress | None = None,
    allow_mass_deletion: bool = False,
) -> IngestReport:
    """Bring the store to what the vault says. Idempotent; kill it anywhere and run it again."""
    return IngestReport(
        notes=sync_notes(store, settings, progress=progress, allow_mass_deletion=allow_mass_deletion),
        statements=sync_statements(store, settings, embedder, progress=progress),
        memories=sync_memories(store, settings, progress=progress),
        chunks=sync_chunks(store, count_tokens=embedder.count_tokens, progress=progress),
        embeddings=sync_embeddings(store, embedder, settings, progress=progress),
        history=sync_history(settings),
    )
