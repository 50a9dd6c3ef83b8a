"""When the thing happened (S10): dates written in frontmatter, in file names and in headings.

Here: recognising a written date and turning it into an aware UTC time with the zone it was written in. Not here: file
times (the caller falls back to them) and the clock.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kos_assets.vault.yaml_block import Json

EVENT_KEYS: Final = (
    "eventat", "date", "start", "startdate", "starttime", "datetime", "when", "created", "createdat", "datecreated",
    "creationdate", "createtime", "published", "publishedat", "datepublished",
)  # fmt: skip
CREATED_KEYS: Final = ("created", "createdat", "datecreated", "creationdate", "createtime", "date")
UPDATED_KEYS: Final = (
    "updated", "updatedat", "dateupdated", "modified", "modifiedat", "datemodified", "lastmod", "lastmodified",
    "lastupdated",
)  # fmt: skip
_MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sep sept", "october oct", "november nov", "december dec"),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_TIME = (
    r"(?:(?:(?:[ ,_T]|\sat\s|\s-\s)\s?(?=\d{1,2}[:.h-])|[T_-](?=(?:\d{4}|\d{6})(?!\d)))"  # compact only after T, _ or -
    r"(?P<H>2[0-3]|[01]?\d)[:.h-]?(?P<M>[0-5]\d)(?:[:.-]?(?P<S>[0-5]\d)(?:[.,](?P<F>\d{1,9}))?)?(?!\d)"
    r"(?:\s?(?P<P>[AP])\.?M\b)?)?"
)
_ZONE = r"(?:\s?(?P<Z>(?:Z|UTC|GMT)\b|[+-](?:0\d|1[0-4]):?[0-5]\d))?"
_YEAR = r"(?<!\d)(?P<y>(?:1[5-9]|2[01])\d\d)"
_MONTH, _DAY = r"(?P<m>0?[1-9]|1[0-2])", r"(?P<d>0?[1-9]|[12]\d|3[01])"
_WORD = "|".join(_MONTHS)
_WRITTEN = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_YEAR}(?P<sep>[-/._]){_MONTH}(?P=sep){_DAY}(?!\d){_TIME}{_ZONE}",
        rf"{_YEAR}(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])"
        rf"(?:[T_ -]?(?P<H>[01]\d|2[0-3])(?P<M>[0-5]\d)(?P<S>[0-5]\d)?)?{_ZONE}(?!\d)",
        rf"{_YEAR}-?W(?P<w>0[1-9]|[1-4]\d|5[0-3])(?!\d)",
        rf"{_YEAR}\s?年\s?{_MONTH}\s?月\s?{_DAY}\s?[日号]",
        rf"(?<!\d){_DAY}\.\s?{_MONTH}\.\s?{_YEAR}(?!\d){_TIME}{_ZONE}",
        rf"(?<!\d){_DAY}(?:st|nd|rd|th|\.)?\s(?P<name>{_WORD})\.?,?\s{_YEAR}(?!\d){_TIME}{_ZONE}",
        rf"\b(?P<name>{_WORD})\.?\s{_DAY}(?:st|nd|rd|th)?,?\s{_YEAR}(?!\d){_TIME}{_ZONE}",
    )
)
_MONTH_NOTE = re.compile(r"(?P<y>(?:19|20)\d\d)-(?P<m>0[1-9]|1[0-2])\Z")
_DAY_FOLDERS = re.compile(r"(?:^|/)(?P<y>(?:19|20)\d\d)/(?P<m>0[1-9]|1[0-2])/(?P<d>0[1-9]|[12]\d|3[01])\Z")
_MAIL = re.compile(r"(?:[A-Z][a-z]{2}, )?\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d")
_SECONDS, _MILLIS = (5 * 10**8, 5 * 10**9), (10**11, 10**13)  # 1985 to 2128, 1973 to 2286
_DIGITS_TO = 10**14
_NOON = 12
_MAX_WRITTEN = 120  # characters of a value or heading that are looked at


@dataclass(frozen=True, slots=True)
class When:
    """An instant. `at` is aware UTC; `zone` is the offset or name that it was written in; `dated`: no time of day."""

    at: dt.datetime
    zone: str
    dated: bool


@lru_cache(maxsize=4096)
def key_form(key: str) -> str:
    """Property names compare without case, spaces, hyphens and underscores: `date created` is `dateCreated`."""
    return re.sub(r"[\s_-]+", "", key.casefold())


def zone_name(zone: dt.tzinfo) -> str:
    """`Europe/Berlin`, `UTC` or `+02:00`."""
    key = getattr(zone, "key", None)
    if isinstance(key, str):
        return key
    name = zone.tzname(None)
    return name.removeprefix("UTC") or "UTC" if name else str(zone)


def zone_of(properties: Mapping[str, Json], default: dt.tzinfo) -> dt.tzinfo:
    """The zone for naive times: the property `timezone` or `tz` if it names one, else the default."""
    for key in ("timezone", "tz"):
        name = properties.get(key)
        if isinstance(name, str) and name:
            try:
                return ZoneInfo(name)
            except (ZoneInfoNotFoundError, ValueError, OSError):
                continue
    return default


def written(value: Json, zone: dt.tzinfo) -> When | None:
    """A date given as a value: ISO and common spellings, mail dates, 20260304, epoch seconds or milliseconds."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return _number(value, zone)
    if not isinstance(value, str):
        return None
    text = value.strip().strip("\"'[]").strip()[:_MAX_WRITTEN]
    if text.isdigit() and text.isascii():
        return _number(int(text), zone) or found(text, zone)
    if _MAIL.match(text):
        try:
            return _when(parsedate_to_datetime(text), zone, dated=False)
        except ValueError:
            return None
    for pattern in _WRITTEN:
        match = pattern.match(text)
        if match:
            return _matched(match, zone)
    return None


def found(text: str, zone: dt.tzinfo) -> When | None:
    """The first date inside a line of text (a file name, a heading)."""
    text = text[:_MAX_WRITTEN]
    best: tuple[int, When] | None = None
    for pattern in _WRITTEN:
        match = pattern.search(text)
        when = _matched(match, zone) if match else None
        if match and when and (best is None or match.start() < best[0]):
            best = (match.start(), when)
    return best[1] if best else None


def in_path(path: str, zone: dt.tzinfo) -> When | None:
    """The date of a file's name (`2026-03-04 call`, `20260304`, `2026-W10`, `2026-03`) or folders (`2026/03/04`)."""
    stem = path.rpartition(".")[0]
    name = stem.rpartition("/")[2]
    when = found(name, zone)
    if when:
        return when
    match = _MONTH_NOTE.match(name) or _DAY_FOLDERS.search(stem)
    return _matched(match, zone) if match else None


def from_keys(properties: Mapping[str, Json], keys: Iterable[str], zone: dt.tzinfo) -> tuple[When, str] | None:
    """The first of `keys` (in key_form) that holds a date, with the property's own name."""
    forms = {key_form(name): name for name in reversed(list(properties))}
    for key in keys:
        name = forms.get(key)
        when = written(properties[name], zone) if name is not None else None
        if name is not None and when:
            return when, name
    return None


def _number(value: int, zone: dt.tzinfo) -> When | None:
    """20260304, 202603041030 and 20260304103000 are dates; other numbers are seconds or milliseconds since 1970."""
    match = _WRITTEN[1].fullmatch(str(value)) if 0 < value < _DIGITS_TO else None
    compact = _matched(match, zone) if match else None
    if compact:
        return compact
    if _SECONDS[0] <= value < _SECONDS[1]:
        return _when(dt.datetime.fromtimestamp(value, dt.UTC), zone, dated=False)
    if _MILLIS[0] <= value < _MILLIS[1]:
        return _when(dt.datetime.fromtimestamp(value / 1000, dt.UTC), zone, dated=False)
    return None


def _matched(match: re.Match[str], zone: dt.tzinfo) -> When | None:
    part = match.groupdict()
    try:
        if part.get("w"):
            day = dt.date.fromisocalendar(int(part["y"]), int(part["w"]), 1)
        else:
            month = _MONTHS[part["name"].lower()] if part.get("name") else int(part["m"])
            day = dt.date(int(part["y"]), month, int(part.get("d") or 1))
    except ValueError:
        return None
    if part.get("H") is None:
        return _when(dt.datetime(day.year, day.month, day.day), zone, dated=True)  # noqa: DTZ001 - the zone is added next
    micro = int((part.get("F") or "0").ljust(6, "0")[:6])
    hour = int(part["H"])
    if part.get("P") and 1 <= hour <= _NOON:
        hour = hour % _NOON + (_NOON if part["P"] in "pP" else 0)
    clock = dt.time(hour, int(part["M"]), int(part.get("S") or 0), micro, _offset(part.get("Z")))
    return _when(dt.datetime.combine(day, clock), zone, dated=False)


def _offset(text: str | None) -> dt.tzinfo | None:
    if text is None:
        return None
    if text[0] not in "+-":
        return dt.UTC
    digits = text[1:].replace(":", "")
    delta = dt.timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return dt.timezone(-delta if text[0] == "-" else delta)


def _when(moment: dt.datetime, zone: dt.tzinfo, *, dated: bool) -> When | None:
    own = moment.tzinfo or zone
    try:
        return When(moment.replace(tzinfo=own).astimezone(dt.UTC), zone_name(own), dated)
    except OverflowError:
        return None
