"""H3 on a real store: what is on the list, and when it leaves it."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.hygiene.report import Report
from kos_assets.hygiene.sweep import sweep
from kos_assets.store.database import Store

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
_SPACES = itertools.count()
_LISTED = "select memory_id from kos.review_items where kind = 'stale' and closed_at is null and namespace = %s"


def stale(store: Store, *, limit: int = 1000, now: datetime = NOW, days: int = 180) -> Report:
    return sweep(store, stale_after_days=days, steps=["stale"], now=now, limit=limit)["stale"]


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


AGES = st.one_of(st.none(), st.sampled_from([0, 10, 179.9, 180, 180.1, 400]))
MEMORIES = st.fixed_dictionaries(
    {
        "memory_type": st.sampled_from(["semantic", "semantic", "episodic", "procedural"]),
        "verified": AGES,
        "event": AGES,
        "created": st.sampled_from([1, 200, 900]),
        "live": st.sampled_from([True, True, False]),
        "over": st.sampled_from([False, False, True]),
    }
)


@settings(max_examples=40)
@given(found=st.lists(MEMORIES, min_size=1, max_size=6), limit=st.sampled_from([1, 1000]))
def test_the_list_is_what_is_stale(shared_shelf: Any, found: list[dict[str, Any]], limit: int) -> None:
    """H3: live, semantic, last confirmed more than 180 days ago; whatever the limit; a second run opens nothing."""
    space = f"agent:s{next(_SPACES)}"
    rows = [
        {
            "namespace": space,
            "memory_type": item["memory_type"],
            "verified_at": None if item["verified"] is None else ago(item["verified"]),
            "event_at": None if item["event"] is None else ago(item["event"]),
            "created_at": ago(item["created"]),
            "live": item["live"],
            "expires_at": ago(1) if item["over"] else None,
        }
        for item in found
    ]
    ids = shared_shelf.put(rows)
    while stale(shared_shelf.store, limit=limit).counts["opened"]:
        pass
    expected = {
        memory_id
        for memory_id, row in zip(ids, rows, strict=True)
        if row["memory_type"] == "semantic" and row["live"] and row["expires_at"] is None
        and (row["verified_at"] or row["event_at"] or row["created_at"]) < ago(180)
    }  # fmt: skip
    assert {row[0] for row in shared_shelf.rows(_LISTED, space)} == expected
    again = stale(shared_shelf.store)
    assert (again.counts["opened"], again.counts["closed"]) == (0, 0)


def test_it_leaves_the_list_when_it_is_stale_no_more(shelf: Any) -> None:
    """H3: verified, retired, expired, retyped or moved meanwhile; the rest stays; a moved one is listed where it is."""
    names = ("verified", "retired", "retyped", "moved", "kept")
    ids = dict(zip(names, shelf.put([{"created_at": ago(400)} for _ in names]), strict=True))
    assert stale(shelf.store).counts == {"opened": 5, "closed": 0, "open": 5}
    changes = {
        "verified": "verified_at = now(), verified_by = 'x'",
        "retired": "deleted_at = now(), deleted_reason = 'forgotten'",
        "retyped": "memory_type = 'episodic'",
        "moved": "namespace = 'shared:owner'",
    }
    for name, change in changes.items():
        shelf.rows(f"update kos.memories set {change} where memory_id = %s", ids[name])
    report = stale(shelf.store)
    assert (set(report.ids["closed"]), report.ids["opened"]) == ({ids[name] for name in changes}, (ids["moved"],))
    assert dict(shelf.rows("select memory_id, outcome from kos.review_items where closed_at is not null")) == {
        ids["verified"]: "verified", ids["retired"]: "retired", ids["retyped"]: "changed", ids["moved"]: "changed",
    }  # fmt: skip
    standing = "select memory_id, namespace, code, opened_at from kos.review_items where closed_at is null"
    assert sorted(shelf.rows(standing)) == sorted(
        [(ids["kept"], "global", "never_verified", NOW), (ids["moved"], "shared:owner", "never_verified", NOW)]
    )
    assert stale(shelf.store).counts == {"opened": 0, "closed": 0, "open": 2}


def test_a_verification_grows_old_too(shelf: Any) -> None:
    """H3, G8: the same memory is listed again, and the list says that it once was verified."""
    [memory] = shelf.put([{"created_at": ago(900), "verified_at": ago(170), "verified_by": "x"}])
    assert stale(shelf.store).counts["opened"] == 0
    assert stale(shelf.store, now=NOW + timedelta(days=11)).ids["opened"] == (memory,)
    assert shelf.rows("select code from kos.review_items") == [("verified_long_ago",)]


def test_a_run_is_bounded_and_takes_the_oldest_first(shelf: Any) -> None:
    """H3: the next run goes on where this one stopped."""
    ids = shelf.put([{"created_at": ago(200 + n)} for n in range(5)])
    runs = [stale(shelf.store, limit=2).ids["opened"] for _ in range(4)]
    assert [set(run) for run in runs] == [{ids[4], ids[3]}, {ids[2], ids[1]}, {ids[0]}, set()]


def test_the_threshold_is_a_setting(shelf: Any) -> None:
    """H3: raising it takes off the list what is no longer too old."""
    shelf.put([{"created_at": ago(200)}])
    assert stale(shelf.store, days=100).counts["open"] == 1
    assert stale(shelf.store, days=300).counts == {"opened": 0, "closed": 1, "open": 0}
