"""Lines and blocks of a Markdown body with their offsets: just enough structure to cut passages (`chunking`).

Here: a linear scan over lines: headings, fences, paragraphs, list items. Not here: links, tags, tasks, frontmatter (the
vault reads those from a real parser); this scan only decides where a passage may be cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_ATX: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_SETEXT: Final = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_ITEM: Final = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s|\s*[|>]")
_NOT_SETEXT: Final = re.compile(r"\s*(?:[-*+>|#]|\d{1,9}[.)]\s|$)| {4}|\t")


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its number (from 1) and its place in the text, line end included."""

    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Block:
    """Neighbouring lines that belong together: a heading, a paragraph or list, a fenced code block."""

    lines: tuple[Line, ...]
    path: tuple[str, ...]
    is_heading: bool = False


def lines_of(text: str) -> list[Line]:
    """All lines; only CR, LF and CRLF end one, so numbers agree with an editor's."""
    return [Line(number, match.start(), match.end()) for number, match in enumerate(_LINE.finditer(text), 1)]


def heading_text(line: str) -> str | None:
    """The text of an ATX heading line (`## Plan ##` gives `Plan`), None for any other line."""
    match = _ATX.match(line.rstrip("\r\n"))
    return (match[2] or "").strip() if match else None


@dataclass(frozen=True, slots=True)
class _Fence:
    mark: str

    def closed_by(self, line: str) -> bool:
        match = _FENCE.match(line)
        return bool(match and match[1].startswith(self.mark) and not match[2].strip())


def fence_of(line: str) -> _Fence | None:
    """The fence that `line` opens, None if it opens none."""
    match = _FENCE.match(line.rstrip("\r\n"))
    if not match or (match[1][0] == "`" and "`" in match[2]):
        return None
    return _Fence(match[1])


def open_fence(text: str) -> str:
    """The fence that `text` opens and never closes (three or more backticks or tildes); empty for none."""
    fence: _Fence | None = None
    for line in text.splitlines():
        if fence is None:
            fence = fence_of(line)
        elif fence.closed_by(line):
            fence = None
    return fence.mark if fence is not None else ""


class _Outline:
    """The headings that are open at one line."""

    def __init__(self) -> None:
        self._levels: list[int] = []
        self._texts: list[str] = []

    def open(self, level: int, text: str) -> tuple[str, ...]:
        while self._levels and self._levels[-1] >= level:
            self._levels.pop()
            self._texts.pop()
        self._levels.append(level)
        self._texts.append(text)
        return tuple(self._texts)


def blocks_of(text: str) -> Iterator[Block]:
    """Blocks in order, with the heading path that each is under; blank lines belong to none. Linear."""
    outline = _Outline()
    path: tuple[str, ...] = ()
    pending: list[Line] = []
    fence: _Fence | None = None
    for line in lines_of(text):
        content = text[line.start : line.end].rstrip("\r\n")
        if fence:
            pending.append(line)
            if fence.closed_by(content):
                yield Block(tuple(pending), path)
                pending, fence = [], None
            continue
        fence = fence_of(content)
        heading = None if fence else _ATX.match(content)
        if pending and (fence or heading or not content.strip()):
            yield Block(tuple(pending), path)
            pending = []
        if heading:
            path = outline.open(len(heading[1]), (heading[2] or "").strip())
            yield Block((line,), path, is_heading=True)
        elif len(pending) == 1 and _is_setext(text, pending[0], content):
            title = text[pending[0].start : pending[0].end].strip()
            path = outline.open(1 if content.lstrip().startswith("=") else 2, title)
            yield Block((pending[0], line), path, is_heading=True)
            pending = []
        elif content.strip():
            pending.append(line)
    if pending:
        yield Block(tuple(pending), path)


def _is_setext(text: str, above: Line, content: str) -> bool:
    return bool(_SETEXT.match(content)) and not _NOT_SETEXT.match(text[above.start : above.end])


def items_of(block: Block, text: str) -> Iterator[tuple[Line, ...]]:
    """The list items, table rows or quoted lines of a block, each with the lines that continue it."""
    item: list[Line] = []
    for line in block.lines:
        if item and _ITEM.match(text, line.start, line.end):
            yield tuple(item)
            item = []
        item.append(line)
    if item:
        yield tuple(item)
