"""Whether git still knows an erased text, and the commands that make it forget. Nothing is changed here.

Here: questions to the git program. Everything that could run another program is switched off.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_TIMEOUT_S: Final = 60.0
_SAFE: Final = ("--no-pager", "--literal-pathspecs", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false")
_LOG: Final = ("log", "--all", "--reflog", "--format=%h", "--no-ext-diff", "--no-textconv", "--no-renames")
_SHOWN: Final = 20


@dataclass(frozen=True)
class History:
    """Commits that touched the files or hold the text (`by_path`, `by_text`: short hashes), and what would clean them.
    `searched` False: git is absent, or took too long; then `reason` says which."""

    searched: bool
    reason: str = ""
    by_path: tuple[str, ...] = ()
    by_text: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()

    @property
    def commits(self) -> tuple[str, ...]:
        """All of them once."""
        return tuple(dict.fromkeys((*self.by_path, *self.by_text)))


def search_history(root: Path, paths: Sequence[str], texts: Sequence[str]) -> History | None:
    """Every reachable commit, stash and reflog entry of the repository that holds the vault; None without one."""
    program = shutil.which("git")
    if program is None:
        return History(searched=False, reason="git is not installed here")
    try:
        top = _ask(program, root, ["rev-parse", "--show-toplevel"])
        if top is None:
            return None
        prefix = (_ask(program, root, ["rev-parse", "--show-prefix"]) or "").strip()
        by_path = [item for path in paths for item in _commits(program, root, ["--", path])]
        by_text = [item for text in texts for item in _commits(program, root, [f"-S{text}"])]
        remotes = (_ask(program, root, ["remote"]) or "").split()
    except subprocess.TimeoutExpired:
        return History(searched=False, reason=f"git took longer than {_TIMEOUT_S:.0f} s")
    touched = [f"{prefix}{path}" for path in paths if by_path]
    return History(
        searched=True,
        by_path=tuple(dict.fromkeys(by_path)),
        by_text=tuple(dict.fromkeys(by_text)),
        commands=tuple(_commands(touched, others=bool(set(by_text) - set(by_path)), remotes=remotes)),
    )


def _commits(program: str, root: Path, arguments: Sequence[str]) -> list[str]:
    found = _ask(program, root, [*_LOG, f"--max-count={_SHOWN}", *arguments])
    return [] if found is None else found.split()


def _commands(paths: Sequence[str], *, others: bool, remotes: Sequence[str]) -> list[str]:
    commands = []
    if paths:
        named = " ".join(f"--path {shlex.quote(path)}" for path in paths)
        commands.append(f"git filter-repo --force --invert-paths {named}")
    if others:
        commands.append("git filter-repo --force --replace-text FILE   # FILE: one line, literal:THE TEXT==>[erased]")
    if not commands:
        return []
    commands.append("git reflog expire --expire=now --all && git gc --prune=now")
    commands += [f"git push --force --all {shlex.quote(remote)}" for remote in remotes]
    return commands


def _ask(program: str, root: Path, arguments: Sequence[str]) -> str | None:
    """What git answers; None when it refuses. Its environment is made here: no hook's GIT_DIR may lead elsewhere."""
    environment = {
        "HOME": str(Path.home()),
        "PATH": str(Path(program).parent),
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }
    done = subprocess.run(  # noqa: S603 - a program found on PATH, arguments as a list, nothing of a shell
        [program, "-C", str(root), *_SAFE, *arguments],
        capture_output=True,
        timeout=_TIMEOUT_S,
        env=environment,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else None
