"""Statements on the index of the vault's files: notes, their links, quarantine. Not here: memories (memories.py)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from kos_assets.store.database import Row, Session, json
from kos_assets.store.sql import blocks

_SQL = blocks("notes")


def known(session: Session, source: str) -> list[Row]:
    """Every standing note of a source: note_id, path, namespace, size and mtime, hashes, stamped, event_rule."""
    return session.rows(_SQL["known"], source=source)


def upsert(session: Session, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert or update notes by id; `properties` and `structure` are JSON-safe values."""
    session.run_many(
        _SQL["upsert"],
        ({**row, "properties": json(row["properties"]), "structure": json(row["structure"])} for row in rows),
    )


def touch(session: Session, rows: Iterable[Mapping[str, Any]]) -> None:
    """Record a file's new size, mtime, hash and stamp where the note itself did not change."""
    session.run_many(_SQL["touch"], rows)


def mark_deleted(session: Session, note_ids: Sequence[UUID]) -> int:
    """Mark notes whose files are gone; the number marked."""
    return session.run(_SQL["mark_deleted"], note_ids=list(note_ids))


def replace_links(session: Session, note_ids: Sequence[UUID], links: Sequence[Mapping[str, Any]]) -> None:
    """The raw links of notes: note_id, ordinal, kind, target, anchor, line."""
    session.run(_SQL["delete_links"], note_ids=list(note_ids))
    columns = ("note_id", "ordinal", "kind", "target", "anchor", "line")
    session.run(_SQL["insert_links"], **{f"{column}s": [link[column] for link in links] for column in columns})


def names(session: Session) -> list[Row]:
    """What each standing note can be linked by: note_id, path, title, namespace, aliases."""
    return session.rows(_SQL["names"])


def connections(session: Session) -> list[Row]:
    """Lines between files on canvases: path and namespace of the canvas, a list of [source, target, label]."""
    return session.rows(_SQL["connections"])


def links(session: Session, note_ids: Sequence[UUID] | None) -> list[Row]:
    """Raw links of the given notes (None: of all), with the path of the note that they stand in."""
    return session.rows(_SQL["links"], note_ids=None if note_ids is None else list(note_ids))


def unsynced(session: Session, limit: int) -> list[Row]:
    """Notes that their memory has not followed yet: note_id, namespace, body_hash."""
    return session.rows(_SQL["unsynced"], limit=limit)


def places(session: Session, note_ids: Sequence[UUID]) -> list[Row]:
    """note_id, namespace, body_hash of these notes."""
    return session.rows(_SQL["unsynced_of"], note_ids=list(note_ids))


def unsync(session: Session, note_ids: Sequence[UUID]) -> int:
    """Let the memories of these notes be looked at again; the number of notes."""
    return session.run(_SQL["unsync"], note_ids=list(note_ids))


def bodies(session: Session) -> list[Row]:
    """note_id, namespace, body_hash of every standing note that has text."""
    return session.rows(_SQL["bodies"])


def group_members(session: Session, groups: Sequence[tuple[str, str]]) -> list[Row]:
    """Standing notes of the given (namespace, body_hash) groups."""
    return session.rows(
        _SQL["group_members"],
        namespaces=[namespace for namespace, _ in groups],
        body_hashes=[body_hash for _, body_hash in groups],
    )


def by_id(session: Session, note_ids: Sequence[UUID]) -> list[Row]:
    """Whole notes, deleted ones included."""
    return session.rows(_SQL["by_id"], note_ids=list(note_ids))


def mark_synced(session: Session, hashes: Mapping[UUID, str]) -> None:
    """Record which row_hash of each note its memory was made from."""
    session.run(_SQL["mark_synced"], note_ids=list(hashes), row_hashes=list(hashes.values()))


def quarantine(session: Session, released: Sequence[str], entries: Iterable[Mapping[str, Any]]) -> None:
    """Forget what was held against `released` paths, then record path, code, line, severity, namespace, reason, fix."""
    session.run(_SQL["release"], paths=list(released))
    session.run_many(_SQL["quarantine"], entries)


def quarantined(session: Session) -> list[Row]:
    """Everything in quarantine: blocked files and problems of indexed ones."""
    return session.rows(_SQL["quarantined"])


def accounting(session: Session) -> Row:
    """Counts: standing notes, blocked paths, paths with problems."""
    return session.one(_SQL["accounting"]) or {}


def installation(session: Session) -> Row | None:
    """The vault that this store belongs to, or None before the first scan."""
    return session.one(_SQL["installation"])


def adopt(session: Session, vault_id: UUID | None, vault_root: str) -> None:
    """Record the vault that this store belongs to."""
    session.run(_SQL["adopt"], vault_id=vault_id, vault_root=vault_root)


def set_notes_recipe(session: Session, notes_recipe: str) -> None:
    """Record by which settings and version of the parser the notes were read."""
    session.run(_SQL["set_notes_recipe"], notes_recipe=notes_recipe)


def set_links_hash(session: Session, links_hash: str) -> None:
    """Record the state of all names that links were last resolved against."""
    session.run(_SQL["set_links_hash"], links_hash=links_hash)
