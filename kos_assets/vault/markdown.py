"""The structure of a Markdown text: headings, links, tags, tasks (V3), by one pass over its lines.

Here: what is written where. Not here: frontmatter, titles, what a link resolves to. A line scanner is used because
wikilinks, tags, tasks and `%%` comments are no CommonMark, and because its time is linear in the text whatever the text
is (a 2.3 MB note of 26,238 lines takes well under a second). Known and left out: fenced and indented code, code spans,
`%%` and HTML comments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import unquote

from kos_assets.domain.prose import code_spans

LinkKind = Literal["wikilink", "embed", "markdown"]
TaskState = Literal["open", "done", "cancelled"]
_TASK_STATES: dict[str, TaskState] = {"x": "done", "X": "done", "-": "cancelled"}


@dataclass(frozen=True, slots=True)
class Link:
    """One link inside the vault. `target` is a note's name or path (empty: this note); `heading`/`block` as written."""

    kind: LinkKind
    target: str
    heading: str | None
    block: str | None
    alias: str | None
    line: int


@dataclass(frozen=True, slots=True)
class Heading:
    """`text` is as written, without marks and closing #. `lines` is 2 for an underlined heading."""

    level: int
    text: str
    line: int
    lines: int = 1
    opening: bool = False  # nothing but blank lines, comments, images, tags and links stands above it


@dataclass(frozen=True, slots=True)
class Task:
    """A checkbox line. `status` is the character in the box (space: open, x: done, others by the person's own use)."""

    status: str
    text: str
    line: int

    @property
    def state(self) -> TaskState:
        """`x` is done, `-` cancelled; every other mark is a task that is not finished, whatever it means to people."""
        return _TASK_STATES.get(self.status, "open")


@dataclass(slots=True)
class Structure:
    """What scan() found, in the order of the text. `tags` are without #, first spelling kept; `blocks` without ^.

    `conflicts` are the lines where a conflict begins that a merge left in the text.
    """

    headings: list[Heading] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    conflicts: list[int] = field(default_factory=list)


_FENCE = re.compile(r"(`{3,})[^`]*\Z|(~{3,})")
_LIST = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]|\Z)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?\Z")
_CLOSING = re.compile(r"(?:^|[ \t])#+\Z")
_TASK = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]{1,4}\[(.)\](?:[ \t]+(.*))?\Z")
_BLOCK_ID = re.compile(r"(?:^|(?<=\s))\^([A-Za-z0-9-]+)\s*\Z")
_WIKI = re.compile(r"!?\[\[([^\[\]\n]+)\]\]")
_INLINE = re.compile(
    r"(!?)\[([^\[\]\n]*)\]\([ \t]{0,4}(?:<([^<>\n]*)>|([^\s()<>\[\]]*(?:\([^\s()<>\[\]]*\)[^\s()<>\[\]]*)*))"
    r"(?:[ \t]{1,4}(?:\"[^\"\n]*\"|'[^'\n]*'))?[ \t]{0,4}\)"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_TAG = re.compile(r"(?:^|(?<=[\s>]))#([^\s#!@$%^&*(),.?\":{}|<>\[\]'’“”`;=+~\\，。、；：！？（）【】《》「」]+)")
_HTML_TAG = re.compile(r"<[^<>]*>")
_WORDS = re.compile(r"\w")
_CLOSERS = {"%%": "%%", "<!--": "-->"}
_MARKS = re.compile("%%|<!--|-->")
_TAB = 4
_LONGEST_ID = 200


class _Scanner:
    """The state between lines."""

    def __init__(self, text: str) -> None:
        self.found = Structure()
        self.fence = ""
        self.fence_quoted = False
        self.closer = ""
        self.in_list = False
        self.after_blank = True
        self.paragraph: tuple[int, str] | None = None  # a one-line paragraph that an underline would make a heading
        self.prose: int | None = None  # the first line that says something, above all headings
        self.seen_tags: set[str] = set()
        self.conflict = 0  # the line where the first side of a conflict begins
        self.last_closer = {closer: _line_index(text, text.rfind(closer)) for closer in _CLOSERS.values()}

    def line(self, index: int, number: int, raw: str) -> None:
        body = raw.lstrip()
        quoted = body[:1] == ">"
        if quoted:
            body = body.lstrip("> \t")
        if self.fence:
            if self._still_fenced(body, quoted):
                return
        elif not self.closer and self._opens_code(raw, body, quoted):
            return
        if raw[0] in "<>" and raw[1:7] == raw[0] * 6:
            self._conflict(number, raw)
        shown = self._visible(index, raw) if self.closer or "`" in raw or "%%" in raw or "<!--" in raw else raw
        if not shown.strip():
            self.after_blank, self.paragraph = not body, None
            return
        if not self._heading(number, raw, shown, quoted):
            self._flow(number, raw, body, quoted)
        self._inline(number, raw, shown)
        self.after_blank = False

    def _conflict(self, number: int, raw: str) -> None:
        if raw[0] == "<":
            self.conflict = number
        elif self.conflict:
            self.found.conflicts.append(self.conflict)
            self.conflict = 0

    def _still_fenced(self, body: str, quoted: bool) -> bool:
        if self.fence_quoted and not quoted:
            self.fence = ""  # the quote that held the fence ended
            return False
        mark = self.fence
        if body.startswith(mark) and not body.strip().strip(mark[0]):
            self.fence = ""
        self.after_blank, self.paragraph = False, None
        return True

    def _opens_code(self, raw: str, body: str, quoted: bool) -> bool:
        """Whether the line opens a fence, or is indented code (which needs a blank line above and no list around)."""
        indent = raw[: len(raw) - len(raw.lstrip(" \t"))]
        deep = "\t" in indent or len(indent) >= _TAB
        if deep and body and self.after_blank and not self.in_list:
            return True
        if body[:3] not in ("```", "~~~"):
            return False
        match = _FENCE.match(body)
        if match is None:
            return False
        self.fence, self.fence_quoted = match.group(1) or match.group(2), quoted
        self.prose = self.prose or -1
        return True

    def _visible(self, index: int, raw: str) -> str:
        """The line with code spans and comments blanked out, same length."""
        start = 0
        if self.closer:
            end = raw.find(self.closer)
            if end < 0:
                return ""
            start, self.closer = end + len(self.closer), ""
        shown = " " * start + raw[start:]
        if "`" in shown:
            shown = _without_code_spans(shown)
        if "%%" in shown or "<!--" in shown:
            shown = self._without_comments(index, shown)
        return shown

    def _without_comments(self, index: int, shown: str) -> str:
        """Comments blanked out, same length. A mark that opens and is closed nowhere below is text."""
        marks = [(match.start(), match.group()) for match in _MARKS.finditer(shown)]
        last_here = {mark: start for start, mark in marks}
        parts: list[str] = []
        at = 0
        for start, mark in marks:
            if self.closer:
                if mark == self.closer:
                    self.closer = ""
                    parts.append(" " * (start + len(mark) - at))
                    at = start + len(mark)
                continue
            closer = _CLOSERS.get(mark)
            if closer and (last_here.get(closer, -1) > start or self.last_closer[closer] > index):
                parts.append(shown[at:start])
                at, self.closer = start, closer
        return "".join(parts) + ("" if self.closer else shown[at:])

    def _heading(self, number: int, raw: str, shown: str, quoted: bool) -> bool:
        match = _HEADING.match(raw) if "#" in raw[:4] and "#" in shown[:4] else None
        if match:
            text = _CLOSING.sub("", (match.group(2) or "").rstrip()).strip()
            self._add_heading(len(match.group(1)), text, number, 1)
            return True
        above, self.paragraph = self.paragraph, None
        stripped = raw.strip()
        if above and not quoted and len(stripped) > 1 and stripped[0] in "=-" and not stripped.strip(stripped[0]):
            self._add_heading(1 if stripped[0] == "=" else 2, above[1], above[0], 2)
            return True
        return False

    def _add_heading(self, level: int, text: str, line: int, lines: int) -> None:
        opening = not self.found.headings and self.prose in (None, line)
        self.found.headings.append(Heading(level, text, line, lines, opening))
        self.in_list, self.paragraph = False, None

    def _flow(self, number: int, raw: str, body: str, quoted: bool) -> None:
        """Lists, tasks and paragraphs."""
        item = body[:1] in "-*+0123456789" and _LIST.match(body)
        if item:
            self.in_list = True
            task = _TASK.match(body) if "[" in body else None
            if task:
                self.found.tasks.append(Task(task.group(1), (task.group(2) or "").strip(), number))
        elif raw[:1] not in " \t" and self.after_blank:
            self.in_list = False
        if self.after_blank and not item and not quoted and not self.in_list and body[:1] not in "|<":
            self.paragraph = (number, body.strip())
        if self.prose is None and not self.found.headings:
            bare = _INLINE.sub("", _WIKI.sub("", _HTML_TAG.sub("", raw)))
            if _WORDS.search(_TAG.sub("", _INLINE.sub("", bare))):  # twice: a badge is an image in a link
                self.prose = number

    def _inline(self, number: int, raw: str, shown: str) -> None:
        if "[" in shown:
            if "[[" in shown:
                shown = self._wikilinks(number, raw, shown)
            if "](" in shown:
                shown = self._markdown_links(number, raw, shown)
        if "#" in shown:
            for match in _TAG.finditer(shown):
                self._tag(match.group(1))
        if "^" in shown:
            block = _BLOCK_ID.search(shown, max(0, len(shown) - _LONGEST_ID))
            if block:
                self.found.blocks.append(block.group(1))

    def _tag(self, text: str) -> None:
        tag = text.strip("/")
        if not tag or not tag.strip("0123456789/-_") or tag.casefold() in self.seen_tags:
            return
        self.seen_tags.add(tag.casefold())
        self.found.tags.append(tag)

    def _wikilinks(self, number: int, raw: str, shown: str) -> str:
        for match in _WIKI.finditer(shown):
            if match.group(1).isspace():  # code
                continue
            inner = raw[match.start(1) : match.end(1)]
            kind: LinkKind = "embed" if match.group().startswith("!") else "wikilink"
            link = wikilink(inner, kind, number)
            if link:
                self.found.links.append(link)
        return _WIKI.sub(_masked, shown)

    def _markdown_links(self, number: int, raw: str, shown: str) -> str:
        for match in _INLINE.finditer(shown):
            group = 3 if match.group(3) is not None else 4
            target = unquote(raw[match.start(group) : match.end(group)].strip())
            if not target or _SCHEME.match(target):
                continue
            path, _, fragment = target.partition("#")
            heading, block = _fragment(fragment)
            alias = raw[match.start(2) : match.end(2)].strip() or None
            kind: LinkKind = "embed" if match.group(1) else "markdown"
            self.found.links.append(Link(kind, path, heading, block, alias, number))
        return _INLINE.sub(_masked, shown)


def scan(text: str, first_line: int = 1) -> Structure:
    """The structure of `text` (LF line ends). Line numbers are 1-based and start at `first_line`. Linear time."""
    scanner = _Scanner(text)
    step = scanner.line
    for index, raw in enumerate(text.split("\n")):
        if raw and not raw.isspace():
            step(index, first_line + index, raw)
        elif not scanner.fence:
            scanner.after_blank, scanner.paragraph = True, None
    return scanner.found


def wikilink(inner: str, kind: LinkKind, line: int) -> Link | None:
    """The link in `[[inner]]`: `target#heading|alias`, `target#^block`; `\\|` as tables write it."""
    target, bar, alias = inner.partition("|")
    if bar and target.endswith("\\"):
        target = target[:-1]
    name, _, fragment = target.partition("#")
    heading, block = _fragment(fragment)
    name = name.strip()
    if not name and heading is None and block is None:
        return None
    return Link(kind, name, heading, block, alias.strip() or None, line)


def _fragment(text: str) -> tuple[str | None, str | None]:
    text = text.strip()
    last = text.rpartition("#")[2].strip()
    if last.startswith("^"):
        return None, last[1:] or None
    return text or None, None


def plain(text: str) -> str:
    """A heading or name without markup: links become what they show, marks go, whitespace is folded."""
    if "[" in text:
        text = _WIKI.sub(lambda match: match.group(1).rpartition("|")[2], text)
        text = _INLINE.sub(lambda match: match.group(2), text)
    for mark in ("**", "__", "~~", "==", "`"):
        if text.count(mark) > 1:
            text = text.replace(mark, "")
    return " ".join(text.split())


def without_links(line: str) -> str:
    """The line with its links masked, same length."""
    return _INLINE.sub(_masked, _WIKI.sub(_masked, line)) if "[" in line else line


def _without_code_spans(line: str) -> str:
    """Code spans blanked out, same length."""
    parts: list[str] = []
    at = 0
    for start, end in code_spans(line):
        parts.append(line[at:start] + " " * (end - start))
        at = end
    return "".join(parts) + line[at:]


def _masked(match: re.Match[str]) -> str:
    return "|" * len(match.group())  # a character that neither begins nor continues a tag


def _line_index(text: str, position: int) -> int:
    return text.count("\n", 0, position) if position >= 0 else -1
