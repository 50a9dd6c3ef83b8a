"""Retention of Dagster's runs, on Dagster's own storage."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest

from kos_assets.assets.hygiene import prune_runs


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A Dagster instance on disk."""
    with dg.instance_for_test() as found:
        yield found


@dg.asset
def made() -> None:
    """An asset."""


@dg.asset
def once() -> None:
    """Another asset, made a single time."""


def _run(instance: dg.DagsterInstance, *assets: dg.AssetsDefinition) -> str:
    return dg.materialize(list(assets), instance=instance).run_id


def test_newest_run_of_each_asset_stays(instance: dg.DagsterInstance) -> None:
    """D4: old runs go with their events; the one that holds an asset's newest materialisation stays."""
    first = _run(instance, made, once)
    second = _run(instance, made)
    third = _run(instance, made)
    later = datetime.now(UTC) + timedelta(days=30)
    report = prune_runs(instance, keep_days=14, now=later)
    assert (report.deleted, report.kept, report.more) == (1, 2, False)
    assert instance.get_run_by_id(second) is None
    assert instance.all_logs(second) == []
    assert instance.get_run_by_id(first) is not None
    assert instance.get_run_by_id(third) is not None
    event = instance.get_latest_materialization_event(dg.AssetKey("once"))
    assert event is not None
    assert event.run_id == first
    assert prune_runs(instance, keep_days=14, now=later).deleted == 0


def test_young_and_unfinished_runs_stay(instance: dg.DagsterInstance) -> None:
    """D4: nothing younger than the retention is touched, nor what still runs."""
    young = _run(instance, made)
    _run(instance, made)
    assert prune_runs(instance, keep_days=14, now=datetime.now(UTC)).deleted == 0
    assert instance.get_run_by_id(young) is not None
    job = dg.define_asset_job("job", selection=[made])
    definition = dg.Definitions(assets=[made], jobs=[job]).resolve_job_def("job")
    started = instance.create_run_for_job(definition, status=dg.DagsterRunStatus.STARTED)
    prune_runs(instance, keep_days=14, now=datetime.now(UTC) + timedelta(days=30))
    assert instance.get_run_by_id(started.run_id) is not None


def test_bounded_per_night(instance: dg.DagsterInstance) -> None:
    """House rule 5: a limited number per run, oldest first, and the next run goes on."""
    runs = [_run(instance, made) for _ in range(4)]
    later = datetime.now(UTC) + timedelta(days=30)
    report = prune_runs(instance, keep_days=14, now=later, limit=2)
    assert (report.deleted, report.more) == (2, True)
    assert [instance.get_run_by_id(run_id) is None for run_id in runs] == [True, True, False, False]
    assert prune_runs(instance, keep_days=14, now=later, limit=2).deleted == 1
