"""The rows of a statement that has passed the gate: memory, superseded one, history, edges, words and vector.

Here: one recorded outcome, applied in the caller's transaction; a write and the healing of a lost one are the same.
Not here: the verdict (write.py), files and ledger.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kos_assets.domain.decisions import Decision
from kos_assets.domain.indexing import memory_text, text_hash
from kos_assets.gate.index import index_memories
from kos_assets.gate.statement import memory_row
from kos_assets.gate.verdict import Verdict
from kos_assets.inference.embedding import Embedder
from kos_assets.store import edges, embeddings, memories, review
from kos_assets.store.database import Row, Session
from kos_assets.vault.memory_file import StatementFile


def bear(
    session: Session,
    file: StatementFile,
    verdict: Verdict,
    *,
    decision: Decision,
    embedder: Embedder | None = None,
    vector: Any = None,
) -> None:
    """Insert the memory, retire what it supersedes, write history and edges (G1, S7); index it when there is an
    embedder. `decision` is the ledger's record: its time and author are those of the history."""
    row = {**memory_row(file), "supersedes": verdict.target}
    memories.insert(session, [row])
    memory_id: UUID = row["memory_id"]
    events = [_event(decision, row, "insert", verdict.reason)]
    if verdict.target is not None and _stands(session, verdict.target):
        events += _supersede(session, verdict.target, memory_id, decision)
    for item in verdict.beside:
        if _stands(session, item.memory_id):
            events.append(join(session, memory_id, item.kind, item.memory_id, item.code, decision=decision, row=row))
    memories.record_history(session, events)
    if embedder is not None:
        _index(session, row, embedder, vector)


def _stands(session: Session, memory_id: UUID) -> bool:
    """Whether there is such a row at all: after a rebuild, one whose file is gone has none."""
    return memories.place(session, memory_id) is not None


def _supersede(session: Session, target: UUID, by: UUID, decision: Decision) -> list[dict[str, Any]]:
    """The old row is retired, if it still is live, and the edge says by whom."""
    retired = memories.retire(session, [target], at=decision.at, reason="superseded")
    edges.add(session, by, "supersedes", target)
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


def join(
    session: Session, memory_id: UUID, kind: str, other: UUID, code: str, *, decision: Decision, row: Row
) -> dict[str, Any]:
    """The edge to a neighbour that stays, and the history of it: a veto (G4) or a contradiction to review (G9)."""
    if kind == "contradicts":
        edges.add(session, memory_id, kind, other, detail={"code": code})
        review.open_item(
            session,
            "contradiction",
            namespace=row["namespace"],
            memory_id=memory_id,
            other_id=other,
            code=code,
            at=decision.at,
        )
        return _event(decision, row, "contradict", f"{code}: {other}")
    edges.add(session, memory_id, kind, other, detail={"veto": code})
    return _event(decision, row, "veto", f"{code}: {other}")


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
