"""First commit times, from a real repository."""

from __future__ import annotations

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
