"""Written dates: what is recognised, and in which zone."""

from __future__ import annotations

import datetime as dt
import time
from zoneinfo import ZoneInfo

import pytest

from kos_assets.vault import dates
from kos_assets.vault.yaml_block import Json

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("value", "expected", "zone"),
    [
        ("2026-03-04", "2026-03-03T23:00", "Europe/Berlin"),
        ("2026-07-04", "2026-07-03T22:00", "Europe/Berlin"),
        ("2026-03-04 10:15", "2026-03-04T09:15", "Europe/Berlin"),
        ("2026-03-04T10:15:30Z", "2026-03-04T10:15:30", "UTC"),
        ("2026-03-04T10:15+0200", "2026-03-04T08:15", "+02:00"),
        ("2026-03-04T10:15:00-05:30", "2026-03-04T15:45", "-05:30"),
        ("2026/3/4", "2026-03-03T23:00", "Europe/Berlin"),
        ("20260304", "2026-03-03T23:00", "Europe/Berlin"),
        (20260304, "2026-03-03T23:00", "Europe/Berlin"),
        (202603041015, "2026-03-04T09:15", "Europe/Berlin"),
        (1646388000000, "2022-03-04T10:00", "UTC"),
        (1646388000, "2022-03-04T10:00", "UTC"),
        ("1646388000000", "2022-03-04T10:00", "UTC"),
        ("[[2026-03-04]]", "2026-03-03T23:00", "Europe/Berlin"),
        ("March 4th, 2026 3:30 PM", "2026-03-04T14:30", "Europe/Berlin"),
        ("4 Mar 2026, 12:05 am", "2026-03-03T23:05", "Europe/Berlin"),
        ("04.03.2026 10:15", "2026-03-04T09:15", "Europe/Berlin"),
        ("Wed, 04 Mar 2026 10:00:00 -0500", "2026-03-04T15:00", "-05:00"),
        ("2026年3月4日", "2026-03-03T23:00", "Europe/Berlin"),
        ("2026-W10", "2026-03-01T23:00", "Europe/Berlin"),
        ("4. März 2026 um 10:15 Uhr", "2026-03-04T09:15", "Europe/Berlin"),
        ("1er août 2026", "2026-07-31T22:00", "Europe/Berlin"),
        ("4 mars 2026 à 10:15", "2026-03-04T09:15", "Europe/Berlin"),
        ("4 de marzo de 2026", "2026-03-03T23:00", "Europe/Berlin"),
        ("4 marzo 2026", "2026-03-03T23:00", "Europe/Berlin"),
        ("4 maart 2026", "2026-03-03T23:00", "Europe/Berlin"),
        ("4 de março de 2026", "2026-03-03T23:00", "Europe/Berlin"),
        ("4 marca 2026 r.", "2026-03-03T23:00", "Europe/Berlin"),
        ("4 марта 2026 г. в 10:15", "2026-03-04T09:15", "Europe/Berlin"),
        ("2026年3月4日 10:15", "2026-03-04T09:15", "Europe/Berlin"),
        ("２０２６年３月４日", "2026-03-03T23:00", "Europe/Berlin"),
        ("2026년 3월 4일", "2026-03-03T23:00", "Europe/Berlin"),
        ("2026. 3. 4.", "2026-03-03T23:00", "Europe/Berlin"),
        ("13/04/2026", "2026-04-12T22:00", "Europe/Berlin"),
        ("04/13/2026", "2026-04-12T22:00", "Europe/Berlin"),
        ("05-05-2026", "2026-05-04T22:00", "Europe/Berlin"),
        ("2026-03-04 10:15 CET", "2026-03-04T09:15", "+01:00"),
        ("2026-07-04 10:15 MESZ", "2026-07-04T08:15", "+02:00"),
        ("2026-03-04 10:15 UTC+9", "2026-03-04T01:15", "+09:00"),
        ("2026-03-04 10:15 (America/New_York)", "2026-03-04T15:15", "America/New_York"),
        ("2026-03-04T10:15+01:00[Europe/Paris]", "2026-03-04T09:15", "+01:00"),
        ("2026-03-04 10:15 and/or 11:15", "2026-03-04T09:15", "Europe/Berlin"),
        ("March 4, 2026 3:30 PM EST", "2026-03-04T20:30", "-05:00"),
        ("2026-03-04 10:15 CST", "2026-03-04T09:15", "Europe/Berlin"),
    ],
)
def test_values(value: Json, expected: str, zone: str) -> None:
    """S10: aware UTC, with the zone that it was written in; naive times are in the given zone."""
    when = dates.written(value, BERLIN)
    assert when is not None
    assert when.at == dt.datetime.fromisoformat(expected).replace(tzinfo=dt.UTC)
    assert when.at.utcoffset() == dt.timedelta()
    assert when.zone == zone


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        2019,
        "2019",
        0,
        -5,
        1.5,
        "2026-02-30",
        "2026-13-01",
        "YYYY-MM-DD",
        "{{date}}",
        "03/04/2026",
        "3-4-2026",
        "13/13/2026",
        "31/02/2026",
        "4 мартобря 2026",
        "soon",
        [],
        {"a": 1},
        "0001-01-01",
        10**15,
        "9" * 5000,
        "Mon, 99 Mar 2026 10:00:00 +0000",
    ],
)
def test_no_dates(value: Json) -> None:
    """S10: what is no date, or two possible dates, is none."""
    assert dates.written(value, BERLIN) is None


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("daily/2026-03-04 call.md", "2026-03-04"),
        ("20260304-standup.md", "2026-03-04"),
        ("2026/03/04.md", "2026-03-04"),
        ("daily.journal.2026.03.04.md", "2026-03-04"),
        ("2026-W10.md", "2026-03-02"),
        ("2026-03.md", "2026-03-01"),
        ("IMG_20260304_101530.md", "2026-03-04T10:15:30"),
        ("2026-03-04-1015 x.md", "2026-03-04T10:15"),
        ("202603041015 zettel.md", "2026-03-04T10:15"),
        ("2026-03-04T10-15.md", "2026-03-04T10:15"),
        ("2026-03-04 2019 budget.md", "2026-03-04"),
        ("2026-03-04/notes.md", None),
        ("v1.2.3.md", None),
        ("a 12345678 b.md", None),
        ("SR-2023-052.md", None),
        ("2026-13-45.md", None),
        ("report 2026.md", None),
        ("1234567890123 x.md", None),
        ("Besuch 4. März 2026.md", "2026-03-04"),
        ("13-04-2026 note.md", "2026-04-13"),
        ("03-04-2026 note.md", None),
        ("03-04-2026 to 2026-05-01.md", None),
    ],
)
def test_file_names(path: str, expected: str | None) -> None:
    """S10: dates, weeks, months and times in file names; not versions, identifiers or bare years."""
    when = dates.in_path(path, dt.UTC)
    assert (when and when.at) == (expected and dt.datetime.fromisoformat(expected).replace(tzinfo=dt.UTC))


def test_keys_are_compared_loosely_and_in_order() -> None:
    """S10: `date created` is `dateCreated`; a more telling key wins; a key without a date is passed over."""
    found = dates.from_keys({"created": "2020-01-01", "Date": "x", "Event_At": "2026-03-04"}, dates.EVENT_KEYS, dt.UTC)
    assert found is not None
    assert found[1] == "Event_At"
    found = dates.from_keys({"date": None, "date created": "2020-01-01"}, dates.EVENT_KEYS, dt.UTC)
    assert found is not None
    assert found[1] == "date created"
    assert dates.from_keys({"updated": "2020-01-01"}, dates.EVENT_KEYS, dt.UTC) is None


def test_the_zone_of_a_note() -> None:
    """S10: a note may name its zone; nonsense falls back."""
    assert dates.zone_of({"timezone": "Asia/Tokyo"}, BERLIN) == ZoneInfo("Asia/Tokyo")
    for name in ("Mars/Base", "../../etc/passwd", "", 7):
        assert dates.zone_of({"tz": name}, BERLIN) is BERLIN
    assert dates.zone_name(dt.timezone(dt.timedelta(hours=2))) == "+02:00"
    assert dates.zone_name(dt.UTC) == "UTC"


@pytest.mark.parametrize("text", ["1 " * 400_000, "2026 " * 200_000, "4. " * 300_000, "2026-" * 200_000, "٣" * 400_000])
def test_long_texts_cost_little(text: str) -> None:
    """V4: only the beginning of a value or line is looked at."""
    start = time.process_time()
    assert dates.found(text, dt.UTC) is None
    assert dates.written(text, dt.UTC) is None
    assert dates.spelled(text, dt.UTC) == []
    assert time.process_time() - start < 0.5
