"""Statements on chunks, postings, their statistics, and how far the index has followed each memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from kos_assets.store.database import Row, Session
from kos_assets.store.sql import blocks

_SQL = blocks("chunks")
_PATH_SEPARATOR = "\x1f"
_MOST = 32767


@dataclass(frozen=True)
class ChunkRow:
    """One chunk to store. `terms`: term -> frequency; `embed_hash` None where the memory's vector stands for it."""

    memory_id: UUID
    ordinal: int
    heading_path: tuple[str, ...]
    body: str
    start_line: int
    end_line: int
    embed_hash: str | None
    lang: str
    length: int
    terms: Mapping[str, int]


def unindexed(session: Session, *, recipe: int, limit: int) -> list[Row]:
    """Live memories whose chunks were made from an older text or by an older recipe."""
    return session.rows(_SQL["unindexed"], recipe=recipe, limit=limit)


def replace(session: Session, memory_ids: Sequence[UUID], chunks: Sequence[ChunkRow]) -> int:
    """Replace the chunks and postings of memories; the number of postings. What was retired meanwhile gets none.

    Locks the memories until the transaction ends, so that retiring them waits, or is seen here.
    """
    session.run(_SQL["lock_memories"], memory_ids=list(memory_ids))
    session.run(_SQL["delete_postings"], memory_ids=list(memory_ids))
    session.run(_SQL["delete_chunks"], memory_ids=list(memory_ids))
    stored = session.rows(
        _SQL["insert_chunks"],
        memory_ids=[chunk.memory_id for chunk in chunks],
        ordinals=[chunk.ordinal for chunk in chunks],
        heading_paths=[_PATH_SEPARATOR.join(chunk.heading_path) for chunk in chunks],
        bodies=[chunk.body for chunk in chunks],
        start_lines=[chunk.start_line for chunk in chunks],
        end_lines=[chunk.end_line for chunk in chunks],
        embed_hashes=[chunk.embed_hash for chunk in chunks],
        langs=[chunk.lang for chunk in chunks],
        lengths=[chunk.length for chunk in chunks],
    )
    ids = {(row["memory_id"], row["ordinal"]): row["chunk_id"] for row in stored}
    postings = [
        (ids[chunk.memory_id, chunk.ordinal], term, min(frequency, _MOST))
        for chunk in chunks
        if (chunk.memory_id, chunk.ordinal) in ids
        for term, frequency in chunk.terms.items()
    ]
    session.run(
        _SQL["insert_postings"],
        chunk_ids=[posting[0] for posting in postings],
        terms=[posting[1] for posting in postings],
        frequencies=[posting[2] for posting in postings],
    )
    return len(postings)


def record_state(session: Session, states: Mapping[UUID, tuple[str, str]], *, recipe: int) -> None:
    """Record (indexed_hash, embed_hash) per memory that is live: a retired one is indexed when it comes back."""
    session.run(
        _SQL["record_state"],
        memory_ids=list(states),
        indexed_hashes=[state[0] for state in states.values()],
        embed_hashes=[state[1] for state in states.values()],
        recipe=recipe,
    )


def fold_statistics(session: Session, limit: int) -> int:
    """Merge appended deltas of document frequencies, up to `limit` terms; the number of rows written."""
    session.run(_SQL["fold_totals"])
    return session.run(_SQL["fold_terms"], limit=limit)


def has_unfolded(session: Session) -> bool:
    """Whether any term still has more than one row."""
    return bool(session.value(_SQL["unfolded_terms"]))
