"""First commit times, from a real repository."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kos_assets.vault.git import first_commit_times


def _git(root: Path, *arguments: str, at: int = 0) -> None:
    stamp = f"@{1_700_000_000 + at} +0000"
    environment = {
        "PATH": "/usr/bin:/bin:/usr/local/bin",
        "HOME": str(root),
        "GIT_AUTHOR_DATE": stamp,
        "GIT_COMMITTER_DATE": stamp,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True, env=environment)


def test_first_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """V2: the earlier of two copies is known from git, for odd names and for a vault below the repository's root."""
    vault = tmp_path / "vault"
    vault.mkdir()
    _git(tmp_path, "init")
    for number, name in enumerate(["b é.md", "a*.md", "late.md"]):
        (vault / name).write_text(name)
        _git(tmp_path, "add", "-A")
        _git(tmp_path, "commit", "-m", "x", at=number * 60)
    (vault / "b é.md").write_text("edited")
    _git(tmp_path, "commit", "-am", "y", at=600)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    times = first_commit_times(vault, ["b é.md", "a*.md", "never.md"])
    assert times == {"b é.md": 1_700_000_000.0, "a*.md": 1_700_000_060.0}


def test_no_repository_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """V2: without git the paths decide; nothing fails."""
    assert first_commit_times(tmp_path, ["a.md"]) == {}
    monkeypatch.setenv("PATH", str(tmp_path))
    assert first_commit_times(tmp_path, ["a.md"]) == {}


def test_a_slow_git_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """V2: a git that does not answer costs the time limit, not the scan."""
    slow = tmp_path / "git"
    slow.write_text("#!/bin/sh\nexec sleep 20\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert first_commit_times(tmp_path, ["a.md"], timeout_s=0.2) == {}


def test_many_paths_are_one_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S10: one `git log` for all undated notes of a scan, however many; only those asked for are kept."""
    program = shutil.which("git")
    assert program
    _git(tmp_path, "init")
    for number in range(300):
        (tmp_path / f"{number}.md").write_text(str(number))
    _git(tmp_path, "add", "-A")
    _git(tmp_path, "commit", "-m", "x")
    (tmp_path / "tools").mkdir()
    counting = tmp_path / "tools" / "git"
    counting.write_text(f'#!/bin/sh\ncase "$*" in *" log "*) echo x >> {tmp_path}/calls;; esac\nexec {program} "$@"\n')
    counting.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/tools:/usr/bin:/bin")
    asked = [f"{number}.md" for number in range(250)]
    assert first_commit_times(tmp_path, asked) == dict.fromkeys(asked, 1_700_000_000.0)
    assert (tmp_path / "calls").read_text() == "x\n"
    assert first_commit_times(tmp_path, []) == {}
    assert (tmp_path / "calls").read_text() == "x\n"


def test_a_shallow_clone_dates_nothing(tmp_path: Path) -> None:
    """S10: where the history is cut off, every file seems to begin with the cut."""
    source = tmp_path / "source"
    source.mkdir()
    _git(source, "init")
    for number in range(2):
        (source / f"{number}.md").write_text("x")
        _git(source, "add", "-A")
        _git(source, "commit", "-m", "x", at=number * 60)
    _git(tmp_path, "clone", "--depth", "1", f"file://{source}", "clone")
    assert first_commit_times(source, ["0.md"]) == {"0.md": 1_700_000_000.0}
    assert first_commit_times(tmp_path / "clone", ["0.md"]) == {}


def test_a_commit_is_dated_by_when_it_was_written(tmp_path: Path) -> None:
    """S10: rebasing gives new commit times; the author's stay."""
    _git(tmp_path, "init")
    (tmp_path / "a.md").write_text("x")
    _git(tmp_path, "add", "-A")
    _git(tmp_path, "commit", "-m", "x", "--date", "@1600000000 +0000")
    assert first_commit_times(tmp_path, ["a.md"]) == {"a.md": 1_600_000_000.0}


def test_a_git_that_stops_half_way_dates_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S10: half a history, newest first, would give dates that are too late."""
    broken = tmp_path / "git"
    broken.write_text(
        "#!/bin/sh\ncase \"$*\" in *log*) printf '\\001170000\\na.md\\000'; exit 128;; esac\necho false\n"
    )
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert first_commit_times(tmp_path, ["a.md"]) == {}
    broken.write_text(broken.read_text().replace("exit 128", "exit 0"))
    assert first_commit_times(tmp_path, ["a.md"]) == {"a.md": 170_000.0}
