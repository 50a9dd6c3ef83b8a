"""A session log as values, line by line, in bounded memory.

Here: lines that are too long, broken, or not yet whole. Not here: what a line means (sessions.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

LONGEST_LINE: Final = 32_000_000
"""Bytes; a longer line is passed over. Lines of many MB hold pictures and output of tools."""
_PIECE: Final = 1 << 20


@dataclass(frozen=True)
class Line:
    """The value of one line."""

    value: Any


@dataclass(frozen=True)
class BadLine:
    """A line that gives nothing. `unfinished`: the last one, still being written."""

    number: int
    reason: str
    unfinished: bool = False


def lines(file: BinaryIO, longest: int = LONGEST_LINE) -> Iterator[Line | BadLine]:
    """The lines of a log in order. Raises OSError only."""
    number = 0
    while data := file.readline(longest + 1):
        number += 1
        if len(data) > longest and not data.endswith(b"\n"):
            while data and not data.endswith(b"\n"):
                data = file.readline(_PIECE)
            yield BadLine(number, f"the line is longer than {longest // 1_000_000} MB")
            continue
        if number == 1:
            data = data.removeprefix(b"\xef\xbb\xbf")
        if data.strip():
            yield _line(number, data)


def _line(number: int, data: bytes) -> Line | BadLine:
    try:
        return Line(json.loads(data))
    except (ValueError, RecursionError) as error:
        whole = data.endswith(b"\n")
        reason = "it is nested too deep" if isinstance(error, RecursionError) else "it is not whole JSON"
        return BadLine(number, reason, unfinished=not whole)
