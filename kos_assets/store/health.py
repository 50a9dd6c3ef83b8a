"""Health metrics in the store: the summary that dbt made, and the history of its snapshots (M1).

Here: reading and appending. Not here: how a metric is computed (dbt_project/), what is a breach (assets/health.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from kos_assets.store.database import Store, json
from kos_assets.store.sql import blocks

EVERYWHERE = "*"
"""The namespace of a row that stands for the whole store."""


@dataclass(frozen=True)
class Measure:
    """One metric in one namespace: `part` of `whole`, and the value that is shown (a share, or a count)."""

    metric: str
    namespace: str
    value: float
    part: int
    whole: int


@dataclass(frozen=True)
class Point:
    """A metric of the whole store at one snapshot."""

    at: datetime
    metric: str
    value: float


def summary(store: Store) -> list[Measure]:
    """What the last run of dbt measured, by metric and namespace. Any role that may read the aggregate marts."""
    with store.transaction() as session:
        rows = session.rows(blocks("health")["summary"])
    return [Measure(**row) for row in rows]


def record_snapshot(store: Store, at: datetime, measures: Sequence[Measure], *, run_id: str) -> int:
    """Append one snapshot, the same `at` again replaces it; the number of metrics. Needs kos_writer."""
    rows = []
    for total in (item for item in measures if item.namespace == EVERYWHERE):
        parts = {
            item.namespace: {"value": item.value, "part": item.part, "whole": item.whole}
            for item in measures
            if item.metric == total.metric and item.namespace != EVERYWHERE
        }
        detail = {"part": total.part, "whole": total.whole, "run_id": run_id, "namespaces": parts}
        rows.append({"at": at, "metric": total.metric, "value": total.value, "detail": json(detail)})
    with store.transaction() as session:
        session.run_many(blocks("health")["record_snapshot"], rows)
    return len(rows)


def history(store: Store, before: datetime, *, snapshots: int = 30) -> list[Point]:
    """Metrics of the whole store at the newest `snapshots` instants before one, oldest first. Needs kos_writer."""
    with store.transaction() as session:
        rows = session.rows(blocks("health")["history"], before=before, snapshots=snapshots)
    return [Point(**row) for row in rows]
