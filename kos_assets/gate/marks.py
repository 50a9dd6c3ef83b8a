"""What people say about a memory without changing its text: verified, weighted, a contradiction resolved (G8, G9, O1).

Ledger first, then one transaction with history.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal, get_args
from uuid import UUID

from kos_assets.domain.decisions import Op
from kos_assets.domain.principals import Principal
from kos_assets.errors import InputError, NotFoundError
from kos_assets.gate.authority import check_write_authority
from kos_assets.gate.context import Gate
from kos_assets.gate.life import Change, check_end_authority, find, follow, forget
from kos_assets.store import decisions, memories, review
from kos_assets.store.database import Row

How = Literal["source", "test", "person", "measurement", "other"]
HOWS: Final[tuple[How, ...]] = get_args(How)
LEAST_BOOST: Final = 0.25
MOST_BOOST: Final = 4.0
Resolution = Literal["both", "left", "right"]


def verify(gate: Gate, memory_id: UUID, *, how: How, principal: Principal, at: datetime) -> Change:
    """Record that a live memory was checked again: by whom, how, when (G8). Its stale mark is lifted.

    Raises NotFoundError, AuthorityError, InputError.
    """
    if how not in HOWS:
        raise InputError(f"{str(how)[:40]!r} is no way to verify.", why=f"Ways are {', '.join(HOWS)}.")
    row = _live(gate, memory_id, principal)
    _mark(gate, row, "verify", {"how": how}, principal=principal, at=at)
    return Change(memory_id, "verify", how)


def annotate(gate: Gate, memory_id: UUID, *, boost: float, principal: Principal, at: datetime) -> Change:
    """Weigh a live memory in ranking by a factor from 0.25 to 4 (O1); 1 takes it back.

    Raises NotFoundError, AuthorityError, InputError.
    """
    if not LEAST_BOOST <= boost <= MOST_BOOST:
        raise InputError(f"boost is a number from {LEAST_BOOST} to {MOST_BOOST:g}, not {boost}.")
    row = _live(gate, memory_id, principal)
    _mark(gate, row, "annotate", {"boost": boost}, principal=principal, at=at)
    return Change(memory_id, "annotate", f"boost {boost:g}")


def resolve(gate: Gate, left: UUID, right: UUID, *, outcome: Resolution, principal: Principal, at: datetime) -> Change:
    """Close a contradiction (G9): `both` stand, or the `left` or `right` one stays and the other is forgotten.

    Raises NotFoundError when no open contradiction joins the two, AuthorityError, InputError.
    """
    if outcome not in get_args(Resolution):
        raise InputError(f"{str(outcome)[:40]!r} is no outcome.", why="It is both, left or right.")
    row = find(gate, left, principal)
    check_write_authority(principal, row["namespace"])
    loser = {"left": right, "right": left}.get(outcome)
    if loser is not None:
        check_end_authority(principal, find(gate, loser, principal))
    verdict = {"both": "both", "left": "this", "right": "other"}[outcome]
    with gate.store.transaction(namespaces=(row["namespace"],)) as session:
        memories.lock_namespace(session, row["namespace"])
        if not review.pair_is_open(session, left, right):
            raise NotFoundError("No open contradiction joins these two.", fix="`kos review` lists what is open.")
        body = {"namespace": row["namespace"], "other": str(right), "outcome": verdict}
        record = gate.ledger.append("resolve", str(left), by=principal.name, at=at, **body)
        decisions.record(session, [record], settled=True)
        review.close_pair(session, left, right, at=record.at, outcome=verdict)
    if loser is not None:
        forget(gate, loser, principal=principal, at=at)
    return Change(left, "resolve", outcome, () if loser is None else (loser,))


def _live(gate: Gate, memory_id: UUID, principal: Principal) -> Row:
    row = find(gate, memory_id, principal)
    check_write_authority(principal, row["namespace"])
    if row["deleted_at"] is not None:
        raise InputError(f"That memory is retired ({row['deleted_reason']}).", fix=f"`kos restore {memory_id}` first.")
    return row


def _mark(gate: Gate, row: Row, op: Op, body: dict[str, Any], *, principal: Principal, at: datetime) -> None:
    memory_id = row["memory_id"]
    with gate.store.transaction(namespaces=(row["namespace"],)) as session:
        memories.lock_namespace(session, row["namespace"])
        whole = memories.by_id(session, [memory_id]).get(memory_id)
        if whole is None:
            raise NotFoundError("That memory is gone.", why="It was erased meanwhile.")
        record = gate.ledger.append(op, str(memory_id), by=principal.name, at=at, namespace=row["namespace"], **body)
        decisions.record(session, [record], settled=True)
        follow(gate, session, whole, at=record.at, principal=principal, note=next(iter(map(str, body.values()))))
        if op == "verify":
            review.close_items(session, "stale", [memory_id], at=record.at, outcome="verified")
