"""Raises the alarm when a run failed, in whichever code location (D2, M2)."""

from __future__ import annotations

import dagster as dg

from kos_assets.alarms import Alarm, raise_alarm
from kos_assets.settings import Settings


def alarm_for(run: dg.DagsterRun, step_keys: list[str]) -> Alarm:
    """What a person should know: job, run and steps. Not the error's message, which may quote a note."""
    steps = ", ".join(step_keys)
    return Alarm(
        source="run_failures",
        subject=run.job_name,
        message=f"Run {run.run_id} of {run.job_name} failed" + (f" in {steps}." if steps else "."),
        facts={"run_id": run.run_id, "steps": steps},
    )


@dg.run_failure_sensor(
    monitor_all_code_locations=True,
    minimum_interval_seconds=10,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Raises the alarm (file and webhook) when a run of any location failed.",
)
def run_failures(context: dg.RunFailureSensorContext, settings: dg.ResourceParam[Settings]) -> None:
    """One failed run."""
    steps = [event.step_key for event in context.get_step_failure_events() if event.step_key]
    delivery = raise_alarm(alarm_for(context.dagster_run, steps), settings)
    for problem in delivery.problems:
        context.log.error(problem)
