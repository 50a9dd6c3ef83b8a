"""The ingest job on a small vault: what it records, what blocks, what is retried, what is never written down."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import sqlalchemy

from kos_assets import testing
from kos_assets.definitions.in_process import Step, materialize_in_process
from kos_assets.definitions.live import defs
from kos_assets.errors import NotFoundError, ProviderUnavailableError, StoreUnavailableError, VaultError
from kos_assets.ingest.notes import sync_notes
from kos_assets.jobs import CHUNKS, EMBEDDINGS, INGEST_KEYS, permanent_failures
from kos_assets.operations.dagster_home import (
    PROCESS_TAG,
    dagster_url,
    fail_lost_runs,
    open_instance,
    prepare_home,
    this_process,
)
from kos_assets.settings import Settings
from kos_assets.store import invariants


def run(instance: dg.DagsterInstance, bound: dict[str, Any]) -> dg.ExecuteInProcessResult:
    job = defs.resolve_job_def("ingest")
    return job.execute_in_process(instance=instance, resources=bound, raise_on_error=False)


def test_the_job_ingests_and_records_counts(settings: Settings) -> None:
    """D1, D3: notes to vectors, with counts in the UI's database; a rerun finds nothing to do."""
    steps: list[Step] = []
    first = materialize_in_process(settings, "ingest", on_step=steps.append)
    assert (first.success, first.failures, first.failed_checks, first.warned_checks) == (True, (), (), ())
    assert first.metadata["kos/notes"]["new"] == 4
    assert first.metadata["kos/memories"]["live"] == 3
    assert first.metadata["kos/memories"]["folded"] == 1
    assert first.metadata["kos/embeddings"]["pending"] == 0
    assert next(step.name for step in steps if step.state == "done") == "kos__notes"
    second = materialize_in_process(settings, "ingest")
    assert second.metadata["kos/notes"]["read"] == 0
    assert second.metadata["kos/embeddings"]["embedded"] == 0
    print(f"in-process job: {first.seconds:.1f} s, again {second.seconds:.1f} s")
    with open_instance(settings) as instance:
        for key in INGEST_KEYS:
            event = instance.get_latest_materialization_event(key)
            assert event is not None
            assert event.run_id == second.run_id


def test_no_note_text_reaches_dagster(settings: Settings) -> None:
    """P7: what Dagster stores are counts and ids; the text of a note is in none of its tables."""
    assert materialize_in_process(settings, "ingest").success
    engine = sqlalchemy.create_engine(dagster_url(settings))
    with engine.connect() as connection:
        inspector = sqlalchemy.inspect(engine)
        for table in inspector.get_table_names():
            count = sqlalchemy.text(f'select count(*) from "{table}" as t where t::text like :word')
            assert connection.execute(count, {"word": "%sesquipedalian%"}).scalar() == 0, table
    engine.dispose()


def test_an_unknown_job_is_said_to_be_unknown(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the job is what is wrong, said so, and not an exception from Dagster."""
    monkeypatch.setattr("kos_assets.assets.dbt_manifest.prepare_manifest", lambda folder: folder / "manifest.json")
    monkeypatch.setattr("kos_assets.definitions.nightly.build", lambda found, manifest: dg.Definitions())
    with pytest.raises(NotFoundError, match="backfil"):
        materialize_in_process(settings, "backfil")


def test_a_violated_invariant_blocks_what_follows(
    settings: Settings, instance: dg.DagsterInstance, bound: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """D1: a live memory without a chunk fails the check, and no vectors are made on top of it."""
    monkeypatch.setattr(invariants, "_SECOND_LOOK_S", 0.0)
    assert run(instance, bound).success
    with testing.connect(settings) as connection:
        connection.execute("delete from kos.chunks where memory_id = (select memory_id from kos.chunks limit 1)")
    result = run(instance, bound)
    assert not result.success
    failed = [check for check in result.get_asset_check_evaluations() if not check.passed]
    assert [check.check_name for check in failed] == ["every_live_memory_chunked"]
    assert failed[0].metadata["violations"].value == 1
    materialized = {event.asset_key for event in result.get_asset_materialization_events()}
    assert CHUNKS in materialized
    assert EMBEDDINGS not in materialized


def test_each_invariant_sees_what_violates_it(
    settings: Settings, instance: dg.DagsterInstance, bound: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """G6, S9: a lost note, a ghost, a stale and an orphan vector are found, each by its own question."""
    monkeypatch.setattr(invariants, "_SECOND_LOOK_S", 0.0)
    assert run(instance, bound).success
    facts = bound["facts"]
    counts = invariants.notes_accounted(facts)
    assert counts.passed
    assert {name: counts.figures[name] for name in ("notes", "live", "folded", "retired", "waiting")} == {
        "notes": 4,
        "live": 3,
        "folded": 1,
        "retired": 0,
        "waiting": 0,
    }
    assert invariants.vectors_current(facts).passed
    with testing.connect(settings) as connection:
        connection.execute("update kos.embeddings set content_hash = 'another' where ordinal = -1")
    assert invariants.vectors_current(facts).violations == 3
    with testing.connect(settings) as connection:
        connection.execute(
            "update kos.memories set deleted_at = now(), deleted_reason = 'note_deleted' where note_path like 'daily/%'"
        )
    lost = invariants.notes_accounted(facts)
    assert (lost.violations, len(lost.sample)) == (1, 1)


def test_a_missing_vault_is_a_failure_that_nothing_retries(
    settings: Settings, instance: dg.DagsterInstance, bound: dict[str, Any]
) -> None:
    """D3, V4: one attempt, with what to do; and the notes of before stand."""
    assert run(instance, bound).success
    assert settings.vault is not None
    settings.vault.rename(settings.vault.with_name("unmounted"))
    result = run(instance, bound)
    failures = result.get_step_failure_events()
    assert [event.step_key for event in failures] == ["kos__notes"]
    assert "mount the drive" in str(failures[0].step_failure_data.user_failure_data)
    assert not [event for event in result.all_events if event.event_type == dg.DagsterEventType.STEP_UP_FOR_RETRY]
    assert invariants.notes_accounted(bound["facts"]).figures["live"] == 3


def test_an_outage_is_retried(
    instance: dg.DagsterInstance, bound: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """D3, E5: the same step a moment later."""
    attempts = []

    def fails_once(*args: Any, **names: Any) -> Any:
        attempts.append(1)
        if len(attempts) == 1:
            raise StoreUnavailableError("The database does not answer.")
        return sync_notes(*args, **names)

    monkeypatch.setattr("kos_assets.assets.vault.sync_notes", fails_once)
    assert run(instance, bound).success
    assert len(attempts) == 2


def test_only_outages_are_left_to_the_retry_policy() -> None:
    """D3: our own errors say what to do; a stranger's message, which may quote a note, stays out (P7)."""
    for outage in (StoreUnavailableError("x"), ProviderUnavailableError("x")):
        with pytest.raises(type(outage)), permanent_failures():
            raise outage
    with pytest.raises(dg.Failure, match="Check the path") as ours, permanent_failures():
        raise VaultError("Not there.", fix="Check the path.")
    assert ours.value.allow_retries is False
    text = "what a note says"
    with pytest.raises(dg.Failure) as strange, permanent_failures():
        raise ValueError(text)
    assert strange.value.allow_retries is False
    assert text not in f"{strange.value.description} {strange.value.metadata}"
    assert strange.value.__suppress_context__


def test_the_home_is_written_from_the_template(settings: Settings, tmp_path: Path) -> None:
    """D4: Postgres, telemetry off, retention as the settings say; no password in the file."""
    home = prepare_home(Settings(data_dir=tmp_path / "with a space", keep_runs_days=3))
    text = (home / "dagster.yaml").read_text("utf-8")
    assert "purge_after_days: 3" in text
    assert "KOS_DAGSTER_DSN" in text
    with open_instance(settings) as instance:
        assert type(instance.event_log_storage).__name__ == "PostgresEventLogStorage"
        assert not instance.telemetry_enabled
        assert instance.run_monitoring_enabled
    assert "password" not in (prepare_home(settings) / "dagster.yaml").read_text("utf-8").lower()


def test_runs_of_a_dead_process_do_not_stay_started(instance: dg.DagsterInstance) -> None:
    """D3: kill anything, start again: what was running is failed, so that its pool is free and it runs again."""
    started = dg.DagsterRunStatus.STARTED
    gone = instance.add_run(dg.DagsterRun(job_name="ingest", run_id="0" * 8, status=started))
    alive = instance.add_run(
        dg.DagsterRun(job_name="ingest", run_id="2" * 8, status=started, tags={PROCESS_TAG: this_process()})
    )
    assert fail_lost_runs(instance, "live") == []  # neither was launched by that code server
    assert fail_lost_runs(instance) == [gone.run_id]
    assert fail_lost_runs(instance) == []
    found = instance.get_run_by_id(alive.run_id)
    assert found is not None
    assert found.status == started


def test_what_a_person_is_told_is_not_what_steps_print(tmp_path: Path) -> None:
    """P4: progress reaches the terminal; what a step or its programs print goes to a log; then all is as before."""
    program = f"""
import os, pathlib
from kos_assets.definitions.in_process import _streams_aside
with _streams_aside(pathlib.Path({str(tmp_path)!r}) / "logs" / "in-process.log") as visible:
    print("chatter of a library")
    os.system("echo chatter of a program; echo chatter >&2")
    with visible():
        print("told")
print("afterwards")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("told\nafterwards\n", "")
    log = (tmp_path / "logs" / "in-process.log").read_text("utf-8")
    assert sorted(log.splitlines()) == ["chatter", "chatter of a library", "chatter of a program"]
