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


def near(session: Session, namespace: str, embedding: Any, *, distance: float, most: int) -> list[tuple[UUID, float]]:
    """Live memories of a namespace nearer than a cosine distance, nearest first, exactly (G3)."""
    found = session.rows(_SQL["near"], namespace=namespace, embedding=embedding, distance=distance, most=most)
    return [(row["memory_id"], float(row["distance"])) for row in found]


def twins(session: Session, namespace: str, content_hash: str, *, most: int) -> list[UUID]:
    """Live statements of a namespace with exactly this text, whether or not they have a vector yet."""
    found = session.rows(_SQL["twins"], namespace=namespace, content_hash=content_hash, most=most)
    return [row["memory_id"] for row in found]


def by_key(session: Session, key: str) -> Row | None:
    """What was written with this idempotency key: memory_id, content_hash, deleted_at, supersedes."""
    return session.one(_SQL["by_key"], key=key)


def place(session: Session, memory_id: UUID) -> Row | None:
    """Where a memory stands: namespace, note_id, deleted_at, deleted_reason; nothing is locked."""
    return session.one(_SQL["place"], memory_id=memory_id)


def standing(session: Session, memory_ids: Sequence[UUID]) -> set[UUID]:
    """Those of the ids that have a row at all, live or not."""
    return {row["memory_id"] for row in session.rows(_SQL["standing"], memory_ids=list(memory_ids))}


def note_ids(session: Session, memory_ids: Sequence[UUID]) -> set[UUID]:
    """The notes that these memories follow."""
    return {row["note_id"] for row in session.rows(_SQL["note_ids"], memory_ids=list(memory_ids))}


def settle(session: Session, rows: Iterable[Mapping[str, Any]]) -> None:
    """Bring the state of memories (not their text) to the given values: supersedes, deletion, verification, boost,
    path."""
    session.run_many(_SQL["settle"], rows)


def clock(session: Session) -> datetime:
    """The database's own clock: expiry goes by it."""
    moment = session.value(_SQL["clock"])
    assert isinstance(moment, datetime)  # noqa: S101 - what the statement selects
    return moment


def lock_namespace(session: Session, namespace: str) -> None:
    """Serialise writers of one namespace until the transaction ends."""
    session.run(_SQL["lock_namespace"], namespace=namespace)


def fold_targets(session: Session) -> dict[UUID, UUID]:
    """For each note-backed memory that is live or folded: itself, or the canonical one that it is folded into."""
    return {row["memory_id"]: row["target_id"] for row in session.rows(_SQL["fold_targets"])}


def counts(session: Session) -> Row:
    """Note-backed memories: live, folded, expired, forgotten, retired otherwise; statements live and retired."""
    return session.one(_SQL["counts"]) or {}


def folded(session: Session) -> list[Row]:
    """Folded copies: path, canonical_path and both ids."""
    return session.rows(_SQL["folded"])


def superseded_live(session: Session, *, limit: int) -> list[UUID]:
    """Live statements that a later version of their namespace still supersedes, in the order of ids (H2).

    Not among them: members of a circle (a broken import).
    """
    return [row["memory_id"] for row in session.rows(_SQL["superseded_live"], limit=limit)]


def record_chains(session: Session, *, at: datetime, limit: int) -> Row:
    """Record root, tip and length of every supersede chain longer than two hops (H2), at most `limit` changes a call:
    chains, longest (hops), circular (memories whose chain leads into a circle), and ids recorded, dropped, circular."""
    return session.one(_SQL["record_chains"], at=at, limit=limit) or {}
