"""Statements on memories and their history. Called by the gate alone; everything that reads says live_memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from kos_assets.store.database import Row, Session, json
from kos_assets.store.sql import blocks

_SQL = blocks("memories")


def by_id(session: Session, memory_ids: Sequence[UUID]) -> dict[UUID, Row]:
    """Whole memories, retired ones included, by id; locked in the order of ids until the transaction ends, so that what
    is decided on them still holds when it is written."""
    return {row["memory_id"]: row for row in session.rows(_SQL["by_id"], memory_ids=list(memory_ids))}


def fold_groups(session: Session, note_ids: Sequence[UUID]) -> list[tuple[str, str]]:
    """The (namespace, body_hash) groups that the memories of these notes belong to so far."""
    return [(row["namespace"], row["body_hash"]) for row in session.rows(_SQL["fold_groups"], note_ids=list(note_ids))]


def insert(session: Session, rows: Iterable[Mapping[str, Any]]) -> None:
    """New memories."""
    session.run_many(_SQL["insert"], rows)


def update(session: Session, rows: Iterable[Mapping[str, Any]]) -> None:
    """Change memories in place."""
    session.run_many(_SQL["update"], rows)


def retire(session: Session, memory_ids: Sequence[UUID], *, at: datetime, reason: str) -> list[Row]:
    """Soft-delete live memories; memory_id and namespace of those that were live."""
    return session.rows(_SQL["retire"], memory_ids=list(memory_ids), at=at, reason=reason)


def expired(session: Session, *, at: datetime, limit: int) -> list[UUID]:
    """Live memories whose time is over, oldest first."""
    return [row["memory_id"] for row in session.rows(_SQL["expired"], at=at, limit=limit)]


def record_history(session: Session, rows: Iterable[Mapping[str, Any]]) -> None:
    """Append history: memory_id, namespace, at, principal, action, reason, before, after (JSON-safe or None)."""
    session.run_many(
        _SQL["record_history"],
        (
            {
                **row,
                "before": None if row["before"] is None else json(row["before"]),
                "after": None if row["after"] is None else json(row["after"]),
            }
            for row in rows
        ),
    )


def history(session: Session, memory_id: UUID) -> list[Row]:
    """The changes of one memory, oldest first (S7)."""
    return session.rows(_SQL["history"], memory_id=memory_id)


def nearest(session: Session, namespace: str, embedding: Any) -> tuple[UUID, float] | None:
    """The nearest live memory of a namespace and its cosine distance, exactly (G3)."""
    row = session.one(_SQL["nearest"], namespace=namespace, embedding=embedding)
    return None if row is None else (row["memory_id"], float(row["distance"]))


def by_key(session: Session, key: str) -> UUID | None:
    """The memory that was written with this idempotency key."""
    found = session.value(_SQL["by_key"], key=key)
    return found if isinstance(found, UUID) else None


def lock_namespace(session: Session, namespace: str) -> None:
    """Serialise writers of one namespace until the transaction ends."""
    session.run(_SQL["lock_namespace"], namespace=namespace)


def fold_targets(session: Session) -> dict[UUID, UUID]:
    """For each note-backed memory that is live or folded: itself, or the canonical one that it is folded into."""
    return {row["memory_id"]: row["target_id"] for row in session.rows(_SQL["fold_targets"])}


def counts(session: Session) -> Row:
    """Note-backed memories: live, folded, retired otherwise."""
    return session.one(_SQL["counts"]) or {}


def folded(session: Session) -> list[Row]:
    """Folded copies: path, canonical_path and both ids."""
    return session.rows(_SQL["folded"])


def refresh_scope(session: Session) -> None:
    """Let the pipeline's live views show a namespace that this transaction has just begun to use."""
    session.run(_SQL["refresh_scope"])
