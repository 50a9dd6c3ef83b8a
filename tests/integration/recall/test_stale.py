"""What a reader sees between an edit and its index."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kos_assets import testing
from kos_assets.inference.embedding import Embedder
from kos_assets.ingest.chunks import sync_chunks
from kos_assets.ingest.memories import sync_memories
from kos_assets.ingest.notes import sync_notes
from kos_assets.ingest.pipeline import ingest_vault
from kos_assets.recall import Query, Recall
from kos_assets.settings import Settings


def test_a_row_whose_text_is_newer_than_its_index_says_so(
    database: Settings, embedder: Embedder, tmp_path: Path
) -> None:
    """R8: stale until it is chunked again; found by its new words before its vector is there."""
    vault = tmp_path / "vault"
    vault.mkdir()
    note = vault / "pump.md"
    note.write_text("# Pump\n\nThe pump stands in the cellar.\n", "utf-8")
    settings = replace(database, vault=vault)
    with testing.store(settings, "writer") as writer, testing.store(settings, "reader") as reader:
        ingest_vault(writer, embedder, settings)
        recall = Recall(reader, embedder)
        note.write_text("# Pump\n\nThe pump stands in the boathouse now.\n", "utf-8")
        sync_notes(writer, settings)
        sync_memories(writer, settings)
        [hit] = recall.search(Query("pump", ("global",))).hits
        assert hit.index_behind
        assert "boathouse" in hit.index_line
        sync_chunks(writer, count_tokens=embedder.count_tokens)
        [hit] = recall.search(Query("boathouse", ("global",))).hits
        assert not hit.index_behind
        assert hit.matched_by == ("words",)
        assert hit.cosine is None, "the old text's vector is gone, not served"
        ingest_vault(writer, embedder, settings)
        [hit] = recall.search(Query("boathouse", ("global",))).hits
        assert hit.cosine is not None
        recall.close()
