"""The order of hygiene: expire, compact, flag stale; each step alone, all of them, or a rehearsal that keeps nothing.

Here: order, locks, transactions. Not here: what a step does (expire.py, compact.py, stale.py), when it runs (jobs).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, Literal, get_args

from kos_assets.hygiene.compact import compact
from kos_assets.hygiene.expire import expire
from kos_assets.hygiene.report import Report
from kos_assets.hygiene.stale import flag_stale
from kos_assets.store.database import Session, Store

Step = Literal["expire", "compact", "stale"]
STEPS: Final[tuple[Step, ...]] = get_args(Step)
"""What is expired supersedes and is stale no more, and what is superseded is not stale: so in this order."""

LIMIT: Final = 1000
"""Memories that one step changes a run; the next run goes on."""


class _Rehearsed(Exception):  # noqa: N818 - no error: it ends the transaction of a rehearsal
    """Everything was tried; nothing is to be kept."""


def sweep(
    store: Store,
    *,
    stale_after_days: int,
    steps: Sequence[Step] = STEPS,
    now: datetime | None = None,
    limit: int = LIMIT,
    principal: str = "hygiene",
) -> dict[Step, Report]:
    """Run the steps in the house's order, each in its own transaction; what each did (H1-H3).

    Whoever runs the same step at the same time waits for it. Raises StoreUnavailableError; the steps before it stand.
    """
    at = now or datetime.now(UTC)
    found: dict[Step, Report] = {}
    for step in _ordered(steps):
        with store.exclusive(f"hygiene:{step}"), store.transaction(pipeline=True) as session:
            found[step] = _run(session, step, at=at, stale_after_days=stale_after_days, limit=limit, by=principal)
    return found


def rehearse(
    store: Store,
    *,
    stale_after_days: int,
    steps: Sequence[Step] = STEPS,
    now: datetime | None = None,
    limit: int = LIMIT,
    principal: str = "hygiene",
) -> dict[Step, Report]:
    """What `sweep` would do now: the same steps in one transaction that is rolled back, so later steps see what earlier
    ones would leave. Changes nothing."""
    at = now or datetime.now(UTC)
    found: dict[Step, Report] = {}
    with suppress(_Rehearsed), store.transaction(pipeline=True) as session:
        for step in _ordered(steps):
            found[step] = _run(session, step, at=at, stale_after_days=stale_after_days, limit=limit, by=principal)
        raise _Rehearsed
    return found


def _ordered(steps: Sequence[Step]) -> list[Step]:
    return [step for step in STEPS if step in steps]


def _run(session: Session, step: Step, *, at: datetime, stale_after_days: int, limit: int, by: str) -> Report:
    if step == "expire":
        return expire(session, at=at, limit=limit, principal=by)
    if step == "compact":
        return compact(session, at=at, limit=limit, principal=by)
    return flag_stale(session, at=at, after_days=stale_after_days, limit=limit)
