"""Taskwarrior exports as tasks: a JSON array, JSON lines, or objects one after another (`task export`).

Here: one record and a whole text. Not here: which files (places.py), projects as notes (source.py), Taskwarrior's own
database (ask it for an export). Attributes: https://taskwarrior.org/docs/design/task/
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, tzinfo
from typing import Any, Final

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
    day_of,
    hashtag,
    one_line,
)

LONGEST_RECORD: Final = 2**20
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*+"?|[{}]|\n(?=[,\[]?\{")')
_STAMP = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)T(\d\d):?(\d\d):?(\d\d)(?:\.\d{1,9})?(Z?)")
_STATES: Final[Mapping[str, State]] = {
    "pending": "open", "waiting": "open", "recurring": "open", "completed": "done", "deleted": "cancelled",
}  # fmt: skip
_LEVELS: Final = {"H": HIGH, "M": MEDIUM, "L": LOW}
_KNOWN: Final = frozenset((
    "id", "uuid", "description", "status", "project", "priority", "tags", "annotations", "depends", "due", "scheduled",
    "wait", "start", "entry", "end", "modified", "recur", "parent", "urgency", "mask", "imask", "rtype", "last",
    "template",
))  # fmt: skip
_MOST_EXTRA: Final = 20
_SHORT: Final = 8
_MIDNIGHTS: Final = ("00:00", "23:59")  # what a day without a time is stored as: its begin, or its end
_EVERY: Final = {
    "daily": "every day", "day": "every day", "weekdays": "every weekday", "weekly": "every week", "week": "every week",
    "biweekly": "every 2 weeks", "fortnight": "every 2 weeks", "monthly": "every month", "month": "every month",
    "quarterly": "every 3 months", "semiannual": "every 6 months", "annual": "every year", "yearly": "every year",
    "year": "every year", "biannual": "every 2 years", "biyearly": "every 2 years",
}  # fmt: skip
_PERIOD = re.compile(r"P?([1-9]\d{0,3}) ?(d|days?|w|wks?|weeks?|mo|mths?|months?|m|y|yrs?|years?)", re.IGNORECASE)
_UNITS: Final = {"d": "day", "w": "week", "m": "month", "y": "year"}


@dataclass(frozen=True, slots=True)
class Record:
    """A task of an export, with what decides about it: its uuid, its last change, the template that it came from."""

    task: Task
    where: str
    uuid: str
    modified: str
    template: bool
    made_from: str
    depends: tuple[str, ...]


def looks_like(text: str) -> bool:
    """Whether a JSON text is an export: its first sound object has a description, and a status or uuid; where none is
    sound, it looks cut off in one. An empty text is one that was never written."""
    head = text[: 2 * LONGEST_RECORD]
    for _, raw in _objects(head):
        record = _loaded(raw)
        if isinstance(record, dict):
            return "description" in record and ("status" in record or "uuid" in record)
    return not text.strip(" \t\r\n[],") or '"description"' in head


def parse(text: str, zone: tzinfo, where: str = "") -> Iterator[Record | Left]:
    """The records of an export, in its order; a broken one is Left and the rest goes on. Never raises. Linear.

    `zone` is the person's: Taskwarrior stores days as instants. `where` is the file's name, handed through."""
    fix = "export it again: task export > tasks.json"
    for line, raw in _objects(text):
        loaded = _loaded(raw)
        if not isinstance(loaded, dict):
            yield Left(line, "bad_json", "the record is no JSON object, or larger than 1 MiB", fix)
            continue
        record = _record(loaded, line, zone, where)
        if record is not None:
            yield record
        elif one_line(_text(loaded, "description"), LONGEST_RECORD) != _text(loaded, "description").strip():
            yield Left(line, "recalled", "it is what was recalled from here", "nothing needs doing", counts=False)
        else:
            yield Left(line, "not_a_task", "the record has no description", fix)


def settled(records: Sequence[Record]) -> Iterator[tuple[str, Found]]:
    """(file, task) of all exports together: of a uuid the version changed last, of a recurring template what it made.

    What another task depends on shows its id. A template of which nothing is there is shown itself."""
    newest: dict[str, Record] = {}
    for record in records:
        standing = newest.get(record.uuid)
        if standing is None or record.modified > standing.modified:
            newest[record.uuid] = record
    made = {record.made_from for record in newest.values()}
    needed = {other for record in newest.values() for other in record.depends}
    for record in records:
        line = record.task.line
        if newest[record.uuid] is not record:
            reason = "another version of the same task is there, changed as late or later"
            yield record.where, Left(line, "older_version", reason, "nothing needs doing", counts=False)
        elif record.template and record.uuid in made:
            reason = "it is the template of recurring tasks that are there"
            yield record.where, Left(line, "recurring_template", reason, "nothing needs doing", counts=False)
        else:
            ident = record.uuid[:_SHORT] if record.uuid in needed else ""
            yield record.where, replace(record.task, ident=ident) if ident else record.task


def _record(record: Mapping[str, Any], line: int, zone: tzinfo, where: str) -> Record | None:
    text = one_line(_text(record, "description"))
    if not text:
        return None
    status = _text(record, "status").lower()
    state = _STATES.get(status, "open")
    days = {key: _moment(record.get(key), zone) for key in ("due", "scheduled", "wait", "entry", "end")}
    end = days["end"][0]
    raw_tags = record.get("tags")
    tags = raw_tags if isinstance(raw_tags, list) else str(raw_tags or "").split(",")
    uuid = _text(record, "uuid") or f"{_text(record, 'entry')} {text}"
    depends = _depends(record.get("depends"))
    repeat, extra = _repeat(one_line(_text(record, "recur"), 60)), _extra(record, days)
    task = Task(
        text, line, status=_box(state, record), state=state, key=uuid, project=one_line(_text(record, "project"), 200),
        priority=_LEVELS.get(_text(record, "priority").upper(), NORMAL), due=days["due"][0],
        scheduled=days["scheduled"][0], start=days["wait"][0], created=days["entry"][0],
        done=end if state == "done" else None, cancelled=end if state == "cancelled" else None, repeat=repeat,
        depends=tuple(_ident(other) for other in depends),
        tags=tuple(dict.fromkeys(filter(None, (hashtag(one_line(tag, 100)) for tag in tags if isinstance(tag, str))))),
        extra=extra, details=tuple(_annotations(record.get("annotations"), zone)),
    )  # fmt: skip
    made_from = _text(record, "parent") or _text(record, "template")
    return Record(task, where, uuid, _text(record, "modified"), status == "recurring", made_from, depends)


def _box(state: State, record: Mapping[str, Any]) -> str:
    return "/" if state == "open" and _text(record, "start") else BOXES[state]


def _extra(record: Mapping[str, Any], days: Mapping[str, tuple[date | None, str]]) -> tuple[tuple[str, str], ...]:
    """Times of day, what recurs in no words we have, a priority of one's own, and attributes of one's own (UDA)."""
    extra = [(f"{key}_time", days[key][1]) for key in ("due", "scheduled", "wait") if days[key][1]]
    for key in ("recur", "priority"):
        value = one_line(_text(record, key), 60)
        known = _repeat(value) if key == "recur" else value.upper() in _LEVELS
        extra += [(key, value)] if value and not known else []
    own = sorted(key for key in record if isinstance(key, str) and key not in _KNOWN)
    values = ((key, one_line(_text(record, key), 300)) for key in own)
    return tuple(extra + [(one_line(key, 60), value) for key, value in values if value][:_MOST_EXTRA])


def _depends(value: Any) -> tuple[str, ...]:
    """A list of uuids, or one text with commas as before 2.6."""
    parts = value if isinstance(value, list) else value.split(",") if isinstance(value, str) else []
    found = (part.strip() for part in parts if isinstance(part, str))
    return tuple(dict.fromkeys(part for part in found if _ident(part)))[:100]


def _ident(uuid: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "", uuid)[:_SHORT]


def _annotations(value: Any, zone: tzinfo) -> Iterator[str]:
    for note in (value if isinstance(value, list) else [])[:MOST_DETAILS]:
        text = one_line(_text(note, "description"), LONGEST_DETAIL) if isinstance(note, dict) else ""
        if text:
            day, _ = _moment(note.get("entry"), zone)
            yield f"{day.isoformat()}: {text}" if day else f"Note: {text}"


def _moment(value: Any, zone: tzinfo) -> tuple[date | None, str]:
    """`20260304T093000Z` as the person's day and, where it says one, time with zone."""
    found = _STAMP.fullmatch(value.strip()) if isinstance(value, str) and len(value) < 40 else None
    if found is None:
        return (day_of(value), "") if isinstance(value, str) else (None, "")
    try:
        year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
        at = datetime(year, month, day, hour, minute, second, tzinfo=UTC if found.group(7) else zone).astimezone(zone)
    except (ValueError, OverflowError):
        return None, ""
    clock = f"{at:%H:%M}"
    return at.date(), "" if clock in _MIDNIGHTS else f"{clock} {zone}"


def _repeat(value: str) -> str:
    found = _PERIOD.fullmatch(value)
    if found is None:
        return _EVERY.get(value.casefold(), "")
    count, unit = int(found.group(1)), _UNITS[found.group(2)[0].casefold()]
    return f"every {unit}" if count == 1 else f"every {count} {unit}s"


def _text(record: Mapping[str, Any], key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""


def _objects(text: str) -> Iterator[tuple[int, str]]:
    """(line, text) of every object at the top, broken ones too: a line that begins with one ends what is not closed."""
    depth, start, line, counted = 0, 0, 1, 0
    for token in _TOKEN.finditer(text):
        mark = token.group()[0]
        if mark == "{":
            if depth == 0:
                start = token.start()
                line, counted = line + text.count("\n", counted, start), start
            depth += 1
        elif depth and mark in "}\n":
            depth = depth - 1 if mark == "}" else 0
            if depth == 0:
                yield line, text[start : token.end() if mark == "}" else token.start()]
    if depth:
        yield line, text[start:]


def _loaded(raw: str) -> Any:
    if len(raw) > LONGEST_RECORD:
        return None
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None
