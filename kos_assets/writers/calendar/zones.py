"""What a time zone's name in a calendar means (W7).

Here: names of IANA and of Windows, VTIMEZONE components, offsets, and aware times. Not here: dates that recur. Windows
names are mapped as by Unicode CLDR's windowsZones.xml, which the icalendar library carries.
"""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from io import StringIO
from typing import Final
from zoneinfo import ZoneInfo

from dateutil.tz import tzical
from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

from kos_assets.writers.calendar.event import Moment
from kos_assets.writers.calendar.rules import RuleError, parse_rule

_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2}):?(\d{2})?")
_LEADING_OFFSET = re.compile(r"\((?:UTC|GMT)([+-]\d{1,2}:?\d{2})?\)")
_KEPT: Final = frozenset(["TZID", "DTSTART", "TZOFFSETFROM", "TZOFFSETTO", "TZNAME", "RRULE", "RDATE"])
_LARGEST: Final = 1 << 18
_MOST_OBSERVANCES: Final = 100
_MOST_DATES: Final = 2_000
_EARLIEST: Final = 1500


@dataclass(frozen=True)
class Zone:
    """A zone of a calendar. `label` is the IANA name where there is one. `known` False: the name says nothing, the
    times are read in the zone of the settings."""

    tz: tzinfo
    label: str
    known: bool = True
    floating: bool = False


class Zones:
    """The zones of one calendar: by name, with what its own VTIMEZONE components say."""

    def __init__(self, default: ZoneInfo, embedded: Callable[[str], tzinfo | None]) -> None:
        self._default, self._embedded = default, embedded
        self._known: dict[str | None, Zone] = {}

    def of(self, tzid: str | None) -> Zone:
        """The zone of a name: IANA, Windows, VTIMEZONE in the file, the end of a path, an offset, the default."""
        if tzid not in self._known:
            self._known[tzid] = self._look(tzid)
        return self._known[tzid]

    def aware(self, moment: Moment) -> datetime:
        """The moment in its zone. A time that a clock change leaves out is moved on by the gap (RFC 5545, 3.3.5)."""
        return aware(moment.local, self.of(moment.tzid).tz)

    def _look(self, tzid: str | None) -> Zone:
        if tzid is None:
            return Zone(self._default, self._default.key, floating=True)
        name = tzid.strip().strip('"')
        known = _named(name.strip("/"))
        if known is not None:
            return known
        own = self._embedded(name)
        if own is not None:
            return Zone(own, "")
        parts = name.strip("/").split("/")
        for start in range(1, min(len(parts), 6)):
            known = _named("/".join(parts[start:]))
            if known is not None:
                return known
        return _offset(name) or Zone(self._default, self._default.key, known=False)


def aware(local: datetime, tz: tzinfo) -> datetime:
    """A naive time in a zone; one in a gap of the clock is moved on by the gap. Offsets with seconds (before standard
    time) and times at the ends of the calendar come out in UTC."""
    there = local.replace(tzinfo=tz)
    try:
        utc = there.astimezone(UTC)
        back = utc.astimezone(tz)
        offset = back.utcoffset()
    except (OverflowError, ValueError):
        return local.replace(tzinfo=UTC)
    return utc if offset is None or offset % timedelta(minutes=1) else back


def zone_label(zone: Zone, at: datetime) -> str:
    """The zone's IANA name, or the offset that it has at a time."""
    return zone.label or f"UTC{at:%z}"[:6] + ":" + f"{at:%z}"[3:5]


def vtimezone(data: bytes) -> tuple[str, tzinfo] | None:
    """A VTIMEZONE component: its name and what it says. None where it cannot be used: broken, or with rules that no
    clock follows (they could take for ever)."""
    if len(data) > _LARGEST:
        return None
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    lines, name = _plain_lines(re.sub(r"\n{2,}", "\n", text).replace("\n ", "").replace("\n\t", ""))
    if not name or not _sane(lines):
        return None
    try:
        zone = tzical(StringIO("\r\n".join(["BEGIN:VTIMEZONE", "TZID:own", *lines, "END:VTIMEZONE", ""]))).get()
        if zone is None or zone.utcoffset(datetime(2026, 1, 1)) is None:  # noqa: DTZ001 (a zone is asked about local time)
            return None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, AssertionError):
        return None  # what dateutil raises for broken definitions
    return name, zone


def _plain_lines(text: str) -> tuple[list[str], str]:
    """The lines that say when clocks change, without parameters, and the zone's name."""
    lines: list[str] = []
    name, inside = "", False
    for line in text.split("\n"):
        head, _, value = line.strip().partition(":")
        key = head.split(";", 1)[0].upper()
        if key in ("BEGIN", "END") and value.strip().upper() in ("STANDARD", "DAYLIGHT"):
            inside = key == "BEGIN"
            lines.append(f"{key}:{value.strip().upper()}")
        elif key == "TZID" and not inside:
            name = name or value.strip().strip('"')
        elif inside and key in _KEPT:
            value = value.strip() + ("T000000" if key == "DTSTART" and len(value.strip()) == 8 else "")
            lines.append(f"{key}:{value}")
    return lines, name


def _sane(lines: list[str]) -> bool:
    """Whether the observances are few and each changes the clock once a year at most."""
    if not 0 < sum(line.startswith("BEGIN") for line in lines) <= _MOST_OBSERVANCES:
        return False
    dates = 0
    for line in lines:
        key, _, value = line.partition(":")
        if key == "DTSTART" and not (value[:4].isdigit() and int(value[:4]) >= _EARLIEST):
            return False
        dates += value.count(",") + 1 if key == "RDATE" else 0
        if key == "RRULE" and not _once_a_year(value):
            return False
    return dates <= _MOST_DATES


def _once_a_year(text: str) -> bool:
    try:
        rule = parse_rule(text)
    except RuleError:
        return False
    if rule.freq != "YEARLY" or rule.byyearday or rule.byweekno or rule.bysetpos or len(rule.bymonthday) > 8:
        return False
    single = (rule.bymonth, rule.byday, rule.byhour, rule.byminute, rule.bysecond)
    return all(len(part) <= 1 for part in single)


@cache
def _names() -> Mapping[str, str]:
    return {name.casefold(): name for name in zoneinfo.available_timezones() if not name.startswith(("posix", "right"))}


def _named(name: str) -> Zone | None:
    """A zone by its IANA or Windows name, whatever the case of its letters."""
    if name.casefold() in ("utc", "z", "gmt", "etc/utc", "tzone:/microsoft/utc", "tzone://microsoft/utc"):
        return Zone(ZoneInfo("UTC"), "UTC")
    iana = _names().get(WINDOWS_TO_OLSON.get(name, name).casefold())
    return Zone(ZoneInfo(iana), iana) if iana is not None else None


def _offset(name: str) -> Zone | None:
    """`UTC+01:00`, `GMT+0100`, `+0100`, or the offset that a name such as `(UTC+01:00) Berlin` begins with."""
    leading = _LEADING_OFFSET.match(name)
    match = _OFFSET.fullmatch((leading.group(1) or "+00:00") if leading else name.replace(" ", ""))
    if match is None:
        return None
    hours, minutes = int(match.group(2)), int(match.group(3) or 0)
    if hours > 14 or minutes > 59:
        return None
    shift = timedelta(hours=hours, minutes=minutes) * (-1 if match.group(1) == "-" else 1)
    return Zone(timezone(shift), "")
