"""Decides that a provider's lane is due to be tried again, and asks for an ingest run (D2, E5).

The pause that a run recorded is the whole state: the run key names it, so each pause is followed by one run.
"""

from __future__ import annotations

from datetime import UTC, datetime

import dagster as dg

from kos_assets.errors import KosError
from kos_assets.jobs import ingest
from kos_assets.store import lanes as store_lanes
from kos_assets.store.database import Row, Store


def due(rows: list[Row], now: datetime) -> list[str]:
    """The run key of each lane whose pause is over."""
    return [
        f"lane-{row['provider']}-{row['paused_until'].astimezone(UTC).isoformat()}"
        for row in rows
        if row["state"] == "paused" and row["paused_until"] is not None and row["paused_until"] <= now
    ]


@dg.sensor(
    job=ingest,
    minimum_interval_seconds=15,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Asks for an ingest run when the pause of an inference provider is over.",
)
def lanes(store: dg.ResourceParam[Store]) -> dg.SensorResult:
    """One tick: a query."""
    try:
        with store.transaction(pipeline=True) as session:
            rows = store_lanes.every(session)
    except KosError as error:
        return dg.SensorResult(skip_reason=str(error))
    requests = [dg.RunRequest(run_key=key) for key in due(rows, datetime.now(UTC))]
    return dg.SensorResult(run_requests=requests) if requests else dg.SensorResult(skip_reason="No lane is due.")
