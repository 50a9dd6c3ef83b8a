"""From a parsed note to the row that is stored: classification, language, dates, provenance. Pure but for the models of
language detection, which come with their library."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from kos_assets.domain.classify import Classification, classify
from kos_assets.domain.language import detect
from kos_assets.domain.vocabulary import MEMORY_TYPES, MemoryType
from kos_assets.settings import Settings
from kos_assets.vault.note import ParsedNote
from kos_assets.vault.problems import Problem
from kos_assets.vault.scan import FileStat

LONGEST_PATH = 2000
"""Bytes of a path that the store's indexes are sure to hold (their limit is 2,704 with everything beside it)."""

NOTE_RECIPE = 2
"""Raise it with any change of what the same file gives: the next scan reads the whole vault anew."""

_RAW_CONFIDENCE = 0.95
_OUTPUT_CONFIDENCE = 0.7
_PROVENANCES = {"raw", "derived", "output"}
_LANGUAGE_SAMPLE = 4000
_UNHASHED = {"size_bytes", "mtime_ns", "file_hash", "stamped", "row_hash"}


def recipe(settings: Settings) -> str:
    """A digest of all that a row is made from beside the file: another one means that every file is to be read anew."""
    folders = sorted(settings.namespace_folders.items())
    made_from = [NOTE_RECIPE, settings.source, settings.time_zone, settings.default_namespace, folders]
    return hashlib.sha256(json.dumps(made_from).encode()).hexdigest()


def note_row(
    note: ParsedNote,
    note_id: UUID,
    namespace: str,
    stat: FileStat,
    settings: Settings,
    *,
    committed: datetime | None = None,
) -> dict[str, Any]:
    """Every column of kos.notes but the file's facts. `row_hash` covers all that a memory is made from.

    `committed` is when git first saw the file (aware): the date of a note that names none, before the file's own time.
    """
    chosen = _classified(note)
    provenance = _provenance(note, namespace)
    default_confidence = _RAW_CONFIDENCE if provenance == "raw" else _OUTPUT_CONFIDENCE
    event_at, event_zone, event_rule = _event(note, stat, settings, committed)
    row: dict[str, Any] = {
        "note_id": note_id,
        "source": settings.source,
        "path": note.path,
        "title": note.title,
        "title_rule": note.title_rule,
        "content": note.content.strip("\n"),
        "namespace": namespace,
        "memory_type": chosen.memory_type,
        "type_reason": chosen.reason,
        "type_confidence": chosen.confidence,
        "provenance": provenance,
        "confidence": default_confidence if note.confidence is None else note.confidence,
        "author": _author(note),
        "home_path": _home(note),
        "lang": detect(f"{note.title}\n{note.content[:_LANGUAGE_SAMPLE]}"),
        "event_at": event_at,
        "event_zone": event_zone,
        "event_rule": event_rule,
        "source_updated_at": note.updated_at or note.created_at,
        "verified_at": note.verified_at,
        "expires_at": note.expires_at,
        "properties": {name: value for name, value in note.properties.items() if name != "kos_id"},
        "structure": _structure(note),
        "content_hash": note.content_hash,
        "body_hash": fold_key(note),
    }
    row = _storable(row)
    hashed = {key: value for key, value in row.items() if key not in _UNHASHED}
    row["row_hash"] = hashlib.sha256(
        json.dumps(hashed, ensure_ascii=False, sort_keys=True, default=str).encode("utf-8", "surrogatepass")
    ).hexdigest()
    return row


def _event(
    note: ParsedNote, stat: FileStat, settings: Settings, committed: datetime | None
) -> tuple[datetime, str | None, str]:
    """S10: what the note says, else when git first saw it, else the file's time; the zone; and the rule that chose."""
    if note.event_at is not None:
        return note.event_at, note.event_zone, note.event_rule
    if committed is not None:
        return committed, settings.time_zone, "git"
    return datetime.fromtimestamp(stat.mtime_ns / 1e9, UTC), settings.time_zone, "mtime"


def _classified(note: ParsedNote) -> Classification:
    explicit = note.memory_type if note.memory_type in MEMORY_TYPES else None
    if explicit == "working" and note.expires_at is None:
        explicit = None  # S3: scratch without an end is kept as an ordinary note
    kind = note.properties.get("kind")
    return classify(
        explicit=_memory_type(explicit),
        path=note.path,
        title=note.title,
        kind=kind if isinstance(kind, str) else None,
        content=note.content,
        headings=[heading.text for heading in note.headings],
    )


def fold_key(note: ParsedNote) -> str | None:
    """What equal copies share (G6). One that ends may only stand for copies that end with it: else the others would be
    lost with it."""
    if note.body_hash is None or note.expires_at is None:
        return note.body_hash
    return hashlib.sha256(f"{note.body_hash} until {note.expires_at.isoformat()}".encode()).hexdigest()


def _home(note: ParsedNote) -> str:
    own = note.home if home_problem(note) is None else None
    return (note.path.rpartition("/")[0] if own is None else own).strip("/")


def home_problem(note: ParsedNote) -> Problem | None:
    """What is wrong with the note's own home; its folder is used instead."""
    if note.home is None or len(note.home.encode("utf-8", "replace")) <= LONGEST_PATH:
        return None
    return Problem("home_too_long", None, f"home is longer than {LONGEST_PATH:,} bytes", "write a shorter path")


def note_links(note: ParsedNote, note_id: UUID) -> list[dict[str, Any]]:
    """The raw links of a note: embeds, wikilinks and links to Markdown files."""
    return [
        {
            "note_id": note_id,
            "ordinal": ordinal,
            "kind": "embeds" if link.kind == "embed" else "links_to",
            "target": _storable(link.target),
            "anchor": _storable(link.heading or (f"^{link.block}" if link.block else None)),
            "line": link.line,
        }
        for ordinal, link in enumerate(note.links)
    ]


def _storable(value: Any) -> Any:
    """The same value without what Postgres refuses in text and JSON: NUL, and halves of surrogate pairs (V4).

    YAML and TOML escapes can spell both, in a file whose own bytes are clean.
    """
    if isinstance(value, str):
        clean = value.replace("\0", "\N{REPLACEMENT CHARACTER}")
        return clean if clean.isascii() else clean.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_storable(name): _storable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(item) for item in value]
    return value


def _memory_type(name: str | None) -> MemoryType | None:
    return next((memory_type for memory_type in MEMORY_TYPES if memory_type == name), None)


def _provenance(note: ParsedNote, namespace: str) -> str:
    """What agents wrote is output (V9); frontmatter may say so too, or say `derived`."""
    given = note.properties.get("provenance")
    if isinstance(given, str) and given in _PROVENANCES:
        return given
    return "output" if namespace.startswith("agent:") else "raw"


def _author(note: ParsedNote) -> str | None:
    author = note.properties.get("author")
    return author if isinstance(author, str) and author.strip() else None


def _structure(note: ParsedNote) -> dict[str, Any]:
    """Tasks are counted by the mark in their box too: people give their own meanings to `/`, `>`, `!` and others."""
    states = Counter(task.state for task in note.tasks)
    return {
        "aliases": list(note.aliases),
        "tags": list(note.tags),
        "people": list(note.people),
        "headings": [[heading.level, heading.text] for heading in note.headings],
        "blocks": list(note.blocks),
        "tasks": dict(sorted(Counter(task.status.lower() for task in note.tasks).items())),
        "tasks_open": states["open"],
        "tasks_done": states["done"],
        "tasks_cancelled": states["cancelled"],
        "connections": [[line.source, line.target, line.label] for line in note.connections],
    }
