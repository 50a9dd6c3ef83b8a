"""What of a Markdown text is said to a reader: without queries, template code, comments and marks of an editor (V3).

Here: one linear pass over lines, for texts that are embedded and indexed. Not here: links, tags and tasks (the vault
reads those), or the stored content, which keeps everything. Other code than queries is text: people search for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_MARKED: Final = re.compile(r"`|~~~|%%|<%|<!--|\^|\[!|\{\{query|\{\{renderer|#\+BEGIN_QUERY", re.IGNORECASE)
_FENCE: Final = re.compile(
    r"[ \t]*(>[> \t]*)?(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?:(`{3,})([^`\r\n]*)|(~{3,})([^\r\n]*))[\r\n]*\Z"
)
_QUOTE: Final = re.compile(r"[ \t]*>")
_QUERY_FENCES: Final = frozenset(("base", "button", "compressed-json", "query", "tasks", "todoist", "tracker"))
_QUERY_FAMILIES: Final = ("dataview", "datacore", "meta-bind")
_CLOSERS: Final = {"<%": "%>", "%%": "%%", "<!--": "-->", "{{query": "}}", "{{renderer": "}}"}
_ONE_LINE: Final = frozenset(("}}",))
_TOKEN: Final = re.compile(r"`+|<%|%%|<!--|\{\{query|\{\{renderer", re.IGNORECASE)
_TICKS: Final = re.compile(r"`+")
_INLINE_QUERY: Final = re.compile(r"`+\$?= ?")
_CALLOUT: Final = re.compile(r"([ \t]*(?:[-*+][ \t]+)?>[> \t]*)\[![^\[\]\r\n]{1,80}\][+-]?[ \t]*")
_BLOCK_ID: Final = re.compile(r"(?:(?<=[ \t])|(?<![^\r\n]))\^[A-Za-z0-9-]+[ \t]*(?=[\r\n]*\Z)")
_EMPTY: Final = re.compile(r"[ \t>]*(?:(?:#{1,6}|[-*+]|\d{1,9}[.)])[ \t]*)?(?:\[.\][ \t]*)?[\r\n]*\Z")
_BLANKS: Final = re.compile(r"\n(?:[ \t]*\n){3,}")


def is_marked(text: str) -> bool:
    """Whether anything in `text` could be left out; False for most texts, quickly."""
    return _MARKED.search(text) is not None


def code_spans(line: str) -> list[tuple[int, int]]:
    """Where the code spans of a line lie: a run of backticks closes at the next run of the same length. Linear."""
    runs = [match.span() for match in _TICKS.finditer(line)]
    later: dict[int, list[int]] = {}
    for place in range(len(runs) - 1, -1, -1):
        later.setdefault(runs[place][1] - runs[place][0], []).append(place)
    found: list[tuple[int, int]] = []
    place = 0
    while place < len(runs):
        start, end = runs[place]
        same = later[end - start]
        while same and same[-1] <= place:
            same.pop()
        if same:
            place = same[-1]
            found.append((start, runs[place][1]))
        place += 1
    return found


def spoken(text: str) -> str:
    """`text` without the lines and parts that say nothing to a reader. Linear.

    Left out: fences of Dataview, Tasks and other queries (in quotes and lists too), inline queries, Templater
    (`<% … %>`), comments (`%% … %%`, `<!-- … -->`), Logseq's queries, block ids (`^id` at a line's end), the mark of a
    callout (`[!note]-`; its title stays). Code spans and other fences stay as they are; a mark that is never closed is
    text.
    """
    return "".join(line for line in _spoken_lines(text) if line is not None) if is_marked(text) else text


def spoken_in_place(text: str) -> str:
    """The same with an empty line for each line that is left out, so that line numbers stay those of `text`."""
    if not is_marked(text):
        return text
    originals = _LINE.findall(text)
    kept = zip(originals, _spoken_lines(text), strict=True)
    return "".join(original[len(original.rstrip("\r\n")) :] if line is None else line for original, line in kept)


def without_gaps(text: str) -> str:
    """Runs of more than two blank lines folded to one: what left-out lines leave behind."""
    return _BLANKS.sub("\n\n", text)


def _spoken_lines(text: str) -> Iterator[str | None]:
    """Each line of `text` as it is said, None for one that is not."""
    reader = _Reader(text)
    for number, line in enumerate(reader.lines):
        yield reader.line(number, line)


class _Reader:
    """The state between lines: an open fence, or a comment that goes on."""

    def __init__(self, text: str) -> None:
        self.lines: list[str] = _LINE.findall(text)
        self.fence = ""
        self.fence_quoted = False
        self.dropping = False
        self.closer = ""
        self.last: dict[str, int] = {}
        for number, line in enumerate(self.lines):
            for closer in ("%>", "%%", "-->"):
                if closer in line:
                    self.last[closer] = number

    def line(self, number: int, line: str) -> str | None:
        if self.fence and not (self.fence_quoted and not _QUOTE.match(line)):
            kept = None if self.dropping else line
            self._close(line)
            return kept
        self.fence = ""
        if not self.closer:
            if self._opens(line):
                return None if self.dropping else line
            if not _MARKED.search(line):
                return line
        return self._said(number, line)

    def _close(self, line: str) -> None:
        rest = (line.lstrip("> \t") if self.fence_quoted else line.lstrip()).rstrip()
        mark = self.fence
        if mark == "#":
            if rest.upper().startswith("#+END_QUERY"):
                self.fence = ""
        elif rest.startswith(mark) and not rest.strip(mark[0]):
            self.fence = ""

    def _opens(self, line: str) -> bool:
        match = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if match is None:
            if "#+" in line and line.lstrip("-*> \t").upper().startswith("#+BEGIN_QUERY"):
                self.fence, self.fence_quoted, self.dropping = "#", False, True
                return True
            return False
        words = (match[3] if match[2] else match[5]).split()
        language = words[0].strip("{}").lower() if words else ""
        self.fence, self.fence_quoted = match[2] or match[4], bool(match[1])
        self.dropping = language in _QUERY_FENCES or language.startswith(_QUERY_FAMILIES)
        return True

    def _said(self, number: int, line: str) -> str | None:
        said = self._without_spans(number, line)
        if "[!" in said:
            said = _CALLOUT.sub(r"\1", said, count=1) if _CALLOUT.match(said) else said
        if "^" in said:
            said = _BLOCK_ID.sub("", said)
        return None if said != line and _EMPTY.match(said) else said

    def _without_spans(self, number: int, line: str) -> str:
        at = 0
        if self.closer:
            end = line.find(self.closer)
            if end < 0:
                return ""
            at, self.closer = end + len(self.closer), ""
        spans = dict(code_spans(line)) if "`" in line else {}
        parts: list[str] = []
        absent: set[str] = set()
        skip = at
        for match in _TOKEN.finditer(line, at):
            start, token = match.start(), match.group().lower()
            if start < skip:
                continue
            if token[0] == "`":
                skip = spans.get(start, match.end())
                if start in spans and _INLINE_QUERY.match(line, start):
                    parts.append(line[at:start])
                    at = skip
                continue
            closer = _CLOSERS[token]
            end = -1 if closer in absent else line.find(closer, match.end())
            if end >= 0:
                parts.append(line[at:start])
                at = skip = end + len(closer)
                continue
            absent.add(closer)
            if closer not in _ONE_LINE and self.last.get(closer, -1) > number:
                self.closer = closer
                return "".join(parts) + line[at:start] + line[len(line.rstrip("\r\n")) :]
        return "".join(parts) + line[at:]
