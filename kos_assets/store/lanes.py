"""Statements on lanes: whether a provider of inference is open, or paused until a time (E5)."""

from __future__ import annotations

from kos_assets.store.database import Row, Session
from kos_assets.store.sql import blocks

_SQL = blocks("lanes")


def paused(session: Session, provider: str) -> str | None:
    """Why the provider's lane is closed now, or None when it is open."""
    reason = session.value(_SQL["paused"], provider=provider)
    return None if reason is None else str(reason)


def pause(
    session: Session, provider: str, *, reason: str, seconds: float | None, first_s: float, longest_s: float
) -> None:
    """Close the lane for `seconds` (as the provider said), else for `first_s` doubled per failure up to `longest_s`."""
    session.run(_SQL["pause"], provider=provider, reason=reason, seconds=seconds, first_s=first_s, longest_s=longest_s)


def reopen(session: Session, provider: str) -> None:
    """Open the lane after a call that worked."""
    session.run(_SQL["reopen"], provider=provider)


def every(session: Session) -> list[Row]:
    """The state of every lane that was ever paused."""
    return session.rows(_SQL["all"])
