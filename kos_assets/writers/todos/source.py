"""Tasks of every format as lists: which tasks make one note, and what is left out (W4).

Here: the units that are read together (a note's tasks always come from one unit), projects, identities. Not here:
formats (their modules), files (places.py), the look of a list (lists.py).

A unit that has a file which cannot be read gives nothing this time: its notes stay as they are, rather than lose tasks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import unquote
from zoneinfo import ZoneInfo

from kos_assets.vault import frontmatter
from kos_assets.writers.contract import Entry, Skipped
from kos_assets.writers.listing import SourceFile, fingerprint
from kos_assets.writers.note import MIRROR_KEY
from kos_assets.writers.todos import obsidian, taskwarrior, todotxt, vtodo
from kos_assets.writers.todos.lists import ListOf, item_of
from kos_assets.writers.todos.places import Text, form_of, found, is_template, read, stem_of, unit_name
from kos_assets.writers.todos.task import Found, Left, Task
from kos_assets.writers.todos.taskwarrior import Record
from kos_assets.writers.todos.vtodo import Component

RECIPE: Final = 1
"""Raise it with any change of what the same files give: the next run reads them anew."""

_TASKWARRIOR: Final = "Taskwarrior"
_NOT_IN_NAMES = re.compile(r"[^\w.@-]+")


class TodoSource:
    """The lists below the paths of a mirror; Taskwarrior exports last, since all of them are one unit."""

    def __init__(self, paths: Sequence[Path], without: Sequence[Path], zone: ZoneInfo) -> None:
        self._paths, self._without, self._zone = tuple(paths), tuple(without), zone

    @property
    def complete(self) -> bool:
        """What is missing is gone: files that cannot be read are Skipped with the origin of their notes."""
        return True

    def fingerprint(self) -> str:
        """What the files are, and how notes are made of them. Raises SourceError."""
        return fingerprint(found(self._paths, self._without), f"{RECIPE} {self._zone}")

    def entries(self) -> Iterator[Entry]:
        """Lists in the order of their files. Memory: one unit (a file; a folder of .ics; all Taskwarrior exports)."""
        together: dict[tuple[str, str], list[SourceFile]] = {}
        for entry in found(self._paths, self._without):
            if isinstance(entry, Skipped):
                yield entry
            elif form_of(entry) == "markdown":
                yield from self._note(entry)
            else:
                together.setdefault(_unit(entry), []).append(entry)
        for unit in sorted(together):
            places = together[unit]
            if form_of(places[0]) == "todo.txt":
                yield from self._todotxt(places)
            elif form_of(places[0]) == "vtodo":
                yield from self._calendars(places)
            else:
                yield from self._taskwarrior(places)

    def _note(self, place: SourceFile) -> Iterator[Entry]:
        read_text = read(place, place.label)
        if isinstance(read_text, Skipped):
            yield read_text
            return
        head = frontmatter.parse(read_text.text[: frontmatter.MAX_BYTES + 1024].encode("utf-8", "replace"))
        reason = code = ""
        if is_template(place):
            reason, code = "it stands in a template", "template"
        elif MIRROR_KEY in head.properties:
            reason, code = "a mirror wrote the note that it stands in", "mirrored"
        tasks: list[tuple[str, Task]] = []
        for each in obsidian.parse(read_text.text):
            if isinstance(each, Left):
                yield _skipped(each, place.label, place.label)
            elif reason:
                left = Left(each.line, code, reason, "nothing needs doing", counts=False)
                yield _skipped(left, place.label, place.label)
            else:
                tasks.append((place.label, each))
        which = ListOf(_id("obsidian", place.label), stem_of(place), place.label, "obsidian", place.folder)
        yield from _listed(replace(which, encoding=read_text.encoding), tasks)

    def _todotxt(self, places: Sequence[SourceFile]) -> Iterator[Entry]:
        """A todo.txt and its done.txt: a note per project, and one for what has none."""
        unit = unit_name(places[0].label)
        texts = [(place, read(place, unit)) for place in places]
        refused = [text for _, text in texts if isinstance(text, Skipped)]
        if refused:
            yield from refused
            return
        projects: dict[str, list[tuple[str, Task]]] = {}
        encoding = ""
        for place, text in texts:
            if isinstance(text, Skipped):
                continue
            encoding = encoding or text.encoding
            for each in todotxt.parse(text.text):
                if isinstance(each, Left):
                    yield _skipped(each, place.label, unit)
                else:
                    projects.setdefault(each.project, []).append((place.label, each))
        stem = unit.rpartition("/")[2].rpartition(".")[0]
        for project in sorted(projects):
            which = ListOf(_id("todo.txt", unit, project), project or stem, unit, "todo.txt", places[0].folder, project)
            yield from _listed(replace(which, encoding=encoding), projects[project])

    def _calendars(self, places: Sequence[SourceFile]) -> Iterator[Entry]:
        """A folder's .ics files: a list each, except those that hold one task and are called after it; the folder is
        the list of these."""
        origin = f"{places[0].folder}/"
        single: list[tuple[str, Component]] = []
        whole = True
        for place in places:
            text = read(place, place.label)
            if isinstance(text, Skipped):
                whole = False
                yield text
                continue
            calendar = vtodo.parse(text.text, self._zone)
            yield from (_skipped(each, place.label, place.label) for each in calendar.found if isinstance(each, Left))
            tasks = [(place.label, each) for each in calendar.found if not isinstance(each, Left)]
            if _is_single(place, tasks):
                single += tasks
                continue
            which = ListOf(
                _id("vtodo", place.label), calendar.name or stem_of(place), place.label, "vtodo", place.folder
            )
            yield from _settled(replace(which, encoding=text.encoding), vtodo.settled(tasks))
        if not whole:
            reason = "a file of the folder cannot be read, so that its list stays as it is"
            yield Skipped(origin, "held_back", reason, "see what was said of that file", origin, counts=False)
            return
        above, _, name = places[0].folder.rpartition("/")
        named = ListOf(_id("vtodo", origin), name or places[0].root.name or "Calendar", origin, "vtodo", above)
        yield from _settled(named, vtodo.settled(single))

    def _taskwarrior(self, places: Sequence[SourceFile]) -> Iterator[Entry]:
        """All exports together: a note per project, and one for what has none."""
        records: list[Record] = []
        whole, encoding = True, ""
        for place in places:
            text = _export(place)
            if isinstance(text, Skipped):
                whole = whole and text.code in {"binary", "not_an_export"}
                yield text
                continue
            encoding = encoding or text.encoding
            for each in taskwarrior.parse(text.text, self._zone, place.label):
                if isinstance(each, Left):
                    yield _skipped(each, place.label, _TASKWARRIOR)
                else:
                    records.append(each)
        if not whole:
            return
        projects: dict[str, list[tuple[str, Task]]] = {}
        for label, found_task in taskwarrior.settled(records):
            if isinstance(found_task, Left):
                yield _skipped(found_task, label, _TASKWARRIOR)
            else:
                projects.setdefault(found_task.project, []).append((label, found_task))
        for project in sorted(projects):
            name = project or f"{_TASKWARRIOR}, no project"
            which = ListOf(_id("taskwarrior", "", project), name, _TASKWARRIOR, "taskwarrior", "", project, encoding)
            yield from _listed(which, projects[project])


def _export(place: SourceFile) -> Text | Skipped:
    """The text of an export of Taskwarrior."""
    text = read(place, _TASKWARRIOR)
    if isinstance(text, Skipped):
        return text
    if not text.text.strip():
        reason, fix = "the file is empty, as when an export failed", "write it again: task export > tasks.json"
        return Skipped(place.label, "empty_export", reason, fix, _TASKWARRIOR)
    if not taskwarrior.looks_like(text.text):
        reason, fix = "it is JSON, but no export of Taskwarrior", "write one: task export > tasks.json"
        return Skipped(place.label, "not_an_export", reason, fix, place.label, counts=place.named)
    return text


def _unit(place: SourceFile) -> tuple[str, str]:
    """What is read together."""
    if form_of(place) == "todo.txt":
        return "1", unit_name(place.label)
    return ("2", place.folder) if form_of(place) == "vtodo" else ("3", "")


def _id(form: str, unit: str, project: str = "") -> str:
    """A list's identity: its file as the source names it, and its project. Taskwarrior knows tasks wherever the export
    lies, so that its projects need no file."""
    written = unit.replace("%", "%25").replace("#", "%23")
    return f"{form}:{written}#{project}" if project else f"{form}:{written}"


def _listed(which: ListOf, tasks: Sequence[tuple[str, Task]]) -> Iterator[Entry]:
    if not tasks:
        return
    item, left = item_of(which, [task for _, task in tasks])
    yield item
    without_room = {id(task) for task in left}
    for label, task in tasks if left else ():
        if id(task) in without_room:
            reason, fix = "the list's note is full (12 MiB)", "move what is done long ago to another file"
            yield _skipped(Left(task.line, "note_full", reason, fix), label, which.origin)


def _settled(which: ListOf, found_tasks: Iterator[tuple[str, Found]]) -> Iterator[Entry]:
    tasks: list[tuple[str, Task]] = []
    for label, each in found_tasks:
        if isinstance(each, Left):
            yield _skipped(each, label, which.origin)
        else:
            tasks.append((label, each))
    yield from _listed(which, tasks)


def _is_single(place: SourceFile, tasks: Sequence[tuple[str, Component]]) -> bool:
    uids = {each.uid for _, each in tasks}
    return len(uids) == 1 and _plain(unquote(stem_of(place))) == _plain(uids.pop())


def _plain(text: str) -> str:
    return _NOT_IN_NAMES.sub("_", text).casefold()


def _skipped(left: Left, label: str, origin: str) -> Skipped:
    """What was left out on purpose is understood: it keeps no note from being marked as gone, so it has no list."""
    where = f"{label}:{left.line}"
    return Skipped(where, left.code, left.reason, left.fix, origin if left.counts else where, left.counts)
