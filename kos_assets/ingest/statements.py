"""The files of statements and the decisions about memories to rows (V6, V9): what healed, what waits, what is refused.

Here: which file is accepted, the birth of rows that a crash or another clone left to us, and rows brought to what the
ledger says. Not here: notes (notes.py, memories.py), the verdict on new statements (gate/write.py).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from uuid import UUID

from kos_assets.domain.decisions import Decision, fold
from kos_assets.errors import ProviderUnavailableError
from kos_assets.gate.accept import judge_file, lock_namespace
from kos_assets.gate.context import Gate, open_gate
from kos_assets.gate.ends import notes_of
from kos_assets.gate.heal import heal
from kos_assets.gate.settle import settle_statements
from kos_assets.gate.write import settle_pending
from kos_assets.inference.embedding import Embedder
from kos_assets.ingest.ledger import sync_ledger
from kos_assets.ingest.reports import SAMPLE, Progress, StatementsReport
from kos_assets.settings import Settings
from kos_assets.store import decisions, review
from kos_assets.store import notes as store_notes
from kos_assets.store.database import Row, Session, Store
from kos_assets.vault import ledger
from kos_assets.vault.files import remove_leftovers
from kos_assets.vault.memory_file import FOLDER, StatementFile, is_reserved, namespace_of_path, parse
from kos_assets.vault.problems import Problem, Unreadable
from kos_assets.vault.scan import FileStat, read, walk

_BATCH: Final = 200
_SCAN: Final = "scan"


def sync_statements(
    store: Store,
    settings: Settings,
    embedder: Embedder | None,
    *,
    now: datetime | None = None,
    progress: Progress | None = None,
) -> StatementsReport:
    """Let statements follow their files and the ledger. Idempotent; an unchanged vault costs a stat per file.

    A file with its record and no row is healed by its recorded outcome; a file without a record, or changed since, is
    refused and waits for review; a row whose file is gone is retired. Statements that wait for the embedder pass the
    gate when it answers.
    """
    started = time.monotonic()
    at = now or datetime.now(UTC)
    gate = open_gate(store, settings, embedder)
    found = _Found()
    with store.exclusive("ingest:memories"):
        with store.transaction(pipeline=True) as session:
            sync_ledger(session, gate.root, namespace=settings.default_namespace)
        files = _look(gate)
        while _step(gate, files, found, at):
            if progress:
                progress("statements", found.judged, found.judged)
    _pass_pending(gate, found, at)
    with store.transaction(pipeline=True) as session:
        counts = decisions.file_counts(session)
    return StatementsReport(
        files=len(files.stats),
        read=found.judged,
        healed=found.actions["healed"],
        settled=found.actions["settled"],
        passed=found.actions["passed"],
        accepted=counts.get("accepted", 0),
        pending=counts.get("pending", 0),
        refused=counts.get("refused", 0),
        seconds=round(time.monotonic() - started, 3),
        memory_ids=tuple(str(memory_id) for memory_id in found.memory_ids[:SAMPLE]),
    )


@dataclass
class _Found:
    """What one run did so far."""

    judged: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    memory_ids: list[UUID] = field(default_factory=list)
    done: set[str] = field(default_factory=set)


@dataclass
class _Files:
    """The files of statements: as they stand, as the index knows them, what is due, what is gone; the ledger's keys."""

    stats: Mapping[str, FileStat]
    known: Mapping[str, Row]
    keys: Mapping[str, bytes]
    due: list[str]
    gone: list[str]


def _look(gate: Gate) -> _Files:
    stats, hidden = _walk(gate.root)
    with gate.store.transaction(pipeline=True) as session:
        known = decisions.memory_files(session)
        order = decisions.written_order(session)
    due = [path for path, stat in stats.items() if _differs(known.get(path), stat)]
    latest = datetime.max.replace(tzinfo=UTC)
    due.sort(key=lambda path: (order.get(Path(path).stem, latest), path))  # what is pointed to comes first
    gone = [path for path in known if path not in stats and _is_gone(gate.root, path, hidden)]
    return _Files(stats, known, ledger.keys(gate.root), due, gone)


def _walk(root: Path) -> tuple[dict[str, FileStat], list[Unreadable]]:
    base = root / FOLDER
    if base.is_symlink() or not base.is_dir():
        return {}, []
    remove_leftovers(root, FOLDER)
    found, unreadable = walk(base)
    stats = {f"{FOLDER}/{stat.path}": FileStat(f"{FOLDER}/{stat.path}", stat.size, stat.mtime_ns) for stat in found}
    hidden = [Unreadable(f"{FOLDER}/{item.path}", item.code, item.reason, item.fix) for item in unreadable]
    return {path: stat for path, stat in stats.items() if is_reserved(path)}, hidden


def _differs(row: Row | None, stat: FileStat) -> bool:
    return row is None or (row["size_bytes"], row["mtime_ns"]) != (stat.size, stat.mtime_ns)


def _is_gone(root: Path, path: str, hidden: Sequence[Unreadable]) -> bool:
    """Whether a known file stands no more: not one that is out of sight (V4), nor one written since the walk."""
    if any(path == item.path or path.startswith(f"{item.path}/") for item in hidden):
        return False
    try:
        (root / path).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _step(gate: Gate, files: _Files, found: _Found, at: datetime) -> bool:
    """One transaction: a batch of files and of unsettled records. False when nothing was left to do.

    The namespaces' writers are held off meanwhile: a file is never judged between its rename and its commit.
    """
    with gate.store.transaction(pipeline=True) as session:
        records = decisions.unsettled(session, most=_BATCH)
        again = [path for path in _named(files, records) if path not in found.done]
        batch = list(dict.fromkeys([*files.due[:_BATCH], *again]))
        gone = files.gone[:_BATCH]
        if not batch and not records and not gone:
            return False
        for namespace in _namespaces([*batch, *gone], records):
            lock_namespace(session, namespace)
        touched = _take_files(session, gate, files, batch, found=found, at=at)
        decisions.drop_memory_files(session, gone)
        store_notes.quarantine(session, gone, [])
        touched += [files.known[path]["memory_id"] for path in gone if files.known[path]["memory_id"] is not None]
        ids = _settle(session, records, touched, found, at)
        _unsync_notes(session, gate, records, ids)
        decisions.settle(session, records)
    found.done |= {*batch}
    files.due = files.due[_BATCH:]
    files.gone = files.gone[_BATCH:]
    return True


def _named(files: _Files, records: Sequence[Decision]) -> list[str]:
    """Files that are held back, and that a new record is about: they may be accepted now."""
    named = {record.subject for record in records}
    return [
        path
        for path, row in files.known.items()
        if row["state"] != "accepted" and path in files.stats and Path(path).stem in named
    ]


def _namespaces(paths: Sequence[str], records: Sequence[Decision]) -> list[str]:
    found = {namespace_of_path(path) for path in paths} | {record.body.get("namespace") for record in records}
    return sorted(str(name) for name in found if name)


def _take_files(
    session: Session, gate: Gate, files: _Files, batch: Sequence[str], *, found: _Found, at: datetime
) -> list[UUID]:
    """Judge files by the ledger, give rows to those that have none; the ids that were touched."""
    read_files = {path: _read(gate.root, files.stats[path]) for path in batch}
    subjects = [str(file.memory_id) for file in read_files.values() if isinstance(file, StatementFile)]
    states = fold(decisions.of_subjects(session, subjects))
    judged = [judge_file(files.stats[path], file, states, keys=files.keys) for path, file in read_files.items()]
    healed = heal(session, [item for item in judged if item.state == "accepted"], at=at)
    decisions.keep_memory_files(session, [item.entry() for item in judged])
    refused = [item.quarantine() for item in judged if item.state == "refused"]
    store_notes.quarantine(session, batch, refused)
    found.judged += len(judged)
    found.actions["healed"] += len(healed)
    found.memory_ids += healed
    return [item.memory_id for item in judged if item.memory_id is not None]


def _read(root: Path, stat: FileStat) -> StatementFile | Problem | Unreadable:
    data = read(root, stat)
    return data if isinstance(data, Unreadable) else parse(stat.path, data)


def _settle(
    session: Session, records: Sequence[Decision], touched: Sequence[UUID], found: _Found, at: datetime
) -> list[UUID]:
    """Statements brought to what the ledger and their files say; the ids of memories that records or files name."""
    subjects = {record.subject for record in records} | {str(memory_id) for memory_id in touched}
    ids = [UUID(subject) for subject in sorted(subjects) if _is_id(subject)]
    by = records[0].by if len({record.by for record in records}) == 1 else _SCAN
    settled = settle_statements(session, ids, at=at, by=by)
    found.actions["settled"] += len(settled)
    found.memory_ids += [item.memory_id for item in settled]
    for record in records:
        if record.op == "resolve" and _is_id(record.subject) and _is_id(str(record.body.get("other"))):
            pair = UUID(record.subject), UUID(str(record.body["other"]))
            review.close_pair(session, *pair, at=record.at, outcome=str(record.body.get("outcome", "both")))
    return ids


def _unsync_notes(session: Session, gate: Gate, records: Sequence[Decision], ids: Sequence[UUID]) -> None:
    """Notes that a decision is about, by id or by the keyed hash of an equal text (S11)."""
    ends = list(records)
    if any(record.op == "restore" for record in records):
        ends += decisions.ends(session)
    store_notes.unsync(session, sorted(notes_of(session, gate.root, ends, ids)))


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _pass_pending(gate: Gate, found: _Found, at: datetime) -> None:
    """Statements that waited for the embedder, oldest first, until it fails again (E5)."""
    if gate.embedder is None:
        return
    with gate.store.transaction(pipeline=True) as session:
        waiting = decisions.pending_files(session)
    for row in waiting:
        file = _read_one(gate.root, row["path"])
        if file is None:
            continue
        try:
            result = settle_pending(gate, file, at=at)
        except ProviderUnavailableError:
            return
        if result.action == "pending":
            return
        found.actions["passed"] += 1
        found.memory_ids.append(result.memory_id)


def _read_one(root: Path, path: str) -> StatementFile | None:
    try:
        status = (root / path).lstat()
    except OSError:
        return None
    file = _read(root, FileStat(path, status.st_size, status.st_mtime_ns))
    return file if isinstance(file, StatementFile) else None
