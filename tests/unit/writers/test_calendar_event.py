"""One event from bytes: values, people, links, HTML, and whatever else the bytes may be (W7)."""

# ruff: noqa: DTZ001 - what is written in a calendar is local time
from __future__ import annotations

import contextlib
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.writers.calendar import Event, EventError, parse_event
from kos_assets.writers.calendar.richtext import is_html, to_markdown

FULL = rb"""BEGIN:VEVENT
UID:full@x.example
DTSTAMP:20260101T000000Z
LAST-MODIFIED:20260102T000000Z
SEQUENCE:3
DTSTART;TZID="Europe/Berlin":20260304T100000
DTEND;TZID=Europe/Berlin:20260304T113000
RRULE:FREQ=WEEKLY;COUNT=5;BYDAY=WE
RDATE;VALUE=PERIOD:20260305T090000Z/PT2H,20260306T090000Z/20260306T100000Z
EXDATE;VALUE=DATE:20260311
SUMMARY;LANGUAGE=en:Plan\, part 2\; with\\slash
LOCATION:Hall\nNorth
STATUS:CONFIRMED
ORGANIZER;CN="Moss, Ada";SENT-BY="mailto:desk@x.example":mailto:ada@x.example
ATTENDEE;CN=Ben ^'the^' Fern;PARTSTAT=DECLINED;ROLE=OPT-PARTICIPANT:mailto:ben@x.example
ATTENDEE;CUTYPE=ROOM;CN=Room:mailto:room@x.example
ATTENDEE;EMAIL=cat@x.example:urn:uuid:1234
CATEGORIES:one,two\, three
URL:https://x.example/plan?a=%3A
CONFERENCE;VALUE=URI;FEATURE=VIDEO;LABEL="Join: here":https://video.x.example/1
X-ALT-DESC;FMTTYPE=text/html:<p>Rich <b>text</b></p>
DESCRIPTION:plain text
BEGIN:VALARM
UID:alarm
DTSTART:19990101T000000Z
SUMMARY:alarm
END:VALARM
END:VEVENT
""".replace(b"\n", b"\r\n")


def parsed(*lines: str) -> Event:
    return parse_event(
        "\r\n".join(["BEGIN:VEVENT", "UID:a", "DTSTART:20260304T090000Z", *lines, "END:VEVENT"]).encode()
    )


def test_every_wanted_part_of_an_event_is_read() -> None:
    """W7: escapes, quoted parameters, RFC 6868, periods; alarms are ignored."""
    event = parse_event(FULL)
    assert (event.uid, event.sequence, event.modified, event.status) == (
        "full@x.example",
        3,
        "20260102000000",
        "confirmed",
    )
    assert event.start is not None
    assert (event.start.local, event.start.tzid, event.start.all_day) == (
        datetime(2026, 3, 4, 10),
        "Europe/Berlin",
        False,
    )
    assert event.summary == "Plan, part 2; with\\slash"
    assert event.location == "Hall North"
    assert event.organizer is not None
    assert event.organizer.label == "Moss, Ada <ada@x.example>"
    ben, room, cat = event.attendees
    assert (ben.name, ben.answer, ben.role, ben.kind) == ('Ben "the" Fern', "declined", "opt-participant", "person")
    assert (room.kind, cat.label) == ("room", "cat@x.example")
    assert event.categories == ("one", "two, three")
    assert (event.url, event.conference) == ("https://x.example/plan?a=%3A", "https://video.x.example/1")
    assert event.description == "Rich **text**"
    assert [moment.local.day for moment in event.rdates] == [5, 6]
    assert list(event.rdate_lengths.values()) == [timedelta(hours=2), timedelta(hours=1)]
    assert event.exdates[0].all_day
    assert event.problems == ()


@pytest.mark.parametrize(
    ("line", "local", "tzid", "all_day"),
    [
        ("DTSTART;VALUE=DATE:20260304", datetime(2026, 3, 4), None, True),
        ("DTSTART:20260304", datetime(2026, 3, 4), None, True),
        ("DTSTART;VALUE=DATE:20260304T000000", datetime(2026, 3, 4), None, True),
        ("DTSTART:20260304T0900", datetime(2026, 3, 4, 9), None, False),
        ("DTSTART:20260304T090000", datetime(2026, 3, 4, 9), None, False),
        ("DTSTART:2026-03-04T09:00:00+02:00", datetime(2026, 3, 4, 9), "UTC+0200", False),
        ("DTSTART:20260304T090060Z", datetime(2026, 3, 4, 9, 0, 59), "UTC", False),
        ("DTSTART;TZID=Nowhere/Land:19000304T090000", datetime(1900, 3, 4, 9), "Nowhere/Land", False),
        ("DTSTART:99991231T235959Z", datetime(9999, 12, 31, 23, 59, 59), "UTC", False),
    ],
)
def test_forms_of_a_start(line: str, local: datetime, tzid: str | None, all_day: bool) -> None:
    """W7: dates, times, zones, and forms that programs write against the standard."""
    start = parse_event(f"BEGIN:VEVENT\n{line}\nEND:VEVENT".encode()).begins
    assert (start.local, start.tzid, start.all_day) == (local, tzid, all_day)


@pytest.mark.parametrize(
    "data", [b"", b"BEGIN:VTODO\nUID:a\nEND:VTODO", b"BEGIN:VEVENT", b"BEGIN:VEVENT\nDTSTART:0000"]
)
def test_what_is_no_event_is_an_event_error(data: bytes) -> None:
    """W7: the only error is EventError, and it says what to do."""
    with pytest.raises(EventError) as error:
        parse_event(data)
    assert error.value.fix


def test_a_bad_line_costs_only_itself() -> None:
    """W7: what cannot be read is named, the rest stands."""
    event = parsed(
        "SUMMARY:Plan", "DTEND:later", "DURATION:-P1D", "RDATE:20260305T090000Z,junk", "EXRULE:FREQ=DAILY", 'X;Y="'
    )
    assert event.summary == "Plan"
    assert len(event.rdates) == 1
    assert set(event.problems) == {
        "DTEND cannot be read",
        "DURATION cannot be read",
        "a date of RDATE cannot be read",
        "EXRULE is not applied",
    }


def test_html_in_a_plain_description_becomes_markdown() -> None:
    """W7: as some calendars write it; plain text with angle brackets stays as it is."""
    event = parsed('DESCRIPTION:One<br>two <a href="javascript:x()">bad</a> <a href="https://x.example/">good</a>')
    assert event.description.split() == ["One", "two", "bad", "[good](https://x.example/)"]
    assert parsed("DESCRIPTION:a < b\\nAda <ada@x.example>").description == "a < b\nAda <ada@x.example>"
    assert not is_html("x <= y and y >= z <https://x.example>")


@pytest.mark.parametrize(
    "html", ["<div>" * 20_000 + "deep", "<p>" * 5_000 + "x" + "</p>", "<" * 50_000 + "<b>x", "<a " * 30_000 + "<br>x"]
)
def test_hostile_html_is_bounded(html: str) -> None:
    """W7: no recursion on the depth of the input, no slow pattern."""
    assert len(to_markdown(html)) <= len(html) + 10


def test_huge_values_are_cut() -> None:
    """W7: sizes are bounded, and what was cut is said."""
    people = [f"ATTENDEE:mailto:p{number}@x.example" for number in range(600)]
    dates = "RDATE:" + ",".join(
        ["20260305T090000Z", *(f"2026{1 + n // 672:02}{1 + n // 24 % 28:02}T{n % 24:02}3000Z" for n in range(6_000))]
    )
    event = parsed("DESCRIPTION:" + "word " * 40_000, "SUMMARY:" + "t" * 5_000, *people, dates)
    assert len(event.description) <= 100_000
    assert (len(event.summary), len(event.attendees), len(event.rdates)) == (1_000, 500, 5_000)
    assert any("description" in problem for problem in event.problems)
    assert any("RDATE" in problem for problem in event.problems)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """The event above with pieces dropped, doubled, swapped or overwritten."""
    data = FULL
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        odd = [
            b"\n",
            b"\r",
            b" ",
            b"\0",
            b":",
            b";",
            b'"',
            b"\\",
            b",",
            b"=",
            b"\xff",
            b"BEGIN:VEVENT\n",
            b"END:",
            b"99999999",
            b"-1",
            b"/",
            b"%",
            b"TZID=../x",
        ]
        piece = draw(st.one_of(st.sampled_from([*odd, data[start:end] * 2, b""]), st.binary(max_size=6)))
        data = data[:start] + piece + data[end:]
    return data


@settings(max_examples=250, deadline=None)
@given(mutated())
def test_mutated_events_raise_event_error_or_nothing(data: bytes) -> None:
    """W7: whatever the bytes, an Event or an EventError comes of them, the same one each time."""
    try:
        event = parse_event(data)
    except EventError:
        return
    assert event == parse_event(data)
    assert event.uid or event.start is not None


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_raise_event_error_or_nothing(data: bytes) -> None:
    """W7: also for bytes that never were a calendar."""
    with contextlib.suppress(EventError):
        assert parse_event(b"BEGIN:VEVENT\n" + data).problems is not None
