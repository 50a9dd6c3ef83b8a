"""dbt inside Dagster: keys, order, and that no command asks the network for dbt's version."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from kos_assets.assets.dbt import KosDbtResource, dbt_resource, health_models
from kos_assets.assets.dbt_manifest import dbt_program, prepare_manifest


@pytest.fixture(scope="module")
def models(work_dir: Path) -> dg.AssetsDefinition:
    """The dbt assets."""
    return health_models(prepare_manifest(work_dir))


def test_keys_are_table_addresses(models: dg.AssetsDefinition) -> None:
    """D6: models are kos_marts/<model>, sources are the store's own assets."""
    assert all(key.path[0] == "kos_marts" and len(key.path) == 2 for key in models.keys)
    upstream = {dep.asset_key for spec in models.specs for dep in spec.deps} - set(models.keys)
    assert {key.to_user_string() for key in upstream} == {
        "kos/memories", "kos/embeddings", "kos/traces", "kos/notes", "kos/stale",
    }  # fmt: skip


def test_every_data_test_is_a_check(models: dg.AssetsDefinition) -> None:
    """M2: tests of dbt are asset checks; an error blocks what is downstream."""
    checks = list(models.check_specs)
    assert len(checks) > 50
    assert all(check.blocking for check in checks)
    assert {check.asset_key for check in checks} >= set(models.keys) - {dg.AssetKey(["kos_marts", "stg_near_pairs"])}


def test_models_wait_for_hygiene(models: dg.AssetsDefinition) -> None:
    """H4: what the night expires or compacts is not measured as live."""
    specs = {spec.key.path[-1]: spec for spec in models.specs}
    assert dg.AssetKey(["kos", "stale"]) in {dep.asset_key for dep in specs["stg_memories"].deps}


def test_the_private_names_are_still_there() -> None:
    """D6: both overrides are of private names; when dagster-dbt renames them this fails, not the night's speed."""
    theirs = KosDbtResource.__mro__[1]
    assert theirs.__name__ == "DbtCliResource"
    for name in ("_cli_version", "_initialize_dbt_core_adapter"):
        assert name in vars(theirs), name
        assert name in vars(KosDbtResource), name


def test_version_comes_from_the_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    """E8: no `dbt --version`, which asks the package index."""
    import dagster_dbt.core.resource as theirs

    def refuse(*_: Any, **__: Any) -> bytes:
        raise AssertionError("dbt --version was run")

    monkeypatch.setattr(theirs, "check_output", refuse)
    resource = dbt_resource()
    assert str(resource._cli_version) == metadata.version("dbt-core")
    assert resource._initialize_dbt_core_adapter([]) is None


def test_dbt_is_this_environments_own() -> None:
    """P3: never a dbt that PATH happens to offer."""
    import sys

    assert dbt_program().parent in {Path(sys.executable).parent, Path(sys.prefix) / "bin"}
    assert dbt_resource().dbt_executable == str(dbt_program())


def test_resource_configuration_carries_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    """P7: what Dagster's UI shows of the resource has no credentials in it."""
    monkeypatch.setenv("KOS_DSN", "postgresql://postgres:hush@127.0.0.1:1/kos")
    assert "hush" not in str(dbt_resource().model_dump())
