"""Recall as an asynchronous service: scope, time-outs and bounded concurrency, the same for REST and MCP (X1).

Here: who may ask for which namespaces, how many calls run at once and for how long, what an unexpected failure says.
Not here: transports (rest.py, mcp.py), or anything about ranking and reading (kos_assets/recall).
"""

from __future__ import annotations

import asyncio
import logging
import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from kos_assets.domain.moments import moment
from kos_assets.errors import AuthorityError, InputError, KosError, NotFoundError, StoreUnavailableError
from kos_assets.recall import Query, Recall
from kos_assets.recall.payload import fetch_payload, search_payload
from kos_assets.recall.search import MAX_FETCH
from kos_assets.serving.models import SearchRequest
from kos_assets.serving.problems import BusyError, InternalError, SlowError
from kos_assets.settings import Settings
from kos_assets.store.database import role_dsn
from kos_assets.store.migrate import check_current

_log = logging.getLogger("kos.serving")
T = TypeVar("T")


@dataclass(frozen=True)
class Limits:
    """How much the service takes on. Seconds and calls."""

    workers: int = 4
    waiting: int = 64
    timeout_s: float = 15.0


class Service:
    """Recall for one principal. Calls run in threads, `workers` at once; `close` when done."""

    def __init__(
        self, recall: Recall, settings: Settings, *, session: str | None = None, limits: Limits | None = None
    ) -> None:
        self.recall = recall
        self.settings = settings
        self._session = session
        self._limits = limits or Limits()
        self._executor = ThreadPoolExecutor(self._limits.workers, thread_name_prefix="kos-recall")
        self._outage = threading.Event()
        self._room = threading.BoundedSemaphore(self._limits.workers + self._limits.waiting)

    async def search(self, request: SearchRequest) -> dict[str, Any]:
        """The search payload (R1, R2, R5). Raises InputError, AuthorityError, StoreError, BusyError, SlowError."""
        query = self._query(request)
        return await self._run(lambda: search_payload(self.recall.search(query)))

    async def fetch(self, ids: Sequence[UUID], session: str | None = None) -> dict[str, Any]:
        """The fetch payload (R2, R9), ids in the order asked for.

        Raises NotFoundError when none of them is a live memory that may be read; an id that is unknown, retired or in
        another namespace looks the same. Otherwise as `search`.
        """
        wanted = tuple(dict.fromkeys(ids))
        if not 0 < len(wanted) <= MAX_FETCH:
            raise InputError(
                f"{len(wanted)} ids were asked for.", why=f"One call fetches 1 to {MAX_FETCH}.", fix="Split the call."
            )
        payload = await self._run(
            lambda: fetch_payload(
                self.recall.fetch(
                    wanted,
                    namespaces=self.settings.reading_namespaces,
                    principal=self.settings.principal,
                    session=session or self._session,
                )
            )
        )
        if not payload["memories"]:
            raise NotFoundError(
                "No live memory has that id." if len(wanted) == 1 else "No live memory has one of those ids.",
                why="It never existed, was retired, or is outside the namespaces that this service reads.",
                fix="Search again and use the ids of its results.",
            )
        return payload

    def close(self) -> None:
        """Stop taking calls and let the running ones end. The recall belongs to whoever made it."""
        self._executor.shutdown(wait=True, cancel_futures=True)

    def _query(self, request: SearchRequest) -> Query:
        zone = self.settings.zone
        return Query(
            text=request.query,
            namespaces=self._scope(request.namespaces),
            limit=request.limit,
            types=tuple(request.types or ()),
            home=(request.home or "").strip("/") or None,
            since=moment(request.since, zone),
            until=moment(request.until, zone, last=True),
            as_of=moment(request.as_of, zone, last=True),
            principal=self.settings.principal,
            session=request.session or self._session,
        )

    def _scope(self, wanted: Sequence[str] | None) -> tuple[str, ...]:
        allowed = self.settings.reading_namespaces
        if wanted is None:
            return allowed
        refused = sorted(set(wanted) - set(allowed))
        if refused:
            raise AuthorityError(
                f"This service may not read {', '.join(repr(name) for name in refused)}.",
                why=f"It reads {', '.join(allowed)}.",
                fix="Leave `namespaces` out, or name some of those.",
            )
        return tuple(dict.fromkeys(wanted))

    async def _run(self, call: Callable[[], T]) -> T:
        if not self._room.acquire(blocking=False):
            raise BusyError(
                "The service is busy.",
                why=f"{self._limits.workers + self._limits.waiting} calls are running or waiting.",
                fix="Send the call again in a few seconds.",
            )
        future = self._executor.submit(self._call, call)
        future.add_done_callback(self._leave)
        deadline = asyncio.timeout(self._limits.timeout_s)
        try:
            async with deadline:
                return await asyncio.wrap_future(future)
        except KosError:
            raise
        except Exception as error:
            if deadline.expired():
                raise SlowError(
                    f"No answer within {self._limits.timeout_s:g} s.",
                    why="The database or the machine is busy.",
                    fix="Send the call again; narrow it if that repeats.",
                ) from None
            raise internal_error(error) from None

    def _call(self, call: Callable[[], T]) -> T:
        """In a worker thread. After an outage one direct connection comes first: it fails at once, where the pool
        would wait, and it sees whether the database that came back has another schema."""
        if self._outage.is_set():
            check_current(role_dsn(self.settings, "reader"))
            self._outage.clear()
        try:
            return call()
        except StoreUnavailableError:
            self._outage.set()
            raise

    def _leave(self, _future: Future[Any]) -> None:
        self._room.release()


def internal_error(error: BaseException) -> InternalError:
    """Log a defect without its message, which may quote stored text (P7), and make the error that a caller sees."""
    kind = f"{type(error).__module__}.{type(error).__qualname__}"
    _log.error("Unexpected %s\n%s", kind, "".join(traceback.format_tb(error.__traceback__)).rstrip())
    return InternalError(
        "The service failed.",
        why=f"Unexpected {kind}; the service's log has the place.",
        fix="Report it with that log.",
    )
