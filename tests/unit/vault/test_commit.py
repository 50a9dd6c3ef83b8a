"""The vault's own commits."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kos_assets.ingest.history import sync_history
from kos_assets.settings import Settings, load
from kos_assets.vault import commit as module
from kos_assets.vault.commit import commit_vault


def git(root: Path, *arguments: str) -> str:
    """As a person."""
    who = ("-c", "user.name=Ilka", "-c", "user.email=ilka@example.org")
    return subprocess.run(["git", "-C", str(root), *who, *arguments], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A repository with one commit."""
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "a.md").write_text("one")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


def test_what_changed_becomes_one_commit_with_its_own_author(vault: Path) -> None:
    """V8: edits, new files and deletions; a second call finds nothing."""
    (vault / "a.md").unlink()
    (vault / "memories").mkdir()
    (vault / "memories" / "b.md").write_text("two")
    found = commit_vault(vault, "scanned")
    assert (found.reason, found.files) == ("committed", 2)
    assert (
        git(vault, "log", "-1", "--format=%an <%ae> %s %H").strip()
        == f"Knowledge OS <kos@localhost> scanned {found.commit}"
    )
    assert commit_vault(vault, "scanned").reason == "nothing has changed"
    assert git(vault, "status", "--porcelain") == ""


def test_a_vault_inside_a_larger_repository_commits_itself_alone(vault: Path) -> None:
    """V8: what lies beside the vault is not its business."""
    inner = vault / "notes"
    inner.mkdir()
    (inner / "b.md").write_text("two")
    (vault / "a.md").write_text("changed")
    assert commit_vault(inner, "scanned").files == 1
    assert git(vault, "status", "--porcelain").strip() == "M a.md"


def test_what_a_person_staged_is_left_alone(vault: Path) -> None:
    """V8: a commit that a person is making stays theirs."""
    (vault / "b.md").write_text("two")
    git(vault, "add", "b.md")
    assert "staged" in commit_vault(vault, "scanned").reason
    assert git(vault, "log", "--format=%s").strip() == "first"


def test_killed_between_staging_and_commit_the_next_call_goes_on(vault: Path) -> None:
    """House rule 5."""
    (vault / "b.md").write_text("two")
    (vault / ".git" / "kos-staging").touch()
    git(vault, "add", "-A")
    assert commit_vault(vault, "scanned").files == 1
    assert not (vault / ".git" / "kos-staging").exists()


@pytest.mark.parametrize("name", ["MERGE_HEAD", "rebase-merge", "BISECT_LOG"])
def test_nothing_is_committed_into_the_middle_of_something(vault: Path, name: str) -> None:
    """V8: a merge or rebase is a person's."""
    (vault / ".git" / name).write_text("x")
    (vault / "b.md").write_text("two")
    assert "under way" in commit_vault(vault, "scanned").reason
    git(vault, "status")


def test_no_hook_runs_and_no_repository_is_no_error(vault: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """V8: a hook could be slow, or do anything."""
    hook = vault / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\ntouch ran\nexit 1\n")
    hook.chmod(0o755)
    (vault / "b.md").write_text("two")
    assert commit_vault(vault, "scanned").files == 1
    assert not (vault / "ran").exists()
    assert "no git repository" in commit_vault(tmp_path_factory.mktemp("plain"), "scanned").reason
    git(vault, "checkout", "-q", "--detach")
    assert "no branch" in commit_vault(vault, "scanned").reason


def test_a_git_that_refuses_is_told(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """V8: a lock of another git; none at all."""
    (vault / "b.md").write_text("two")
    lock = vault / ".git" / "index.lock"
    lock.touch()
    assert "git could not commit" in commit_vault(vault, "scanned").reason
    lock.unlink()
    monkeypatch.setattr(module.shutil, "which", lambda _: None)
    assert "not installed" in commit_vault(vault, "scanned").reason


def test_a_failed_attempt_never_commits_what_a_person_staged_later(vault: Path) -> None:
    """V8: nor anything outside the vault."""
    inner = vault / "notes"
    inner.mkdir()
    (inner / "b.md").write_text("two")
    lock = vault / ".git" / "index.lock"
    lock.touch()
    assert "could not commit" in commit_vault(inner, "scanned").reason
    lock.unlink()
    (vault / "code.txt").write_text("mine")
    git(vault, "add", "code.txt")
    assert "staged" in commit_vault(inner, "scanned").reason
    (vault / ".git" / "kos-staging").touch()  # killed between staging and commit
    assert commit_vault(inner, "scanned").files == 1
    assert git(vault, "show", "--name-only", "--format=", "HEAD").strip() == "notes/b.md"
    assert git(vault, "status", "--porcelain").strip() == "A  code.txt"


def test_a_git_that_takes_too_long_leaves_no_lock(vault: Path) -> None:
    """V8: the person's own git goes on working."""
    for number in range(2000):
        (vault / f"{number}.md").write_text("x" * 2000)
    assert "could not commit" in commit_vault(vault, "scanned", timeout_s=0.03).reason
    assert not (vault / ".git" / "index.lock").exists()
    assert commit_vault(vault, "scanned").files == 2000


def test_it_is_off_until_someone_asks(vault: Path) -> None:
    """V8: only where the person asked for it."""
    (vault / "b.md").write_text("two")
    off = Settings(vault=vault)
    assert sync_history(off).metadata() == {}
    assert git(vault, "log", "--format=%s").strip() == "first"
    on = load({"KOS_AUTO_COMMIT": "yes"}, vault=vault, data_dir=vault)
    told = sync_history(on).metadata()
    assert (told["committed_files"], told["commit_told"]) == (1, "committed")
