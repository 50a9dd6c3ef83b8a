"""The night's hygiene as assets: expired, superseded and stale memories, folded search statistics, old traces, old
Dagster runs (H1-H4, D4).

Here: Dagster wiring, and the pruning of Dagster's own storage. Not here: what a step does to our store (hygiene/).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import perf_counter
from typing import Final

import dagster as dg

from kos_assets.hygiene.statistics import fold_statistics
from kos_assets.hygiene.sweep import Step, sweep
from kos_assets.hygiene.traces import prune_traces
from kos_assets.jobs import MEMORIES, OUTAGE_RETRIES, permanent_failures
from kos_assets.settings import Settings
from kos_assets.store import invariants
from kos_assets.store.database import Store

GROUP: Final = "hygiene"
EXPIRED: Final = dg.AssetKey(["kos", "expired"])
COMPACTED: Final = dg.AssetKey(["kos", "compacted"])
STALE: Final = dg.AssetKey(["kos", "stale"])
LEXICAL_TERMS: Final = dg.AssetKey(["kos", "lexical_terms"])
TRACES: Final = dg.AssetKey(["kos", "traces"])
RUNS: Final = dg.AssetKey(["dagster", "runs"])

_RUNS_PER_NIGHT: Final = 500
_FINISHED: Final = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
_OWNERS: Final = ["team:knowledge-os"]


@dg.asset(
    key=EXPIRED,
    deps=[MEMORIES],
    group_name=GROUP,
    kinds={"python", "postgres"},
    owners=_OWNERS,
    retry_policy=OUTAGE_RETRIES,
    description="Memories past their expires_at, retired with a history row. Recall has not shown them since that "
    "instant; this makes the state explicit. A bounded number per run.",
)
def expired(store: dg.ResourceParam[Store], settings: dg.ResourceParam[Settings]) -> dg.MaterializeResult[None]:
    """H1: retire what has expired."""
    return dg.MaterializeResult(metadata=_swept(store, settings, "expire"))


@dg.asset(
    key=COMPACTED,
    deps=[EXPIRED],
    group_name=GROUP,
    kinds={"python", "postgres"},
    owners=_OWNERS,
    retry_policy=OUTAGE_RETRIES,
    description="Supersede chains with their current version alone live: an older one that a crash, an import or an "
    "undo left live is retired with a history row. Root, tip and length of chains longer than two hops are recorded.",
)
def compacted(store: dg.ResourceParam[Store], settings: dg.ResourceParam[Settings]) -> dg.MaterializeResult[None]:
    """H2: heal and record supersede chains."""
    return dg.MaterializeResult(metadata=_swept(store, settings, "compact"))


@dg.asset_check(
    asset=COMPACTED,
    retry_policy=OUTAGE_RETRIES,
    description="No statement is live beside a later version of it, and no live one supersedes itself in a circle.",
)
def one_live_version(facts: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """H2: chains end with the current version, and are chains."""
    with permanent_failures():
        found = invariants.versions_single(facts)
    whole = found.passed and found.figures["circular"] == 0
    return dg.AssetCheckResult(passed=whole, metadata=dict(found.metadata()))


@dg.asset(
    key=STALE,
    deps=[COMPACTED],
    group_name=GROUP,
    kinds={"python", "postgres"},
    owners=_OWNERS,
    retry_policy=OUTAGE_RETRIES,
    description="Semantic memories that nobody confirmed for stale_after_days, on the list of `kos review` until they "
    "are verified, changed or retired. A bounded number per run, oldest first.",
)
def stale(store: dg.ResourceParam[Store], settings: dg.ResourceParam[Settings]) -> dg.MaterializeResult[None]:
    """H3: list what is stale, and take off the list what is so no more."""
    return dg.MaterializeResult(metadata=_swept(store, settings, "stale"))


@dg.asset(
    key=LEXICAL_TERMS,
    deps=[STALE],
    group_name=GROUP,
    kinds={"python", "postgres"},
    owners=_OWNERS,
    retry_policy=OUTAGE_RETRIES,
    description="Document frequencies and corpus totals of the lexical search: the appended deltas of the day folded "
    "into one row per term and namespace. Readers sum, so the numbers are the same before and after.",
)
def lexical_terms(store: dg.ResourceParam[Store]) -> dg.MaterializeResult[None]:
    """Fold the deltas."""
    with permanent_failures():
        started = perf_counter()
        written = fold_statistics(store)
    return dg.MaterializeResult(metadata={"rows_written": written, "seconds": _seconds_since(started)})


@dg.asset(
    key=TRACES,
    group_name=GROUP,
    kinds={"python", "postgres"},
    owners=_OWNERS,
    retry_policy=OUTAGE_RETRIES,
    description="One row per retrieval, written by the service while it answers. Materialising it removes those older "
    "than keep_traces_days.",
)
def traces(store: dg.ResourceParam[Store], settings: dg.ResourceParam[Settings]) -> dg.MaterializeResult[None]:
    """Prune old traces."""
    with permanent_failures():
        started = perf_counter()
        deleted = prune_traces(store, keep_days=settings.keep_traces_days)
    return dg.MaterializeResult(metadata={"traces_deleted": deleted, "seconds": _seconds_since(started)})


@dg.asset(
    key=RUNS,
    group_name=GROUP,
    kinds={"python", "dagster"},
    owners=_OWNERS,
    description="Dagster's own runs, events and logs: finished runs beyond the retention are deleted, except those "
    "that hold the newest materialisation or observation of an asset.",
)
def runs(settings: dg.ResourceParam[Settings]) -> dg.MaterializeResult[None]:
    """D4: event logs have no retention setting of their own."""
    with permanent_failures():
        instance = dg.AssetExecutionContext.get().instance
        report = prune_runs(instance, keep_days=settings.keep_runs_days, now=datetime.now(UTC))
    return dg.MaterializeResult(metadata=dict(report.metadata()))


ASSETS: Final[Sequence[dg.AssetsDefinition]] = (expired, compacted, stale, lexical_terms, traces, runs)
CHECKS: Final[Sequence[dg.AssetChecksDefinition]] = (one_live_version,)


@dataclass(frozen=True)
class PrunedRuns:
    """Runs deleted, old ones kept because an asset's newest event is in them, and whether there is more to do."""

    deleted: int
    kept: int
    more: bool
    seconds: float

    def metadata(self) -> dict[str, int | float | bool]:
        """For Dagster's UI."""
        return {
            "runs_deleted": self.deleted,
            "runs_kept_for_an_asset": self.kept,
            "more_to_do": self.more,
            "seconds": round(self.seconds, 3),
        }


def prune_runs(
    instance: dg.DagsterInstance, *, keep_days: int, now: datetime, limit: int = _RUNS_PER_NIGHT
) -> PrunedRuns:
    """Delete finished runs created more than `keep_days` before `now`, at most `limit`, with events and logs (D4).

    A run that holds the newest materialisation or observation of any asset stays, whatever its age: without it the UI
    would forget when, and with which numbers, that asset was last made. `now` is aware.
    """
    started = perf_counter()
    newest = _newest_runs(instance)
    filters = dg.RunsFilter(statuses=_FINISHED, created_before=(now - timedelta(days=keep_days)).astimezone(UTC))
    old = instance.get_run_records(filters, limit=limit + len(newest) + 1, ascending=True)
    doomed = [record.dagster_run.run_id for record in old if record.dagster_run.run_id not in newest]
    for run_id in doomed[:limit]:
        instance.compute_log_manager.delete_logs(prefix=[run_id])
        instance.delete_run(run_id)
    return PrunedRuns(
        deleted=len(doomed[:limit]),
        kept=len(old) - len(doomed),
        more=len(doomed) > limit,
        seconds=perf_counter() - started,
    )


def _swept(store: Store, settings: Settings, step: Step) -> dict[str, int | float | list[str]]:
    """Run one step of hygiene; its counts, samples of ids and seconds."""
    with permanent_failures():
        started = perf_counter()
        report = sweep(store, stale_after_days=settings.stale_after_days, steps=[step])[step]
    return {**report.metadata(), "seconds": _seconds_since(started)}


def _seconds_since(started: float) -> float:
    return round(perf_counter() - started, 3)


def _newest_runs(instance: dg.DagsterInstance) -> frozenset[str]:
    keys = list(instance.all_asset_keys())
    entries = [record.asset_entry for record in instance.get_asset_records(keys)] if keys else []
    newest = [entry.last_materialization_record for entry in entries]
    newest += [entry.last_observation_record for entry in entries]
    return frozenset(event.run_id for event in newest if event is not None)
