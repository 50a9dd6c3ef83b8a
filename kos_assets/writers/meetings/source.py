"""Files as meetings: which belong together, who each meeting is, what is left out (W2).

Here: groups, identities, accounting. Not here: formats (parsing.py), what several files tell as one (merging.py), the
note (page.py), files (places.py).

A meeting is known by what its files have in common, their stem: in another format, beside a summary that comes later,
or in a source that was moved as a whole it is the same one. A stem with a date is not tied to its folder, so that
meetings may be sorted into folders by year; where two folders have the same dated stem, each is known with its folder.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from kos_assets.writers.contract import Entry, Item, Skipped
from kos_assets.writers.listing import SourceFile, fingerprint, read_whole
from kos_assets.writers.meetings import merging
from kos_assets.writers.meetings.meeting import Meeting, UnreadableMeetingError
from kos_assets.writers.meetings.page import bodies, properties
from kos_assets.writers.meetings.parsing import parse
from kos_assets.writers.meetings.places import LARGEST, found, stem_of

RECIPE: Final = 1
"""Raise it with any change of what the same files give: the next run reads them anew."""

_NEEDS_NOTHING: Final = "nothing needs doing"


@dataclass(frozen=True)
class _Group:
    """The files of one meeting. `name` is their label without suffix, `key` what the meeting is known by."""

    name: str
    key: str
    places: tuple[SourceFile, ...]


class MeetingSource:
    """The meetings below the paths of a mirror."""

    def __init__(self, paths: Sequence[Path], without: Sequence[Path], zone: ZoneInfo) -> None:
        self._paths, self._without, self._zone = tuple(paths), tuple(without), zone
        self._seen: dict[str, str] = {}

    @property
    def complete(self) -> bool:
        """What is missing is gone: files that cannot be read are Skipped with the origin of their note."""
        return True

    def fingerprint(self) -> str:
        """What the files are, and how notes are made of them. Raises SourceError."""
        return fingerprint(found(self._paths, self._without), f"{RECIPE} {self._zone}")

    def entries(self) -> Iterator[Entry]:
        """Meetings in the order of their files. Memory: the names of all files, and one meeting."""
        self._seen = {}
        places: list[SourceFile] = []
        for entry in found(self._paths, self._without):
            if isinstance(entry, Skipped):
                yield _of_group(entry)
            else:
                places.append(entry)
        for group in _groups(places, self._zone):
            yield from self._group(group)

    def _group(self, group: _Group) -> Iterator[Entry]:
        told: list[tuple[SourceFile, Meeting]] = []
        for place in group.places:
            data = read_whole(place, LARGEST)
            if isinstance(data, Skipped):
                yield replace(data, origin=group.name)
                if data.code != "too_large":  # the note stays as it is, rather than lose what that file tells
                    return
                continue
            try:
                meetings = parse(data, place.suffix, self._zone)
            except UnreadableMeetingError as error:
                origin = group.name if error.counts else place.label
                yield Skipped(place.label, error.code, error.reason, error.fix, origin, error.counts)
                continue
            del data
            if len(meetings) > 1:
                yield from self._several(place, meetings)
                continue
            told.append((place, meetings[0]))
            yield from _flaws(place, meetings[0], group.name)
        if told:
            yield from self._told(group, told)

    def _told(self, group: _Group, told: Sequence[tuple[SourceFile, Meeting]]) -> Iterator[Entry]:
        meeting, unused = merging.one([(place.suffix, one) for place, one in told])
        for number in unused:
            label = told[number][0].label
            reason = "another file of this meeting has a better transcript"
            yield Skipped(label, "other_transcript", reason, _NEEDS_NOTHING, label, counts=False)
        if self._is_known(meeting.meeting_id, group.name):
            reason = f"the same meeting is in {self._seen[meeting.meeting_id]}"
            yield Skipped(group.name, "same_meeting", reason, "delete the older export", group.name)
            return
        when = merging.sharper([meeting.when, merging.in_name(group.places[0].label, self._zone)])
        title = meeting.title or merging.title_of(stem_of(group.places[0].name))
        meeting = replace(meeting, when=when, title=title)
        yield from _items(meeting, group.key, [place for place, _ in told], group.name, self._zone)

    def _several(self, place: SourceFile, meetings: Sequence[Meeting]) -> Iterator[Entry]:
        """The meetings of an export of many: each is known by the export's own id, else by its title and start."""
        for meeting in meetings:
            if self._is_known(meeting.meeting_id, place.label):
                reason = f"the same meeting is in {self._seen[meeting.meeting_id]}"
                yield Skipped(place.label, "same_meeting", reason, "delete the older export", place.label)
                continue
            key = f"export:{meeting.meeting_id}" if meeting.meeting_id else f"export:{_digest(meeting)}"
            yield from _items(meeting, key, [place], place.label, self._zone)

    def _is_known(self, meeting_id: str, where: str) -> bool:
        if not meeting_id:
            return False
        known = meeting_id in self._seen
        self._seen.setdefault(meeting_id, where)
        return known


def _groups(places: Sequence[SourceFile], zone: dt.tzinfo) -> Iterator[_Group]:
    """Files with one stem in one folder, in the order of their names."""
    together: dict[tuple[str, str], list[SourceFile]] = {}
    for place in places:
        together.setdefault((place.folder.casefold(), stem_of(place.name).casefold()), []).append(place)
    dated = {stem: merging.in_name(f"{stem}.x", zone) is not None for _, stem in together}
    often = Counter(stem for _, stem in together)
    for folder, stem in sorted(together):
        group = together[folder, stem]
        first = group[0]
        name = f"{first.folder}/{stem_of(first.name)}" if first.folder else stem_of(first.name)
        free = dated[stem] and often[stem] == 1
        key = f"meeting:{stem}" if free or not folder else f"meeting:{folder}/{stem}"
        yield _Group(name, key, tuple(group))


def _items(meeting: Meeting, key: str, places: Sequence[SourceFile], origin: str, zone: ZoneInfo) -> Iterator[Item]:
    """The meeting's note, and those in which it goes on when it is very long."""
    at, written_in = merging.local(meeting.when, zone) if meeting.when is not None else (None, None)
    title = meeting.title or "Meeting"
    for number, body in enumerate(bodies(meeting), 1):
        yield Item(
            external_id=key if number == 1 else f"{key}#{number}",
            title=title if number == 1 else f"{title} ({number})",
            body=body,
            at=at,
            zone=written_in,
            people=meeting.people,
            tags=meeting.tags,
            properties=properties(meeting, [place.label for place in places]),
            folder=places[0].folder,
            origin=origin,
            recalled_cut=meeting.recalled_cut if number == 1 else 0,
        )


def _of_group(entry: Skipped) -> Skipped:
    """What could not be opened, with the origin of the note that it may belong to."""
    if not entry.origin or not entry.counts:
        return entry
    folder, slash, name = entry.origin.rpartition("/")
    return replace(entry, origin=f"{folder}{slash}{stem_of(name)}")


def _flaws(place: SourceFile, meeting: Meeting, origin: str) -> Iterator[Skipped]:
    for flaw in meeting.flaws:
        yield Skipped(f"{place.label}:{flaw.line}", flaw.code, flaw.reason, flaw.fix, origin)
    more = meeting.flaw_count - len(meeting.flaws)
    if more > 0:
        yield Skipped(place.label, "more_flaws", f"{more} more places like these", "export the file again", origin)


def _digest(meeting: Meeting) -> str:
    start = meeting.when.at.isoformat() if meeting.when is not None else ""
    first = meeting.turns[0].paragraphs[0][:200] if meeting.turns and not start else ""
    return hashlib.sha256(f"{meeting.title}\0{start}\0{first}".encode("utf-8", "replace")).hexdigest()[:24]
