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

from kos_assets.domain.decisions import Decision
from kos_assets.errors import ProviderUnavailableError
from kos_assets.gate.accept import Judged, judge_file
from kos_assets.gate.context import Gate, open_gate
from kos_assets.gate.ends import notes_of
from kos_assets.gate.heal import heal
from kos_assets.gate.settle import settle_statements
from kos_assets.gate.write import settle_pending
from kos_assets.inference.embedding import Embedder
from kos_assets.ingest.reports import SAMPLE, Progress, StatementsReport
from kos_assets.settings import Settings
from kos_assets.store import decisions, review
from kos_assets.store import notes as store_notes
from kos_assets.store.database import Row, Session, Store
from kos_assets.vault import ledger
from kos_assets.vault.memory_file import FOLDER, StatementFile, is_reserved, parse
from kos_assets.vault.problems import Unreadable
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
        files = _walk(gate.root)
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


@dataclass(frozen=True)
class _Files:
    """The files of statements, by path; what below their folder cannot be looked at."""

    stats: Mapping[str, FileStat]
    hidden: Sequence[Unreadable]


def _walk(root: Path) -> _Files:
    base = root / FOLDER
    if base.is_symlink() or not base.is_dir():
        return _Files({}, [])
    found, unreadable = walk(base)
    stats = {f"{FOLDER}/{stat.path}": FileStat(f"{FOLDER}/{stat.path}", stat.size, stat.mtime_ns) for stat in found}
    hidden = [Unreadable(f"{FOLDER}/{item.path}", item.code, item.reason, item.fix) for item in unreadable]
    return _Files({path: stat for path, stat in stats.items() if is_reserved(path)}, hidden)


def _step(gate: Gate, files: _Files, found: _Found, at: datetime) -> bool:
    """One transaction: a batch of changed files and of unsettled records. False when nothing was left to do."""
    with gate.store.transaction(pipeline=True) as session:
        known = decisions.memory_files(session)
        records = decisions.unsettled(session, most=_BATCH)
        named = {record.subject for record in records}
        due = [
            path
            for path, stat in files.stats.items()
            if path not in found.done and _is_due(known.get(path), stat, named)
        ]
        gone = [] if found.done else _gone(known, files)
        if not due and not records and not gone:
            return False
        batch = sorted(due)[:_BATCH]
        touched = _take_files(session, gate, [files.stats[path] for path in batch], found, at)
        decisions.drop_memory_files(session, gone)
        store_notes.quarantine(session, gone, [])
        touched += [known[path]["memory_id"] for path in gone if known[path]["memory_id"] is not None]
        ids = _settle(session, records, touched, found, at)
        _unsync_notes(session, gate, records, ids)
        decisions.settle(session, records)
        found.done |= {*batch, *gone, ""}
        return True


def _is_due(row: Row | None, stat: FileStat, named: set[str]) -> bool:
    if row is None or (row["size_bytes"], row["mtime_ns"]) != (stat.size, stat.mtime_ns):
        return True
    return row["state"] != "accepted" and Path(stat.path).stem in named


def _gone(known: Mapping[str, Row], files: _Files) -> list[str]:
    """Known files that stand no more; one that is only out of sight is not known to be gone (V4)."""
    covered = tuple(item.path for item in files.hidden)
    return [
        path
        for path in known
        if path not in files.stats and not any(path == item or path.startswith(f"{item}/") for item in covered)
    ]


def _take_files(session: Session, gate: Gate, batch: Sequence[FileStat], found: _Found, at: datetime) -> list[UUID]:
    """Judge files by the ledger, give rows to those that have none; the ids that were touched."""
    judged = [_judge(session, gate, stat) for stat in batch]
    found.judged += len(judged)
    accepted = [item for item in judged if item.state == "accepted"]
    healed = heal(session, accepted, at=at)
    found.actions["healed"] += len(healed)
    found.memory_ids += healed
    decisions.keep_memory_files(session, [item.entry() for item in judged])
    refused = [item for item in judged if item.state == "refused"]
    store_notes.quarantine(session, [item.path for item in judged], [item.quarantine() for item in refused])
    return [item.memory_id for item in judged if item.memory_id is not None]


def _judge(session: Session, gate: Gate, stat: FileStat) -> Judged:
    data = read(gate.root, stat)
    file = data if isinstance(data, Unreadable) else parse(stat.path, data)
    return judge_file(session, stat, file, keys=ledger.keys(gate.root))


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
        data = _read_one(gate.root, row["path"])
        file = parse(row["path"], data) if data is not None else None
        if not isinstance(file, StatementFile):
            continue
        try:
            result = settle_pending(gate, file, at=at)
        except ProviderUnavailableError:
            return
        if result.action == "pending":
            return
        found.actions["passed"] += 1
        found.memory_ids.append(result.memory_id)


def _read_one(root: Path, path: str) -> bytes | None:
    try:
        status = (root / path).lstat()
    except OSError:
        return None
    data = read(root, FileStat(path, status.st_size, status.st_mtime_ns))
    return None if isinstance(data, Unreadable) else data
