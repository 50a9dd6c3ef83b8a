"""Memories, their chunks and their vectors: Dagster wiring only (D1)."""

from __future__ import annotations

import dagster as dg

from kos_assets.assets.vault import OWNERS
from kos_assets.inference.embedding import Embedder
from kos_assets.ingest.chunks import sync_chunks
from kos_assets.ingest.embeddings import sync_embeddings
from kos_assets.ingest.history import sync_history
from kos_assets.ingest.memories import sync_memories
from kos_assets.ingest.statements import sync_statements
from kos_assets.jobs import (
    CHUNKS,
    EMBEDDINGS,
    INGEST_POOL,
    MEMORIES,
    NOTES,
    OUTAGE_RETRIES,
    permanent_failures,
    progress_log,
)
from kos_assets.settings import Settings
from kos_assets.store import invariants
from kos_assets.store.database import Store


@dg.asset(
    key=MEMORIES,
    deps=[NOTES],
    group_name="memories",
    kinds={"python", "postgres"},
    owners=OWNERS,
    pool=INGEST_POOL,
    retry_policy=OUTAGE_RETRIES,
    description="The unit of recall: one per note, one per statement of an agent (a file below memories/); through the "
    "gate. Equal notes are folded into one, decisions of the ledger hold, history is kept, links become edges.",
)
def memories(
    store: dg.ResourceParam[Store], settings: dg.ResourceParam[Settings], embedder: dg.ResourceParam[Embedder]
) -> dg.MaterializeResult[None]:
    """Let statements follow their files and decisions, and the memory of every changed note follow it."""
    with permanent_failures():
        statements = sync_statements(store, settings, embedder, progress=progress_log())
        report = sync_memories(store, settings, progress=progress_log())
        history = sync_history(settings)
    told = {f"statements_{name}": value for name, value in statements.metadata().items()}
    return dg.MaterializeResult(metadata={**report.metadata(), **told, **history.metadata()})


@dg.asset_check(
    asset=MEMORIES,
    blocking=True,
    retry_policy=OUTAGE_RETRIES,
    description="notes = live + folded + retired (expired, or forgotten): none is lost, and none outlives its file.",
)
def notes_accounted_for(facts: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """G6: the memories are what the notes say."""
    with permanent_failures():
        found = invariants.notes_accounted(facts)
    return dg.AssetCheckResult(passed=found.passed, metadata=dict(found.metadata()))


@dg.asset(
    key=CHUNKS,
    deps=[MEMORIES],
    group_name="memories",
    kinds={"python", "postgres"},
    owners=OWNERS,
    pool=INGEST_POOL,
    retry_policy=OUTAGE_RETRIES,
    description="Passages cut at heading and paragraph borders, with the postings that words are searched by.",
)
def chunks(store: dg.ResourceParam[Store], embedder: dg.ResourceParam[Embedder]) -> dg.MaterializeResult[None]:
    """Cut and count every memory that reads differently from its index."""
    with permanent_failures():
        report = sync_chunks(store, count_tokens=embedder.count_tokens, progress=progress_log())
    return dg.MaterializeResult(metadata=dict(report.metadata()))


@dg.asset_check(
    asset=CHUNKS,
    blocking=True,
    retry_policy=OUTAGE_RETRIES,
    description="Every live memory is indexed as it reads now, with at least one chunk.",
)
def every_live_memory_chunked(facts: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """R1: what is live can be found by its words."""
    with permanent_failures():
        found = invariants.memories_chunked(facts)
    return dg.AssetCheckResult(passed=found.passed, metadata=dict(found.metadata()))


@dg.asset(
    key=EMBEDDINGS,
    deps=[CHUNKS],
    group_name="memories",
    kinds={"python", "postgres", "onnx"},
    owners=OWNERS,
    pool=INGEST_POOL,
    retry_policy=OUTAGE_RETRIES,
    description="Vectors of memories and of chunks under the active model, with the hash of the text that each was "
    "made from; near pairs as similar_to edges. While the provider is out of reach, texts stay pending.",
)
def embeddings(
    store: dg.ResourceParam[Store], embedder: dg.ResourceParam[Embedder], settings: dg.ResourceParam[Settings]
) -> dg.MaterializeResult[None]:
    """Embed every text that has no vector yet."""
    with permanent_failures():
        report = sync_embeddings(store, embedder, settings, progress=progress_log())
    return dg.MaterializeResult(metadata=dict(report.metadata()))


@dg.asset_check(
    asset=EMBEDDINGS,
    blocking=True,
    retry_policy=OUTAGE_RETRIES,
    description="No vector was made from another text than the one that stands, and none belongs to nothing.",
)
def no_stale_vectors(facts: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """S9: an edited text never keeps its old vector."""
    with permanent_failures():
        found = invariants.vectors_current(facts)
    return dg.AssetCheckResult(passed=found.passed, metadata=dict(found.metadata()))


@dg.asset_check(
    asset=EMBEDDINGS,
    retry_policy=OUTAGE_RETRIES,
    description="Every live text has its vector. A warning: while a provider is out of reach, search goes by words.",
)
def no_missing_vectors(facts: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """E5, R8: an outage leaves texts pending and fails nothing."""
    with permanent_failures():
        found = invariants.vectors_current(facts)
    missing = found.figures["missing"]
    return dg.AssetCheckResult(
        passed=missing == 0, severity=dg.AssetCheckSeverity.WARN, metadata={"missing": missing, **found.figures}
    )
