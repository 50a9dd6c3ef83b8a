"""Jobs and schedules, and how a step fails: what is retried, what is permanent.

Here: selections, tags, executors, retries. Not here: what an asset does (assets/), when the vault changed (sensors/).
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import dagster as dg

from kos_assets.errors import KosError, ProviderUnavailableError, StoreUnavailableError
from kos_assets.settings import Settings

INGEST_POOL: Final = "ingest"
"""Assets of one pool are never in two runs at once; the steps take advisory locks of their own beside it."""

NOTES: Final = dg.AssetKey(["kos", "notes"])
MEMORIES: Final = dg.AssetKey(["kos", "memories"])
CHUNKS: Final = dg.AssetKey(["kos", "chunks"])
EMBEDDINGS: Final = dg.AssetKey(["kos", "embeddings"])
INGEST_KEYS: Final = (NOTES, MEMORIES, CHUNKS, EMBEDDINGS)

MIRROR_POOL: Final = "mirrors"
OWN_MIRRORS: Final = "own"
"""The kind of mirrors whose writers do not come with kos."""


def mirror_key(kind: str) -> dg.AssetKey:
    """The asset of one kind of writer."""
    return dg.AssetKey(["mirrors", kind])


HEALTH_POOL: Final = "health"
"""dbt swaps whole tables: two runs of it at once would swap each other's."""

# Only for what an outage raises; `permanent_failures` marks the rest as not to be retried.
OUTAGE_RETRIES: Final = dg.RetryPolicy(max_retries=3, delay=5, backoff=dg.Backoff.EXPONENTIAL)

ingest: Final = dg.define_asset_job(
    "ingest",
    selection=dg.AssetSelection.assets(*INGEST_KEYS),
    description="From the vault's files to notes, memories, chunks and vectors. Incremental: a rerun is always safe.",
    tags={"kos/job": "ingest"},
    executor_def=dg.in_process_executor,  # a multi-process step pays every import again: 8 to 10 CPU-seconds
)

mirror_job: Final = dg.define_asset_job(
    "mirror",
    selection=dg.AssetSelection.groups("writers"),
    description="Outside sources to notes of the vault. What it writes is taken up by the ingest that follows.",
    tags={"kos/job": "mirror"},
    executor_def=dg.in_process_executor,
)

nightly: Final = dg.define_asset_job(
    "nightly",
    selection=dg.AssetSelection.all() | dg.AssetSelection.checks_for_assets(MEMORIES),
    description="Expiry, statistics, retention, dbt models and tests, Great Expectations, the health snapshot. "
    "Everything of the nightly code location; a rerun is always safe.",
    tags={"kos/job": "nightly"},
    executor_def=dg.in_process_executor,
)


def nightly_schedule(settings: Settings) -> dg.ScheduleDefinition:
    """H4: the nightly job at `nightly_at` in the person's time zone, on from the start."""
    hours, minutes = settings.nightly_at.split(":")
    return dg.ScheduleDefinition(
        name="nightly_schedule",
        job=nightly,
        cron_schedule=f"{int(minutes)} {int(hours)} * * *",
        execution_timezone=settings.zone.key,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description=f"Every night at {settings.nightly_at}, {settings.time_zone}.",
    )


def progress_log(*, every_s: float = 2.0) -> Callable[[str, int, int], None]:
    """A progress callback that writes counts into the run's log, at most one line every `every_s` seconds (P4)."""
    log = dg.get_dagster_logger()
    last = time.monotonic()

    def tell(what: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= every_s:
            last = time.monotonic()
            log.info(f"{what}: {done} of {total}")

    return tell


@contextmanager
def permanent_failures() -> Iterator[None]:
    """Let outages through to the retry policy; turn everything else into a failure that nothing retries.

    Of an error that is not ours only its type and place are told: its message may quote a note (house rule 14).
    """
    try:
        yield
    except (StoreUnavailableError, ProviderUnavailableError, dg.Failure):
        raise
    except KosError as error:
        raise dg.Failure(str(error), metadata={"code": error.code}, allow_retries=False) from None
    except Exception as error:
        frames = "".join(traceback.format_tb(error.__traceback__))
        metadata: dict[str, Any] = {"error": type(error).__name__, "where": dg.MetadataValue.md(f"```\n{frames}\n```")}
        diagnosis = getattr(error, "diag", None)  # a database error's: names of tables and rules, no values
        for name in ("sqlstate", "table_name", "column_name", "constraint_name"):
            if value := getattr(diagnosis, name, None):
                metadata[name] = str(value)
        raise dg.Failure(f"{type(error).__name__} in this step", metadata=metadata, allow_retries=False) from None
