"""Asking git about a repository that may be anyone's: bounded in time, without network, without running what it names.

Here: how git is started and how its answers are read. Not here: what is asked (checkouts.py, history.py).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

_PART: Final = 1 << 16
_LONGEST_TOKEN: Final = 1 << 24
_SAFE: Final = (
    "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false",
    "-c", "log.showRoot=true", "-c", "core.quotePath=false",
)  # fmt: skip


class GitError(Exception):
    """Git is absent, refuses the repository, or took too long: what it said, in one line."""


def answer(folder: Path, arguments: Sequence[str], *, timeout_s: float) -> str:
    """What git prints, without the last line's end. Raises GitError."""
    with asked(folder, arguments, timeout_s=timeout_s) as stream:
        return stream.read(_LONGEST_TOKEN).decode("utf-8", "replace").rstrip("\n")


def tokens(folder: Path, arguments: Sequence[str], *, timeout_s: float) -> Iterator[str]:
    """What git prints with -z, cut at its NULs, streamed; bytes that are no UTF-8 as surrogates. Raises GitError."""
    with asked(folder, arguments, timeout_s=timeout_s) as stream:
        waiting = b""
        while part := stream.read1(_PART):  # type: ignore[attr-defined]
            *done, waiting = (waiting + part).split(b"\0")
            for token in done:
                yield token.decode("utf-8", "surrogateescape")
            if len(waiting) > _LONGEST_TOKEN:
                raise GitError("one name in its answer has no end")
        if waiting:
            yield waiting.decode("utf-8", "surrogateescape")


@contextmanager
def asked(
    folder: Path, arguments: Sequence[str], *, timeout_s: float, stdin: IO[bytes] | int = subprocess.DEVNULL
) -> Iterator[IO[bytes]]:
    """The open output of one git, killed after `timeout_s`. Raises GitError when it failed, at the end of the block."""
    program = shutil.which("git")
    if program is None:
        raise GitError("git is not installed")
    command = [program, "-C", str(folder), *_SAFE, *arguments]
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(  # noqa: S603 - a program found on PATH, arguments as a list
                command, stdout=subprocess.PIPE, stderr=said, stdin=stdin, env=_environment()
            )
        except OSError as error:
            raise GitError(error.strerror or str(error)) from error
        late = threading.Event()
        with process:
            limit = threading.Timer(timeout_s, _end, (process, late))
            limit.start()
            try:
                if process.stdout is not None:
                    yield process.stdout
                process.wait()
            except BaseException:
                process.kill()
                raise
            finally:
                limit.cancel()
        if process.returncode != 0:
            said.seek(0)
            complaint = "; ".join(said.read(2000).decode("utf-8", "replace").split("\n")[:2]).strip("; ")
            raise GitError(f"it took longer than {timeout_s:.0f} s" if late.is_set() else complaint or "it failed")


def _end(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    process.kill()


def _environment() -> dict[str, str]:
    """Few variables, so that none from outside leads git to another repository, program or host."""
    return {
        "PATH": os.defpath,
        "HOME": str(Path.home()),  # safe.directory
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "LC_ALL": "C",
    }
