"""The dbt project on disk: where it is, a hash of it, its manifest (parsed once per hash), the environment dbt needs.

Here: files and the `dbt parse` program, without Dagster, so that `kos up` can prepare the manifest before it starts
anything. Not here: the assets (dbt.py). `dbt parse` needs neither database nor network.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Final

from kos_assets.errors import ConfigError, OperationError

_LEFT_OUT: Final = frozenset({"target", "logs", ".user.yml"})
_KEPT_MANIFESTS: Final = 3
_PARSE_S: Final = 300


def project_dir() -> Path:
    """The dbt project of this checkout. Raises ConfigError when the package was installed without it."""
    path = Path(__file__).resolve().parents[2] / "dbt_project"
    if not (path / "dbt_project.yml").is_file():
        raise ConfigError(
            f"There is no dbt project at {path}.",
            why="Knowledge OS runs from its checkout.",
            fix="Install it editable: `uv sync` in a clone.",
        )
    return path


def dbt_program() -> Path:
    """The `dbt` command of this very environment, never one that PATH happens to offer. Raises ConfigError."""
    for folder in (Path(sys.executable).parent, Path(sys.prefix) / "bin", Path(sys.prefix) / "Scripts"):
        for name in ("dbt", "dbt.exe"):
            if (folder / name).is_file():
                return folder / name
    raise ConfigError("This environment has no dbt command.", fix="Install the dependencies: `uv sync`.")


def project_hash(project: Path) -> str:
    """sha256 over the project's files and dbt's versions, hex: the same hash means the same manifest."""
    digest = hashlib.sha256()
    for package in ("dbt-core", "dbt-postgres"):
        digest.update(f"{package}={metadata.version(package)}\n".encode())
    for path in sorted(project.rglob("*")):
        relative = path.relative_to(project)
        if path.is_file() and not _LEFT_OUT.intersection(relative.parts):
            content = path.read_bytes()
            digest.update(f"{relative.as_posix()}\0{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()


def prepare_manifest(work_dir: Path, project: Path | None = None) -> Path:
    """The path of `manifest.json` for the project as it is now; parsed into `work_dir` if it is not there yet.

    Safe when several processes do it at once: each parses into a folder of its own and the first rename wins. The
    project's own folder is not written to. Raises OperationError with dbt's last lines when parsing fails.
    """
    project = project or project_dir()
    home = work_dir / "manifests"
    ready = home / project_hash(project)[:16]
    if not (ready / "manifest.json").is_file():
        home.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=home, prefix="parse-"))
        try:
            _parse(project, scratch)
            scratch.rename(ready)
        except OSError:
            if not (ready / "manifest.json").is_file():
                raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        keep_newest(home, _KEPT_MANIFESTS)
    return ready / "manifest.json"


def keep_newest(folder: Path, count: int) -> None:
    """Remove all but the `count` newest folders in `folder`; whoever still reads one has it open."""
    found = sorted((path for path in folder.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
    for path in found[: max(len(found) - count, 0)]:
        shutil.rmtree(path, ignore_errors=True)


def dbt_environment(parts: Mapping[str, object]) -> dict[str, str]:
    """The variables of profiles.yml from the parts of a DSN (host, port, user, password, dbname, sslmode).

    The password's name carries dbt's prefix for secrets: dbt then masks it in logs and leaves it out of its files.
    """
    return {
        "KOS_DBT_HOST": str(parts.get("host") or "127.0.0.1"),
        "KOS_DBT_PORT": str(parts.get("port") or 5432),
        "KOS_DBT_USER": str(parts.get("user") or "kos_dbt"),
        "KOS_DBT_DBNAME": str(parts.get("dbname") or "kos"),
        "KOS_DBT_SSLMODE": str(parts.get("sslmode") or "prefer"),
        "DBT_ENV_SECRET_KOS_PASSWORD": str(parts.get("password") or ""),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    }


def _parse(project: Path, target: Path) -> None:
    command = [str(dbt_program()), "--quiet", "--no-use-colors", "parse", "--profiles-dir", str(project)]
    done = subprocess.run(  # noqa: S603 - our own environment's dbt
        [*command, "--target-path", str(target), "--log-path", str(target)],
        cwd=project,
        env={**os.environ, **dbt_environment({})},
        capture_output=True,
        text=True,
        check=False,
        timeout=_PARSE_S,
    )
    if done.returncode != 0 or not (target / "manifest.json").is_file():
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        raise OperationError("The dbt project cannot be parsed.", why=last, fix=f"Mend the project in {project}.")
