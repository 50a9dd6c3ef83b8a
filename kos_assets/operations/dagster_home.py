"""Dagster's home below the data directory: its configuration, its database's URL, its instance, what a crash left.

Here: what must be so before Dagster works. Not here: which processes run (supervision.py), definitions, or the
deletion of old runs (a nightly asset).
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psutil
import yaml

import kos_assets
from kos_assets.errors import ConfigError
from kos_assets.settings import Settings
from kos_assets.store.database import parse_dsn, with_database

if TYPE_CHECKING:
    from dagster import DagsterInstance

_DRIVER: Final = "+psycopg2"
_START_SLACK_S: Final = 2.0  # the tag holds whole seconds
PROCESS_TAG: Final = "kos/process"  # host, pid and start of the process that executes a run inside itself


def checkout() -> Path:
    """The folder that this version runs from: workspace.yaml, .dagster and dbt_project stand in it."""
    return Path(kos_assets.__file__).parent.parent


def source_file(*parts: str) -> Path:
    """A file of the checkout. Raises ConfigError when the installation has none."""
    path = checkout().joinpath(*parts)
    if not path.is_file():
        raise ConfigError(
            f"{path} is missing.",
            why="Orchestration runs from the checkout of the repository, not from a wheel.",
            fix="Clone the repository and run `uv sync` in it.",
        )
    return path


def dagster_url(settings: Settings) -> str:
    """The URL of Dagster's database for SQLAlchemy. Raises ConfigError when none is set.

    The driver is named, because a bare postgresql:// means psycopg 3 from SQLAlchemy 2.1 on, which breaks
    dagster-postgres.
    """
    if settings.dagster_dsn is None:
        raise ConfigError("Dagster has no database.", fix="Use `kos up`, or set KOS_DAGSTER_DSN.")
    dsn = settings.dagster_dsn.replace(f"postgresql{_DRIVER}://", "postgresql://", 1)
    return with_database(dsn, str(parse_dsn(dsn).get("dbname", "dagster")), driver=_DRIVER)


def prepare_home(settings: Settings) -> Path:
    """Write the configuration into <data_dir>/dagster, which becomes DAGSTER_HOME; the folder."""
    home = settings.data_dir.absolute() / "dagster"
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    config = read_yaml(source_file(".dagster", "dagster.yaml"))
    config["retention"] = _retention(settings.keep_runs_days)
    write_yaml(home / "dagster.yaml", config)
    return home


def read_yaml(path: Path) -> Any:
    """The plain values in a YAML file of ours."""
    return yaml.safe_load(path.read_text("utf-8"))


def write_yaml(path: Path, value: Any) -> None:
    """Replace a file as a whole: another process may be reading it."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with beside.open("w", encoding="utf-8") as file:
        file.write("# Written by kos at each start; changes here are lost.\n")
        yaml.safe_dump(value, file)
    beside.replace(path)


@contextmanager
def open_instance(settings: Settings) -> Iterator[DagsterInstance]:
    """Dagster's instance on its Postgres, in this process; creates its tables where they are missing."""
    from dagster import DagsterInstance  # 0.6 s
    from dagster._core.instance.ref import InstanceRef

    home = prepare_home(settings)
    storage = {"postgres": {"postgres_url": dagster_url(settings)}}
    with DagsterInstance.from_ref(InstanceRef.from_dir(str(home), overrides={"storage": storage})) as instance:
        yield instance


def this_process() -> str:
    """The value of PROCESS_TAG for a run that this process executes."""
    return f"{socket.gethostname()} {os.getpid()} {psutil.Process().create_time():.0f}"


def fail_lost_runs(instance: DagsterInstance, location: str | None = None) -> list[str]:
    """Mark runs as failed whose process is gone; their ids. Call it while the code server of `location` (None: every
    code server of this instance) does not run.

    Dagster's launcher cannot tell (it asks the code server, which is new), so a run that died with its machine would
    stay "started" for ever and keep its pool taken.
    """
    from dagster import DagsterRunStatus, RunsFilter

    lost = []
    unfinished = [DagsterRunStatus.STARTED, DagsterRunStatus.STARTING, DagsterRunStatus.CANCELING]
    for run in instance.get_runs(RunsFilter(statuses=unfinished)):
        origin = run.remote_job_origin
        elsewhere = location is not None and (origin is None or origin.location_name != location)
        if not elsewhere and not _alive(run.tags):
            instance.report_run_failed(run, message="The process that executed this run is gone.")
            lost.append(run.run_id)
    return lost


def _alive(tags: Any) -> bool:
    host, pid, started = [*str(tags.get(PROCESS_TAG, "")).split(" "), "", "", ""][:3]
    if not pid.isdecimal():
        return False
    if host != socket.gethostname():
        return True
    try:
        return abs(psutil.Process(int(pid)).create_time() - float(started)) < _START_SLACK_S
    except (psutil.Error, ValueError):
        return False


def _retention(days: int) -> dict[str, Any]:
    """Days that ticks are kept. Skipped sensor ticks come every five seconds and say nothing."""
    kept = max(days, 1)
    return {
        "schedule": {"purge_after_days": kept},
        "sensor": {"purge_after_days": {"skipped": 1, "success": kept, "failure": kept, "started": 1}},
    }
