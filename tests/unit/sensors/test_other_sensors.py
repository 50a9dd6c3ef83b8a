"""What the other sensors decide, without Dagster's machinery."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import dagster as dg

from sensors import kos_sensors
from sensors.lanes import due
from sensors.run_failures import alarm_for

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def lane(state: str, until: datetime | None) -> dict[str, object]:
    return {"provider": "ollama", "state": state, "paused_until": until, "reason": "down", "failures": 1}


def test_a_lane_is_due_when_its_pause_is_over() -> None:
    """E5: work resumes by itself, once per pause."""
    assert due([lane("paused", NOW + timedelta(seconds=1))], NOW) == []
    assert due([lane("open", None)], NOW) == []
    first = due([lane("paused", NOW)], NOW)
    assert first == ["lane-ollama-2026-11-30T12:00:00+00:00"]
    assert due([lane("paused", NOW)], NOW + timedelta(hours=1)) == first
    assert due([lane("paused", NOW + timedelta(minutes=1))], NOW + timedelta(hours=1)) != first


def test_the_alarm_names_the_run_and_its_steps() -> None:
    """M2: job, run and step; never an error's message, which may quote a note."""
    run = dg.DagsterRun(job_name="ingest", run_id="4db39bfe-9398-4948-b41d-031b7324dc41")
    alarm = alarm_for(run, ["kos__chunks"])
    assert (alarm.source, alarm.subject, alarm.severity) == ("run_failures", "ingest", "error")
    assert alarm.message == "Run 4db39bfe-9398-4948-b41d-031b7324dc41 of ingest failed in kos__chunks."
    assert alarm_for(run, []).message.endswith("failed.")


def test_every_sensor_is_on_from_the_start() -> None:
    """D2: nobody has to switch the critical path on."""
    assert {sensor.name for sensor in kos_sensors} == {"vault_changes", "mirrors_due", "lanes", "run_failures"}
    assert all(sensor.default_status == dg.DefaultSensorStatus.RUNNING for sensor in kos_sensors)
