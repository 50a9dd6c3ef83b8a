"""What every kind of chat is read into, and careful access to JSON values that may be anything.

Here: messages, conversations, ids, times and lookups that never raise. Not here: a service's own shapes (chatgpt.py,
claude.py, sessions.py), the text of a note (talk.py), files (places.py, archive.py, records.py).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any, Final, Literal

from kos_assets.writers.contract import Value

Speaker = Literal["You", "Assistant"]

_SOUND_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_UNSPEAKABLE = re.compile(r"[^\w.:/@+ -]+")
_LONGEST_NAME: Final = 60
_LONGEST_FILE_NAME: Final = 200
_MILLISECONDS: Final = 1e11
_EARLIEST, _LATEST = 1990, 2200


@dataclass(frozen=True)
class Message:
    """One message as its author meant it. `folded` names what is not told (`thinking`, a tool), once per occurrence;
    `attachments` are file names."""

    speaker: Speaker
    text: str = ""
    at: datetime | None = None
    folded: tuple[str, ...] = ()
    attachments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Conversation:
    """A whole conversation, on its current branch. `chat_id` is stable in `source` (see `sound_id`); `started` and
    `updated` are what the export says where no message has a time. `properties` are further facts of its note."""

    source: str
    chat_id: str
    title: str
    messages: tuple[Message, ...]
    models: tuple[str, ...] = ()
    started: datetime | None = None
    updated: datetime | None = None
    other_branches: int = 0
    url: str = ""
    origin: str = ""
    properties: Mapping[str, Value] = field(default_factory=dict)


def mapping(value: object) -> Mapping[str, Any]:
    """The value where it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listing(value: object) -> list[Any]:
    """The value where it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: object) -> str:
    """The value where it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def moment(value: object, zone: tzinfo) -> datetime | None:
    """Seconds or milliseconds since 1970, or an ISO 8601 text, as aware UTC; a text without offset is in `zone`.

    None for everything else: null, no number, a year before 1990 or after 2200.
    """
    try:
        if isinstance(value, str):
            read = datetime.fromisoformat(value.strip())
            found = (read if read.tzinfo is not None else read.replace(tzinfo=zone)).astimezone(UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            found = datetime.fromtimestamp(value / 1000 if abs(value) >= _MILLISECONDS else value, UTC)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    return found if _EARLIEST <= found.year <= _LATEST else None


def sound_id(value: object) -> str:
    """An id that is fit for every place: itself where it is plain, a digest of it else; empty where there is none."""
    if not isinstance(value, str) or not value.strip():
        return ""
    if _SOUND_ID.fullmatch(value):
        return value
    return "x" + hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def plain_name(value: object, default: str = "") -> str:
    """A tool's or a model's name in one short line of harmless characters."""
    name = " ".join(_UNSPEAKABLE.sub(" ", text(value)[:1000]).split())
    return name[:_LONGEST_NAME].strip() or default


def file_name(value: object) -> str:
    """A file's name without its folders, in one line of at most 200 characters; empty where there is none."""
    line = " ".join(text(value)[:4000].replace("\\", "/").rstrip("/").rsplit("/", 1)[-1].split())
    return line[:_LONGEST_FILE_NAME]


def path_up(parents: Mapping[str, str | None], leaf: str) -> list[str]:
    """From `leaf` up to its root by `parents`, root first; a circle ends where it would begin again."""
    path: list[str] = []
    seen: set[str] = set()
    node: str | None = leaf
    while node is not None and node in parents and node not in seen:
        seen.add(node)
        path.append(node)
        node = parents[node]
    return path[::-1]
