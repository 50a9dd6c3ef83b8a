"""One VEVENT: from the bytes of a component to what it says (W7).

Here: lines, values, people, links of one event, with what could not be read said by name. Not here: where components
begin (cutting.py), what a time zone's name means (zones.py), recurrence (rules.py, series.py), the note (page.py).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import Any, Final

from icalendar.parser import Contentline, split_on_unescaped_comma, unescape_backslash
from icalendar.prop import vDDDTypes

from kos_assets.errors import KosError
from kos_assets.writers.calendar import links, people, richtext
from kos_assets.writers.calendar.people import Person

_WANTED: Final = frozenset(
    (
        *("UID", "RECURRENCE-ID", "SEQUENCE", "DTSTAMP", "LAST-MODIFIED", "DTSTART", "DTEND", "DURATION", "SUMMARY"),
        *("DESCRIPTION", "X-ALT-DESC", "STYLED-DESCRIPTION", "LOCATION", "STATUS", "ORGANIZER", "ATTENDEE"),
        *("CATEGORIES", "URL", "CONFERENCE", "ATTACH", "RRULE", "RDATE", "EXDATE", "EXRULE", "X-GOOGLE-CONFERENCE"),
        *("X-MICROSOFT-SKYPETEAMSMEETINGURL", "X-MICROSOFT-ONLINEMEETINGEXTERNALLINK"),
    )
)
_TEXTS: Final = frozenset(("DESCRIPTION", "X-ALT-DESC", "STYLED-DESCRIPTION", "SUMMARY", "LOCATION"))
_SINGLE: Final = frozenset(("UID", "DTSTART", "RECURRENCE-ID", "SEQUENCE", "SUMMARY"))
_NAME = re.compile(r"([A-Za-z0-9-]{1,64})[ \t]*[;:]")
_INLINE: Final = 1024
_LONGEST_LINE: Final = 1 << 18
_MOST_LINES: Final = 20_000
_MOST_DATES: Final = 5_000
_LONGEST_UID: Final = 200
_LONGEST_SHORT: Final = 1_000
_MOST_TAGS: Final = 50


class EventError(KosError):
    """A component that cannot be read as an event: it gives no note, the others do."""

    code = "unreadable_event"


@dataclass(frozen=True, slots=True)
class Moment:
    """A time as it was written: naive `local`, and the zone's name in the file (`UTC` for a Z, None for floating).
    An all-day one is midnight."""

    local: datetime
    tzid: str | None = None
    all_day: bool = False


@dataclass(frozen=True, slots=True)
class Property:
    """One line: name in capitals, parameters, raw value."""

    name: str
    params: Mapping[str, Any]
    value: str

    def param(self, name: str) -> str:
        """A parameter's (first) value on one line, empty where there is none."""
        found = self.params.get(name, "")
        found = found[0] if isinstance(found, list) and found else found
        return " ".join(str(found).split()) if not isinstance(found, list) else ""


@dataclass(frozen=True)
class Event:
    """What one VEVENT says. `start` is None only where it has none, as in some cancellations. `ends` and
    `rdates` keep the length of a period in `rdate_lengths`. `problems` are sentences on what could not be read."""

    uid: str
    digest: str
    recurrence_id: Moment | None = None
    and_future: bool = False
    sequence: int = 0
    modified: str = ""
    start: Moment | None = None
    end: Moment | None = None
    length: timedelta | None = None
    summary: str = ""
    description: str = ""
    location: str = ""
    status: str = ""
    organizer: Person | None = None
    attendees: tuple[Person, ...] = ()
    categories: tuple[str, ...] = ()
    url: str = ""
    conference: str = ""
    attachments: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    rdates: tuple[Moment, ...] = ()
    rdate_lengths: Mapping[Moment, timedelta] = field(default_factory=dict)
    exdates: tuple[Moment, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def begins(self) -> Moment:
        """The start. Raises EventError where there is none."""
        if self.start is None:
            raise EventError("The event has no start.", fix="Mend its DTSTART, or export it anew.")
        return self.start

    @property
    def cancelled(self) -> bool:
        """Whether its own status says so."""
        return self.status == "cancelled"


def parse_event(data: bytes) -> Event:
    """Read the bytes of one component, BEGIN:VEVENT to END:VEVENT (the END may be missing). Pure.

    A line that cannot be read is left out and named in `problems`. Raises EventError, and nothing else, where there is
    no event in the bytes, or it has neither a start nor a UID.
    """
    reader = _Reader()
    reader.read(data)
    return reader.event()


class _Reader:
    """The wanted lines of one component by name, and what was wrong with others."""

    def __init__(self) -> None:
        self.found: dict[str, list[Property]] = {}
        self.problems: dict[str, None] = {}

    def read(self, data: bytes) -> None:
        """Fill `found`. Raises EventError where there is no BEGIN:VEVENT."""
        began, inner = False, 0
        for line in self._lines(data):
            head = line[:6].upper()
            if head == "BEGIN:":
                inner += began
                began = began or line[6:].strip().upper() == "VEVENT"
            elif head[:4] == "END:":
                if not inner:
                    break
                inner -= 1
            elif began and not inner:
                self._line(line)
        if not began:
            raise EventError("There is no BEGIN:VEVENT.", fix="Export the calendar anew.")

    def _lines(self, data: bytes) -> Iterator[str]:
        """Unfolded lines of wanted properties, and BEGIN and END. A line that is no property goes on a text
        before it, whose folding was broken."""
        kept, name = None, ""
        for count, line in enumerate(_unfolded(self._text(data))):
            if count >= _MOST_LINES:
                self.problem(f"more than {_MOST_LINES:,} lines; the rest was not read")
                break
            match = _NAME.match(line)
            if match is None:
                if kept is not None and name in _TEXTS and line.strip() and len(kept) < _LONGEST_LINE:
                    kept += "\\n" + line
                continue
            if kept is not None:
                yield kept
            name = match.group(1).upper()
            wanted = name in _WANTED or name in ("BEGIN", "END")
            kept = line[: _INLINE if name == "ATTACH" else _LONGEST_LINE] if wanted else None
        if kept is not None:
            yield kept

    def _text(self, data: bytes) -> str:
        data = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        data = re.sub(rb"\n{2,}", b"\n", data).replace(b"\n ", b"").replace(b"\n\t", b"")
        try:
            return data.decode()
        except UnicodeDecodeError:
            self.problem("not UTF-8; read as Windows-1252")
            return data.decode("cp1252", "replace")

    def _line(self, line: str) -> None:
        name = line[:64].split(":", 1)[0].split(";", 1)[0].strip().upper()
        try:
            params, value = _parts(line.replace("\0", ""))
        except ValueError:
            self.problem(f"{name} cannot be read")
            return
        if name in _SINGLE and name in self.found:
            self.problem(f"{name} is there twice; the first one counts")
            return
        self.found.setdefault(name, []).append(Property(name, params, value))

    def problem(self, text: str) -> None:
        """Remember what is wrong, once, and at most twenty things."""
        if len(self.problems) < 20:
            self.problems[text] = None

    def first(self, name: str) -> Property | None:
        """The first line of that name."""
        return next(iter(self.found.get(name, ())), None)

    def text(self, name: str, longest: int = _LONGEST_SHORT) -> str:
        """A text on one line."""
        found = self.first(name)
        return " ".join(unescape_backslash(found.value[:longest]).split()) if found is not None else ""

    def event(self) -> Event:
        """What the lines say. Raises EventError where it is no event that can be told from others."""
        start = self.moment("DTSTART")
        uid, recurrence = self.text("UID"), self.moment("RECURRENCE-ID")
        if start is None and not uid:
            raise EventError(
                "The event has neither a start that can be read nor a UID.", fix="Mend its DTSTART, or export it anew."
            )
        recurring = self.first("RECURRENCE-ID")
        description = self.description()
        rdates, lengths = self.dates("RDATE")
        if "EXRULE" in self.found:
            self.problem("EXRULE is not applied")
        lines = [self.text(name) for name in ("X-GOOGLE-CONFERENCE", "X-MICROSOFT-SKYPETEAMSMEETINGURL")]
        lines.append(self.text("X-MICROSOFT-ONLINEMEETINGEXTERNALLINK"))
        lines += [" ".join(found.value.split()) for found in self.found.get("CONFERENCE", ())]
        location, url = self.text("LOCATION"), links.web(self.text("URL"))
        return Event(
            uid=uid if len(uid) <= _LONGEST_UID else _digest(uid),
            digest=self.digest(),
            recurrence_id=recurrence,
            and_future=recurring is not None and recurring.param("RANGE").upper() == "THISANDFUTURE",
            sequence=self.sequence(),
            modified=self.modified(),
            start=start,
            end=self.moment("DTEND"),
            length=self.length(),
            summary=self.text("SUMMARY"),
            description=description,
            location=location,
            status=self.text("STATUS", 40).casefold(),
            organizer=next(iter(people.read(self.found.get("ORGANIZER", ()))), None),
            attendees=people.read(self.found.get("ATTENDEE", ())),
            categories=self.categories(),
            url=url,
            conference=links.conference(lines, (url, location, description)),
            attachments=links.attachments(self.found.get("ATTACH", ())),
            rules=tuple(dict.fromkeys(found.value.strip() for found in self.found.get("RRULE", ())))[:10],
            rdates=rdates,
            rdate_lengths=lengths,
            exdates=self.dates("EXDATE")[0],
            problems=tuple(self.problems),
        )

    def moment(self, name: str) -> Moment | None:
        """The time of a line, None where there is none or it cannot be read (then a problem says so)."""
        found = self.first(name)
        if found is None:
            return None
        read = _value(found.value, found)
        if isinstance(read, Moment):
            return read
        self.problem(f"{name} cannot be read")
        return None

    def dates(self, name: str) -> tuple[tuple[Moment, ...], Mapping[Moment, timedelta]]:
        """The times of all lines of that name, and the lengths of those that are periods."""
        moments: dict[Moment, None] = {}
        lengths: dict[Moment, timedelta] = {}
        for found in self.found.get(name, ()):
            for value in filter(str.strip, found.value.split(",")):
                read = _value(value, found)
                if len(moments) >= _MOST_DATES:
                    self.problem(f"{name} has more than {_MOST_DATES:,} dates; the rest was not read")
                    return tuple(moments), lengths
                if isinstance(read, tuple):
                    moments[read[0]] = None
                    lengths[read[0]] = read[1]
                elif isinstance(read, Moment):
                    moments[read] = None
                else:
                    self.problem(f"a date of {name} cannot be read")
        return tuple(moments), lengths

    def length(self) -> timedelta | None:
        """The value of DURATION."""
        found = self.first("DURATION")
        read = _value(found.value, found) if found is not None else None
        if found is not None and (not isinstance(read, timedelta) or read < timedelta(0)):
            self.problem("DURATION cannot be read")
        return read if isinstance(read, timedelta) and read >= timedelta(0) else None

    def sequence(self) -> int:
        """SEQUENCE; 0 where it is no number."""
        text = self.text("SEQUENCE", 20)
        return int(text) if text.isascii() and text.isdigit() else 0

    def modified(self) -> str:
        """LAST-MODIFIED, else DTSTAMP, as text that sorts by time."""
        for name in ("LAST-MODIFIED", "DTSTAMP"):
            text = re.sub(r"[^0-9]", "", self.text(name, 40))
            if len(text) >= 8:
                return text[:14].ljust(14, "0")
        return ""

    def description(self) -> str:
        """Markdown: of the HTML where there is some, else the text."""
        for name in ("STYLED-DESCRIPTION", "X-ALT-DESC"):
            for found in self.found.get(name, ()):
                html = unescape_backslash(found.value)
                rich = "html" in found.param("FMTTYPE").casefold() or richtext.is_html(html)
                if rich and (turned := richtext.to_markdown(html)):
                    return turned
        plain = self.first("DESCRIPTION")
        text = unescape_backslash(plain.value) if plain is not None else ""
        if len(text) > richtext.LONGEST:
            self.problem(f"the description was cut at {richtext.LONGEST:,} characters")
        return richtext.to_markdown(text) if richtext.is_html(text) else richtext.tidy(text[: richtext.LONGEST])

    def categories(self) -> tuple[str, ...]:
        """Names of all CATEGORIES lines, at most 50."""
        parts = (part for line in self.found.get("CATEGORIES", ()) for part in split_on_unescaped_comma(line.value))
        names = (" ".join(part.split())[:100] for part in parts)
        return tuple(dict.fromkeys(name for name in names if name))[:_MOST_TAGS]

    def digest(self) -> str:
        """What tells an event without a UID from others: start, end, rule and title."""
        names = ("DTSTART", "DTEND", "DURATION", "RRULE", "SUMMARY")
        return _digest("\0".join(f"{name}={self.text(name)}" for name in names))


def _unfolded(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield text[start:end]
        start = end + 1


def _parts(line: str) -> tuple[Mapping[str, Any], str]:
    """Parameters and raw value of a line. icalendar goes through a line character by character: where nothing is
    quoted it is shown the part before the value alone, and the same one (a time's zone) only once."""
    head, _, value = line.partition(":")
    if "TZID=(" in head.upper():  # TZID=(UTC+01:00) Berlin, not quoted
        head, _, value = line.rpartition(":")
        head = head.replace(":", "")
    if '"' not in head and "\\" not in head:
        return _params(head), value
    _, params, value = Contentline(line).raw_parts()  # type: ignore[no-untyped-call]
    return params, value


@lru_cache(maxsize=4096)
def _params(head: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = Contentline(f"{head}:x").raw_parts()[1]  # type: ignore[no-untyped-call]
    return found


def _value(text: str, found: Property) -> Moment | timedelta | tuple[Moment, timedelta] | None:
    """A DATE, DATE-TIME, DURATION or PERIOD; None where it is none of these."""
    text, tzid = text.strip().upper(), found.param("TZID")[:200] or None
    if "/" in text:
        start, _, end = text.partition("/")
        first, last = _value(start, found), _value(end, found)
        if not isinstance(first, Moment):
            return None
        if isinstance(last, Moment):
            last = last.local - first.local
        return (first, last) if isinstance(last, timedelta) and last >= timedelta(0) else None
    try:
        read = vDDDTypes.from_ical(text[:40])  # type: ignore[no-untyped-call]
    except (ValueError, OverflowError):
        read = _loose(text[:40])
    if isinstance(read, datetime):
        if found.param("VALUE").upper() == "DATE":
            return Moment(datetime.combine(read.date(), time()), None, all_day=True)
        offset = read.utcoffset()
        if offset is not None:
            tzid = "UTC" if not offset else f"UTC{read:%z}"
        return Moment(read.replace(tzinfo=None, microsecond=0, fold=0), tzid)
    if isinstance(read, date):
        return Moment(datetime.combine(read, time()), None, all_day=True)
    return read if isinstance(read, timedelta) else None


def _loose(text: str) -> datetime | date | None:
    """Forms that some programs write against the standard: 2026-03-04, 2026-03-04T10:00:00Z, a leap second."""
    if re.fullmatch(r"\d{8}T\d{4}60Z?", text):
        text = text[:13] + "59" + text[15:]
    try:
        return datetime.fromisoformat(text) if len(text) > 10 else date.fromisoformat(text)
    except ValueError:
        return None


def _digest(text: str) -> str:
    return "sha256-" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
