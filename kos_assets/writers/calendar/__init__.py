"""Calendars: one note per series of events of .ics files (W7).

Here: what the rest of the product calls. Not here: how any of it works: places (which files), cutting (a file into
components), event (one component), zones, rules and words (recurrence), series (copies and changed occurrences), page
(the note), source (the run).
"""

from __future__ import annotations

from kos_assets.writers.calendar.event import Event, EventError, parse_event
from kos_assets.writers.calendar.source import CalendarSource, open_source

__all__ = ["CalendarSource", "Event", "EventError", "open_source", "parse_event"]
