"""`kos rebuild` where the administrator is no superuser, as on a managed server: a role that may create databases and
roles, and owns the live database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from kos_assets import testing
from kos_assets.errors import StoreError
from kos_assets.ingest.pipeline import ingest_vault
from kos_assets.operations import rebuild as operations_rebuild
from kos_assets.operations.fire_embedder import FireEmbedder
from kos_assets.operations.postgres import EmbeddedPostgres
from kos_assets.operations.rebuild import rebuild
from kos_assets.settings import Settings
from kos_assets.store import rebuild as store_rebuild
from kos_assets.store.database import parse_dsn, with_database
from kos_assets.store.migrate import create_database, migrate

EXTENSIONS = ("vector", "ltree", "pg_trgm")


@pytest.fixture
def superuser(tmp_path: Path) -> Iterator[str]:
    """A server of its own: the roles of the session's server belong to another administrator."""
    server = EmbeddedPostgres(tmp_path / "postgres")
    try:
        yield server.acquire().dsn
    finally:
        server.release()
        server.stop()


@pytest.fixture
def managed(superuser: str, tmp_path: Path) -> Settings:
    """An ingested store whose administrator is `adm`."""
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute("create role adm login createdb createrole password 'adm'")
        connection.execute("create database app owner adm template template0 encoding 'UTF8'")
    extend(superuser, "app")
    server = parse_dsn(superuser)
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "oven.md").write_text("# Oven\n\nIt heats to 240 degrees.\n")
    dsn = f"postgresql://adm:adm@{server['host']}:{server['port']}/app"
    settings = Settings(data_dir=tmp_path / "data", vault=tmp_path / "vault", dsn=dsn, stamp_quiet_s=0)
    migrate(settings)
    with testing.store(settings) as store:
        ingest_vault(store, FireEmbedder(), settings)
    return settings


def extend(superuser: str, name: str) -> None:
    """What a managed server lets its administrators do themselves."""
    with psycopg.connect(with_database(superuser, name), autocommit=True) as connection:
        for extension in EXTENSIONS:
            connection.execute(f"create extension {extension}".encode())


def silent(_: str) -> None:
    """Nobody listens."""


def test_the_switch_needs_no_superuser(superuser: str, managed: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """V6: connections of the other roles are ended by those roles themselves; a service's pool finds the new store."""

    def created(dsn: str, name: str) -> bool:
        done = create_database(dsn, name)
        extend(superuser, name)
        return done

    with pytest.raises(StoreError, match="cannot be set up") as caught:
        rebuild(managed, FireEmbedder(), tell=silent)
    assert "vector.control" in str(caught.value)
    monkeypatch.setattr(operations_rebuild, "create_database", created)
    with testing.store(managed, "reader") as pool:
        for switched in (False, True):
            with pool.transaction(namespaces=["global"]) as session:
                assert session.value("select count(*) from kos.live_memories") == 1
            if not switched:
                assert rebuild(managed, FireEmbedder(), tell=silent, drop_old=True).switched
    with psycopg.connect(superuser) as connection:
        names = connection.execute("select datname::text from pg_database where not datistemplate order by 1")
        assert [row[0] for row in names] == ["app", "postgres"]


def test_who_cannot_be_ended_is_named(superuser: str, managed: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """House rule 8: a superuser's session holds the live database; it is named, and the live store stays."""

    def created(dsn: str, name: str) -> bool:
        done = create_database(dsn, name)
        extend(superuser, name)
        return done

    monkeypatch.setattr(operations_rebuild, "create_database", created)
    monkeypatch.setattr(store_rebuild, "_TRIES", 1)
    with (
        psycopg.connect(with_database(superuser, "app")) as held,
        pytest.raises(StoreError, match="connections, of postgres, which this account may not end"),
    ):
        rebuild(managed, FireEmbedder(), tell=silent)
    assert held.closed
    with testing.store(managed, "reader") as pool, pool.transaction(namespaces=["global"]) as session:
        assert session.value("select count(*) from kos.live_memories") == 1
