"""Forward-only migrations: numbered SQL files, one transaction under an advisory lock, name and checksum recorded.

Also what must exist before the first one: roles, schemas, extensions, the databases of the embedded server.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib import resources
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from kos_assets.errors import SchemaError, StoreError
from kos_assets.settings import Settings
from kos_assets.store.database import _mapped_errors, derived_password, parse_dsn, role_dsn
from kos_assets.store.sql import blocks

_FILE = re.compile(r"^(\d{4})_([a-z0-9_]+)\.sql$")
_EXTENSIONS = ["vector", "ltree", "pg_trgm"]
_OLDEST_SERVER = 150000
_OLDEST_VECTOR = (0, 8)
_LOGIN_ROLES = ("writer", "reader", "auditor", "dbt")


@dataclass(frozen=True)
class Migration:
    """One numbered file."""

    number: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        """sha256 of the file, hex."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def migrations() -> list[Migration]:
    """The files of this version, in order. Raises SchemaError for a gap or a number used twice."""
    found = []
    for entry in resources.files("kos_assets.store").joinpath("migrations").iterdir():
        if match := _FILE.match(entry.name):
            found.append(Migration(int(match[1]), match[2], entry.read_text("utf-8")))
    found.sort(key=lambda item: item.number)
    if [item.number for item in found] != list(range(1, len(found) + 1)):
        raise SchemaError(f"Migration files are not numbered 1..n: {[item.number for item in found]}.")
    return found


def pending(applied: list[dict[str, Any]], files: list[Migration]) -> list[Migration]:
    """What is left to apply. Raises SchemaError when the database is ahead or an applied file was edited."""
    if len(applied) > len(files):
        raise SchemaError(
            f"The database has {len(applied)} migrations, this version knows {len(files)}.",
            why="A newer version has migrated it.",
            fix="Upgrade Knowledge OS.",
        )
    for row, item in zip(applied, files, strict=False):
        if (row["number"], row["name"], row["checksum"]) != (item.number, item.name, item.checksum):
            raise SchemaError(
                f"Migration {row['number']:04d}_{row['name']} differs from the one that was applied.",
                why="A migration file was edited or renumbered after it ran.",
                fix="Restore the file; a change of schema goes into a new migration.",
            )
    return files[len(applied) :]


def migrate(settings: Settings) -> list[str]:
    """Bring roles, extensions and schema up to date; the names of the migrations applied. Safe twice and at once."""
    dsn = role_dsn(settings, "owner")
    with _mapped_errors(), psycopg.connect(dsn, row_factory=dict_row, connect_timeout=10) as connection:
        statements = blocks("roles")
        connection.execute(statements["migration_lock"])
        check_server(connection)
        _create_roles(connection, settings)
        _create_extensions(connection)
        _create_schemas(connection)
        _run_script(connection, statements["create_migrations_table"])
        todo = pending(connection.execute(statements["applied_migrations"]).fetchall(), migrations())
        for item in todo:
            _run_script(connection, item.text)
            connection.execute("reset role")
            connection.execute(
                statements["record_migration"], {"number": item.number, "name": item.name, "checksum": item.checksum}
            )
        return [f"{item.number:04d}_{item.name}" for item in todo]


def check_current(dsn: str) -> None:
    """Refuse to work on a schema that is not this version's. Raises SchemaError."""
    statements = blocks("roles")
    with _mapped_errors(), psycopg.connect(dsn, row_factory=dict_row, connect_timeout=10) as connection:
        row = connection.execute(statements["migrations_view_exists"]).fetchone()
        present = row is not None and row["present"]
        applied = connection.execute(statements["applied_migrations"]).fetchall() if present else []
    behind = pending(applied, migrations())
    if behind:
        raise SchemaError(
            f"The database is {len(behind)} migration(s) behind ({behind[0].number:04d}_{behind[0].name} is next).",
            fix="Run `kos migrate`.",
        )


def check_server(connection: psycopg.Connection[dict[str, Any]]) -> None:
    """PostgreSQL 15+, UTF-8, pgvector 0.8+, ltree, pg_trgm, else StoreError with the command that fixes it."""
    statements = blocks("roles")
    facts = connection.execute(statements["server_facts"], {"extensions": _EXTENSIONS}).fetchone() or {}
    if facts["version_number"] < _OLDEST_SERVER:
        raise StoreError(
            f"PostgreSQL {facts['version']} is too old.", why="15 or newer is needed.", fix="Upgrade the server."
        )
    if facts["encoding"] != "UTF8":
        raise StoreError(
            f"The database's encoding is {facts['encoding']}.",
            fix="Create it with: createdb --encoding=UTF8 --template=template0 kos",
        )
    available = set((facts["available"] or "").split(","))
    major = facts["version_number"] // 10000
    for name in _EXTENSIONS:
        if name not in available:
            package = f"postgresql-{major}-pgvector" if name == "vector" else "postgresql-contrib"
            raise StoreError(
                f"The server has no extension {name}.",
                fix=f"Install it on the server, for example: apt-get install {package}",
            )
    row = connection.execute(statements["installed_vector"]).fetchone()
    version = row["version"] if row else facts["vector_version"]
    if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST_VECTOR:
        fix = "ALTER EXTENSION vector UPDATE" if row else f"apt-get install postgresql-{major}-pgvector"
        raise StoreError(f"pgvector {version} is too old.", why="0.8 or newer is needed.", fix=fix)


def create_database(dsn: str, name: str) -> bool:
    """Create a UTF-8 database if it is absent; True when it was created. Raises StoreError without the right to."""
    with _mapped_errors(), psycopg.connect(dsn, autocommit=True, connect_timeout=10) as connection:
        if connection.execute("select 1 from pg_database where datname = %s", [name]).fetchone():
            return False
        try:
            connection.execute(
                sql.SQL("create database {} encoding 'UTF8' template template0").format(sql.Identifier(name))
            )
        except (psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
            return False
        return True


def _create_extensions(connection: psycopg.Connection[dict[str, Any]]) -> None:
    try:
        _run_script(connection, blocks("roles")["create_extensions"])
        # Only a superuser may name settings of a library that is not loaded, and functions of search name hnsw's.
        connection.execute(blocks("roles")["load_vector"])
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreError(
            "This account may not create the extensions that the store needs.",
            why=str(error).strip().split("\n")[0],
            fix="Let a superuser run in this database, once: "
            + " ".join(f"CREATE EXTENSION IF NOT EXISTS {name};" for name in _EXTENSIONS),
        ) from error


def _create_roles(connection: psycopg.Connection[dict[str, Any]], settings: Settings) -> None:
    for role in ("owner", "view", *_LOGIN_ROLES):
        name = sql.Identifier(f"kos_{role}")
        row = connection.execute(blocks("roles")["role_exists"], {"role": f"kos_{role}"}).fetchone()
        if not (row and row["present"]):
            connection.execute(sql.SQL("create role {} nologin").format(name))
        password = _password(settings, role) if role in _LOGIN_ROLES else None
        if password is not None:
            connection.execute(sql.SQL("alter role {} login password {}").format(name, sql.Literal(password)))
    administrator = sql.Identifier(str(connection.info.user))
    connection.execute(sql.SQL("grant kos_owner, kos_view to {}").format(administrator))
    database = sql.Identifier(str(parse_dsn(role_dsn(settings, "owner")).get("dbname", connection.info.dbname)))
    connection.execute(sql.SQL("grant create on database {} to kos_owner").format(database))


def _password(settings: Settings, role: str) -> str | None:
    """The password to set: the one in the role's own DSN, else the derived one.

    None when that DSN names another account or no password: how such a role logs in is the administrator's business.
    """
    explicit = getattr(settings, f"{role}_dsn")
    if not explicit:
        return derived_password(str(settings.dsn), role)
    parts = parse_dsn(explicit)
    return str(parts["password"]) if parts.get("user") == f"kos_{role}" and parts.get("password") else None


def _create_schemas(connection: psycopg.Connection[dict[str, Any]]) -> None:
    connection.execute("create schema if not exists kos authorization kos_owner")
    connection.execute("grant kos_dbt to current_user")
    connection.execute("create schema if not exists kos_marts authorization kos_dbt")
    _run_script(connection, blocks("roles")["create_schemas"])


def _run_script(connection: psycopg.Connection[dict[str, Any]], text: str) -> None:
    connection.execute(text.encode(), prepare=False)
