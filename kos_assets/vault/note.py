"""One note: from a file's bytes to everything that the rest of the house needs to know about it (V1, V3, V4, G6).

Here: the meaning of frontmatter keys, the title, people, dates, hashes. Not here: reading files (scan.py), whose id it
is (identity.py), what becomes of it.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final
from uuid import UUID

from kos_assets.vault import dates, frontmatter, markdown, textcode
from kos_assets.vault.markdown import Heading, Link, Task
from kos_assets.vault.problems import Problem, Unreadable
from kos_assets.vault.stamp import unstamped
from kos_assets.vault.yaml_block import Json

MEMORY_TYPES: Final = frozenset(("episodic", "semantic", "procedural", "working"))
_FOLDER_STEMS = frozenset(("index", "readme", "_index"))
_PEOPLE_KEYS = ("people", "attendees", "participants", "author", "authors", "from", "to", "cc")
_TEMPLATE_MARKS = ("<%", "{{")
_WIKI_VALUE = re.compile(r"!?\[\[([^\[\]]+)\]\]")
_PEOPLE_SPLIT = re.compile(r"\s*;\s*|(?<=>)\s*,\s*")
_LETTER = re.compile(r"[^\W\d_]")
_DOTTED = re.compile(r"[\w-]+(?:\.[\w-]+)+\Z")
_DEEP_DOTS = 3  # segments that make a dotted name a Dendron path even without Dendron's id


@dataclass(frozen=True, slots=True)
class ParsedNote:
    """What one file says. Times are aware UTC; lines are 1-based in the file; hashes are hex SHA-256.

    `body` is the text below the frontmatter with LF line ends; `content` is the body without an H1 equal to the title
    (R2). `links` starts with those of the properties (`up: "[[Home]]"`), given as line 1. `content_hash` leaves out the
    stamp, so that stamping and moving never change it; `body_hash` is over the body with whitespace folded (the
    equality of G6), None for an empty body. `event_at` is None with rule `none` when the note names no date.
    `stampable` is False when the head of the file has a problem: its id belongs in the sidecar.
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


def parse_note(path: str, data: bytes, *, zone: dt.tzinfo = dt.UTC) -> ParsedNote | Unreadable:
    """The note in `data`. `path` is relative to the vault, with `/`; `zone` is for times written without one.

    Never raises for content: what cannot be used is a Problem of the note, and only binary content is Unreadable.
    """
    if textcode.is_binary(data):
        reason = "the file holds binary data, not text"
        return Unreadable(path, "binary", reason, "move it out of the vault, or save it as UTF-8 text")
    clean = textcode.to_utf8(data)
    head = frontmatter.parse(clean.data)
    body = textcode.normal_newlines(clean.data[head.body_start :].decode())
    body_line = textcode.normal_newlines(clean.data[: head.body_start].decode()).count("\n") + 1
    found = markdown.scan(body, body_line)
    title, title_rule = _title(path, head, found.headings)
    values = _Values(head.properties)
    zone = dates.zone_of(head.properties, zone)
    event, event_rule = _event(path, head.properties, found.headings, zone)
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
        problems=clean.problems + head.problems + tuple(values.problems),
    )


def sha256(data: bytes) -> str:
    """Hex digest."""
    return hashlib.sha256(data).hexdigest()


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
    path: str, properties: Mapping[str, Json], headings: list[Heading], zone: dt.tzinfo
) -> tuple[dates.When | None, str]:
    """When the thing happened and what said so: frontmatter, file name, first heading, or nothing (S10)."""
    given = dates.from_keys(properties, dates.EVENT_KEYS, zone)
    if given:
        return given[0], f"frontmatter:{given[1]}"
    named = dates.in_path(path, zone)
    if named:
        return named, "filename"
    headed = dates.found(headings[0].text, zone) if headings else None
    return (headed, "heading") if headed else (None, "none")


def _time(properties: Mapping[str, Json], keys: tuple[str, ...], zone: dt.tzinfo) -> dt.datetime | None:
    given = dates.from_keys(properties, keys, zone)
    return given[0].at if given else None


def _tags(values: _Values, inline: list[str]) -> tuple[str, ...]:
    given = (word for text in values.texts(("tags", "tag")) for word in re.split(r"[\s,]+", text))
    unique: dict[str, str] = {}
    for tag in (*given, *inline):
        bare = tag.strip().lstrip("#").strip("/")
        if bare:
            unique.setdefault(bare.casefold(), bare)
    return tuple(unique.values())


class _Values:
    """Reads typed values out of the properties, and notes what is wrong with them."""

    def __init__(self, properties: Mapping[str, Json]) -> None:
        self.properties = properties
        self.problems: list[Problem] = []
        self.stamp_sound = True

    def _problem(self, code: str, reason: str, fix: str) -> None:
        self.problems.append(Problem(code, None, reason, fix))

    def text(self, key: str) -> str | None:
        value = self.properties.get(key)
        if value is None or isinstance(value, list | dict | bool):
            return None
        return " ".join(str(value).split()) or None

    def texts(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """A list, or one text with commas; wikilinks unwrapped; without repetitions."""
        found: dict[str, None] = {}
        for key in keys:
            for item in _leaves(self.properties.get(key)):
                parts = item.split(",") if isinstance(self.properties.get(key), str) else [item]
                found.update(dict.fromkeys(" ".join(part.split()) for part in parts))
        found.pop("", None)
        return tuple(found)

    def people(self) -> tuple[str, ...]:
        """Names as written (`Ada`, `Ada Byron <ada@example.org>`), from every property that names people."""
        forms = {dates.key_form(name): value for name, value in self.properties.items()}
        found: dict[str, None] = {}
        for key in _PEOPLE_KEYS:
            value = forms.get(key)
            for item in _leaves(value):
                parts = _PEOPLE_SPLIT.split(item)
                if isinstance(value, str) and "<" not in item:
                    parts = [name for part in parts for name in part.split(",")]
                found.update(dict.fromkeys(" ".join(part.split()).lstrip("@") for part in parts))
        return tuple(name for name in found if _LETTER.search(name) and "://" not in name)

    def kos_id(self) -> UUID | None:
        value = self.properties.get("kos_id")
        if value is None:
            self.stamp_sound = "kos_id" not in self.properties
            return None
        try:
            return UUID(value if isinstance(value, str) else "")
        except ValueError:
            self.stamp_sound = False
            self._problem("kos_id_invalid", "the property kos_id holds no id", "delete the property kos_id")
            return None

    def namespace(self) -> str | None:
        """As written; anything but text comes back as text, so that it is refused rather than ignored (V9)."""
        value = self.properties.get("kos_namespace")
        return None if value is None else str(value).strip()

    def memory_type(self) -> str | None:
        explicit, plain = self.text("memory_type"), self.text("type")
        if explicit and explicit.casefold() not in MEMORY_TYPES:
            self._problem(
                "memory_type_unknown",
                f"memory_type is {explicit[:40]!r}",
                f"use one of {', '.join(sorted(MEMORY_TYPES))}",
            )
        chosen = (explicit or plain or "").casefold()
        return chosen if chosen in MEMORY_TYPES else None

    def confidence(self) -> float | None:
        value = self.properties.get("confidence")
        if value is None:
            return None
        try:
            number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else -1.0
        except ValueError:
            number = -1.0
        if 0 <= number <= 1:
            return number
        self._problem("confidence_invalid", "confidence is not a number from 0 to 1", "write a number such as 0.8")
        return None

    def time(self, key: str, zone: dt.tzinfo) -> dt.datetime | None:
        value = self.properties.get(key)
        if value is None:
            return None
        when = dates.written(value, zone)
        if when is None:
            self._problem("date_invalid", f"{key} holds no date", "write a date such as 2026-03-04")
        return when.at if when else None


def _property_links(value: Json) -> Iterator[Link]:
    """The links in property values; a block has no lines of its own here, so they lie on line 1."""
    if isinstance(value, str):
        for match in _WIKI_VALUE.finditer(value):
            link = markdown.wikilink(match.group(1), "wikilink", 1)
            if link:
                yield link
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _property_links(item)


def _leaves(value: Json) -> Iterator[str]:
    """The texts in a value, wikilinks unwrapped. `[[A]]` without quotes is a list in a list in YAML, and means A."""
    if isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        named = value.get("name") or value.get("email")
        if isinstance(named, str):
            yield named
    elif value is not None and not isinstance(value, bool):
        yield _WIKI_VALUE.sub(lambda match: match.group(1).rpartition("|")[2].rpartition("/")[2], str(value))
