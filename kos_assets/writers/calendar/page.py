"""The note of a series: its facts, people, occurrences and description as one item (W7).

Here: how a series reads. Not here: what it says (event.py, series.py) or the file (writers/note.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Final

from kos_assets.domain.frame import cut_recalled
from kos_assets.writers.calendar.event import Event
from kos_assets.writers.calendar.people import Person
from kos_assets.writers.calendar.series import COUNTED, Calendar, Copy, Occurrence, Series, plus, span
from kos_assets.writers.calendar.words import weekday
from kos_assets.writers.calendar.zones import aware, zone_label
from kos_assets.writers.contract import Item, Value

_ANSWERS: Final = {
    "accepted": "accepted",
    "declined": "declined",
    "tentative": "tentative",
    "delegated": "delegated",
    "needs-action": "no answer yet",
}
_ROLES: Final = {"chair": "chair", "opt-participant": "optional", "non-participant": "for information"}
_ONE_DAY: Final = timedelta(days=1)


@dataclass(frozen=True)
class _Times:
    """When the series is, in words, and its first start as aware time."""

    at: datetime
    start: str
    end: str
    when: str
    zone: str


def item(series: Series, calendar: Calendar, *, origin: str) -> Item:
    """The note of a series. The same series gives the same item, whatever the clock and the order of its files."""
    main, event = series.main, series.main.event
    times = _times(main)
    problems = [*event.problems, *calendar.problems, *_zone_problems(main)]
    invited = _invited(series)
    properties = _properties(series, calendar, times)
    properties |= _listed("rooms", (one.label for one in invited if one.kind in ("room", "resource")))
    properties |= _listed("groups", (one.label for one in invited if one.kind == "group"))
    properties |= _listed("problems", problems)
    sections = [_head(series, calendar, times, invited), _people(event, invited), _occurrences(main, calendar)]
    sections.append(f"## Description\n\n{event.description}" if event.description else "")
    return Item(
        external_id=event.uid or event.digest,
        title=_line(event.summary) or "Untitled event",
        body="\n\n".join(section for section in sections if section) + "\n",
        at=times.at,
        zone=times.zone,
        people=[_line(one.label) for one in invited if one.kind == "person"],
        attachments=[_line(name) for name in event.attachments],
        tags=[_line(name) for name in event.categories],
        properties=properties,
        folder=f"{times.at.year:04}",
        origin=origin,
    )


def _times(main: Copy) -> _Times:
    event = main.event
    start = event.begins
    zone = main.zones.of(None if start.all_day else start.tzid)
    begin, end = span(main, main)
    at = aware(begin, zone.tz)
    if start.all_day:
        last = max(begin, end - _ONE_DAY)
        return _Times(at, _day(begin), _day(last), _day_span(begin, end), zone_label(zone, at))
    label = zone_label(zone, at)
    shown = at.replace(tzinfo=None) if at.tzinfo is not UTC else begin
    finish = plus(shown, end - begin)
    when = f"{_day_span(shown, finish, all_day=False)} ({label})"
    if not zone.known:
        when += f", written in an unknown zone {_line(start.tzid or '')!r}"
    return _Times(
        at, f"{_day(shown)} {shown:%H:%M}", f"{_day(finish)} {finish:%H:%M}" if finish > shown else "", when, label
    )


def _properties(series: Series, calendar: Calendar, times: _Times) -> dict[str, Value]:
    event = series.main.event
    status = "cancelled" if series.cancelled else event.status
    texts = {
        "kind": "event",
        "start": times.start,
        "end": times.end,
        "location": event.location,
        "status": status,
        "organizer": event.organizer.label if event.organizer is not None else "",
        "repeats": "; ".join(calendar.words),
        "conference": event.conference,
        "url": event.url,
        "calendar": series.main.calendar,
    }
    found: dict[str, Value] = {key: line for key, text in texts.items() if (line := _line(text))}
    if event.begins.all_day:
        found["all_day"] = True
    if event.rules:
        found["rrule"] = [_line(rule)[:500] for rule in event.rules]
    return found


def _head(series: Series, calendar: Calendar, times: _Times, invited: Sequence[Person]) -> str:
    event = series.main.event
    rooms = [one.name or one.address for one in invited if one.kind in ("room", "resource")]
    where = ", ".join(dict.fromkeys(filter(None, (event.location, *rooms))))
    cancelled = "cancelled; it does not take place" if series.cancelled else ""
    parts = {
        "Status": cancelled or ("tentative" if event.status == "tentative" else ""),
        "When": times.when,
        "Repeats": "; ".join(calendar.words),
        "Where": where,
        "Join": event.conference,
        "Link": event.url if event.url != event.conference else "",
        "Attachments": ", ".join(event.attachments),
    }
    lines = [f"- {name}: {line}" for name, text in parts.items() if (line := _line(text))]
    return "\n".join(lines)


def _invited(series: Series) -> list[Person]:
    """Everyone of the series and of its changed occurrences, the organizer first, each once."""
    found: dict[str, Person] = {}
    for event in (series.main.event, *(copy.event for copy in series.changed.values())):
        for one in (*((event.organizer,) if event.organizer is not None else ()), *event.attendees):
            key = (one.address or one.name).casefold()
            known = found.get(key)
            if known is None or (not known.answer and one.answer and known.kind == one.kind):
                found[key] = one
    return list(found.values())


def _people(event: Event, invited: Sequence[Person]) -> str:
    organizer = event.organizer.address.casefold() or event.organizer.name.casefold() if event.organizer else None
    lines = []
    for one in invited:
        if one.kind in ("room", "resource"):
            continue
        notes = [
            "organizer" if (one.address or one.name).casefold() == organizer else "",
            "group" if one.kind == "group" else "",
            _ANSWERS.get(one.answer, ""),
            _ROLES.get(one.role, ""),
        ]
        said = ", ".join(note for note in notes if note)
        lines.append(f"- {_line(one.label)}" + (f": {said}" if said else ""))
    return "## People\n\n" + "\n".join(lines) if lines else ""


def _occurrences(main: Copy, calendar: Calendar) -> str:
    shown = calendar.shown
    if not shown or (not calendar.recurs and len(shown) == 1 and shown[0].start == shown[0].meant):
        return ""
    lines = [f"- {_occurrence(one, main)}" for one in shown]
    rest = _rest(calendar)
    lines += [f"- {rest}"] if rest else []
    if calendar.left_out:
        days = ", ".join(_day(place) for place in calendar.left_out)
        lines.append(f"- not on: {days}")
    return "## Occurrences\n\n" + "\n".join(lines)


def _rest(calendar: Calendar) -> str:
    if calendar.more:
        return f"and {calendar.more} more"
    if calendar.more == 0 or not calendar.recurs:
        return ""
    if calendar.endless:
        return "and so on, without end"
    return f"and more: over {COUNTED:,} in all" if calendar.capped else "more are not listed"


def _occurrence(one: Occurrence, main: Copy) -> str:
    text = _day_span(one.start, one.end, all_day=one.all_day)
    notes = ["cancelled"] if one.cancelled else []
    if one.start != one.meant:
        notes.append(f"moved from {_day(one.meant)}" + ("" if one.all_day else f" {one.meant:%H:%M}"))
    if one.change is not None and not one.cancelled:
        change, event = one.change.event, main.event
        notes += [f"“{change.summary}”"] if change.summary and change.summary != event.summary else []
        notes += [f"at {change.location}"] if change.location and change.location != event.location else []
        differs = change.description and change.description != event.description
        notes += [_brief(change.description)] if differs else []
    return text + (": " + _line("; ".join(notes)) if notes else "")


def _brief(text: str) -> str:
    line = _line(text)
    return line if len(line) <= 300 else line[:299].rstrip() + "…"


def _day_span(begin: datetime, end: datetime, *, all_day: bool = True) -> str:
    """`Monday 2026-03-02, 10:00 to 11:00`; the end of whole days is the last day, not the day after."""
    if all_day:
        last = max(begin, end - _ONE_DAY) if end > begin else begin
        until = f" to {weekday(last)} {_day(last)}" if last > begin else ""
        return f"{weekday(begin)} {_day(begin)}{until}, all day"
    text = f"{weekday(begin)} {_day(begin)}, {begin:%H:%M}"
    if end <= begin:
        return text
    later = f"{end:%H:%M}" if end.date() == begin.date() else f"{weekday(end)} {_day(end)} {end:%H:%M}"
    return f"{text} to {later}" if end.time() != time() or end - begin != _ONE_DAY else f"{text} to 24:00"


def _day(moment: datetime) -> str:
    """2026-03-04; strftime does not fill up years before 1000."""
    return moment.date().isoformat()


def _zone_problems(main: Copy) -> Iterable[str]:
    tzid = main.event.begins.tzid
    if not main.zones.of(tzid).known:
        yield f"the time zone {_line(tzid or '')!r} is not known; the zone of the settings was taken"


def _listed(name: str, values: Iterable[str]) -> Mapping[str, Value]:
    lines = list(dict.fromkeys(line for value in values if (line := _line(value))))
    return {name: lines} if lines else {}


def _line(text: str) -> str:
    """One line, without what was recalled (W8): a property or a bullet is not cut by the mirror."""
    return " ".join(cut_recalled(text)[0].split())
