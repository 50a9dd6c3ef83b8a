"""File locks between `kos` processes: turns that exclude everybody, and leases that die with their holder.

Here: `flock` with a time limit. The kernel drops a lock when its last holder ends, however it ended, so nothing here
can go stale. Not here: what the locks protect (postgres.py).
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kos_assets.errors import OperationError

_POLL_S = 0.05


def open_lock(path: Path) -> int:
    """A file descriptor for the lock file, closed in programs that this process starts. Raises OSError."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def try_lock(descriptor: int, operation: int, *, timeout_s: float = 0.0) -> bool:
    """Lock within `timeout_s` seconds, or say False.

    Polls, so that Ctrl-C works and the limit holds. Raises OSError where the file system has no locks.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        else:
            return True


@contextmanager
def exclusive(path: Path, *, timeout_s: float) -> Iterator[int]:
    """Hold the lock alone for the length of the block; yields its descriptor.

    Closing does not unlock, it gives up our share: a program that was handed the descriptor goes on holding the lock
    until it ends. Raises OperationError after `timeout_s` seconds, OSError where the file cannot be made.
    """
    descriptor = open_lock(path)
    try:
        if not try_lock(descriptor, fcntl.LOCK_EX, timeout_s=timeout_s):
            raise OperationError(
                f"Waited {timeout_s:.0f} s for {path}",
                why="another process holds this lock and did not finish",
                fix=f"Find it with `fuser -v {path}`, end it, then try again.",
            )
        yield descriptor
    finally:
        os.close(descriptor)


def unused(path: Path) -> bool:
    """True when nobody holds a lease on `path` at this moment (ask while new leases are kept out)."""
    descriptor = open_lock(path)
    try:
        return try_lock(descriptor, fcntl.LOCK_EX)
    finally:
        os.close(descriptor)


class SharedLease:
    """One process's share of a lock file: many may hold one, `unused` tells when none is left."""

    def __init__(self, path: Path) -> None:
        """Take the lease. Raises OperationError when somebody holds the file alone, OSError when it cannot be made."""
        self._owner = os.getpid()
        self._descriptor: int | None = open_lock(path)
        if not try_lock(self._descriptor, fcntl.LOCK_SH, timeout_s=5.0):
            self.drop()
            raise OperationError(f"{path} is locked by a process that is not kos", fix=f"See `fuser -v {path}`.")

    def mine(self) -> bool:
        """False in a forked child, which has a copy of its parent's lease and none of its own."""
        return self._owner == os.getpid()

    def drop(self) -> None:
        """Give the lease back; a forked child only forgets its copy. Safe to call twice."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        if self.mine():
            # Unlock by name: closing would leave the lease with any forked child that has the descriptor too.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)
