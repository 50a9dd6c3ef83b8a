"""Bulk loading of generated rows, as the owner: benchmarks only, never what a person keeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import psycopg

from kos_assets.store.database import Session
from kos_assets.store.sql import blocks

_SQL = blocks("bulk")
_COPIES = {
    "memories": blocks("memories")["copy_generated"],
    "state": _SQL["copy_state"],
    "chunks": _SQL["copy_chunks"],
    "postings": _SQL["copy_postings"],
    "embeddings": _SQL["copy_embeddings"],
}


def copy(session: Session, table: str, rows: Iterable[Sequence[Any]]) -> int:
    """COPY rows into `memories`, `state`, `chunks`, `postings` or `embeddings`; the number of rows."""
    return session.copy(_COPIES[table], rows)


def last_chunk(session: Session) -> int:
    """The highest chunk id in use."""
    return int(session.value(_SQL["last_chunk"]))


def set_last_chunk(session: Session, last: int) -> None:
    """Let new chunks be numbered after `last`."""
    session.run(_SQL["set_last_chunk"], last=last)


def drop_vector_index(session: Session) -> None:
    """Drop the HNSW index, remembering its definition in this database session."""
    session.run(_SQL["drop_vector_index"])


def build_vector_index(session: Session) -> None:
    """Build it again, in the same database session."""
    session.run(_SQL["build_vector_index"])


def settle(dsn: str) -> None:
    """Vacuum and analyse, as autovacuum would have done by the time that a person has this many rows."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(_SQL["vacuum"])


def sizes(session: Session) -> dict[str, int]:
    """Bytes of the database, of postings and of vectors with their indexes."""
    row = session.one(_SQL["sizes"]) or {}
    return {name: int(value or 0) for name, value in row.items()}
