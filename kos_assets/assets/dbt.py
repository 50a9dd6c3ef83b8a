"""The dbt models as assets of the same graph (D6): keys, lineage to the store, dbt tests as asset checks.

Here: Dagster's wiring of dbt. Not here: the project on disk and its manifest (dbt_manifest.py), the models themselves
(dbt_project/), what happens to the numbers (health.py).
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import dagster as dg
from packaging.version import Version

from kos_assets.assets.dbt_manifest import dbt_environment, dbt_program, keep_newest, project_dir
from kos_assets.jobs import HEALTH_POOL, permanent_failures
from kos_assets.settings import Settings
from kos_assets.store.database import parse_dsn, role_dsn

with warnings.catch_warnings():
    warnings.filterwarnings(
        "ignore", message="sqlglotrs is deprecated", category=DeprecationWarning
    )  # dagster-dbt's own
    from dagster_dbt import (
        DagsterDbtTranslator,
        DagsterDbtTranslatorSettings,
        DbtCliInvocation,
        DbtCliResource,
        dbt_assets,
    )

GROUP: Final = "health"
_PARTIAL_PARSE: Final = "partial_parse.msgpack"
_KEPT_RUNS: Final = 10
_ENVIRONMENT_LOCK = threading.Lock()

# Models that must see what the night's hygiene left; the rest follows from the lineage.
_AFTER: Final = {"stg_memories": dg.AssetKey(["kos", "stale"])}

# Notes and quarantine are two sources and one asset: the scan writes both.
_TRANSLATION: Final = DagsterDbtTranslatorSettings(enable_duplicate_source_asset_keys=True)


class KosDbtResource(DbtCliResource):
    """dbt without what dagster-dbt does around each command: a version lookup at the package index, an adapter."""

    @cached_property
    def _cli_version(self) -> Version:
        """The installed dbt-core. dagster-dbt runs `dbt --version`, which asks the package index (3 to 20 s)."""
        return Version(metadata.version("dbt-core"))

    def _initialize_dbt_core_adapter(self, args: Sequence[str]) -> Any:  # noqa: ARG002 - dagster-dbt's signature
        """No adapter: only column metadata needs it, these assets do not ask for that, and making one takes seconds."""
        return None

    def start(
        self, settings: Settings, args: Sequence[str], context: dg.AssetExecutionContext | None = None
    ) -> DbtCliInvocation:
        """Start a dbt command as role kos_dbt; targets and logs are below `data_dir/dbt`, the checkout is only read.

        The credentials travel in the command's environment: resource configuration is shown in Dagster's UI.
        """
        runs = settings.data_dir / "dbt" / "runs"
        runs.mkdir(parents=True, exist_ok=True)
        seed = _newest_parse(runs)
        name = context.run.run_id[:8] if context is not None else "manual"
        target = runs / f"{name}-{uuid.uuid4().hex[:8]}"
        target.mkdir()
        if seed is not None:
            shutil.copy(seed, target / _PARTIAL_PARSE)
        keep_newest(runs, _KEPT_RUNS)
        with _environment(dbt_environment(parse_dsn(role_dsn(settings, "dbt")))):
            return self.cli(args, context=context, target_path=target)


class KosDbtTranslator(DagsterDbtTranslator):
    """Asset key = table address: `kos_marts/<model>`; sources name theirs in the project (`meta.dagster.asset_key`)."""

    def get_asset_key(self, dbt_resource_props: Mapping[str, Any]) -> dg.AssetKey:
        """The key of a model or a source."""
        if dbt_resource_props["resource_type"] == "source":
            return super().get_asset_key(dbt_resource_props)
        return dg.AssetKey(["kos_marts", dbt_resource_props["name"]])

    def get_group_name(self, dbt_resource_props: Mapping[str, Any]) -> str:  # noqa: ARG002 - dagster-dbt's signature
        """All models are health."""
        return GROUP

    def get_asset_spec(self, manifest: Mapping[str, Any], unique_id: str, project: Any) -> dg.AssetSpec:
        """The asset of a dbt node, with the hygiene that comes before it."""
        spec = super().get_asset_spec(manifest, unique_id, project)
        before = _AFTER.get(spec.key.path[-1])
        if before is None or any(dep.asset_key == before for dep in spec.deps):
            return spec
        return spec.merge_attributes(deps=[before])


def dbt_resource() -> KosDbtResource:
    """The resource `dbt` for a code location. Raises ConfigError without a checkout or a dbt command."""
    project = os.fspath(project_dir())
    return KosDbtResource(project_dir=project, profiles_dir=project, dbt_executable=os.fspath(dbt_program()))


def health_models(manifest: Path) -> dg.AssetsDefinition:
    """The dbt models and their tests, from a prepared manifest."""

    @dbt_assets(
        manifest=manifest,
        dagster_dbt_translator=KosDbtTranslator(_TRANSLATION),
        name="health_models",
        pool=HEALTH_POOL,
    )
    def models(dbt: dg.ResourceParam[KosDbtResource], settings: dg.ResourceParam[Settings]) -> Iterator[Any]:
        """Build the selected models and run their tests; unit tests belong to the test suite, not to the night."""
        values = {"gate_distance": settings.gate_distance, "stale_after_days": settings.stale_after_days}
        command = ["build", "--vars", json.dumps(values), "--exclude-resource-type", "unit_test"]
        with permanent_failures():
            yield from dbt.start(settings, command, dg.AssetExecutionContext.get()).stream()

    return models


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Variables that dbt's process inherits: dagster-dbt copies the environment while it starts that process."""
    with _ENVIRONMENT_LOCK:
        before = {name: os.environ.get(name) for name in values}
        os.environ.update(values)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


def _newest_parse(runs: Path) -> Path | None:
    """What the last command parsed: dbt takes it up again when project, profile and variables are the same (1.5 s)."""
    found = [path for path in runs.glob(f"*/{_PARTIAL_PARSE}") if path.is_file()]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)
