"""Statements on the index of the vault's ledger and on the files of statements (V6, V9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from kos_assets.domain.decisions import Decision
from kos_assets.store.database import Row, Session, json
from kos_assets.store.sql import blocks

_SQL = blocks("decisions")
_OTHERS: Final = ("supersedes", "cut", "instead_of", "other")


def record(session: Session, decisions: Iterable[Decision], *, settled: bool) -> list[str]:
    """Index ledger records; the subjects of those that were not known yet. `settled`: the rows follow in this very
    transaction; else `unsettled` gives them to whoever lets the rows follow."""
    found: list[str] = []
    for decision in decisions:
        body = dict(decision.body)
        other = next((body[name] for name in _OTHERS if body.get(name)), None)
        row = session.one(
            _SQL["insert"],
            machine=decision.machine,
            month=decision.month,
            seq=decision.seq,
            at=decision.at,
            principal=decision.by,
            op=decision.op,
            subject=decision.subject,
            other=other,
            namespace=body.get("namespace"),
            body=json(body),
            settled=settled,
        )
        if row is not None:
            found += [decision.subject, *([str(other)] if other else [])]
    return found


def unsettled(session: Session, *, most: int) -> list[Decision]:
    """Records that the rows have not followed yet, oldest first."""
    return [_decision(row) for row in session.rows(_SQL["unsettled"], most=most)]


def settle(session: Session, decisions: Iterable[Decision]) -> None:
    """The rows have followed these records."""
    session.run_many(
        _SQL["settle"],
        ({"machine": item.machine, "month": item.month, "seq": item.seq} for item in decisions),
    )


def _decision(row: Row) -> Decision:
    return Decision(
        machine=row["machine"],
        month=row["month"],
        seq=row["seq"],
        at=row["at"],
        by=row["principal"],
        op=row["op"],
        subject=row["subject"],
        body=row["body"],
    )


def closure(session: Session, subjects: Sequence[str]) -> list[Decision]:
    """Every decision about these subjects and about all that such decisions join them to."""
    return [_decision(row) for row in session.rows(_SQL["closure"], subjects=list(subjects))]


def of_subjects(session: Session, subjects: Sequence[str]) -> list[Decision]:
    """Every decision that names one of these subjects, and no further."""
    return [_decision(row) for row in session.rows(_SQL["of_subjects"], subjects=list(subjects))]


def joining(session: Session, subjects: Sequence[str]) -> list[Decision]:
    """The writes that supersede one of these memories, or have an edge to it."""
    patterns = [json({"edges": [[subject]]}) for subject in subjects]
    return [_decision(row) for row in session.rows(_SQL["joining"], subjects=list(subjects), patterns=patterns)]


def written_order(session: Session) -> dict[str, datetime]:
    """When each memory was written, by its latest record."""
    return {row["subject"]: row["at"] for row in session.rows(_SQL["written_order"])}


def ends(session: Session) -> list[Decision]:
    """Every forget and erase, and the restores that ended a forget (S11)."""
    return [_decision(row) for row in session.rows(_SQL["ends"])]


def ledger_files(session: Session) -> dict[tuple[str, str], Row]:
    """(machine, month) -> size_bytes, mtime_ns, read_to of each ledger file as it was read last."""
    return {(row["machine"], row["month"]): row for row in session.rows(_SQL["ledger_files"])}


def keep_ledger_files(session: Session, rows: Iterable[Mapping[str, Any]]) -> None:
    """Record how far ledger files were read."""
    session.run_many(_SQL["keep_ledger_file"], rows)


def memory_files(session: Session) -> dict[str, Row]:
    """path -> memory_id, namespace, size_bytes, mtime_ns, state, code of every known file of a statement."""
    return {row["path"]: row for row in session.rows(_SQL["memory_files"])}


def files_of(session: Session, memory_ids: Sequence[UUID]) -> list[Row]:
    """The known files of these statements."""
    return session.rows(_SQL["files_of"], memory_ids=list(memory_ids))


def keep_memory_files(session: Session, rows: Iterable[Mapping[str, Any]]) -> None:
    """Record files of statements: path, memory_id, namespace, size_bytes, mtime_ns, state, code."""
    session.run_many(_SQL["keep_memory_file"], rows)


def drop_memory_files(session: Session, paths: Sequence[str]) -> None:
    """Forget files that stand no more."""
    session.run(_SQL["drop_memory_files"], paths=list(paths))


def pending_files(session: Session) -> list[Row]:
    """Statements that wait for the embedder, oldest first: path, memory_id, namespace."""
    return session.rows(_SQL["pending_files"])


def file_counts(session: Session) -> dict[str, int]:
    """Files of statements by state."""
    return {row["state"]: row["files"] for row in session.rows(_SQL["file_counts"])}
