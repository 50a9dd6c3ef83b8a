"""Conversations out of a JSON text of any size, one at a time, in bounded memory.

Here: streaming, with limits on one conversation, one text, and depth. Not here: which file (places.py, archive.py), or
what a conversation means (chatgpt.py, claude.py).

`ijson.items` would build the same values, but it has no bounds and keeps the path to each value as a text, which costs
the square of the depth: six million brackets never end.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol
from zipfile import BadZipFile

import ijson  # type: ignore[import-untyped]

LARGEST_RECORD: Final = 64_000_000
"""What one conversation may take: characters of its texts and keys, and 64 for each value."""
LONGEST_TEXT: Final = 32_000_000
"""Bytes read without coming to a value: a single text that long is no message."""
DEEPEST: Final = 64
UNREAD: Final = frozenset(
    (
        "aggregate_result",
        "citations",
        "content_references",
        "display_content",
        "extracted_content",
        "image_results",
        "input",
        "moderation_results",
        "safe_urls",
        "search_result_groups",
        "structured_content",
        "user_context_message_data",
    )
)
"""Keys whose values no note is made of: calls' inputs, files' contents, search results. They read as None."""
_PER_VALUE: Final = 64
_OPENING: Final = frozenset(("start_map", "start_array"))
_CLOSING: Final = frozenset(("end_map", "end_array"))
_READ_ERRORS: Final = (OSError, BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)


class Readable(Protocol):
    """What can be read in pieces of bytes: an open file, a member of a zip file."""

    def read(self, size: int = -1, /) -> bytes: ...


@dataclass(frozen=True)
class Record:
    """One conversation as a JSON value, or `too_large` and None. `size` measures all of it, read and unread."""

    value: Any
    size: int
    too_large: bool = False


@dataclass(frozen=True)
class Unreadable:
    """The text cannot be read from here on."""

    code: str
    reason: str


class _TooLongError(Exception):
    """More was read than a single text may take."""


class _Watched:
    """The stream as ijson reads it: without a byte order mark, and counting what was read since the last value."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._begun = False
        self.silent = 0

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self.silent += len(data)
        if self.silent > LONGEST_TEXT:
            raise _TooLongError
        if not self._begun and data:
            self._begun = True
            if size > 0:
                data = data.removeprefix(b"\xef\xbb\xbf") or self._stream.read(size)
        return data


class _Assembly:
    """One value being put together from events; what is too deep or unread is left out while it passes."""

    def __init__(self, unread: frozenset[str]) -> None:
        self._unread = unread
        self._stack: list[Any] = []
        self._key = ""
        self._skipping = 0
        self._kept = 0
        self.size = 0
        self.value: Any = None
        self.too_large = False

    def feed(self, event: str, value: Any) -> bool:
        """Take one event; True when the value is whole."""
        weight = _PER_VALUE + (len(value) if isinstance(value, str) else 0)
        self.size += weight
        if self._skipping:
            self._skipping += (event in _OPENING) - (event in _CLOSING)
            return not self._skipping and not self._stack
        if event == "map_key":
            self._key = value
            return False
        if event in _CLOSING:
            self._stack.pop()
            return not self._stack
        if self._stack and isinstance(self._stack[-1], dict) and self._key in self._unread:
            self._stack[-1][self._key] = None
            self._skipping = int(event in _OPENING)
            return False
        return self._add(event, value, weight)

    def _add(self, event: str, value: Any, weight: int) -> bool:
        self._kept += weight
        if self._kept > LARGEST_RECORD:
            self._skipping = len(self._stack) + (event in _OPENING)
            self._stack.clear()
            self.value, self.too_large = None, True
            return not self._skipping
        opens = event in _OPENING
        part: Any = ({} if event == "start_map" else []) if opens else value
        if opens and len(self._stack) >= DEEPEST:
            part, opens, self._skipping = None, False, 1
        if not self._stack:
            self.value = part
        elif isinstance(self._stack[-1], dict):
            self._stack[-1][self._key] = part
        else:
            self._stack[-1].append(part)
        if opens:
            self._stack.append(part)
        return not self._stack and not self._skipping


def records(stream: Readable, unread: frozenset[str] = UNREAD) -> Iterator[Record | Unreadable]:
    """The elements of the list that the text holds, or of its `conversations`, or the text's one object.

    Never raises for what the bytes are: what cannot be read ends with Unreadable.
    """
    watched = _Watched(stream)
    assembly: _Assembly | None = None
    listed: bool | None = None
    try:
        for event, value in ijson.basic_parse(watched, use_float=True):
            watched.silent = 0
            if listed is None:
                listed = event == "start_array"
                if listed:
                    continue
            if assembly is None:
                if event in _CLOSING:
                    continue
                assembly = _Assembly(unread)
            if assembly.feed(event, value):
                yield from _elements(assembly, listed=listed)
                assembly = None
    except _TooLongError:
        yield Unreadable("text_too_long", f"a single text in it is longer than {LONGEST_TEXT // 1_000_000} MB")
    except ijson.JSONError as error:
        yield Unreadable("broken_json", "it is not whole JSON: " + str(error).splitlines()[0][:120])
    except _READ_ERRORS as error:
        yield Unreadable("unreadable", f"it cannot be read to its end: {str(error)[:120] or type(error).__name__}")


def _elements(assembly: _Assembly, *, listed: bool) -> Iterator[Record]:
    value = assembly.value
    inner = value.get("conversations") if isinstance(value, dict) and not listed else None
    if isinstance(inner, list):
        yield from (Record(one, assembly.size) for one in inner)
    else:
        yield Record(value, assembly.size, assembly.too_large)
