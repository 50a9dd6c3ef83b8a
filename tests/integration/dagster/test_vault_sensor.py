"""The vault sensor's ticks against a real index and Dagster's own record of runs."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import dagster as dg
import pytest

from kos_assets.definitions.live import defs
from kos_assets.settings import Settings
from kos_assets.vault import sidecar
from sensors.vault_changes import look_at, vault_changes


def tick(instance: dg.DagsterInstance, bound: dict[str, Any], cursor: str | None) -> dg.SensorResult:
    context = dg.build_sensor_context(instance=instance, cursor=cursor)
    result = vault_changes(context, settings=bound["settings"], store=bound["store"])
    assert isinstance(result, dg.SensorResult)
    return result


def ingest(instance: dg.DagsterInstance, bound: dict[str, Any]) -> None:
    job = defs.resolve_job_def("ingest")
    assert job.execute_in_process(instance=instance, resources=bound).success


def key(result: dg.SensorResult) -> str:
    assert result.run_requests
    return str(result.run_requests[0].run_key)


def test_there_and_back_again(settings: Settings, instance: dg.DagsterInstance, bound: dict[str, Any]) -> None:
    """D2: A -> B -> A asks for three runs with three keys, and for none in between."""
    assert settings.vault is not None
    note = settings.vault / "people" / "ada.md"
    first, before = note.read_text("utf-8"), note.stat()
    keys, cursor = [], None
    for text in (first, first + "More.\n", first):
        note.write_text(text, "utf-8")
        if text == first:
            os.utime(note, ns=(before.st_atime_ns, before.st_mtime_ns))
        asked = tick(instance, bound, cursor)
        keys.append(key(asked))
        ingest(instance, bound)
        quiet = tick(instance, bound, asked.cursor)
        assert not quiet.run_requests
        cursor = quiet.cursor or asked.cursor
    assert len(set(keys)) == 3


def test_while_a_run_is_under_way_nothing_is_asked_for(
    settings: Settings, instance: dg.DagsterInstance, bound: dict[str, Any]
) -> None:
    """D2: a burst of saves costs one more run, after the one that is under way; the cursor forgets nothing."""
    ingest(instance, bound)
    cursor = tick(instance, bound, None).cursor
    run = instance.add_run(dg.DagsterRun(job_name="ingest", status=dg.DagsterRunStatus.STARTED))
    assert settings.vault is not None
    (settings.vault / "new.md").write_text("# New\n", "utf-8")
    for _ in range(3):
        waiting = tick(instance, bound, cursor)
        assert not waiting.run_requests
        assert waiting.cursor is None
    instance.delete_run(run.run_id)
    assert key(tick(instance, bound, cursor))


def test_a_failed_run_is_asked_for_again(
    instance: dg.DagsterInstance, bound: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """D3: not at once, but without anybody's help."""
    ingest(instance, bound)
    cursor = tick(instance, bound, None).cursor
    run = instance.add_run(dg.DagsterRun(job_name="ingest", status=dg.DagsterRunStatus.NOT_STARTED))
    instance.report_run_failed(run)
    assert not tick(instance, bound, cursor).run_requests
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    assert key(tick(instance, bound, cursor))


def test_a_failure_that_stays_is_not_repeated_each_minute(
    settings: Settings, instance: dg.DagsterInstance, bound: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """D3: while the index still differs, the third failure makes the sensor wait; a changed vault does not wait."""
    cursor = tick(instance, bound, None).cursor
    for _ in range(3):
        instance.report_run_failed(instance.add_run(dg.DagsterRun(job_name="ingest")))
    ended = time.time()
    for after in (1, 65, 200):
        monkeypatch.setattr(time, "time", lambda after=after: ended + after)
        waiting = tick(instance, bound, cursor)
        assert not waiting.run_requests
        assert waiting.cursor is None
        assert "waiting before the next" in str(waiting.skip_reason)
    assert settings.vault is not None
    (settings.vault / "new.md").write_text("# New\n", "utf-8")
    at_once = tick(instance, bound, cursor)
    assert key(at_once)
    monkeypatch.setattr(time, "time", lambda: ended + 241)
    assert key(tick(instance, bound, at_once.cursor))


def test_stamps_do_not_go_round_in_circles(
    settings: Settings, instance: dg.DagsterInstance, bound: dict[str, Any]
) -> None:
    """V2, D2: ids that a run stamps into files ask for no further run."""
    assert settings.vault is not None
    sidecar.write_adoption(settings.vault, sidecar.Adoption(uuid4(), "frontmatter"))
    for path in settings.vault.rglob("*.md"):
        os.utime(path, (time.time() - 60, time.time() - 60))
    asked = tick(instance, bound, None)
    assert key(asked)
    ingest(instance, bound)
    assert "kos_id" in (settings.vault / "people" / "ada.md").read_text("utf-8")
    cursor = asked.cursor
    for _ in range(3):
        result = tick(instance, bound, cursor)
        assert not result.run_requests
        cursor = result.cursor or cursor


def test_a_vault_that_is_not_there_is_no_empty_vault(
    settings: Settings, instance: dg.DagsterInstance, bound: dict[str, Any]
) -> None:
    """V4: an unmounted drive asks for nothing, and says why."""
    assert settings.vault is not None
    settings.vault.rename(settings.vault.with_name("unmounted"))
    result = tick(instance, bound, None)
    assert not result.run_requests
    assert "cannot be read" in str(result.skip_reason)


def test_ten_thousand_files_are_looked_at_in_time(tmp_path: Path) -> None:
    """D2, V5: a tick stays far below Dagster's limit; the cursor stays small."""
    for number in range(10_000):
        folder = tmp_path / str(number % 100)
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.md").touch()
    began = time.monotonic()
    look = look_at(tmp_path, Settings())
    seconds = time.monotonic() - began
    print(f"10,000 files: {seconds:.2f} s")
    assert len(look.files) == 10_000
    assert len(json.dumps(look.fingerprint)) < 100
    assert seconds < 10
