"""When a message was sent (W3, S10).

Here: the Date header and what stands in for a missing or impossible one; pure, and never raising. Not here: other
headers.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from email.utils import parsedate_tz
from typing import Final

from kos_assets.writers.mail.headers import Fields, every, first, line

_EARLIEST: Final = 1971  # earlier: a clock that was never set
_LATEST: Final = 2100
_SLACK: Final = timedelta(days=2)
_WIDEST: Final = 15 * 60
_TIME_ZONE = re.compile(
    r"\d{1,2}[:.]\d{2}(?:[:.]\d{2}(?:\.\d{1,9})?)?\s{0,3}(?:[ap]m\s{0,3})?([+-]\s?\d{1,2}:?\d{2}|[A-Za-z]{1,5})?", re.I
)
_HOURS: Final = {
    **{"UT": 0, "UTC": 0, "GMT": 0, "Z": 0, "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2, "MET": 1, "MEST": 2},
    **{"EET": 2, "EEST": 3, "MSK": 3, "HKT": 8, "SGT": 8, "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11, "NZST": 12},
    **{"NZDT": 13, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7},
}


def sent(found: Fields, zone: tzinfo, *, otherwise: datetime | None = None) -> datetime | None:
    """When a message was sent: its Date; where that is missing, unreadable or more than two days after it arrived, when
    it arrived (Received); else `otherwise`. Aware, in the offset as written; a time without one is in `zone`."""
    said = moment(line(first(found, "date").decode("utf-8", "replace")), zone)
    arrived = [moment(line(raw.rpartition(b";")[2].decode("utf-8", "replace")), zone) for raw in _received(found)]
    latest = max((at for at in arrived if at is not None), default=None)
    if said is not None and (latest is None or said - latest <= _SLACK):
        return said
    return latest or said or otherwise


def _received(found: Fields) -> list[bytes]:
    return [raw for raw in every(found, "received")[:20] if b";" in raw]


def moment(words: str, zone: tzinfo) -> datetime | None:
    """A date as mail writes it (RFC 5322 and its many bad forms, asctime, ISO 8601); None where it means nothing."""
    words = words[:200]
    if not words:
        return None
    try:
        parts = parsedate_tz(words)
        at = datetime(*parts[:5], second=min(parts[5], 59), tzinfo=_offset(words) or zone) if parts else None
    except (TypeError, ValueError, IndexError, OverflowError, AttributeError):
        at = None
    if at is not None:
        return _bounded(at)
    try:
        at = datetime.fromisoformat(words.strip())
        return _bounded(at if at.tzinfo is not None else at.replace(tzinfo=zone))
    except ValueError:
        return None


def from_epoch(seconds: float) -> datetime | None:
    """Seconds since 1970 as UTC; None where no message can be of that time."""
    try:
        return _bounded(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        return None


def zone_name(at: datetime) -> str:
    """`+01:00`, or the name of the zone where the message named no offset."""
    key = getattr(at.tzinfo, "key", None)
    if key:
        return str(key)
    offset = at.utcoffset() or timedelta()
    minutes = round(offset.total_seconds() / 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def _offset(words: str) -> tzinfo | None:
    found = _TIME_ZONE.search(words)
    said = found[1] if found is not None else None
    if not said:
        return None
    if said[0] not in "+-":
        hours = _HOURS.get(said.upper())
        return None if hours is None else timezone(timedelta(hours=hours))
    digits = said[1:].strip().replace(":", "")
    minutes = int(digits[:-2] or 0) * 60 + int(digits[-2:])
    if minutes > _WIDEST:
        return None
    return timezone(timedelta(minutes=-minutes if said[0] == "-" else minutes))


def _bounded(at: datetime) -> datetime | None:
    try:
        at.astimezone(UTC)
    except OverflowError:
        return None
    return at if _EARLIEST <= at.year <= _LATEST else None
