"""What someone wants remembered: the statement as it arrives, its checks, and the row that it becomes. Pure.

Here: bad input is refused with what, why and next, before anything is written (G1, S3, S10). Not here: authority, the
verdict, files, SQL.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid4, uuid5
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kos_assets.domain.classify import classify
from kos_assets.domain.language import detect
from kos_assets.domain.principals import Principal
from kos_assets.domain.vocabulary import KOS_NAMESPACE, MEMORY_TYPES, MemoryType, Provenance, check_namespace, home_tree
from kos_assets.errors import AuthorityError, InputError
from kos_assets.vault.memory_file import StatementFile, memory_path

MAX_HEADING: Final = 300
MAX_CONTENT: Final = 200_000
MAX_KEY: Final = 200
_AHEAD: Final = timedelta(days=1)
_FIRST: Final = datetime(1, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(2199, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
_DEFAULT_CONFIDENCE: Final = {"raw": 0.95, "derived": 0.7, "output": 0.7}
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True)
class Statement:
    """What someone wants remembered. `key` makes a retry return the first result (G5): it is the principal's own within
    the namespace; without one each write is a new one. Times are aware (S10), `confidence` is 0..1; without provenance
    it is `raw` from the owner and `output` from anyone else (V9). `supersedes` names the memory that this corrects."""

    heading: str
    content: str
    namespace: str
    key: str | None = None
    memory_type: MemoryType | None = None
    provenance: Provenance | None = None
    confidence: float | None = None
    event_at: datetime | None = None
    event_zone: str | None = None
    expires_at: datetime | None = None
    supersedes: UUID | None = None


def check_statement(statement: Statement, principal: Principal, *, at: datetime) -> None:
    """Raises InputError (AuthorityError for a provenance that the principal may not claim); nothing was done."""
    check_namespace(statement.namespace)
    _check_text("heading", statement.heading, MAX_HEADING)
    _check_text("content", statement.content, MAX_CONTENT)
    if statement.key is not None:
        _check_text("key", statement.key, MAX_KEY)
    _check_kind(statement, principal)
    _check_times(statement, at)


def _check_text(name: str, text: str, most: int) -> None:
    if not text.strip():
        raise InputError(f"{name} is empty.", fix=f"Give {name} some text.")
    if len(text) > most:
        raise InputError(
            f"{name} has {len(text):,} characters; at most {most:,} are taken.",
            fix="Write the document into the vault as a note, and remember what matters of it.",
        )
    if "\x00" in text:
        raise InputError(
            f"{name} contains a NUL character.", why="Postgres and Markdown cannot hold it.", fix="Remove it."
        )
    if _SURROGATE.search(text):
        raise InputError(
            f"{name} contains half of a surrogate pair.", why="It is no Unicode text.", fix="Send valid UTF-8."
        )
    if name != "content" and _CONTROL.search(text):
        raise InputError(f"{name} contains a control character.", fix="Remove it.")


def _check_kind(statement: Statement, principal: Principal) -> None:
    kind, provenance, confidence = statement.memory_type, statement.provenance, statement.confidence
    if kind is not None and kind not in MEMORY_TYPES:
        raise InputError(f"{str(kind)[:40]!r} is no memory type.", why=f"Types are {', '.join(MEMORY_TYPES)} (S3).")
    if provenance is not None and provenance not in _DEFAULT_CONFIDENCE:
        raise InputError(f"{str(provenance)[:40]!r} is no provenance.", why="It is raw, derived or output (S4).")
    if confidence is not None and not 0 <= confidence <= 1:
        raise InputError(f"confidence is a number from 0 to 1, not {confidence}.", why="Rule S4.")
    if provenance == "raw" and principal.role == "agent":
        raise AuthorityError(
            "An agent's statement is not raw.",
            why="Rule V9: what an agent writes is output, or derived from what it read.",
            fix="Leave provenance out, or say derived.",
        )
    if kind == "working" and statement.expires_at is None:
        raise InputError("A working memory needs an end.", fix="Give expires_at, or another memory type (S3).")


def _check_times(statement: Statement, at: datetime) -> None:
    for name in ("event_at", "expires_at"):
        moment: datetime | None = getattr(statement, name)
        if moment is not None and moment.tzinfo is None:
            raise InputError(
                f"{name} has no zone, so it names no instant (S10).", fix="Write it like 2026-03-04T14:30:00+01:00."
            )
        if moment is not None and not _FIRST <= moment <= _LAST:
            raise InputError(f"{name} lies outside the years 1 to 2199.", fix="Check the date.")
    if statement.event_at is not None and statement.event_at > at + _AHEAD:
        raise InputError(
            "event_at lies in the future: it says when something happened.",
            why="A clock is wrong, or a plan was meant.",
            fix="Set the clock, or leave event_at out and write the planned date into the text.",
        )
    if statement.expires_at is not None and statement.expires_at <= at:
        raise InputError("expires_at is over already.", fix="Give a time in the future, or leave it out.")
    if statement.event_zone is not None:
        try:
            ZoneInfo(statement.event_zone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise InputError(
                f"{statement.event_zone[:60]!r} is no time zone.", fix="Name one like Europe/Berlin."
            ) from error


def statement_file(statement: Statement, principal: Principal, at: datetime) -> StatementFile:
    """The statement as the file that it becomes: defaults filled in, classified (G7), with its id."""
    heading = " ".join(statement.heading.split())
    chosen = classify(
        explicit=statement.memory_type, path="", title=heading, kind=None, content=statement.content, headings=()
    )
    provenance = statement.provenance or ("raw" if principal.role == "owner" else "output")
    given = statement.confidence
    key = json.dumps([statement.namespace, principal.name, statement.key or str(uuid4())], ensure_ascii=False)
    dated = statement.event_at is not None
    return StatementFile(
        memory_id=uuid5(KOS_NAMESPACE, f"statement:{key}"),
        namespace=statement.namespace,
        memory_type=chosen.memory_type,
        type_reason=chosen.reason,
        type_confidence=chosen.confidence,
        provenance=provenance,
        confidence=_DEFAULT_CONFIDENCE[provenance] if given is None else round(given, 4),
        author=principal.name,
        key=key,
        written_at=at,
        event_at=statement.event_at,
        event_zone=(statement.event_zone or _zone_of(statement.event_at)) if dated else None,
        expires_at=statement.expires_at,
        supersedes=None,
        heading=heading,
        content=statement.content,
    )


def _zone_of(moment: datetime | None) -> str:
    """The zone that a time was given in: its name, or its offset (S10)."""
    if moment is None or moment.tzinfo is None:
        return "UTC"
    if isinstance(moment.tzinfo, ZoneInfo):
        return moment.tzinfo.key
    offset = moment.strftime("%z")
    return f"{offset[:3]}:{offset[3:5]}" if offset.strip("+-0") else "UTC"


def content_hash(file: StatementFile) -> str:
    """The hash of what is indexed of a statement."""
    return hashlib.sha256(f"{file.heading}\n{normal(file.content)}".encode()).hexdigest()


def normal(content: str) -> str:
    """Content as it is stored and compared: line endings folded, no white space at the end, so that a file that went
    through git or an editor reads the same."""
    return content.replace("\r\n", "\n").replace("\r", "\n").rstrip()


def memory_row(file: StatementFile) -> dict[str, Any]:
    """Every column of the memory that a statement's file stands for; live, nothing superseded."""
    content = normal(file.content)
    home = f"memories/{file.namespace}"
    return {
        "memory_id": file.memory_id,
        "namespace": file.namespace,
        "memory_type": file.memory_type,
        "type_reason": file.type_reason,
        "type_confidence": round(file.type_confidence, 4),
        "heading": file.heading,
        "content": content,
        "provenance": file.provenance,
        "confidence": round(file.confidence, 4),  # a real holds no more, and refuses what is smaller than it can hold
        "supersedes": None,
        "folded_into": None,
        "note_id": None,
        "note_path": memory_path(file.namespace, file.memory_id),
        "author": file.author,
        "home": home_tree(home),
        "home_path": home,
        "lang": detect(f"{file.heading}\n{content[:4000]}"),
        "event_at": file.event_at or file.written_at,
        "event_zone": file.event_zone or "UTC",
        "event_rule": "statement" if file.event_at is not None else "written",
        "keywords": [],
        "verified_at": None,
        "verified_by": None,
        "verified_how": None,
        "boost": 1.0,
        "expires_at": file.expires_at,
        "deleted_at": None,
        "deleted_reason": None,
        "content_hash": content_hash(file),
        "fold_hash": None,
        "idempotency_key": file.key,
        "created_at": file.written_at,
    }
