"""The words and the vector of a memory, stored with it: what ingest does for many, the gate for the one it writes.

Here: chunks, postings and index state of given memories, in the caller's transaction. Not here: which ones need it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kos_assets.domain.chunking import chunk
from kos_assets.domain.indexing import CHUNK_TOKENS, INDEX_RECIPE, chunk_fields, chunk_text, memory_text, text_hash
from kos_assets.domain.tokens import document_terms
from kos_assets.store import chunks as store_chunks
from kos_assets.store import embeddings
from kos_assets.store.chunks import ChunkRow
from kos_assets.store.database import Row, Session


def index_memories(session: Session, rows: Sequence[Row], count_tokens: Callable[[str], int]) -> tuple[int, int, int]:
    """Cut and count memories; the numbers of chunks, of postings, and of vectors that moved with an unchanged passage.

    `count_tokens` is the embedder's own tokenizer, so that no chunk is longer than what its vector sees.
    """
    cut = [piece for row in rows for piece in _chunk_rows(row, count_tokens)]
    postings, kept = _replace(session, rows, cut)
    return len(cut), postings, kept


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


def _replace(session: Session, rows: Sequence[Row], cut: list[ChunkRow]) -> tuple[int, int]:
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
