"""`write_memory` (G1, G3): authority, embedding, exact near match, verdict, then one transaction for the new row, the
superseded one, both histories and the edge between them.

A library function for the owner so far: no command, route or tool reaches it, and a statement has no file of its
own yet, so it lives in the database alone.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from kos_assets.domain.classify import classify
from kos_assets.domain.indexing import memory_text, text_hash
from kos_assets.domain.language import detect
from kos_assets.domain.vocabulary import KOS_NAMESPACE, MemoryType, Provenance, home_tree
from kos_assets.errors import InputError
from kos_assets.gate.authority import Principal, check_write_authority
from kos_assets.gate.retire import retirement
from kos_assets.gate.verdict import Verdict, decide
from kos_assets.inference.embedding import Embedder
from kos_assets.store import chunks, edges, embeddings, memories
from kos_assets.store.database import Row, Session, Store


@dataclass(frozen=True)
class Statement:
    """What someone wants remembered. `key` makes a retry return the first result (G5): it is the principal's own,
    within the namespace. Times are aware (S10), `confidence` is 0..1."""

    heading: str
    content: str
    namespace: str
    key: str
    memory_type: MemoryType | None = None
    provenance: Provenance = "raw"
    confidence: float = 0.95
    event_at: datetime | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True)
class Result:
    """The id of the memory that was written, and what the gate decided (`retry`: this key wrote it before)."""

    memory_id: UUID
    action: str
    reason: str
    superseded: UUID | None = None


def write_memory(
    store: Store,
    embedder: Embedder,
    statement: Statement,
    *,
    principal: Principal,
    at: datetime,
    gate_distance: float = 0.08,
) -> Result:
    """Write one statement through the gate. Raises AuthorityError, InputError, ProviderUnavailableError.

    Writers of one namespace take turns inside the transaction, so that two at once leave one live row of one statement.
    """
    check_write_authority(principal, statement.namespace)
    _check(statement)
    row = _row(statement, principal, at)
    with store.transaction(pipeline=True) as session:
        known = memories.by_key(session, row["idempotency_key"])
    if known is not None:
        return _retry(known)
    [vector] = embedder.embed_documents([memory_text(row["heading"], row["content"])])
    with store.transaction(pipeline=True) as session:
        memories.lock_namespace(session, statement.namespace)
        known = memories.by_key(session, row["idempotency_key"])
        if known is not None:
            return _retry(known)
        model = embeddings.active(session)
        key = model["model_key"] if model and model["model_id"] == embedder.identity.model_id else None
        verdict = _verdict(session, row, vector if key is not None else None, gate_distance)
        result = _store(session, row, verdict, principal=principal, at=at)
        if key is not None:
            _keep_vector(session, row, key, vector)
        return result


def _check(statement: Statement) -> None:
    if not statement.heading.strip() or not statement.key.strip():
        raise InputError("A memory needs a heading, and a write needs a key.")
    if not 0 <= statement.confidence <= 1:
        raise InputError(f"confidence is a number from 0 to 1, not {statement.confidence}.")
    if any(moment is not None and moment.tzinfo is None for moment in (statement.event_at, statement.expires_at)):
        raise InputError("A time without a zone names no instant (S10).", fix="Give event_at and expires_at an offset.")
    if statement.memory_type == "working" and statement.expires_at is None:
        raise InputError("A working memory needs an end.", fix="Give expires_at, or another memory type (S3).")


def _retry(memory_id: UUID) -> Result:
    return Result(memory_id, "retry", "this key was written before")


def _plain(text: str) -> str:
    """Text that Postgres takes: no NUL, no half of a surrogate pair."""
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def _row(statement: Statement, principal: Principal, at: datetime) -> dict[str, Any]:
    heading, content = " ".join(_plain(statement.heading).split()), _plain(statement.content)
    chosen = classify(explicit=statement.memory_type, path="", title=heading, kind=None, content=content, headings=())
    home = f"memories/{statement.namespace}"
    key = json.dumps([statement.namespace, principal.name, statement.key])
    text = f"{heading}\n{content}"
    return {
        "memory_id": uuid5(KOS_NAMESPACE, f"statement:{key}"),
        "namespace": statement.namespace,
        "memory_type": chosen.memory_type,
        "type_reason": chosen.reason,
        "type_confidence": chosen.confidence,
        "heading": heading,
        "content": content,
        "provenance": statement.provenance,
        "confidence": statement.confidence,
        "supersedes": None,
        "folded_into": None,
        "note_id": None,
        "note_path": None,
        "author": principal.name,
        "home": home_tree(home),
        "home_path": home,
        "lang": detect(text),
        "event_at": statement.event_at or at,
        "event_zone": "UTC",
        "event_rule": "statement",
        "keywords": [],
        "verified_at": None,
        "verified_by": None,
        "expires_at": statement.expires_at,
        "deleted_at": None,
        "deleted_reason": None,
        "content_hash": hashlib.sha256(text.encode()).hexdigest(),
        "fold_hash": None,
        "idempotency_key": key,
    }


def _verdict(session: Session, row: dict[str, Any], vector: Any, gate_distance: float) -> Verdict:
    found = None if vector is None else memories.nearest(session, row["namespace"], embeddings.half(vector))
    nearest: Row | None = memories.by_id(session, [found[0]]).get(found[0]) if found else None
    if nearest is not None and nearest["deleted_at"] is not None:
        nearest = None  # retired while this writer waited for its row
    return decide(
        memory_type=row["memory_type"],
        provenance=row["provenance"],
        confidence=row["confidence"],
        event_at=row["event_at"],
        nearest=nearest,
        distance=found[1] if found else None,
        gate_distance=gate_distance,
    )


def _keep_vector(session: Session, row: dict[str, Any], model_key: int, vector: Any) -> None:
    """The vector goes with the row, so that the next writer meets it; chunks follow with the next ingest."""
    memory_id, name = row["memory_id"], text_hash(memory_text(row["heading"], row["content"]))
    memories.refresh_scope(session)
    chunks.record_state(session, {memory_id: ("", name)}, recipe=0)
    embeddings.insert(session, model_key, [(memory_id, -1, name, vector)])


def _store(session: Session, row: dict[str, Any], verdict: Verdict, *, principal: Principal, at: datetime) -> Result:
    memory_id: UUID = row["memory_id"]
    memories.insert(session, [{**row, "supersedes": verdict.target}])
    common = {"namespace": row["namespace"], "at": at, "principal": principal.name, "before": None, "after": None}
    events = [{**common, "memory_id": memory_id, "action": "insert", "reason": verdict.reason}]
    if verdict.target is not None:
        memories.retire(session, [verdict.target], at=at, reason="superseded")
        retired = {"memory_id": verdict.target, "action": "supersede", "reason": f"by {memory_id}"}
        events.append({**common, **retired, **retirement(at, "superseded")})
        edges.add(session, memory_id, "supersedes", verdict.target)
    if verdict.similar_to is not None:
        edges.add(session, memory_id, "similar_to", verdict.similar_to)
    memories.record_history(session, events)
    return Result(memory_id, verdict.action, verdict.reason, verdict.target)
