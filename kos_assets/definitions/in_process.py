"""A job executed inside this process, recorded in Dagster's Postgres: `kos demo`, `kos backfill`, tests.

Its run, materialisations and checks are in the UI afterwards. The nightly location is imported only for a job of its.
"""

from __future__ import annotations

import logging
import os
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg

from kos_assets import resources
from kos_assets.definitions import live
from kos_assets.errors import NotFoundError
from kos_assets.operations.dagster_home import PROCESS_TAG, open_instance, this_process
from kos_assets.settings import Settings


@dataclass(frozen=True)
class Step:
    """News of a step. `state` is started, progress, done or failed; `text` is how far it is, or why it failed."""

    name: str
    state: str
    seconds: float | None = None
    text: str = ""


@dataclass(frozen=True)
class Outcome:
    """A finished run. `metadata` is by asset key (`kos/notes`); checks are told as `kos/notes: name`.

    A check whose severity is a warning is in `warned_checks` when it does not pass, never in `failed_checks`.
    """

    run_id: str
    success: bool
    seconds: float
    metadata: dict[str, dict[str, Any]]
    passed_checks: int
    failed_checks: tuple[str, ...]
    warned_checks: tuple[str, ...]
    failures: tuple[str, ...]


def materialize_in_process(
    settings: Settings, job_name: str, *, on_step: Callable[[Step], None] | None = None
) -> Outcome:
    """Execute a job of either location here and now; expected failures are in the outcome, not raised.

    `settings` has the DSNs of a database that runs (owner or roles, and Dagster's). Raises NotFoundError for an unknown
    job, ConfigError when a resource cannot be made.
    """
    run_id = str(uuid.uuid4())
    log = settings.data_dir / "logs" / "in-process.log"
    with (
        open_instance(settings) as instance,
        resources.from_settings(settings) as bound,
        _streams_aside(log) as visible,
    ):
        job = _job(settings, job_name)
        if on_step is not None:
            instance.add_event_listener(run_id, lambda entry: _tell(entry, visible, on_step))
        result = job.execute_in_process(
            instance=instance,
            run_id=run_id,
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},  # `on_step` tells
            raise_on_error=False,
            resources={name: value for name, value in bound.items() if name in job.resource_defs},
            tags={PROCESS_TAG: this_process()},
        )
        stats = instance.get_run_stats(run_id)
    return _outcome(result, (stats.end_time or 0.0) - (stats.start_time or 0.0))


def _job(settings: Settings, name: str) -> dg.JobDefinition:
    if name in _names(live.defs):
        return live.defs.resolve_job_def(name)
    from kos_assets.assets.dbt_manifest import prepare_manifest
    from kos_assets.definitions import nightly

    defs = nightly.build(settings, prepare_manifest(settings.data_dir / "dbt"))
    if name not in _names(defs):
        raise NotFoundError(f"There is no job {name!r}.", fix="`ingest` and `nightly` are the jobs.")
    return defs.resolve_job_def(name)


def _names(defs: dg.Definitions) -> set[str]:
    return {job.name for job in defs.resolve_all_job_defs()}


@contextmanager
def _streams_aside(log: Path) -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Send what steps print (dbt alone: a hundred lines) to a log; Dagster keeps it with the step as well.

    Yields a context in which the caller's own stdout and stderr are back.
    """
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as stack:
        own = [stack.enter_context(os.fdopen(os.dup(number), "w", encoding="utf-8", buffering=1)) for number in (1, 2)]
        aside = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        stack.callback(os.close, aside)
        stack.callback(_point_streams_at, *(stream.fileno() for stream in own))

        @contextmanager
        def visible() -> Iterator[None]:
            with redirect_stdout(own[0]), redirect_stderr(own[1]):
                yield

        _point_streams_at(aside, aside)
        yield visible


def _point_streams_at(output: int, errors: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(output, 1)
    os.dup2(errors, 2)


def _tell(
    entry: dg.EventLogEntry, visible: Callable[[], AbstractContextManager[None]], on_step: Callable[[Step], None]
) -> None:
    step = _step(entry)
    if step is not None:
        with visible():
            on_step(step)


def _step(entry: dg.EventLogEntry) -> Step | None:
    event = entry.dagster_event
    if event is None:
        if entry.step_key is not None and entry.level == logging.INFO:
            return Step(entry.step_key, "progress", text=entry.user_message)
        return None
    if event.step_key is None:
        return None
    if event.event_type == dg.DagsterEventType.STEP_START:
        return Step(event.step_key, "started")
    if event.event_type == dg.DagsterEventType.STEP_SUCCESS:
        return Step(event.step_key, "done", seconds=event.step_success_data.duration_ms / 1000)
    if event.event_type == dg.DagsterEventType.STEP_FAILURE:
        return Step(event.step_key, "failed", text=_reason(event))
    return None


def _reason(event: dg.DagsterEvent) -> str:
    data = event.step_failure_data
    if data.user_failure_data is not None and data.user_failure_data.description:
        return str(data.user_failure_data.description)
    return "" if data.error is None else data.error.message.strip()


def _not_passed(checks: Sequence[dg.AssetCheckEvaluation], severity: dg.AssetCheckSeverity) -> tuple[str, ...]:
    return tuple(
        f"{check.asset_key.to_user_string()}: {check.check_name}"
        for check in checks
        if not check.passed and check.severity == severity
    )


def _outcome(result: dg.ExecuteInProcessResult, seconds: float) -> Outcome:
    metadata: dict[str, dict[str, Any]] = {}
    for event in result.all_events:
        if event.is_step_materialization and event.asset_key is not None:
            values = event.step_materialization_data.materialization.metadata
            metadata[event.asset_key.to_user_string()] = {name: value.value for name, value in values.items()}
    checks = result.get_asset_check_evaluations()
    found = {severity: _not_passed(checks, severity) for severity in dg.AssetCheckSeverity}
    return Outcome(
        run_id=result.run_id,
        success=result.success,
        seconds=seconds,
        metadata=metadata,
        passed_checks=sum(1 for check in checks if check.passed),
        failed_checks=found[dg.AssetCheckSeverity.ERROR],
        warned_checks=found[dg.AssetCheckSeverity.WARN],
        failures=tuple(f"{event.step_key}: {_reason(event)}" for event in result.get_step_failure_events()),
    )
