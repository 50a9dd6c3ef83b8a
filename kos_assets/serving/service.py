"""Recall as an asynchronous service: scope and limits, the same for REST and MCP (X1).

Here: who may ask for which namespaces, which room a call runs in, and what follows an outage.
Not here: transports (rest.py, mcp.py), writes and audit (life_service.py), or anything about ranking and reading
(kos_assets/recall).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from kos_assets.domain.moments import moment
from kos_assets.errors import AuthorityError, InputError, NotFoundError, StoreUnavailableError
from kos_assets.recall import Query, Recall
from kos_assets.recall.payload import fetch_payload, search_payload
from kos_assets.recall.search import MAX_FETCH
from kos_assets.serving.models import SearchRequest
from kos_assets.serving.room import Room
from kos_assets.settings import Settings
from kos_assets.store.database import parse_dsn, role_dsn
from kos_assets.store.migrate import check_current

POOL_WAIT_S = 3.0  # a caller learns within seconds that the database is down
T = TypeVar("T")


@dataclass(frozen=True)
class Limits:
    """How much the service takes on. Seconds and calls."""

    workers: int = 4
    waiting: int = 64
    timeout_s: float = 15.0
    writers: int = 2
    write_timeout_s: float = 30.0


class Service:
    """Recall for one principal. Calls run in threads, `workers` at once; `close` when done."""

    def __init__(
        self, recall: Recall, settings: Settings, *, session: str | None = None, limits: Limits | None = None
    ) -> None:
        self.recall = recall
        self.settings = settings
        self._session = session
        self.limits = limits or Limits()
        taken = self.limits
        self._reads = Room("kos-recall", taken.workers, taken.waiting, taken.timeout_s)
        self._writes = Room("kos-write", taken.writers, taken.waiting, taken.write_timeout_s)
        self._outage = threading.Event()

    async def search(self, request: SearchRequest) -> dict[str, Any]:
        """The search payload (R1, R2, R5). Raises InputError, AuthorityError, StoreError, BusyError, SlowError."""
        query = self._query(request)
        return await self.read(lambda: search_payload(self.recall.search(query)))

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
        payload = await self.read(
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
        self._reads.close()
        self._writes.close()

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

    async def read(self, call: Callable[[], T]) -> T:
        """The result of a call in the room of reads. Raises what it raises, BusyError, SlowError, InternalError."""
        return await self._reads.run(lambda: self._call(call), slow="Send the call again; narrow it if that repeats.")

    async def write(self, call: Callable[[], T], *, slow: str) -> T:
        """The same in the room of writes, which wait for each other and never for or before reads. `slow` says what to
        do about a call that may still come through."""
        return await self._writes.run(lambda: self._call(call), slow=slow)

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


def limited_dsn(dsn: str, seconds: float) -> str:
    """The DSN with a server-side limit, so that a call that timed out does not hold a connection."""
    if "options" in parse_dsn(dsn):
        return dsn
    limit = f"statement_timeout={round(seconds * 1000)}"
    if "://" in dsn:
        return f"{dsn}{'&' if '?' in dsn else '?'}options=-c%20{limit.replace('=', '%3D')}"
    return f"{dsn} options='-c {limit}'"
