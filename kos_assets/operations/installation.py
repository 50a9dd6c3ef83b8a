"""One installation: its database started and migrated, its roles' DSNs known. What every command begins with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from kos_assets.operations.postgres import EmbeddedPostgres
from kos_assets.settings import Settings
from kos_assets.store.database import parse_dsn, with_database
from kos_assets.store.migrate import create_database, migrate

DATABASE = "kos"
DAGSTER_DATABASE = "dagster"


def embedded(settings: Settings) -> EmbeddedPostgres:
    """The embedded server of this installation (not started)."""
    return EmbeddedPostgres(settings.data_dir / "postgres", bindir=settings.pg_bindir)


@contextmanager
def open_installation(settings: Settings, *, apply_migrations: bool = True) -> Iterator[Settings]:
    """Settings with every DSN filled in, for as long as the block lasts.

    Without KOS_DSN (and without any role's DSN) the embedded server is started, or shared if it runs, and stopped by
    the last one to leave. With `apply_migrations`, or in a new database, roles and schema are brought up to date.
    Raises OperationError, StoreError, SchemaError.
    """
    roles = (settings.writer_dsn, settings.reader_dsn, settings.auditor_dsn, settings.dbt_dsn)
    if settings.dsn is None and any(dsn is not None for dsn in roles):
        yield settings
        return
    if settings.dsn is not None:
        yield _prepared(settings, apply_migrations=apply_migrations)
        return
    server = embedded(settings)
    running = server.acquire()
    try:
        fresh = create_database(running.dsn, DATABASE)
        create_database(running.dsn, DAGSTER_DATABASE)
        found = replace(
            settings,
            dsn=with_database(running.dsn, DATABASE),
            dagster_dsn=with_database(running.dsn, DAGSTER_DATABASE),
        )
        yield _prepared(found, apply_migrations=apply_migrations or fresh)
    finally:
        server.release()


def _prepared(settings: Settings, *, apply_migrations: bool) -> Settings:
    if settings.dagster_dsn is None and settings.dsn is not None:
        name = f"{parse_dsn(settings.dsn).get('dbname', DATABASE)}_dagster"
        settings = replace(settings, dagster_dsn=with_database(settings.dsn, name))
        if apply_migrations:
            create_database(settings.dsn or "", name)
    if apply_migrations and settings.dsn is not None:
        migrate(settings)
    return settings
