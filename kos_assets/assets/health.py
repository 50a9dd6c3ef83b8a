"""The health snapshot: what dbt measured tonight, appended to the history and held against thresholds (M1, M2).

Here: Dagster wiring, thresholds, the picture in the metadata. Not here: how a metric is computed (dbt_project/), the
statements (store/health.py), delivery of alarms (alarms.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import dagster as dg

from kos_assets.alarms import Alarm, raise_alarm
from kos_assets.jobs import HEALTH_POOL, OUTAGE_RETRIES, permanent_failures
from kos_assets.settings import Settings
from kos_assets.store import health as store_health
from kos_assets.store.database import Store
from kos_assets.store.health import EVERYWHERE, Measure, Point

SNAPSHOTS: Final = dg.AssetKey(["kos", "health_snapshots"])
_SUMMARY: Final = dg.AssetKey(["kos_marts", "health_summary"])
_BARS: Final = "▁▂▃▄▅▆▇█"
_WARN, _ERROR = dg.AssetCheckSeverity.WARN, dg.AssetCheckSeverity.ERROR


@dataclass(frozen=True)
class Threshold:
    """What a metric of the whole store must not go beyond. Below `enough` counted rows it says nothing.

    `grows`: the limit is not a number but the value of the snapshot before.
    """

    name: str
    metric: str
    description: str
    at_most: float | None = None
    at_least: float | None = None
    grows: bool = False
    enough: int = 1
    severity: dg.AssetCheckSeverity = _WARN

    def limit(self, before: float | None) -> str:
        """How the limit reads, for people."""
        if self.grows:
            return f"at most {before:g}, as in the snapshot before" if before is not None else "none yet"
        return f"at most {self.at_most:g}" if self.at_most is not None else f"at least {self.at_least:g}"

    def holds(self, measure: Measure, before: float | None) -> bool:
        """Whether the value is fine; `before` is the metric's previous value."""
        if measure.whole < self.enough:
            return True
        if self.grows:
            return before is None or measure.value <= before
        if self.at_most is not None:
            return measure.value <= self.at_most
        return self.at_least is None or measure.value >= self.at_least


THRESHOLDS: Final[tuple[Threshold, ...]] = (
    Threshold(
        "search_sees_every_memory",
        "unindexed_share",
        "At most 1 in 100 live memories has no passages of its present text.",
        at_most=0.01,
        severity=_ERROR,
    ),
    Threshold(
        "vectors_are_complete",
        "missing_vector_share",
        "At most 5 in 100 vectors of live memories are missing; words still find those memories.",
        at_most=0.05,
    ),
    Threshold(
        "vectors_are_fresh",
        "stale_vector_share",
        "At most 5 in 100 vectors of live memories are older than their text.",
        at_most=0.05,
    ),
    Threshold(
        "notes_are_synced",
        "unsynced_note_share",
        "At most 1 in 100 notes is newer than its memory.",
        at_most=0.01,
        severity=_ERROR,
    ),
    Threshold(
        "few_near_duplicates",
        "duplicate_rate",
        "At most 1 in 4 live memories has a near duplicate in its namespace.",
        at_most=0.25,
        enough=20,
    ),
    Threshold(
        "few_stale_memories",
        "stale_share",
        "At most half of the live memories are unverified statements beyond the limit.",
        at_most=0.5,
        enough=20,
    ),
    Threshold(
        "no_new_blocked_files", "blocked_files", "No more files give no memory than the night before.", grows=True
    ),
    Threshold(
        "retrievals_are_read",
        "recall_hit_rate",
        "At least 1 in 20 retrievals with results is followed by a read, once there are 50.",
        at_least=0.05,
        enough=50,
    ),
)


@dg.asset(
    key=SNAPSHOTS,
    deps=[_SUMMARY],
    group_name="health",
    kinds={"python", "postgres"},
    owners=["team:knowledge-os"],
    pool=HEALTH_POOL,
    retry_policy=OUTAGE_RETRIES,
    check_specs=[dg.AssetCheckSpec(item.name, asset=SNAPSHOTS, description=item.description) for item in THRESHOLDS],
    description="Every health metric at one instant, appended to the history; a rerun of the same run replaces its "
    "own snapshot. Metrics beyond their threshold fail a check and raise the alarm.",
)
def health_snapshots(
    store: dg.ResourceParam[Store],
    facts: dg.ResourceParam[Store],
    settings: dg.ResourceParam[Settings],
) -> dg.MaterializeResult:  # type: ignore[type-arg]  # beside checks, Dagster knows the bare class only
    """M1: read what dbt measured, append, compare, report."""
    context = dg.AssetExecutionContext.get()
    with permanent_failures():
        at = _run_instant(context)
        measures = store_health.summary(facts)
        earlier = store_health.history(store, at)
        store_health.record_snapshot(store, at, measures, run_id=context.run.run_id)
        verdicts = judge(measures, earlier)
        _alarm(settings, verdicts)
    return dg.MaterializeResult(metadata=_metadata(at, measures, earlier), check_results=verdicts)


def judge(measures: Sequence[Measure], earlier: Sequence[Point]) -> list[dg.AssetCheckResult]:
    """One result per threshold, in order (M2). A metric that was not measured fails its check."""
    totals = {item.metric: item for item in measures if item.namespace == EVERYWHERE}
    before = {point.metric: point.value for point in earlier}  # oldest first: the newest stays
    results = []
    for item in THRESHOLDS:
        measure = totals.get(item.metric)
        previous = before.get(item.metric)
        metadata: dict[str, int | float | str] = {"metric": item.metric, "limit": item.limit(previous)}
        if measure is not None:
            metadata |= {"value": measure.value, "part": measure.part, "whole": measure.whole}
        results.append(
            dg.AssetCheckResult(
                asset_key=SNAPSHOTS,
                check_name=item.name,
                passed=measure is not None and item.holds(measure, previous),
                severity=item.severity,
                metadata=metadata,
            )
        )
    return results


def sparkline(values: Sequence[float]) -> str:
    """The values as bars from the smallest to the largest of them; flat for a constant."""
    if not values:
        return ""
    low, high = min(values), max(values)
    step = (high - low) / (len(_BARS) - 1)
    return "".join(_BARS[round((value - low) / step)] if step else _BARS[0] for value in values)


def _run_instant(context: dg.AssetExecutionContext) -> datetime:
    record = context.instance.get_run_record_by_id(context.run.run_id)
    if record is None:
        raise dg.Failure("The run that asks for a snapshot is not in Dagster's storage.", allow_retries=False)
    instant: datetime = record.create_timestamp
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


def _alarm(settings: Settings, verdicts: Sequence[dg.AssetCheckResult]) -> None:
    broken = [verdict for verdict in verdicts if not verdict.passed]
    if not broken:
        return
    facts = {str(verdict.check_name): _fact(verdict) for verdict in broken}
    severe = any(verdict.severity == _ERROR for verdict in broken)
    message = f"{len(broken)} health metric(s) are beyond their threshold: " + ", ".join(facts)
    raise_alarm(
        Alarm("health", SNAPSHOTS.to_user_string(), message, severity="error" if severe else "warning", facts=facts),
        settings,
    )


def _fact(verdict: dg.AssetCheckResult) -> str:
    entries = {name: value.value for name, value in (verdict.metadata or {}).items()}
    return f"{entries['metric']} is {entries.get('value', 'not measured')}, {entries['limit']}"


def _metadata(
    at: datetime, measures: Sequence[Measure], earlier: Sequence[Point]
) -> Mapping[str, dg.MetadataValue | int | float | str]:
    columns = dg.TableSchema(
        columns=[
            dg.TableColumn("metric", "string"),
            dg.TableColumn("namespace", "string"),
            dg.TableColumn("value", "float"),
            dg.TableColumn("part", "int"),
            dg.TableColumn("whole", "int"),
        ]
    )
    records = [
        dg.TableRecord(
            {
                "metric": item.metric,
                "namespace": item.namespace,
                "value": round(item.value, 4),
                "part": item.part,
                "whole": item.whole,
            }
        )
        for item in measures
    ]
    totals = {item.metric: item.value for item in measures if item.namespace == EVERYWHERE}
    return {
        "at": dg.MetadataValue.timestamp(at),
        "metrics": len(totals),
        "measures": dg.MetadataValue.table(records, schema=columns),
        "history": dg.MetadataValue.md(_plot(totals, earlier)),
        **{metric: round(value, 4) for metric, value in totals.items()},
    }


def _plot(totals: Mapping[str, float], earlier: Sequence[Point]) -> str:
    past: dict[str, list[float]] = defaultdict(list)
    for point in earlier:
        past[point.metric].append(point.value)
    lines = ["| metric | last snapshots | before | now |", "|---|---|---|---|"]
    for metric, value in sorted(totals.items()):
        before = f"{past[metric][-1]:.4g}" if past[metric] else "none"
        lines.append(f"| {metric} | {sparkline([*past[metric], value])} | {before} | {value:.4g} |")
    return "\n".join(lines)
