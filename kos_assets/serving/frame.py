"""Payloads as text for a model: index lines, decisions, and stored text framed as background data.

Stored text is data. In a frame every line that carries it begins with `| `, whatever line breaks it contains, so it can
neither close the frame nor look like a line of ours. Pure; states each fact that the payload states.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from kos_assets.domain.frame import FRAME_END, FRAME_START, QUOTE

_BREAKS = re.compile(r"\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_STORED = ("heading", "path", "home", "author")
_OURS = (
    "namespace", "memory_type", "provenance", "confidence", "event_at", "event_rule", "verified_at", "stale",
    "index_behind", "created_at", "updated_at", "expires_at",
)  # fmt: skip

_VERSION = (
    "status", "retired_reason", "retired_at", "namespace", "memory_type", "provenance", "confidence", "boost",
    "supersedes", "event_at", "created_at", "expires_at", "verified_at", "verified_how",
)  # fmt: skip


def search_text(payload: Mapping[str, Any]) -> str:
    """One line with confidence, advice and notes, then the index lines byte for byte (R2, R5)."""
    calibrated = "" if payload["calibrated"] else ", not calibrated"
    head = f"confidence: {payload['confidence']} ({payload['mode']}{calibrated}). {payload['advice']}"
    first = one_line(" ".join([head, *payload["notes"]]))
    return "\n".join([first, *(result["index_line"] for result in payload["results"])])


def fetch_text(payload: Mapping[str, Any]) -> str:
    """Full memories inside the frame (R6's framing, R9), then the ids that were not found."""
    lines = [FRAME_START]
    for memory in payload["memories"]:
        lines += _memory_lines(memory)
    lines.append(FRAME_END)
    if payload["missing"]:
        lines.append(f"not found: {', '.join(payload['missing'])}")
    return "\n".join(lines)


def written_text(payload: Mapping[str, Any]) -> str:
    """What the gate decided about a statement: ids and codes alone."""
    lines = [f"{payload['action']} {payload['memory_id']}: {one_line(payload['reason'])}"]
    if payload["superseded"] is not None:
        lines.append(f"superseded {payload['superseded']}")
    lines += [f"{item['kind']} {item['memory_id']}: {item['code']}" for item in payload["beside"]]
    return "\n".join([*lines, f"file {one_line(payload['path'])}"])


def change_text(payload: Mapping[str, Any]) -> str:
    """What a decision did: ids and codes alone."""
    lines = [f"{payload['action']} {payload['memory_id']}: {one_line(payload['reason'])}"]
    return "\n".join([*lines, *(f"also {memory_id}" for memory_id in payload["also"])])


def history_text(payload: Mapping[str, Any]) -> str:
    """Versions, oldest first, and changes, newest first, inside the frame (R6)."""
    lines = [FRAME_START, f"history of {payload['memory_id']}"]
    for version in payload["versions"]:
        facts = ", ".join(f"{name} {_said(version[name])}" for name in _VERSION)
        lines += ["", f"version {version['memory_id']}: {facts}"]
        lines += _quoted(version, ("heading", "path", "author", "verified_by"), version["content"])
    for event in payload["events"]:
        lines += ["", f"change at {event['at']} of {event['memory_id']}: {event['action']}"]
        lines += _quoted(event, ("by", "reason", "before", "after"))
    lines += ["", "older changes are not told"] if payload["more"] else []
    return "\n".join([*lines, FRAME_END])


def review_text(payload: Mapping[str, Any]) -> str:
    """What waits, newest first, inside the frame (R6)."""
    lines = [FRAME_START]
    for item in payload["items"]:
        facts = f"code {_said(item['code'])}, opened_at {item['opened_at']}"
        lines += ["", f"{item['kind']} in {item['namespace']}: {facts}"]
        for side in (item["memory"], item["other"]):
            if side is not None:
                names = ("status", "event_at", "created_at", "verified_at")
                told = ", ".join(f"{name} {_said(side[name])}" for name in names)
                lines += [f"memory {side['memory_id']}: {told}", *_quoted(side, ("heading", "path"), side["content"])]
    for file in payload["files"]:
        names = ("namespace", "code", "memory_id", "first_seen_at")
        told = ", ".join(f"{name} {_said(file[name])}" for name in names)
        lines += ["", f"{file['state']} file: {told}", *_quoted(file, ("path",))]
    if not payload["items"] and not payload["files"]:
        lines.append("nothing waits")
    if payload["more"]:
        lines += ["", "others wait as well"]
    return "\n".join([*lines, FRAME_END])


def one_line(text: str) -> str:
    """White space and line breaks folded to single spaces; control and bidi characters dropped."""
    folded = " ".join(_BREAKS.sub(" ", text).split())
    return "".join(c for c in folded if unicodedata.category(c) != "Cc" and c not in _BIDI)


def _memory_lines(memory: Mapping[str, Any]) -> list[str]:
    facts = ", ".join(f"{name} {_said(memory[name])}" for name in _OURS)
    lines = ["", f"memory {memory['memory_id']}: {facts}"]
    return lines + _quoted(memory, _STORED, memory["content"])


def _quoted(values: Mapping[str, Any], names: Iterable[str], content: str | None = None) -> list[str]:
    """Stored values, one a line, then a text: each line after the mark of stored text."""
    told = {name: values[name] for name in names if values[name] is not None}
    plain = {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for name, value in told.items()
    }
    lines = [f"{QUOTE}{name}: {one_line(value)}" for name, value in plain.items()]
    return lines if content is None else [*lines, QUOTE, *(QUOTE + line for line in _BREAKS.split(content))]


def _said(value: Any) -> str:
    if value is None:
        return "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
