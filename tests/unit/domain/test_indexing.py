"""R1, R10, S10: what of a memory is indexed."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from kos_assets.domain.indexing import chunk_fields, chunk_text, memory_text, text_hash, written_day

_AT = datetime(2026, 3, 3, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "rule", "day"),
    [
        ("Asia/Tokyo", "frontmatter:date", "2026-03-04"),
        ("+09:00", "filename", "2026-03-04"),
        ("-08:00", "filename", "2026-03-03"),
        ("UTC", "heading", "2026-03-03"),
        (None, "statement", "2026-03-03"),
        ("Mars/Base", "filename", "2026-03-03"),
        ("../etc", "filename", "2026-03-03"),
        ("UTC", "mtime", None),
        ("UTC", "none", None),
    ],
)
def test_the_day_is_the_one_that_was_written(zone: str | None, rule: str, day: str | None) -> None:
    """S10: on the source's own calendar; a file's time is no date of the note; an unknown zone is never an error."""
    found = written_day(_AT, zone, rule)
    assert (found and found.isoformat()) == day


def test_the_ends_of_time_are_no_error() -> None:
    """V4: a date in year 1 or 9999 has a neighbour that no calendar holds."""
    assert written_day(datetime(1, 1, 1, tzinfo=UTC), "-08:00", "filename") == date.min
    assert written_day(datetime(9999, 12, 31, 23, tzinfo=UTC), "Asia/Tokyo", "filename") == date.max
    assert written_day(None, "UTC", "filename") is None


def _fields(**values: Any) -> list[tuple[str, float]]:
    given = {
        "heading": "Oven", "keywords": ("Bread",), "heading_path": ("Use", "Heat"), "event_at": _AT,
        "event_zone": "Asia/Tokyo", "event_rule": "filename", "body": "240 degrees",
    }  # fmt: skip
    return chunk_fields(**{**given, **values})


def test_fields_and_their_weights() -> None:
    """R1: heading and keywords count twice; the date can be asked for in words and in figures."""
    assert _fields() == [
        ("Oven", 2.0), ("Bread", 2.0), ("Use \nHeat", 1.0), ("2026-03-04 March 2026", 1.0), ("240 degrees", 1.0),
    ]  # fmt: skip


def test_empty_fields_are_left_out() -> None:
    """R1: nothing is indexed for what is not there."""
    assert _fields(keywords=(), heading_path=(), event_rule="mtime", body="") == [("Oven", 2.0)]


def test_an_edit_at_the_end_of_a_long_note_keeps_the_memory_vector() -> None:
    """E6: the text of a memory's vector is its beginning; passages have vectors of their own."""
    long = "word " * 2000
    assert text_hash(memory_text("T", long + "a")) == text_hash(memory_text("T", long + "b"))
    assert text_hash(memory_text("T", "a" + long)) != text_hash(memory_text("T", "b" + long))
    assert text_hash(memory_text("T", "a")) != text_hash(memory_text("U", "a"))
    assert chunk_text("T", ("P",), "a") != chunk_text("T", ("Q",), "a")


def test_a_hash_is_of_any_text() -> None:
    """V4: half of a surrogate pair has a hash too."""
    assert len(text_hash("\ud800")) == 64
