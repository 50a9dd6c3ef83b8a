"""The embedded PostgreSQL: made once, started on demand, shared by every `kos` process, stopped by the last one (S1).

Here: one cluster's life. Not here: which database, roles or tables are in it (store), where its programs come from
(binaries.py), settings (the folders are arguments). Linux and macOS.

In `data_dir` (mode 0700):
    cluster/      PGDATA; as root it belongs to the account that runs the server
    password      the superuser's password (mode 0600)
    server.json   the port that is asked for first at the next start
    startup.log   what the last start said; the server's own log is cluster/log/
    start.lock    held alone while somebody makes, starts or stops the server
    users.lock    shared by everybody who uses it; whoever finds it free on leaving stops the server
    server.lock   held by the server's processes themselves: while any of them lives, none other is started
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final

import psutil

from kos_assets.errors import OperationError
from kos_assets.operations import binaries, locks

START_S: Final = 60.0
_STOP_S: Final = 60.0
_KILL_S: Final = 10.0
_TURN_S: Final = START_S + _STOP_S + _KILL_S
_POLL_S: Final = 0.05
_PORTS: Final = range(20_000, 32_000)  # below the ports that systems give to outgoing connections
_PORT_TRIES: Final = 5
_LOGS_KEPT: Final = 50
_LOG_AGE_S: Final = 7 * 24 * 3600


@dataclass(frozen=True)
class Server:
    """A running server: `dsn` is the superuser's, on the database `postgres`."""

    dsn: str = field(repr=False)  # holds the password: not for a log
    port: int
    pid: int
    data_dir: Path


class EmbeddedPostgres:
    """One cluster below `data_dir`, shared by any number of processes; usable as a context manager."""

    def __init__(self, data_dir: Path, *, bindir: Path | None = None) -> None:
        """Nothing is touched yet. `bindir` is a PostgreSQL's bin folder; without it the wheel's programs are used."""
        self._dir = data_dir.absolute()
        self._bindir = bindir
        self._cluster = self._dir / "cluster"
        self._startup_log = self._dir / "startup.log"
        self._start_lock = self._dir / "start.lock"
        self._users_lock = self._dir / "users.lock"
        self._guard = threading.RLock()
        self._lease: locks.SharedLease | None = None
        self._held = 0
        self._launched_at = 0.0  # seconds since the epoch; 0 shows the log of a server that another process started

    def __enter__(self) -> Server:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def acquire(self) -> Server:
        """Take a lease on a server that answers; makes and starts it where needed (2 s the first time, then 0.3 s).

        The lease ends with `release` or with the process, whichever way it ends. Calls nest. Raises OperationError with
        the end of the server's log when it does not answer within START_S seconds.
        """
        with self._guard, _explained(self._dir):
            self._make_directory()
            with locks.exclusive(self._start_lock, timeout_s=_TURN_S):
                if self._lease is not None and not self._lease.mine():
                    self._lease.drop()
                    self._lease, self._held = None, 0
                lease = self._lease or locks.SharedLease(self._users_lock)
                try:
                    server = self._describe(self._ready())
                except BaseException:
                    if lease is not self._lease:
                        lease.drop()
                    raise
                self._lease = lease
                self._held += 1
                return server

    def release(self) -> None:
        """Give the lease back; when nobody else holds one, the server is stopped cleanly. Without a lease: nothing."""
        with self._guard, _explained(self._dir):
            if self._lease is None:
                return
            self._held -= 1
            if self._held > 0 and self._lease.mine():
                return
            lease, self._lease, self._held = self._lease, None, 0
            try:
                if lease.mine() and self._dir.is_dir():
                    with locks.exclusive(self._start_lock, timeout_s=_TURN_S):
                        lease.drop()
                        if locks.unused(self._users_lock):
                            self._shut_down()
            finally:
                lease.drop()

    def running(self) -> Server | None:
        """The server if it answers now; starts nothing, waits for nothing, takes no lease."""
        with _explained(self._dir):
            postmaster = self._postmaster()
            return self._describe(postmaster) if postmaster is not None and postmaster.status == "ready" else None

    def stop(self) -> bool:
        """Stop the server whoever uses it; False when none was running. A holder's next `acquire` starts it again."""
        with self._guard, _explained(self._dir):
            if not self._dir.is_dir():
                return False
            with locks.exclusive(self._start_lock, timeout_s=_TURN_S):
                return self._shut_down()

    def _ready(self) -> binaries.Postmaster:
        """A postmaster that answers: the one that runs, or a new one (start.lock is held)."""
        deadline = time.monotonic() + START_S
        while (postmaster := self._postmaster()) is not None:
            if postmaster.status == "ready":
                return postmaster
            if time.monotonic() > deadline:
                raise self._no_start(f"it is {postmaster.status} since {START_S:.0f} s or longer")
            time.sleep(_POLL_S)
        programs = binaries.locate(self._bindir, binaries.server_account(self._cluster))
        with locks.exclusive(self._dir / "server.lock", timeout_s=max(1.0, deadline - time.monotonic())) as lock:
            if not self._cluster.exists():
                self._create(programs, lock)
            self._check_cluster(programs)
            return self._start(programs, lock, deadline)

    def _describe(self, postmaster: binaries.Postmaster) -> Server:
        password = self._password()
        dsn = f"postgresql://postgres:{password}@127.0.0.1:{postmaster.port}/postgres"
        return Server(dsn, postmaster.port, postmaster.pid, self._dir)

    def _postmaster(self) -> binaries.Postmaster | None:
        """This cluster's live postmaster, checked against the process that its pid names today."""
        try:
            found = binaries.read_pid_file(
                (self._cluster / "postmaster.pid").read_text(encoding="utf-8", errors="replace")
            )
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found if found is not None and self._is_ours(found.pid) else None

    def _is_ours(self, pid: int) -> bool:
        """Pids are reused (after a reboot the file may name anything), and a dead server may be an unreaped zombie."""
        try:
            process = psutil.Process(pid)
            if process.status() == psutil.STATUS_ZOMBIE or not process.name().startswith("postgres"):
                return False
            if f"cluster_name={self._mark()}" in process.cmdline():
                return True
            # Started by hand. Last, because root in a container may not be let into another account's process.
            return Path(process.cwd()).samefile(self._cluster)
        except (psutil.Error, OSError):
            return False

    def _mark(self) -> str:
        """Tells this cluster's processes from others': the inode follows a moved folder and differs in a copied one."""
        return f"kos-{self._cluster.stat().st_ino:x}"

    def _create(self, programs: binaries.Binaries, lock: int) -> None:
        """Make the cluster beside its place and rename it when it is whole: one that was interrupted is never used."""
        for left_over in self._dir.glob("cluster.new-*"):
            shutil.rmtree(left_over)
        if not (self._dir / "password").exists():
            _write(self._dir / "password", secrets.token_urlsafe(32))
        staging = Path(tempfile.mkdtemp(prefix="cluster.new-", dir=self._dir))
        options = ["-D", programs.here, "--username=postgres", "--auth=scram-sha-256", "--encoding=UTF8"]
        options += ["--no-instructions", "--data-checksums", "--pwfile=/dev/stdin"]
        if programs.major >= 17:  # the first with a locale of its own
            options += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        else:
            options += ["--locale-provider=libc", "--locale=C.UTF-8"]
        with tempfile.TemporaryFile(dir=self._dir) as password, self._startup_log.open("wb") as output:
            password.write(self._password().encode() + b"\n")
            password.seek(0)
            if programs.account is not None:
                os.chown(staging, programs.account.uid, programs.account.gid)
                os.fchown(password.fileno(), programs.account.uid, programs.account.gid)
            result = programs.run("initdb", options, cwd=staging, output=output, stdin=password, keep_open=lock)
        if result.returncode != 0:
            shutil.rmtree(staging, ignore_errors=True)
            raise self._no_start(
                f"initdb ended with status {result.returncode}", what="PostgreSQL could not make its files"
            )
        with (staging / "postgresql.conf").open("a", encoding="utf-8") as conf:
            conf.write("\ninclude_if_exists = 'kos.conf'\n")
        staging.rename(self._cluster)

    def _check_cluster(self, programs: binaries.Binaries) -> None:
        version = (self._cluster / "PG_VERSION").read_text(encoding="utf-8").strip()
        if version != str(programs.major):
            raise OperationError(
                f"{self._cluster} was made by PostgreSQL {version}, and the programs in use are {programs.major}",
                why="PostgreSQL does not read another major version's files",
                fix=f"Set KOS_PG_BINDIR to a PostgreSQL {version} to go on as before. Or move {self._dir} away: "
                "what comes from the vault is built again from its files.",
            )
        self._password()

    def _start(self, programs: binaries.Binaries, lock: int, deadline: float) -> binaries.Postmaster:
        """Start until it answers: another port when ours was taken, again while a killed server's parts are dying."""
        # PostgreSQL refuses to start while the pid in the file is alive, be it a zombie or an unrelated process.
        (self._cluster / "postmaster.pid").unlink(missing_ok=True)
        self._prune_logs()
        self._write_conf(programs)
        last = self._last_port()
        port = free_port(last)
        ports_tried = 1
        while True:
            self._launch(programs, lock, port)
            postmaster = self._postmaster()
            if postmaster is not None and postmaster.status == "ready":
                if postmaster.port != last:
                    _write(self._dir / "server.json", json.dumps({"port": postmaster.port}))
                return postmaster
            said = self._said()
            if "could not bind" in said and ports_tried < _PORT_TRIES:
                ports_tried += 1
                port = free_port(None)
            elif "pre-existing shared memory block" in said and time.monotonic() < deadline:
                time.sleep(0.5)
            else:
                raise self._no_start("it did not answer" if postmaster else "it ended at once")

    def _launch(self, programs: binaries.Binaries, lock: int, port: int) -> None:
        options = f"-p {port} -c cluster_name={self._mark()} -c listen_addresses=127.0.0.1 -c unix_socket_directories="
        arguments = ["start", "-w", "-t", f"{START_S:.0f}", "-D", programs.here, "-o", options]
        self._launched_at = time.time()
        with self._startup_log.open("wb") as output:
            programs.run("pg_ctl", arguments, cwd=self._cluster, output=output, keep_open=lock)

    def _shut_down(self) -> bool:
        """Stop in PostgreSQL's fast mode, then in its immediate mode, which recovers at the next start."""
        stopped = False
        for order, patience_s in ((signal.SIGINT, _STOP_S), (signal.SIGQUIT, _KILL_S)):
            postmaster = self._postmaster()
            if postmaster is None:
                return stopped
            stopped = True
            with suppress(ProcessLookupError):
                os.kill(postmaster.pid, order)
            deadline = time.monotonic() + patience_s
            while self._is_ours(postmaster.pid):
                if time.monotonic() > deadline:
                    break
                time.sleep(_POLL_S)
            else:
                return True
        raise OperationError(f"PostgreSQL does not stop ({self._dir})", why=self._said() or None)

    def _prune_logs(self) -> None:
        """Keep a week of logs, and no more than _LOGS_KEPT files of about 4 MB."""
        logs = sorted((self._cluster / "log").glob("*.log"), reverse=True)
        too_old = time.time() - _LOG_AGE_S
        for index, path in enumerate(logs):
            if index >= _LOGS_KEPT or path.lstat().st_mtime < too_old:
                path.unlink()

    def _write_conf(self, programs: binaries.Binaries) -> None:
        _write(self._cluster / "kos.conf", binaries.conf_text(), owner=programs.account)

    def _make_directory(self) -> None:
        self._dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._dir.stat().st_mode & 0o077:
            self._dir.chmod(0o700)

    def _password(self) -> str:
        try:
            return (self._dir / "password").read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            raise OperationError(
                f"{self._dir / 'password'} is gone",
                why="the database's superuser has the password that was in it",
                fix=f"Put the file back. Or move {self._dir} away: what comes from the vault is built again.",
            ) from None

    def _last_port(self) -> int | None:
        try:
            port = json.loads((self._dir / "server.json").read_text(encoding="utf-8"))["port"]
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None
        return port if isinstance(port, int) else None

    def _said(self) -> str:
        """The end of what the last start printed, and of the server's log if that start got as far as writing one."""
        parts = [_tail(self._startup_log)]
        logs = sorted((self._cluster / "log").glob("*.log"))
        if logs and logs[-1].stat().st_mtime >= self._launched_at - 1:
            parts.append(_tail(logs[-1]))
        return "\n".join(part for part in parts if part)

    def _no_start(self, reason: str, *, what: str = "PostgreSQL does not start") -> OperationError:
        said = self._said()
        if any(
            phrase in said for phrase in ("No space left on device", "Check free disk space", "Disk quota exceeded")
        ):
            fix = f"Free some space on the disk of {self._dir} (a new cluster needs about 60 MB)."
        elif "Permission denied" in said:
            fix = f"See who owns {self._dir} and what is in it; it must be the user who runs kos."
        else:
            fix = f"Read the end of the log above. {binaries.WAYS_OUT}"
        return OperationError(f"{what} ({self._dir})", why=f"{reason}\n{said}" if said else reason, fix=fix)


def free_port(wanted: int | None) -> int:
    """A TCP port of 127.0.0.1 that can be bound now: `wanted` if it can, else a random one of _PORTS, else any."""
    candidates = [*([wanted] if wanted is not None else []), *(secrets.choice(_PORTS) for _ in range(50)), 0]
    for port in candidates:
        with socket.socket() as probe:
            # As PostgreSQL binds: a port whose last connections are in TIME_WAIT is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except (OSError, OverflowError):
                continue
            return int(probe.getsockname()[1])
    raise OperationError(
        "No free TCP port on 127.0.0.1", fix="Close programs that hold many connections, then try again."
    )


def _write(path: Path, text: str, *, owner: binaries.Account | None = None) -> None:
    """Replace a file as a whole, mode 0600, on disk before it has its name (start.lock is held: one writer)."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.unlink(missing_ok=True)
    # O_EXCL: in the server's own folder another account could have laid a link there.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            if owner is not None:
                os.fchown(file.fileno(), owner.uid, owner.gid)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _tail(path: Path, lines: int = 20) -> str:
    """The last lines of a log of a few megabytes; empty when there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return ""
    with os.fdopen(descriptor, encoding="utf-8", errors="replace") as file:
        return "\n".join(file.read().splitlines()[-lines:])


@contextmanager
def _explained(data_dir: Path) -> Iterator[None]:
    """Turn what the file system refuses into an error that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            fix = f"Free some space on the disk of {data_dir}."
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            fix = (
                f"Make {data_dir} writable for user {os.geteuid()} (see who owns it), or choose another data directory."
            )
        elif error.errno in (errno.ENOLCK, errno.EOPNOTSUPP):
            fix = f"{data_dir} is on a file system without locks: choose a data directory on a local disk."
        else:
            fix = binaries.WAYS_OUT
        raise OperationError(f"The embedded PostgreSQL cannot use {data_dir}", why=str(error), fix=fix) from error
