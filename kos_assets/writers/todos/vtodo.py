"""VTODO components of iCalendar files as tasks (RFC 5545).

Here: one component and a whole file. Not here: which files make a list (source.py), events (the calendar writer).
Components are cut out by their lines and read one by one, so that a broken one costs itself only; alarms and whatever
else lies inside one are passed over, and only the properties named here reach the library.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, tzinfo
from typing import Any, Final

from icalendar import Component as AnyComponent
from icalendar import Todo

from kos_assets.writers.todos.task import (
    BOXES,
    HIGH,
    LONGEST_DETAIL,
    LOW,
    MEDIUM,
    MOST_DETAILS,
    NORMAL,
    Found,
    Left,
    State,
    Task,
    hashtag,
    one_line,
)

LONGEST_COMPONENT: Final = 2**20
_WANTED: Final = frozenset((
    "UID", "SUMMARY", "DESCRIPTION", "STATUS", "PERCENT-COMPLETE", "PRIORITY", "CATEGORIES", "DUE", "DTSTART",
    "DURATION", "COMPLETED", "CREATED", "LAST-MODIFIED", "SEQUENCE", "RECURRENCE-ID", "RRULE", "RELATED-TO",
    "ORGANIZER", "ATTENDEE", "LOCATION", "URL", "COMMENT", "CLASS", "DTSTAMP",
))  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9-]+")
_STATES: Final[Mapping[str, State]] = {
    "NEEDS-ACTION": "open", "IN-PROCESS": "open", "COMPLETED": "done", "CANCELLED": "cancelled",
}  # fmt: skip
_UNITS: Final = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
_DAYS: Final = {
    "MO": "Monday", "TU": "Tuesday", "WE": "Wednesday", "TH": "Thursday", "FR": "Friday", "SA": "Saturday",
    "SU": "Sunday",
}  # fmt: skip
_LIBRARY_FAILS = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    NotImplementedError,
)
_RFC_MEDIUM: Final = 5
_MOST_PEOPLE: Final = 50
_MOST_LINES: Final = 2000


@dataclass(frozen=True, slots=True)
class Component:
    """A task of a calendar, with what decides about it. `uid` is its own, `version` grows with its changes."""

    task: Task
    uid: str
    instance: str
    version: tuple[int, str]


@dataclass(frozen=True, slots=True)
class Calendar:
    """A file: the name that it gives itself (X-WR-CALNAME), and what stands in it."""

    name: str
    found: tuple[Component | Left, ...]


def parse(text: str, zone: tzinfo) -> Calendar:
    """A calendar's tasks (LF line ends), in the order of the file. `zone` is for times without one, and the zone that
    days are told in. Never raises: a component that cannot be read is Left."""
    name = ""
    found: list[Component | Left] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the library's guesses at odd zones
        for line, lines in _components(text):
            if line == 0:
                name = name or one_line(lines[0].partition(":")[2].replace("\\,", ",").replace("\\;", ";"), 120)
            else:
                found.append(_component(lines, line, zone))
    return Calendar(name, tuple(found))


def settled(components: Sequence[tuple[str, Component]]) -> Iterator[tuple[str, Found]]:
    """(file, task) of one list: of each task the version with the highest sequence, then the latest change."""
    newest: dict[tuple[str, str], Component] = {}
    for _, each in components:
        standing = newest.get((each.uid, each.instance))
        if standing is None or each.version > standing.version:
            newest[each.uid, each.instance] = each
    for where, each in components:
        if newest[each.uid, each.instance] is each:
            yield where, each.task
        else:
            reason = "another version of the same task is there, as new or newer"
            yield where, Left(each.task.line, "older_version", reason, "nothing needs doing", counts=False)


def _components(text: str) -> Iterator[tuple[int, list[str]]]:
    """(line, unfolded content lines) of every VTODO, without what is nested in it; line 0 for a calendar's name.

    A BEGIN:VTODO inside another ends that one: its END is missing."""
    begun, inside, depth, lines = 0, False, 0, list[str]()
    for number, content in _unfolded(text):
        upper = content[:64].rstrip().upper()
        if upper == "BEGIN:VTODO":
            if inside:
                yield begun, lines
            begun, inside, depth, lines = number, True, 0, []
        elif not inside:
            if upper.startswith(("X-WR-CALNAME:", "X-WR-CALNAME;")):
                yield 0, [content]
        elif upper in {"END:VTODO", "END:VCALENDAR"}:
            yield begun, lines
            inside = False
        elif upper.startswith("BEGIN:"):
            depth += 1
        elif upper.startswith("END:"):
            depth = max(0, depth - 1)
        elif depth == 0 and _wanted(content) and len(lines) < _MOST_LINES:
            lines.append(content)
    if inside:
        yield begun, lines


def _unfolded(text: str) -> Iterator[tuple[int, str]]:
    """(number of its first line, content line): lines that begin with white space go on with the one before."""
    parts: list[str] = []
    begun = 0
    for number, line in enumerate(text.split("\n"), 1):
        if line[:1] in (" ", "\t") and parts:
            parts.append(line[1:])
            continue
        if parts:
            yield begun, "".join(parts)
        parts, begun = ([line], number) if line else ([], number)
    if parts:
        yield begun, "".join(parts)


def _wanted(content: str) -> bool:
    name = _NAME.match(content)
    return name is not None and name.group().upper() in _WANTED


def _component(lines: Sequence[str], line: int, zone: tzinfo) -> Component | Left:
    fix = "export the calendar again, or delete this task in the program that it comes from"
    if not any(content[:8].upper() in {"SUMMARY:", "SUMMARY;"} for content in lines):
        return Left(line, "no_text", "the task has no summary", "give it one", counts=False)
    if sum(map(len, lines)) > LONGEST_COMPONENT:
        return Left(line, "too_large", f"the task has more than {LONGEST_COMPONENT // 2**20} MiB", fix)
    try:
        todo, unread = _read(lines)
        task = _task(todo, line, zone)
    except _LIBRARY_FAILS as error:
        return Left(line, "bad_component", f"the task cannot be read ({type(error).__name__})", fix)
    task = task if task.text else replace(task, text=dict(unread).get("summary_as_written", ""))
    if task.text:
        uid, instance = task.key, _when(todo, "RECURRENCE-ID", zone)[2]
        changed = max(_when(todo, "LAST-MODIFIED", zone)[2], _when(todo, "DTSTAMP", zone)[2])
        keyed = replace(task, key=f"{uid} {instance}" if instance else uid, extra=(*task.extra, *unread))
        version = (_number(todo, "SEQUENCE"), changed)
        return Component(keyed, uid or f"{task.text} {task.created} {task.due}", instance, version)
    if _string(todo, "SUMMARY").strip():
        return Left(line, "recalled", "it is what was recalled from here", "nothing needs doing", counts=False)
    return Left(line, "no_text", "the task has no summary", "give it one", counts=False)


def _read(lines: Sequence[str]) -> tuple[AnyComponent, tuple[tuple[str, str], ...]]:
    """The component, and by name the properties that the library cannot read: they are shown as they are written."""
    try:
        return _loaded(lines), ()
    except _LIBRARY_FAILS:
        unread = dict.fromkeys(content for content in lines if not _loads(content))
    written = (content.partition(":") for content in unread)
    extra = tuple((f"{head.partition(';')[0].lower()}_as_written", one_line(value, 300)) for head, _, value in written)
    return _loaded([content for content in lines if content not in unread]), extra


def _loaded(lines: Sequence[str]) -> AnyComponent:
    return Todo.from_ical("\r\n".join(["BEGIN:VTODO", *lines, "END:VTODO", ""]))


def _loads(content: str) -> bool:
    try:
        _loaded([content])
    except _LIBRARY_FAILS:
        return False
    return True


def _task(todo: AnyComponent, line: int, zone: tzinfo) -> Task:
    state, box, progress = _state(todo)
    due, due_time, _ = _due(todo, zone)
    start, start_time, _ = _when(todo, "DTSTART", zone)
    done, repeat, level = _when(todo, "COMPLETED", zone)[0], _repeat(todo), _number(todo, "PRIORITY")
    extra = [("due_time", due_time), ("start_time", start_time), ("progress", progress)]
    extra += [("rrule", _rule(todo)) if not repeat else ("", "")]
    extra += [(key.lower(), one_line(_string(todo, key), 300)) for key in ("LOCATION", "URL")]
    tags = (hashtag(one_line(tag, 100)) for tag in _categories(todo))
    return Task(
        one_line(_string(todo, "SUMMARY")), line, status=box, state=state, key=one_line(_string(todo, "UID"), 500),
        parent=_parent(todo), priority=_level(level), rank=str(level) if 1 <= level <= 9 else "", due=due, start=start,
        created=_when(todo, "CREATED", zone)[0], done=done if state == "done" else None, repeat=repeat,
        cancelled=(done or _when(todo, "LAST-MODIFIED", zone)[0]) if state == "cancelled" else None,
        tags=tuple(dict.fromkeys(filter(None, tags))), people=tuple(_people(todo)),
        extra=tuple((key, value) for key, value in extra if value), details=tuple(_details(todo)),
    )  # fmt: skip


def _state(todo: AnyComponent) -> tuple[State, str, str]:
    """State, box, and how far it is where that says more than the box."""
    status, percent = _string(todo, "STATUS").strip().upper(), _number(todo, "PERCENT-COMPLETE")
    state = _STATES.get(status)
    if state is None:
        state = "done" if percent >= 100 or "COMPLETED" in todo else "open"
    partly = state == "open" and 0 < percent <= 100
    box = "/" if partly or status == "IN-PROCESS" else BOXES[state]
    return state, box, f"{percent}%" if partly else ""


def _level(level: int) -> int:
    """RFC 5545: 1 to 4 high, 5 medium, 6 to 9 low, 0 undefined."""
    if not 1 <= level <= 9:
        return NORMAL
    return HIGH if level < _RFC_MEDIUM else MEDIUM if level == _RFC_MEDIUM else LOW


def _due(todo: AnyComponent, zone: tzinfo) -> tuple[date | None, str, str]:
    """DUE, else DTSTART and DURATION."""
    if "DUE" in todo or "DTSTART" not in todo or "DURATION" not in todo:
        return _when(todo, "DUE", zone)
    start, length = getattr(_first(todo, "DTSTART"), "dt", None), getattr(_first(todo, "DURATION"), "dt", None)
    if not isinstance(start, date) or not isinstance(length, timedelta):
        return None, "", ""
    return _told(start + length, zone)


def _when(todo: AnyComponent, key: str, zone: tzinfo) -> tuple[date | None, str, str]:
    return _told(getattr(_first(todo, key), "dt", None), zone)


def _told(value: Any, zone: tzinfo) -> tuple[date | None, str, str]:
    """A day in the person's zone, the time of day with its zone where there is one, and the instant for comparing."""
    if isinstance(value, datetime):
        at = value.replace(tzinfo=zone) if value.tzinfo is None else value.astimezone(zone)
        return at.date(), f"{at:%H:%M} {zone}", at.isoformat()
    if isinstance(value, date):
        return value, "", value.isoformat()
    return None, "", ""


def _first(todo: AnyComponent, key: str) -> Any:
    value = todo.get(key)
    return value[0] if isinstance(value, list) and value else value


def _all(todo: AnyComponent, key: str) -> list[Any]:
    value = todo.get(key)
    return value if isinstance(value, list) else [] if value is None else [value]


def _string(todo: AnyComponent, key: str) -> str:
    value = _first(todo, key)
    return "" if value is None else str(value)


def _number(todo: AnyComponent, key: str) -> int:
    found = re.match(r"\s*(\d{1,9})", _string(todo, key))
    return int(found.group(1)) if found else 0


def _categories(todo: AnyComponent) -> Iterator[str]:
    for group in _all(todo, "CATEGORIES"):
        yield from (str(tag) for tag in getattr(group, "cats", [group]))


def _parent(todo: AnyComponent) -> str:
    """RELATED-TO without a RELTYPE means the parent."""
    for related in _all(todo, "RELATED-TO"):
        kind = str(getattr(related, "params", {}).get("RELTYPE", "PARENT"))
        if kind.upper() == "PARENT":
            return one_line(str(related), 500)
    return ""


def _people(todo: AnyComponent) -> Iterator[str]:
    """`Name <address>` of the organizer and the attendees."""
    for value in [*_all(todo, "ORGANIZER"), *_all(todo, "ATTENDEE")][:_MOST_PEOPLE]:
        address = re.sub(r"(?i)\Amailto:", "", one_line(str(value), 300))
        name = one_line(str(getattr(value, "params", {}).get("CN", "")).strip('"'), 200)
        if name or address:
            yield f"{name} <{address}>" if name and address and name != address else name or address


def _details(todo: AnyComponent) -> Iterator[str]:
    texts = [_string(todo, "DESCRIPTION"), *(str(comment) for comment in _all(todo, "COMMENT"))]
    for text in texts[:MOST_DETAILS]:
        if line := one_line(text, LONGEST_DETAIL):
            yield f"Note: {line}"


def _rule(todo: AnyComponent) -> str:
    rule = _first(todo, "RRULE")
    return "" if rule is None else one_line(rule.to_ical().decode() if hasattr(rule, "to_ical") else str(rule), 300)


def _repeat(todo: AnyComponent) -> str:
    """A simple RRULE in the words of Obsidian Tasks; empty for one that they do not cover."""
    rule = _first(todo, "RRULE")
    if not isinstance(rule, Mapping) or set(rule) - {"FREQ", "INTERVAL", "BYDAY", "WKST"}:
        return ""
    unit, count = _UNITS.get(str((rule.get("FREQ") or [""])[0])), str((rule.get("INTERVAL") or [1])[0])
    days = [_DAYS.get(str(day), "") for day in rule.get("BYDAY") or []]
    if unit is None or not count.isdigit() or (days and (unit != "week" or not all(days))):
        return ""
    every = f"every {unit}" if count == "1" else f"every {count} {unit}s"
    return f"{every} on {', '.join(days)}" if days else every
