"""S10: a time as a person writes it, as an aware instant. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, tzinfo

_DATE = re.compile(r"\d{4}-?\d{2}-?\d{2}\Z")


def moment(text: str | None, zone: tzinfo, *, last: bool = False) -> datetime | None:
    """The aware UTC instant that an ISO 8601 text means, None for None. Raises ValueError for any other text.

    A time without an offset is in `zone`. A bare date is its first instant, or its last one with `last`, so that
    `since` and `until` with the same date mean that whole day.
    """
    if text is None:
        return None
    at = datetime.fromisoformat(text)
    if last and _DATE.match(text):
        at = datetime.combine(at.date(), time.max)
    try:
        return (at if at.tzinfo else at.replace(tzinfo=zone)).astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{text} is out of the calendar's range") from error
