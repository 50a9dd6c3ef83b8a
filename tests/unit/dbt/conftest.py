"""The dbt project, parsed once."""

from __future__ import annotations

from pathlib import Path

import pytest

from kos_assets.assets.dbt_manifest import prepare_manifest


@pytest.fixture(scope="session")
def work_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the project was parsed once."""
    folder = tmp_path_factory.mktemp("work")
    prepare_manifest(folder)
    return folder
