"""H3: what was true long ago and was not confirmed since is listed for a person to verify (G8)."""

from __future__ import annotations

from datetime import datetime, timedelta

from kos_assets.hygiene.report import Report
from kos_assets.store import review
from kos_assets.store.database import Session


def flag_stale(session: Session, *, at: datetime, after_days: int, limit: int) -> Report:
    """H3: list live semantic memories last confirmed (verified, else happened, else created) more than `after_days`
    days before `at`, and take off the list what was verified, retired or changed since. Idempotent.

    At most `limit` of each a run, oldest first, in the caller's pipeline transaction. Counts: `closed`, `opened`, and
    `open` as the list stands.
    """
    before = at - timedelta(days=after_days)
    closed = review.close_fresh(session, before=before, at=at, limit=limit)
    opened = review.open_stale(session, before=before, at=at, limit=limit)
    standing = review.counts(session).get("stale", 0)
    return Report(
        {"opened": len(opened), "closed": len(closed), "open": standing},
        {"opened": tuple(opened), "closed": tuple(closed)},
    )
