"""Statements of the auditor (S7, S12): retired rows and their history, the review list. As kos_auditor only."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kos_assets.store.database import Row, Session
from kos_assets.store.sql import blocks

_SQL = blocks("audit")
MOST_VERSIONS = 500


def used_namespaces(session: Session) -> list[str]:
    """Every namespace that holds a memory, live or retired, or a file that is not accepted."""
    return list(session.value(_SQL["used_namespaces"]) or [])


def chain(session: Session, memory_id: UUID) -> list[Row]:
    """The versions of a memory, oldest first, by their distance (`hop`, 0 = this one); `retired` says why, or None."""
    return session.rows(_SQL["chain"], memory_id=memory_id, most=MOST_VERSIONS)


def events(session: Session, memory_ids: Sequence[UUID], *, most: int) -> list[Row]:
    """The changes of memories, newest first."""
    return session.rows(_SQL["events"], memory_ids=list(memory_ids), most=most)


def open_items(session: Session, kinds: Sequence[str] | None, *, most: int) -> list[Row]:
    """Open review items with their memories, newest first."""
    return session.rows(_SQL["open_items"], kinds=None if kinds is None else list(kinds), most=most)


def pending_path(session: Session, memory_id: UUID) -> str | None:
    """The file of a statement that waits for the embedder and so has no row yet."""
    found: str | None = session.value(_SQL["pending_path"], memory_id=memory_id)
    return found


def held_files(session: Session, states: Sequence[str] | None, *, most: int) -> list[Row]:
    """Files of statements that are refused or pending, newest first."""
    return session.rows(_SQL["held_files"], states=None if states is None else list(states), most=most)
