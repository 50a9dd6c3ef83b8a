"""Meeting notes in Markdown, which stay as they are but for what the note says elsewhere (W2).

Here: properties, title, a transcript's section, action items that are bullets. Not here: transcripts (plain.py), the
frame of the note (page.py).
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kos_assets.vault import dates, frontmatter
from kos_assets.vault.yaml_block import Json
from kos_assets.writers.meetings import plain
from kos_assets.writers.meetings.clock import duration_of
from kos_assets.writers.meetings.facts import people_in
from kos_assets.writers.meetings.meeting import Line, Meeting, UnreadableMeetingError
from kos_assets.writers.meetings.names import is_person, merged
from kos_assets.writers.meetings.turns import joined
from kos_assets.writers.meetings.words import Cutter, whole
from kos_assets.writers.note import MIRROR_KEY

LARGEST_NOTES: Final = 4 * 2**20
"""Characters of notes, without the transcript."""

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_BULLET = re.compile(r"\A([-*+][ \t]+)(?!\[.\][ \t])(\S.*)")
_PEOPLE_ROW = re.compile(
    r"(?:[-*+][ \t]+)?(?:\*\*|__)?(?:attendees|participants|invitees|present|teilnehmer(?:innen)?|anwesend|"
    r"participantes|asistentes)(?:\*\*|__)?[ \t]*:(?:\*\*|__)?[ \t]*(.{1,2000})", re.IGNORECASE,
)  # fmt: skip
_TRANSCRIPT: Final = frozenset(
    (
        "transcript", "transcription", "full transcript", "meeting transcript", "transkript", "mitschrift",
        "raw transcript",
    )
)  # fmt: skip
_PEOPLE: Final = frozenset(
    ("attendees", "participants", "invitees", "teilnehmer", "teilnehmende", "anwesend", "people")
)
_ACTIONS: Final = frozenset(
    (
        "action items", "actions", "next steps", "to-dos", "todos", "to do", "todo", "tasks", "follow-ups",
        "follow ups", "aufgaben", "nächste schritte", "massnahmen", "maßnahmen", "prochaines étapes", "próximos pasos",
        "tareas",
    )
)  # fmt: skip
_PEOPLE_KEYS: Final = ("attendees", "participants", "people", "invitees", "speakers", "guests", "organizer", "host")
_ID_KEYS: Final = ("meetingid", "transcriptid", "recordingid", "granolaid", "firefliesid", "otterid", "fathomid")
_TITLE_KEYS: Final = ("title", "meetingtitle", "topic", "subject", "meeting")
_LENGTH_KEYS: Final = ("durationminutes", "durationseconds", "duration", "length")
_HEAD_TITLES: Final = ("title", "meeting title", "topic", "subject", "meeting", "titel", "thema")
_HEAD_KEPT: Final = ("url", "link", "meeting id", "language")
_HEAD_DATES: Final = (
    "date", "date and time", "start", "start time", "started", "recorded", "recorded on", "when", "datum", "beginn",
    "time",
)  # fmt: skip
_HEAD_ROWS: Final = 60
_LARGEST_FILE: Final = 16 * 2**20


@dataclass(frozen=True)
class _Section:
    level: int
    name: str
    start: int
    end: int


def meeting_of(text: str, zone: dt.tzinfo, cutter: Cutter) -> Meeting:
    """The meeting that a Markdown file tells. Raises UnreadableMeetingError for an empty one, and for a mirror's own
    note."""
    if len(text) > _LARGEST_FILE:
        raise UnreadableMeetingError("too_large", f"it is longer than {_LARGEST_FILE // 2**20} MiB", "split the file")
    data = text.encode("utf-8", "replace")
    head = frontmatter.parse(data)
    if MIRROR_KEY in head.properties:
        reason = "a mirror wrote it"
        raise UnreadableMeetingError("mirrored", reason, "nothing needs doing", counts=False)
    facts = {dates.key_form(key): value for key, value in head.properties.items()}
    rows = cutter.text(data[head.body_start :].decode()).split("\n")
    title = next((str(facts[key]) for key in _TITLE_KEYS if isinstance(facts.get(key), str) and facts[key]), "")
    title, rows = _titled(title, rows)
    sections = _sections(rows)
    lines, rows = _said(rows, sections)
    said = joined(lines, cutter)
    people = merged([*_people(facts, rows), *(turn.speaker for turn in said.turns if is_person(turn.speaker))])
    notes = whole("\n".join(_with_tasks(rows))) if any(row.strip() for row in rows) else ""
    if len(notes) > LARGEST_NOTES:
        reason = f"the notes are longer than {LARGEST_NOTES // 2**20} MiB"
        raise UnreadableMeetingError("too_large", reason, "split the file")
    if not notes and not said.turns and not facts:
        raise UnreadableMeetingError("empty", "the file is empty", "delete it, or write it again")
    zone = dates.zone_of(head.properties, zone)
    found = dates.from_keys(head.properties, dates.EVENT_KEYS, zone)
    tags = facts.get("tags")
    length = next(((key, facts[key]) for key in _LENGTH_KEYS if facts.get(key)), ("", None))
    return Meeting(
        title=cutter.line(title[:1000]),
        meeting_id=cutter.line(next((str(facts[key])[:200] for key in _ID_KEYS if facts.get(key)), "")),
        when=found[0] if found is not None else None,
        duration=duration_of(length[1], length[0], said.last) or said.last,
        notes=notes,
        people=people,
        tags=tuple(_texts(tags)),
        turns=tuple(said.turns),
        url=next(
            (str(facts[key]) for key in ("url", "link", "source") if str(facts.get(key, "")).startswith("http")), ""
        ),
        named=said.named,
        said=said.said,
    )


def text_meeting_of(text: str, zone: dt.tzinfo, cutter: Cutter) -> Meeting:
    """The meeting of a plain text: a transcript with what stands above it, or notes. Raises UnreadableMeetingError."""
    text = cutter.text(text)
    if not text.strip():
        raise UnreadableMeetingError("empty", "the file is empty", "delete it, or export it again")
    found = plain.transcript_of(text) if not text.startswith("---\n") else None
    if found is None:
        return meeting_of(text, zone, cutter)
    head, lines = found
    said = joined(lines, cutter)
    facts = head.facts
    first = next((" ".join(row.lstrip("#* ").split()) for row in head.rows if row.strip()), "")
    title = next((facts[key] for key in _HEAD_TITLES if facts.get(key)), first)
    when = next((when for key in _HEAD_DATES if (when := dates.written(facts.get(key), zone)) is not None), None)
    when = when or next((seen for row in head.rows[:5] if (seen := dates.found(row, zone)) is not None), None)
    listed = (facts.get(key, "") for key in plain.PEOPLE_KEYS)
    people = [one for part in listed for one in people_in(part)]
    rest = [
        row for row in head.rows if row.strip() and (title != first or " ".join(row.lstrip("#* ").split()) != first)
    ]
    rest += [f"{key.capitalize()}: {facts[key]}" for key in _HEAD_KEPT if facts.get(key)]
    return Meeting(
        title=cutter.line(title[:1000]),
        when=when,
        duration=duration_of(facts.get("duration") or facts.get("dauer") or facts.get("length"), "duration", said.last)
        or said.last,
        notes=whole("\n".join(rest)) if rest else "",
        people=merged([*people, *(turn.speaker for turn in said.turns if is_person(turn.speaker))]),
        turns=tuple(said.turns),
        named=said.named,
        said=said.said,
    )


def _titled(title: str, rows: list[str]) -> tuple[str, list[str]]:
    """The title, and the rows without the first heading where that is the title."""
    for number, row in enumerate(rows[:_HEAD_ROWS]):
        found = _HEADING.fullmatch(row)
        if found is not None and len(found[1]) == 1 and found[2]:
            same = not title or _plain(title) == _plain(found[2])
            return title or found[2], rows[:number] + rows[number + 1 :] if same else rows
        if row.strip():
            break
    return title, rows


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _sections(rows: Sequence[str]) -> list[_Section]:
    """The headings with the rows below them, up to the next one that is no deeper; code is passed over."""
    heads: list[tuple[int, int, str]] = []
    fence = ""
    for number, row in enumerate(rows):
        mark = _FENCE.match(row)
        if mark is not None and (not fence or (mark[1][0] == fence[0] and len(mark[1]) >= len(fence))):
            fence = "" if fence else mark[1]
        elif not fence and (found := _HEADING.fullmatch(row)) is not None:
            heads.append((number, len(found[1]), found[2].strip("*_ :").casefold()))
    sections = []
    ends: list[tuple[int, int]] = []
    for number, level, name in reversed(heads):
        while ends and ends[-1][1] > level:
            ends.pop()
        sections.append(_Section(level, name, number, ends[-1][0] if ends else len(rows)))
        ends.append((number, level))
    return sections[::-1]


def _said(rows: list[str], sections: Sequence[_Section]) -> tuple[Iterator[Line], list[str]]:
    """The lines of the transcript, from its section or from the whole file, and the rows that are left."""
    for section in sections:
        if section.name in _TRANSCRIPT:
            found = plain.transcript_of("\n".join(rows[section.start + 1 : section.end]), sure=True)
            if found is not None:
                return found[1], rows[: section.start] + found[0].rows + rows[section.end :]
    found = plain.transcript_of("\n".join(rows), strict=True) if not sections else None
    return (found[1], rows[: found[0].end]) if found is not None else (iter(()), rows)


def _people(facts: dict[str, Json], rows: Sequence[str]) -> Iterator[str]:
    for key in _PEOPLE_KEYS:
        value = facts.get(key)
        yield from people_in([_unlinked(text) for text in _texts(value)])
    for row in rows[:_HEAD_ROWS]:
        found = _PEOPLE_ROW.fullmatch(row.strip())
        if found is not None:
            yield from people_in(_unlinked(found[1]))
    for section in _sections(rows):
        if section.name in _PEOPLE:
            for row in rows[section.start + 1 : section.end]:
                if (bullet := _BULLET.fullmatch(row.strip())) is not None:
                    yield from people_in([_unlinked(bullet[2])])


def _unlinked(text: str) -> str:
    """`[[People/Ana Ruiz|Ana]]` is Ana Ruiz."""
    return re.sub(r"\[\[(?:[^\[\]|#]{0,200}/)?([^\[\]|#/]{0,200})(?:[|#][^\[\]]{0,200})?\]\]", r"\1", text)


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield from (part.strip() for part in value.replace(";", ",").split(",") if part.strip())
    elif isinstance(value, list):
        yield from (part.strip() for part in value if isinstance(part, str) and part.strip())


def _with_tasks(rows: Sequence[str]) -> list[str]:
    """The rows with bullets below `Action items` as tasks; what is a task already stays."""
    changed = list(rows)
    for section in _sections(rows):
        if section.name in _ACTIONS:
            for number in range(section.start + 1, section.end):
                changed[number] = _BULLET.sub(r"\1[ ] \2", rows[number])
    return changed
