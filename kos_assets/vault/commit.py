"""The vault's own git history, kept by kos where the person asked for it (V8).

Here: one commit of what stands in the vault, with an author line of its own, and when it is better left. Not here: when
it is called, reading history (git.py). Nothing is pushed, no hook is run, no other program is started.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

AUTHOR: Final = ("Knowledge OS", "kos@localhost")
_TIMEOUT_S: Final = 60.0
_GRACE_S: Final = 10.0
_MARK: Final = "kos-staging"
_UNDER_WAY: Final = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply")
_SAFE: Final = (
    "--no-pager", "--literal-pathspecs", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
    "-c", "commit.gpgSign=false", "-c", f"user.name={AUTHOR[0]}", "-c", f"user.email={AUTHOR[1]}",
    "-c", "core.autocrlf=false", "-c", "core.safecrlf=false", "-c", "gc.auto=0",
)  # fmt: skip


@dataclass(frozen=True)
class Commit:
    """What came of it: the commit's id and how many files it changed, or why nothing was committed."""

    reason: str
    commit: str | None = None
    files: int = 0


class _GitError(Exception):
    """git said no; its first line."""


def commit_vault(root: Path, message: str, *, timeout_s: float = _TIMEOUT_S) -> Commit:
    """Commit everything that changed below `root`, the vault. Never raises for what git says: it is told in `reason`.

    Left alone: a vault in no repository, a merge or rebase under way, a detached head, changes that a person has staged
    and not yet committed. Killed between staging and commit, the next call goes on.
    """
    program = shutil.which("git")
    if program is None:
        return Commit("git is not installed here")
    git = _Git([program, "-C", str(root), *_SAFE], timeout_s)
    try:
        folder = Path(git.run("rev-parse", "--absolute-git-dir").decode().strip())
    except _GitError:
        return Commit("the vault is in no git repository")
    try:
        return _commit(git, folder, message)
    except (_GitError, OSError, subprocess.SubprocessError) as error:
        return Commit(f"git could not commit: {str(error)[:200]}")


def _commit(git: _Git, folder: Path, message: str) -> Commit:
    if any((folder / name).exists() for name in _UNDER_WAY):
        return Commit("a merge, rebase or bisect is under way")
    if not git.succeeds("symbolic-ref", "-q", "HEAD"):
        return Commit("the repository is on no branch")
    mark = folder / _MARK
    if not mark.exists() and not git.succeeds("diff", "--cached", "--quiet"):
        return Commit("there are staged changes, which are yours to commit")
    mark.touch()
    try:
        git.run("add", "-A", "--", ".")
    except _GitError:
        mark.unlink(missing_ok=True)  # nothing of ours is staged, so what is staged later is a person's
        raise
    names = git.run("diff", "--cached", "--name-only", "-z", "--", ".").split(b"\0")
    changed = sum(1 for name in names if name)
    if changed:
        git.run("commit", "-q", "--no-verify", "-m", message, "--", ".")  # what lies outside the vault is not ours
    mark.unlink(missing_ok=True)
    if not changed:
        return Commit("nothing has changed")
    return Commit("committed", git.run("rev-parse", "HEAD").decode().strip(), changed)


@dataclass(frozen=True)
class _Git:
    command: Sequence[str]
    timeout_s: float

    def run(self, *arguments: str) -> bytes:
        """Standard output. Raises _GitError with what git said."""
        done = self._started(*arguments)
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise _GitError(said[0] if said else f"exit {done.returncode}")
        return done.stdout

    def succeeds(self, *arguments: str) -> bool:
        """Whether it exits with 0."""
        return self._started(*arguments).returncode == 0

    def _started(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_ALLOW_PROTOCOL": "none"}
        with subprocess.Popen(  # noqa: S603 - a program found on PATH, arguments as a list, paths after --
            [*self.command, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            stdin=subprocess.DEVNULL,
        ) as process:
            try:
                out, err = process.communicate(timeout=self.timeout_s)
            except subprocess.TimeoutExpired:
                process.terminate()  # git removes its locks then; killed, it would leave them
                try:
                    process.communicate(timeout=_GRACE_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.communicate()
                raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)
