"""The state of statements as their decisions and files say (V6): one function for a verb, a scan and a rebuild.

Here: the ledger's records folded, compared with the rows, and the difference written with history (S7). Not here: where
the records come from, notes (gate/notes.py), the birth of a row (birth.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from kos_assets.domain.decisions import MemoryState, fold
from kos_assets.store import decisions, edges, memories, review
from kos_assets.store.database import Row, Session

_STATE: Final = (
    "supersedes", "deleted_at", "deleted_reason", "verified_at", "verified_by", "verified_how", "boost",
)  # fmt: skip
_NOTHING: Final = MemoryState()
_ACTION: Final = {"superseded": "supersede", "forgotten": "forget", "undone": "undo", "expired": "expire"}


@dataclass(frozen=True)
class Settled:
    """One statement whose state changed, and how history calls it."""

    memory_id: UUID
    action: str


def settle_statements(
    session: Session, memory_ids: Sequence[UUID], *, at: datetime, by: str, note: str = ""
) -> list[Settled]:
    """Bring statements, and all that decisions join to them, to the state that decisions and files give. Idempotent.

    `note` goes into history as the reason. Rows that follow a note, and ids without a row, are left alone.
    """
    records = decisions.closure(session, [str(memory_id) for memory_id in memory_ids])
    states = fold(records)
    found = _ids([*map(str, memory_ids), *states])
    rows = {key: row for key, row in memories.by_id(session, found).items() if row["note_id"] is None}
    standing = {row["memory_id"] for row in decisions.files_of(session, list(rows)) if row["state"] == "accepted"}
    changes: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    for memory_id, row in sorted(rows.items()):
        state = states.get(str(memory_id))
        if state is None or state.written is None:
            continue
        wanted = wanted_state(row, state, stands=memory_id in standing, at=at)
        if state.supersedes is not None and states.get(state.supersedes, _NOTHING).erased:
            wanted["supersedes"] = None  # S11: nothing points to what was erased
        differing = [name for name in _STATE if not _same(row[name], wanted[name])]
        if differing:
            changes.append({**wanted, "memory_id": memory_id, "note_path": row["note_path"]})
            events.append(_event(row, wanted, differing, at=at, by=by, note=note))
            _relink(session, row, wanted)
    memories.settle(session, changes)
    memories.record_history(session, events)
    _close_reviews(session, changes, at)
    return [Settled(event["memory_id"], event["action"]) for event in events]


def wanted_state(row: Mapping[str, Any], state: MemoryState, *, stands: bool, at: datetime) -> dict[str, Any]:
    """What the lifecycle columns of a statement should be. A file that is gone is a memory that is gone (V6)."""
    reason = None
    if state.erased or state.forgotten:
        reason = "forgotten"
    elif state.superseded_by is not None:
        reason = "superseded"
    elif state.undone:
        reason = "undone"
    elif not stands:
        reason = "file_deleted"
    elif row["deleted_reason"] == "expired" and row["expires_at"] is not None and row["expires_at"] <= at:
        reason = "expired"
    kept = row["deleted_at"] if row["deleted_reason"] == reason else at
    return {
        "supersedes": None if state.supersedes is None else UUID(state.supersedes),
        "deleted_at": None if reason is None else kept,
        "deleted_reason": reason,
        "verified_at": state.verified_at,
        "verified_by": state.verified_by,
        "verified_how": state.verified_how,
        "boost": 1.0 if state.boost is None else state.boost,
    }


def _ids(subjects: Sequence[str]) -> list[UUID]:
    found = set()
    for subject in subjects:
        try:
            found.add(UUID(subject))
        except ValueError:
            continue  # a decision about something that is no memory
    return sorted(found)


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return abs(left - right) < 1e-6
    return bool(left == right)


def _event(
    row: Row, wanted: Mapping[str, Any], differing: Sequence[str], *, at: datetime, by: str, note: str
) -> dict[str, Any]:
    action = "annotate"
    if {"verified_at", "verified_by", "verified_how"} & {*differing}:
        action = "verify"
    if "deleted_reason" in differing:
        reason = wanted["deleted_reason"]
        action = "restore" if reason is None else _ACTION.get(reason, "retire")
    return {
        "memory_id": row["memory_id"],
        "namespace": row["namespace"],
        "at": at,
        "principal": by,
        "action": action,
        "reason": note or str(wanted["deleted_reason"] or action),
        "before": {name: _plain(row[name]) for name in differing},
        "after": {name: _plain(wanted[name]) for name in differing},
    }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def _relink(session: Session, row: Row, wanted: Mapping[str, Any]) -> None:
    """The `supersedes` edge follows the column; where it was cut, the two are similar for good and never fold again."""
    before, after = row["supersedes"], wanted["supersedes"]
    if before == after:
        return
    if before is not None:
        edges.remove(session, row["memory_id"], "supersedes", before)
        if memories.place(session, before) is not None:
            edges.add(session, row["memory_id"], "similar_to", before, detail={"veto": "restored"})
    if after is not None and memories.place(session, after) is not None:
        edges.add(session, row["memory_id"], "supersedes", after)


def _close_reviews(session: Session, changes: Sequence[Mapping[str, Any]], at: datetime) -> None:
    ended = [change["memory_id"] for change in changes if change["deleted_reason"] is not None]
    if ended:
        review.close_items(session, "stale", ended, at=at, outcome="retired")
        review.close_items(session, "contradiction", ended, at=at, outcome="retired")
