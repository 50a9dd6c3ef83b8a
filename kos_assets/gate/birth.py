"""The rows of a statement that has passed the gate: memory, superseded one, history, edges, words and vector.

Here: one recorded outcome, applied in the caller's transaction; a write and the healing of a lost one are the same.
Not here: the verdict (write.py), files and ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from kos_assets.domain.decisions import Decision
from kos_assets.domain.indexing import memory_text, text_hash
from kos_assets.gate.index import index_memories
from kos_assets.gate.statement import memory_row
from kos_assets.gate.verdict import Beside, Verdict
from kos_assets.inference.embedding import Embedder
from kos_assets.store import decisions, edges, embeddings, memories, review
from kos_assets.store.database import Row, Session
from kos_assets.vault.memory_file import StatementFile


@dataclass(frozen=True)
class Birth:
    """A statement's file, the outcome that the gate decided or recorded, and the ledger's record of it: its time and
    author are those of the history."""

    file: StatementFile
    verdict: Verdict
    decision: Decision


def bear(session: Session, birth: Birth, *, embedder: Embedder | None = None, vector: Any = None) -> None:
    """Insert the memory, retire what it supersedes, write history and edges (G1, S7); index it when there is an
    embedder."""
    [row] = bear_all(session, [birth])
    if birth.verdict.target is not None:
        target, memory_id = birth.verdict.target, birth.file.memory_id
        memories.record_history(session, _supersede(session, target, memory_id, birth.decision))
    if embedder is not None:
        _index(session, row, embedder, vector)


def bear_all(session: Session, births: Sequence[Birth]) -> list[Row]:
    """Insert memories with their history and edges; the rows. What they supersede is left to the caller."""
    rows = [{**memory_row(birth.file), "supersedes": birth.verdict.target} for birth in births]
    memories.insert(session, rows)
    named = {item.memory_id for birth in births for item in birth.verdict.beside}
    named |= {birth.verdict.target for birth in births if birth.verdict.target is not None}
    standing = memories.standing(session, sorted(named))
    events = []
    for birth, row in zip(births, rows, strict=True):
        events.append(_event(birth.decision, row, "insert", birth.verdict.reason))
        if birth.verdict.target in standing:
            edges.add(session, row["memory_id"], "supersedes", birth.verdict.target)
        for item in birth.verdict.beside:
            if item.memory_id in standing:  # after a rebuild, one whose file is gone has no row
                join(session, row["memory_id"], item, birth.decision)
                action = "veto" if item.kind == "similar_to" else "contradict"
                events.append(_event(birth.decision, row, action, f"{item.code}: {item.memory_id}"))
    memories.record_history(session, events)
    return rows


def _supersede(session: Session, target: UUID, by: UUID, decision: Decision) -> list[dict[str, Any]]:
    """The old row is retired, if it still is live, and the edge says by whom."""
    retired = memories.retire(session, [target], at=decision.at, reason="superseded")
    review.close_items(session, "contradiction", [target], at=decision.at, outcome="superseded")
    review.close_items(session, "stale", [target], at=decision.at, outcome="superseded")
    return [
        {
            **_event(decision, row, "supersede", f"by {by}"),
            "before": {"deleted_at": None, "deleted_reason": None},
            "after": {"deleted_at": decision.at.isoformat(), "deleted_reason": "superseded"},
        }
        for row in retired
    ]


def join(session: Session, source: UUID, item: Beside, decision: Decision) -> None:
    """The edge to a neighbour that stays: a veto (G4), or a contradiction that waits for review until a person has
    resolved it (G9)."""
    if item.kind == "similar_to":
        edges.add(session, source, item.kind, item.memory_id, detail={"veto": item.code})
        return
    edges.add(session, source, item.kind, item.memory_id, detail={"code": item.code})
    pair = {str(source), str(item.memory_id)}
    if any(
        record.op == "resolve" and {record.subject, str(record.body.get("other"))} == pair
        for record in decisions.of_subjects(session, sorted(pair))
    ):
        return
    review.open_item(
        session,
        "contradiction",
        namespace=str(decision.body["namespace"]),
        memory_id=source,
        other_id=item.memory_id,
        code=item.code,
        at=decision.at,
    )


def _event(decision: Decision, row: Row, action: str, reason: str) -> dict[str, Any]:
    return {
        "memory_id": row["memory_id"],
        "namespace": row["namespace"],
        "at": decision.at,
        "principal": decision.by,
        "action": action,
        "reason": reason,
        "before": None,
        "after": None,
    }


def _index(session: Session, row: Row, embedder: Embedder, vector: Any) -> None:
    """Words and vector go with the row, so that the next writer and the next reader meet it."""
    index_memories(session, [row], embedder.count_tokens)
    model = embeddings.active(session)
    if model is not None and vector is not None and model["model_id"] == embedder.identity.model_id:
        name = text_hash(memory_text(row["heading"], row["content"]))
        embeddings.insert(session, model["model_key"], [(row["memory_id"], -1, name, vector)])
