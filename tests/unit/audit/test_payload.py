"""History and review as JSON, and what is refused before the store is asked."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from kos_assets.audit import Audit
from kos_assets.audit.payload import history_payload, review_payload
from kos_assets.audit.reader import MOST_ITEMS, History, ReviewList
from kos_assets.domain.principals import OWNER
from kos_assets.errors import InputError
from kos_assets.store.database import Store

ONE, TWO = UUID(int=1), UUID(int=2)
AT = datetime(2026, 3, 4, 12, tzinfo=UTC)


def version(retired: str | None = None, **values: Any) -> dict[str, Any]:
    """A row as store/audit.py gives it."""
    row = {
        "hop": 0, "memory_id": ONE, "namespace": "global", "memory_type": "semantic", "heading": "Port",
        "content": "It is 8080.", "provenance": "raw", "confidence": 0.95, "supersedes": None, "note_path": "a.md",
        "author": "owner", "event_at": AT, "created_at": AT, "verified_at": None, "verified_by": None,
        "verified_how": None, "boost": 1.0, "expires_at": None, "deleted_at": AT if retired else None,
        "retired": retired,
    }  # fmt: skip
    return {**row, **values}


def side(prefix: str, memory_id: UUID | None, **values: Any) -> dict[str, Any]:
    """One memory of a review item."""
    names = ("heading", "content", "event_at", "created_at", "verified_at", "retired")
    found = {f"{prefix}{name}": values.get(name) for name in names}
    return {**found, f"{prefix}id" if prefix else "memory_id": memory_id, "other_path" if prefix else "note_path": None}


def test_a_retired_version_says_so_and_why() -> None:
    """S7: each version is marked live or retired; a retired one with its reason and time; all of it is JSON."""
    event = {
        "memory_id": ONE, "at": AT, "principal": "robo", "action": "supersede", "reason": "by x",
        "before": {"deleted_at": None}, "after": {"deleted_at": "later"},
    }  # fmt: skip
    rows = [version("superseded"), version(memory_id=TWO, supersedes=ONE), version("expired", deleted_at=None)]
    payload = json.loads(json.dumps(history_payload(History(TWO, rows, [event]))))
    assert payload["memory_id"] == str(TWO)
    assert [(item["status"], item["retired_reason"], item["retired_at"]) for item in payload["versions"]] == [
        ("retired", "superseded", AT.isoformat()),
        ("live", None, None),
        ("retired", "expired", None),
    ]
    assert payload["versions"][1]["supersedes"] == str(ONE)
    [told] = payload["events"]
    assert (told["by"], told["at"], told["action"]) == ("robo", AT.isoformat(), "supersede")
    assert (told["before"], told["after"]) == ({"deleted_at": None}, {"deleted_at": "later"})


def test_a_contradiction_shows_both_with_their_dates_and_a_stale_row_stands_alone() -> None:
    """G9, H3: both sides with dates; an item about one memory has no other side."""
    head = {"kind": "contradiction", "namespace": "global", "code": "number", "opened_at": AT, "other_id": TWO}
    both = {
        **head,
        **side("", ONE, event_at=AT, created_at=AT),
        **side("other_", TWO, created_at=AT, retired="expired"),
    }
    alone = {**head, "kind": "stale", **side("", ONE, created_at=AT), **side("other_", None)}
    file = {
        "path": "memories/global/x.md", "namespace": "global", "state": "refused", "code": "not_written_by_gate",
        "memory_id": None, "first_seen_at": AT,
    }  # fmt: skip
    payload = json.loads(json.dumps(review_payload(ReviewList([both, alone], [file]))))
    first, second = payload["items"]
    assert (first["memory"]["memory_id"], first["other"]["memory_id"]) == (str(ONE), str(TWO))
    assert first["memory"]["event_at"] == first["other"]["created_at"] == AT.isoformat()
    assert (first["memory"]["status"], first["other"]["status"]) == ("live", "retired")
    assert second["other"] is None
    assert payload["files"] == [{**file, "first_seen_at": AT.isoformat()}]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"kinds": ["stale", "boring"]}, "'boring' is no kind"),
        ({"limit": 0}, f"from 1 to {MOST_ITEMS}"),
        ({"limit": MOST_ITEMS + 1}, f"from 1 to {MOST_ITEMS}"),
    ],
)
def test_a_review_is_bounded_before_anything_is_read(asked: dict[str, Any], says: str) -> None:
    """H3: a kind that is none, and a limit outside 1 to 200, are refused; no database is needed to say so."""
    with pytest.raises(InputError, match=says):
        Audit(Store("host=127.0.0.1 port=1", wait_s=0.1)).review(principal=OWNER, **asked)
