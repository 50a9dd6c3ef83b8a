"""When a provider says that it will answer again: headers and sentences turned into seconds.

Here: reading times. Not here: whether a text is about a limit at all (`outages`), pausing a lane (enrichment).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from email.utils import parsedate_to_datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

LONGEST_S: Final = 32 * 86_400.0
"""No limit of a provider lasts longer than a month; a time beyond that is a misread one."""
JUST_PASSED_S: Final = 60.0
"""Wait when the stated time has just gone by: clocks differ, and so do a server's idea of an hour's start."""
_PASSED: Final = timedelta(minutes=30)
_OLD_DATE: Final = timedelta(days=180)

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_EPOCH: Final = re.compile(r"limit reached\|(?P<epoch>\d{10})(?P<ms>\d{3})?\b", re.IGNORECASE)
_IN: Final = re.compile(
    r"\b(?:in|after)\s+(?P<span>(?:\d+(?:\.\d+)?\s*"
    r"(?:d(?:ays?)?|h(?:ours?|rs?|r)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?|ms)\b[\s,]*)+)",
    re.IGNORECASE,
)
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[dhms])", re.IGNORECASE)
_UNIT_S: Final = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_AT: Final = re.compile(
    rf"\bresets?\b(?:\s+(?:at|on))?\s+"
    rf"(?:(?:(?P<month>{'|'.join(_MONTHS)})[a-z]*\.?\s+(?P<day>\d{{1,2}})|(?P<weekday>{'|'.join(_DAYS)})[a-z]*)"
    rf"(?:,\s*(?P<year>20\d\d))?,?(?:\s+at)?\s*)?"
    rf"(?:(?P<hour>\d{{1,2}})(?::(?P<minute>\d\d))?\s*(?P<half>[ap]\.?m\b\.?)?)?"
    rf"(?:\s*\((?P<zone>[A-Za-z0-9_+\-/]{{1,60}})\))?",
    re.IGNORECASE,
)


def from_headers(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds of `retry-after-ms` or `retry-after` (seconds or a date), 0 to 32 days; None when neither can be read.

    `headers` by lower-case name; `now` is aware.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        try:
            return _bounded(float(value) * unit)
        except ValueError:
            continue
    try:
        stated = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return _bounded((_aware(stated, UTC) - now).total_seconds())


def from_text(text: str, now: datetime) -> float | None:
    """Seconds until the reset that a sentence names, None when it names none.

    Understands `limit reached|1750708800`, `resets 3pm`, `reset at 3:20pm (Asia/Shanghai)`, `resets Feb 16, 11am
    (Europe/Berlin)`, `resets Mon 9am` and `in 4hr 29min`. A time without a zone is in `now`'s (give the machine's).
    """
    if epoch := _EPOCH.search(text):
        return _bounded(int(epoch["epoch"]) - now.timestamp(), passed=JUST_PASSED_S)
    if span := _IN.search(text):
        return _bounded(sum(float(number) * _UNIT_S[unit.lower()] for number, unit in _PART.findall(span["span"])))
    for match in _AT.finditer(text):
        if match["hour"] or match["month"] or match["weekday"]:
            return _until(match, now)
    return None


def _until(match: re.Match[str], now: datetime) -> float | None:
    """Seconds from `now` to the wall-clock time that was matched; the next such time when no date is given."""
    here = now.astimezone(_zone(match["zone"], now.tzinfo))
    hour, minute = int(match["hour"] or 0), int(match["minute"] or 0)
    half = (match["half"] or "")[:1].lower()
    if half and not 1 <= hour <= 12:
        return None
    hour = hour % 12 + (12 if half == "p" else 0) if half else hour
    try:
        stated = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
        if match["month"]:
            month = _MONTHS.index(match["month"].lower()[:3]) + 1
            stated = stated.replace(year=int(match["year"] or here.year), month=month, day=int(match["day"]))
            if not match["year"] and here - stated > _OLD_DATE:
                stated = stated.replace(year=here.year + 1)
        elif match["weekday"]:
            stated += timedelta(days=(_DAYS.index(match["weekday"].lower()[:3]) - here.weekday()) % 7)
    except ValueError:  # 25 o'clock, 31 February
        return None
    if not match["month"] and here - stated > _PASSED:
        stated += timedelta(days=7 if match["weekday"] else 1)
    # In UTC: between two times of one zone Python counts the wall clock, an hour off where summer time changes.
    return _bounded((stated.astimezone(UTC) - now.astimezone(UTC)).total_seconds(), passed=JUST_PASSED_S)


def _zone(name: str | None, fallback: tzinfo | None) -> tzinfo:
    try:
        return ZoneInfo(name) if name else fallback or UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return fallback or UTC


def _aware(moment: datetime, zone: tzinfo) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def _bounded(seconds: float, *, passed: float = 0.0) -> float | None:
    if not math.isfinite(seconds) or seconds > LONGEST_S:
        return None
    return seconds if seconds > 0 else passed
