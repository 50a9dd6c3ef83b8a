"""A run of a mirror: what is written, what is left alone, what is marked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.domain.frame import FRAME_END, FRAME_START
from kos_assets.errors import VaultError
from kos_assets.vault.ledger import Ledger
from kos_assets.vault.note import ParsedNote, parse_note
from kos_assets.vault.stamp import unstamped
from kos_assets.writers import Entry, Item, MirrorReport, Skipped, SourceError, mirror
from kos_assets.writers.note import file_stem, folder_parts, note_id_of, read_mirrored, render

TODAY = date(2026, 3, 4)
AT = datetime(2026, 3, 1, 9, 30, tzinfo=timezone(timedelta(hours=1)))
ITEM = Item(
    "4711", "Budget 2026", "We have **two** boats.\n", AT, "Europe/Vienna", people=["Ada Byron <ada@example.org>"]
)


@dataclass
class Listed:
    """A source made of a list."""

    items: Sequence[Entry]
    complete: bool = True
    fails_after: int | None = None
    fetched: list[str] = field(default_factory=list)

    def fingerprint(self) -> str | None:
        """Never the same."""
        return None

    def entries(self) -> Iterator[Entry]:
        """One by one."""
        for number, item in enumerate(self.items):
            if number == self.fails_after:
                raise SourceError("The source went away.")
            yield item


def run(vault: Path, items: Sequence[Entry], **values: Any) -> MirrorReport:
    """One run into the folder `box`."""
    source = Listed(items, values.pop("complete", True), values.pop("fails_after", None))
    given = {"name": "box", "folder": "box", "namespace": "shared:owner", "today": TODAY, **values}
    return mirror(source, vault, **given)


def state(vault: Path) -> dict[str, tuple[bytes, int]]:
    """Every file with its bytes and its time."""
    found = sorted(path for path in vault.rglob("*") if path.is_file())
    return {path.relative_to(vault).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


def note(path: Path) -> ParsedNote:
    """A note as a scan reads it."""
    parsed = parse_note(path.name, path.read_bytes())
    assert isinstance(parsed, ParsedNote)
    return parsed


def test_an_item_becomes_a_note_that_a_scan_understands(tmp_path: Path) -> None:
    """W1, V2, V9: id, title, date with zone, people, attachments, tags, namespace; nothing is wrong with the file."""
    item = replace(
        ITEM, attachments=["plan.pdf"], tags=["boats"], properties={"kind": "mail", "messages": 3}, folder="2026"
    )
    report = run(tmp_path, [item])
    assert report.paths == ["box/2026/2026-03-01 Budget 2026.md"]
    parsed = note(tmp_path / report.paths[0])
    assert parsed.problems == ()
    assert (parsed.kos_id, parsed.title) == (note_id_of("box", "4711"), "Budget 2026")
    assert (parsed.event_at, parsed.event_zone) == (AT.astimezone(UTC), "+01:00")
    assert parsed.people == ("Ada Byron <ada@example.org>",)
    assert (parsed.tags, parsed.kos_namespace) == (("boats",), "shared:owner")
    assert {key: parsed.properties[key] for key in ("kind", "messages", "attachments", "source_id")} == {
        "kind": "mail", "messages": 3, "attachments": ["plan.pdf"], "source_id": "4711"
    }  # fmt: skip
    assert parsed.content.strip() == "We have **two** boats."


def test_a_second_run_writes_nothing_and_a_change_updates_the_same_file(tmp_path: Path) -> None:
    """W1, V5: not even a time changes; a new title keeps the file's name, so links to it hold."""
    items = [ITEM, replace(ITEM, external_id="2", title="Roof")]
    run(tmp_path, items)
    before = state(tmp_path)
    report = run(tmp_path, items)
    assert (report.items, report.unchanged, report.written, report.updated) == (2, 2, 0, 0)
    assert state(tmp_path) == before
    report = run(tmp_path, [replace(ITEM, title="Budget", body="Three boats."), items[1]])
    assert (report.updated, report.unchanged) == (1, 1)
    assert set(state(tmp_path)) == set(before)
    assert note(tmp_path / "box/2026-03-01 Budget 2026.md").title == "Budget"


def test_a_note_that_was_moved_keeps_its_place(tmp_path: Path) -> None:
    """V2: the item's file is found by its id, anywhere in the folder."""
    run(tmp_path, [ITEM])
    (tmp_path / "box/old").mkdir()
    (tmp_path / "box/2026-03-01 Budget 2026.md").rename(tmp_path / "box/old/b.md")
    report = run(tmp_path, [replace(ITEM, body="Three boats.")])
    assert (report.updated, list(state(tmp_path))) == (1, ["box/old/b.md"])


def test_what_a_person_changed_is_not_overwritten(tmp_path: Path) -> None:
    """Promise 4: the file stays byte for byte, and the report says what to do; deleted, it is written anew."""
    run(tmp_path, [ITEM])
    path = tmp_path / "box/2026-03-01 Budget 2026.md"
    path.write_bytes(path.read_bytes() + b"\nMy own thought.\n")
    before = state(tmp_path)
    report = run(tmp_path, [replace(ITEM, body="Three boats.")])
    assert (report.items, report.edited, [item.code for item in report.skipped]) == (1, 1, ["edited_by_hand"])
    assert run(tmp_path, [], allow_mass_gone=True).gone == 0
    assert state(tmp_path) == before
    path.unlink()
    assert run(tmp_path, [ITEM]).written == 1


def test_what_is_gone_is_marked_once_and_comes_back(tmp_path: Path) -> None:
    """W1: marked, not deleted; a later run does not touch it again; back in the source, the mark goes."""
    run(tmp_path, [ITEM, replace(ITEM, external_id="2", title="Roof")])
    assert run(tmp_path, [ITEM]).gone == 1
    path = tmp_path / "box/2026-03-01 Roof.md"
    assert note(path).properties["gone_since"] == "2026-03-04"
    assert note(path).problems == ()
    before = state(tmp_path)
    assert run(tmp_path, [ITEM], today=date(2026, 3, 9)).gone == 0
    assert state(tmp_path) == before
    assert run(tmp_path, [ITEM, replace(ITEM, external_id="2", title="Roof")]).updated == 1
    assert "gone_since" not in note(path).properties


def test_what_cannot_be_read_is_not_taken_for_gone(tmp_path: Path) -> None:
    """Promise 4: a part with a problem, a source that is not complete, one that fails, and one that lost almost all."""
    items = [replace(ITEM, external_id=str(n), title=f"Note {n}", origin=f"{n % 2}.mbox") for n in range(24)]
    run(tmp_path, items)
    before = state(tmp_path)
    broken = Skipped("0.mbox:12", "unreadable", "a message is torn", "mend it", "0.mbox")
    assert run(tmp_path, [*items[1::2], broken], today=TODAY).gone == 0
    assert run(tmp_path, items[:3], complete=False).gone == 0
    with pytest.raises(SourceError):
        run(tmp_path, items, fails_after=3)
    report = run(tmp_path, items[:3])
    assert (report.gone, [item.code for item in report.skipped]) == (0, ["mass_gone"])
    assert state(tmp_path) == before
    assert run(tmp_path, items[:3], allow_mass_gone=True).gone == 21


def test_a_source_with_nothing_in_it_is_not_believed(tmp_path: Path) -> None:
    """Promise 4: an unmounted drive leaves an empty folder; said also when nothing stands yet."""
    assert [item.code for item in run(tmp_path, []).skipped] == ["empty_source"]
    run(tmp_path, [ITEM])
    report = run(tmp_path, [])
    assert (report.gone, [item.code for item in report.skipped]) == (0, ["empty_source"])
    assert run(tmp_path, [], allow_mass_gone=True).gone == 1


def test_another_source_takes_nothing_for_gone(tmp_path: Path) -> None:
    """W1: archives imported one by one."""
    run(tmp_path, [ITEM])
    assert run(tmp_path, [Item("9", "Other", "x")], partial=True).gone == 0


def test_what_is_left_out_on_purpose_keeps_nothing_alive(tmp_path: Path) -> None:
    """W1: a thread without a reply says nothing of others; where a place is named with it, that place is unsure."""
    items = [replace(ITEM, external_id=str(n), title=f"Note {n}", origin=f"{n}.mbox") for n in range(3)]
    run(tmp_path, items)
    left = Skipped("1.mbox", "not_replied", "you did not reply", "nothing needs doing", counts=False)
    assert run(tmp_path, [items[0], replace(left, origin="1.mbox")]).gone == 1
    report = run(tmp_path, [items[0], left])
    assert (report.gone, report.left_out["not_replied"], report.skipped) == (1, 1, [])


def test_a_run_that_is_killed_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Promise 4: what was written stays and is not written again; the end is that of one whole run."""
    items = [replace(ITEM, external_id=str(n), title=f"Note {n}") for n in range(6)]
    with pytest.raises(SourceError):
        run(tmp_path, items, fails_after=4)
    half = state(tmp_path)
    assert len(half) == 4
    report = run(tmp_path, items)
    assert (report.written, report.unchanged) == (2, 4)
    assert {path: facts for path, facts in state(tmp_path).items() if path in half} == half


def test_what_a_killed_run_left_is_removed(tmp_path: Path) -> None:
    """House rule 5: a half-written file of long ago goes; one that is being written, and a file of a person, stay."""
    run(tmp_path, [ITEM])
    old, new, mine = (
        tmp_path / "box" / name for name in (".kos-77-0123abcd.tmp", ".kos-78-0123abcd.tmp", ".my.draft.12.tmp")
    )
    for path in (old, new, mine):
        path.write_text("half")
    os.utime(old, (1, 1))
    os.utime(mine, (1, 1))
    run(tmp_path, [ITEM])
    assert (old.exists(), new.exists(), mine.exists()) == (False, True, True)


def test_what_grows_is_named_by_its_start(tmp_path: Path) -> None:
    """W1: the same source gives the same file whenever it is first mirrored; its date is that of the newest part."""
    report = run(tmp_path, [replace(ITEM, started=AT - timedelta(days=40))])
    assert report.paths == ["box/2026-01-20 Budget 2026.md"]
    parsed = note(tmp_path / report.paths[0])
    assert (parsed.event_at, parsed.properties["started"]) == (AT.astimezone(UTC), "2026-01-20T09:30:00+01:00")


def test_names_that_meet(tmp_path: Path) -> None:
    """V4: equal titles, titles that differ in case alone, and files that stand there already."""
    (tmp_path / "box").mkdir()
    (tmp_path / "box" / "Roof.md").write_text("mine")
    items = [Item("1", "Roof", "a"), Item("2", "ROOF", "b"), Item("3", "Roof", "c")]
    assert run(tmp_path, items).written == 3
    assert (tmp_path / "box" / "Roof.md").read_text() == "mine"
    assert len({path.casefold() for path in state(tmp_path)}) == 4
    assert run(tmp_path, items[::-1]).unchanged == 3


def test_an_id_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    """W1: the accounting adds up."""
    report = run(tmp_path, [ITEM, replace(ITEM, body="other")])
    assert (report.items, [item.code for item in report.skipped]) == (1, ["duplicate_id"])


def test_what_was_recalled_is_cut(tmp_path: Path) -> None:
    """W8: from body and title, and it is counted."""
    body = f"Asked.\n{FRAME_START}\n| The oven heats to 240.\n{FRAME_END}\nDecided.\n"
    report = run(tmp_path, [replace(ITEM, body=body)])
    assert report.recalled_cut == 1
    assert note(tmp_path / report.paths[0]).content.strip() == "Asked.\nDecided."


def test_a_link_out_of_the_vault_is_not_followed(tmp_path: Path) -> None:
    """V7: a writer only touches its own folder."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "box").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(VaultError, match="cannot be written"):
        run(tmp_path / "vault", [ITEM])
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize(
    ("title", "stem"),
    [
        ("../../etc/passwd", "2026-03-01 etc passwd"), ("a/b:c*?", "2026-03-01 a b c"), ("", "2026-03-01 untitled"),
        ("会议纪要 🏔️", "2026-03-01 会议纪要 🏔️"), ("...", "2026-03-01 untitled"), ("x\u202egpj", "2026-03-01 x gpj"),
        ("[[Link]] #tag ^block", "2026-03-01 Link tag block"),
    ],
)  # fmt: skip
def test_file_names_are_fit_for_every_system(title: str, stem: str) -> None:
    """V4: no separators, no direction marks, nothing that a link could not hold."""
    assert file_stem(replace(ITEM, title=title)) == stem


def test_devices_and_climbing_folders_are_made_plain() -> None:
    """V4, V7."""
    assert file_stem(Item("1", "con", "")) == "_con"
    assert folder_parts("../a/./.hidden/NUL/ b ") == ["a", "hidden", "_NUL", "b"]


@settings(max_examples=60, deadline=None)
@given(
    title=st.text(max_size=60), body=st.text(max_size=200), external=st.text(min_size=1, max_size=20),
    people=st.lists(st.text(max_size=20), max_size=3), value=st.text(max_size=30) | st.integers() | st.booleans(),
)  # fmt: skip
def test_whatever_an_item_holds_the_file_is_sound(
    title: str, body: str, external: str, people: list[str], value: Any
) -> None:
    """V1, W1: always a note without problems, with the item's id, the same bytes twice, and not taken for edited."""
    item = Item(external, title, body, AT, people=people, properties={"given": value})
    data, _ = render(item, mirror="box", namespace=None)
    assert data == render(item, mirror="box", namespace=None)[0]
    parsed = parse_note("a.md", data)
    assert isinstance(parsed, ParsedNote)
    assert (parsed.kos_id, parsed.stampable) == (note_id_of("box", external), True)
    found = read_mirrored(data, "box")
    assert found is not None
    assert (found.note_id, found.edited) == (note_id_of("box", external), False)
    assert unstamped(data) != data
    edited = read_mirrored(data + b"x", "box")
    assert edited is not None
    assert edited.edited


def test_progress_is_told(tmp_path: Path) -> None:
    """P4: every hundred items and at the end."""
    told: list[tuple[str, int, int]] = []
    run(tmp_path, [Item(str(n), f"Note {n}", "x") for n in range(250)], progress=lambda *facts: told.append(facts))
    assert told == [("box", 100, 0), ("box", 200, 0), ("box", 250, 250)]


def test_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """House rule 8: what, why, what next; the half that is written stays."""

    def full(*_: Any, **__: Any) -> bool:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("kos_assets.vault.files.create_file", full)
    with pytest.raises(VaultError, match="cannot be written") as caught:
        run(tmp_path, [ITEM])
    assert "No space left" in str(caught.value)


class Meddling(Listed):
    """A person is at work while the source is read."""

    def __init__(self, items: Sequence[Entry], work: Any) -> None:
        super().__init__(items)
        self.work = work

    def entries(self) -> Iterator[Entry]:
        """After the folder was looked at, before the first item is written."""
        self.work()
        yield from self.items


def meddled(vault: Path, items: Sequence[Entry], work: Any) -> MirrorReport:
    """A run during which `work` happens."""
    return mirror(Meddling(items, work), vault, name="box", folder="box", namespace=None, today=TODAY)


def test_what_a_person_does_during_a_run_is_not_lost(tmp_path: Path) -> None:
    """Promise 4: an edit, an edit of what is gone from the source, and a note under a name that was free."""
    run(tmp_path, [ITEM, replace(ITEM, external_id="2", title="Roof")], namespace=None)
    budget, roof, new = (
        tmp_path / "box" / name for name in ("2026-03-01 Budget 2026.md", "2026-03-01 Roof.md", "New.md")
    )

    def work() -> None:
        for path in (budget, roof):
            path.write_bytes(path.read_bytes() + b"My words.\n")
        new.write_text("Mine.")

    report = meddled(tmp_path, [replace(ITEM, body="Three."), Item("3", "New", "x")], work)
    assert (report.edited, report.gone, report.written) == (1, 0, 1)
    assert all(b"My words." in path.read_bytes() for path in (budget, roof))
    assert new.read_text() == "Mine."
    assert [item.code for item in run(tmp_path, [], allow_mass_gone=True).skipped] == []
    assert b"gone_since" not in roof.read_bytes()


def test_a_note_that_was_moved_out_of_the_folder_is_not_doubled(tmp_path: Path) -> None:
    """V2, V7: it is reported, and written anew once it is deleted."""
    run(tmp_path, [ITEM])
    (tmp_path / "mine").mkdir()
    moved = tmp_path / "mine" / "b.md"
    (tmp_path / "box/2026-03-01 Budget 2026.md").rename(moved)
    for _ in range(3):
        report = run(tmp_path, [replace(ITEM, body="Three boats.")])
        assert (report.items, dict(report.left_out)) == (0, {"moved_out": 1})
    assert list(state(tmp_path)) == ["mine/b.md"]
    moved.unlink()
    assert run(tmp_path, [ITEM]).written == 1


def test_a_note_with_a_broken_head_is_still_that_note(tmp_path: Path) -> None:
    """V1, V2: the id is saved from the block that a person broke."""
    run(tmp_path, [ITEM])
    path = tmp_path / "box/2026-03-01 Budget 2026.md"
    path.write_text(path.read_text().replace('title: "Budget 2026"', "title: Budget: 2026"))
    report = run(tmp_path, [ITEM])
    assert (report.items, report.edited, len(state(tmp_path))) == (1, 1, 1)


def test_line_ends_of_a_checkout_are_no_edit(tmp_path: Path) -> None:
    """V4: git may turn them."""
    run(tmp_path, [ITEM])
    path = tmp_path / "box/2026-03-01 Budget 2026.md"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert run(tmp_path, [ITEM]).unchanged == 1
    assert run(tmp_path, [replace(ITEM, body="Three.")]).updated == 1


def test_a_copy_does_not_take_the_place_of_its_original(tmp_path: Path) -> None:
    """V2."""
    run(tmp_path, [ITEM])
    path = tmp_path / "box/2026-03-01 Budget 2026.md"
    copy = path.with_name("2026-03-01 Budget 2026 copy.md")
    copy.write_bytes(path.read_bytes())
    run(tmp_path, [replace(ITEM, body="Three.")])
    assert (b"Three." in path.read_bytes(), b"Three." in copy.read_bytes()) == (True, False)


def test_a_head_is_never_larger_than_a_scan_reads(tmp_path: Path) -> None:
    """V9: five hundred addressees do not push the namespace out of sight."""
    people = [f"Person number {n} of the whole cooperative <person.{n}@{'long' * 20}.example.org>" for n in range(900)]
    item = replace(ITEM, people=people, properties={"note": "x" * 100_000})
    report = run(tmp_path, [item])
    parsed = note(tmp_path / report.paths[0])
    assert (parsed.problems, parsed.kos_namespace) == ((), "shared:owner")
    assert parsed.properties["people_cut"] is True
    assert run(tmp_path, [item]).unchanged == 1


@pytest.mark.parametrize(
    "key", ["foo: bar", "*a", '"q', "[x", "!t", "", "kos_id ", "kos_mirror ", "kos namespace", "k" * 1200, "- a"]
)
def test_no_property_can_break_the_head_or_take_our_keys(tmp_path: Path, key: str) -> None:
    """W1: also of writers of one's own."""
    item = replace(ITEM, properties={key: "value", "recalled_cut": "many"})
    report = run(tmp_path, [item])
    parsed = note(tmp_path / report.paths[0])
    assert (parsed.problems, parsed.kos_id, parsed.kos_namespace) == ((), note_id_of("box", "4711"), "shared:owner")
    assert run(tmp_path, [item]).unchanged == 1


def test_what_was_erased_is_not_written_again(tmp_path: Path) -> None:
    """S11: though the source still has it."""
    run(tmp_path, [ITEM])
    (tmp_path / "box/2026-03-01 Budget 2026.md").unlink()
    note_id = str(note_id_of("box", "4711"))
    Ledger(tmp_path, "m-test").append("erase", str(UUID(int=7)), by="owner", at=AT, namespace="global", note_id=note_id)
    assert run(tmp_path, [ITEM]).left_out == {"erased": 1}
    assert list((tmp_path / "box").iterdir()) == []
