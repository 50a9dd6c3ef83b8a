"""A list of tasks as one item: the tree, its order, the counts, the Markdown (W4).

Here: what the note of a list looks like. Not here: which tasks make a list (source.py) or the file (writers/note.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kos_assets.writers.contract import Item, Value
from kos_assets.writers.todos.task import State, Task, harmless, markdown, order

MOST_BYTES: Final = 12 * 2**20
"""Of a note's tasks; the vault reads notes up to 16 MiB."""

_MOST_TAGS: Final = 100
_MOST_PEOPLE: Final = 200
_DEEPEST: Final = 20
_INDENT: Final = "    "
_SECTIONS: Final[tuple[tuple[State, str], ...]] = (("open", "Open"), ("done", "Done"), ("cancelled", "Cancelled"))


@dataclass(frozen=True)
class ListOf:
    """Which list: `external_id` is its identity, `name` what people call it, `origin` the file that it stands in."""

    external_id: str
    name: str
    origin: str
    form: str
    folder: str = ""
    project: str = ""
    encoding: str = ""


def item_of(which: ListOf, tasks: Sequence[Task]) -> tuple[Item, list[Task]]:
    """The list's note and the tasks that it has no room for (more than MOST_BYTES), last ones first to go.

    Deterministic; where tasks stand in their file only shows between ones that look the same.
    """
    lines: list[str] = []
    shown: list[Task] = []
    left: list[Task] = []
    room, heading = MOST_BYTES, ""
    for section, depth, task in arranged(tasks):
        block = [_INDENT * depth + markdown(task)]
        block += [f"{_INDENT * (depth + 1)}- {harmless(detail)}" for detail in task.details]
        room -= sum(len(line.encode("utf-8", "replace")) + 1 for line in block)
        if room < 0:
            left.append(task)
            continue
        if section != heading:
            lines += ["", f"## {section}", ""]
            heading = section
        lines += block
        shown.append(task)
    counts = {state: sum(task.state == state for task in shown) for state, _ in _SECTIONS}
    due = [task.due for task in shown if task.due is not None and task.state == "open"]
    body = _summary(counts, min(due).isoformat() if due else "") + "\n" + "\n".join(lines)
    properties: dict[str, Value] = {"kind": "todo", "format": which.form}
    properties |= {str(state): count for state, count in counts.items()}
    properties |= {"next_due": min(due).isoformat()} if due else {}
    properties |= {"project": which.project} if which.project else {}
    last = max((day for task in shown for day in (task.created, task.done, task.cancelled) if day), default=None)
    properties |= {"date": last.isoformat()} if last is not None else {}
    properties |= {"encoding": which.encoding} if which.encoding else {}
    item = Item(
        external_id=which.external_id,
        title=f"{which.name} (tasks)",
        body=body,
        people=sorted({person for task in shown for person in task.people})[:_MOST_PEOPLE],
        tags=sorted({tag for task in shown for tag in (*task.tags, *task.contexts)})[:_MOST_TAGS],
        properties=properties,
        folder=which.folder,
        origin=which.origin,
    )
    return item, left


def arranged(tasks: Sequence[Task]) -> Iterator[tuple[str, int, Task]]:
    """(section, depth, task): trees in order, each task once, whatever the parents say (unknown ones, circles).

    A tree stands under Open while anything in it is open, so that nothing open hides below what is done.
    """
    by_key = {task.key: number for number, task in enumerate(tasks) if task.key}
    parents = [by_key.get(task.parent, -1) if task.parent else -1 for task in tasks]
    roots = _roots(parents)
    below: dict[int, list[int]] = {}
    for number in sorted(range(len(tasks)), key=lambda each: order(tasks[each])):
        below.setdefault(-1 if number in roots else parents[number], []).append(number)
    alive = _with_open(tasks, parents)
    for state, section in _SECTIONS:
        waiting = [
            (number, 0) for number in reversed(below.get(-1, [])) if _section(tasks[number], number in alive) == state
        ]
        while waiting:
            number, depth = waiting.pop()
            yield section, min(depth, _DEEPEST), tasks[number]
            waiting += [(child, depth + 1) for child in reversed(below.get(number, []))]


def _section(task: Task, alive: bool) -> State:
    return "open" if alive else task.state


def _roots(parents: Sequence[int]) -> set[int]:
    """Tasks with no parent, and one of each circle: the first in the file."""
    roots: set[int] = set()
    seen: dict[int, int] = {}
    for start in range(len(parents)):
        number = start
        while number >= 0 and number not in seen:
            seen[number] = start
            if parents[number] < 0:
                roots.add(number)
            number = parents[number]
        if number >= 0 and seen[number] == start and number not in roots:
            roots.add(_first_of_circle(number, parents))
    return roots


def _first_of_circle(number: int, parents: Sequence[int]) -> int:
    first, at = number, parents[number]
    while at != number:
        first, at = min(first, at), parents[at]
    return first


def _with_open(tasks: Sequence[Task], parents: Sequence[int]) -> set[int]:
    """Tasks that are open or have an open one below them."""
    alive: set[int] = set()
    for start, task in enumerate(tasks):
        number = start if task.state == "open" else -1
        while number >= 0 and number not in alive:
            alive.add(number)
            number = parents[number]
    return alive


def _summary(counts: dict[State, int], due: str) -> str:
    words = ", ".join(f"{count} {state}" for state, count in counts.items() if count or state != "cancelled")
    return f"{words}. Next due {due}." if due else f"{words}."
