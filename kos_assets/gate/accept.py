"""Which file below `memories/` the gate itself wrote (V9): its record in the ledger, and a keyed hash that fits.

Here: the judgement on one file. Not here: reading it (ingest/statements.py), giving it a row (heal.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final, Literal
from uuid import UUID

from kos_assets.domain.decisions import Decision, MemoryState
from kos_assets.store import memories
from kos_assets.store.database import Session
from kos_assets.vault.ledger import keyed_hash
from kos_assets.vault.memory_file import StatementFile, digest_text, memory_path, namespace_of_path
from kos_assets.vault.problems import Problem, Unreadable
from kos_assets.vault.scan import FileStat

State = Literal["accepted", "pending", "refused"]
_WHY: Final = {
    "not_written_by_gate": (
        "it lies where agents' memories are kept, and the ledger has no record that the gate wrote it",
        "adopt it with `kos review adopt PATH`, or move it to another folder to keep it as a note",
    ),
    "changed_after_write": (
        "it was changed after the gate wrote it",
        "adopt the change with `kos review adopt PATH`, or restore the file from git",
    ),
    "misplaced": (
        "its name or folder is not the one of the memory that it describes",
        "move it back, or move it out of this folder to keep it as a note",
    ),
    "erased": ("what it holds was erased for good", "delete the file; git history keeps it until it is cleaned"),
}


@dataclass(frozen=True)
class Judged:
    """A file, what it says (None: unreadable), and whether the gate wrote it. `state_of` is its folded record."""

    stat: FileStat
    namespace: str
    state: State
    code: str | None
    memory_id: UUID | None
    file: StatementFile | None
    state_of: MemoryState | None
    reason: str = ""
    fix: str = ""

    @property
    def path(self) -> str:
        """Relative to the vault."""
        return self.stat.path

    def entry(self) -> dict[str, Any]:
        """Its row in the index of files."""
        return {
            "path": self.path,
            "memory_id": self.memory_id,
            "namespace": self.namespace,
            "size_bytes": self.stat.size,
            "mtime_ns": self.stat.mtime_ns,
            "state": self.state,
            "code": self.code,
        }

    def quarantine(self) -> dict[str, Any]:
        """What is held against it."""
        why = _WHY.get(self.code or "", (self.reason, self.fix))
        return {
            "path": self.path,
            "code": self.code or "refused",
            "line": 0,
            "severity": "blocked",
            "namespace": self.namespace,
            "reason": why[0],
            "fix": why[1],
        }


def judge_file(
    stat: FileStat,
    file: StatementFile | Problem | Unreadable,
    states: Mapping[str, MemoryState],
    *,
    keys: Mapping[str, bytes],
) -> Judged:
    """V9: accepted with a record whose keyed hash fits, pending with such a record of a wait, else refused.

    `states` are the folded records by memory id, `keys` the machines' (vault/ledger.py).
    """
    namespace = namespace_of_path(stat.path) or "shared:owner"
    memory_id = _id_of(stat.path)
    if isinstance(file, Problem | Unreadable):
        return Judged(stat, namespace, "refused", file.code, memory_id, None, None, file.reason, file.fix)
    state = states.get(str(file.memory_id))
    code = None
    record = None if state is None else state.written or state.pending
    if memory_path(file.namespace, file.memory_id) != stat.path:
        code = "misplaced"
    elif state is not None and state.erased:
        code = "erased"
    elif record is None:
        code = "not_written_by_gate"
    elif not _fits(record, file, keys):
        code = "changed_after_write"
    if code is not None:
        return Judged(stat, namespace, "refused", code, memory_id, file, state)
    waits = state is not None and state.written is None
    return Judged(stat, namespace, "pending" if waits else "accepted", None, memory_id, file, state)


def lock_namespace(session: Session, namespace: str) -> None:
    """Hold off the writers of a namespace until the transaction ends."""
    memories.lock_namespace(session, namespace)


def _fits(record: Decision, file: StatementFile, keys: Mapping[str, bytes]) -> bool:
    key = keys.get(record.machine)
    return key is not None and record.body.get("digest") == keyed_hash(key, digest_text(file))


def _id_of(path: str) -> UUID | None:
    try:
        return UUID(PurePosixPath(path).stem)
    except ValueError:
        return None
