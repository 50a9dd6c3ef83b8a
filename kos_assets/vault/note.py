"""One note: from a file's bytes to everything that the rest of the house needs to know about it (V1, V3, V4, G6).

Here: the title, the date, the hashes, what is put together of the others. Not here: the values of keys (values.py),
reading files (scan.py), whose id it is (identity.py), what becomes of it.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from uuid import UUID

from kos_assets.vault import canvas, dates, frontmatter, markdown, textcode
from kos_assets.vault.canvas import Canvas, Connection
from kos_assets.vault.lead import lead_date
from kos_assets.vault.markdown import Heading, Link, Task
from kos_assets.vault.problems import Problem, Unreadable
from kos_assets.vault.stamp import unstamped
from kos_assets.vault.values import WIKI_VALUE, Values
from kos_assets.vault.yaml_block import Json

_FOLDER_STEMS = frozenset(("index", "readme", "_index"))
_TEMPLATE_MARKS = ("<%", "{{")
_DOTTED = re.compile(r"[\w-]+(?:\.[\w-]+)+\Z")
_DATED_HEADINGS = 20
_MOST_CONFLICTS = 20
_DEEP_DOTS = 3  # segments that make a dotted name a Dendron path even without Dendron's id


@dataclass(frozen=True, slots=True)
class ParsedNote:
    """What one file says. Times are aware UTC; lines are 1-based in the file; hashes are hex SHA-256.

    `body` is the text below the frontmatter with LF line ends; `content` is the body without an H1 equal to the title
    (R2). `links` starts with those of the properties (`up: "[[Home]]"`), given as line 1. `content_hash` leaves out the
    stamp, so that stamping and moving never change it; `body_hash` is over the body with whitespace folded (the
    equality of G6), None for an empty body. `event_at` is None with rule `none` when the note names no date.
    `stampable` is False when the head of the file has a problem, and for a canvas: its id belongs in the sidecar.
    `connections` are a canvas's lines between files; its `body` is made from its cards.
    """

    path: str
    title: str
    title_rule: str
    body: str
    content: str
    body_line: int
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    links: tuple[Link, ...]
    headings: tuple[Heading, ...]
    tasks: tuple[Task, ...]
    blocks: tuple[str, ...]
    people: tuple[str, ...]
    kos_id: UUID | None
    kos_namespace: str | None
    home: str | None
    memory_type: str | None
    confidence: float | None
    event_at: dt.datetime | None
    event_zone: str | None
    event_rule: str
    created_at: dt.datetime | None
    updated_at: dt.datetime | None
    verified_at: dt.datetime | None
    expires_at: dt.datetime | None
    properties: Mapping[str, Json]
    file_hash: str
    content_hash: str
    body_hash: str | None
    stampable: bool
    problems: tuple[Problem, ...]
    connections: tuple[Connection, ...] = ()


def parse_note(path: str, data: bytes, *, zone: dt.tzinfo = dt.UTC) -> ParsedNote | Unreadable:
    """The note in `data`. `path` is relative to the vault, with `/`; `zone` is for times written without one.

    Never raises for content: what cannot be used is a Problem of the note, and only binary content is Unreadable.
    """
    if textcode.is_binary(data):
        reason = "the file holds binary data, not text"
        return Unreadable(path, "binary", reason, "move it out of the vault, or save it as UTF-8 text")
    clean = textcode.to_utf8(data)
    of_kind = _canvas_note if path.lower().endswith(canvas.SUFFIX) else _markdown_note
    return of_kind(path, data, clean, zone)


def _markdown_note(path: str, data: bytes, clean: textcode.Utf8, zone: dt.tzinfo) -> ParsedNote:
    head = frontmatter.parse(clean.data)
    body = textcode.normal_newlines(clean.data[head.body_start :].decode())
    body_line = textcode.normal_newlines(clean.data[: head.body_start].decode()).count("\n") + 1
    found = markdown.scan(body, body_line)
    title, title_rule = _title(path, head, found.headings)
    values = Values(head.properties)
    zone = dates.zone_of(head.properties, zone)
    event, event_rule = _event(path, head.properties, found.headings, body, zone)
    folded = " ".join(body.split())
    return ParsedNote(
        path=path,
        title=title,
        title_rule=title_rule,
        body=body,
        content=_content(body, body_line, title, found.headings),
        body_line=body_line,
        aliases=values.texts(("aliases", "alias")),
        tags=_tags(values, found.tags),
        links=(*_property_links(dict(head.properties)), *found.links),
        headings=tuple(found.headings),
        tasks=tuple(found.tasks),
        blocks=tuple(dict.fromkeys(found.blocks)),
        people=values.people(),
        kos_id=values.kos_id(),
        kos_namespace=values.namespace(),
        home=values.text("home"),
        memory_type=values.memory_type(),
        confidence=values.confidence(),
        event_at=event.at if event else None,
        event_zone=event.zone if event else None,
        event_rule=event_rule,
        created_at=_time(head.properties, dates.CREATED_KEYS, zone),
        updated_at=_time(head.properties, dates.UPDATED_KEYS, zone),
        verified_at=values.time("verified_at", zone),
        expires_at=values.time("expires_at", zone),
        properties=head.properties,
        file_hash=sha256(data),
        content_hash=sha256(unstamped(data)),
        body_hash=sha256(folded.encode()) if folded else None,
        stampable=head.sound and not clean.problems and values.stamp_sound,
        problems=clean.problems + head.problems + tuple(values.problems) + _conflicts(found.conflicts),
    )


def _canvas_note(path: str, data: bytes, clean: textcode.Utf8, zone: dt.tzinfo) -> ParsedNote | Unreadable:
    """A board: its name is its title, its cards are its text; it has no frontmatter, so its name alone may date it."""
    board = canvas.read_canvas(clean.data.decode())
    if not isinstance(board, Canvas):
        reason = f"the canvas is no JSON Canvas; line {board.line}: {board.reason}"
        return Unreadable(path, "canvas_broken", reason, f"correct line {board.line}, or restore the file")
    file = PurePosixPath(path)
    named = dates.in_path(path, zone)
    found, folded = board.found, " ".join(board.body.split())
    return ParsedNote(
        path=path,
        title=" ".join(file.stem.split()) or file.name,
        title_rule="filename",
        body=board.body,
        content=board.body,
        body_line=1,
        aliases=(),
        tags=_tags(Values({}), found.tags),
        links=tuple(found.links),
        headings=tuple(found.headings),
        tasks=tuple(found.tasks),
        blocks=tuple(dict.fromkeys(found.blocks)),
        people=(),
        kos_id=None,
        kos_namespace=None,
        home=None,
        memory_type=None,
        confidence=None,
        event_at=named.at if named else None,
        event_zone=named.zone if named else None,
        event_rule="filename" if named else "none",
        created_at=None,
        updated_at=None,
        verified_at=None,
        expires_at=None,
        properties={},
        file_hash=sha256(data),
        content_hash=sha256(data),
        body_hash=sha256(folded.encode()) if folded else None,
        stampable=False,
        problems=(*clean.problems, *board.problems),
        connections=tuple(board.connections),
    )


def sha256(data: bytes) -> str:
    """Hex digest."""
    return hashlib.sha256(data).hexdigest()


def _conflicts(lines: list[int]) -> tuple[Problem, ...]:
    reason = "both sides of a conflict stand in the text, as git or a synchronisation left them"
    fix = "keep one side and delete the lines <<<<<<<, ======= and >>>>>>>"
    return tuple(Problem("merge_conflict", line, reason, fix) for line in lines[:_MOST_CONFLICTS])


def _content(body: str, body_line: int, title: str, headings: list[Heading]) -> str:
    first = next((heading for heading in headings if heading.level == 1), None)
    if first is None or markdown.plain(first.text) != title:
        return body
    lines = body.split("\n")
    at = first.line - body_line
    del lines[at : at + first.lines]
    return "\n".join(lines)


def _title(path: str, head: frontmatter.Frontmatter, headings: list[Heading]) -> tuple[str, str]:
    """Frontmatter, an H1 that opens the note, the folder's name for index notes, else the file's name.

    An H1 below other text is a section: in one public vault 15 of 24 such were `Other resources`.
    """
    given = _title_value(head, "title")
    if given:
        return given, "frontmatter"
    first = headings[0] if headings else None
    if first and first.level == 1 and first.opening:
        text = markdown.plain(first.text)
        if text and not any(mark in text for mark in _TEMPLATE_MARKS):
            return text, "h1"
    file = PurePosixPath(path)
    stem = " ".join(file.stem.split()) or file.name
    if stem.casefold() in _FOLDER_STEMS:
        for key in ("display_name", "topic"):
            named = _title_value(head, key)
            if named:
                return named, key
        folder = " ".join(file.parent.name.split())
        return (folder, "folder") if folder else (stem, "filename")
    if _DOTTED.match(stem):
        segments = stem.split(".")
        if not segments[-1].isdigit() and (len(segments) >= _DEEP_DOTS or "id" in head.properties):
            return segments[-1], "filename"
    return stem, "filename"


def _title_value(head: frontmatter.Frontmatter, key: str) -> str:
    value = head.properties.get(key)
    if value is None or isinstance(value, list | dict):
        return ""
    text = " ".join(head.raw.get(key, str(value)).split())
    return "" if any(mark in text for mark in _TEMPLATE_MARKS) else text


def _event(
    path: str, properties: Mapping[str, Json], headings: list[Heading], body: str, zone: dt.tzinfo
) -> tuple[dates.When | None, str]:
    """When the thing happened and what said so: frontmatter, file name, headings, text, or nothing (S10)."""
    given = dates.from_keys(properties, dates.EVENT_KEYS, zone)
    if given:
        return given[0], f"frontmatter:{given[1]}"
    named = dates.in_path(path, zone)
    if named:
        return named, "filename"
    headed = _heading_date(headings, zone)
    if headed:
        return headed, "heading"
    told = lead_date(body, zone)
    return (told, "text") if told else (None, "none")


def _heading_date(headings: list[Heading], zone: dt.tzinfo) -> dates.When | None:
    """The first heading's date, else the only day that the headings name."""
    days: dict[dt.date, dates.When] = {}
    for number, heading in enumerate(headings[:_DATED_HEADINGS]):
        when = dates.found(heading.text, zone)
        if when and number == 0:
            return when
        if when:
            days.setdefault(when.at.date(), when)
    return next(iter(days.values())) if len(days) == 1 else None


def _time(properties: Mapping[str, Json], keys: tuple[str, ...], zone: dt.tzinfo) -> dt.datetime | None:
    given = dates.from_keys(properties, keys, zone)
    return given[0].at if given else None


def _tags(values: Values, inline: list[str]) -> tuple[str, ...]:
    given = (word for text in values.texts(("tags", "tag")) for word in re.split(r"[\s,]+", text))
    unique: dict[str, str] = {}
    for tag in (*given, *inline):
        bare = tag.strip().lstrip("#").strip("/")
        if bare:
            unique.setdefault(bare.casefold(), bare)
    return tuple(unique.values())


def _property_links(value: Json) -> Iterator[Link]:
    """The links in property values; a block has no lines of its own here, so they lie on line 1."""
    if isinstance(value, str):
        for match in WIKI_VALUE.finditer(value):
            link = markdown.wikilink(match.group(1), "wikilink", 1)
            if link:
                yield link
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _property_links(item)
