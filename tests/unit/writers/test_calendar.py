"""The calendar writer through the mirror: notes, re-runs, copies, files of all kinds, accounting (W1, W7, W8)."""

from __future__ import annotations

import os
import re
import tarfile
import tempfile
from collections import Counter
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.domain.frame import FRAME_END, FRAME_START
from kos_assets.domain.mirrors import MirrorSettings, mirror_settings
from kos_assets.errors import ConfigError
from kos_assets.vault import frontmatter
from kos_assets.writers.calendar import CalendarSource, open_source, places
from kos_assets.writers.calendar.cutting import Piece, pieces
from kos_assets.writers.contract import Item, Skipped, SourceError
from kos_assets.writers.listing import SourceFile
from kos_assets.writers.mirror import MirrorReport, mirror
from kos_assets.writers.note import render

BERLIN = ZoneInfo("Europe/Berlin")
PAGE = Path(__file__).parents[3] / "docs" / "writers" / "calendar.md"


def source(*paths: Path) -> CalendarSource:
    chosen = mirror_settings("calendar", {"path": [str(path) for path in paths]})
    return open_source(chosen, vault=Path("vault"), data_dir=Path("data"), zone=BERLIN)


def run(vault: Path, *paths: Path) -> MirrorReport:
    vault.mkdir(exist_ok=True)
    return mirror(
        source(*paths), vault, name="calendar", folder="calendar", namespace="shared:owner", today=date(2026, 12, 1)
    )


def notes(vault: Path) -> dict[str, str]:
    base = vault / "calendar"
    return {path.relative_to(base).as_posix(): path.read_text() for path in sorted(base.rglob("*.md"))}


def note(vault: Path) -> tuple[Mapping[str, Any], str]:
    """The only note there is: its frontmatter and its text."""
    (text,) = notes(vault).values()
    head = frontmatter.parse(text.encode())
    return head.properties, text.encode()[head.body_start :].decode()


def event(*lines: str, uid: str = "one@x.example", start: str = "DTSTART:20260304T090000Z") -> str:
    head = [f"UID:{uid}"] if uid else []
    return "\r\n".join(["BEGIN:VEVENT", *head, *([start] if start else []), *lines, "END:VEVENT"])


def calendar(*parts: str, head: str = "VERSION:2.0") -> bytes:
    return "\r\n".join(["BEGIN:VCALENDAR", head, *parts, "END:VCALENDAR", ""]).encode()


def write(folder: Path, data: bytes, name: str = "a.ics") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    return folder


def items(*paths: Path) -> list[Item]:
    return [entry for entry in source(*paths).entries() if isinstance(entry, Item)]


def codes(*paths: Path) -> Counter[str]:
    return Counter(entry.code for entry in source(*paths).entries() if isinstance(entry, Skipped))


def test_the_sample_of_the_page_gives_the_note_of_the_page(tmp_path: Path) -> None:
    """W7: docs/writers/calendar.md shows what the code does."""
    shown = dict(re.findall(r"```(ics|markdown)\n(.*?)```", PAGE.read_text(), flags=re.DOTALL))
    write(tmp_path / "in", shown["ics"].replace("\n", "\r\n").encode())
    run(tmp_path / "vault", tmp_path / "in")
    assert list(notes(tmp_path / "vault")) == ["2026/2026-03-02 Watering plan.md"]
    assert note(tmp_path / "vault")[1] == shown["markdown"]
    assert len(PAGE.read_text().splitlines()) <= 60


def test_frontmatter_has_people_rooms_and_links(tmp_path: Path) -> None:
    """W7: rooms and resources are no people; categories are tags; attachments are named."""
    lines = (
        "SUMMARY:Budget\\, next year",
        "ORGANIZER;CN=Ada Moss:mailto:ada@x.example",
        'ATTENDEE;CN="Fern, Ben";ROLE=CHAIR;PARTSTAT=TENTATIVE:MAILTO:ben@x.example',
        "ATTENDEE;CN=Room 5;CUTYPE=ROOM:mailto:room5@x.example",
        "ATTENDEE;CN=Beamer;CUTYPE=RESOURCE:mailto:beamer@x.example",
        "ATTENDEE;CN=Board;CUTYPE=GROUP:mailto:board@x.example",
        "CATEGORIES:money,plans\\, big",
        "ATTACH;FMTTYPE=text/plain:https://x.example/files/last%20year.txt?key=1",
        "ATTACH;FILENAME=plan.pdf;ENCODING=BASE64;VALUE=BINARY:AAAA",
        "DESCRIPTION:See https://meet.google.com/abc-defg-hij first.",
    )
    run(tmp_path / "vault", write(tmp_path / "in", calendar(event(*lines), head="X-WR-CALNAME:Work")))
    facts, text = note(tmp_path / "vault")
    assert facts["title"] == "Budget, next year"
    assert facts["people"] == ["Ada Moss <ada@x.example>", "Fern, Ben <ben@x.example>"]
    assert facts["rooms"] == ["Room 5 <room5@x.example>", "Beamer <beamer@x.example>"]
    assert facts["groups"] == ["Board <board@x.example>"]
    assert facts["tags"] == ["money", "plans, big"]
    assert facts["attachments"] == ["last year.txt", "plan.pdf"]
    assert facts["conference"] == "https://meet.google.com/abc-defg-hij"
    assert facts["kind"] == "event"
    assert facts["calendar"] == "Work"
    assert facts["kos_namespace"] == "shared:owner"
    assert "- Fern, Ben <ben@x.example>: tentative, chair\n" in text
    assert "- Ada Moss <ada@x.example>: organizer\n" in text
    assert "- Where: Room 5, Beamer\n" in text


def test_a_second_run_writes_nothing_and_a_change_updates_the_same_note(tmp_path: Path) -> None:
    """W1: unchanged sources cost no write; a newer copy is the same note, wherever the file lies."""
    vault, folder = tmp_path / "vault", write(tmp_path / "in", calendar(event("SUMMARY:Plan")))
    assert run(vault, folder).written == 1
    before = {path: path.stat().st_mtime_ns for path in vault.rglob("*.md")}
    again = run(vault, folder)
    assert (again.written, again.updated, again.unchanged) == (0, 0, 1)
    assert {path: path.stat().st_mtime_ns for path in vault.rglob("*.md")} == before
    moved = write(tmp_path / "moved", calendar(event("SUMMARY:Plan", "LOCATION:Hall", "SEQUENCE:1")))
    changed = run(vault, moved)
    assert (changed.written, changed.updated) == (0, 1)
    assert note(vault)[0]["location"] == "Hall"
    more = calendar(event("SUMMARY:Plan", "LOCATION:Hall", "SEQUENCE:1"), event("SUMMARY:New", uid="two"))
    grown = run(vault, write(tmp_path / "moved", more))
    assert (grown.written, grown.updated, grown.unchanged) == (1, 0, 1)


def test_an_event_that_is_gone_is_marked_also_beside_tasks(tmp_path: Path) -> None:
    """W1: what is left out on purpose does not hide what is gone."""
    todo = "BEGIN:VTODO\r\nUID:t\r\nSUMMARY:x\r\nEND:VTODO"
    vault, folder = tmp_path / "vault", write(tmp_path / "in", calendar(event("SUMMARY:Plan"), todo))
    run(vault, folder)
    report = run(vault, write(folder, calendar(todo)))
    assert report.gone == 1
    assert dict(report.left_out) == {"todo": 1}
    assert note(vault)[0]["gone_since"] == "2026-12-01"


def test_recalled_text_is_cut_from_everywhere(tmp_path: Path) -> None:
    """W8: neither text nor properties bring back what was recalled."""
    frame = f"{FRAME_START}\\n| secret words\\n{FRAME_END}".replace(",", "\\,")
    lines = (f"DESCRIPTION:Before\\n{frame}\\nAfter", f"LOCATION:Hall {frame}", f"SUMMARY:Plan {frame}")
    more = (f'ATTENDEE;CN="{FRAME_START.replace(chr(34), "")} secret words":mailto:a@x.example', f"CATEGORIES:{frame}")
    report = run(tmp_path / "vault", write(tmp_path / "in", calendar(event(*lines, *more))))
    (text,) = notes(tmp_path / "vault").values()
    assert report.recalled_cut >= 1
    assert "secret words" not in text
    assert "BACKGROUND DATA" not in text
    assert "Before" in text
    assert "After" in text
    assert "Where: Hall\n" in text


def test_two_runs_over_the_same_files_are_equal(tmp_path: Path) -> None:
    """W1: entries are deterministic; so is the fingerprint, and it changes with a file."""
    folder = write(tmp_path / "in", calendar(event("RRULE:FREQ=DAILY"), event(uid=""), event(uid="two")))
    write(folder, calendar(event("SEQUENCE:2")), "b.ics")
    assert list(source(folder).entries()) == list(source(folder).entries())
    first = source(folder).fingerprint()
    assert first == source(folder).fingerprint()
    write(folder, calendar(event(uid="three")), "c.ics")
    assert source(folder).fingerprint() != first


@pytest.mark.parametrize(
    "copies",
    [
        [event("SUMMARY:Old"), event("SUMMARY:New", "SEQUENCE:1")],
        [event("SUMMARY:New", "SEQUENCE:1"), event("SUMMARY:Old", "LAST-MODIFIED:20270101T000000Z")],
        [event("SUMMARY:Old", "DTSTAMP:20260101T000000Z"), event("SUMMARY:New", "DTSTAMP:20260102T000000Z")],
        [event("SUMMARY:New", "LAST-MODIFIED:20260102T000000Z"), event("SUMMARY:Old", "DTSTAMP:20260101T000000Z")],
    ],
)
def test_the_newest_copy_of_a_uid_counts(tmp_path: Path, copies: list[str]) -> None:
    """W7: SEQUENCE, then LAST-MODIFIED or DTSTAMP; also across files; the other copy is counted."""
    for number, copy in enumerate(copies):
        write(tmp_path / "in", calendar(copy), f"{number}.ics")
    (item,) = items(tmp_path / "in")
    assert item.title == "New"
    assert codes(tmp_path / "in") == {"older_copy": 1}


def test_a_cancellation_marks_the_event_and_keeps_what_is_known(tmp_path: Path) -> None:
    """W7: METHOD:CANCEL of a whole event; one that is older than an update does nothing."""
    cancel = calendar(event("SEQUENCE:1", start=""), head="METHOD:CANCEL")
    folder = write(tmp_path / "in", calendar(event("SUMMARY:Plan", "LOCATION:Hall")))
    write(folder, cancel, "b.ics")
    (item,) = items(folder)
    assert (item.title, item.properties["location"], item.properties["status"]) == ("Plan", "Hall", "cancelled")
    assert "- Status: cancelled" in item.body
    write(folder, calendar(event("SUMMARY:Plan", "SEQUENCE:2")), "c.ics")
    (item,) = items(folder)
    assert "status" not in item.properties
    write(tmp_path / "alone", cancel)
    assert codes(tmp_path / "alone") == {"no_start": 1}
    assert run(tmp_path / "v", tmp_path / "alone").skipped_total == 0


def test_answers_to_invitations_are_not_the_event(tmp_path: Path) -> None:
    """W7: a METHOD:REPLY does not replace what it answers, however new."""
    reply = calendar(event("SUMMARY:Accepted", "DTSTAMP:20270101T000000Z"), head="METHOD:REPLY")
    folder = write(tmp_path / "in", calendar(event("SUMMARY:Plan")))
    write(folder, reply, "b.ics")
    assert [item.title for item in items(folder)] == ["Plan"]
    assert codes(folder) == {"answer": 1}


def test_events_without_uid_keep_their_id(tmp_path: Path) -> None:
    """W1: the id follows from start, end, rule and title, not from place, file or other details."""
    folder = write(tmp_path / "in", calendar(event("SUMMARY:A", uid=""), event("SUMMARY:B", uid="")))
    first = {item.title: item.external_id for item in items(folder)}
    write(
        tmp_path / "other", calendar(event("SUMMARY:B", "LOCATION:Hall", "DTSTAMP:20260101T000000Z", uid="")), "z.ics"
    )
    assert [item.external_id for item in items(tmp_path / "other")] == [first["B"]]
    assert len(set(first.values())) == 2
    write(folder, calendar(event("SUMMARY:A", uid="")), "twin.ics")
    assert codes(folder) == {"older_copy": 1}


BROKEN = {
    "bare_lf": calendar(event("SUMMARY:Plan")).replace(b"\r\n", b"\n"),
    "only_cr": calendar(event("SUMMARY:Plan")).replace(b"\r\n", b"\r"),
    "bom": b"\xef\xbb\xbf" + calendar(event("SUMMARY:Plan")),
    "utf16": calendar(event("SUMMARY:Plan")).decode().encode("utf-16"),
    "blank_lines": calendar(event("SUMMARY:Plan")).replace(b"\r\n", b"\r\n\r\n"),
    "no_end_of_event": calendar(event("SUMMARY:Plan")).replace(b"END:VEVENT\r\n", b""),
    "no_end_at_all": calendar(event("SUMMARY:Plan")).partition(b"\r\nEND:VEVENT")[0],
    "no_calendar_around": event("SUMMARY:Plan").encode(),
    "small_letters": calendar(event("SUMMARY:Plan")).lower().replace(b"summary:plan", b"summary:Plan"),
    "folded_name": calendar(event("SUMM\r\n ARY:Pl\r\n\tan")),
    "folded_without_blank": calendar(event("DESCRIPTION:one", "two three", "SUMMARY:Plan")),
    "alarm_without_end": calendar(event("SUMMARY:Plan", "BEGIN:VALARM", "TRIGGER:-PT5M")),
    "nul": calendar(event("SUMMARY:Pl\0an")),
    "junk_lines": calendar(event("====", ":", ";", "X", "SUMMARY:Plan", "DTEND:nonsense", "RRULE:FREQ=SOMETIMES")),
    "huge_line": calendar(event("X-DATA:" + "A" * 3_000_000, "SUMMARY:Plan")),
    "inline_file": calendar(event("ATTACH;ENCODING=BASE64;VALUE=BINARY:" + "A" * 3_000_000, "SUMMARY:Plan")),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_give_the_event_that_is_in_them(tmp_path: Path, name: str) -> None:
    """W7, V4: folding, ends, line ends, marks and charsets gone wrong lose nothing that can be read."""
    (item,) = items(write(tmp_path / "in", BROKEN[name]))
    assert item.title == "Plan"
    assert item.external_id == "one@x.example"
    assert item.at is not None
    assert item.at.isoformat() == "2026-03-04T09:00:00+00:00"


def test_an_event_with_no_end_does_not_swallow_the_next(tmp_path: Path) -> None:
    """W7: BEGIN:VEVENT inside an event begins the next one; two calendars in one file are two."""
    open_event = event("SUMMARY:A", uid="a").removesuffix("\r\nEND:VEVENT")
    data = calendar(open_event, event("SUMMARY:B", uid="b"), head="X-WR-CALNAME:First")
    data += calendar(event("SUMMARY:C", uid="c"), head="METHOD:CANCEL")
    found = items(write(tmp_path / "in", data))
    assert [(item.title, item.properties.get("status", "")) for item in found] == [
        ("A", ""),
        ("B", ""),
        ("C", "cancelled"),
    ]
    assert [item.properties.get("calendar") for item in found] == ["First", "First", None]


def test_windows_1252_is_read_and_named(tmp_path: Path) -> None:
    """V4: a wrong charset costs no event."""
    (item,) = items(
        write(
            tmp_path / "in", calendar(event("SUMMARY:Caf\N{LATIN SMALL LETTER E WITH ACUTE}")).decode().encode("cp1252")
        )
    )
    assert item.title == "Café"
    assert item.properties["problems"] == ["not UTF-8; read as Windows-1252"]


def test_one_bad_event_does_not_lose_the_others(tmp_path: Path) -> None:
    """W7: each component stands alone; what gave no note is listed with file and line."""
    parts = (event("SUMMARY:Good"), event("SUMMARY:Bad", uid="bad", start="DTSTART:tomorrow"), event(uid="", start=""))
    found = list(source(write(tmp_path / "in", calendar(*parts, "BEGIN:VJOURNAL\r\nEND:VJOURNAL"))).entries())
    assert [entry.title for entry in found if isinstance(entry, Item)] == ["Good"]
    listed = {(entry.code, entry.where, entry.counts) for entry in found if isinstance(entry, Skipped)}
    assert listed == {
        ("no_start", "a.ics:8", True),
        ("unreadable_event", "a.ics:13", True),
        ("journal", "a.ics:15", False),
    }


def test_links_pipes_hidden_and_foreign_files_are_not_opened(tmp_path: Path) -> None:
    """V4: only regular .ics files below the path; a link or pipe is reported."""
    folder = write(tmp_path / "in", calendar(event("SUMMARY:Plan")))
    outside = write(tmp_path / "out", calendar(event(uid="secret")))
    (folder / "link.ics").symlink_to(outside / "a.ics")
    (folder / "there").symlink_to(outside)
    os.mkfifo(folder / "pipe.ics")
    write(folder, calendar(event(uid="hidden")), ".b.ics")
    write(folder, b"not read", "b.txt")
    write(folder, b"<html>login</html>", "page.ics")
    write(folder, b"", "empty.ics")
    assert [item.external_id for item in items(folder)] == ["one@x.example"]
    assert codes(folder) == {"link": 1, "not_a_file": 1, "no_calendar": 1}


def test_settings_that_cannot_work_are_refused_at_once(tmp_path: Path) -> None:
    """W1: no path is ConfigError; a missing or foreign path is SourceError that says what to do."""
    with pytest.raises(ConfigError):
        open_source(MirrorSettings("calendar", "calendar"), vault=tmp_path, data_dir=tmp_path, zone=BERLIN)
    with pytest.raises(SourceError) as missing:
        source(tmp_path / "nothing")
    assert missing.value.fix
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(SourceError):
        source(tmp_path / "a.txt")


def test_a_file_named_itself_and_a_vdir_give_the_same_notes(tmp_path: Path) -> None:
    """W7: one file with all events, or one event per file."""
    parts = [event(f"SUMMARY:{name}", uid=name) for name in "abc"]
    one = write(tmp_path / "one", calendar(*parts)) / "a.ics"
    for name, part in zip("abc", parts, strict=True):
        write(tmp_path / "vdir", calendar(part), f"{name}.ics")
    assert {item.external_id: item.body for item in items(one)} == {
        item.external_id: item.body for item in items(tmp_path / "vdir")
    }


def test_many_copies_of_one_uid_are_bounded(tmp_path: Path) -> None:
    """W7: one UID cannot fill the memory; what is over the bound is listed."""
    data = calendar(*[event(f"SEQUENCE:{number % 7}") for number in range(5_010)])
    assert codes(write(tmp_path / "in", data)) == {"too_many_copies": 10, "older_copy": 4_999}


ODD = (
    *(
        b"BEGIN:VEVENT\r\n",
        b"END:VEVENT\r\n",
        b"BEGIN:VCALENDAR\r\n",
        b"END:",
        b"METHOD:CANCEL\r\n",
        b"\r\n ",
        b"\n",
        b"\r",
    ),
    *(
        b"RECURRENCE-ID:20260304T090000Z\r\n",
        b"RANGE=THISANDFUTURE",
        b"00010101",
        b"99991231T235959",
        b"P9999999D",
        b"\xff",
    ),
    *(
        b"STATUS:CANCELLED\r\n",
        b"RDATE:00010101T000000,99991231T235959\r\n",
        b"FREQ=SECONDLY;COUNT=2",
        b'"',
        b"",
        b"UID:\r\n",
    ),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 30), st.sampled_from(ODD)), min_size=1, max_size=6))
def test_mutated_files_never_raise_and_always_add_up(changes: list[tuple[float, int, bytes]]) -> None:
    """W7: whatever the file, every event in it gives a note, is part of one, or is counted."""
    data = calendar(
        event("SUMMARY:Plan", "RRULE:FREQ=WEEKLY;COUNT=9", "EXDATE:20260311T090000Z"),
        event("SUMMARY:Moved", "RECURRENCE-ID:20260318T090000Z"),
        event("SUMMARY:Twin", uid="two", start="DTSTART;VALUE=DATE:20260304"),
        event("SUMMARY:Nameless", uid=""),
    )
    for place, length, piece in changes:
        start = round(place * len(data))
        data = data[:start] + piece + data[start + length :]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.ics"
        path.write_bytes(data)
        with places.opened(SourceFile(path, "", "a.ics", len(data), 0, 0)) as stream:
            there = sum(isinstance(piece, Piece) and piece.name == "VEVENT" for piece in pieces(stream))
        found = list(source(path).entries())
    others = {"other_component", "no_calendar"}
    assert sum(not isinstance(entry, Skipped) or entry.code not in others for entry in found) == there
    assert all(render(entry, mirror="m", namespace=None) for entry in found if isinstance(entry, Item))


@pytest.mark.skipif("KOS_TEST_DATA" not in os.environ, reason="KOS_TEST_DATA names no folder with test inputs")
def test_real_calendars_go_through_and_add_up(tmp_path: Path) -> None:
    """W7: every component of the public samples is a note or is counted; a second run changes nothing."""
    packed = Path(os.environ["KOS_TEST_DATA"]) / "misc" / "icalendar-ics.tar.gz"
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path / "in", filter="data")
    text = b"\n".join(path.read_bytes() for path in sorted((tmp_path / "in").rglob("*.ics")))
    there = {name: len(re.findall(rb"(?mi)^BEGIN:%s\s*$" % name, text)) for name in (b"VEVENT", b"VTODO", b"VJOURNAL")}
    report = run(tmp_path / "vault", tmp_path / "in")
    reported = Counter(entry.code for entry in report.skipped)
    folded = sum(report.left_out[code] for code in ("older_copy", "changed_occurrence", "answer", "no_start"))
    assert there[b"VEVENT"] == report.items + folded + reported["unreadable_event"] + reported["no_start"]
    assert there[b"VTODO"] == report.left_out["todo"]
    assert there[b"VJOURNAL"] == report.left_out["journal"]
    assert report.items == report.written > 70
    again = run(tmp_path / "vault", tmp_path / "in")
    assert (again.written, again.updated, again.unchanged) == (0, 0, report.items)
