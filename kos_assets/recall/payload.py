"""Answers as JSON-safe values: one shape for REST, MCP and `kos --json`, so that they cannot differ."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from kos_assets.recall.search import Answer, Fetched, Hit
from kos_assets.store.database import Row


def search_payload(answer: Answer) -> dict[str, Any]:
    """The payload of a search: confidence, advice, and index lines with where they come from."""
    return {
        "query": answer.query,
        "confidence": answer.confidence,
        "advice": answer.advice,
        "mode": answer.mode,
        "calibrated": answer.calibrated,
        "trace_id": str(answer.trace_id),
        "results": [_hit(hit) for hit in answer.hits],
        "notes": list(answer.notes),
    }


def fetch_payload(fetched: Fetched) -> dict[str, Any]:
    """The payload of a fetch: whole memories, and ids that were not found."""
    return {
        "memories": [_memory(row) for row in fetched.memories],
        "missing": [str(memory_id) for memory_id in fetched.missing],
    }


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        "memory_id": str(hit.memory_id),
        "index_line": hit.index_line,
        "heading": hit.heading,
        "namespace": hit.namespace,
        "memory_type": hit.memory_type,
        "provenance": hit.provenance,
        "confidence": hit.confidence,
        "event_at": _time(hit.event_at),
        "verified_at": _time(hit.verified_at),
        "stale": hit.stale,
        "index_behind": hit.index_behind,
        "path": hit.path,
        "score": round(hit.score, 4),
        "matched_by": list(hit.matched_by),
        "similar_to": [str(memory_id) for memory_id in hit.similar_to],
    }


def _memory(row: Row) -> dict[str, Any]:
    return {
        "memory_id": str(row["memory_id"]),
        "heading": row["heading"],
        "content": row["content"],
        "namespace": row["namespace"],
        "memory_type": row["memory_type"],
        "provenance": row["provenance"],
        "confidence": round(float(row["confidence"]), 3),
        "author": row["author"],
        "event_at": _time(row["event_at"]),
        "event_rule": row["event_rule"],
        "verified_at": _time(row["verified_at"]),
        "stale": bool(row["stale"]),
        "index_behind": bool(row["index_behind"]),
        "path": row["note_path"],
        "home": row["home_path"],
        "created_at": _time(row["created_at"]),
        "updated_at": _time(row["updated_at"]),
        "expires_at": _time(row["expires_at"]),
    }


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
