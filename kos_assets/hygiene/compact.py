"""H2: of every supersede chain only the current version is live; root, tip and length of the long ones are kept."""

from __future__ import annotations

from datetime import datetime

from kos_assets.gate.compact import record_chains, retire_superseded
from kos_assets.hygiene.report import Report
from kos_assets.store.database import Session


def compact(session: Session, *, at: datetime, limit: int, principal: str) -> Report:
    """H2: retire at most `limit` live inner versions and record at most `limit` chains longer than two hops, in the
    caller's pipeline transaction. Idempotent; safe beside traffic.

    Counts: `retired`, `recorded` and `dropped` (records written and removed), `chains` and `longest` (in hops) as they
    stand, `circular` (memories whose chain leads into a circle; told, never touched).
    """
    retired = retire_superseded(session, at=at, limit=limit, principal=principal)
    chains = record_chains(session, at=at, limit=limit)
    return Report(
        {
            "retired": len(retired),
            "recorded": len(chains.recorded),
            "dropped": len(chains.dropped),
            "chains": chains.count,
            "longest": chains.longest,
            "circular": chains.circular,
        },
        {
            "retired": tuple(retired),
            "recorded": chains.recorded,
            "dropped": chains.dropped,
            "circular": chains.circular_ids,
        },
    )
