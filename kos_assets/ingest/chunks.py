"""Step 3: memories whose text is newer than their index to chunks and postings. Vectors of unchanged passages stay."""

from __future__ import annotations

import time
from collections.abc import Callable
from uuid import UUID

from kos_assets.domain.chunking import chunk
from kos_assets.domain.indexing import CHUNK_TOKENS, INDEX_RECIPE, chunk_fields, chunk_text, memory_text, text_hash
from kos_assets.domain.tokens import document_terms
from kos_assets.ingest.reports import SAMPLE, ChunksReport, Progress
from kos_assets.store import chunks as store_chunks
from kos_assets.store import embeddings
from kos_assets.store.chunks import ChunkRow
from kos_assets.store.database import Row, Session, Store

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
                cut = [piece for row in rows for piece in _chunk_rows(row, count_tokens)]
                counts = _replace(session, rows, cut)
            memory_ids += [row["memory_id"] for row in rows]
            chunks, postings, kept = chunks + len(cut), postings + counts[0], kept + counts[1]
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


def _chunk_rows(row: Row, count_tokens: Callable[[str], int]) -> list[ChunkRow]:
    pieces = chunk(row["content"], title=row["heading"], max_tokens=CHUNK_TOKENS, count_tokens=count_tokens)
    alone = len(pieces) == 1
    found = []
    for piece in pieces:
        fields = chunk_fields(
            heading=row["heading"],
            keywords=row["keywords"],
            heading_path=piece.heading_path,
            event_at=row["event_at"],
            event_zone=row["event_zone"],
            event_rule=row["event_rule"],
            body=piece.text,
        )
        terms = document_terms(fields, row["lang"])
        text = chunk_text(row["heading"], piece.heading_path, piece.text)
        found.append(
            ChunkRow(
                memory_id=row["memory_id"],
                ordinal=piece.ordinal,
                heading_path=piece.heading_path,
                body=piece.text,
                start_line=piece.start_line,
                end_line=piece.end_line,
                embed_hash=None if alone else text_hash(text),
                lang=row["lang"],
                length=terms.length,
                terms={term: max(1, round(weight)) for term, weight in terms.weights.items()},
            )
        )
    return found


def _replace(session: Session, rows: list[Row], cut: list[ChunkRow]) -> tuple[int, int]:
    """Store the chunks; the number of postings, and of vectors that moved along with their unchanged text."""
    memory_ids = [row["memory_id"] for row in rows]
    states = {
        row["memory_id"]: (row["content_hash"], text_hash(memory_text(row["heading"], row["content"]))) for row in rows
    }
    model = embeddings.active(session)
    before = embeddings.of_memories(session, model["model_key"], memory_ids) if model else []
    postings = store_chunks.replace(session, memory_ids, cut)
    store_chunks.record_state(session, states, recipe=INDEX_RECIPE)
    if model is None or not before:
        return postings, 0
    vectors = {row["content_hash"]: row["embedding"] for row in before}
    standing = {(row["memory_id"], row["ordinal"], row["content_hash"]) for row in before}
    embeddings.delete_stale(session, memory_ids)
    wanted = [(memory_id, -1, state[1]) for memory_id, state in states.items()]
    wanted += [(piece.memory_id, piece.ordinal, piece.embed_hash) for piece in cut if piece.embed_hash]
    moved = [(*key, vectors[key[2]]) for key in wanted if key[2] in vectors and key not in standing]
    return postings, embeddings.insert(session, model["model_key"], moved)
