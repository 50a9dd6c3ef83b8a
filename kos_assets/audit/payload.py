"""History and review as JSON, the same over the command line, REST and MCP. Each retired row says so."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from kos_assets.audit.reader import History, ReviewList
from kos_assets.store.database import Row

_VERSION: Final = (
    "memory_id", "namespace", "memory_type", "heading", "content", "provenance", "confidence", "supersedes", "author",
    "event_at", "created_at", "verified_at", "verified_by", "verified_how", "boost", "expires_at",
)  # fmt: skip


def history_payload(history: History) -> dict[str, Any]:
    """`versions` oldest first with `status` live or retired, `events` newest first; `more` when older
    changes are there than are told."""
    return {
        "memory_id": str(history.memory_id),
        "versions": [_version(row) for row in history.versions],
        "events": [_event(row) for row in history.events],
        "more": history.more,
    }


def review_payload(review: ReviewList) -> dict[str, Any]:
    """`items`: contradictions and stale memories; `files`: what the gate did not accept; `more`: others wait."""
    items, files = [_item(row) for row in review.items], [_file(row) for row in review.files]
    return {"items": items, "files": files, "more": review.more}


def _version(row: Row) -> dict[str, Any]:
    return {
        **{name: _plain(row[name]) for name in _VERSION},
        "path": row["note_path"],
        "status": "live" if row["retired"] is None else "retired",
        "retired_reason": row["retired"],
        "retired_at": _plain(row["deleted_at"]),
    }


def _event(row: Row) -> dict[str, Any]:
    names = ("memory_id", "at", "action", "reason", "before", "after")
    return {**{name: _plain(row[name]) for name in names}, "by": row["principal"]}


def _item(row: Row) -> dict[str, Any]:
    found = {
        "kind": row["kind"],
        "namespace": row["namespace"],
        "code": row["code"],
        "opened_at": _plain(row["opened_at"]),
        "memory": _side(row, ""),
    }
    return {**found, "other": _side(row, "other_") if row["other_id"] is not None else None}


def _side(row: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {
        "memory_id": _plain(row[f"{prefix}id" if prefix else "memory_id"]),
        "heading": row[f"{prefix}heading"],
        "content": row[f"{prefix}content"],
        "event_at": _plain(row[f"{prefix}event_at"]),
        "created_at": _plain(row[f"{prefix}created_at"]),
        "verified_at": _plain(row[f"{prefix}verified_at"]),
        "path": row["other_path" if prefix else "note_path"],
        "status": "live" if row[f"{prefix}retired"] is None else "retired",
    }


def _file(row: Row) -> dict[str, Any]:
    names = ("path", "namespace", "state", "code", "memory_id", "first_seen_at")
    return {name: _plain(row[name]) for name in names}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value
