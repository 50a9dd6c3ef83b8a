"""What counts as a breach of health, and how its history is drawn. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

import dagster as dg
from hypothesis import given
from hypothesis import strategies as st

from kos_assets.assets.health import THRESHOLDS, Threshold, judge, sparkline
from kos_assets.jobs import nightly_schedule
from kos_assets.settings import Settings
from kos_assets.store.health import Measure, Point

AT = datetime(2026, 11, 30, tzinfo=UTC)


def _measures(**values: tuple[float, int]) -> list[Measure]:
    fine = {item.metric: (1.0 if item.at_least else 0.0, 1000) for item in THRESHOLDS}
    return [
        Measure(metric, "*", value, int(value * whole), whole) for metric, (value, whole) in {**fine, **values}.items()
    ]


def _broken(measures: list[Measure], earlier: list[Point] | None = None) -> set[str | None]:
    return {result.check_name for result in judge(measures, earlier or []) if not result.passed}


def test_healthy_numbers_pass() -> None:
    """M2: nothing is beyond its threshold."""
    assert _broken(_measures()) == set()


def test_limits_are_inclusive() -> None:
    """M2: exactly the limit is fine, beyond it is not."""
    assert _broken(_measures(unindexed_share=(0.01, 1000))) == set()
    assert _broken(_measures(unindexed_share=(0.011, 1000))) == {"search_sees_every_memory"}
    assert _broken(_measures(recall_hit_rate=(0.04, 1000))) == {"retrievals_are_read"}


def test_too_little_data_says_nothing() -> None:
    """M2: five retrievals without a read are no breach."""
    assert _broken(_measures(recall_hit_rate=(0.0, 5), duplicate_rate=(1.0, 4))) == set()


def test_more_blocked_files_than_last_night() -> None:
    """M2: blocked files that a person knows of do not cry every night; new ones do."""
    now = _measures(blocked_files=(3.0, 4))
    older, newer = Point(AT, "blocked_files", 1.0), Point(AT, "blocked_files", 3.0)
    assert _broken(now) == set()
    assert _broken(now, [older, newer]) == set()
    assert _broken(now, [newer, older]) == {"no_new_blocked_files"}


def test_a_metric_that_is_missing_is_a_breach() -> None:
    """M2: a model that measured nothing does not count as healthy."""
    assert _broken([]) == {item.name for item in THRESHOLDS}


def test_other_namespaces_do_not_shadow_the_whole() -> None:
    """M1: thresholds hold for the whole store's row."""
    assert _broken([*_measures(), Measure("unindexed_share", "agent:a", 1.0, 1, 1)]) == set()


def test_severity_is_the_thresholds() -> None:
    """M2: a memory that search cannot see is an error, a duplicate a warning."""
    found = {result.check_name: result.severity for result in judge(_measures(), [])}
    assert found["search_sees_every_memory"] == dg.AssetCheckSeverity.ERROR
    assert found["few_near_duplicates"] == dg.AssetCheckSeverity.WARN


def test_limits_read_well() -> None:
    """X6: a person reads the limit."""
    assert Threshold("n", "m", "d", at_most=0.25).limit(None) == "at most 0.25"
    assert Threshold("n", "m", "d", at_least=0.05).limit(None) == "at least 0.05"
    assert Threshold("n", "m", "d", grows=True).limit(3.0) == "at most 3, as in the snapshot before"


@given(st.lists(st.floats(min_value=-1e9, max_value=1e9), max_size=40))
def test_sparkline_has_a_bar_per_value(values: list[float]) -> None:
    """D1: one bar a value; the smallest is the lowest, the greatest the highest."""
    bars = sparkline(values)
    assert len(bars) == len(values)
    if values and max(values) > min(values):
        assert bars[values.index(min(values))] == "▁"
        assert bars[values.index(max(values))] == "█"


def test_nightly_runs_at_the_persons_time() -> None:
    """H4, D2: the schedule is in the person's time zone and on from the start."""
    schedule = nightly_schedule(Settings(nightly_at="03:05", time_zone="Europe/Berlin"))
    assert schedule.cron_schedule == "5 3 * * *"
    assert schedule.execution_timezone == "Europe/Berlin"
    assert schedule.default_status == dg.DefaultScheduleStatus.RUNNING
