"""When the thing happened (S10): dates written in frontmatter, in file names, in headings and in text.

Here: recognising a written date and turning it into an aware UTC time with the zone it was written in. Not here: which
of a text's dates is the note's (lead.py), the words of languages (date_words.py), file times and the clock.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kos_assets.vault.date_words import ENGLISH_MONTHS, MONTHS, ZONES
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
_TIME = (
    r"(?:(?:(?:[ ,_T]|,?\s(?:at|um|om|à|às|alle|a\slas|kl\.?|в)\s|\s-\s)\s?(?=\d{1,2}[:.h-])"
    r"|[T_-](?=(?:\d{4}|\d{6})(?!\d)))"  # compact only after T, _ or -
    r"(?P<H>2[0-3]|[01]?\d)[:.h-]?(?P<M>[0-5]\d)(?:[:.-]?(?P<S>[0-5]\d)(?:[.,](?P<F>\d{1,9}))?)?(?!\d)"
    r"(?:\s?(?P<P>[AP])\.?M\b)?(?:\s?Uhr\b)?)?"
)
_ZONE = (
    r"(?:\s?[\[(]?(?P<Z>(?:UTC|GMT)?[+-](?:0\d|1[0-4]):?[0-5]\d|(?:UTC|GMT)[+-]\d{1,2}(?!\d)"
    rf"|(?:{'|'.join(ZONES)})\b|[A-Z][A-Za-z]+(?:/[A-Z][A-Za-z_]+){{1,2}}))?"
)
_YEAR = r"(?<!\d)(?P<y>(?:1[5-9]|2[01])\d\d)"
_MONTH, _DAY = r"(?P<m>0?[1-9]|1[0-2])", r"(?P<d>0?[1-9]|[12]\d|3[01])"
_ENGLISH = "|".join(name for names in ENGLISH_MONTHS for name in names.split())
_WORD = "|".join(sorted(MONTHS, key=lambda name: (-len(name), name)))
_COMPACT = re.compile(
    rf"{_YEAR}(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])"
    rf"(?:[T_ -]?(?P<H>[01]\d|2[0-3])(?P<M>[0-5]\d)(?P<S>[0-5]\d)?)?{_ZONE}(?!\d)",
    re.IGNORECASE,
)
_SPELLED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_YEAR}(?P<sep>[-/._]){_MONTH}(?P=sep){_DAY}(?!\d){_TIME}{_ZONE}",
        rf"{_YEAR}\s?[年년]\s?{_MONTH}\s?[月월]\s?{_DAY}\s?[日号號일]{_TIME}{_ZONE}",
        rf"{_YEAR}\.\s{_MONTH}\.\s{_DAY}(?!\d)\.?{_TIME}{_ZONE}",
        rf"(?<!\d){_DAY}\.\s?{_MONTH}\.\s?{_YEAR}(?!\d){_TIME}{_ZONE}",
        rf"(?<!\d){_DAY}(?:st|nd|rd|th|er|\.|º|°)?\s(?:(?:de|of)\s|d['’])?(?P<name>{_WORD})\.?,?\s(?:del?\s)?"
        rf"{_YEAR}(?!\d)(?:\s?г(?:\.|ода))?{_TIME}{_ZONE}",
        rf"\b(?P<name>{_ENGLISH})\.?\s{_DAY}(?:st|nd|rd|th)?,?\s{_YEAR}(?!\d){_TIME}{_ZONE}",
        rf"(?<![\d/.-])(?P<a>\d{{1,2}})(?P<sep>[/-])(?P<b>\d{{1,2}})(?P=sep){_YEAR}(?![\d/-]){_TIME}{_ZONE}",
    )
)
_WRITTEN = (_SPELLED[0], _COMPACT, re.compile(rf"{_YEAR}-?W(?P<w>0[1-9]|[1-4]\d|5[0-3])(?!\d)"), *_SPELLED[1:])
_FOUR_DIGITS = re.compile(r"\d{4}")
_MONTH_NOTE = re.compile(r"(?P<y>(?:19|20)\d\d)-(?P<m>0[1-9]|1[0-2])\Z")
_DAY_FOLDERS = re.compile(r"(?:^|/)(?P<y>(?:19|20)\d\d)/(?P<m>0[1-9]|1[0-2])/(?P<d>0[1-9]|[12]\d|3[01])\Z")
_MAIL = re.compile(r"(?:[A-Z][a-z]{2}, )?\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d")
_SECONDS, _MILLIS = (5 * 10**8, 5 * 10**9), (10**11, 10**13)  # 1985 to 2128, 1973 to 2286
_DIGITS_TO = 10**14
_NOON = 12
_MONTHS_A_YEAR = 12
_FARTHEST_MINUTES = 15 * 60
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
    text = text if text.isascii() else unicodedata.normalize("NFKC", text)
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
    """The first date inside a line of text (a file name, a heading); None when the first may be two dates."""
    return next((when for _, when in _all_in(text, zone, _WRITTEN)), None)


def spelled(text: str, zone: dt.tzinfo) -> list[tuple[int, When | None]]:
    """Where dates stand in a line of prose; None for one that may be two (`03/04/2026`). Bare numbers are no dates."""
    return _all_in(text, zone, _SPELLED)


def _all_in(text: str, zone: dt.tzinfo, patterns: Sequence[re.Pattern[str]]) -> list[tuple[int, When | None]]:
    text = unicodedata.normalize("NFKC", text[:_MAX_WRITTEN]) if not text.isascii() else text[:_MAX_WRITTEN]
    if _FOUR_DIGITS.search(text) is None:
        return []
    places: dict[int, When | None] = {}
    for pattern in patterns:
        for match in pattern.finditer(text):
            when = _matched(match, zone)
            if when is not None or _is_ambiguous(match):
                places.setdefault(match.start(), when)
    return sorted(places.items(), key=lambda item: item[0])


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
    match = _COMPACT.fullmatch(str(value)) if 0 < value < _DIGITS_TO else None
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
        day = dt.date.fromisocalendar(int(part["y"]), int(part["w"]), 1) if part.get("w") else _day(part)
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


def _day(part: Mapping[str, str | None]) -> dt.date:
    """Raises ValueError for a day that no calendar has, and for one that may be two."""
    year = int(part["y"] or 0)
    if part.get("a"):
        first, second = int(part["a"] or 0), int(part["b"] or 0)
        if first <= _MONTHS_A_YEAR and second <= _MONTHS_A_YEAR and first != second:
            raise ValueError("the day may be the month")
        return dt.date(year, min(first, second), max(first, second))
    month = MONTHS[(part["name"] or "").casefold()] if part.get("name") else int(part["m"] or 0)
    return dt.date(year, month, int(part.get("d") or 1))


def _is_ambiguous(match: re.Match[str]) -> bool:
    """Two numbers that may each be the month: no guess is made about the writer's country."""
    part = match.groupdict()
    return bool(part.get("a")) and 1 <= int(part["a"]) <= _MONTHS_A_YEAR and 1 <= int(part["b"]) <= _MONTHS_A_YEAR


def _offset(text: str | None) -> dt.tzinfo | None:
    """`+02:00`, `UTC+2`, `CEST`, `Europe/Berlin`; None for what names no zone."""
    if text is None:
        return None
    if text.upper() in ZONES:
        return _fixed(ZONES[text.upper()] * 60)
    if "/" in text:
        try:
            return ZoneInfo(text)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return None
    offset = text.upper().removeprefix("UTC").removeprefix("GMT")
    digits = offset[1:].replace(":", "")
    minutes = int(digits[:2]) * 60 + int(digits[2:] or 0)
    return _fixed(-minutes if offset[0] == "-" else minutes) if minutes <= _FARTHEST_MINUTES else None


def _fixed(minutes: float) -> dt.tzinfo:
    return dt.timezone(dt.timedelta(minutes=minutes)) if minutes else dt.UTC


def _when(moment: dt.datetime, zone: dt.tzinfo, *, dated: bool) -> When | None:
    own = moment.tzinfo or zone
    try:
        return When(moment.replace(tzinfo=own).astimezone(dt.UTC), zone_name(own), dated)
    except OverflowError:
        return None
