"""Throw-away databases for our tests and a user's: one embedded server a test session, one cloned database a test.

Real Postgres only; nothing here imitates the store.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import psycopg
from psycopg import sql

from kos_assets.operations.postgres import EmbeddedPostgres
from kos_assets.settings import Settings
from kos_assets.store.database import Store, role_dsn, with_database
from kos_assets.store.migrate import create_database, migrate

_TEMPLATE = "kos_template"


@dataclass
class TestServer:
    """A server with a migrated template database. `database()` clones it in about a tenth of a second."""

    __test__ = False

    dsn: str
    root: Path
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def prepare(self) -> None:
        """Create and migrate the template."""
        create_database(self.dsn, _TEMPLATE)
        migrate(Settings(data_dir=self.root, dsn=with_database(self.dsn, _TEMPLATE)))

    @contextmanager
    def database(self, settings: Settings | None = None) -> Iterator[Settings]:
        """Settings of a fresh, migrated, empty database that is dropped afterwards."""
        name = f"kos_test_{os.getpid()}_{next(self._numbers)}"
        self._execute(sql.SQL("create database {} template {}").format(sql.Identifier(name), sql.Identifier(_TEMPLATE)))
        base = settings or Settings(data_dir=self.root / name)
        try:
            yield replace(
                base, dsn=with_database(self.dsn, name), dagster_dsn=with_database(self.dsn, f"{name}_dagster")
            )
        finally:
            for database in (name, f"{name}_dagster"):
                self._execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(database)))

    def _execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(statement)


@contextmanager
def server(root: Path) -> Iterator[TestServer]:
    """An embedded server below `root`, stopped afterwards."""
    embedded = EmbeddedPostgres(root / "postgres")
    try:
        found = TestServer(embedded.acquire().dsn, root)
        found.prepare()
        yield found
    finally:
        embedded.release()
        embedded.stop()


@contextmanager
def store(settings: Settings, role: str = "writer") -> Iterator[Store]:
    """A store as one role, closed afterwards."""
    with Store(role_dsn(settings, role)) as opened:
        yield opened


def connect(settings: Settings, role: str = "owner") -> psycopg.Connection[tuple[object, ...]]:
    """A bare connection as one role: for tests that must say forbidden things."""
    return psycopg.connect(role_dsn(settings, role), autocommit=True)
