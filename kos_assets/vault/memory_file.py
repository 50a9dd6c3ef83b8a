"""A statement as a Markdown file: `memories/<namespace>/<id>.md` (V6).

Here: its place, its bytes and back, what its keyed hash is taken of. Not here: who may write one (gate), whether a file
that stands there is accepted (gate/accept.py).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, get_args
from uuid import UUID

from kos_assets.domain.vocabulary import MEMORY_TYPES, Provenance, check_namespace
from kos_assets.errors import InputError, VaultError
from kos_assets.vault import files, frontmatter
from kos_assets.vault.problems import Problem

FOLDER: Final = "memories"
_PLACE = re.compile(r"memories/(?:(global)|(agent|shared)/([^/]+))/(.+)\Z", re.DOTALL)
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
PROVENANCES: Final[tuple[str, ...]] = get_args(Provenance)
_TIMES: Final = ("written_at", "event_at", "expires_at")
_NEEDED: Final = ("kos_memory", "namespace", "memory_type", "provenance", "confidence", "author", "key", "written_at")


@dataclass(frozen=True)
class StatementFile:
    """Everything that the row of a statement is made from. Times are aware, confidences 0..1, `heading` is one line,
    `content` any text without NUL and lone surrogates."""

    memory_id: UUID
    namespace: str
    memory_type: str
    type_reason: str
    type_confidence: float
    provenance: str
    confidence: float
    author: str
    key: str
    written_at: datetime
    event_at: datetime | None
    event_zone: str | None
    expires_at: datetime | None
    supersedes: UUID | None
    heading: str
    content: str


def memory_path(namespace: str, memory_id: UUID) -> str:
    """Where the file of a statement lies, relative to the vault. It holds no text, so it may be told anywhere."""
    return f"{FOLDER}/{namespace.replace(':', '/', 1)}/{memory_id}.md"


def is_reserved(path: str) -> bool:
    """Whether a path lies where only the gate writes; anything else below `memories/` is an ordinary note."""
    return _PLACE.match(path) is not None


def namespace_of_path(path: str) -> str | None:
    """The namespace that a reserved path belongs to; None for an ordinary one."""
    match = _PLACE.match(path)
    if match is None:
        return None
    return match[1] or f"{match[2]}:{match[3]}"


def render(statement: StatementFile) -> str:
    """The file's text: YAML frontmatter of JSON scalars, the heading as H1, the content as it is."""
    values = _fields(statement)
    lines = [f"{name}: {_scalar(value)}" for name, value in values.items() if value is not None]
    return "---\n" + "\n".join(lines) + f"\n---\n# {statement.heading}\n\n{statement.content}\n"


def parse(path: str, data: bytes) -> StatementFile | Problem:
    """The statement that a file holds, or what is wrong with it.

    The exact inverse of `render` for a heading that is one line without white space around it. A file whose every line
    end was turned into CRLF reads as it did before. What no row could hold (a NUL, an unknown kind) is a Problem.
    """
    try:
        data.decode()
    except UnicodeDecodeError:
        return _problem("statement_not_utf8", "the file is not valid UTF-8")
    if b"\0" in data:
        return _problem("statement_broken", "it contains a NUL character, which no memory can hold")
    head = frontmatter.parse(data)
    if head.kind != "yaml" or head.problems:
        reason = head.problems[0].reason if head.problems else "it has no frontmatter"
        return _problem("statement_broken", f"it is no file of a memory: {reason}")
    missing = [name for name in _NEEDED if name not in head.properties]
    if missing:
        return _problem("statement_broken", f"it is no file of a memory: {', '.join(missing)} is missing")
    body = data[head.body_start :].decode()
    first, _, rest = body.lstrip("\r\n").partition("\n")
    if first.endswith("\r"):
        rest = rest.replace("\r\n", "\n")
    if not first.startswith("# ") or not first[2:].strip():
        return _problem("statement_broken", f"{path} has no heading below its frontmatter")
    blank, _, content = rest.partition("\n")
    if blank.strip():
        content = rest
    try:
        return _statement(head.properties, first[2:].strip(), content.removesuffix("\n"))
    except InputError as error:
        return _problem("statement_broken", error.what)
    except (ValueError, TypeError, OverflowError) as error:
        return _problem("statement_broken", f"a property cannot be read: {type(error).__name__}")


def digest_text(statement: StatementFile) -> str:
    """What the keyed hash is taken of: all that a row is made from, blind to what git and editors change in passing."""
    content = statement.content.replace("\r\n", "\n").replace("\r", "\n").rstrip()
    return json.dumps(
        [*_fields(statement).values(), statement.heading.strip(), content], ensure_ascii=False, sort_keys=True
    )


def write_file(root: Path, path: str, statement: StatementFile) -> tuple[int, int]:
    """Write the file whole or not at all, flushed; its size in bytes and mtime in ns. Raises VaultError."""
    try:
        files.replace_text(root, path, render(statement))
        with files.parent_of(root, path) as (folder, name):
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        raise VaultError(
            f"{path} cannot be written into the vault.",
            why=error.strerror or str(error),
            fix="Give this user the right to write there, or free some space; nothing was changed.",
        ) from error
    return status.st_size, status.st_mtime_ns


def delete_file(root: Path, path: str) -> bool:
    """Remove a file of the vault (S11); False when it stood no more. Raises VaultError."""
    try:
        with files.parent_of(root, path) as (folder, name), suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
            os.fsync(folder)
            return True
    except FileNotFoundError:
        return False
    except OSError as error:
        raise VaultError(f"{path} cannot be deleted.", why=error.strerror, fix="Delete it by hand.") from error
    return False


def _fields(statement: StatementFile) -> dict[str, Any]:
    return {
        "kos_memory": str(statement.memory_id),
        "namespace": statement.namespace,
        "memory_type": statement.memory_type,
        "type_reason": statement.type_reason,
        "type_confidence": statement.type_confidence,
        "provenance": statement.provenance,
        "confidence": statement.confidence,
        "author": statement.author,
        "key": statement.key,
        "written_at": _time(statement.written_at),
        "event_at": _time(statement.event_at),
        "event_zone": statement.event_zone,
        "expires_at": _time(statement.expires_at),
        "supersedes": None if statement.supersedes is None else str(statement.supersedes),
    }


def _time(moment: datetime | None) -> str | None:
    """UTC with microseconds: Postgres keeps no more."""
    return None if moment is None else moment.astimezone(UTC).isoformat(timespec="microseconds")


def _scalar(value: Any) -> str:
    """JSON, which is YAML too once the characters that YAML refuses are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _statement(values: Mapping[str, Any], heading: str, content: str) -> StatementFile:
    times = {name: _moment(values.get(name)) for name in _TIMES}
    written_at = times["written_at"]
    if written_at is None:
        raise ValueError("written_at")
    if values["memory_type"] not in MEMORY_TYPES or values["provenance"] not in PROVENANCES:
        raise ValueError("kind")
    if values["memory_type"] == "working" and times["expires_at"] is None:
        raise ValueError("expires_at")
    supersedes = values.get("supersedes")
    zone = values.get("event_zone")
    return StatementFile(
        memory_id=UUID(str(values["kos_memory"])),
        namespace=check_namespace(str(values["namespace"])),
        memory_type=str(values["memory_type"]),
        type_reason=str(values.get("type_reason", "explicit")),
        type_confidence=_share(values.get("type_confidence", 1.0)),
        provenance=str(values["provenance"]),
        confidence=_share(values["confidence"]),
        author=str(values["author"]),
        key=str(values["key"]),
        written_at=written_at,
        event_at=times["event_at"],
        event_zone=None if zone is None else str(zone),
        expires_at=times["expires_at"],
        supersedes=None if supersedes is None else UUID(str(supersedes)),
        heading=heading,
        content=content,
    )


def _moment(value: Any) -> datetime | None:
    if value is None:
        return None
    found = datetime.fromisoformat(str(value))
    if found.tzinfo is None:
        raise ValueError("a time without a zone")
    return found.astimezone(UTC)


def _share(value: Any) -> float:
    found = float(value)
    if not 0 <= found <= 1:
        raise ValueError("out of range")
    return found


def _problem(code: str, reason: str) -> Problem:
    fix = "restore it from git, or move it out of this folder to keep it as a note"
    return Problem(code, None, reason, fix)
