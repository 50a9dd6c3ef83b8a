"""Meetings as a source: files that belong together, identity, accounting, hostile input, and runs of the mirror."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from kos_assets.domain.frame import FRAME_END, FRAME_START
from kos_assets.domain.mirrors import MirrorSettings
from kos_assets.errors import ConfigError
from kos_assets.vault import frontmatter
from kos_assets.writers.contract import Entry, Item, Skipped, SourceError
from kos_assets.writers.meetings import open_source, page
from kos_assets.writers.meetings.meeting import Meeting, Turn
from kos_assets.writers.meetings.places import stem_of
from kos_assets.writers.mirror import MirrorReport, mirror

BERLIN = ZoneInfo("Europe/Berlin")
VTT = (
    "WEBVTT\n\n00:00:01.000 --> 00:00:03.000\n<v Ana Ruiz>Hello.</v>\n\n"
    "00:00:04.000 --> 00:31:00.000\n<v Bo Lind>Hi.</v>\n"
)
SRT = "1\n00:00:01,000 --> 00:00:03,000\nHello.\n\n2\n00:00:04,000 --> 00:00:05,000\nHi.\n"
EXPORT = json.dumps(
    {
        "id": "m1",
        "title": "Budget 2027",
        "date": "2026-03-04T10:00:00Z",
        "summary": "It stands.",
        "action_items": ["Send it"],
        "attendees": [{"name": "Ana Ruiz", "email": "ana@example.org"}],
    }
)
NOTES = "---\ntitle: The budget\nattendees: [Cy Young]\n---\n# The budget\n\nWe agreed.\n"


def entries(*paths: Path, vault: Path | None = None) -> list[Entry]:
    """Everything that a source of these paths yields, twice the same."""
    chosen = MirrorSettings("meetings", "meetings", paths, "meetings")
    vault = vault or Path("/nowhere/vault")
    source = open_source(chosen, vault=vault, data_dir=vault / ".data", zone=BERLIN)
    found = list(source.entries())
    assert found == list(source.entries())
    return found


def items(found: Sequence[Entry]) -> list[Item]:
    """The items among entries."""
    return [entry for entry in found if isinstance(entry, Item)]


def codes(found: Sequence[Entry]) -> list[str]:
    """The codes of what was left out."""
    return [entry.code for entry in found if isinstance(entry, Skipped)]


def put(folder: Path, **files: str | bytes) -> Path:
    """Files in a folder; `__` in a name is a dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        (folder / name.replace("__", ".")).write_bytes(data)
    return folder


def run(source: Path, vault: Path) -> MirrorReport:
    """One run of the mirror into a vault."""
    vault.mkdir(exist_ok=True)
    chosen = MirrorSettings("meetings", "meetings", (source,), "meetings")
    opened = open_source(chosen, vault=vault, data_dir=vault / ".data", zone=BERLIN)
    return mirror(opened, vault, name="meetings", folder="meetings", namespace=None, today=date(2026, 12, 1))


def test_files_of_one_meeting_make_one_note(tmp_path: Path) -> None:
    """W2: transcript, notes and export with one stem are one meeting; each gives what it knows best."""
    folder = tmp_path / "in"
    put(folder)
    (folder / "2026-03-04 Budget.vtt").write_text(VTT)
    (folder / "2026-03-04 Budget.md").write_text(NOTES)
    (folder / "2026-03-04 Budget.json").write_text(EXPORT)
    (folder / "2026-03-04 Budget - Transcript.srt").write_text(SRT)
    found = entries(folder)
    (item,) = items(found)
    assert codes(found) == ["other_transcript"]
    assert item.external_id == "meeting:2026-03-04 budget"
    assert item.title == "The budget"
    assert item.at is not None
    assert item.at.isoformat() == "2026-03-04T11:00:00+01:00"
    assert item.zone == "Europe/Berlin"
    assert list(item.people) == ["Ana Ruiz <ana@example.org>", "Cy Young", "Bo Lind"]
    assert item.properties["duration_minutes"] == 31
    assert item.body == (
        "## Summary\n\nIt stands.\n\n## Action items\n\n- [ ] Send it\n\n## Notes\n\nWe agreed.\n\n## Transcript\n\n"
        "**Ana Ruiz** · 00:00:01\n\nHello.\n\n**Bo Lind** · 00:00:04\n\nHi."
    )


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("2026-03-04 Budget.vtt", "2026-03-04 Budget"),
        ("2026-03-04 Budget - Transcript.txt", "2026-03-04 Budget"),
        ("Budget_transcript.en.vtt", "Budget"),
        ("GMT20260304-100000_Recording.transcript.vtt", "GMT20260304-100000_Recording"),
        ("GMT20260304-100000_Recording.cc.vtt", "GMT20260304-100000_Recording"),
        ("Budget (1).vtt", "Budget (1)"),
        ("notes.md", "notes"),
        ("Do it.md", "Do it"),
        ("Summary.json", "Summary"),
    ],
)
def test_what_files_of_a_meeting_have_in_common(name: str, stem: str) -> None:
    """W2: words for the kind of file and languages are no part of the stem; `(1)` may be another meeting and is."""
    assert stem_of(name) == stem


def test_the_id_outlives_moves_growth_and_other_formats(tmp_path: Path) -> None:
    """W2, V2: a moved source, a summary that comes later, another format, a folder for the year: one id."""

    def only(folder: Path) -> str:
        (item,) = items(entries(folder))
        return item.external_id

    first = put(tmp_path / "a", **{"2026-03-04 Budget__vtt": VTT})
    before = only(first)
    put(first, **{"2026-03-04 Budget__md": NOTES, "2026-03-04 Budget__json": EXPORT})
    assert only(first) == before
    assert only(put(tmp_path / "b" / "c", **{"2026-03-04 Budget__srt": SRT})) == before
    assert only(put(tmp_path / "d" / "2026", **{"2026-03-04 Budget__vtt": VTT}).parent) == before


def test_one_dated_stem_in_two_folders_is_two_meetings(tmp_path: Path) -> None:
    """W2: daily meetings of two teams on one day are told apart by their folders; so are stems without a date."""
    put(tmp_path / "a", **{"2026-03-04 Standup__vtt": VTT, "Retro__vtt": VTT})
    put(tmp_path / "b", **{"2026-03-04 Standup__vtt": VTT, "Retro__vtt": VTT})
    found = items(entries(tmp_path))
    assert len({item.external_id for item in found}) == 4
    assert [item.folder for item in found] == ["a", "a", "b", "b"]


def test_an_export_under_another_name_is_the_same_meeting(tmp_path: Path) -> None:
    """W2: the export's own id tells that a second download is no second meeting."""
    found = entries(put(tmp_path, **{"Budget__json": EXPORT, "Budget (1)__json": EXPORT}))
    assert [item.external_id for item in items(found)] == ["meeting:budget"]
    assert codes(found) == ["same_meeting"]


def test_an_export_of_many_gives_many(tmp_path: Path) -> None:
    """W2: each is known by its own id, wherever the file lies and however it is called."""
    many = [{"id": f"m{n}", "title": f"T{n}", "date": "2026-03-04T10:00:00Z", "summary": "S."} for n in range(3)]
    found = items(entries(put(tmp_path / "x", **{"all__json": json.dumps({"data": {"transcripts": many}})})))
    assert [item.external_id for item in found] == ["export:m0", "export:m1", "export:m2"]
    again = items(entries(put(tmp_path / "y", **{"other__json": json.dumps(many)})))
    assert [item.external_id for item in again] == [item.external_id for item in found]


@pytest.mark.parametrize(
    ("name", "at", "title"),
    [
        ("2026-03-04 Budget.vtt", "2026-03-04T00:00:00+01:00", "Budget"),
        ("2026-07-04 09.30 Budget.vtt", "2026-07-04T09:30:00+02:00", "Budget"),
        ("GMT20260304-100000_Recording.transcript.vtt", "2026-03-04T11:00:00+01:00", "Recording"),
        ("Budget_2026-03-04.vtt", "2026-03-04T00:00:00+01:00", "Budget"),
        ("2026-03-04.vtt", "2026-03-04T00:00:00+01:00", "2026-03-04"),
        ("Budget.vtt", None, "Budget"),
        ("Room 1234567890.vtt", None, "Room 1234567890"),
    ],
)
def test_date_and_title_from_the_name(tmp_path: Path, name: str, at: str | None, title: str) -> None:
    """W2: where the file tells no date its name does, else there is none; never the file's own time."""
    (tmp_path / name).write_text(VTT)
    (item,) = items(entries(tmp_path))
    assert (item.at.isoformat() if item.at else None, item.title) == (at, title)


def test_the_files_own_date_comes_first(tmp_path: Path) -> None:
    """W2: metadata of the notes before the export's fields before the name."""
    put(tmp_path, **{"2026-01-01 Budget__json": EXPORT})
    (item,) = items(entries(tmp_path))
    assert item.at is not None
    assert item.at.date() == date(2026, 3, 4)
    put(tmp_path, **{"2026-01-01 Budget__md": "---\ndate: 2026-02-02\n---\nText.\n"})
    (item,) = items(entries(tmp_path))
    assert item.at is not None
    assert item.at.date() == date(2026, 2, 2)


def test_a_second_run_writes_nothing(tmp_path: Path) -> None:
    """W1: nothing changed, nothing is written: times of the files stay."""
    source = put(
        tmp_path / "in",
        **{
            "2026-03-04 Budget__vtt": VTT,
            "2026-03-04 Budget__json": EXPORT,
            "Retro__txt": "Ana Ruiz: Hello.\nBo Lind: Hi.\n",
        },
    )
    assert run(source, tmp_path / "vault").written == 2
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "vault").rglob("*.md")}
    again = run(source, tmp_path / "vault")
    assert (again.written, again.updated, again.unchanged) == (0, 0, 2)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "vault").rglob("*.md")} == before


def test_a_new_part_updates_the_same_note(tmp_path: Path) -> None:
    """W1, W2: a summary that arrives later goes into the note that stands; a file that is gone marks it."""
    source = put(tmp_path / "in", **{"2026-03-04 Budget__vtt": VTT})
    run(source, tmp_path / "vault")
    (note,) = (tmp_path / "vault").rglob("*.md")
    put(source, **{"2026-03-04 Budget__json": EXPORT})
    report = run(source, tmp_path / "vault")
    assert (report.written, report.updated) == (0, 1)
    assert list((tmp_path / "vault").rglob("*.md")) == [note]
    assert "It stands." in note.read_text()
    assert "Hello." in note.read_text()
    (source / "2026-03-04 Budget.vtt").unlink()
    (source / "2026-03-04 Budget.json").unlink()
    put(source, **{"2026-03-05 Other__json": EXPORT.replace("Budget", "Other")})
    assert run(source, tmp_path / "vault").gone == 1
    assert "gone_since" in frontmatter.parse(note.read_bytes()).properties


def test_a_file_that_cannot_be_read_marks_nothing_as_gone(tmp_path: Path) -> None:
    """W1, V4: broken exports and pipes are told with a fix; their notes stay, the others are written."""
    source = put(tmp_path / "in", **{"2026-03-04 Budget__json": EXPORT, "2026-03-05 Retro__vtt": VTT})
    run(source, tmp_path / "vault")
    (source / "2026-03-04 Budget.json").write_text("{")
    (source / "2026-03-05 Retro.vtt").unlink()
    os.mkfifo(source / "2026-03-05 Retro.vtt")
    report = run(source, tmp_path / "vault")
    assert (report.gone, report.items) == (0, 0)
    assert sorted(skipped.code for skipped in report.skipped) == ["broken_json", "not_a_file"]
    assert all(skipped.fix for skipped in report.skipped)


def test_recalled_context_is_cut_from_every_format(tmp_path: Path) -> None:
    """W8: what an agent was given and read out or wrote down does not come back."""
    frame = f"{FRAME_START}\n| secret words\n{FRAME_END}"
    put(
        tmp_path / "in",
        **{
            "2026-03-01 A__md": f"# A\n\nBefore.\n\n{frame}\n\nAfter.\n",
            "2026-03-02 B__txt": f"Ana Ruiz: Before.\n{frame}\nBo Lind: After.\n",
            "2026-03-03 C__vtt": f"WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ana Ruiz>Before.\n{frame}\nAfter.</v>\n",
            "2026-03-04 D__json": json.dumps(
                {
                    "title": "D",
                    "summary": f"Before.\n{frame}\nAfter.",
                    "action_items": [f"{frame}\nAfter."],
                    "sentences": [{"speaker_name": "Ana Ruiz", "start_time": 1, "text": f"Before.\n{frame}\nAfter."}],
                }
            ),
        },
    )
    report = run(tmp_path / "in", tmp_path / "vault")
    texts = [path.read_text() for path in sorted((tmp_path / "vault").rglob("*.md"))]
    assert report.written == len(texts) == 4
    assert all(
        "secret" not in text and "BACKGROUND" not in text and "Before." in text and "After." in text for text in texts
    )
    assert report.recalled_cut == 6


def test_a_frame_split_over_captions_cannot_form(tmp_path: Path) -> None:
    """W8: lines that become a frame when they are joined are cut in their paragraph; what follows stays."""
    first, second = FRAME_START.split(" Knowledge ")[0], "Knowledge " + FRAME_START.split(" Knowledge ")[1]
    text = f"WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ana>{first}\n{second}\n\n00:03.000 --> 00:04.000\n<v Bo>After.\n"
    run(put(tmp_path / "in", **{"2026-03-03 C__vtt": text}), tmp_path / "vault")
    (note,) = (tmp_path / "vault").rglob("*.md")
    assert "After." in note.read_text()


def test_links_and_own_notes_are_not_read(tmp_path: Path) -> None:
    """V4, V7: a link out of the source is not followed; with the vault as source, mirrored notes do not come back."""
    vault = tmp_path / "vault"
    put(vault / "calls", **{"2026-03-04 Budget__md": NOTES})
    (tmp_path / "secret.txt").write_text("secret")
    (vault / "calls" / "link.txt").symlink_to(tmp_path / "secret.txt")
    report = run(vault, vault)
    assert (report.written, dict(report.left_out)) == (1, {"link": 1})
    assert run(vault, vault).unchanged == 1
    assert len(list((vault / "meetings").rglob("*.md"))) == 1


def test_settings_that_cannot_work(tmp_path: Path) -> None:
    """W1: said at once, with what to do."""

    def opened(*paths: Path) -> None:
        open_source(MirrorSettings("m", "meetings", paths, "m"), vault=tmp_path, data_dir=tmp_path, zone=BERLIN)

    with pytest.raises(ConfigError):
        opened()
    with pytest.raises(SourceError):
        opened(tmp_path / "missing")
    (tmp_path / "a.pdf").write_bytes(b"%PDF-")
    with pytest.raises(SourceError):
        opened(tmp_path / "a.pdf")
    (tmp_path / "a.vtt").write_text(VTT)
    opened(tmp_path / "a.vtt")


def test_single_files_and_several_folders(tmp_path: Path) -> None:
    """W2: a file alone is a source; a second folder is told apart by its name."""
    put(tmp_path / "a", **{"Retro__vtt": VTT})
    put(tmp_path / "b", **{"Retro__vtt": VTT})
    (alone,) = items(entries(tmp_path / "a" / "Retro.vtt"))
    both = items(entries(tmp_path / "a", tmp_path / "b"))
    assert alone.external_id == both[0].external_id == "meeting:retro"
    assert both[1].external_id == "meeting:b/retro"


def test_fingerprint_follows_the_files(tmp_path: Path) -> None:
    """V5: another size or time is another fingerprint; nothing changed is the same."""
    put(tmp_path, **{"Retro__vtt": VTT})
    chosen = MirrorSettings("m", "meetings", (tmp_path,), "m")
    source = open_source(chosen, vault=tmp_path / "v", data_dir=tmp_path / "v", zone=BERLIN)
    before = source.fingerprint()
    assert source.fingerprint() == before
    put(tmp_path, **{"Retro__md": NOTES})
    assert source.fingerprint() != before


def test_a_very_long_meeting_goes_on_in_another_note() -> None:
    """W2: notes stay small enough to be read; nothing is lost."""
    turns = tuple(Turn("Ana", float(n), (f"Sentence {n}.",)) for n in range(500))
    parts = list(page.bodies(Meeting(turns=turns, summary="S."), largest=4000))
    assert len(parts) > 3
    assert all(len(part) < 4200 for part in parts)
    assert sum(part.count("Sentence") for part in parts) == 500


def test_flaws_are_told_with_their_place(tmp_path: Path) -> None:
    """V4: what could not be read in a file is listed, many of one kind in one line."""
    bad = "".join(f"00:0x:{n}.000 --> 00:00:01.000\nWord {n}.\n\n" for n in range(30))
    found = entries(put(tmp_path, **{"Retro__vtt": "WEBVTT\n\n" + bad}))
    assert codes(found) == ["bad_cue_time"] * 20 + ["more_flaws"]
    assert items(found)[0].body.count("Word") == 30


def test_a_fence_that_is_never_closed_ends_before_the_transcript(tmp_path: Path) -> None:
    """W2: foreign Markdown cannot hide what stands below it."""
    put(tmp_path, **{"Retro__md": "Text.\n\n```\ncode\n", "Retro__vtt": VTT})
    (item,) = items(entries(tmp_path))
    assert "code\n```\n\n## Transcript" in item.body
