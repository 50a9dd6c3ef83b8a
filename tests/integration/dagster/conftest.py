"""A small vault with its database and Dagster's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from psycopg import sql

from kos_assets import testing
from kos_assets.inference.embedding import Embedder
from kos_assets.operations.dagster_home import open_instance
from kos_assets.settings import Settings
from kos_assets.store.database import parse_dsn, with_database
from kos_assets.store.migrate import create_database

NOTES = {
    "decisions/queue.md": "# Queue decision\n\nWe leave Kafka and use Postgres queues.\n",
    "people/ada.md": "# Ada\n\nAda knows the gateways. See [[Queue decision]].\n",
    "daily/2026-03-01.md": "Changed the filter. The word is sesquipedalian.\n",
    "copy.md": "# Ada\n\nAda knows the gateways. See [[Queue decision]].\n",
}


@pytest.fixture(scope="session")
def dagster_template(postgres: testing.TestServer) -> str:
    """A database with Dagster's tables in it, made once: their creation takes seconds, a clone a tenth of one."""
    name = "dagster_template"
    create_database(postgres.dsn, name)
    with open_instance(Settings(data_dir=postgres.root / name, dagster_dsn=with_database(postgres.dsn, name))):
        return name


@pytest.fixture
def settings(database: Settings, tmp_path: Path, dagster_template: str) -> Settings:
    """A vault of four notes, one an equal copy; Dagster's database has its tables and no rows."""
    vault = tmp_path / "vault"
    for note, text in NOTES.items():
        path = vault / note
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    assert database.dagster_dsn is not None
    names = sql.Identifier(str(parse_dsn(database.dagster_dsn)["dbname"])), sql.Identifier(dagster_template)
    with testing.connect(database) as connection:
        connection.execute(sql.SQL("create database {} template {}").format(*names))
    return replace(database, vault=vault)


@pytest.fixture
def instance(settings: Settings) -> Iterator[dg.DagsterInstance]:
    """Dagster's instance on that database."""
    with open_instance(settings) as opened:
        yield opened


@pytest.fixture
def bound(settings: Settings, embedder: Embedder) -> Iterator[dict[str, Any]]:
    """Resources for a job of the live location."""
    with testing.store(settings) as store, testing.store(settings, "dbt") as facts:
        yield {"settings": settings, "store": store, "facts": facts, "embedder": embedder}
