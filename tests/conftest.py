"""Fixtures: one embedded server a session, one cloned database a test, the embedder, real inputs if they are there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from kos_assets import testing
from kos_assets.inference.embedding import Embedder
from kos_assets.settings import Settings

hypothesis_settings.register_profile(
    "kos", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
hypothesis_settings.load_profile("kos")


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[testing.TestServer]:
    """A real server for the whole session; a missing one fails the tests, it does not skip them."""
    with testing.server(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def database(postgres: testing.TestServer, tmp_path: Path) -> Iterator[Settings]:
    """Settings of a fresh, migrated, empty database and data directory; no vault."""
    with postgres.database(Settings(data_dir=tmp_path / "data")) as settings:
        yield settings


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    """The embedded embedder: the real model, one session for the process."""
    from kos_assets.inference import router

    return router.embedder(router.load_routing(None))


@pytest.fixture(scope="session")
def real_inputs() -> Path:
    """The folder of real vaults and benchmarks that KOS_TEST_DATA names."""
    named = os.environ.get("KOS_TEST_DATA")
    if not named or not Path(named).is_dir():
        pytest.skip("KOS_TEST_DATA names no folder of real inputs")
    return Path(named)
