"""Task lines of Markdown notes as Obsidian Tasks writes them: emoji fields, Dataview fields, nesting, own statuses.

Here: one task's text and a whole note. Not here: which notes are read (places.py). Fields are read from the end of a
line, as the plugin does; what stands before text is text. The fields are those of https://publish.obsidian.md/tasks
(Reference: Tasks Emoji Format, Dataview Format).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from kos_assets.domain.frame import cut_recalled
from kos_assets.vault import frontmatter, markdown
from kos_assets.writers.todos.task import (
    HIGH,
    HIGHEST,
    LOW,
    LOWEST,
    MEDIUM,
    NORMAL,
    PRIORITY_MARKS,
    Found,
    Left,
    State,
    Task,
    day_of,
    hashtags_in,
    one_line,
)

_BOX = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]{1,4}\[(.)\](?:[ \t]|\Z)")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]|\Z)")
_BLOCK_ID = re.compile(r"(?:\A|[ \t])\^[A-Za-z0-9-]+\Z")
_TAG_WORD = re.compile(r"#[^\s#]+")
_DAYS: Final = {
    "🛫": "start", "➕": "created", "⏳": "scheduled", "⌛": "scheduled", "📅": "due", "📆": "due", "🗓": "due",
    "✅": "done", "❌": "cancelled",
}  # fmt: skip
_OTHERS: Final = {"🔁": "repeat", "🏁": "on_completion", "🆔": "ident", "⛔": "depends"}
_SHAPES: Final = {
    "repeat": re.compile(r"[A-Za-z0-9, !]+"),
    "on_completion": re.compile(r"[A-Za-z]+"),
    "ident": re.compile(r"[A-Za-z0-9_-]+"),
    "depends": re.compile(r"[A-Za-z0-9_-]+(?:[ \t]*,[ \t]*[A-Za-z0-9_-]+)*"),
}
_LEVELS: Final = {mark: level for level, mark in PRIORITY_MARKS.items()}
_WORDS: Final = {"highest": HIGHEST, "high": HIGH, "medium": MEDIUM, "low": LOW, "lowest": LOWEST}
_DATAVIEW: Final = {
    "priority": "priority", "start": "start", "created": "created", "scheduled": "scheduled", "due": "due",
    "completion": "done", "cancelled": "cancelled", "repeat": "repeat", "oncompletion": "on_completion",
    "dependson": "depends", "id": "ident",
}  # fmt: skip
_STATES: Final[dict[str, State]] = {"x": "done", "X": "done", "-": "cancelled"}
_VARIANT: Final = "\ufe0f"
_MOST_FIELDS: Final = 40
_HEAD: Final = frontmatter.MAX_BYTES + 1024
_TAB: Final = 4


def parse(text: str) -> Iterator[Found]:
    """The tasks of a note (LF line ends, frontmatter and all), in the order of their lines. Never raises.

    A checkbox in code, in a comment or in the frontmatter is no task, one without words neither: both are Left.
    """
    text, _ = cut_recalled(text)
    head = text[:_HEAD].encode("utf-8", "replace")
    above = head[: frontmatter.parse(head).body_start].count(b"\n")
    body = text.split("\n", above)[above] if above else text
    real = {task.line: task for task in markdown.scan(body, above + 1).tasks}
    tree = _Tree()
    for number, raw in enumerate(text.split("\n"), 1):
        found = real.get(number)
        parent = tree.line(raw, number, is_task=found is not None)
        if found is None:
            if _is_box(raw):
                reason = "the checkbox stands in code, a comment or the properties"
                yield Left(number, "not_a_task", reason, "nothing needs doing", counts=False)
        elif not found.text.strip():
            yield Left(number, "no_text", "the task has no text", "write one", counts=False)
        elif not one_line(found.text):
            yield Left(number, "recalled", "it is what was recalled from here", "nothing needs doing", counts=False)
        else:
            yield parse_task(found.text, number, found.status, parent=parent)


def parse_task(text: str, number: int, status: str, *, parent: str = "") -> Task:
    """One task from what stands behind its box. Never raises: a field with a wrong value stays in the text."""
    fields = _Fields(_BLOCK_ID.sub("", one_line(text)))
    fields.read()
    words = " ".join([fields.text, *reversed(fields.tags)]).strip()
    days = fields.days
    return Task(
        words, number, status=status, state=_STATES.get(status, "open"), key=str(number), parent=parent,
        priority=fields.priority, due=days.get("due"), scheduled=days.get("scheduled"), start=days.get("start"),
        created=days.get("created"), done=days.get("done"), cancelled=days.get("cancelled"),
        repeat=fields.others.get("repeat", ""), ident=fields.others.get("ident", ""),
        on_completion=fields.others.get("on_completion", ""), depends=fields.depends, tags=hashtags_in(words),
    )  # fmt: skip


@dataclass
class _Fields:
    """A line that loses its fields from the end."""

    text: str
    tags: list[str] = field(default_factory=list)
    days: dict[str, date] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)
    depends: tuple[str, ...] = ()
    priority: int = NORMAL

    def read(self) -> None:
        for _ in range(_MOST_FIELDS):
            self.text = self.text.rstrip(f" \t{_VARIANT}")
            if not (self._level() or self._dataview() or self._emoji() or self._tag()):
                break

    def _level(self) -> bool:
        level = _LEVELS.get(self.text[-1:])
        if level is None or self.priority != NORMAL:
            return False
        self.text, self.priority = self.text[:-1], level
        return True

    def _tag(self) -> bool:
        head, _, last = self.text.rpartition(" ")
        if not _TAG_WORD.fullmatch(last):
            return False
        self.text = head
        self.tags.append(last)
        return True

    def _emoji(self) -> bool:
        at = max((self.text.rfind(mark) for mark in (*_DAYS, *_OTHERS)), default=-1)
        if at < 0:
            return False
        mark, value = self.text[at], self.text[at + 1 :].strip(f" \t{_VARIANT}")
        if not self._set(_DAYS.get(mark) or _OTHERS[mark], value):
            return False
        self.text = self.text[:at]
        return True

    def _dataview(self) -> bool:
        bare = self.text.rstrip(", \t")
        pair = {"]": "[", ")": "("}.get(bare[-1:])
        at = bare.rfind(pair) if pair else -1
        if at < 0:
            return False
        key, colons, value = bare[at + 1 : -1].partition("::")
        name = _DATAVIEW.get(key.strip().casefold()) if colons else None
        if name is None or not self._set(name, value.strip()):
            return False
        self.text = bare[:at]
        return True

    def _set(self, name: str, value: str) -> bool:
        """Whether the value fits the field, which may be there once."""
        if name == "priority":
            level = _WORDS.get(value.casefold())
            if level is None or self.priority != NORMAL:
                return False
            self.priority = level
            return True
        if name in self.days or name in self.others:
            return False
        if name in _SHAPES:
            if not _SHAPES[name].fullmatch(value):
                return False
            self.others[name] = value
            if name == "depends":
                self.depends = tuple(part.strip() for part in value.split(","))
            return True
        day = day_of(value)
        if day is None:
            return False
        self.days[name] = day
        return True


@dataclass
class _Tree:
    """Which task a line lies under: the nearest one above that is indented less, in the same list and quote."""

    above: list[tuple[int, str]] = field(default_factory=list)
    quotes: int = 0

    def line(self, raw: str, number: int, *, is_task: bool) -> str:
        """The key of the task above, empty for none."""
        body = raw.lstrip().lstrip("> \t")
        if not body:
            return ""
        head = raw[: len(raw) - len(body)]
        indent = len(head.rpartition(">")[2].expandtabs(_TAB))
        if head.count(">") != self.quotes:
            self.above, self.quotes = [], head.count(">")
        if not is_task and not _ITEM.match(body):
            if indent <= 1:
                self.above = []
            return ""
        while self.above and self.above[-1][0] >= indent:
            self.above.pop()
        parent = self.above[-1][1] if self.above else ""
        if is_task:
            self.above.append((indent, str(number)))
        return parent


def _is_box(raw: str) -> bool:
    return "[" in raw and _BOX.match(raw.lstrip().lstrip("> \t")) is not None
