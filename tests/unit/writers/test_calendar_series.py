"""When events take place: rules, zones, changed occurrences, bounds (W7)."""

# ruff: noqa: DTZ001 - rules are about local times
from __future__ import annotations

import itertools
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.domain.mirrors import mirror_settings
from kos_assets.writers.calendar import open_source
from kos_assets.writers.calendar.rules import RuleError, Work, parse_rule, times
from kos_assets.writers.calendar.words import in_words
from kos_assets.writers.calendar.zones import vtimezone
from kos_assets.writers.contract import Entry, Item, Skipped

START = datetime(2026, 3, 4, 10)


def entries(tmp_path: Path, *events: str, head: str = "VERSION:2.0", zone: str = "Europe/Berlin") -> list[Entry]:
    body = "\n".join(f"BEGIN:VEVENT\nUID:u\n{event}\nEND:VEVENT" for event in events)
    path = tmp_path / "a.ics"
    path.write_text(f"BEGIN:VCALENDAR\n{head}\n{body}\nEND:VCALENDAR\n")
    mirror = mirror_settings("calendar", {"path": str(path)})
    return list(open_source(mirror, vault=tmp_path, data_dir=tmp_path, zone=ZoneInfo(zone)).entries())


def one(tmp_path: Path, *events: str, head: str = "VERSION:2.0", zone: str = "Europe/Berlin") -> Item:
    (item,) = (entry for entry in entries(tmp_path, *events, head=head, zone=zone) if isinstance(entry, Item))
    return item


def listed(item: Item) -> list[str]:
    """The lines of the occurrences, without weekdays."""
    section = item.body.partition("## Occurrences\n\n")[2].partition("\n\n")[0]
    return [
        re.sub(r"[A-Z][a-z]+day (?=\d)", "", line.removeprefix("- ")) for line in section.strip().split("\n") if line
    ]


def starts(rule: str, start: datetime = START, most: int = 10) -> list[datetime]:
    return list(itertools.islice(times(parse_rule(rule), start, None, Work()), most))


def test_a_short_series_is_listed_whole_and_a_long_one_by_its_first_twenty(tmp_path: Path) -> None:
    """W7: all up to 60, else 20 and how many more; over 1,000 are not counted; endless ones say so."""
    event = "DTSTART:20260304T090000Z\nDURATION:PT30M\nRRULE:FREQ=DAILY"
    sixty = listed(one(tmp_path, f"{event};COUNT=60"))
    assert (len(sixty), sixty[-1]) == (60, "2026-05-02, 09:00 to 09:30")
    longer = listed(one(tmp_path, f"{event};COUNT=61"))
    assert (len(longer), longer[19:]) == (21, ["2026-03-23, 09:00 to 09:30", "and 41 more"])
    assert listed(one(tmp_path, f"{event};COUNT=1000000000"))[20:] == ["and more: over 1,000 in all"]
    assert listed(one(tmp_path, event))[20:] == ["and so on, without end"]
    assert listed(one(tmp_path, f"{event};UNTIL=20260306T090000Z")) == [
        f"2026-03-0{day}, 09:00 to 09:30" for day in (4, 5, 6)
    ]


def test_changed_moved_cancelled_and_dropped_occurrences(tmp_path: Path) -> None:
    """W7: RECURRENCE-ID, EXDATE, RDATE; a change far on is listed too, and counted once."""
    zone = ";TZID=Europe/Berlin"
    found = entries(
        tmp_path,
        f"DTSTART{zone}:20260304T100000\nDURATION:PT1H\nSUMMARY:Plan\nRRULE:FREQ=WEEKLY;COUNT=100\n"
        f"EXDATE{zone}:20260318T100000\nRDATE{zone}:20260305T120000",
        "RECURRENCE-ID:20260311T090000Z\nDTSTART:20260311T140000Z\nDURATION:PT2H\nSUMMARY:Plan, long\nLOCATION:Hall",
        f"RECURRENCE-ID{zone}:20260325T100000\nDTSTART{zone}:20260325T100000\nSTATUS:CANCELLED",
        f"RECURRENCE-ID{zone}:20270303T100000\nDTSTART{zone}:20270303T110000\nDURATION:PT1H",
    )
    (item,) = (entry for entry in found if isinstance(entry, Item))
    lines = listed(item)
    assert lines[:5] == [
        "2026-03-04, 10:00 to 11:00",
        "2026-03-05, 12:00 to 13:00",
        "2026-03-11, 15:00 to 17:00: moved from 2026-03-11 10:00; “Plan, long”; at Hall",
        "2026-03-25, 10:00: cancelled",
        "2026-04-01, 10:00 to 11:00",
    ]
    assert lines[20:] == [
        "2027-03-03, 11:00 to 12:00: moved from 2027-03-03 10:00",
        "and 79 more",
        "not on: 2026-03-18",
    ]
    assert Counter(entry.code for entry in found if isinstance(entry, Skipped)) == {"changed_occurrence": 3}


def test_this_and_all_future_occurrences(tmp_path: Path) -> None:
    """W7: RANGE=THISANDFUTURE moves what follows; a single change still wins."""
    item = one(
        tmp_path,
        "DTSTART:20260302T090000Z\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=4",
        "RECURRENCE-ID;RANGE=THISANDFUTURE:20260309T090000Z\nDTSTART:20260310T110000Z\nDURATION:PT30M",
        "RECURRENCE-ID:20260323T090000Z\nDTSTART:20260323T090000Z\nDURATION:PT1H",
    )
    assert listed(item) == [
        "2026-03-02, 09:00 to 10:00",
        "2026-03-10, 11:00 to 11:30: moved from 2026-03-09 09:00",
        "2026-03-17, 11:00 to 11:30: moved from 2026-03-16 09:00",
        "2026-03-23, 09:00 to 10:00",
    ]


def test_a_changed_occurrence_alone_and_one_named_by_its_day(tmp_path: Path) -> None:
    """W7: an invitation to one occurrence only; RECURRENCE-ID and EXDATE as dates of a timed series."""
    item = one(tmp_path, "RECURRENCE-ID:20260311T090000Z\nDTSTART:20260311T100000Z\nSUMMARY:Guest")
    assert (item.title, item.at) == ("Guest", datetime(2026, 3, 11, 10, tzinfo=UTC))
    item = one(
        tmp_path,
        "DTSTART:20260304T090000Z\nRRULE:FREQ=DAILY;COUNT=4\nEXDATE;VALUE=DATE:20260305",
        "RECURRENCE-ID;VALUE=DATE:20260306\nDTSTART:20260306T120000Z",
    )
    assert listed(item)[:3] == [
        "2026-03-04, 09:00",
        "2026-03-06, 12:00: moved from 2026-03-06 09:00",
        "2026-03-07, 09:00",
    ]


def test_all_day_and_long_events(tmp_path: Path) -> None:
    """W7: the end of whole days is the day after the last; the zone of the settings makes them a time."""
    item = one(tmp_path, "DTSTART;VALUE=DATE:20260304\nDTEND;VALUE=DATE:20260307\nRRULE:FREQ=YEARLY;UNTIL=20270401")
    assert item.at == datetime(2026, 3, 4, tzinfo=ZoneInfo("Europe/Berlin"))
    assert (item.properties["start"], item.properties["end"]) == ("2026-03-04", "2026-03-06")
    assert item.properties["all_day"] is True
    assert "- When: Wednesday 2026-03-04 to Friday 2026-03-06, all day\n" in item.body
    assert listed(item) == ["2026-03-04 to 2026-03-06, all day", "2027-03-04 to 2027-03-06, all day"]
    assert "22:00 to Thursday 2026-03-05 02:00" in one(tmp_path, "DTSTART:20260304T220000Z\nDURATION:PT4H").body


MICROSOFT = """BEGIN:VTIMEZONE
TZID:{name}
BEGIN:STANDARD
DTSTART:16010101T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:16010101T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3
END:DAYLIGHT
END:VTIMEZONE"""


@pytest.mark.parametrize(
    ("tzid", "utc", "label"),
    [
        ("Europe/Berlin", 8, "Europe/Berlin"),
        ("europe/berlin", 8, "Europe/Berlin"),
        ("Eastern Standard Time", 14, "America/New_York"),
        ("/mozilla.org/20070129_1/America/New_York", 14, "America/New_York"),
        ("Customized Time Zone", 8, "UTC+02:00"),
        ("(UTC-05:00) Somewhere", 15, "UTC-05:00"),
        ('"(UTC-05:00) Somewhere"', 15, "UTC-05:00"),
        ("GMT+0530", 4, "UTC+05:30"),
        ("Nowhere/Land", 8, "Europe/Berlin"),
        ("../../etc/passwd", 8, "Europe/Berlin"),
        ("Europe", 8, "Europe/Berlin"),
    ],
)
def test_names_of_zones(tmp_path: Path, tzid: str, utc: int, label: str) -> None:
    """W7: IANA, Windows, VTIMEZONE, paths, offsets; a name that says nothing takes the zone of the settings."""
    item = one(tmp_path, f"DTSTART;TZID={tzid}:20260701T100000", head=MICROSOFT.format(name="Customized Time Zone"))
    assert item.at is not None
    assert (item.at.astimezone(UTC).hour, item.zone) == (utc, label)
    assert ("problems" in item.properties) == (tzid in ("Nowhere/Land", "../../etc/passwd", "Europe"))


def test_floating_times_and_clock_changes(tmp_path: Path) -> None:
    """W7: floating is the zone of the settings; a time in the gap moves on, one that is there twice is the first."""
    assert one(tmp_path, "DTSTART:20260304T090000", zone="Asia/Tokyo").at == datetime(2026, 3, 4, 0, tzinfo=UTC)
    gap = one(tmp_path, "DTSTART;TZID=Europe/Berlin:20260329T023000\nDURATION:PT1H")
    assert gap.at == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    assert "03:30 to 04:30 (Europe/Berlin)" in gap.body
    twice = one(tmp_path, "DTSTART;TZID=Europe/Berlin:20261025T023000").at
    assert twice is not None
    assert twice.isoformat() == "2026-10-25T02:30:00+02:00"
    daily = one(tmp_path, "DTSTART;TZID=Europe/Berlin:20260328T090000\nRRULE:FREQ=DAILY;COUNT=2")
    assert listed(daily) == ["2026-03-28, 09:00", "2026-03-29, 09:00"]


@pytest.mark.parametrize("day", ["00010101", "15821015", "18700101", "19010615", "21500228", "99991231"])
def test_far_years(tmp_path: Path, day: str) -> None:
    """W7: events before 1970 and after 2100 have a time whose offset is whole minutes."""
    for line in (f"DTSTART;TZID=Europe/Berlin:{day}T235959", f"DTSTART;VALUE=DATE:{day}", f"DTSTART:{day}T000000Z"):
        item = one(tmp_path, f"{line}\nDURATION:P1D\nRRULE:FREQ=YEARLY;COUNT=3")
        assert item.at is not None
        offset = item.at.utcoffset()
        assert offset is not None
        assert offset % timedelta(minutes=1) == timedelta(0)
        assert f"{day[:4]}-{day[4:6]}-{day[6:]}" in item.body


def test_two_calendars_with_one_name_for_two_zones(tmp_path: Path) -> None:
    """W7: a VTIMEZONE holds in its own calendar only, also where it comes after the event."""
    early = MICROSOFT.format(name="Own")
    late = early.replace("+0200", "+0900").replace("+0100", "+0800")
    text = "".join(
        f"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:{uid}\nDTSTART;TZID=Own:20260101T120000\nEND:VEVENT\n{zone}\nEND:VCALENDAR\n"
        for uid, zone in (("a", early), ("b", late))
    )
    (tmp_path / "a.ics").write_text(text)
    mirror = mirror_settings("calendar", {"path": str(tmp_path)})
    source = open_source(mirror, vault=tmp_path, data_dir=tmp_path, zone=ZoneInfo("UTC"))
    assert [item.zone for item in source.entries() if isinstance(item, Item)] == ["UTC+01:00", "UTC+08:00"]


@pytest.mark.parametrize("rule", ["FREQ=SECONDLY", "FREQ=YEARLY;BYMINUTE=0,1,2,3", "FREQ=DAILY;BYMONTH=3"])
def test_zones_that_change_all_the_time_are_refused(rule: str) -> None:
    """W7: a VTIMEZONE is as hostile as a rule."""
    assert vtimezone(MICROSOFT.format(name="x").encode()) is not None
    assert vtimezone(re.sub("FREQ=[^\n]*", rule, MICROSOFT).encode()) is None
    assert vtimezone(b"BEGIN:VTIMEZONE\nTZID:x\nEND:VTIMEZONE") is None


def test_rules_give_the_days_of_the_standard() -> None:
    """W7: some examples of RFC 5545, 3.8.5.3, and times of day laid over days."""
    assert starts("FREQ=MONTHLY;BYDAY=-1FR;COUNT=2", most=2) == [datetime(2026, 3, 27, 10), datetime(2026, 4, 24, 10)]
    assert starts("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2", most=1) == [datetime(2026, 3, 30, 10)]
    assert starts("FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", most=1) == [datetime(2026, 5, 11, 10)]
    assert starts("FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8", most=1) == [
        datetime(2026, 11, 3, 10)
    ]
    assert starts("FREQ=MONTHLY;BYMONTHDAY=-1", most=1) == [datetime(2026, 3, 31, 10)]
    assert starts("FREQ=DAILY;BYHOUR=9,11", most=2) == [datetime(2026, 3, 4, 11), datetime(2026, 3, 5, 9)]
    assert starts("FREQ=HOURLY;INTERVAL=3", most=2) == [START, datetime(2026, 3, 4, 13)]
    assert starts("FREQ=HOURLY;INTERVAL=5", most=4)[3] == datetime(2026, 3, 5, 1)
    twenty = starts("FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10", most=5)
    assert [f"{moment:%d %H:%M}" for moment in twenty] == ["04 10:00", "04 10:20", "04 10:40", "05 09:00", "05 09:20"]
    assert starts("FREQ=YEARLY", datetime(1904, 2, 29), most=2) == [datetime(1904, 2, 29), datetime(1908, 2, 29)]
    assert starts("FREQ=YEARLY", datetime(9998, 1, 1)) == [datetime(9998, 1, 1), datetime(9999, 1, 1)]


SIXTY = ",".join(str(number) for number in range(60))
EVIL = [
    "FREQ=SECONDLY;COUNT=1000000000",
    "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30;BYHOUR=3;BYMINUTE=5;BYSECOND=7",
    "FREQ=MINUTELY;BYSETPOS=366",
    "FREQ=MINUTELY;INTERVAL=7;BYHOUR=3",
    f"FREQ=DAILY;BYHOUR=1,2,3;BYMINUTE={SIXTY};BYSECOND={SIXTY}",
    "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=WEEKLY;BYMONTH=2;BYSETPOS=366",
    "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31;COUNT=5",
    "FREQ=DAILY;INTERVAL=1000000000",
    "FREQ=DAILY;INTERVAL=0",
    "FREQ=DAILY;COUNT=-1",
    "FREQ=DAILY;COUNT=" + "9" * 1_000,
    "FREQ=NEVER",
    "FREQ=DAILY;BYHOUR=99",
    "RSCALE=HEBREW;FREQ=YEARLY;BYMONTH=5L",
    "FREQ=DAILY;UNTIL=PT5M",
    "COUNT=5",
    "=;=;;",
    "FREQ=YEARLY;BYDAY=" + ",".join(f"{nth}MO" for nth in range(1, 3_000)),
]


@pytest.mark.parametrize("rule", EVIL, ids=lambda rule: rule[:40])
def test_evil_rules_end_by_count_and_by_work(tmp_path: Path, rule: str) -> None:
    """W7: the event is kept with its start, whatever its rule; the work is bounded without a clock."""
    item = one(tmp_path, f"DTSTART:20260304T090000Z\nRRULE:{rule}")
    assert listed(item)[0] == "2026-03-04, 09:00"
    assert len(listed(item)) <= 62
    work = Work()
    try:
        found = sum(1 for _ in itertools.islice(times(parse_rule(rule), START, None, work), 2_000))
    except RuleError:
        found = 0
    assert found <= 2_000
    assert Work().left - work.left < 400_000


def test_the_work_of_one_run_is_bounded(tmp_path: Path) -> None:
    """W7: many evil rules together end too: then they are named, not computed."""
    work = Work(1_000_000)
    never = parse_rule("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30")
    for _ in range(10):
        if work.left > 0:
            assert list(times(never, START, None, work)) == []
    with pytest.raises(RuleError, match="too much computing"):
        list(times(never, START, None, work))


PARTS = (
    *("FREQ", "INTERVAL", "COUNT", "UNTIL", "BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYSETPOS", "BYHOUR"),
    *("BYMINUTE", "BYSECOND", "BYDAY", "WKST", "SKIP", "X"),
)
VALUES = (
    *("1", "-1", "0", "2", "29", "30", "31", "53", "366", "MO", "2TU", "-1SU", "DAILY", "SECONDLY", "HOURLY", "WEEKLY"),
    *("YEARLY", "20270101T000000Z", "5L", "x", ""),
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(PARTS), st.lists(st.sampled_from(VALUES), max_size=3)),
        max_size=6,
    )
)
def test_any_rule_is_read_or_refused_and_bounded(parts: list[tuple[str, list[str]]]) -> None:
    """W7: a rule of any parts raises RuleError or gives times in order, none before the start, in bounded work."""
    work = Work()
    try:
        rule = parse_rule(";".join(f"{name}={','.join(values)}" for name, values in [("FREQ", ["MONTHLY"]), *parts]))
        found = list(itertools.islice(times(rule, START, None, work), 50))
    except RuleError:
        return
    assert found == sorted(found)
    assert all(moment >= START for moment in found)
    assert Work().left - work.left < 400_000
    assert in_words(rule).startswith("every ")


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("FREQ=DAILY", "every day"),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE,FR;COUNT=10", "every 2 weeks on Monday, Wednesday and Friday, 10 times"),
        ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "every week on weekdays"),
        ("FREQ=MONTHLY;BYDAY=2TU", "every month on the 2nd Tuesday"),
        ("FREQ=MONTHLY;BYDAY=-2FR", "every month on the 2nd last Friday"),
        ("FREQ=MONTHLY;BYMONTHDAY=1,15,-1", "every month on days 1 and 15 and the last day"),
        ("FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU", "every year on the last Sunday in March"),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "every month on weekdays (only the last of each month)"),
        ("FREQ=DAILY;BYHOUR=9,14;BYMINUTE=30", "every day at 09:30 and 14:30"),
        ("FREQ=YEARLY;BYWEEKNO=11", "every year in week 11"),
        ("FREQ=YEARLY;BYYEARDAY=112", "every year on day 112 of the year"),
    ],
)
def test_rules_in_words(rule: str, words: str) -> None:
    """W7: recurrence in words."""
    assert in_words(parse_rule(rule)) == words
