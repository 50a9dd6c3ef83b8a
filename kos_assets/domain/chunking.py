"""Cutting a memory's content into passages that each get a vector of their own.

Here: where to cut, and the text that is embedded for a passage. Not here: tokenizers (`count_tokens` is an argument),
vectors, the lexical terms of a passage (`tokens`), what of a text counts (`prose`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from kos_assets.domain.markdown_lines import Block, Line, blocks_of, heading_text, items_of
from kos_assets.domain.prose import spoken_in_place, without_gaps

CHUNKER_VERSION: Final = 2
MAX_TOKENS: Final = 240
"""Default size of a passage with its title and heading path; leaves room for [CLS] and [SEP] in a window of 256."""

_TARGET_SHARE: Final = 5 / 6  # neighbouring sections are merged up to this share of the budget (about 200 tokens)
_MIN_BUDGET_SHARE: Final = 1 / 2  # however long the title and path are, this share of the tokens is for text
_PREFIX_CHARS: Final = 160  # of the title, and of the heading path, that are embedded
_CHARS_PER_TOKEN: Final = 16  # a word of 10,000 characters is one [UNK] to WordPiece: bound characters too
_SENTENCE_END: Final = re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？；]")
_JOINS_PREVIOUS: Final = re.compile("[\u0300-\u036f\u200c\u200d\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]|(?<=\u200d).")
_BACKTRACK: Final = 32


@dataclass(frozen=True)
class Chunk:
    """A passage: `text` is the content from `start_line` to `end_line` (from 1, within the content), as it is said."""

    ordinal: int
    heading_path: tuple[str, ...]
    text: str
    start_line: int
    end_line: int


@dataclass(slots=True)
class _Unit:
    """Text that is not cut further: a span of the content with its size in tokens."""

    start: int
    end: int
    first_line: int
    last_line: int
    tokens: int
    path: tuple[str, ...]
    is_heading: bool = False


class _Cutter:
    """One content on its way to units; counts each line once and a part again only where a line is too long."""

    def __init__(self, content: str, title: str, max_tokens: int, count_tokens: Callable[[str], int]) -> None:
        self.content = content
        self.title = title
        self.max_tokens = max_tokens
        self.count = count_tokens
        self._budgets: dict[tuple[str, ...], int] = {}

    def size(self, text: str) -> int:
        return max(self.count(text), len(text) // _CHARS_PER_TOKEN) if text.strip() else 0

    def budget(self, path: tuple[str, ...]) -> int:
        """Tokens that are left for text under `path`."""
        if path not in self._budgets:
            left = self.max_tokens - self.count(_prefix(self.title, path))
            self._budgets[path] = max(left, int(self.max_tokens * _MIN_BUDGET_SHARE), 1)
        return self._budgets[path]

    def units(self) -> Iterator[_Unit]:
        for block in blocks_of(self.content):
            sizes = [self.size(self.content[line.start : line.end]) for line in block.lines]
            if sum(sizes) <= self.budget(block.path):
                yield self._unit(block.lines, sum(sizes), block)
            else:
                yield from self._split_block(block, dict(zip(block.lines, sizes, strict=True)))

    def _unit(self, lines: tuple[Line, ...], tokens: int, block: Block) -> _Unit:
        first, last = lines[0], lines[-1]
        return _Unit(first.start, last.end, first.number, last.number, tokens, block.path, block.is_heading)

    def _split_block(self, block: Block, sizes: dict[Line, int]) -> Iterator[_Unit]:
        budget = self.budget(block.path)
        for item in items_of(block, self.content):
            tokens = sum(sizes[line] for line in item)
            if tokens <= budget:
                yield self._unit(item, tokens, block)
                continue
            for line in item:
                if sizes[line] <= budget:
                    yield self._unit((line,), sizes[line], block)
                else:
                    yield from self._split_line(line, block, budget)

    def _split_line(self, line: Line, block: Block, budget: int) -> Iterator[_Unit]:
        start = line.start
        ends = [match.end() for match in _SENTENCE_END.finditer(self.content, line.start, line.end)]
        for end in [*ends, line.end]:
            if end <= start:
                continue
            for begin, stop, tokens in self._pieces(start, end, budget):
                yield _Unit(begin, stop, line.number, line.number, tokens, block.path, block.is_heading)
            start = end

    def _pieces(self, start: int, end: int, budget: int) -> Iterator[tuple[int, int, int]]:
        """A sentence in pieces that fit: by words where there are any, else by characters."""
        tokens = self.size(self.content[start:end])
        if tokens <= budget or end - start == 1:
            yield start, end, tokens
            return
        step = max(1, (end - start) * budget * 4 // (tokens * 5))
        while start < end:
            stop = end if start + step >= end else self._cut(start, start + step)
            size = self.size(self.content[start:stop])
            if size > budget and stop - start > 1:
                yield from self._pieces(start, stop, budget)
            else:
                yield start, stop, size
            start = stop

    def _cut(self, start: int, stop: int) -> int:
        """The best place at or before `stop`: after a space in the last third, else not inside a grapheme."""
        space = self.content.rfind(" ", start + (stop - start) * 2 // 3, stop)
        if space > start:
            return space + 1
        for place in range(stop, max(start, stop - _BACKTRACK), -1):
            if not _JOINS_PREVIOUS.match(self.content, place):
                return place
        return stop


class _Group:
    """Units that become one chunk."""

    def __init__(self, unit: _Unit) -> None:
        self.units = [unit]
        self.path = unit.path
        self.tokens = unit.tokens

    def add(self, unit: _Unit) -> None:
        self.units.append(unit)
        self.tokens += unit.tokens
        common = 0
        for mine, other in zip(self.path, unit.path, strict=False):
            if mine != other:
                break
            common += 1
        self.path = self.path[:common]

    def may_merge(self, section: list[_Unit], budget: int) -> bool:
        """A whole section may join: below the group's own heading or beside it, and together still small."""
        path = section[0].path
        if path[: len(self.path)] != self.path and path[:-1] != self.path[:-1]:
            return False
        return self.tokens + sum(unit.tokens for unit in section) <= int(budget * _TARGET_SHARE)

    def leads_to(self, unit: _Unit) -> bool:
        """Headings only, with `unit` below them: a heading never stands alone before its subsection."""
        return all(mine.is_heading for mine in self.units) and unit.path[: len(self.path)] == self.path

    def chunk(self, ordinal: int, content: str, *, gaps: bool) -> Chunk:
        first, last = self.units[0], self.units[-1]
        text = content[first.start : last.end].rstrip()
        text = without_gaps(text) if gaps else text
        return Chunk(ordinal, self.path, text, first.first_line, last.last_line)


def _sections(units: Iterator[_Unit]) -> Iterator[list[_Unit]]:
    section: list[_Unit] = []
    for unit in units:
        if unit.is_heading and section:
            yield section
            section = []
        section.append(unit)
    if section:
        yield section


def _groups(cutter: _Cutter) -> Iterator[_Group]:
    group: _Group | None = None
    for section in _sections(cutter.units()):
        budget = cutter.budget(section[0].path)
        if group and not group.may_merge(section, budget) and not group.leads_to(section[0]):
            yield group
            group = None
        for unit in section:
            if group and group.tokens + unit.tokens > budget:
                yield group
                group = None
            if group:
                group.add(unit)
            else:
                group = _Group(unit)
    if group:
        yield group


def chunk(content: str, *, title: str, max_tokens: int = MAX_TOKENS, count_tokens: Callable[[str], int]) -> list[Chunk]:
    """Passages of `content` in order; each non-blank character that is said (`prose.spoken`) is in exactly one.
    Deterministic and linear. Queries, template code and comments are in none (V3), however long they are.

    Cuts at headings, then between blocks, list items, lines, sentences, and at last between words or characters. Fenced
    code stays whole when it fits. Small neighbouring sections under one parent share a passage.

    `max_tokens`: size of a passage with its title and heading path. `count_tokens` counts without the model's special
    tokens and must be (nearly) additive over lines; it is called once a line. Empty content gives one empty chunk: the
    title carries it.
    """
    said = spoken_in_place(content)
    chunks = [
        group.chunk(ordinal, said, gaps=said is not content)
        for ordinal, group in enumerate(_groups(_Cutter(said, title, max_tokens, count_tokens)))
    ]
    return chunks or [Chunk(0, (), "", 1, 1)]


def _prefix(title: str, heading_path: tuple[str, ...]) -> str:
    path = " > ".join(part for part in heading_path if part and part != title)
    lines = [title.strip()[:_PREFIX_CHARS], path[-_PREFIX_CHARS:]]
    return "\n".join(line for line in lines if line)


def embedding_text(title: str, heading_path: tuple[str, ...], text: str) -> str:
    """What is embedded for a passage as chunk() gives it: title, heading path, and its text without its own heading.
    Title and path count for at most 160 characters each."""
    first, _, rest = text.partition("\n")
    body = rest if heading_path and heading_text(first) == heading_path[-1] else text
    return "\n".join(part for part in (_prefix(title, heading_path), body.strip()) if part)
