"""Dagster 1.13 reads pydantic's old attribute when a resource is made; that warning is theirs to mend."""

from __future__ import annotations

from pathlib import Path

import pytest

from kos_assets.assets.dbt_manifest import prepare_manifest


def pytest_configure(config: pytest.Config) -> None:
    """Before this folder's modules are imported."""
    config.addinivalue_line("filterwarnings", "ignore:The `__fields__` attribute is deprecated:DeprecationWarning")


@pytest.fixture(scope="session")
def work_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the project was parsed once."""
    folder = tmp_path_factory.mktemp("work")
    prepare_manifest(folder)
    return folder
