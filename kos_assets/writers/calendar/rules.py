"""Recurrence rules: read, and turned into times within bounds of count and of work (W7).

Here: one RRULE. Not here: dates added and left out, changed occurrences (series.py), rules in words (words.py).

Days come from dateutil. Its loops end only at the year 9999 when a rule never matches, and its loops over hours,
minutes and seconds may take for ever. So the start is moved by a multiple of 400 years (after which the calendar
repeats, weekdays too) to between 9500 and 9899, which bounds a rule to the next 100 to 500 years (0.2 s at worst),
and times of day are laid over days here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Final, Literal, cast

from dateutil import rrule
from icalendar.prop import vRecur

from kos_assets.errors import KosError

Freq = Literal["SECONDLY", "MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"]
_SECONDS: Final[dict[str, int]] = {"SECONDLY": 1, "MINUTELY": 60, "HOURLY": 3600}
_FREQS: Final[dict[str, tuple[Literal[0, 1, 2, 3], float]]] = {
    "DAILY": (rrule.DAILY, 1.0),
    "WEEKLY": (rrule.WEEKLY, 0.5),
    "MONTHLY": (rrule.MONTHLY, 0.15),
    "YEARLY": (rrule.YEARLY, 0.1),
}
"""dateutil's number, and the cost of a day that is passed over, where 1 is about a microsecond (measured)."""
_WEEKDAYS: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_DAY: Final = 86_400
_END: Final = datetime(9999, 12, 31, 23, 59, 59)  # noqa: DTZ001 (local time)
_CYCLE: Final = 400
_LAST_CYCLE: Final = 9500
_LONGEST: Final = 2_000
_MOST_TIMES: Final = 1_440
_MOST_POSITIONS: Final = 60


class RuleError(KosError):
    """A rule that cannot be read, or whose times are not computed; the event itself is kept."""

    code = "rule"


@dataclass(frozen=True)
class Rule:
    """A rule as it was written, each number within its range. `until` as in the file: a date, or a naive or aware
    time. `byday` has (weekday from Monday = 0, which one of the period or 0)."""

    raw: str
    freq: Freq
    interval: int = 1
    count: int | None = None
    until: date | datetime | None = None
    bymonth: tuple[int, ...] = ()
    bymonthday: tuple[int, ...] = ()
    byyearday: tuple[int, ...] = ()
    byweekno: tuple[int, ...] = ()
    bysetpos: tuple[int, ...] = ()
    byhour: tuple[int, ...] = ()
    byminute: tuple[int, ...] = ()
    bysecond: tuple[int, ...] = ()
    byday: tuple[tuple[int, int], ...] = ()
    wkst: int = 0
    other_calendar: bool = False


class Work:
    """How much computing is left for the rules of one run, in days passed over: a bound that needs no clock."""

    def __init__(self, days: int = 100_000_000) -> None:
        self.left = float(days)


def parse_rule(text: str) -> Rule:
    """Read the value of an RRULE. Raises RuleError, and nothing else."""
    if len(text) > _LONGEST:
        raise RuleError(f"the rule is longer than {_LONGEST:,} characters")
    try:
        read = vRecur.from_ical("".join(text.split()))
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise RuleError("the rule cannot be read") from error
    parts: dict[str, Any] = {str(key).upper(): value for key, value in read.items()}
    freq = str(next(iter(parts.get("FREQ", ())), "")).upper()
    if freq not in _FREQS and freq not in _SECONDS:
        raise RuleError("the rule has no frequency that is known")
    until = next(iter(parts.get("UNTIL", ())), None)
    if until is not None and not isinstance(until, date):
        raise RuleError("the end of the rule cannot be read")
    skips = str(next(iter(parts.get("SKIP", ())), "OMIT")).upper().endswith("OMIT")
    gregorian = str(next(iter(parts.get("RSCALE", ())), "GREGORIAN")).upper() == "GREGORIAN"
    weekday = str(next(iter(parts.get("WKST", ())), "MO")).upper()
    return Rule(
        raw=text,
        freq=cast("Freq", freq),
        interval=_number(parts, "INTERVAL") or 1,
        count=_number(parts, "COUNT"),
        until=until,
        bymonth=_numbers(parts, "BYMONTH", 1, 12),
        bymonthday=_numbers(parts, "BYMONTHDAY", 1, 31, signed=True),
        byyearday=_numbers(parts, "BYYEARDAY", 1, 366, signed=True),
        byweekno=_numbers(parts, "BYWEEKNO", 1, 53, signed=True),
        bysetpos=_numbers(parts, "BYSETPOS", 1, 366, signed=True),
        byhour=_numbers(parts, "BYHOUR", 0, 23),
        byminute=_numbers(parts, "BYMINUTE", 0, 59),
        bysecond=_numbers(parts, "BYSECOND", 0, 60),
        byday=tuple(dict.fromkeys(_weekday(day) for day in [*parts.get("BYDAY", ()), *parts.get("BYWEEKDAY", ())])),
        wkst=_WEEKDAYS.index(weekday) if weekday in _WEEKDAYS else 0,
        other_calendar=not (skips and gregorian)
        or any(getattr(month, "leap", False) for month in parts.get("BYMONTH", ())),
    )


def times(rule: Rule, start: datetime, until: datetime | None, work: Work) -> Iterator[datetime]:
    """The times of a rule from `start` on, naive, in order, without regard to COUNT; at most 500 years of them.

    Raises RuleError at the first one where they are not computed (another calendar, no work left, or hours, minutes or
    seconds with both filters and a step that does not fit into a day).
    """
    if rule.other_calendar:
        raise RuleError("the rule follows another calendar, or moves days that do not exist")
    if work.left <= 0:
        raise RuleError("the rules of this source took too much computing")
    years = -((start.year - _LAST_CYCLE) // _CYCLE) * _CYCLE
    first = start.replace(year=start.year + years, microsecond=0)
    found = _sub_daily(rule, first, work) if rule.freq in _SECONDS else _dated(rule, first, work)
    for one in found:
        try:
            moved = one.replace(year=one.year - years)
        except ValueError:
            return
        if until is not None and moved > until:
            return
        yield moved


def _dated(rule: Rule, first: datetime, work: Work) -> Iterator[datetime]:
    sizes = [max(1, len(part)) for part in (rule.byhour, rule.byminute, rule.bysecond)]
    if sizes[0] * sizes[1] * sizes[2] > _MOST_TIMES or len(rule.bysetpos) > _MOST_POSITIONS:
        raise RuleError("the rule has too many parts")
    freq, weight = _FREQS[rule.freq]
    parts = _by_days(rule) | {
        "byhour": rule.byhour or None,
        "byminute": rule.byminute or None,
        "bysecond": tuple(min(second, 59) for second in rule.bysecond) or None,
        "bysetpos": rule.bysetpos or None,
    }
    try:
        made = rrule.rrule(freq, dtstart=first, interval=rule.interval, wkst=rule.wkst, **parts)
    except ValueError as error:
        raise RuleError("the rule contradicts itself") from error
    return _measured(made, first, weight, work)


def _by_days(rule: Rule) -> dict[str, Any]:
    """The parts of a rule that choose days, as dateutil wants them."""
    days = [rrule.weekday(day, nth) if nth else rrule.weekday(day) for day, nth in rule.byday]
    return {
        "bymonth": rule.bymonth or None,
        "bymonthday": rule.bymonthday or None,
        "byyearday": rule.byyearday or None,
        "byweekno": rule.byweekno or None,
        "byweekday": days or None,
    }


def _measured(found: Iterable[datetime], first: datetime, weight: float, work: Work) -> Iterator[datetime]:
    """The same times, the days between them taken off the work that is left."""
    last = first
    stream = iter(found)
    while True:
        try:
            one = next(stream, None)
        except (ValueError, OverflowError, IndexError):
            one = None  # past the last day of the calendar
        passed = (one or _END) - last
        work.left -= 1 + passed.days * weight
        if one is None or work.left <= 0:
            return
        last = one
        yield one


def _sub_daily(rule: Rule, first: datetime, work: Work) -> Iterator[datetime]:
    """Hours, minutes, seconds: steps from the start, or times of day laid over the days that the filters leave."""
    step = rule.interval * _SECONDS[rule.freq]
    filters = any((*_by_days(rule).values(), rule.byhour, rule.byminute, rule.bysecond))
    if not filters and not rule.bysetpos:
        return _steps(first, step)
    if rule.bysetpos or _DAY % step:
        raise RuleError("the rule filters hours, minutes or seconds in a way that is not computed")
    work.left -= _DAY // step
    begin = first.hour * 3600 + first.minute * 60 + first.second
    seconds = [second for second in range(begin % step, _DAY, step) if _fits(rule, second)]
    midnight = datetime.combine(first.date(), time())
    days = rrule.rrule(rrule.DAILY, dtstart=midnight, wkst=rule.wkst, **_by_days(rule))
    found = _measured(days, midnight, 1.0, work) if seconds else iter(())
    return (moment for day in found for moment in _of_day(day, seconds) if moment >= first)


def _fits(rule: Rule, second: int) -> bool:
    return (
        (not rule.byhour or second // 3600 in rule.byhour)
        and (not rule.byminute or second // 60 % 60 in rule.byminute)
        and (not rule.bysecond or second % 60 in rule.bysecond)
    )


def _of_day(day: datetime, seconds: Sequence[int]) -> Iterator[datetime]:
    return (day + timedelta(seconds=second) for second in seconds)


def _steps(first: datetime, step: int) -> Iterator[datetime]:
    room = int((_END - first).total_seconds()) // step
    return (first + timedelta(seconds=step * number) for number in range(room + 1))


def _number(parts: dict[str, Any], name: str) -> int | None:
    if name not in parts:
        return None
    value = int(next(iter(parts[name]), 0))
    if not 1 <= value <= 2**40:
        raise RuleError(f"{name} of the rule is out of range")
    return min(value, 10**12)


def _numbers(parts: dict[str, Any], name: str, least: int, most: int, *, signed: bool = False) -> tuple[int, ...]:
    values = sorted({int(value) for value in parts.get(name, ())})
    if any(not least <= (abs(value) if signed else value) <= most for value in values):
        raise RuleError(f"{name} of the rule is out of range")
    return tuple(values)


def _weekday(day: Any) -> tuple[int, int]:
    name = str(getattr(day, "weekday", day)).upper()
    relative = getattr(day, "relative", None)
    nth = int(relative) if relative is not None else 0
    if name not in _WEEKDAYS or abs(nth) > 53:
        raise RuleError("BYDAY of the rule is out of range")
    return _WEEKDAYS.index(name), nth
