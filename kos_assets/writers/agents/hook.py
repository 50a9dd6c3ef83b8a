"""The program in a coding agent's loop: an agent waits for it, so that it is quick and never fails (W5).

Here: the process: what it reads, how long it is waited for, its log. Not here: what is done with a call (capture.py),
the agent's settings (operations/agent_hooks.py).
It runs as `python -I -S -X utf8 hook.py --data-dir DIR [--vault DIR] [--agent NAME]` and imports nothing of this
package but the file beside it. The work is done in a child, which is waited for until LIMIT_S at most; the status is
always 0, and nothing is printed. This file is small because Python compiles it at every start; capture.py is cached.
"""

from __future__ import annotations

import os
import select
import sys
import time

LIMIT_S = 0.05  # from the first line of this program; Python itself needs 8 to 30 ms before
CHILD_LIMIT_S = 10.0
LARGEST_LOG = 64 << 10


def main(arguments: list[str]) -> int:
    """One call. Answers 0, and is back before LIMIT_S even where the disk or stdin is not."""
    spool = ""
    try:
        given = dict(zip(arguments[::2], arguments[1::2], strict=False))
        spool = f"{given['--data-dir']}/spool/agents"
        readable, writable = os.pipe()
        if os.fork():
            os.close(writable)
            select.select([readable], [], [], LIMIT_S)  # readable when the child has ended
            return 0
        os.setsid()
        nothing = os.open(os.devnull, os.O_WRONLY)  # no output that the agent would wait for
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib is slow
        capture = __import__("capture")
        capture.work(_input(capture.LARGEST_INPUT + 1), given, spool)
    except BaseException as error:  # whatever it is, the agent goes on; the log says what it was
        log(spool, f"{type(error).__name__}: {error}")
    return 0


def _input(at_most: int) -> bytes:
    """Stdin to its end, or as much as CHILD_LIMIT_S gives."""
    end, parts, left = time.monotonic() + CHILD_LIMIT_S, [], at_most
    while left > 0 and select.select([0], [], [], max(0.0, end - time.monotonic()))[0]:
        part = os.read(0, min(left, 1 << 20))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def log(spool: str, words: str) -> None:
    """One line in the spool's hook.log, which starts anew at LARGEST_LOG. Never raises."""
    if not spool:
        return
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(f"{spool}/hook.log", flags, 0o600)
        try:
            if os.fstat(descriptor).st_size > LARGEST_LOG:
                os.ftruncate(descriptor, 0)
            line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {words[:500]}\n"
            os.write(descriptor, line.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)
    except OSError:
        return


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))  # at once: nothing waits, and no thread or buffer is left to be closed
