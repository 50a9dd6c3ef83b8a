"""Addresses on this machine: is a port free, who has it if not, a private folder for sockets, URLs, who answers.

Here: sockets and questions about them. Not here: which program listens where (programs.py).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil

from kos_assets.errors import OperationError

_LONGEST_SOCKET_PATH: Final = 100  # bytes; Linux allows 107, macOS 103
_ASK_S: Final = 1.0


def require_free(host: str, port: int, *, what: str, variable: str) -> None:
    """Raise OperationError when `port` cannot be listened on; says who has it and which setting moves us."""
    family, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][::4]
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
            probe.listen(1)
        except OSError as error:
            raise OperationError(
                f"{what} cannot listen on {host}:{port}.",
                why=holder(port) or error.strerror,
                fix=f"Stop that program, or choose another port: {variable}={port + 1} kos up …",
            ) from error


def holder(port: int) -> str | None:
    """Which process listens on a TCP port of this machine; None when this user may not know."""
    try:
        for entry in psutil.net_connections(kind="tcp"):
            if entry.status == psutil.CONN_LISTEN and entry.laddr and entry.laddr.port == port:
                if entry.pid is None:
                    return "Another user's process listens there."
                process = psutil.Process(entry.pid)
                return f"Process {entry.pid} listens there: {' '.join(process.cmdline())[:120] or process.name()}"
    except (psutil.Error, OSError):
        pass
    return None


def url(host: str, port: int, path: str = "/") -> str:
    """The HTTP URL of an address of this machine."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{path}"


def http_answers(address: str) -> Callable[[], bool]:
    """Asks whether a URL answers with a 2xx."""

    def ask() -> bool:
        import httpx

        try:
            return httpx.get(address, timeout=_ASK_S, trust_env=False).is_success
        except httpx.HTTPError:
            return False

    return ask


def socket_answers(path: Path) -> Callable[[], bool]:
    """Asks whether somebody listens on a Unix socket."""

    def ask() -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(_ASK_S)
            try:
                probe.connect(str(path))
            except OSError:
                return False
            return True

    return ask


@contextmanager
def socket_folder(home: Path) -> Iterator[Path]:
    """A folder that this user alone may enter, whose path is short enough for a socket, removed at the end.

    The same for the same `home`, so that what Dagster remembers of its code servers stays true over a restart.
    """
    folder = home / "run"
    if len(os.fsencode(folder / "nightly.sock")) > _LONGEST_SOCKET_PATH or not str(folder).isascii():
        name = hashlib.sha256(os.fsencode(home)).hexdigest()[:12]
        folder = Path(tempfile.gettempdir()) / f"kos-{os.getuid()}-{name}"
    folder.mkdir(mode=0o700, exist_ok=True)
    facts = folder.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid() or facts.st_mode & 0o077:
        raise OperationError(f"{folder} is not a folder of this user alone.", fix="Remove it, then try again.")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
