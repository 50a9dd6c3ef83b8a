"""Whether the service lives, and whether it can answer: /healthz and /readyz (X5).

Here: the checks and the state of the embedder, which loads in the background so that the service starts at once.
Not here: health of the memories themselves (dbt marts).
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from kos_assets.domain.language import detect
from kos_assets.errors import KosError, SchemaError
from kos_assets.inference.embedding import Embedder
from kos_assets.serving.models import Alive, Check, Readiness
from kos_assets.serving.room import internal_error
from kos_assets.settings import Settings
from kos_assets.store.database import role_dsn
from kos_assets.store.migrate import check_current

CHECK_TIMEOUT_S = 3.0
RETRY_EMBEDDER_S = 30.0
_log = logging.getLogger("kos.serving")


class Warmup:
    """Loads what the first search needs in a thread, embeds one word, and remembers how that went.

    A provider that was out of reach is tried again when somebody asks, at most every `RETRY_EMBEDDER_S`.
    """

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._tried_at = 0.0
        self._check = Check(ok=False, state="waiting" if embedder else "off", reason=None if embedder else _OFF)

    def start(self) -> None:
        """Begin loading, unless it runs already."""
        with self._lock:
            if self._thread and self._thread.is_alive():
                return
            if self._embedder is not None:
                self._check = Check(ok=False, state="loading")
            self._thread = threading.Thread(target=self._load, name="kos-warmup", daemon=True)
            self._thread.start()

    def check(self) -> Check:
        """The state now: off, waiting, loading, ready or unavailable."""
        if self._check.state == "unavailable" and time.monotonic() - self._tried_at > RETRY_EMBEDDER_S:
            self.start()
        return self._check

    def _load(self) -> None:
        started = time.monotonic()
        try:
            detect(_SENTENCE)  # its model takes a second, which the first search would pay
            if self._embedder is None:
                return
            self._embedder.embed_query(_SENTENCE)
            self._check = Check(ok=True, state="ready", reason=self._embedder.identity.model_id)
            _log.info("Embedder ready after %.1f s", time.monotonic() - started)
        except KosError as error:
            self._fail(error)
        except Exception as error:
            self._fail(internal_error(error))

    def _fail(self, error: KosError) -> None:
        self._tried_at = time.monotonic()
        self._check = Check(ok=False, state="unavailable", reason=_reason(error))
        _log.warning("Embedder unavailable, searching by words only: %s", error.what)


class Health:
    """Answers whether the service is ready. Checks run in a thread of their own, beside busy searches."""

    def __init__(self, settings: Settings, warmup: Warmup) -> None:
        self._dsn = role_dsn(settings, "reader")
        self._warmup = warmup
        self._executor = ThreadPoolExecutor(2, thread_name_prefix="kos-health")

    async def readiness(self) -> Readiness:
        """Database, schema and embedder; ready without an embedder, for then words are searched."""
        embedder = self._warmup.check()
        database, schema = await self._database()
        return Readiness(
            ready=database.ok and schema.ok,
            mode="hybrid" if embedder.ok else "lexical",
            database=database,
            schema=schema,
            embedder=embedder,
        )

    def close(self) -> None:
        """Let running checks go."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def _database(self) -> tuple[Check, Check]:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CHECK_TIMEOUT_S):
                await loop.run_in_executor(self._executor, check_current, self._dsn)
        except TimeoutError:
            return Check(ok=False, state="silent", reason=f"No answer within {CHECK_TIMEOUT_S:g} s."), _UNKNOWN
        except SchemaError as error:
            return Check(ok=True, state="answers"), Check(ok=False, state="not current", reason=_reason(error))
        except KosError as error:
            return Check(ok=False, state="unavailable", reason=_reason(error)), _UNKNOWN
        return Check(ok=True, state="answers"), Check(ok=True, state="current")


def router(health: Health) -> APIRouter:
    """/healthz and /readyz."""
    routes = APIRouter(tags=["health"])

    @routes.get("/healthz", summary="Is the process alive?")
    async def healthz() -> Alive:
        """Answers while the process runs, whatever the database does."""
        return Alive(version=version("knowledge-os"))

    @routes.get(
        "/readyz",
        summary="Can it answer?",
        response_model=Readiness,
        responses={503: {"model": Readiness, "description": "Not now; each check says why."}},
    )
    async def readyz() -> JSONResponse:
        """Ready means that the database answers and its schema is current. Without an embedder `mode` is `lexical`."""
        state = await health.readiness()
        return JSONResponse(state.model_dump(mode="json", by_alias=True), status_code=200 if state.ready else 503)

    return routes


def _reason(error: KosError) -> str:
    return " ".join(part for part in (error.what, error.why, error.fix) if part)


_SENTENCE = "why did we choose this database for the project"  # a few letters would not need the language model
_OFF = "No embedder is configured."
_UNKNOWN = Check(ok=False, state="unknown", reason="The database does not answer.")
