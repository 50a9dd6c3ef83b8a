"""What git knows about the age of files (V2: of two copies the one that was there first keeps the id).

Here: one question to the git program. Not here: committing. Everything that could run another program is switched off.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

_TIMEOUT_S = 20.0
_BATCH = 200  # paths on one command line
_SAFE = ("--no-pager", "--literal-pathspecs", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false")


def first_commit_times(root: Path, paths: Sequence[str], *, timeout_s: float = _TIMEOUT_S) -> dict[str, float]:
    """Path (relative to `root`) -> seconds since the epoch of the first commit that touched it.

    Empty where git is absent, `root` is in no repository, or git is too slow: then paths decide. Never raises.
    """
    program = shutil.which("git")
    if program is None:
        return {}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    times: dict[str, float] = {}
    for start in range(0, len(paths), _BATCH):
        command = [program, "-C", str(root), *_SAFE, "log", "-z", "--format=%x01%ct", "--name-only", "--no-renames"]
        command += ["--no-ext-diff", "--no-textconv", "--relative", "--", *paths[start : start + _BATCH]]
        try:
            done = subprocess.run(  # noqa: S603 - a program found on PATH, arguments as a list, paths after --
                command, capture_output=True, timeout=timeout_s, env=environment, stdin=subprocess.DEVNULL, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return {}
        if done.returncode != 0:
            return {}
        for path, moment in _commits(done.stdout):
            times[path] = min(moment, times.get(path, moment))
    return times


def _commits(output: bytes) -> Iterator[tuple[str, float]]:
    """(path, commit time) from records `\\x01<time>\\n<path>\\0<path>\\0...`."""
    for record in output.split(b"\x01")[1:]:
        moment, _, names = record.partition(b"\n")
        seconds = moment.strip(b"\0 \n")
        if not seconds.isdigit():
            continue
        for name in names.split(b"\0"):
            if name.strip(b"\n"):
                yield name.strip(b"\n").decode(errors="surrogateescape"), float(seconds)
