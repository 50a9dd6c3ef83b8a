"""Hard erasure (S11): who may, what goes, in which order. The ledger's records first, then the files if the person said
so, then one transaction in which every row leaves.

Here: one erasure as the gate knows it. Not here: what only an administrator may do (marts, vacuum) and the proof
(hygiene/erase.py, hygiene/probe.py); how a scan obeys the records (gate/ends.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from kos_assets.domain import needles
from kos_assets.domain.decisions import Decision, fold
from kos_assets.domain.needles import Fingerprint
from kos_assets.domain.principals import Principal
from kos_assets.errors import AuthorityError, InputError, NotFoundError, VaultError
from kos_assets.gate.context import Gate
from kos_assets.gate.life import note_marks
from kos_assets.store import decisions, erasure, memories
from kos_assets.store.database import Row, Session
from kos_assets.vault import files, memory_file
from kos_assets.vault.problems import Problem


@dataclass(frozen=True)
class Erased:
    """What one erasure took. `copies` went along because they carry exactly the same text; `relatives` are other
    versions of the same chain, which still stand; `kept` are files left in place, which no scan will read again."""

    memory_ids: tuple[UUID, ...]
    copies: tuple[UUID, ...]
    relatives: tuple[UUID, ...]
    counts: dict[str, int]
    deleted: tuple[str, ...]
    kept: tuple[str, ...]
    fingerprint: Fingerprint = field(repr=False)


def plan(gate: Gate, memory_ids: Sequence[UUID], *, principal: Principal) -> list[Row]:
    """What an erasure would take: memory_id, namespace, heading, path, is_asked, … of each; nothing is changed.

    Raises AuthorityError, NotFoundError.
    """
    _check_owner(principal)
    with gate.store.transaction(pipeline=True) as session:
        return _wanted(session, memory_ids)


def erase(
    gate: Gate, memory_ids: Sequence[UUID], *, principal: Principal, at: datetime, delete_file: bool = False
) -> Erased:
    """S11: erase memories for good, with equal copies of their text. Owner only. Safe to repeat after a crash.

    `delete_file` also deletes their files from the vault; without it no file is touched (V7). Raises AuthorityError,
    NotFoundError, InputError when a note's file was changed since it was read: nothing was done then. VaultError and
    StoreError may leave records in the ledger without deleted rows: the same call again completes it.
    """
    _check_owner(principal)
    with gate.store.transaction(pipeline=True) as session:
        rows = _wanted(session, memory_ids)
        for namespace in sorted({row["namespace"] for row in rows}):
            memories.lock_namespace(session, namespace)
        rows = _wanted(session, memory_ids)  # as they stand now that nobody writes beside
        memories.by_id(session, [row["memory_id"] for row in rows])
        if delete_file:
            _refuse_changed(gate, rows)
        decisions.record(session, _records(gate, session, rows, principal=principal, at=at), settled=True)
        print_of = _fingerprint(gate, rows)
        deleted = _delete_files(gate, rows) if delete_file else []
        counts, terms = erasure.erase(session, print_of.memory_ids, print_of.runs, principal=principal.name, at=at)
    paths = {row["path"] for row in rows if row["path"]}
    return Erased(
        memory_ids=print_of.memory_ids,
        copies=tuple(row["memory_id"] for row in rows if not row["is_asked"]),
        relatives=tuple(sorted({relative for row in rows for relative in row["relatives"]})),
        counts=counts,
        deleted=tuple(sorted(deleted)),
        kept=tuple(sorted(path for path in paths - set(deleted) if _stands(gate, path))),
        fingerprint=_with_terms(print_of, terms),
    )


def sweep(gate: Gate, erased: Erased, *, principal: Principal, at: datetime) -> None:
    """Once more over what a retrieval in flight may have written since: its trace arrives after its answer."""
    _check_owner(principal)
    with gate.store.transaction(pipeline=True) as session:
        erasure.erase(session, erased.memory_ids, erased.fingerprint.runs, principal=principal.name, at=at)


def _check_owner(principal: Principal) -> None:
    if principal.role != "owner":
        raise AuthorityError(
            f"{principal.name} may not erase a memory.",
            why="Rule S11: what is erased cannot be undone, so only the owner may.",
            fix="Use forget, which can be undone, or ask the owner.",
        )


def _wanted(session: Session, memory_ids: Sequence[UUID]) -> list[Row]:
    """Rows with their copies; statements that wait for the embedder, and those erased before, have a file at most."""
    asked = list(dict.fromkeys(memory_ids))
    rows = erasure.erasable(session, asked)
    missing = [memory_id for memory_id in asked if memory_id not in {row["memory_id"] for row in rows}]
    if not missing:
        return rows
    standing = {row["memory_id"]: row for row in decisions.files_of(session, missing)}
    states = fold(decisions.of_subjects(session, [str(memory_id) for memory_id in missing]))
    for memory_id in missing:
        state = states.get(str(memory_id))
        if memory_id not in standing and not (state is not None and state.erased):
            raise NotFoundError(
                f"There is no memory {memory_id}.", fix="Search for it, or list retired ones with `kos review`."
            )
        recorded = [] if state is None else [item for item in (state.written, state.pending) if item is not None]
        rows.append(_rowless(memory_id, standing.get(memory_id), recorded))
    return rows


def _rowless(memory_id: UUID, file: Row | None, recorded: Sequence[Decision]) -> Row:
    """A memory without a row; its file stands where its record says, whatever became of the index of files."""
    namespace = next((item.body["namespace"] for item in recorded if "namespace" in item.body), "global")
    return {
        "memory_id": memory_id,
        "namespace": file["namespace"] if file else namespace,
        "note_id": None,
        "fold_hash": None,
        "heading": "",
        "content": "",
        "earlier": [],
        "path": file["path"] if file else memory_file.memory_path(namespace, memory_id) if recorded else None,
        "file_hash": None,
        "is_asked": True,
        "relatives": [],
    }


def _records(
    gate: Gate, session: Session, rows: Sequence[Row], *, principal: Principal, at: datetime
) -> list[Decision]:
    """One record for each memory that has none yet: ids and a keyed hash, never text (V6)."""
    subjects = [str(row["memory_id"]) for row in rows]
    states = fold(decisions.of_subjects(session, subjects))
    found = []
    for row in rows:
        subject = str(row["memory_id"])
        if subject in states and states[subject].erased:
            continue
        body: dict[str, Any] = {"namespace": row["namespace"], **note_marks(gate, row)}
        found.append(gate.ledger.append("erase", subject, by=principal.name, at=at, **body))
    return found


def _fingerprint(gate: Gate, rows: Sequence[Row]) -> Fingerprint:
    """What the proof will look for. A statement that has no row yet is read from its file."""
    runs: list[str] = []
    verbatim: list[str] = []
    for row in rows:
        texts = [row["content"], *row["earlier"]]
        if not row["content"] and row["path"]:
            texts.append(_body(gate, row["path"]))
        runs += needles.runs(row["heading"], texts)
        verbatim += needles.verbatim(texts)
    return Fingerprint(
        memory_ids=tuple(row["memory_id"] for row in rows),
        note_ids=tuple(row["note_id"] for row in rows if row["note_id"]),
        runs=tuple(dict.fromkeys(runs)),
        paths=tuple(sorted({row["path"] for row in rows if row["path"]})),
        verbatim=tuple(dict.fromkeys(verbatim)),
    )


def _with_terms(found: Fingerprint, terms: Sequence[str]) -> Fingerprint:
    return Fingerprint(found.memory_ids, found.note_ids, found.runs, tuple(terms), found.paths, found.verbatim)


def _body(gate: Gate, path: str) -> str:
    found = memory_file.parse(path, _read(gate, path) or b"")
    return "" if isinstance(found, Problem) else f"{found.heading}\n{found.content}"


def _read(gate: Gate, path: str) -> bytes | None:
    """A file of the vault; None when it is not there, or cannot be opened as one."""
    try:
        with files.parent_of(gate.root, path) as (folder, name):
            descriptor = files.open_file(folder, name)
            with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
                return file.read()
    except OSError:
        return None


def _stands(gate: Gate, path: str) -> bool:
    return (gate.root / path).is_file()


def _refuse_changed(gate: Gate, rows: Sequence[Row]) -> None:
    """A note's file that is no longer what was read may hold something else by now."""
    changed = []
    for row in rows:
        if row["file_hash"] is None or not row["path"]:
            continue
        data = _read(gate, row["path"])
        if data is not None and hashlib.sha256(data).hexdigest() != row["file_hash"]:
            changed.append(row["path"])
    if changed:
        raise InputError(
            f"{', '.join(sorted(changed))} changed since it was read; nothing was erased.",
            why="Deleting it might lose what was written since.",
            fix="Run `kos ingest`, look at the memory again, then erase it.",
        )


def _delete_files(gate: Gate, rows: Sequence[Row]) -> list[str]:
    """Files that are gone now. One that cannot be deleted stays, and stays erased: scans obey the record."""
    gone = []
    for path in sorted({row["path"] for row in rows if row["path"]}):
        try:
            if memory_file.delete_file(gate.root, path):
                gone.append(path)
        except VaultError:
            continue
    return gone
