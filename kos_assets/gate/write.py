"""`write_memory` (G1, G3-G5, G9): authority, checks, classification, embedding; then, one writer of a namespace at a
time: exact near matches, verdict, the file, the ledger's line, then the commit of rows, history, edges, vector.

Here: the order of a write and its healing for what waits. Not here: what a statement may say (statement.py), what it
does to its neighbours (verdict.py), how it looks as a file (vault/memory_file.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal
from uuid import UUID

from kos_assets.domain.decisions import Decision, fold
from kos_assets.domain.indexing import memory_text
from kos_assets.domain.lookalike import Wording
from kos_assets.domain.principals import Principal
from kos_assets.errors import InputError, ProviderUnavailableError, StoreUnavailableError, VaultError
from kos_assets.gate.authority import Evidence, check_write_authority
from kos_assets.gate.birth import Birth, bear
from kos_assets.gate.context import Gate
from kos_assets.gate.statement import Statement, check_statement, content_hash, memory_row, statement_file
from kos_assets.gate.verdict import NEIGHBOURS, SUBJECT_DISTANCE, Beside, Claim, Neighbour, Verdict, decide, weaker
from kos_assets.store import decisions, embeddings, memories, notes
from kos_assets.store.database import Row, Session
from kos_assets.vault.ledger import keyed_hash
from kos_assets.vault.memory_file import StatementFile, delete_file, digest_text, memory_path, write_file

_SKEW: Final = timedelta(minutes=5)
Action = Literal["insert", "supersede", "pending", "retry"]


@dataclass(frozen=True)
class Result:
    """The memory that was written and what the gate decided. `retry`: this key wrote it before; `pending`: its file
    stands, and it goes live when the embedder answers. `beside`: (edge kind, id, code) of neighbours left standing."""

    memory_id: UUID
    action: Action
    reason: str
    superseded: UUID | None
    beside: tuple[tuple[str, UUID, str], ...]
    path: str


def write_memory(
    gate: Gate, statement: Statement, *, principal: Principal, at: datetime, evidence: Evidence | None = None
) -> Result:
    """Write one statement through the gate. `at` is now, aware; `evidence` comes from the server's own count alone.

    Raises AuthorityError, InputError, VaultError, StoreError: nothing was changed. After StoreUnavailableError the same
    call with the same key is safe: it gives the first result, or writes what was lost.
    """
    return write_memories(gate, [statement], principal=principal, at=at, evidence=evidence)[0]


def write_memories(
    gate: Gate,
    statements: Sequence[Statement],
    *,
    principal: Principal,
    at: datetime,
    evidence: Evidence | None = None,
) -> list[Result]:
    """Write a batch in its order; all are checked before the first is written, and embedded in one call.

    Equal statements of one batch are written once (G5). Errors as `write_memory`; those of a later statement leave the
    earlier ones written.
    """
    for statement in statements:
        check_write_authority(principal, statement.namespace, evidence=evidence)
        check_statement(statement, principal, at=at)
    files = [statement_file(statement, principal, at) for statement in statements]
    known = [_known(gate, file) for file in files]
    fresh = [file for file, found in zip(files, known, strict=True) if found is None]
    vectors = dict(zip((file.memory_id for file in fresh), _embedded(gate, fresh), strict=True))
    results: list[Result] = []
    seen: dict[tuple[Any, ...], Result] = {}
    for statement, file, found in zip(statements, files, known, strict=True):
        twin = (file.namespace, content_hash(file), file.memory_type, file.event_at, statement.supersedes)
        result = found or seen.get(twin)
        if result is None:
            wanted = replace(file, supersedes=statement.supersedes)
            result = _write(gate, wanted, vectors[file.memory_id], at=at, by=principal.name)
        seen.setdefault(twin, result)
        results.append(result)
    return results


def settle_pending(gate: Gate, file: StatementFile, *, at: datetime) -> Result:
    """Let a statement whose file waited for the embedder pass the gate now. Its authority was checked when it came.

    Raises ProviderUnavailableError while there still is no vector.
    """
    found = _known(gate, file)
    if found is not None:
        return found
    [vector] = _embedded(gate, [file])
    if vector is None:
        raise ProviderUnavailableError("The embedder does not answer; the statement stays pending.")
    return _write(gate, file, vector, at=at, by=file.author, late=True)


def _known(gate: Gate, file: StatementFile) -> Result | None:
    """What this key wrote before. Raises InputError when it was something else, or was erased."""
    with gate.store.transaction(namespaces=(file.namespace,)) as session:
        return _retry(session, file)


def _retry(session: Session, file: StatementFile) -> Result | None:
    row = memories.by_key(session, file.key)
    if row is None:
        return None
    if row["content_hash"] != content_hash(file):
        raise InputError(
            "This key was used for another statement.",
            why="A key names one write, so that a retry returns the first result (G5).",
            fix="Use a new key, or none.",
        )
    reason = "this key wrote it before" + ("; it has been retired since" if row["deleted_at"] else "")
    path = memory_path(file.namespace, row["memory_id"])
    return Result(row["memory_id"], "retry", reason, row["supersedes"], (), path)


def _embedded(gate: Gate, files: Sequence[StatementFile]) -> Sequence[Any]:
    """One vector a file; None each where the embedder is out of reach or is not the model that search uses."""
    if not files:
        return []
    if gate.embedder is None:
        return [None] * len(files)
    try:
        with gate.store.transaction() as session:
            model = embeddings.active(session)
        if model is not None and model["model_id"] != gate.embedder.identity.model_id:
            return [None] * len(files)
        return list(gate.embedder.embed_documents([memory_text(file.heading, file.content) for file in files]))
    except ProviderUnavailableError:
        return [None] * len(files)


def _write(gate: Gate, file: StatementFile, vector: Any, *, at: datetime, by: str, late: bool = False) -> Result:
    """The part that only one writer of a namespace does at a time."""
    with gate.store.transaction(namespaces=(file.namespace,)) as session:
        memories.lock_namespace(session, file.namespace)
        found = _retry(session, file)
        if found is not None:
            return found
        _refuse_skew(session)
        _refuse_erased(session, file)
        wanted = _named_target(session, file, late=late)
        model = embeddings.active(session)
        if vector is None or model is None:
            return _wait(gate, session, file, at=at, by=by)
        distance = model["gate_distance"] or gate.distance
        near = _neighbours(session, file, vector, distance)
        verdict = _named(decide(_claim(gate, file), near, gate_distance=distance), wanted)
        return _store(gate, session, file, verdict, vector, at=at, by=by)


def _refuse_skew(session: Session) -> None:
    """What expires, expires by the database's clock; a record written by another one would not be in order."""
    here, there = datetime.now(UTC), memories.clock(session)
    if abs(there - here) > _SKEW:
        raise StoreUnavailableError(
            "This machine's clock and the database's are more than 5 minutes apart.",
            why=f"Here it is {here:%Y-%m-%d %H:%M:%S%z}, there {there:%Y-%m-%d %H:%M:%S%z}.",
            fix="Set the clock (NTP), then write again.",
        )


def _refuse_erased(session: Session, file: StatementFile) -> None:
    subject = str(file.memory_id)
    state = fold(decisions.of_subjects(session, [subject])).get(subject)
    if state is not None and state.erased:
        raise InputError(
            "What this key wrote was erased for good (S11).", fix="Use a new key if it is to be kept again."
        )


def _named_target(session: Session, file: StatementFile, *, late: bool) -> Row | None:
    """The memory that the writer says this one corrects; InputError when it may not be."""
    if file.supersedes is None:
        return None
    row = memories.by_id(session, [file.supersedes]).get(file.supersedes)
    problem = None
    if row is None or row["namespace"] != file.namespace:
        problem = f"There is no such memory in {file.namespace}; a statement supersedes only within its namespace."
    elif row["deleted_at"] is not None:
        problem = f"That memory was retired ({row['deleted_reason']}); only a live one can be superseded."
    elif row["note_id"] is not None:
        problem = "That memory follows a note; only its file changes it (G4)."
    elif weaker(file.provenance, file.confidence, row):
        problem = "A weaker statement never retires a stronger one (G4)."
    if problem is None:
        return row
    if late:
        return None
    raise InputError(
        f"supersedes names {file.supersedes}, which this statement may not replace.",
        why=problem,
        fix="Search for the live memory and name that, or leave supersedes out.",
    )


def _neighbours(session: Session, file: StatementFile, vector: Any, distance: float) -> list[Neighbour]:
    """Live memories of the namespace that a verdict is about, nearest first; equal texts count without a vector too."""
    twins = memories.twins(session, file.namespace, content_hash(file), most=NEIGHBOURS)
    near = memories.near(
        session, file.namespace, embeddings.half(vector), distance=max(distance, SUBJECT_DISTANCE), most=NEIGHBOURS
    )
    distances = {**dict(near), **dict.fromkeys(twins, 0.0)}
    rows = memories.by_id(session, sorted(distances))
    return [
        Neighbour(rows[memory_id], found)
        for memory_id, found in sorted(distances.items(), key=lambda item: (item[1], item[0]))
        if memory_id in rows and rows[memory_id]["deleted_at"] is None
    ]


def _claim(gate: Gate, file: StatementFile) -> Claim:
    row = memory_row(file)
    return Claim(
        wording=Wording(file.heading, row["content"]),
        memory_type=file.memory_type,
        provenance=file.provenance,
        confidence=file.confidence,
        event_at=row["event_at"],
        spoken=gate.embedder is None or gate.embedder.identity.speaks(row["lang"]),
    )


def _named(found: Verdict, wanted: Row | None) -> Verdict:
    """The writer's own word about what this corrects comes before the nearest match."""
    if wanted is None:
        return found
    others = tuple(item for item in found.beside if item.memory_id != wanted["memory_id"])
    if found.target is not None and found.target != wanted["memory_id"]:
        others = (Beside("similar_to", found.target, "second_match"), *others)
    return Verdict("supersede", "the writer named it", wanted["memory_id"], others)


def _wait(gate: Gate, session: Session, file: StatementFile, *, at: datetime, by: str) -> Result:
    """The file and its record, no row: not live, not lost."""
    path = memory_path(file.namespace, file.memory_id)
    size, mtime_ns = write_file(gate.root, path, file)
    digest = keyed_hash(gate.ledger.key(), digest_text(file))
    record = gate.ledger.append("pending", str(file.memory_id), by=by, at=at, namespace=file.namespace, digest=digest)
    decisions.record(session, [record], settled=True)
    decisions.keep_memory_files(session, [file_entry(file, size, mtime_ns, "pending")])
    notes.quarantine(session, [path], [])
    return Result(file.memory_id, "pending", "the embedder does not answer", None, (), path)


def _store(
    gate: Gate, session: Session, file: StatementFile, verdict: Verdict, vector: Any, *, at: datetime, by: str
) -> Result:
    """Rows first, uncommitted, so that what the database refuses leaves no file; then file, ledger, and the commit."""
    path = memory_path(file.namespace, file.memory_id)
    file = replace(file, supersedes=verdict.target)
    body = outcome(gate, file, verdict)
    decided = Decision(gate.ledger.machine, "", 0, at, by, "write", str(file.memory_id), body)
    bear(session, Birth(file, verdict, decided), embedder=gate.embedder, vector=vector)
    size, mtime_ns = write_file(gate.root, path, file)
    try:
        record = gate.ledger.append("write", str(file.memory_id), by=by, at=at, **body)
    except VaultError:
        delete_file(gate.root, path)  # without its record it would be nobody's
        raise
    decisions.record(session, [record], settled=True)
    decisions.keep_memory_files(session, [file_entry(file, size, mtime_ns, "accepted")])
    notes.quarantine(session, [path], [])  # held back if a crash cut off the first attempt
    beside = tuple((item.kind, item.memory_id, item.code) for item in verdict.beside)
    return Result(file.memory_id, verdict.action, verdict.reason, verdict.target, beside, path)


def outcome(gate: Gate, file: StatementFile, verdict: Verdict) -> dict[str, Any]:
    """What the ledger keeps of a write: ids, codes and a keyed hash, never text."""
    body: dict[str, Any] = {
        "namespace": file.namespace,
        "digest": keyed_hash(gate.ledger.key(), digest_text(file)),
    }
    if verdict.target is not None:
        body["supersedes"] = str(verdict.target)
    if verdict.beside:
        body["edges"] = [[item.kind, str(item.memory_id), item.code] for item in verdict.beside]
    return body


def file_entry(file: StatementFile, size: int, mtime_ns: int, state: str) -> dict[str, Any]:
    """A statement's file as the index of files holds it."""
    return {
        "path": memory_path(file.namespace, file.memory_id),
        "memory_id": file.memory_id,
        "namespace": file.namespace,
        "size_bytes": size,
        "mtime_ns": mtime_ns,
        "state": state,
        "code": None,
    }
