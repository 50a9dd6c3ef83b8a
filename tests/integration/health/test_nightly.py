"""One night over a small store: what it leaves in the database, in Dagster, and on disk."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import timedelta
from typing import Any

import dagster as dg
import psycopg
import pytest

from kos_assets import testing
from kos_assets.alarms import recent_alarms
from kos_assets.assets import hygiene
from kos_assets.assets.dbt import dbt_resource
from kos_assets.assets.dbt_manifest import project_dir
from kos_assets.assets.health import SNAPSHOTS, THRESHOLDS
from kos_assets.assets.hygiene import COMPACTED, STALE
from kos_assets.checks import SUITE
from kos_assets.jobs import MEMORIES
from kos_assets.settings import Settings
from kos_assets.store import health as store_health
from kos_assets.store.database import derived_password

AGGREGATES = ("staleness_distribution", "duplicate_rate", "index_drift", "recall_hit_rate", "health_summary")
PER_MEMORY = (
    "staleness",
    "duplicate_pairs",
    "stg_memories",
    "stg_vectors",
    "stg_traces",
    "stg_notes",
    "stg_quarantine",
)


def _id(number: int) -> str:
    return f"00000000-0000-0000-0000-00000000000{number}"


def _rows(settings: Settings, statement: str, role: str = "dbt") -> list[tuple[Any, ...]]:
    with testing.connect(settings, role) as connection:
        return connection.execute(statement).fetchall()


def _hygiene(settings: Settings, times: int = 1) -> list[dg.ExecuteInProcessResult]:
    """The hygiene assets materialised, so many times."""
    with testing.store(settings) as store, testing.store(settings, "dbt") as facts:
        resources = {"store": store, "facts": facts, "settings": settings}
        return [dg.materialize([*hygiene.ASSETS, *hygiene.CHECKS], resources=resources) for _ in range(times)]


def test_every_step_succeeds_and_every_asset_is_made(night: Any) -> None:
    """D1, D6: hygiene, dbt models and the snapshot are assets of one job, keyed by table address."""
    assert night.result.success
    made = {event.asset_key.to_user_string() for event in night.result.get_asset_materialization_events()}
    models = {f"kos_marts/{name}" for name in (*AGGREGATES, *PER_MEMORY, "stg_near_pairs")}
    assert made == models | {
        "kos/expired", "kos/compacted", "kos/stale", "kos/lexical_terms", "kos/traces", "dagster/runs",
        "kos/health_snapshots",
    }  # fmt: skip


def test_hygiene_comes_before_the_models_and_they_before_the_snapshot(night: Any) -> None:
    """H4: expire, compact, flag stale, then the rest, so that the night measures what it leaves behind."""
    order = [event.step_key for event in night.result.all_events if event.event_type_value == "STEP_START"]
    steps = ["kos__expired", "kos__compacted", "kos__stale", "health_models", "kos__health_snapshots"]
    assert [step for step in order if step in steps] == steps
    assert order.index("kos__stale") < order.index("kos__lexical_terms")
    assert order.index("kos__traces") < order.index("health_models")
    assert order.index("kos__compacted") < order.index("live_memories_suite")


def test_expired_memory_is_retired(night: Any) -> None:
    """H1: past its expires_at and still live, so deleted_at is set, with its reason."""
    found = _rows(night.settings, f"select deleted_reason from kos.memory_facts where memory_id = '{_id(6)}'")
    assert found == [("expired",)]


def test_stale_memories_are_listed(night: Any) -> None:
    """H3: 3 and 4 are older than 180 days and semantic; 5 is older and episodic, 6 has expired."""
    found = _rows(night.settings, "select memory_id::text, code from kos.review_items order by 1", "owner")
    assert found == [(_id(3), "never_verified"), (_id(4), "never_verified")]
    figures = {
        name: value.value
        for event in night.result.get_asset_materialization_events()
        if event.asset_key == STALE
        for name, value in event.materialization.metadata.items()
    }
    assert (figures["opened"], figures["closed"], figures["open"]) == (2, 0, 2)
    assert sorted(figures["opened_ids"]) == [_id(3), _id(4)]


def test_one_version_is_live(night: Any) -> None:
    """H2: the check of kos/compacted ran in the night, and passed."""
    found = [event for event in night.result.get_asset_check_evaluations() if event.asset_key == COMPACTED]
    assert [(event.check_name, event.passed) for event in found] == [("one_live_version", True)]


def test_a_circle_fails_the_check_and_nothing_else(filled: Settings) -> None:
    """H2: a broken import is told; no row changes, and the steps after it run."""
    with testing.connect(filled) as connection:
        for one, other in ((1, 2), (2, 1)):
            connection.execute(
                "update kos.memories set supersedes = %s, note_id = null where memory_id = %s", [_id(other), _id(one)]
            )
    [result] = _hygiene(filled)
    assert result.success
    [check] = [event for event in result.get_asset_check_evaluations() if event.asset_key == COMPACTED]
    assert (check.passed, check.metadata["circular"].value, check.metadata["violations"].value) == (False, 2, 0)
    assert _rows(
        filled, f"select count(*) from kos.memory_facts where is_live and memory_id in ('{_id(1)}', '{_id(2)}')"
    ) == [(2,)]


def test_old_traces_are_pruned(night: Any) -> None:
    """D4: traces are kept for a year, if no setting says otherwise."""
    assert _rows(night.settings, "select count(*) from kos.trace_facts") == [(4,)]


def test_metrics_are_right(night: Any) -> None:
    """M1: staleness, duplicates, drift and hit rate of the small store, counted by hand."""
    rows = _rows(
        night.settings, "select metric, part, whole, value from kos_marts.health_summary where namespace = '*'"
    )
    found = {metric: (part, whole, pytest.approx(value)) for metric, part, whole, value in rows}
    assert found == {
        "stale_share": (2, 5, 0.4),  # 3 (181 days) and 4; 5 is older but episodic
        "duplicate_rate": (2, 5, 0.4),  # 1 with 2
        "unindexed_share": (0, 5, 0.0),
        "missing_vector_share": (1, 5, 0.2),  # 5
        "stale_vector_share": (0, 5, 0.0),
        "orphan_vectors": (0, 5, 0.0),
        "unsynced_note_share": (1, 6, pytest.approx(1 / 6)),
        "blocked_files": (1, 1, 1.0),
        "recall_hit_rate": (1, 3, pytest.approx(1 / 3)),
        "recall_empty_rate": (1, 4, 0.25),
    }


def test_near_pair_is_found_once(night: Any) -> None:
    """M1: live pairs of one namespace within the gate's distance; the expired twin of 1 is no pair."""
    rows = _rows(
        night.settings, "select left_memory_id::text, right_memory_id::text, distance from kos_marts.duplicate_pairs"
    )
    assert rows == [(_id(1), _id(2), pytest.approx(0.005, abs=1e-3))]


def test_snapshot_is_appended(night: Any) -> None:
    """M1: history; one row per metric of the whole store, namespaces in its detail."""
    rows = _rows(night.settings, "select distinct at from kos.health_snapshots", role="writer")
    assert len(rows) == 1
    detail = _rows(
        night.settings, "select detail from kos.health_snapshots where metric = 'stale_share'", role="writer"
    )[0][0]
    assert detail["namespaces"]["global"] == {"value": 0.4, "part": 2, "whole": 5}
    assert detail["run_id"] == night.result.run_id


def test_same_instant_replaces_its_snapshot(filled: Settings) -> None:
    """D3: a rerun of the same run leaves one snapshot, and the history shows only what came before."""
    first = store_health.Measure("stale_share", "*", 0.5, 1, 2)
    with testing.store(filled) as store, store.transaction() as session:
        now = session.value("select now()")
    with testing.store(filled) as store:
        store_health.record_snapshot(store, now - timedelta(days=1), [first], run_id="a")
        store_health.record_snapshot(store, now, [first], run_id="b")
        store_health.record_snapshot(store, now, [store_health.Measure("stale_share", "*", 0.25, 1, 4)], run_id="b")
        later = store_health.history(store, now + timedelta(days=1))
        assert [(point.at, point.value) for point in later] == [(now - timedelta(days=1), 0.5), (now, 0.25)]
        assert [point.value for point in store_health.history(store, now)] == [0.5]


def test_dbt_tests_are_asset_checks(night: Any) -> None:
    """M2: each dbt test of a model is an asset check of that model, and held."""
    checks = defaultdict(list)
    for evaluation in night.result.get_asset_check_evaluations():
        checks[evaluation.asset_key.to_user_string()].append(evaluation)
    for name in (*AGGREGATES, "staleness", "duplicate_pairs"):
        assert checks[f"kos_marts/{name}"], name
        assert all(evaluation.passed for evaluation in checks[f"kos_marts/{name}"]), name


def test_expectations_are_asset_checks_of_the_live_memories(night: Any) -> None:
    """M2: the suite's checks stand at kos/memories with counts; the one broken expectation is a warning with the id."""
    found = {
        evaluation.check_name: evaluation
        for evaluation in night.result.get_asset_check_evaluations()
        if evaluation.asset_key == MEMORIES
    }
    assert set(found) == {item.name for item in SUITE}
    assert {name for name, evaluation in found.items() if not evaluation.passed} == {"has_vector"}
    broken = found["has_vector"]
    assert broken.severity == dg.AssetCheckSeverity.WARN
    assert broken.metadata["rows"].value == 5
    assert broken.metadata["broken"].value == 1
    assert broken.metadata["memory_ids"].value == [_id(5)]


def test_breach_raises_the_alarm(night: Any) -> None:
    """M2: a metric beyond its threshold and a broken expectation are in the alarm file."""
    found = {
        evaluation.check_name: evaluation.passed
        for evaluation in night.result.get_asset_check_evaluations()
        if evaluation.asset_key == SNAPSHOTS
    }
    assert set(found) == {item.name for item in THRESHOLDS}
    assert {name for name, passed in found.items() if not passed} == {"vectors_are_complete", "notes_are_synced"}
    alarms: dict[str, Any] = {str(alarm["source"]): alarm for alarm in recent_alarms(night.settings)}
    assert alarms["health"]["severity"] == "error"
    assert set(alarms["health"]["facts"]) == {"vectors_are_complete", "notes_are_synced"}
    assert alarms["great_expectations"]["facts"] == {"has_vector": 1}


def test_serving_role_reads_aggregates_only(night: Any) -> None:
    """S12: the serving role reads aggregates; rows about one memory are refused."""
    for name in AGGREGATES:
        assert _rows(night.settings, f"select count(*) from kos_marts.{name}", role="reader")
    for name in (*PER_MEMORY, "stg_near_pairs"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            _rows(night.settings, f"select * from kos_marts.{name}", role="reader")


def test_marts_hold_no_text(night: Any) -> None:
    """S12: ids and numbers; a word planted in every text of the store is nowhere in the marts or the snapshots."""
    for name in (*AGGREGATES, *PER_MEMORY, "stg_near_pairs"):
        assert night.secret not in str(_rows(night.settings, f"select m::text from kos_marts.{name} as m")), name
    assert night.secret not in str(
        _rows(night.settings, "select s::text from kos.health_snapshots as s", role="writer")
    )


def test_dagster_and_disk_hold_no_text_and_no_password(night: Any) -> None:
    """S12, house rule 14: events, dbt's files and alarms carry counts and ids; the password of kos_dbt is in none."""
    password = derived_password(night.settings.dsn, "dbt")
    events = json.dumps([str(event.event_specific_data) for event in night.result.all_events])
    assert night.secret not in events
    assert password not in events
    files = [path for path in night.settings.data_dir.rglob("*") if path.is_file()]
    assert any(path.name == "run_results.json" for path in files)
    for path in files:
        content = path.read_bytes()
        assert night.secret.encode() not in content, path
        assert password.encode() not in content, path


def test_checkout_is_only_read(night: Any) -> None:
    """D6: dbt's targets and logs are below the data directory."""
    assert night.result.success
    assert not [name for name in ("target", "logs", ".user.yml") if (project_dir() / name).exists()]


def test_unit_tests_of_the_models_hold(night: Any) -> None:
    """D6, house rule 16: dbt's unit tests, which the night leaves to this suite."""
    invocation = dbt_resource().start(night.settings, ["test", "--select", "test_type:unit"]).wait()
    results = invocation.get_artifact("run_results.json")["results"]
    assert {result["status"] for result in results} == {"pass"}
    assert len(results) == len(AGGREGATES) + len(PER_MEMORY) + 1


def test_lineage_runs_from_notes_to_the_snapshot(night: Any) -> None:
    """D1: one graph; the live location's assets are external here, and everything measured hangs on them."""
    graph = night.definitions.resolve_asset_graph()
    upstream = {SNAPSHOTS}
    for _ in range(10):
        upstream |= {parent for key in upstream for parent in graph.get(key).parent_keys}
    assert {dg.AssetKey(["kos", name]) for name in ("notes", "memories", "embeddings", "traces", "expired")} <= upstream
    assert not graph.get(MEMORIES).is_materializable


def test_second_night_gives_the_same(filled: Settings, manifest: Any) -> None:
    """D3: rerunning hygiene changes nothing."""
    reports = _hygiene(filled, 2)
    counts = [
        {
            str(event.asset_key and event.asset_key.to_user_string()): {
                name: value.value for name, value in event.materialization.metadata.items() if name != "seconds"
            }
            for event in report.get_asset_materialization_events()
        }
        for report in reports
    ]
    assert counts[0]["kos/expired"]["expired"] == 1
    assert counts[1]["kos/expired"]["expired"] == 0
    assert (counts[0]["kos/stale"]["opened"], counts[1]["kos/stale"]["opened"]) == (2, 0)
    assert counts[1]["kos/compacted"] == {
        "retired": 0, "recorded": 0, "dropped": 0, "chains": 0, "longest": 0, "circular": 0,
    }  # fmt: skip
    assert counts[1]["kos/traces"]["traces_deleted"] == 0
    assert counts[1]["kos/lexical_terms"]["rows_written"] == 0
