"""What git knows about the age of files: which of two copies was there first (V2), when an undated note began (S10).

Here: one question to the git program. Not here: committing. Everything that could run another program or reach a
network is switched off.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

_TIMEOUT_S = 20.0
_NAMED = 200  # paths that are named on the command line; for more, the history of the whole vault is read once
_PART = 1 << 16
_LONGEST_RECORD = 1 << 26  # bytes of one commit's list of names; a commit of a million files has about that
_SAFE = ("--no-pager", "--literal-pathspecs", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false")
_LOG = ("log", "-z", "--format=%x01%at", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "--relative")


def first_commit_times(root: Path, paths: Sequence[str], *, timeout_s: float = _TIMEOUT_S) -> dict[str, float]:
    """Path (relative to `root`) -> seconds since the epoch when the first commit that touched it was written.

    One `git log`, whatever the number of paths; its output is streamed. Empty where git is absent, `root` is in no
    repository, the history is cut off (a shallow clone dates everything alike), or git is too slow: then paths, or the
    files' own times, decide. Never raises.
    """
    program = shutil.which("git")
    if program is None or not paths:
        return {}
    command = [program, "-C", str(root), *_SAFE]
    try:
        if _is_shallow(command, timeout_s):
            return {}
        return _logged([*command, *_LOG, "--", *(paths if len(paths) <= _NAMED else ["."])], set(paths), timeout_s)
    except (OSError, subprocess.SubprocessError, ValueError):
        return {}


def tracked(root: Path, paths: Sequence[str], *, timeout_s: float = _TIMEOUT_S) -> list[str]:
    """Those of `paths` that git's index holds; cheap: no history is read. Empty where git cannot say. Never raises."""
    program = shutil.which("git")
    if program is None or not paths:
        return []
    command = [program, "-C", str(root), *_SAFE, "ls-files", "-z", "--", *(paths if len(paths) <= _NAMED else ["."])]
    try:
        done = subprocess.run(  # noqa: S603 - a program found on PATH, arguments as a list, paths after --
            command, capture_output=True, timeout=timeout_s, env=_environment(), stdin=subprocess.DEVNULL, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return []
    wanted = set(paths)
    return [path for path in done.stdout.decode(errors="surrogateescape").split("\0") if path in wanted]


def _environment() -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return environment | {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "LC_ALL": "C",
    }


def _is_shallow(command: Sequence[str], timeout_s: float) -> bool:
    """Raises SubprocessError outside a repository."""
    done = subprocess.run(  # noqa: S603 - a program found on PATH, fixed arguments
        [*command, "rev-parse", "--is-shallow-repository"],
        capture_output=True,
        timeout=timeout_s,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        check=True,
    )
    return done.stdout.strip() == b"true"


def _logged(command: Sequence[str], wanted: set[str], timeout_s: float) -> dict[str, float]:
    times: dict[str, float] = {}
    with subprocess.Popen(  # noqa: S603 - a program found on PATH, arguments as a list, paths after --
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=_environment()
    ) as process:
        limit = threading.Timer(timeout_s, process.kill)
        limit.start()
        try:
            if process.stdout is not None:
                for path, moment in _commits(process.stdout):
                    if path in wanted:
                        times[path] = min(moment, times.get(path, moment))
        except ValueError:
            process.kill()
        finally:
            process.wait()
            limit.cancel()
    return times if process.returncode == 0 else {}


def _commits(stream: IO[bytes]) -> Iterator[tuple[str, float]]:
    """(path, time) from records `\\x01<time>\\n<path>\\0<path>\\0...`. Raises ValueError for one beyond all measure."""
    waiting = b""
    while part := stream.read(_PART):
        waiting += part
        if len(waiting) > _LONGEST_RECORD:
            raise ValueError("one record has no end")
        *records, waiting = waiting.split(b"\x01")
        for record in records:
            yield from _record(record)
    yield from _record(waiting)


def _record(record: bytes) -> Iterator[tuple[str, float]]:
    moment, _, names = record.partition(b"\n")
    seconds = moment.strip(b"\0 \n")
    if not seconds.isdigit():
        return
    for name in names.split(b"\0"):
        if name.strip(b"\n"):
            yield name.strip(b"\n").decode(errors="surrogateescape"), float(seconds)
