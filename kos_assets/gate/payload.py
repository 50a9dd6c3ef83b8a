"""What the gate did, as JSON: the same over the command line, REST and MCP."""

from __future__ import annotations

from typing import Any

from kos_assets.gate.life import Change
from kos_assets.gate.write import Result


def result_payload(result: Result) -> dict[str, Any]:
    """The outcome of a write: `action` insert, supersede, pending or retry; `beside` what stays live next to it."""
    return {
        "memory_id": str(result.memory_id),
        "action": result.action,
        "reason": result.reason,
        "superseded": None if result.superseded is None else str(result.superseded),
        "beside": [
            {"kind": kind, "memory_id": str(memory_id), "code": code} for kind, memory_id, code in result.beside
        ],
        "path": result.path,
    }


def change_payload(change: Change) -> dict[str, Any]:
    """The outcome of a decision about a memory; `also` changed with it."""
    return {
        "memory_id": str(change.memory_id),
        "action": change.action,
        "reason": change.reason,
        "also": [str(memory_id) for memory_id in change.also],
    }
