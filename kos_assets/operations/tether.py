"""Runs a Python module that does not outlive its starter: `python -m kos_assets.operations.tether FD MODULE …`.

FD is the reading end of a pipe whose writing end the starter holds. When the starter ends, however it ended (kill -9
too), the pipe closes, and this process ends its whole process group: itself and the run workers that it started.
A pipe, because Linux's PR_SET_PDEATHSIG is tied to a thread of the parent, does not reach grandchildren, and is missing
on macOS. Here: only what runs inside a child. Not here: who starts and restarts it (supervision.py).
"""

from __future__ import annotations

import atexit
import os
import runpy
import signal
import sys
import threading
import time

GRACE_S = 5.0


def main(argv: list[str]) -> None:
    """Watch the pipe, then become the module. `argv`: this program, the descriptor, the module, its arguments."""
    descriptor, module = int(argv[1]), argv[2]
    os.set_inheritable(descriptor, False)
    # A shell that starts us with `&` ignores SIGINT for us and for all that we start; nobody could stop a run then.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    orphaned = threading.Event()
    watcher = threading.Thread(target=_watch, args=(descriptor, orphaned), name="tether", daemon=True)
    watcher.start()
    atexit.register(lambda: watcher.join() if orphaned.is_set() else None)
    sys.argv = [module, *argv[3:]]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _watch(descriptor: int, orphaned: threading.Event) -> None:
    """Block until the pipe closes, then end the group: politely, and for good after GRACE_S."""
    while os.read(descriptor, 1):
        pass
    orphaned.set()
    if os.getpgrp() != os.getpid():
        os.kill(os.getpid(), signal.SIGKILL)
    os.killpg(0, signal.SIGINT)
    time.sleep(GRACE_S)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv)
