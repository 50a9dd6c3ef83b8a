"""A recurrence rule in words (W7).

Here: English for one rule. Not here: reading rules or computing their times (rules.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from kos_assets.writers.calendar.rules import Rule

_UNITS: Final = {
    "SECONDLY": "second",
    "MINUTELY": "minute",
    "HOURLY": "hour",
    "DAILY": "day",
    "WEEKLY": "week",
    "MONTHLY": "month",
    "YEARLY": "year",
}
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_MOST: Final = 8


def in_words(rule: Rule, until: str = "") -> str:
    """`every 2 weeks on Monday and Friday, 10 times`. `until` is the day of the end as the reader's calendar has it."""
    unit = _UNITS[rule.freq]
    parts = [f"every {unit}" if rule.interval == 1 else f"every {rule.interval} {unit}s"]
    workdays = sorted(rule.byday) == [(day, 0) for day in range(5)]
    if workdays:
        parts.append("on weekdays")
    elif rule.byday:
        parts.append("on " + _list([_nth_day(day, nth) for day, nth in rule.byday]))
    if rule.bymonthday:
        parts.append(_counted("on", "day", rule.bymonthday))
    if rule.byyearday:
        parts.append(_counted("on", "day", rule.byyearday) + " of the year")
    if rule.byweekno:
        parts.append(_counted("in", "week", rule.byweekno))
    if rule.bymonth:
        parts.append("in " + _list([_MONTHS[month - 1] for month in rule.bymonth]))
    parts += _clock(rule)
    if rule.bysetpos:
        parts.append(f"(only the {_list([_ordinal(place) for place in rule.bysetpos])} of each {unit})")
    text = " ".join(parts)
    if rule.count is not None:
        text += f", {rule.count} time{'s' if rule.count != 1 else ''}"
    return text + (f", until {until}" if until else "")


def weekday(moment: datetime) -> str:
    """`Monday`."""
    return _DAYS[moment.weekday()]


def _clock(rule: Rule) -> list[str]:
    if rule.byhour and len(rule.byminute) <= 1 and not rule.bysecond and rule.freq not in ("MINUTELY", "SECONDLY"):
        minute = rule.byminute[0] if rule.byminute else None
        hours = [f"{hour:02}:{minute:02}" if minute is not None else f"{hour} h" for hour in rule.byhour]
        return ["at " + _list(hours)]
    named = (("hour", rule.byhour), ("minute", rule.byminute), ("second", rule.bysecond))
    return [_counted("at", name, values) for name, values in named if values]


def _counted(preposition: str, name: str, values: Sequence[int]) -> str:
    last = [value for value in values if value < 0]
    named = [str(value) for value in values if value >= 0]
    texts = [f"{name}{'s' if len(named) > 1 else ''} {_list(named)}"] if named else []
    texts += [f"the {_ordinal(value)} {name}" for value in last[:_MOST]]
    return f"{preposition} " + " and ".join(texts)


def _nth_day(day: int, nth: int) -> str:
    return f"the {_ordinal(nth)} {_DAYS[day]}" if nth else _DAYS[day]


def _ordinal(place: int) -> str:
    if place < 0:
        return "last" if place == -1 else f"{_ordinal(-place)} last"
    ending = "th" if place % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}{ending}"


def _list(names: Sequence[str]) -> str:
    if len(names) > _MOST:
        return f"{', '.join(names[:_MOST])} and {len(names) - _MOST} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
