"""`kos up`: Dagster's servers and the service as one unit: started in order, watched, restarted, ended together (P2).

Here: which processes there are and their common life. Not here: one process's life (children.py), the database (it runs
before and stops after), command-line output (`on_event` gets lines to show).
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Final, Self

from kos_assets.errors import KosError, OperationError
from kos_assets.operations import dagster_home, locks, ports
from kos_assets.operations.children import Child, end
from kos_assets.operations.programs import CODE_SERVER, load_errors, programs
from kos_assets.settings import Settings

START_S: Final = 240.0
_POLL_S: Final = 0.2
_FIRST_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 60.0
_HEALTHY_S: Final = 60.0  # a child that ran this long starts again without a pause

OnEvent = Callable[[str], None]


@dataclass
class _Restart:
    """When a child that ended is started again."""

    at: float
    pause_s: float


@dataclass
class Running:
    """Everything that `start` started; a context manager that stops it."""

    settings: Settings
    urls: Mapping[str, str]
    children: Mapping[str, Child]
    on_event: OnEvent
    _resources: ExitStack
    _stopping: threading.Event = field(default_factory=threading.Event)
    _restarts: dict[str, _Restart] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _watch: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self, *, at_once: bool = False) -> None:
        """End every child and all that they started; returns when nobody is left. Safe to call twice, or again with
        `at_once` from another thread while it still waits."""
        self._stopping.set()
        if at_once:
            end(self.children.values(), at_once=True)
        with self._guard:
            if self._watch is not None and self._watch is not threading.current_thread():
                self._watch.join()
            end(self.children.values(), at_once=at_once)
            self._resources.close()

    def watch(self) -> None:
        """Start looking after the children, in a thread of its own."""
        self._watch = threading.Thread(target=self._look_after, name="kos-supervision", daemon=True)
        self._watch.start()

    def _look_after(self) -> None:
        while not self._stopping.wait(_POLL_S):
            for child in self.children.values():
                if child.status() is not None:
                    self._ended(child)
                child.trim_log()

    def _ended(self, child: Child) -> None:
        name, now = child.program.name, time.monotonic()
        planned = self._restarts.get(name)
        if planned is None or planned.at == 0.0:
            healthy = planned is None or now - child.started_at > _HEALTHY_S
            pause_s = _FIRST_PAUSE_S if healthy or planned is None else min(planned.pause_s * 2, _LONGEST_PAUSE_S)
            self._restarts[name] = _Restart(now + pause_s, pause_s)
            again = f"starting it again in {pause_s:.0f} s. See {child.log}"
            self.on_event(f"Crashed: {child.program.title} {child.status()}; {again}")
            if said := child.tail(5):
                self.on_event(said)
        elif now >= planned.at:
            planned.at = 0.0
            end([child])
            if name.startswith(CODE_SERVER):
                self._fail_lost_runs(name.removeprefix(CODE_SERVER))
            try:
                child.start()
            except OSError as error:  # no memory, too many processes
                self._restarts[name] = _Restart(now + _LONGEST_PAUSE_S, _LONGEST_PAUSE_S)
                self.on_event(f"Cannot be started: {child.program.title} ({error}); trying again in a minute.")

    def _fail_lost_runs(self, location: str) -> None:
        try:
            with dagster_home.open_instance(self.settings) as instance:
                lost = dagster_home.fail_lost_runs(instance, location)
        except Exception as error:  # the database may be what is down; said, and the restart goes on
            self.on_event(f"Lost runs could not be marked: {type(error).__name__}")
            return
        if lost:
            self.on_event(f"{len(lost)} run(s) were lost and are marked as failed.")


def run_up(settings: Settings, *, service_argv: Sequence[str], on_event: OnEvent) -> int:
    """Start everything, stay until Ctrl-C, SIGTERM or SIGHUP, stop everything; the exit status. Main thread only.

    A second signal ends the children without waiting for them. Raises OperationError when something does not start.
    """
    asked = threading.Event()
    running: list[Running] = []

    def stop_now(number: int, frame: FrameType | None) -> None:
        del number, frame
        if asked.is_set() and running:
            threading.Thread(target=running[0].stop, kwargs={"at_once": True}, daemon=True).start()
        asked.set()

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, stop_now) for number in numbers}
    try:
        try:
            running.append(start(settings, service_argv=service_argv, on_event=on_event, cancelled=asked))
        except KosError:
            if not asked.is_set():
                raise
            return 0
        while not asked.wait(1.0):
            pass
        running[0].on_event("Stopping …")
        running[0].stop()
        running[0].on_event("Stopped.")
        return 0
    finally:
        for item in running:
            item.stop()
        for number, disposition in before.items():
            signal.signal(number, disposition)


def start(
    settings: Settings,
    *,
    service_argv: Sequence[str],
    on_event: OnEvent,
    cancelled: threading.Event | None = None,
    timeout_s: float = START_S,
) -> Running:
    """Start everything and return when all of it answers.

    `settings` has the DSNs of a database that runs already (see installation.py). `service_argv` is a Python module
    and its arguments, with or without `python -m` before it. Raises OperationError when a port is taken, another
    `kos up` runs on this data directory, or something ends or stays silent; nothing is left running then.
    """
    module, tell = _module(service_argv), _patient(on_event)
    with ExitStack() as stack:
        home = dagster_home.prepare_home(settings)
        stack.enter_context(_only_one(home))
        for port, what, variable in _listening(settings):
            ports.require_free(settings.host, port, what=what, variable=variable)
        with dagster_home.open_instance(settings) as instance:
            lost = dagster_home.fail_lost_runs(instance)
        if lost:
            tell(f"{len(lost)} run(s) of an earlier session had not ended; they are marked as failed.")
        children = _children(settings, module, home, stack)
        try:
            _start_in_order(children, tell, cancelled or threading.Event(), time.monotonic() + timeout_s)
        except BaseException:
            end(children.values())
            raise
        running = Running(settings, _urls(settings), children, tell, stack.pop_all())
    running.watch()
    for name, reason in load_errors(running.urls["dagster"]).items():
        tell(f"The code location {name} did not load: {reason}. The rest works; see {name}'s log.")
    for what, address in running.urls.items():
        tell(f"Ready: {what} at {address}")
    return running


def _children(settings: Settings, service: Sequence[str], home: Path, stack: ExitStack) -> dict[str, Child]:
    logs = settings.data_dir.absolute() / "logs"
    logs.mkdir(mode=0o700, parents=True, exist_ok=True)
    sockets = stack.enter_context(ports.socket_folder(home))
    reading, writing = os.pipe()
    stack.callback(os.close, reading)
    stack.callback(os.close, writing)  # its end is what the children's tethers wait for
    mark = secrets.token_hex(8)
    listed = programs(settings, service, home=home, sockets=sockets)
    return {item.name: Child(item, mark=mark, logs=logs, cwd=home, leash=reading) for item in listed}


def _start_in_order(
    children: Mapping[str, Child], on_event: OnEvent, cancelled: threading.Event, deadline: float
) -> None:
    """Start each child once what it needs answers. Raises OperationError."""
    began = time.monotonic()
    started: set[str] = set()
    ready: set[str] = set()
    while len(ready) < len(children):
        for name, child in children.items():
            if name not in started and child.program.after <= ready:
                child.start()
                started.add(name)
                on_event(f"Starting {child.program.title} …")
            elif name in started and name not in ready:
                _check_started(child)
                if child.program.ready():
                    ready.add(name)
                    on_event(f"Up after {time.monotonic() - began:.1f} s: {child.program.title}")
        if cancelled.wait(_POLL_S):
            raise OperationError("Stopped before everything had started.")
        if time.monotonic() > deadline:
            silent = [child for name, child in children.items() if name not in ready]
            raise OperationError(
                f"No answer: {', '.join(child.program.title for child in silent)}.",
                why="\n".join(child.tail() for child in silent),
                fix=f"See the logs in {silent[0].log.parent}.",
            )


def _check_started(child: Child) -> None:
    status = child.status()
    if status is not None:
        raise OperationError(
            f"The start failed: {child.program.title} {status}.", why=child.tail(), fix=f"See {child.log}."
        )


def _patient(on_event: OnEvent) -> OnEvent:
    """Goes on when nobody can be told: the terminal may have been closed."""

    def tell(text: str) -> None:
        with suppress(OSError):
            on_event(text)

    return tell


def _module(argv: Sequence[str]) -> tuple[str, ...]:
    """The module and its arguments, without a leading `python -m`."""
    parts = list(argv)
    if "-m" in parts[:2]:
        parts = parts[parts.index("-m") + 1 :]
    return tuple(parts)


def _listening(settings: Settings) -> Iterator[tuple[int, str, str]]:
    yield settings.port, "The service", "KOS_PORT"
    yield settings.dagster_port, "Dagster's web server", "KOS_DAGSTER_PORT"


def _urls(settings: Settings) -> dict[str, str]:
    return {
        "dagster": ports.url(settings.host, settings.dagster_port),
        "service": ports.url(settings.host, settings.port),
        "mcp": ports.url(settings.host, settings.port, "/mcp"),
    }


@contextmanager
def _only_one(home: Path) -> Iterator[None]:
    """Two supervisors on one data directory would end each other's runs."""
    path = home / "up.lock"
    descriptor = locks.open_lock(path)
    try:
        import fcntl

        if not locks.try_lock(descriptor, fcntl.LOCK_EX):
            with suppress(OSError):
                other = path.read_text("utf-8").strip()
            raise OperationError(
                "Knowledge OS is running already on this data directory.",
                why=f"Another `kos up` holds {path} ({other or 'process unknown'}).",
                fix="Use that one, or stop it first. Another vault needs another KOS_DATA_DIR.",
            )
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        yield
    finally:
        os.close(descriptor)
