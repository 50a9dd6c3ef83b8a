"""A text with everything hidden that is not running prose: code, addresses, targets of links, markup (N1).

Here: one pass that keeps every offset, and the short code spans apart, because people write names in them. Not here:
what names are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import regex  # type: ignore[import-untyped]

from kos_assets.domain.markdown_lines import heading_text
from kos_assets.domain.prose import code_spans

HIDDEN: Final = "\N{OBJECT REPLACEMENT CHARACTER}"
"""Stands for each hidden character: neither a letter nor a blank, so no name and no run reaches across it."""

_FENCE = regex.compile(r"`{3,}|~{3,}")
_LONGEST_SPAN: Final = 40
_MARKUP = regex.compile(
    r"!?\[\[[^\[\]\n]*\]\]|<[^<>\n]*>|\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|(?:(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,15}://|www\.)[^\s<>|]+|"
    r"%%.*?%%|\$[^$\n]{1,200}\$|\{\{[^{}]*\}\}|(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+-]++@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+",
    regex.IGNORECASE | regex.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Prose:
    """`text` is as long as the original; `code` are short inline code spans; `headings` are offsets of heading
    lines."""

    text: str
    code: tuple[str, ...]
    headings: tuple[tuple[int, int], ...]


def prose_of(text: str) -> Prose:
    """The same text with code blocks, code spans, links' targets, addresses, comments and templates hidden. Linear."""
    parts: list[str] = []
    code: list[str] = []
    headings: list[tuple[int, int]] = []
    position, fence = 0, ""
    for line in text.splitlines(keepends=True):
        marks = _marks(line)
        if fence or marks:
            parts.append(_hidden(line))
            fence = marks if not fence else "" if marks.startswith(fence) else fence
        else:
            parts.append(_without_spans(line, code))
            if heading_text(line.rstrip("\r\n")) is not None:
                headings.append((position, position + len(line)))
        position += len(line)
    masked = _MARKUP.sub(lambda match: _hidden(match.group()), "".join(parts))
    return Prose(masked, tuple(code), tuple(headings))


def _marks(line: str) -> str:
    stripped = line.lstrip(" \t>-*+")
    if not stripped.startswith(("```", "~~~")):
        return ""
    found = _FENCE.match(stripped)
    return found.group() if found and (found.group()[0] == "~" or "`" not in stripped[found.end() :]) else ""


def _without_spans(line: str, code: list[str]) -> str:
    if "`" not in line:
        return line
    for start, end in code_spans(line):
        span = line[start:end].strip("`").strip()
        if 0 < len(span) <= _LONGEST_SPAN:
            code.append(span)
        line = line[:start] + _hidden(line[start:end]) + line[end:]
    return line


def _hidden(text: str) -> str:
    body = text.rstrip("\r\n")
    if "\n" in body:
        return "\n".join(HIDDEN * len(part) for part in text.split("\n"))
    return HIDDEN * len(body) + text[len(body) :]
