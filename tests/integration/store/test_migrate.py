"""Migrations on a real server (S1): twice, at once, behind, edited, ahead; by an administrator who is no superuser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from kos_assets import testing
from kos_assets.errors import SchemaError, StoreError
from kos_assets.operations.postgres import EmbeddedPostgres
from kos_assets.settings import Settings
from kos_assets.store import migrate as store_migrate
from kos_assets.store.database import role_dsn, with_database
from kos_assets.store.migrate import check_current, create_database, migrate, migrations

NAMES = [f"{item.number:04d}_{item.name}" for item in migrations()]
RECORDED = "select number, name from kos.migrations order by number"


@pytest.fixture
def empty(postgres: testing.TestServer, tmp_path: Path) -> Iterator[Settings]:
    """A database in which nothing was migrated."""
    with postgres.database(Settings(data_dir=tmp_path)) as settings:
        name = psycopg.conninfo.conninfo_to_dict(str(settings.dsn))["dbname"]
        with psycopg.connect(postgres.dsn, autocommit=True) as connection:
            connection.execute(f'drop database "{name}"')
        assert create_database(postgres.dsn, str(name))
        assert not create_database(postgres.dsn, str(name))
        yield settings


def test_migrating_twice_does_nothing(empty: Settings) -> None:
    """S1: the first run applies every file and says so, the second none."""
    with pytest.raises(SchemaError, match=f"{len(NAMES)} migration"):
        check_current(role_dsn(empty, "owner"))
    assert migrate(empty) == NAMES
    assert migrate(empty) == []
    check_current(role_dsn(empty, "reader"))
    with testing.connect(empty) as owner:
        assert [f"{number:04d}_{name}" for number, name in owner.execute(RECORDED).fetchall()] == NAMES


def test_processes_that_migrate_at_once_take_turns(empty: Settings) -> None:
    """S1: four start-ups at the same moment: one applies, the others find it done, none fails."""
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(migrate(empty))
        except BaseException as error:
            results.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results, key=str) == sorted([NAMES, [], [], []], key=str)


@pytest.mark.parametrize("role", ["reader", "writer", "auditor", "dbt"])
def test_each_role_can_check_the_schema(database: Settings, role: str) -> None:
    """S1: whoever starts as any role refuses to work on a schema that is behind."""
    check_current(role_dsn(database, role))
    with testing.connect(database) as owner:
        owner.execute("delete from kos.migrations where number = %s", [len(NAMES)])
    with pytest.raises(SchemaError, match=r"1 migration.*behind") as refused:
        check_current(role_dsn(database, role))
    assert refused.value.fix == "Run `kos migrate`."


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("update kos.migrations set checksum = 'x' where number = 1", "differs from the one that was applied"),
        ("update kos.migrations set name = 'other' where number = 1", "differs from the one that was applied"),
        ("delete from kos.migrations where number = 1", "differs from the one that was applied"),
        ("insert into kos.migrations values (99, 'future', 'x')", "this version knows"),
    ],
    ids=["edited", "renamed", "gap", "ahead"],
)
def test_a_schema_that_is_not_ours_is_refused(database: Settings, damage: str, said: str) -> None:
    """S1: an edited file, a gap or a newer schema: both the check and the migration refuse, and change nothing."""
    with testing.connect(database) as owner:
        owner.execute(damage)
        before = owner.execute(RECORDED).fetchall()
        for run in (lambda: check_current(role_dsn(database, "reader")), lambda: migrate(database)):
            with pytest.raises(SchemaError, match=said) as refused:
                run()
            assert refused.value.fix
        assert owner.execute(RECORDED).fetchall() == before


def test_a_migration_that_fails_leaves_nothing(empty: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """S1: all files of one run are one transaction: a failure in the last leaves the database as it was."""
    broken = store_migrate.Migration(len(NAMES) + 1, "broken", "create table kos.half (a integer); select 1 / 0")
    monkeypatch.setattr(store_migrate, "migrations", lambda: [*migrations(), broken])
    with pytest.raises(StoreError, match="22012"):
        migrate(empty)
    with testing.connect(empty) as owner:
        assert owner.execute("select to_regclass('kos.half'), to_regclass('kos.memories')").fetchone() == (None, None)
    monkeypatch.undo()
    assert migrate(empty) == NAMES


def test_the_wrong_encoding_is_refused(postgres: testing.TestServer, tmp_path: Path) -> None:
    """S1: text is UTF-8; another encoding is refused with the command that makes a right database."""
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute(
            "create database kos_latin encoding 'LATIN1' locale 'C' locale_provider 'libc' template template0"
        )
        try:
            with pytest.raises(StoreError, match="LATIN1") as refused:
                migrate(Settings(data_dir=tmp_path, dsn=with_database(postgres.dsn, "kos_latin")))
            assert "--encoding=UTF8" in str(refused.value.fix)
        finally:
            connection.execute("drop database kos_latin with (force)")


@pytest.mark.parametrize("role", ["reader", "writer", "auditor", "dbt"])
def test_a_role_logs_in_with_its_own_dsn(empty: Settings, role: str) -> None:
    """S5: the password in a role's own DSN is the one that migrating sets, so that this DSN works."""
    own = psycopg.conninfo.make_conninfo(str(empty.dsn), user=f"kos_{role}", password="m'ine \\ {}")
    override: dict[str, Any] = {f"{role}_dsn": own}
    given = replace(empty, **override)
    try:
        with testing.connect(empty) as owner:
            if owner.execute("select 1 from pg_roles where rolname = %s", [f"kos_{role}"]).fetchone():
                owner.execute(f"alter role kos_{role} nologin password null")  # as on a new server
        assert migrate(given) == NAMES
        check_current(own)
        with testing.connect(given, role) as connection:
            assert connection.execute("select current_user").fetchone() == (f"kos_{role}",)
    finally:
        migrate(empty)  # roles are the server's: the other tests log in with derived passwords
    check_current(role_dsn(empty, role))


@pytest.mark.parametrize("account", ["someone:mine", "kos_reader"], ids=["another account", "no password"])
def test_roles_without_a_password_of_their_own_keep_theirs(database: Settings, account: str) -> None:
    """S1: where a role's own DSN names another account or no password, migrating leaves that role's password alone."""
    with testing.connect(database) as owner:
        password = "select rolpassword from pg_authid where rolname = %s"
        before = owner.execute(password, ["kos_reader"]).fetchone()
        writer = owner.execute(password, ["kos_writer"]).fetchone()
        migrate(replace(database, reader_dsn=f"postgresql://{account}@127.0.0.1/kos"))
        assert owner.execute(password, ["kos_reader"]).fetchone() == before
        assert owner.execute(password, ["kos_writer"]).fetchone() != writer  # set again: a new salt


def test_an_administrator_without_superuser_can_migrate(tmp_path: Path) -> None:
    """S1: on a managed server nobody is superuser: CREATEROLE and an own database are enough once pgvector is there.

    pgvector's control file does not mark it as trusted, so the first try is refused with what a superuser has to type.
    """
    server = EmbeddedPostgres(tmp_path / "postgres")
    try:
        dsn = server.acquire().dsn
        with psycopg.connect(dsn, autocommit=True) as superuser:
            superuser.execute("create role chief login createrole createdb password 'pw'")
        chief = psycopg.conninfo.make_conninfo(dsn, user="chief", password="pw")
        assert create_database(chief, "kos")
        settings = Settings(data_dir=tmp_path, dsn=with_database(chief, "kos"))
        with pytest.raises(StoreError, match="may not create the extensions") as refused:
            migrate(settings)
        typed = str(refused.value.fix).split(": ", 1)[1]
        with psycopg.connect(with_database(dsn, "kos"), autocommit=True) as superuser:
            superuser.execute(typed)
        assert migrate(settings) == NAMES
        assert migrate(settings) == []
        for role in ("reader", "writer", "auditor", "dbt"):
            check_current(role_dsn(settings, role))
        with testing.store(settings) as writer, writer.transaction(pipeline=True) as session:
            key = session.value("select kos.register_model('m', 3, '{}')")
            session.run("select kos.activate_model(%(key)s::smallint)", key=key)
        with testing.connect(settings, "dbt") as dbt:
            dbt.execute("create table kos_marts.mine (a integer)")
    finally:
        server.release()
        server.stop()
