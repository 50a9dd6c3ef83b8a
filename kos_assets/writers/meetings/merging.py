"""What several files tell of one meeting as one (W2).

Here: which file is believed for what. Not here: which files belong together (places.py, source.py).
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kos_assets.vault import dates
from kos_assets.vault.dates import When
from kos_assets.writers.meetings.meeting import Meeting
from kos_assets.writers.meetings.names import merged as merged_people

TRUST: Final = {".json": 0, ".jsonl": 0, ".md": 1, ".markdown": 1, ".vtt": 2, ".srt": 3, ".txt": 4}
"""Of two files that tell the same thing the first in this order counts, but for titles, where notes come first, and
dates, where exports come last."""

_IN_GMT = re.compile(r"GMT(?=\d{8}-\d{6})")
_STAMP: Final = r"(?:GMT)?(?:19|20)\d\d[-_.]?\d\d[-_.]?\d\d(?:[T _-]{1,3}\d\d[-.:_h]?\d\d(?:[-.:_]?\d\d)?)?(?!\d)"
_DATE_AT_AN_END = re.compile(rf"\A{_STAMP}[ _.,–-]*|[ _.,–(-]*{_STAMP}\)?\Z")
_EXPORTS: Final = (".json", ".jsonl")
_FAR_FEWER: Final = 0.5
_MINUTE = 60


def one(told: Sequence[tuple[str, Meeting]]) -> tuple[Meeting, list[int]]:
    """One meeting of what the files tell, as (suffix, meeting), and the numbers of those whose transcript is not used.

    The transcript with speakers' names counts before one without, the longer before the shorter.
    """
    order = sorted(range(len(told)), key=lambda number: (TRUST.get(told[number][0], 9), number))
    trusted = [told[number][1] for number in order]
    written = sorted(trusted, key=lambda meeting: not meeting.notes)
    chosen = _transcript(trusted)
    unused = [number for number, (_, meeting) in enumerate(told) if meeting.turns and meeting is not chosen]
    sections: dict[str, str] = {}
    for meeting in trusted:
        for heading, text in meeting.sections:
            sections.setdefault(heading, text)
    actions = {action.text.casefold(): action for meeting in reversed(trusted) for action in reversed(meeting.actions)}
    found = Meeting(
        title=next((meeting.title for meeting in written if meeting.title), ""),
        meeting_id=next((meeting.meeting_id for meeting in trusted if meeting.meeting_id), ""),
        when=sharper([meeting.when for _, meeting in sorted(told, key=lambda one: one[0] in _EXPORTS)]),
        duration=next((meeting.duration for meeting in trusted if meeting.duration), None),
        summary=next((meeting.summary for meeting in trusted if meeting.summary), ""),
        actions=tuple(reversed(actions.values())),
        sections=tuple(sections.items()),
        notes="\n\n".join(meeting.notes for meeting in trusted if meeting.notes),
        people=merged_people(person for meeting in trusted for person in meeting.people),
        tags=tuple(dict.fromkeys(tag for meeting in trusted for tag in meeting.tags)),
        turns=chosen.turns if chosen is not None else (),
        url=next((meeting.url for meeting in trusted if meeting.url), ""),
        language=next((meeting.language for meeting in trusted if meeting.language), ""),
        encoding=next((meeting.encoding for meeting in trusted if meeting.encoding), ""),
        recalled_cut=sum(meeting.recalled_cut for meeting in trusted),
    )
    return found, unused


def sharper(moments: Sequence[When | None]) -> When | None:
    """The first date; one with a time of day on the same day before a bare one."""
    found = [when for when in moments if when is not None]
    if not found or not found[0].dated:
        return found[0] if found else None
    day = local(found[0], dt.UTC)[0].date()
    return next((when for when in found[1:] if not when.dated and local(when, dt.UTC)[0].date() == day), found[0])


def in_name(label: str, zone: dt.tzinfo) -> When | None:
    """The date in a file's name or folders; Zoom's `GMT20260304-100000` is in GMT."""
    return dates.in_path(label, dt.UTC if _IN_GMT.search(label) else zone)


def title_of(stem: str) -> str:
    """A file's stem as a title, without the date at its beginning or end."""
    title = " ".join(_DATE_AT_AN_END.sub("", stem).replace("_", " ").split()).strip(" -–.,")
    return title or stem


def local(when: When, zone: dt.tzinfo) -> tuple[dt.datetime, str]:
    """The time in the zone that it was written in, and that zone's name; what is written in UTC is told in `zone`."""
    if when.zone == "UTC" and not when.dated:
        return when.at.astimezone(zone), dates.zone_name(zone)
    try:
        own: dt.tzinfo = ZoneInfo(when.zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        sign = -1 if when.zone.startswith("-") else 1
        hours, _, minutes = when.zone.lstrip("+-").partition(":")
        sound = hours.isdigit() and (not minutes or minutes.isdigit())
        own = dt.timezone(sign * dt.timedelta(minutes=int(hours) * _MINUTE + int(minutes or 0))) if sound else dt.UTC
    return when.at.astimezone(own), when.zone


def _transcript(trusted: Sequence[Meeting]) -> Meeting | None:
    spoken = [meeting for meeting in trusted if meeting.turns]
    most = max((meeting.said for meeting in spoken), default=0)
    likely = [meeting for meeting in spoken if meeting.said >= _FAR_FEWER * most]

    def worth(meeting: Meeting) -> tuple[int, bool]:
        named = round(4 * meeting.named / meeting.said) if meeting.said else 0
        return named, any(turn.start is not None for turn in meeting.turns)

    return max(likely, key=worth, default=None)
