"""Lines of todo.txt as tasks: priority, dates, +project, @context, key:value.

Here: one line and a whole text. Not here: which files these are (places.py) or how they become notes (source.py).
The format: https://github.com/todotxt/todo.txt
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from kos_assets.writers.todos.task import (
    HIGH,
    HIGHEST,
    MEDIUM,
    NORMAL,
    Found,
    Left,
    Task,
    day_of,
    hashtag,
    hashtags_in,
    one_line,
)

_DAY = re.compile(r"(\d{4}-\d\d-\d\d)(?:[ \t]+|\Z)")
_PRIORITY = re.compile(r"\(([A-Z])\)[ \t]+")
_LETTER = re.compile(r"[A-Z]")
_REPEAT = re.compile(r"(\+?)([1-9]\d{0,3})([dwmyb])")
_UNITS: Final = {"d": "day", "w": "week", "m": "month", "y": "year", "b": "weekday"}
_DATES: Final = {"due": "due", "t": "start", "scheduled": "scheduled"}
_LEVELS: Final = {"": NORMAL, "A": HIGHEST, "B": HIGH}
_OWN_MARKS: Final = 3  # letters that a mark of their own stands for: A, B, C


def parse(text: str) -> Iterator[Found]:
    """The tasks of a todo.txt with LF line ends, one a line. Blank lines are passed over. Never raises."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            task = parse_line(line, number)
            yield task or Left(number, "no_text", "the task has no text", "write one", counts=False)


def parse_line(line: str, number: int) -> Task | None:
    """One line; None where it says nothing. `due:`, `t:` (not before), `scheduled:`, `rec:` and `pri:` become fields;
    +projects, @contexts and other key:value pairs stay in the text. The first project is the task's; contexts become
    tags, never people: `@phone` is a place to work at, not a name."""
    line = one_line(line)
    complete = line == "x" or line.startswith("x ")
    rest = line[2:] if complete else line
    mark = _PRIORITY.match(rest)
    days, rest = _leading_days(rest[mark.end() :] if mark else rest, 2 if complete else 1)
    words = _Words(letter=mark.group(1) if mark else "")
    for word in rest.split():
        words.take(word)
    if not words.kept:
        return None
    text = " ".join(words.kept)
    return Task(
        text,
        number,
        status="x" if complete else " ",
        state="done" if complete else "open",
        key=str(number),
        project=next((word[1:] for word in words.kept if len(word) > 1 and word[0] == "+"), ""),
        priority=_LEVELS.get(words.letter, MEDIUM),
        rank=words.letter,
        due=words.dates.get("due"),
        scheduled=words.dates.get("scheduled"),
        start=words.dates.get("start"),
        created=days[-1] if len(days) > complete else None,
        done=days[0] if complete and days else None,
        repeat=words.repeat,
        tags=hashtags_in(text),
        contexts=tuple(filter(None, (hashtag(word) for word in words.kept if word[0] == "@"))),
        extra=(("pri", words.letter),) if words.letter > "ABC"[_OWN_MARKS - 1] else (),
    )


@dataclass
class _Words:
    """The words of a line: what is a field of its own, and what stays in the text."""

    letter: str
    repeat: str = ""
    dates: dict[str, date] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)

    def take(self, word: str) -> None:
        key, _, value = word.partition(":")
        name = _DATES.get(key, "")
        day = day_of(value) if name and name not in self.dates else None
        if day is not None:
            self.dates[name] = day
        elif key == "rec" and not self.repeat and _REPEAT.fullmatch(value):
            self.repeat = _repeat(value)
        elif key == "pri" and not self.letter and _LETTER.fullmatch(value):
            self.letter = value
        else:
            self.kept.append(word)


def _leading_days(text: str, most: int) -> tuple[list[date], str]:
    days: list[date] = []
    while len(days) < most and (found := _DAY.match(text)):
        day = day_of(found.group(1))
        if day is None:
            break
        days.append(day)
        text = text[found.end() :]
    return days, text


def _repeat(value: str) -> str:
    """`rec:2w` as words; without a plus the next one counts from the day that this one is done."""
    found = _REPEAT.fullmatch(value)
    if found is None:
        return ""
    strict, count, unit = found.groups()
    every = f"every {_UNITS[unit]}" if count == "1" else f"every {count} {_UNITS[unit]}s"
    return every if strict else f"{every} when done"
