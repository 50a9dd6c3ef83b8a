"""Walking a vault and reading its files, hostile ones included."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from kos_assets.errors import VaultError
from kos_assets.vault import files, scan
from kos_assets.vault.problems import Unreadable
from kos_assets.vault.scan import FileStat


def _write(root: Path, path: str, data: bytes = b"text\n") -> Path:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return target


def _stat(root: Path, path: str) -> FileStat:
    return next(stat for stat in scan.walk(root)[0] if stat.path == path)


def test_walk_finds_markdown_and_leaves_the_rest_out(tmp_path: Path) -> None:
    """V3, V4: hidden, swap, backup and foreign files are left out; any spelling of the suffix counts."""
    kept = ["B.MD", "a.md", "sub/c.markdown", "#1 idea.md", "日本/😀.md", "node.md/inner.md", "x.canvas", "y.CANVAS",
            "עברית/مرحبا \u202eב.md", "👩\u200d🚀.md", "a\nb.md", " .md", "sub/logseq/bak/a.md"]  # fmt: skip
    dropped = [
        ".obsidian/app.md",
        ".trash/old.md",
        ".git/x.md",
        ".kos/ids.md",
        "sub/.hidden.md",
        ".a.md.swp",
        "a.md~",
        "#a.md#",
        "~$a.md",
        "a.md.bak",
        "x.txt",
        "x.canvas~",
        ".x.canvas.swp",
        ".#a.md",
        ".~lock.a.md#",
        "._a.md",
        "a.md.orig",
        "a.md.tmp",
        "a.md.part",
        ".a.md.kate-swp",
        ".syncthing.a.md.tmp",
        "~syncthing~a.md.tmp",
        ".stversions/a~20260304-101112.md",
        ".a.md.~1f2e",
        ".dropbox.cache/a.md",
        "logseq/bak/pages/a/2026.md",
        "logseq/version-files/a.md",
        "@eaDir/a.md",
        "__MACOSX/a.md",
        "$RECYCLE.BIN/a.md",
        "node_modules/pkg/readme.md",
    ]
    for path in kept + dropped:
        _write(tmp_path, path)
    found, unreadable = scan.walk(tmp_path)
    assert [stat.path for stat in found] == sorted(kept)
    assert unreadable == []
    assert found[0].size == 5
    assert found[0].mtime_ns == (tmp_path / found[0].path).stat().st_mtime_ns


def test_case_collisions_are_two_files(tmp_path: Path) -> None:
    """V4: names that differ only by case are two notes where the file system says so."""
    _write(tmp_path, "Note.md")
    _write(tmp_path, "note.md", b"other\n")
    assert len(scan.walk(tmp_path)[0]) == len(list(tmp_path.iterdir()))


def test_links_are_not_followed(tmp_path: Path) -> None:
    """V4: a link out of the vault leaks nothing, a cycle ends, what is linked inside is read once."""
    outside = tmp_path / "outside"
    vault = tmp_path / "vault"
    _write(outside, "secret.md")
    _write(vault, "real/a.md")
    (vault / "leak.md").symlink_to(outside / "secret.md")
    (vault / "leaks").symlink_to(outside)
    (vault / "real/cycle").symlink_to(vault)
    (vault / "again.md").symlink_to(vault / "real/a.md")
    (vault / "broken.md").symlink_to(vault / "nowhere.md")
    (vault / "vault-twin").symlink_to(Path("..") / "vault-twin")
    (vault / "picture").symlink_to(outside / "secret.png")
    found, unreadable = scan.walk(vault)
    assert [stat.path for stat in found] == ["real/a.md"]
    assert {item.path: item.code for item in unreadable} == {
        "leak.md": "symlink_outside",
        "leaks": "symlink_outside",
        "real/cycle": "symlink_folder",
        "again.md": "symlink_file",
        "broken.md": "symlink_broken",
    }
    assert all(item.reason and item.fix for item in unreadable)


def test_a_vault_may_be_reached_through_a_link(tmp_path: Path) -> None:
    """V4: the root itself may be a link; its files are inside."""
    _write(tmp_path / "vault", "a.md")
    (tmp_path / "link").symlink_to(tmp_path / "vault")
    found, unreadable = scan.walk(tmp_path / "link")
    assert [stat.path for stat in found] == ["a.md"]
    assert unreadable == []
    assert scan.read(tmp_path / "link", found[0]) == b"text\n"


def test_pipes_are_never_opened(tmp_path: Path) -> None:
    """V4: a pipe with a note's name is reported by walk, and read does not hang on one that came later."""
    os.mkfifo(tmp_path / "pipe.md")
    found, unreadable = scan.walk(tmp_path)
    assert found == []
    assert [item.code for item in unreadable] == ["not_a_file"]
    result = scan.read(tmp_path, FileStat("pipe.md", 0, 0))
    assert isinstance(result, Unreadable)
    assert result.code == "not_a_file"


def test_undecodable_names_are_reported(tmp_path: Path) -> None:
    """V4: a name that is no UTF-8 is quarantined and blocks nothing."""
    try:
        (tmp_path / os.fsdecode(b"caf\xe9.md")).write_bytes(b"x")
    except OSError:
        pytest.skip("this file system refuses such names")
    _write(tmp_path, "ok.md")
    found, unreadable = scan.walk(tmp_path)
    assert [stat.path for stat in found] == ["ok.md"]
    assert [(item.path, item.code) for item in unreadable] == [("caf\\xe9.md", "name_not_utf8")]


def test_depth_is_bounded(tmp_path: Path) -> None:
    """V4: nesting beyond 64 folders is reported."""
    _write(tmp_path, "/".join(["d"] * 64) + "/in.md")
    _write(tmp_path, "/".join(["d"] * 65) + "/out.md")
    found, unreadable = scan.walk(tmp_path)
    assert [stat.path.rpartition("/")[2] for stat in found] == ["in.md"]
    assert [item.code for item in unreadable] == ["too_deep"]


def test_conflict_copies_are_set_aside_while_the_note_stands(tmp_path: Path) -> None:
    """V4: what a synchronisation left beside a note is quarantined; alone it is a note."""
    copies = [
        "a.sync-conflict-20260304-101500-ABCDEFG.md",
        "a (conflicted copy 2026-03-04 101500).md",
        "a (Ada's conflicted copy 2026-03-04).md",
        "a_conflict-20260304-101500.md",
    ]
    for path in (*copies, "a.md", "b (conflicted copy).md", "on conflict.md"):
        _write(tmp_path, path)
    found, unreadable = scan.walk(tmp_path)
    assert {stat.path for stat in found} == {"a.md", "b (conflicted copy).md", "on conflict.md"}
    assert {item.path for item in unreadable} == set(copies)
    assert {item.code for item in unreadable} == {"sync_conflict"}


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_a_vault_that_is_no_folder_is_an_error(tmp_path: Path, kind: str) -> None:
    """V4: a missing root is never taken for an empty vault."""
    root = tmp_path / "vault"
    if kind == "file":
        root.write_text("x")
    with pytest.raises(VaultError, match="cannot be read"):
        scan.walk(root)


def test_a_folder_that_cannot_be_listed_hides_its_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """V4: notes below an unreadable folder are unknown, not deleted; others are found."""
    _write(tmp_path, "locked/a.md")
    _write(tmp_path, "open/b.md")
    real = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found, unreadable = scan.walk(tmp_path)
    assert [stat.path for stat in found] == ["open/b.md"]
    assert [item.code for item in unreadable] == ["folder_unreadable"]
    assert scan.hidden_by("locked/a.md", unreadable) is unreadable[0]
    assert scan.hidden_by("locked2/a.md", unreadable) is None


def test_read_gives_the_bytes(tmp_path: Path) -> None:
    """V4: a file up to the limit comes back as it is; an empty one too."""
    _write(tmp_path, "sub/a.md", b"\xff\x00raw\r\n")
    _write(tmp_path, "empty.md", b"")
    assert scan.read(tmp_path, _stat(tmp_path, "sub/a.md")) == b"\xff\x00raw\r\n"
    assert scan.read(tmp_path, _stat(tmp_path, "empty.md")) == b""


def test_read_refuses_large_vanished_and_linked_files(tmp_path: Path) -> None:
    """V4: each reason has its code; a file or folder swapped for a link after the walk is not followed."""
    _write(tmp_path / "vault", "a.md", b"x" * 100)
    _write(tmp_path / "vault", "sub/b.md")
    _write(tmp_path / "elsewhere", "b.md", b"secret")
    vault = tmp_path / "vault"
    small, inner = _stat(vault, "a.md"), _stat(vault, "sub/b.md")

    def code(stat: FileStat, **limits: int) -> str:
        result = scan.read(vault, stat, **limits)
        assert isinstance(result, Unreadable)
        return result.code

    assert code(small, max_bytes=99) == "too_large"
    assert code(FileStat("a.md", 1, 0), max_bytes=99) == "too_large"
    assert code(FileStat("gone.md", 1, 0)) == "vanished"
    (vault / "a.md").unlink()
    (vault / "a.md").symlink_to(tmp_path / "elsewhere/b.md")
    assert code(small) == "unreadable"
    (vault / "sub").rename(vault / "old")
    (vault / "sub").symlink_to(tmp_path / "elsewhere")
    assert code(inner) == "unreadable"


@pytest.mark.parametrize(("changes", "expected"), [(1, b"text\n"), (9, "changed_while_read")])
def test_a_file_that_changes_is_read_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: int, expected: object
) -> None:
    """V4: one change while reading is survived, a file that never rests is reported."""
    _write(tmp_path, "a.md")
    stat = _stat(tmp_path, "a.md")
    real, left = files.read_descriptor, [changes]

    def restless(descriptor: int, size: int, at_most: int) -> bytes:
        data = real(descriptor, size, at_most)
        if left[0]:
            left[0] -= 1
            os.utime(tmp_path / "a.md", ns=(0, left[0]))
        return data

    monkeypatch.setattr(files, "read_descriptor", restless)
    result = scan.read(tmp_path, stat)
    assert (result.code if isinstance(result, Unreadable) else result) == expected


def test_walking_many_files_is_quick(tmp_path: Path) -> None:
    """V5: an unchanged vault costs one stat per file (3,000 files; generous for a busy machine)."""
    for folder in range(30):
        (tmp_path / f"d{folder}").mkdir()
        for number in range(100):
            (tmp_path / f"d{folder}" / f"{number}.md").touch()
    started = time.process_time()
    assert len(scan.walk(tmp_path)[0]) == 3000
    assert time.process_time() - started < 1


def test_a_note_that_is_only_in_the_cloud_is_not_gone(tmp_path: Path) -> None:
    """V4: iCloud's placeholder keeps the note's path, so that it does not count as deleted."""
    for path in ("sub/.Note.md.icloud", ".Board.canvas.icloud", ".Photo.png.icloud", ".icloud"):
        _write(tmp_path, path)
    found, unreadable = scan.walk(tmp_path)
    assert found == []
    assert [(item.path, item.code) for item in unreadable] == [
        ("Board.canvas", "not_downloaded"), ("sub/Note.md", "not_downloaded"),
    ]  # fmt: skip
    hiding = scan.hidden_by("sub/Note.md", unreadable)
    assert hiding is not None
    assert "download" in hiding.fix


def test_a_conflict_copy_is_set_aside_in_any_language(tmp_path: Path) -> None:
    """V4: the note itself stays, its copy is listed with what to do; a copy without its note is a note."""
    names = [
        "Übung",
        "Übung (In Konflikt stehende Kopie von Ada 2026-03-04)",
        "会议",
        "会议 (Ada 的冲突副本 2026-03-04)",
    ]
    for name in [*names, "alone (Ada's conflicted copy 2026-03-04)"]:
        _write(tmp_path, f"{name}.md")
    _write(tmp_path, "b.canvas")
    _write(tmp_path, "b.sync-conflict-20260304-101112-ABCDEFG.canvas")
    found, unreadable = scan.walk(tmp_path)
    assert {stat.path for stat in found} == {
        "Übung.md", "会议.md", "alone (Ada's conflicted copy 2026-03-04).md", "b.canvas",
    }  # fmt: skip
    assert {item.code for item in unreadable} == {"sync_conflict"}
    assert len(unreadable) == 3
