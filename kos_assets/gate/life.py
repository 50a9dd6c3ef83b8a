"""Ends that a person or an agent decides, and their undoing: forget, restore (S7, S11). Ledger first, then one
transaction with history.

Not here: erasure (erase.py), verification and boost (marks.py), expiry (retire.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from kos_assets.domain.decisions import MemoryState, fold
from kos_assets.domain.principals import Principal, own_namespaces
from kos_assets.errors import AuthorityError, InputError, NotFoundError
from kos_assets.gate.context import Gate
from kos_assets.gate.ends import body_text, notes_of, read_ends
from kos_assets.gate.notes import write_notes
from kos_assets.gate.settle import settle_statements
from kos_assets.store import decisions, memories, notes
from kos_assets.store.database import Row, Session
from kos_assets.vault.ledger import keyed_hash


@dataclass(frozen=True)
class Change:
    """What one decision did to a memory; `also` are other memories that changed with it."""

    memory_id: UUID
    action: str
    reason: str
    also: tuple[UUID, ...] = ()


def forget(gate: Gate, memory_id: UUID, *, principal: Principal, at: datetime) -> Change:
    """Soft-delete a memory so that no scan, rebuild or restore of a file brings it back; `restore` does.

    A note's equal copies are forgotten with it. Raises NotFoundError, AuthorityError, InputError when it is forgotten
    already.
    """
    row = find(gate, memory_id, principal)
    check_end_authority(principal, row)
    with gate.store.transaction(namespaces=(row["namespace"],)) as session:
        memories.lock_namespace(session, row["namespace"])
        row = _locked(session, memory_id)
        if row["deleted_reason"] == "forgotten":
            raise InputError("That memory is forgotten already.", fix=f"`kos restore {memory_id}` brings it back.")
        body = {"namespace": row["namespace"], **note_marks(gate, row)}
        record = gate.ledger.append("forget", str(memory_id), by=principal.name, at=at, **body)
        decisions.record(session, [record], settled=True)
        also = follow(gate, session, row, at=record.at, principal=principal, note="forgotten")
    return Change(memory_id, "forget", "forgotten", tuple(item for item in also if item != memory_id))


def restore(gate: Gate, memory_id: UUID, *, principal: Principal, at: datetime, instead: bool = False) -> Change:
    """Make a retired memory live again (S7): what was forgotten, superseded or undone.

    A superseded one comes back beside its successor, and the two never fold again; with `instead` the live tip of the
    chain is retired in its place. Raises NotFoundError, AuthorityError, InputError when there is nothing to restore or
    time or a file has ended it.
    """
    row = find(gate, memory_id, principal)
    check_end_authority(principal, row)
    with gate.store.transaction(namespaces=(row["namespace"],)) as session:
        memories.lock_namespace(session, row["namespace"])
        row = _locked(session, memory_id)
        _refuse_unrestorable(row, at)
        body: dict[str, Any] = {"namespace": row["namespace"]}
        states = fold(decisions.closure(session, [str(memory_id)]))
        successor = states[str(memory_id)].superseded_by if str(memory_id) in states else None
        if successor is not None:
            body |= {"instead_of": _tip(states, successor)} if instead else {"cut": successor}
        also: set[UUID] = set()
        for subject in [str(memory_id), *_copies_forgotten(gate, session, row)]:
            record = gate.ledger.append("restore", subject, by=principal.name, at=at, **body)
            decisions.record(session, [record], settled=True)
            body = {"namespace": row["namespace"]}
        also.update(follow(gate, session, row, at=record.at, principal=principal, note="restored"))
    reason = (
        "instead of its successor" if successor and instead else "beside its successor" if successor else "restored"
    )
    return Change(memory_id, "restore", reason, tuple(sorted(also - {memory_id})))


def find(gate: Gate, memory_id: UUID, principal: Principal) -> Row:
    """Where a memory stands, if this principal may know of it. Raises NotFoundError: foreign and unknown look alike."""
    scope: dict[str, Any] = {"pipeline": True}
    if principal.role != "owner":
        scope = {"namespaces": (*own_namespaces(principal), "global")}
    with gate.store.transaction(**scope) as session:
        row = memories.place(session, memory_id)
    if row is None:
        raise NotFoundError(
            "No memory that you may change has that id.",
            why="It never existed, was erased, or lies in a namespace that is not yours.",
            fix="Search again and use the ids of its results.",
        )
    return row


def check_end_authority(principal: Principal, row: Row) -> None:
    """Who may end a memory or bring it back: the owner; others only what they wrote, where they may write.

    Raises AuthorityError.
    """
    if principal.role == "owner":
        return
    if row["note_id"] is None and row["author"] == principal.name and row["namespace"] in own_namespaces(principal):
        return
    raise AuthorityError(
        f"{principal.name} may not end or restore that memory.",
        why="Rule: the owner may, and an author what it wrote in its own namespaces; a note's memory is the owner's.",
        fix="Ask the owner, or write a correction with `supersedes`.",
    )


def note_marks(gate: Gate, row: Row) -> dict[str, Any]:
    """How the ledger names a note's end: its id, and the keyed hash of what its equal copies share."""
    if row["note_id"] is None:
        return {}
    marks = {"note_id": str(row["note_id"])}
    if row["fold_hash"]:
        marks["hash"] = keyed_hash(gate.ledger.key(), body_text(row["namespace"], row["fold_hash"]))
    return marks


def follow(gate: Gate, session: Session, row: Row, *, at: datetime, principal: Principal, note: str) -> list[UUID]:
    """Let the row (and for a note its equal copies) follow what was just recorded; the ids that changed."""
    if row["note_id"] is None:
        settled = settle_statements(session, [row["memory_id"]], at=at, by=principal.name, note=note)
        return [item.memory_id for item in settled]
    records = decisions.of_subjects(session, [str(row["memory_id"])])
    copies = {
        item["note_id"]
        for item in notes.bodies(session)
        if item["body_hash"] == row["fold_hash"] and item["namespace"] == row["namespace"]
    }
    involved = sorted({row["note_id"], *copies, *notes_of(session, gate.root, records)})
    written = write_notes(
        session, limit=len(involved), at=at, ends=read_ends(session, gate.root), principal=principal, only=involved
    )
    return written.memory_ids


def _locked(session: Session, memory_id: UUID) -> Row:
    row = memories.by_id(session, [memory_id]).get(memory_id)
    if row is None:
        raise NotFoundError("That memory is gone.", why="It was erased meanwhile.")
    return row


def _refuse_unrestorable(row: Row, at: datetime) -> None:
    reason = row["deleted_reason"]
    if reason is None:
        raise InputError("That memory is live; there is nothing to restore.")
    why = {
        "expired": "Its time is over; write it again with a later expires_at.",
        "file_deleted": "Its file is gone from the vault; put the file back (git knows it) and run `kos ingest`.",
        "note_deleted": "Its note is gone from the vault; put the file back (git knows it) and run `kos ingest`.",
        "folded": "An equal note stands for it; change its text, or delete the other file.",
    }.get(reason)
    over = row["expires_at"] is not None and row["expires_at"] <= at
    if why is not None or over:
        raise InputError(f"That memory cannot be restored ({reason}).", why=why or "Its expires_at is over.")


def _tip(states: dict[str, MemoryState], successor: str) -> str:
    """The live end of the chain above a superseded memory."""
    seen = set()
    while (state := states.get(successor)) and state.superseded_by and successor not in seen:
        seen.add(successor)
        successor = state.superseded_by
    return successor


def _copies_forgotten(gate: Gate, session: Session, row: Row) -> list[str]:
    """Other memories whose forgetting covers this note's text: an equal copy comes back only when they do."""
    if row["note_id"] is None or not row["fold_hash"]:
        return []
    ends = read_ends(session, gate.root)
    hashes = {
        machine: keyed_hash(key, body_text(row["namespace"], row["fold_hash"])) for machine, key in ends.keys.items()
    }
    return sorted(
        {
            record.subject
            for record in decisions.ends(session)
            if record.op == "forget"
            and record.subject != str(row["memory_id"])
            and record.body.get("hash") == hashes.get(record.machine)
        }
    )
