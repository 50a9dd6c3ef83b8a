"""A task as every format gives it, and as one line of Markdown.

Here: the value, its order among others, the words of a line and how a line is made safe. Not here: reading a format
(todotxt.py, obsidian.py, vtodo.py, taskwarrior.py) or a note of many tasks (lists.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal

from kos_assets.domain.frame import cut_recalled

State = Literal["open", "done", "cancelled"]

HIGHEST, HIGH, MEDIUM, NORMAL, LOW, LOWEST = range(6)
PRIORITY_MARKS: Final = {HIGHEST: "🔺", HIGH: "⏫", MEDIUM: "🔼", LOW: "🔽", LOWEST: "⏬"}
BOXES: Final[dict[State, str]] = {"open": " ", "done": "x", "cancelled": "-"}
LONGEST_TEXT: Final = 4000
LONGEST_DETAIL: Final = 2000
MOST_DETAILS: Final = 100

_ORDER: Final[dict[State, int]] = {"open": 0, "done": 1, "cancelled": 2}
_BRACKETS = str.maketrans("[]", "()")
_KEY = re.compile(r"[^\w-]+")
_NOT_IN_TAGS = re.compile(r"[\s#!@$%^&*(),.?\":{}|<>\[\]'’“”`;=+~\\，。、；：！？（）【】《》「」]+")
_HASHTAG = re.compile(r"(?:^|(?<=\s))#([^\s#!@$%^&*(),.?\":{}|<>\[\]'’“”`;=+~\\，。、；：！？（）【】《》「」]+)")
_ISO_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f\u200b\u2028-\u202e\u2060-\u2069\ufeff]")
_MAY_NEED_WORK = re.compile(r"  |BACKGROUND|\[")


@dataclass(frozen=True, slots=True)
class Task:
    """One task. `text` is one line and may hold #tags; `status` is the character in the box; `line` is where it
    stands in its file, from 1. `key` and `parent` tie a tree together within a list and are never shown. `rank` orders
    tasks of one priority. `tags` are shown behind the text unless they stand in it, `contexts` stand in it. `extra`
    are further facts by name, `details` further lines (notes, annotations)."""

    text: str
    line: int
    status: str = " "
    state: State = "open"
    key: str = ""
    parent: str = ""
    project: str = ""
    priority: int = NORMAL
    rank: str = ""
    due: date | None = None
    scheduled: date | None = None
    start: date | None = None
    created: date | None = None
    done: date | None = None
    cancelled: date | None = None
    repeat: str = ""
    ident: str = ""
    depends: tuple[str, ...] = ()
    on_completion: str = ""
    tags: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Left:
    """What gives no task, and why. `counts` False: left out on purpose. `line` is where it stands, from 1."""

    line: int
    code: str
    reason: str
    fix: str
    counts: bool = True


Found = Task | Left


def one_line(text: str, longest: int = LONGEST_TEXT) -> str:
    """One safe line of at most `longest` characters: recalled text is cut (W8), white space folded, controls gone."""
    if text.isprintable() and not _MAY_NEED_WORK.search(text):
        text = text.strip()
        return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"
    for _ in range(2):  # folding may join what was two harmless lines into the opening of a frame
        text = " ".join(_CONTROL.sub(" ", cut_recalled(text)[0]).split())
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def day_of(text: str) -> date | None:
    """`2026-03-04` as a day; None for anything else, also for a day that no calendar has."""
    try:
        return date.fromisoformat(text) if _ISO_DAY.fullmatch(text) else None
    except ValueError:
        return None


def hashtag(text: str) -> str:
    """A tag that Obsidian reads as one: `Home Work` is `Home-Work`. Empty where nothing is left of it."""
    tag = _NOT_IN_TAGS.sub("-", text.strip().lstrip("#@+")).strip("-/")
    return f"tag-{tag}" if tag and not tag.strip("0123456789/-_") else tag[:100]


def hashtags_in(text: str) -> tuple[str, ...]:
    """The #tags of a line, without the mark, each once."""
    found = (match.group(1).strip("/") for match in _HASHTAG.finditer(text)) if "#" in text else ()
    return tuple(dict.fromkeys(tag for tag in found if tag.strip("0123456789/-_")))


def order(task: Task) -> tuple[int, date, int, str, str, str, str, tuple[str, ...], int]:
    """Open before done before cancelled; then by due, priority and text. Nothing of the clock; the place in the file
    only decides between tasks that look the same."""
    created = "" if task.created is None else task.created.isoformat()
    return (
        _ORDER[task.state], task.due or date.max, task.priority, task.rank or "~", task.text.casefold(), task.text,
        created, task.details, task.line,
    )  # fmt: skip


def markdown(task: Task) -> str:
    """`- [ ] text 📅 2026-03-04 ⏫`: a task as Obsidian Tasks reads it (fields last, one line)."""
    words = [task.text or "(no text)"]
    words += [f"#{tag}" for tag in task.tags if tag not in hashtags_in(task.text)]
    words += [f"[{_KEY.sub('_', name)}:: {one_line(value, 300).translate(_BRACKETS)}]" for name, value in task.extra]
    words += [f"🆔 {task.ident}"] if task.ident else []
    words += [f"⛔ {','.join(task.depends)}"] if task.depends else []
    words += [f"🔁 {task.repeat}"] if task.repeat else []
    words += [f"🏁 {task.on_completion}"] if task.on_completion else []
    days = (
        ("➕", task.created),
        ("🛫", task.start),
        ("⏳", task.scheduled),
        ("📅", task.due),
        ("✅", task.done),
        ("❌", task.cancelled),
    )
    words += [f"{mark} {day.isoformat()}" for mark, day in days if day is not None]
    words += [PRIORITY_MARKS[task.priority]] if task.priority in PRIORITY_MARKS else []
    return f"- [{task.status}] {harmless(' '.join(words))}"


def harmless(line: str) -> str:
    """The line with comment marks that it opens and does not close made plain: they would hide the lines below."""
    if line.count("%%") % 2 or "%%%" in line:
        line = line.replace("%%", "%\\%")
    if "<!--" in line or "-->" in line:
        line = line.replace("<!--", "<\\!--").replace("-->", "--\\>")
    return line
