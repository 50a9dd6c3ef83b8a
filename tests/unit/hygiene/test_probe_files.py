"""Runs of an erased text: what is telling, how it is folded, and how files are searched for it."""

from __future__ import annotations

import gzip
import html
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.domain import needles
from kos_assets.hygiene import probe_files
from kos_assets.hygiene.git_history import search_history
from kos_assets.hygiene.probe_files import search_file, search_files, walk

SECRET = "The spare key of the attic server hangs behind the blue boiler, on the third hook from the left."


def _holds(text: str, runs: tuple[str, ...]) -> bool:
    return any(run in needles.fold(text) for run in runs)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=5))
@settings(max_examples=200)
def test_a_text_is_found_in_whatever_shape_it_was_copied(lines: list[str]) -> None:
    """S11: as it is, indented, quoted, as JSON in ASCII, as HTML: a run of it is always seen in a copy of it."""
    content = "\n".join([SECRET, *lines])
    runs = needles.runs("Short", [content])
    assert runs
    copies = [
        content,
        json.dumps({"a": content}),
        html.escape(content),
        content.replace("\n", "\n    > "),
        content.upper(),
    ]
    assert all(_holds(copy, runs) for copy in copies)


@given(st.text())
def test_folding_is_stable_and_keeps_no_white_space(text: str) -> None:
    """S11: what is folded once stays as it is, so that runs can be compared with folded text."""
    folded = needles.fold(text)
    assert needles.fold(folded) == folded
    assert not set(folded) & set(" \t\n\"'<>&*_`#-")


def test_lines_keys_and_headings_are_telling_and_small_words_are_not() -> None:
    """S11: every line of some length, start, middle and end of a long one, what looks like a key, a telling heading."""
    long = " ".join(f"word{number}" for number in range(200))
    runs = needles.runs("Where the spare key hangs", [f"{SECRET}\n\nyes\n\n# Notes\n{long}\ntoken: 4f9A8b7C22d1\n"])
    assert needles.fold("Where the spare key hangs") in runs
    assert needles.fold(SECRET)[:40] in runs
    assert "4f9a8b7c22d1" in runs
    assert _holds(" ".join(long.split()[-8:]), runs)
    assert not _holds("yes, notes", runs)
    assert all(len(run) <= needles.RUN for run in runs)
    assert len(needles.runs("x", ["\n".join(f"{SECRET} {n} {n}" for n in range(5000))])) <= 3 * 64
    assert needles.runs("Notes", ["yes"]) == ()
    assert needles.runs("Door", ["Code: 4711"]) == ("code4711",)


def test_dates_and_ids_are_no_keys() -> None:
    """S11: what every log is full of is not searched for."""
    common = "2026-03-04T12:30:00Z 2026-03-04T12:30:00.123456+00:00 6fa459ea-ee8a-3ca4-894e-db77e160355e python3.11"
    assert not {run for run in needles.runs("", [f"x\n{common}\n"]) if len(run) < 30}


def test_a_run_across_blocks_and_inside_gzip_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S11: files are read in blocks; where a block ends hides nothing, be it inside an escape or a character."""
    text = "é" * 50 + json.dumps({"m": "first line\nünd " + SECRET}) + "x" * 50
    plain, packed = tmp_path / "a.log", tmp_path / "b.log.gz"
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    runs = needles.runs("", [f"first line\nünd {SECRET}"])
    for size in range(1, 60):
        monkeypatch.setattr(probe_files, "_BLOCK", size)
        assert search_file(plain, runs, ()) == (True, False)
    assert search_file(packed, runs, ()) == (True, False)
    assert search_file(plain, ("nowhereinit",), ()) == (False, False)


def test_every_file_is_searched_but_what_is_apart(tmp_path: Path) -> None:
    """S11: nested folders, names of files, mentions of ids; links are not followed, what cannot be read is told."""
    (tmp_path / "deep/er").mkdir(parents=True)
    (tmp_path / "apart").mkdir()
    (tmp_path / "deep/er/compute.log").write_text(f"line\n{SECRET}\n")
    (tmp_path / "apart/data").write_text(SECRET)
    (tmp_path / f"{SECRET[:60]}.json").write_text("{}")
    (tmp_path / "ids").write_text("6FA459EA-ee8a-3ca4-894e-db77e160355e")
    (tmp_path / "broken.gz").write_bytes(b"\x1f\x8bnot gzip")
    (tmp_path / "link").symlink_to(tmp_path / "apart/data")
    tally = search_files(
        tmp_path, needles.runs("", [SECRET]), ("6fa459eaee8a3ca4894edb77e160355e",), apart=[tmp_path / "apart"]
    )
    assert (tally.searched, tally.hits, tally.named) == (3, 2, 1)
    assert sorted(tally.where) == sorted(["deep/er/compute.log", f"{SECRET[:60]}.json"])
    assert tally.unread == ["broken.gz"]
    assert list(walk(tmp_path / "nowhere")) == []


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_tells_what_it_still_knows(tmp_path: Path) -> None:
    """S11: commits of the file and of its text elsewhere, stashes included, and the commands that clean them."""
    assert search_history(tmp_path, ["a.md"], [SECRET]) is None
    vault = tmp_path / "vault"
    vault.mkdir()

    def git(*arguments: str) -> None:
        command = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
        subprocess.run(command, check=True, capture_output=True)

    git("init", "-q")
    (vault / "a b.md").write_text(SECRET)
    (vault / "c.md").write_text("else")
    git("add", ".")
    git("commit", "-qm", "one")
    (vault / "c.md").write_text(f"else\n{SECRET}\n")
    git("commit", "-qam", "two")
    (vault / "a b.md").unlink()
    (vault / "c.md").write_text("else")
    git("commit", "-qam", "three")
    git("remote", "add", "origin", "https://example.org/x.git")
    found = search_history(vault, ["a b.md"], [SECRET])
    assert found is not None
    assert (len(found.by_path), len(found.by_text), len(found.commits)) == (2, 3, 3)
    assert found.commands[0] == "git filter-repo --force --invert-paths --path 'vault/a b.md'"
    assert any("--replace-text" in command for command in found.commands)
    assert found.commands[-1] == "git push --force --all origin"
    clean = search_history(vault, ["never.md"], ["nothing of it"])
    assert clean is not None
    assert (clean.commits, clean.commands) == ((), ())
