"""The gate for note-backed memories (G6): identity first, equal bodies fold, nothing else is ever retired by likeness.

One transaction a batch: the memories, their history and the note's mark that it was followed. The result depends on
the vault's files alone, whatever order they were read in.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any
from uuid import UUID

from kos_assets.domain.decisions import MemoryState, fold
from kos_assets.domain.folding import Copy, canonical
from kos_assets.domain.indexing import written_day
from kos_assets.domain.vocabulary import home_tree, memory_id_of_note
from kos_assets.gate.authority import OWNER, Principal, check_write_authority
from kos_assets.gate.ends import Ends
from kos_assets.store import decisions, memories, notes
from kos_assets.store.database import Row, Session

_CARRIED = (
    "namespace", "memory_type", "type_reason", "type_confidence", "heading", "content", "provenance", "confidence",
    "note_path", "author", "home_path", "lang", "event_at", "event_zone", "event_rule", "keywords", "verified_at",
    "verified_by", "verified_how", "boost", "expires_at", "content_hash", "fold_hash",
)  # fmt: skip


@dataclass(frozen=True)
class Fate:
    """What becomes of a memory: live, folded into another, or retired because its file is gone."""

    reason: str | None = None
    folded_into: UUID | None = None


@dataclass
class Written:
    """What one batch did: counts by action, and the ids touched."""

    note_ids: list[UUID] = field(default_factory=list)
    actions: Counter[str] = field(default_factory=Counter)
    memory_ids: list[UUID] = field(default_factory=list)


def write_notes(
    session: Session,
    *,
    limit: int,
    at: datetime,
    ends: Ends,
    principal: Principal = OWNER,
    only: Sequence[UUID] | None = None,
) -> Written:
    """Let the memories of up to `limit` changed notes (and whole fold groups) follow their files, and the decisions
    about them: forgotten ones (`ends`) are not live, verification and boost hold. Idempotent. `only`: these notes."""
    changed, members = _affected(session, limit, only)
    written = Written(note_ids=sorted(changed))
    if not changed:
        return written
    rows = {row["note_id"]: row for row in notes.by_id(session, sorted(changed))}
    fates = _fates(members, ends)
    involved = {note_id: memory_id_of_note(note_id) for note_id in changed | {row["note_id"] for row in members}}
    existing = memories.by_id(session, list(involved.values()))
    for namespace in {row["namespace"] for row in rows.values()}:
        check_write_authority(principal, namespace)
    marks = fold(decisions.of_subjects(session, [str(memory_id) for memory_id in involved.values()]))
    batch = _Batch(at=at, principal=principal.name, written=written)
    for note_id, memory_id in sorted(involved.items()):
        row = rows.get(note_id)
        before = existing.get(memory_id)
        if row is not None and row["deleted_at"] is not None:
            batch.settle(before, None, Fate("note_deleted"))
        else:
            wanted = None if row is None else _memory(row, marks.get(str(memory_id)))
            batch.settle(before, wanted, fates.get(note_id) or _fate_alone(note_id, row or before, ends))
    batch.store(session)
    notes.mark_synced(session, {note_id: row["row_hash"] for note_id, row in rows.items()})
    return written


def _fate_alone(note_id: UUID, row: Row | None, ends: Ends) -> Fate:
    """The fate of a note that shares its text with no other."""
    reason = ends.reason(note_id, row["namespace"], row.get("body_hash")) if row is not None else None
    return Fate("forgotten" if reason else None)


def _affected(session: Session, limit: int, only: Sequence[UUID] | None) -> tuple[set[UUID], list[Row]]:
    """Changed notes, closed over the groups that they leave or enter, and the members of those groups."""
    first = notes.unsynced(session, limit) if only is None else notes.places(session, only)
    changed = {row["note_id"] for row in first}
    groups = {(row["namespace"], row["body_hash"]) for row in first if row["body_hash"]}
    fresh = changed
    members: list[Row] = []
    while fresh:
        groups.update(memories.fold_groups(session, sorted(fresh)))
        members = notes.group_members(session, sorted(groups))
        fresh = {row["note_id"] for row in members if row["unsynced"]} - changed
        changed |= fresh
    return changed, members


def _fates(members: Sequence[Row], ends: Ends) -> dict[UUID, Fate]:
    groups: defaultdict[tuple[str, str], list[Copy]] = defaultdict(list)
    fates: dict[UUID, Fate] = {}
    for row in members:
        if ends.reason(row["note_id"], row["namespace"], row["body_hash"]):
            fates[row["note_id"]] = Fate("forgotten")
            continue
        groups[row["namespace"], row["body_hash"]].append(Copy(row["note_id"], row["path"], row["source_updated_at"]))
    for copies in groups.values():
        chosen = canonical(copies)
        for copy in copies:
            is_chosen = copy.note_id == chosen.note_id
            fates[copy.note_id] = Fate() if is_chosen else Fate("folded", memory_id_of_note(chosen.note_id))
    return fates


def _memory(row: Row, mark: MemoryState | None) -> dict[str, Any]:
    """The memory that a note stands for, with what was decided about it; the later of two verifications counts."""
    keywords = sorted({*(row["aliases"] or []), *(row["tags"] or [])})
    day = written_day(row["event_at"], row["event_zone"], row["event_rule"])
    indexed = [row["title"], row["content"], keywords, row["lang"], day.isoformat() if day else ""]
    return {
        **{name: row.get(name) for name in _CARRIED},
        "memory_id": memory_id_of_note(row["note_id"]),
        "note_id": row["note_id"],
        "heading": row["title"],
        "note_path": row["path"],
        "home": home_tree(row["home_path"]),
        "keywords": keywords,
        "fold_hash": row["body_hash"],
        **_verification(row["verified_at"], mark),
        "boost": mark.boost if mark and mark.boost is not None else 1.0,
        "content_hash": hashlib.sha256(json.dumps(indexed, ensure_ascii=False).encode()).hexdigest(),
    }


def _verification(written: datetime | None, mark: MemoryState | None) -> dict[str, Any]:
    if mark is not None and mark.verified_at is not None and (written is None or mark.verified_at > written):
        return {"verified_at": mark.verified_at, "verified_by": mark.verified_by, "verified_how": mark.verified_how}
    return {"verified_at": written, "verified_by": "frontmatter" if written else None, "verified_how": None}


@dataclass
class _Batch:
    """Changes of one transaction, collected before they are stored together."""

    at: datetime
    principal: str
    written: Written
    inserts: list[dict[str, Any]] = field(default_factory=list)
    updates: list[dict[str, Any]] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)

    def settle(self, before: Row | None, wanted: Mapping[str, Any] | None, fate: Fate) -> None:
        """Bring one memory to its wanted values and fate. `wanted` None keeps the values."""
        if before is None:
            if wanted is not None:
                self._insert(wanted, fate)
            return
        values = {name: (wanted or before)[name] for name in _CARRIED}
        retired = self._retirement(before, fate, values["expires_at"])
        after = {**values, **retired}
        differs = [name for name, value in after.items() if _plain(before[name]) != _plain(value)]
        if not differs:
            return
        action, reason = _action(before, after, fate)
        self.updates.append({**after, "memory_id": before["memory_id"], "home": home_tree(str(after["home_path"]))})
        self._record(
            before["memory_id"],
            str(values["namespace"]),
            action=action,
            reason=reason,
            before=before,
            after=after,
            names=differs,
        )

    def _insert(self, wanted: Mapping[str, Any], fate: Fate) -> None:
        row = {
            **wanted,
            "supersedes": None,
            "idempotency_key": None,
            "created_at": None,
            "folded_into": fate.folded_into,
            "deleted_at": self.at if fate.reason else None,
            "deleted_reason": fate.reason,
        }
        self.inserts.append(row)
        action = "fold" if fate.reason else "insert"
        names = ("deleted_reason", "folded_into") if fate.reason else ()
        self._record(
            row["memory_id"], row["namespace"], action=action, reason=fate.reason or "note", after=row, names=names
        )

    def _retirement(self, before: Row, fate: Fate, expires_at: datetime | None) -> dict[str, Any]:
        if fate.reason:
            same = before["deleted_reason"] == fate.reason
            at = before["deleted_at"] if same else self.at
            return {"deleted_at": at, "deleted_reason": fate.reason, "folded_into": fate.folded_into}
        still_expired = before["deleted_reason"] == "expired" and expires_at is not None and expires_at <= self.at
        if still_expired:
            return {"deleted_at": before["deleted_at"], "deleted_reason": "expired", "folded_into": None}
        return {"deleted_at": None, "deleted_reason": None, "folded_into": None}

    def _record(
        self,
        memory_id: UUID,
        namespace: str,
        *,
        action: str,
        reason: str,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
        names: Sequence[str] = (),
    ) -> None:
        self.history.append(
            {
                "memory_id": memory_id,
                "namespace": namespace,
                "at": self.at,
                "principal": self.principal,
                "action": action,
                "reason": reason,
                "before": None if before is None else {name: _plain(before[name]) for name in names},
                "after": None if after is None or not names else {name: _plain(after[name]) for name in names},
            }
        )
        self.written.actions[action] += 1
        self.written.memory_ids.append(memory_id)

    def store(self, session: Session) -> None:
        """Write everything that was collected."""
        memories.insert(session, self.inserts)
        memories.update(session, self.updates)
        memories.record_history(session, self.history)


def _action(before: Row, after: Mapping[str, Any], fate: Fate) -> tuple[str, str]:
    was_live, is_live = before["deleted_at"] is None, after["deleted_at"] is None
    if fate.reason == "folded" and (before["deleted_reason"], before["folded_into"]) != ("folded", fate.folded_into):
        return "fold", "equal body"
    if was_live and not is_live:
        return "forget" if fate.reason == "forgotten" else "retire", str(fate.reason)
    if is_live and not was_live:
        return "restore", f"was {before['deleted_reason']}"
    differing = {name for name, value in after.items() if _plain(before[name]) != _plain(value)}
    if differing <= {"verified_at", "verified_by", "verified_how"}:
        return "verify", str(after["verified_how"] or "frontmatter")
    return ("annotate", "boost") if differing == {"boost"} else ("update", "note changed")


def _plain(value: Any) -> Any:
    """A JSON-safe value that compares by meaning."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


def fold_targets(session: Session) -> dict[UUID, UUID]:
    """Where a link to each note-backed memory leads: itself, or the canonical one that it is folded into."""
    return memories.fold_targets(session)


def tally(session: Session) -> Row:
    """Note-backed memories: live, folded, expired, forgotten, retired otherwise; statements live and retired."""
    return memories.counts(session)


def folded(session: Session) -> list[Row]:
    """Folded copies with their canonical notes."""
    return memories.folded(session)
