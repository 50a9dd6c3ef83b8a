"""Copies of one event and its changed occurrences as one series, and when it takes place (W7).

Here: which copy of a UID wins, which occurrences there are, bounded without a clock. Not here: reading events
(event.py) or single rules (rules.py), the note (page.py).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from typing import Final

from kos_assets.writers.calendar.event import Event, Moment
from kos_assets.writers.calendar.rules import Rule, RuleError, Work, parse_rule, times
from kos_assets.writers.calendar.words import in_words
from kos_assets.writers.calendar.zones import Zones, aware

ALL_UP_TO: Final = 60
FIRST: Final = 20
COUNTED: Final = 1_000
_MOST_CHANGED: Final = 200
_ANSWERS: Final = frozenset(("REPLY", "REFRESH", "COUNTER", "DECLINECOUNTER", "ADD"))
_FAR: Final = 90  # years; rules.times goes at least 100 years on
_ONE_DAY: Final = timedelta(days=1)


@dataclass(frozen=True)
class Copy:
    """One component as it was found: what it says, and of its calendar the METHOD, the zones and the name."""

    event: Event
    zones: Zones
    method: str = ""
    calendar: str = ""

    @property
    def cancels(self) -> bool:
        """Whether it says that the event does not take place."""
        return self.method == "CANCEL" or self.event.cancelled


@dataclass(frozen=True)
class Series:
    """The winning copies. `main` is the whole series, or the earliest changed occurrence where only such are there.
    `changed` by the local time (in the main zone) of the occurrence that is meant. `folded`: how many copies became
    part of the note (changed occurrences), were older, or were answers to invitations."""

    main: Copy
    cancelled: bool
    partial: bool
    changed: Mapping[datetime, Copy]
    folded: int
    older: int
    answers: int


@dataclass(frozen=True)
class Occurrence:
    """One time at which it takes place, naive in the main zone. `meant` is where the rule puts it, if it was moved.
    `change` is the copy that says what is different; `cancelled` wins over that."""

    start: datetime
    end: datetime
    all_day: bool
    meant: datetime
    change: Copy | None = None
    cancelled: bool = False


@dataclass(frozen=True)
class Calendar:
    """When a series takes place. `more`: how many are not shown, None where that is not known or has no end.
    `endless`: a rule of it has no end. `capped`: it ends, after more than 1,000. `words` has each rule in words."""

    shown: Sequence[Occurrence] = ()
    more: int | None = 0
    endless: bool = False
    capped: bool = False
    words: Sequence[str] = ()
    left_out: Sequence[datetime] = ()
    problems: Sequence[str] = ()
    recurs: bool = False


def settle(copies: Sequence[Copy]) -> Series | None:
    """The series that copies of one UID give, in the order in which they were found. None where none of them says when
    it is. Higher SEQUENCE wins, then later LAST-MODIFIED or DTSTAMP, then a cancellation, then the later copy."""
    real = [copy for copy in copies if copy.method not in _ANSWERS] or list(copies)
    mains = [copy for copy in real if copy.event.recurrence_id is None]
    main, cancelled = _winner(mains)
    partial = main is None
    if main is None:
        dated = [copy for copy in real if copy.event.start is not None]
        main = min(dated, key=_utc, default=None)
    if main is None or main.event.start is None:
        return None
    places: dict[datetime, list[Copy]] = {}
    for copy in real:
        if copy.event.recurrence_id is not None:
            places.setdefault(meant_at(copy, main), []).append(copy)
    changed = {place: _last(group) for place, group in sorted(places.items())}
    older = len(real) - len(changed) - (0 if partial else 1)
    cancelled = cancelled or (partial and all(copy.cancels for copy in changed.values()))
    folded = len(changed) - (1 if partial else 0)
    return Series(main, cancelled, partial, changed, folded, older, len(copies) - len(real))


def meant_at(copy: Copy, main: Copy) -> datetime:
    """The occurrence that a changed one replaces: naive, in the zone of the series."""
    return _local(copy.event.recurrence_id or copy.event.begins, copy.zones, main)


def calendar_of(series: Series, work: Work) -> Calendar:
    """The occurrences of a series: all when they end and are 60 at most, else the first 20 and all changed ones.

    Nothing depends on the day of the run. A rule that is not computed leaves the start and the changed occurrences,
    with the reason in `problems`.
    """
    main = series.main
    event, start = main.event, _start(series)
    if not (event.rules or event.rdates or series.changed):
        return Calendar()
    reading = _Reading(series, work)
    places, ended = reading.regular(start)
    shown = places if ended and len(places) <= ALL_UP_TO else places[:FIRST]
    found = [reading.occurrence(place) for place in shown]
    beside = [place for place in series.changed if place not in reading.used]
    known = set(places)
    more = len(places) - len(shown) - sum(place in known for place in beside) if ended else None
    found += [reading.occurrence(place) for place in beside[:_MOST_CHANGED]]
    return Calendar(
        shown=sorted(found, key=lambda one: (one.start, one.meant)),
        more=more,
        endless=reading.endless and not reading.stopped,
        capped=reading.capped,
        words=reading.words,
        left_out=sorted(reading.left_out)[:FIRST],
        problems=tuple(dict.fromkeys(reading.problems)),
        recurs=bool(event.rules or event.rdates),
    )


def span(copy: Copy, main: Copy) -> tuple[datetime, datetime]:
    """Start and end of a copy: naive, in the zone of the series. An end before its start, or of another type, is the
    start; an all-day event without an end has one day, and its end is the day after."""
    event, begins = copy.event, copy.event.begins
    start = _local(begins, copy.zones, main)
    end = plus(start, _ONE_DAY if begins.all_day else timedelta(0))
    if event.end is not None and event.end.all_day == begins.all_day:
        end = max(end, _local(event.end, copy.zones, main))
    elif event.end is None and event.length is not None:
        end = max(end, plus(start, event.length))
    return start, end


@dataclass
class _Reading:
    """The rules of one series while they are turned into times."""

    series: Series
    work: Work
    words: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    left_out: set[datetime] = field(default_factory=set)
    used: set[datetime] = field(default_factory=set)
    endless: bool = False
    stopped: bool = False
    capped: bool = False

    def regular(self, start: datetime) -> tuple[list[datetime], bool]:
        """The times by rule and date, the first ones of many, and whether these are all."""
        main, event = self.series.main, self.series.main.event
        dates = [_local(moment, main.zones, main) for moment in event.rdates]
        out = {_local(moment, main.zones, main) for moment in event.exdates if not self._whole_day(moment)}
        days = {moment.local.date() for moment in event.exdates if self._whole_day(moment)}
        streams: list[Iterator[datetime]] = [iter([start]), iter(sorted(dates))]
        streams += [self._stream(text, start) for text in event.rules]
        found: list[datetime] = []
        most = FIRST if self.endless else COUNTED
        for steps, place in enumerate(_distinct(heapq.merge(*streams))):
            if place in out or place.date() in days:
                self.left_out.add(place)
            else:
                found.append(place)
            if len(found) > most or steps > 2 * COUNTED + len(out):
                self.capped = not self.endless
                return found, False
        return found, not self.stopped

    def occurrence(self, place: datetime) -> Occurrence:
        """What takes place at (or instead of) a time of the rule."""
        main = self.series.main
        start = main.event.begins
        length = main.event.rdate_lengths.get(Moment(place, start.tzid))
        meant = place if place in self.series.changed else self._by_day.get(place.date(), place)
        self.used.add(meant)
        change = self.series.changed.get(meant) or self._standing(place)
        if change is None or change.event.start is None:
            end = plus(place, length if length is not None else self._length)
            return Occurrence(place, end, start.all_day, place, None, change is not None and change.cancels)
        begin, end = span(change, main)
        if change.event.and_future:
            moved = place - meant_at(change, main)
            begin, end = plus(begin, moved), plus(end, moved)
        return Occurrence(begin, end, change.event.start.all_day, place, change, change.cancels)

    def _standing(self, place: datetime) -> Copy | None:
        """The change of this and all future occurrences that holds at a time."""
        return next((copy for began, copy in reversed(self._future) if began <= place), None)

    @cached_property
    def _future(self) -> list[tuple[datetime, Copy]]:
        return [(place, copy) for place, copy in self.series.changed.items() if copy.event.and_future]

    @cached_property
    def _by_day(self) -> Mapping[date, datetime]:
        """Changed occurrences of a timed series that are named by their day alone."""
        named = ((place, copy.event.recurrence_id) for place, copy in self.series.changed.items())
        return {place.date(): place for place, moment in named if moment is not None and self._whole_day(moment)}

    @cached_property
    def _length(self) -> timedelta:
        first, last = span(self.series.main, self.series.main)
        return last - first

    def _whole_day(self, moment: Moment) -> bool:
        return moment.all_day and not self.series.main.event.begins.all_day

    def _stream(self, text: str, start: datetime) -> Iterator[datetime]:
        """The times of one rule, the start being the first; COUNT includes it."""
        try:
            rule = parse_rule(text)
        except RuleError as error:
            self.problems.append(f"a recurrence rule is not applied: {error.what}")
            self.stopped = True
            return iter(())
        until = _until(rule, self.series.main)
        self.words.append(in_words(rule, until.date().isoformat() if until is not None else ""))
        far = until is None or until.year - start.year > _FAR
        self.endless = self.endless or (rule.count is None and far)
        return self._counted(rule, start, until)

    def _counted(self, rule: Rule, start: datetime, until: datetime | None) -> Iterator[datetime]:
        left = None if rule.count is None else rule.count - 1
        try:
            for moment in times(rule, start, until, self.work):
                if left is not None and left <= 0:
                    return
                if moment > start:
                    left = None if left is None else left - 1
                    yield moment
        except RuleError as error:
            self.problems.append(f"the occurrences of a rule are not listed: {error.what}")
            self.stopped = True
        else:
            self.stopped = self.stopped or bool(left)


def _start(series: Series) -> datetime:
    return span(series.main, series.main)[0] if not series.partial else meant_at(series.main, series.main)


def _winner(copies: Iterable[Copy]) -> tuple[Copy | None, bool]:
    """The copy that counts, and whether the event is cancelled. A cancellation says often little more than that: the
    best other copy that is not newer then says the rest."""
    ranked = sorted(copies, key=_rank)
    if not ranked:
        return None, False
    last = ranked[-1]
    if not last.cancels:
        return last, False
    full = [copy for copy in ranked if not copy.cancels and copy.event.start is not None]
    poor = last.event.start is None or not last.event.summary
    return (full[-1] if poor and full else last), True


def _last(copies: Sequence[Copy]) -> Copy:
    return max(copies, key=_rank)


def _rank(copy: Copy) -> tuple[int, str, bool]:
    return copy.event.sequence, copy.event.modified, copy.cancels


def _local(moment: Moment, zones: Zones, main: Copy) -> datetime:
    """A moment as naive time in the zone of the series. Dates stay dates; floating times stay as they are."""
    start = main.event.begins
    if moment.all_day or start.all_day or moment.tzid == start.tzid:
        return datetime.combine(moment.local.date(), time()) if start.all_day else moment.local
    own = zones.of(moment.tzid)
    if own.floating:
        return moment.local
    try:
        return aware(moment.local, own.tz).astimezone(main.zones.of(start.tzid).tz).replace(tzinfo=None, fold=0)
    except (OverflowError, ValueError):
        return moment.local


def _until(rule: Rule, main: Copy) -> datetime | None:
    """The end of a rule as naive time in the zone of the series; a date holds to its end."""
    if rule.until is None:
        return None
    if not isinstance(rule.until, datetime):
        return datetime.combine(rule.until, time(23, 59, 59))
    moment = Moment(rule.until.replace(tzinfo=None), None if rule.until.tzinfo is None else "UTC")
    if main.event.begins.all_day:
        return datetime.combine(moment.local.date(), time(23, 59, 59))
    return _local(moment, main.zones, main)


def _utc(copy: Copy) -> datetime:
    moment = copy.event.recurrence_id or copy.event.begins
    return copy.zones.aware(moment).astimezone(UTC) if moment.local.year > 1 else datetime.min.replace(tzinfo=UTC)


def plus(moment: datetime, length: timedelta) -> datetime:
    """The sum; the moment itself where that lies after the year 9999."""
    try:
        return moment + length
    except OverflowError:
        return moment


def _distinct(moments: Iterable[datetime]) -> Iterator[datetime]:
    last: datetime | date | None = None
    for moment in moments:
        if moment != last:
            yield moment
        last = moment
