"""The calendars of a mirror as a source: two passes over the files, one series at a time (W1, W7).

Here: which component belongs to which series, in what order, and what is left out with which code. Not here: reading
any of them. The first pass keeps about 300 bytes for each event (place, length, and a digest of its UID), the second
reads the components of one UID at a time.
"""

from __future__ import annotations

import hashlib
import os
from array import array
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import BinaryIO, Final
from zoneinfo import ZoneInfo

from kos_assets.domain.mirrors import MirrorSettings
from kos_assets.errors import ConfigError
from kos_assets.writers.calendar import page, places
from kos_assets.writers.calendar.cutting import Fact, Piece, piece_bytes, pieces
from kos_assets.writers.calendar.event import EventError, parse_event
from kos_assets.writers.calendar.rules import Work
from kos_assets.writers.calendar.series import Copy, calendar_of, settle
from kos_assets.writers.calendar.zones import Zones, vtimezone
from kos_assets.writers.contract import Entry, Skipped
from kos_assets.writers.listing import SourceFile, fingerprint

_OTHERS: Final = {
    "VTODO": ("todo", "a task belongs to the mirror of kind todos"),
    "VJOURNAL": ("journal", "a journal entry is no event"),
    "VFREEBUSY": ("free_busy", "times that are taken say nothing else"),
    "VAVAILABILITY": ("availability", "times of availability are no events"),
}
_MOST_COPIES: Final = 5_000
_OPEN_FILES: Final = 8
_MEND: Final = "mend it in the calendar it comes from, or export it anew"


def open_source(mirror: MirrorSettings, *, vault: Path, data_dir: Path, zone: ZoneInfo) -> CalendarSource:
    """The source of a calendar mirror (`path`: .ics files, folders of them, vdirs). `zone` is for floating and all-day
    times. Raises ConfigError without a path, SourceError for a path that is not there or no calendar."""
    del vault, data_dir
    if not mirror.paths:
        raise ConfigError(
            f"Mirror {mirror.name} has no source.",
            why="A calendar is read from .ics files.",
            fix=f'Write path = "~/calendars" into [mirror.{mirror.name}].',
        )
    places.check(mirror.paths)
    return CalendarSource(mirror.paths, zone)


class CalendarSource:
    """One item per UID over all files of the mirror; see contract.Source."""

    def __init__(self, paths: tuple[Path, ...], zone: ZoneInfo) -> None:
        self._paths, self._zone = paths, zone

    @property
    def complete(self) -> bool:
        """Every event of the files is yielded."""
        return True

    def fingerprint(self) -> str | None:
        """What the files are, and the zone."""
        return fingerprint(places.found(self._paths), self._zone.key)

    def entries(self) -> Iterator[Entry]:
        """Series in the order in which their first component is found. Raises SourceError where a path is gone."""
        index = _Index(self._zone)
        try:
            for place in places.found(self._paths):
                if isinstance(place, Skipped):
                    yield place
                else:
                    yield from index.read(place)
            yield from index.series()
        finally:
            index.close()


@dataclass
class _Head:
    """What one calendar of a file says of itself: its method, its name, where its zones are."""

    file: int
    method: str = ""
    name: str = ""
    zones: list[Piece] = field(default_factory=list)


class _Index:
    """Where the components of each UID lie."""

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone
        self._files: list[SourceFile] = []
        self._heads: list[_Head] = []
        self._rows = array("q")  # per event: head, offset, length, line
        self._by_uid: dict[bytes, int | list[int]] = {}
        self._open: OrderedDict[int, BinaryIO] = OrderedDict()
        self._zones: OrderedDict[int, Zones] = OrderedDict()
        self._work = Work()

    def close(self) -> None:
        """Close all files."""
        while self._open:
            self._open.popitem()[1].close()

    def read(self, place: SourceFile) -> Iterator[Skipped]:
        """The first pass over a file: remember its events, yield what is no event."""
        self._files.append(place)
        number, first = len(self._files) - 1, len(self._heads)
        self._heads.append(_Head(number))
        seen = False
        try:
            for found in pieces(self._stream(number)):
                while len(self._heads) - first <= found.calendar:
                    self._heads.append(_Head(number))
                seen = True
                if isinstance(found, Fact):
                    _tell(self._heads[first + found.calendar], found)
                elif found.name == "VTIMEZONE":
                    self._heads[first + found.calendar].zones.append(found)
                elif found.name == "VEVENT":
                    self._remember(found, first + found.calendar)
                else:
                    yield _other(place, found)
        except OSError as error:
            why = error.strerror or str(error)
            yield Skipped(place.label, "unreadable_file", why, "give this user the right to read it", place.label)
            return
        if not seen and place.size and not self._is_calendar(number):
            reason = "there is no calendar in it"
            yield Skipped(place.label, "no_calendar", reason, "export the calendar as .ics", place.label)

    def series(self) -> Iterator[Entry]:
        """The second pass: the note of each UID, and what became of its components."""
        for rows in self._by_uid.values():
            yield from self._one([rows] if isinstance(rows, int) else rows)

    def _is_calendar(self, number: int) -> bool:
        stream = self._stream(number)
        stream.seek(0)
        return b"BEGIN:VCALENDAR" in stream.read(1 << 16).upper()

    def _remember(self, piece: Piece, head: int) -> None:
        row = len(self._rows) // 4
        self._rows.extend((head, piece.offset, piece.length, piece.line))
        name = b"uid " + piece.uid.strip() if piece.uid.strip() else self._nameless(piece, head, row)
        key = hashlib.blake2b(name, digest_size=16).digest()
        known = self._by_uid.setdefault(key, row)
        if isinstance(known, list):
            known.append(row)
        elif known != row:
            self._by_uid[key] = [known, row]

    def _nameless(self, piece: Piece, head: int, row: int) -> bytes:
        """What an event without a UID goes by: its digest, or its place where it cannot be read."""
        descriptor = self._stream(self._heads[head].file).fileno()
        try:
            return (
                b"digest " + parse_event(os.pread(descriptor, min(piece.length, 1 << 21), piece.offset)).digest.encode()
            )
        except EventError:
            return f"row {row}".encode()

    def _one(self, rows: list[int]) -> Iterator[Entry]:
        copies: list[Copy] = []
        origin, where = "", ""
        for row in rows:
            head, _, _, line = self._rows[row * 4 : row * 4 + 4]
            place = self._files[self._heads[head].file]
            here = f"{place.label}:{line}"
            origin, where = origin or place.label, where or here
            if len(copies) >= _MOST_COPIES:
                reason = f"one UID has more than {_MOST_COPIES:,} components"
                yield Skipped(here, "too_many_copies", reason, _MEND, place.label)
                continue
            try:
                copies.append(self._copy(row))
            except (EventError, OSError) as error:
                yield _unread(here, place, error)
        if copies:
            yield from self._settled(copies, origin, where)

    def _settled(self, copies: list[Copy], origin: str, where: str) -> Iterator[Entry]:
        series = settle(copies)
        if series is None:
            silent = all(copy.cancels or copy.method for copy in copies)
            reason = "it does not say when it is" + (", as a cancellation or an answer need not" if silent else "")
            fix, there = ("nothing to do", "") if silent else (_MEND, origin)
            for _ in copies:
                yield Skipped(where, "no_start", reason, fix, there, counts=not silent)
            return
        yield page.item(series, calendar_of(series, self._work), origin=origin)
        counts = {
            "changed_occurrence": (series.folded, "it is part of its series' note"),
            "older_copy": (series.older, "a newer copy of the event counts"),
            "answer": (series.answers, "an answer to an invitation is not the event"),
        }
        for code, (count, reason) in counts.items():
            for _ in range(count):
                yield Skipped(where, code, reason, "nothing to do", counts=False)

    def _copy(self, row: int) -> Copy:
        head, offset, length, line = self._rows[row * 4 : row * 4 + 4]
        about = self._heads[head]
        data = piece_bytes(self._stream(about.file), Piece("VEVENT", offset, length, line, 0, b"", whole=True))
        if data is None:
            raise EventError("The event is larger than 2 MB, or the file changed while it was read.", fix=_MEND)
        return Copy(parse_event(data), self._zones_of(head), about.method, about.name)

    def _zones_of(self, head: int) -> Zones:
        """The zones of a calendar; those of the last 64 calendars are kept."""
        found = self._zones.get(head)
        if found is None:
            found = self._zones[head] = Zones(self._zone, _Embedded(self, head))
            if len(self._zones) > 64:
                self._zones.popitem(last=False)
        return found

    def zone_pieces(self, head: int) -> Iterator[bytes]:
        """The VTIMEZONE components of a calendar, at most 200 of them."""
        about = self._heads[head]
        for piece in about.zones[:200]:
            with suppress(OSError):
                yield piece_bytes(self._stream(about.file), piece) or b""

    def _stream(self, number: int) -> BinaryIO:
        stream = self._open.pop(number, None)
        if stream is None:
            stream = places.opened(self._files[number])
        self._open[number] = stream
        if len(self._open) > _OPEN_FILES:
            self._open.popitem(last=False)[1].close()
        return stream


class _Embedded:
    """The VTIMEZONE components of one calendar, read when first asked for."""

    def __init__(self, index: _Index, head: int) -> None:
        self._index, self._head = index, head
        self._found: dict[str, tzinfo] | None = None

    def __call__(self, name: str) -> tzinfo | None:
        if self._found is None:
            read = (vtimezone(data) for data in self._index.zone_pieces(self._head))
            self._found = {}
            for one in read:
                if one is not None:
                    self._found.setdefault(*one)
        return self._found.get(name)


def _tell(head: _Head, fact: Fact) -> None:
    text = " ".join(fact.value.decode("utf-8", "replace").replace("\\,", ",").replace("\\;", ";").split())[:200]
    if fact.name == "METHOD":
        head.method = text.upper()
    else:
        head.name = head.name or text


def _other(place: SourceFile, piece: Piece) -> Skipped:
    code, reason = _OTHERS.get(piece.name, ("other_component", "it is no event"))
    return Skipped(f"{place.label}:{piece.line}", code, reason, "nothing to do", counts=False)


def _unread(where: str, place: SourceFile, error: EventError | OSError) -> Skipped:
    if isinstance(error, EventError):
        return Skipped(where, error.code, error.what, error.fix or _MEND, place.label)
    return Skipped(where, "unreadable_file", error.strerror or str(error), "put the file back", place.label)
