"""H1: memories whose time is over are soft-deleted, with history."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from kos_assets.gate.retire import retire_expired
from kos_assets.store.database import Store


@dataclass(frozen=True)
class ExpireReport:
    """How many memories expired in this run, and ids of up to ten of them."""

    expired: int
    memory_ids: tuple[str, ...]

    def metadata(self) -> dict[str, int | list[str]]:
        """Figures by name."""
        return {"expired": self.expired, "memory_ids": list(self.memory_ids)}


def expire(store: Store, *, now: datetime | None = None, limit: int = 1000, principal: str = "hygiene") -> ExpireReport:
    """H1: retire at most `limit` live memories with `expires_at` at or before now. Idempotent; safe beside traffic."""
    at = now or datetime.now(UTC)
    with store.transaction(pipeline=True) as session:
        found = retire_expired(session, at=at, limit=limit, principal=principal)
    return ExpireReport(len(found), tuple(str(memory_id) for memory_id in found[:10]))
