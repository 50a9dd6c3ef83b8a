"""H2: supersede chains end with their current version live, and the long ones are on record. Called by hygiene."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from kos_assets.gate.retire import retire
from kos_assets.store import memories
from kos_assets.store.database import Session


@dataclass(frozen=True)
class Chains:
    """What stands on record after a run. `length` of a chain counts hops, so one less than its versions.

    `count`, `longest`: chains longer than two hops, and the longest of them (0 without any). `recorded`, `dropped`:
    tips whose record this run wrote or removed. `circular`: memories whose chain leads into a circle (a broken import),
    with at most ten of their ids.
    """

    count: int
    longest: int
    recorded: tuple[UUID, ...]
    dropped: tuple[UUID, ...]
    circular: int
    circular_ids: tuple[UUID, ...]


def retire_superseded(session: Session, *, at: datetime, limit: int, principal: str) -> list[UUID]:
    """Retire up to `limit` live statements that a later version still supersedes, with history; their ids (H2).

    A crash, an import or an undo can leave such rows. Idempotent, and the same whatever the limit: branches keep every
    tip; a retired tip gives its place to nothing older; circles and note-backed memories are left as they are.
    """
    inner = memories.superseded_live(session, limit=limit)
    return retire(
        session,
        inner,
        at=at,
        principal=principal,
        state="superseded",
        action="compact",
        reason="a later version supersedes it",
    )


def record_chains(session: Session, *, at: datetime, limit: int) -> Chains:
    """Bring the record of chains longer than two hops (root, tip, length) up to date, at most `limit` changes (H2)."""
    row = memories.record_chains(session, at=at, limit=limit)
    return Chains(
        count=row["chains"],
        longest=row["longest"],
        recorded=tuple(row["recorded_ids"]),
        dropped=tuple(row["dropped_ids"]),
        circular=row["circular"],
        circular_ids=tuple(row["circular_ids"]),
    )
