"""A room for calls: how many run at once, how many wait, for how long, and what an unexpected failure says.

Not here: what a call does.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from kos_assets.errors import KosError
from kos_assets.serving.problems import BusyError, InternalError, SlowError

_log = logging.getLogger("kos.serving")
T = TypeVar("T")


class Room:
    """`workers` calls run at once in threads, `waiting` more wait, each for `timeout_s` in all; `close` when done."""

    def __init__(self, name: str, workers: int, waiting: int, timeout_s: float) -> None:
        self._most = workers + waiting
        self._timeout_s = timeout_s
        self._executor = ThreadPoolExecutor(workers, thread_name_prefix=name)
        self._places = threading.BoundedSemaphore(self._most)

    async def run(self, call: Callable[[], T], *, slow: str) -> T:
        """The result of a call. Raises what it raises, BusyError, InternalError for a defect; SlowError, with `slow` as
        the next step, when the time is over: a call that runs by then goes on, one that waited never starts."""
        if not self._places.acquire(blocking=False):
            raise BusyError(
                "The service is busy.",
                why=f"{self._most} calls are running or waiting.",
                fix="Send the call again in a few seconds.",
            )
        future = self._executor.submit(call)
        future.add_done_callback(self._leave)
        deadline = asyncio.timeout(self._timeout_s)
        try:
            async with deadline:
                return await asyncio.wrap_future(future)
        except KosError:
            raise
        except Exception as error:
            if deadline.expired():
                raise SlowError(
                    f"No answer within {self._timeout_s:g} s.", why="The database or the machine is busy.", fix=slow
                ) from None
            raise internal_error(error) from None

    def close(self) -> None:
        """Take no more calls and let the running ones end."""
        self._executor.shutdown(wait=True, cancel_futures=True)

    def _leave(self, _future: Future[Any]) -> None:
        self._places.release()


def internal_error(error: BaseException) -> InternalError:
    """Log a defect without its message, which may quote stored text (P7), and make the error that a caller sees."""
    kind = f"{type(error).__module__}.{type(error).__qualname__}"
    _log.error("Unexpected %s\n%s", kind, "".join(traceback.format_tb(error.__traceback__)).rstrip())
    return InternalError(
        "The service failed.",
        why=f"Unexpected {kind}; the service's log has the place.",
        fix="Report it with that log.",
    )
