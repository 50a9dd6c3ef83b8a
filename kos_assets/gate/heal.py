"""Rows for statements whose file and record stand and whose row does not, or reads otherwise (G1, V6).

A crash between file and row, another clone's writes, a rebuild: the recorded outcome is applied; nothing is decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from kos_assets.domain.decisions import Decision
from kos_assets.gate.accept import Judged
from kos_assets.gate.birth import Birth, bear_all, join
from kos_assets.gate.statement import memory_row
from kos_assets.gate.verdict import Beside, Verdict
from kos_assets.store import decisions, edges, memories
from kos_assets.store.database import Session


def heal(session: Session, accepted: Sequence[Judged], *, at: datetime) -> list[UUID]:
    """Give accepted files their rows, in the order in which they were written; the ids of rows born or rewritten.

    The state of the rows, what they supersede included, is for the caller to settle.
    """
    rows = memories.by_id(session, [item.file.memory_id for item in accepted if item.file is not None])
    done: list[UUID] = []
    births: list[Birth] = []
    for item in sorted(accepted, key=_order):
        if item.file is None or item.state_of is None or item.state_of.written is None:
            continue
        written = item.state_of.written
        before = rows.get(item.file.memory_id)
        if before is None:
            births.append(Birth(item.file, recorded(written), written))
            done.append(item.file.memory_id)
        elif before["note_id"] is None and before["content_hash"] != memory_row(item.file)["content_hash"]:
            _rewrite(session, item, before, written, at)
            done.append(item.file.memory_id)
    bear_all(session, births)
    if births:
        _join_late(session, {birth.file.memory_id for birth in births})
    return done


def _join_late(session: Session, born: set[UUID]) -> None:
    """Edges of rows that stood before what they point to did: the file came later, with another clone's."""
    records = decisions.joining(session, sorted(map(str, born)))
    standing = memories.standing(session, [UUID(record.subject) for record in records])
    for record in records:
        source, verdict = UUID(record.subject), recorded(record)
        if source not in standing or source in born:
            continue
        if verdict.target in born:
            edges.add(session, source, "supersedes", verdict.target)
        for item in verdict.beside:
            if item.memory_id in born:
                join(session, source, item, record)


def recorded(written: Decision) -> Verdict:
    """The outcome that the ledger recorded."""
    target = written.body.get("supersedes")
    beside = tuple(
        Beside("contradicts" if kind == "contradicts" else "similar_to", UUID(other), str(code))
        for kind, other, code in written.body.get("edges", ())
    )
    if target is None:
        return Verdict("insert", "recorded outcome", beside=beside)
    return Verdict("supersede", "recorded outcome", UUID(target), beside)


def _order(item: Judged) -> tuple[Any, ...]:
    written = None if item.state_of is None else item.state_of.written
    return () if written is None else (written.at, written.machine, written.month, written.seq)


def _rewrite(session: Session, item: Judged, before: dict[str, Any], written: Decision, at: datetime) -> None:
    """A changed file that a person adopted: the row follows its text; its state stays."""
    if item.file is None:
        return
    row = memory_row(item.file)
    kept = ("folded_into", "verified_at", "verified_by", "verified_how", "boost", "deleted_at", "deleted_reason")
    memories.update(session, [{**row, **{name: before[name] for name in kept}}])
    event = {
        "memory_id": row["memory_id"],
        "namespace": row["namespace"],
        "at": at,
        "principal": written.by,
        "action": "update",
        "reason": "adopted change of the file",
        "before": {"heading": before["heading"], "content": before["content"]},
        "after": {"heading": row["heading"], "content": row["content"]},
    }
    memories.record_history(session, [event])
