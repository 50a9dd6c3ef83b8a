"""Files of tasks through the mirror: lists, identities, what is not read, what cannot be read."""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from kos_assets.domain.frame import FRAME_END, FRAME_START
from kos_assets.domain.mirrors import mirror_settings
from kos_assets.errors import ConfigError
from kos_assets.writers.contract import Item, Skipped, Source, SourceError
from kos_assets.writers.mirror import MirrorReport, mirror
from kos_assets.writers.todos import open_source

TODAY = date(2026, 3, 4)


@pytest.fixture
def src(tmp_path: Path) -> Path:
    """An empty source beside an empty vault."""
    (tmp_path / "vault").mkdir()
    (tmp_path / "src").mkdir()
    return tmp_path / "src"


def opened(src: Path, *paths: Path) -> Source:
    """The source below `src`, or of these paths."""
    settings = mirror_settings("todos", {"path": [str(path) for path in paths or (src,)]})
    vault = src.parent / "vault"
    return open_source(settings, vault=vault, data_dir=src.parent / "data", zone=ZoneInfo("Europe/Berlin"))


def run(src: Path, *paths: Path) -> MirrorReport:
    """One run into the vault."""
    vault = src.parent / "vault"
    return mirror(opened(src, *paths), vault, name="todos", folder="todos", namespace=None, today=TODAY)


def items(src: Path, *paths: Path) -> dict[str, Item]:
    return {entry.external_id: entry for entry in opened(src, *paths).entries() if isinstance(entry, Item)}


def skips(src: Path, *paths: Path) -> list[Skipped]:
    return [entry for entry in opened(src, *paths).entries() if isinstance(entry, Skipped)]


def texts(src: Path) -> dict[str, str]:
    """Notes of the vault by path below the mirror's folder."""
    base = src.parent / "vault" / "todos"
    return {path.relative_to(base).as_posix(): path.read_text("utf-8") for path in sorted(base.rglob("*.md"))}


def fill(src: Path) -> None:
    """One small source of every format."""
    (src / "todo.txt").write_text("(A) Call +house due:2026-03-09\nPlain\n")
    (src / "done.txt").write_text("x 2026-03-02 Measure +house\n")
    (src / "Plan.md").write_text("- [ ] Write 📅 2026-03-05\n")
    (src / "home.ics").write_text("BEGIN:VCALENDAR\nBEGIN:VTODO\nUID:1\nSUMMARY:Pay\nEND:VTODO\nEND:VCALENDAR\n")
    (src / "tasks.json").write_text(
        json.dumps([{"uuid": "a", "description": "Fix", "status": "pending", "project": "Tap"}])
    )


def test_every_format_gives_its_lists_and_a_second_run_writes_nothing(src: Path) -> None:
    """W1, W4: lists of all four; nothing is written twice; two readings are the same."""
    fill(src)
    assert list(opened(src).entries()) == list(opened(src).entries())
    report = run(src)
    assert (report.written, report.skipped) == (5, [])
    assert set(texts(src)) == {
        "house (tasks).md", "todo (tasks).md", "Plan (tasks).md", "home (tasks).md", "Tap (tasks).md",
    }  # fmt: skip
    notes = list((src.parent / "vault" / "todos").rglob("*.md"))
    for note in notes:
        os.utime(note, ns=(1, 1))
    again = run(src)
    assert (again.unchanged, again.written, again.updated) == (report.items, 0, 0)
    assert {note.stat().st_mtime_ns for note in notes} == {1}


def test_a_new_task_updates_the_same_note(src: Path) -> None:
    """W1: the list keeps its note while tasks come, change, move to the archive and lines change their places."""
    fill(src)
    run(src)
    (src / "todo.txt").write_text("Plain\n(B) More +house\n")
    (src / "done.txt").write_text("x 2026-03-03 Call +house\nx 2026-03-02 Measure +house\n")
    report = run(src)
    assert (report.updated, report.written, report.gone) == (1, 0, 0)
    assert "1 open, 2 done." in texts(src)["house (tasks).md"]


def test_a_list_that_is_gone_is_marked(src: Path) -> None:
    """W1: marked, not deleted."""
    fill(src)
    run(src)
    (src / "Plan.md").unlink()
    assert run(src).gone == 1
    assert 'gone_since: "2026-03-04"' in texts(src)["Plan (tasks).md"]


def test_what_was_left_out_on_purpose_keeps_no_list_from_being_marked(src: Path) -> None:
    """W1: a project that is gone is marked although an empty task stands in its file; not beside a broken record."""
    broken = '{"uuid": "b", "description": "Half\n'
    records = [{"uuid": "a", "description": "Fix", "status": "pending", "project": "Tap"}]
    (src / "todo.txt").write_text("x\nCall +house\nPlain\n")
    (src / "tasks.json").write_text(json.dumps(records))
    run(src)
    (src / "todo.txt").write_text("x\nPlain\n")
    (src / "tasks.json").write_text(broken)
    report = run(src)
    assert (report.gone, [each.code for each in report.skipped]) == (1, ["bad_json"])
    assert "gone_since" in texts(src)["house (tasks).md"]
    assert "gone_since" not in texts(src)["Tap (tasks).md"]
    (src / "tasks.json").write_text("")
    assert (run(src).gone, [each.code for each in skips(src) if each.counts]) == (0, ["empty_export"])
    (src / "tasks.json").write_text("[\n]\n")
    assert run(src).gone == 1


def test_identities_outlive_a_move_and_another_name_of_an_export(src: Path) -> None:
    """W1, V2: the source moved as a whole, the Taskwarrior export called differently, a path added behind: same ids."""
    fill(src)
    before = items(src)
    other = src.parent / "elsewhere" / "deep"
    other.parent.mkdir()
    src.rename(other)
    (other / "tasks.json").rename(other / "export-2026.json")
    assert items(other) == before
    added = src.parent / "added"
    added.mkdir()
    (added / "todo.txt").write_text("New +house\n")
    assert set(items(other, other, added)) == set(before) | {"todo.txt:added/todo.txt#house"}
    assert items(other, other / "todo.txt", other / "done.txt").keys() == {
        "todo.txt:todo.txt",
        "todo.txt:todo.txt#house",
    }


def test_a_folder_of_single_tasks_is_one_list(src: Path) -> None:
    """W4: files that are called after their only task (vdir) make the folder's list, with parents across files."""
    home = src / "Home"
    home.mkdir()
    for uid, more in (("u-1", ""), ("u-2", "RELATED-TO:u-1\n")):
        (home / f"{uid}.ics").write_text(f"BEGIN:VTODO\nUID:{uid}\nSUMMARY:Task {uid}\n{more}END:VTODO\n")
    (found,) = items(src).values()
    assert (found.external_id, found.title, found.folder) == ("vtodo:Home/", "Home (tasks)", "")
    assert "- [ ] Task u-1\n    - [ ] Task u-2" in found.body


def test_the_vault_itself_without_what_mirrors_and_the_gate_wrote(src: Path) -> None:
    """W4, W8: no self-feeding: own folder, memories, hidden folders, templates, notes of any mirror."""
    vault = src.parent / "vault"
    wanted = {
        "Plan.md": "- [ ] mine\n", "memories/a/x.md": "- [ ] memory\n", ".kos/x.md": "- [ ] kos\n",
        ".obsidian/x.md": "- [ ] app\n", ".trash/x.md": "- [ ] trash\n", "Templates/day.md": "- [ ] template\n",
        "mail/x.md": "---\nkos_mirror: mail\n---\n- [ ] mailed\n", "todos/x.md": "- [ ] own\n",
        "sub/Deep.md": "- [ ] deep\n",
    }  # fmt: skip
    for path, text in wanted.items():
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_text(text)
    report = run(src, vault)
    assert (report.items, report.left_out) == (2, Counter(template=1, mirrored=1))
    again = run(src, vault)
    assert (again.items, again.unchanged, again.left_out) == (2, 2, report.left_out)
    assert sorted(texts(src)) == ["Plan (tasks).md", "sub/Deep (tasks).md", "x.md"]
    link = src.parent / "link"
    link.symlink_to(vault)
    assert set(items(src, link)) == {"obsidian:Plan.md", "obsidian:sub/Deep.md"}


def test_what_was_recalled_is_cut_and_the_rest_stays(src: Path) -> None:
    """W8: a frame in a source never comes back, and takes no task that stands beside it along."""
    frame = f"{FRAME_START}\n| - [ ] secret plan\n| more\n{FRAME_END}\n"
    (src / "a.md").write_text(f"- [ ] before\n\n{frame}\n- [ ] after\n- [ ] {FRAME_START}\n- [ ] last\n")
    (src / "todo.txt").write_text(f"before\n{FRAME_START} secret\nafter\n")
    line = f"{FRAME_START}\\n| secret\\n{FRAME_END}"
    (src / "a.ics").write_text(f"BEGIN:VTODO\nUID:1\nSUMMARY:before\nDESCRIPTION:kept\\n{line}\nEND:VTODO\n")
    records = [
        {"uuid": "a", "description": f"{FRAME_START}\n| secret"},
        {"uuid": "b", "description": "after", "status": "x"},
    ]
    (src / "t.json").write_text(json.dumps([records[1], records[0]]))
    run(src)
    whole = "\n".join(texts(src).values())
    assert "secret" not in whole
    assert "BACKGROUND DATA" not in whole
    for note, words in (("a (tasks).md", "before after"), ("todo (tasks).md", "before after")):
        assert all(f"- [ ] {word}" in texts(src)[note] for word in words.split())
    assert "Note: kept" in whole


@pytest.mark.parametrize(
    ("encoding", "text"),
    [("utf-8", "Zażółć 日本"), ("utf-8-sig", "Zażółć"), ("utf-16", "Zażółć 日本"), ("utf-32", "日本"),
     ("cp1252", "Größe für später prüfen, Übung schließen und Straße säubern"),
     ("cp1251", "Позвонить в банк и спросить про кредит на новый дом завтра утром"),
     ("shift_jis", "銀行に電話してローンについて聞くことを忘れないようにする、明日の朝に")],
)  # fmt: skip
def test_encodings(src: Path, encoding: str, text: str) -> None:
    """W4: every encoding that can be told is read right, with any line ends."""
    (src / "todo.txt").write_bytes(f"{text}\r\n{text} two\rthree\n".encode(encoding))
    (found,) = items(src).values()
    assert f"- [ ] {text}\n" in f"{found.body}\n"
    assert found.properties["open"] == 3
    assert ("encoding" in found.properties) == (not encoding.startswith("utf-8"))


def test_one_bad_file_never_blocks_the_rest(src: Path) -> None:
    """W4, V4: pipes, links, binaries, conflict copies and broken records are reported, all else goes on."""
    fill(src)
    os.mkfifo(src / "pipe.md")
    (src / "link.md").symlink_to(src / "Plan.md")
    (src / "png.md").write_bytes(b"\x89PNG\0\0\0")
    (src / "Plan.sync-conflict-20260304-101010-ABC.md").write_text("- [ ] twice\n")
    (src / "other.json").write_text('{"name": "package"}')
    (src / "bad.json").write_text(
        '{"uuid": "b", "description": "Good", "status": "pending"}\n{"uuid": "c"\n{"uuid": "d"}\n'
    )
    (src / "notes.txt").write_text("no tasks\n")
    found = skips(src)
    assert sorted(each.code for each in found) == [
        "bad_json", "binary", "link", "not_a_file", "not_a_task", "not_an_export", "sync_conflict",
    ]  # fmt: skip
    assert all(each.reason and each.fix and each.where for each in found)
    assert sum(not each.counts for each in found) == 2
    assert len(items(src)) == 6


def test_a_file_that_cannot_be_read_leaves_its_notes_as_they_are(src: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W1: not marked as gone, and a list of two files does not lose the tasks of one."""
    fill(src)
    run(src)
    before = texts(src)
    real = os.open

    def refusing(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path in {"done.txt", "home.ics", "tasks.json"}:
            raise PermissionError(13, "Permission denied")
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refusing)
    report = run(src)
    assert (report.gone, report.updated, report.written) == (0, 0, 0)
    assert [each.code for each in report.skipped] == ["unreadable_file"] * 3
    assert texts(src) == before


def test_sizes_are_bounded(src: Path) -> None:
    """W4: a file larger than the limit is not read; it is reported."""
    with (src / "big.md").open("wb") as file:
        file.truncate(17 * 2**20)
    assert [each.code for each in skips(src)] == ["too_large"]


def test_the_fingerprint_follows_the_files(src: Path) -> None:
    """W1: the same files, the same one; any other size, time or name, another."""
    fill(src)
    first = opened(src).fingerprint()
    assert opened(src).fingerprint() == first
    os.utime(src / "Plan.md", ns=(5, 5))
    second = opened(src).fingerprint()
    (src / "Plan.md").rename(src / "Plans.md")
    assert len({first, second, opened(src).fingerprint()}) == 3


def test_settings_that_cannot_work(src: Path) -> None:
    """W1: no path, a missing one, a pipe, a file of another kind: said at once, with the fix."""
    with pytest.raises(ConfigError, match="no path"):
        open_source(mirror_settings("todos", {}), vault=src, data_dir=src, zone=ZoneInfo("UTC"))
    os.mkfifo(src / "todo.txt")
    (src / "a.pdf").write_text("x")
    for name in ("missing", "todo.txt", "a.pdf"):
        with pytest.raises(SourceError) as caught:
            opened(src, src / name)
        assert caught.value.fix


def test_a_json_file_that_was_named_must_be_an_export(src: Path) -> None:
    """W4: what a person names is a problem when it is no export; what lies in a folder is passed over."""
    (src / "x.json").write_text("{}")
    assert [(each.code, each.counts) for each in skips(src, src / "x.json")] == [("not_an_export", True)]
    (src / "any.txt").write_text("named\n")
    assert list(items(src, src / "any.txt")) == ["todo.txt:any.txt"]
