"""One supervised child process: its own process group, its log, and an end that leaves nobody behind.

Here: starting, looking at and ending one child with everything below it. Not here: which children there are, and when
they start again (supervision.py).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import psutil

from kos_assets.operations.environment import MARK

LOG_LIMIT: Final = 10 * 2**20  # bytes at which a log is set aside; the one before that is dropped
_TAIL_BYTES: Final = 16_384
_POLL_S: Final = 0.05
_RUNS_S: Final = 10.0  # for run workers, which record that they were interrupted
_KILL_S: Final = 5.0


@dataclass(frozen=True)
class Program:
    """What is run: a module with its arguments. `ready` says whether it answers; it may take a second, never raise.

    `after` names the programs that must be ready first; `patience_s` is how long it may take to end on Ctrl-C when
    nothing below it works.
    """

    name: str
    title: str
    module: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)  # has passwords in it
    ready: Callable[[], bool] = field(repr=False)
    after: frozenset[str] = frozenset()
    patience_s: float = 3.0


class Child:
    """A program that runs, or ran."""

    def __init__(self, program: Program, *, mark: str, logs: Path, cwd: Path, leash: int) -> None:
        """`mark` is the same for every child of one supervisor; `leash` is the pipe that tether.py watches."""
        self.program = program
        self.log = logs / f"{program.name}.log"
        self.started_at = 0.0  # monotonic seconds
        self._mark = f"{mark}:{program.name}"
        self._cwd = cwd
        self._leash = leash
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Its process id, which is its group's too; None before the first start."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start it in a process group of its own, so that a terminal's Ctrl-C reaches the supervisor alone."""
        self.trim_log()
        descriptor = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, f"---- {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC: {self.program.title}\n".encode())
            command = [sys.executable, "-m", "kos_assets.operations.tether", str(self._leash), self.program.module]
            self._process = subprocess.Popen(
                [*command, *self.program.arguments],
                cwd=self._cwd,
                env={**self.program.environment, MARK: self._mark},
                stdin=subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
                pass_fds=(self._leash,),
                process_group=0,
            )
        finally:
            os.close(descriptor)
        self.started_at = time.monotonic()

    def trim_log(self) -> None:
        """Set a log aside that has grown over LOG_LIMIT, in place: the child appends to the file that it has open."""
        with suppress(FileNotFoundError):
            if self.log.stat().st_size > LOG_LIMIT:
                shutil.copyfile(self.log, self.log.with_suffix(".log.1"))
                os.truncate(self.log, 0)

    def status(self) -> str | None:
        """None while it runs, else how it ended."""
        code = None if self._process is None else self._process.poll()
        if self._process is None:
            return "not started"
        if code is None:
            return None
        return f"ended by signal {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"

    def tail(self, lines: int = 15) -> str:
        """The end of its log since its last start, each line after the child's name."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, self.log.stat().st_size - _TAIL_BYTES))
                text = file.read().decode(errors="replace")
        except OSError:
            return ""
        last_start = text.rpartition("\n---- ")[2]
        return "\n".join(f"{self.program.name} | {line}" for line in last_start.splitlines()[-lines:])

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to its whole group, as long as the group's number is certainly still its own."""
        if self._process is not None and self._process.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def members(self) -> list[psutil.Process]:
        """Every live process that carries this child's mark: itself, run workers, whoever left the group."""
        return marked(self._mark)

    def works(self) -> bool:
        """Whether anybody below it still does something (Python's own resource tracker does not)."""
        return any(process.pid != self.pid and not _is_tracker(process) for process in self.members())


def marked(mark: str) -> list[psutil.Process]:
    """The live processes of this user whose environment carries a mark that begins so."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get(MARK, "").startswith(mark) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return [process for process in found if process.pid != os.getpid()]


def end(children: Iterable[Child], *, at_once: bool = False) -> None:
    """End children and everything below them; returns when nobody is left, or after 15 s with those that cannot die.

    SIGINT first, as a terminal's Ctrl-C would be: run workers record that they were interrupted. SIGKILL follows when
    no worker is left, since Dagster's servers take 5 to 7 seconds to end and hold nothing.
    """
    several = list(children)
    if not at_once:
        for child in several:
            child.signal(signal.SIGINT)
        _wait(several)
    for child in several:
        child.signal(signal.SIGKILL)
    deadline = time.monotonic() + _KILL_S
    while left := [process for child in several for process in child.members()]:
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(left, timeout=1.0)
        if time.monotonic() > deadline:
            break
    for child in several:
        child.status()  # reaps it


def _wait(children: list[Child]) -> None:
    """Until all have ended, or have had their time: run workers the longest."""
    began = time.monotonic()
    while left := [child for child in children if child.status() is None]:
        waited = time.monotonic() - began
        over = [child for child in left if waited > child.program.patience_s]
        if waited > _RUNS_S or (over == left and not any(child.works() for child in left)):
            return
        time.sleep(_POLL_S)


def _is_tracker(process: psutil.Process) -> bool:
    try:
        return "multiprocessing.resource_tracker" in " ".join(process.cmdline())
    except psutil.Error:
        return True
