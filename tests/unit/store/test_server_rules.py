"""What a server must be, and what a list of applied migrations must look like (S1); no database."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import make_url

from kos_assets.errors import ConfigError, SchemaError, StoreError
from kos_assets.settings import Settings
from kos_assets.store.database import derived_password, parse_dsn, role_dsn, with_database
from kos_assets.store.migrate import Migration, check_server, migrations, pending

FACTS = {
    "version_number": 180006, "version": "18.6", "encoding": "UTF8", "available": "vector,ltree,pg_trgm",
    "vector_version": "0.8.6",
}  # fmt: skip
FILES = [Migration(1, "one", "select 1"), Migration(2, "two", "select 2")]
APPLIED = [{"number": item.number, "name": item.name, "checksum": item.checksum} for item in FILES]


class Answers:
    """A connection that answers the two questions of check_server, in their order."""

    def __init__(self, facts: dict[str, Any], installed: str | None) -> None:
        self._rows: list[Any] = [facts, None if installed is None else {"version": installed}]

    def execute(self, statement: str, values: Any = None) -> Answers:
        return self

    def fetchone(self) -> Any:
        return self._rows.pop(0)


@pytest.mark.parametrize("installed", [None, "0.8.0", "0.10.1", "1.0"])
def test_a_server_that_is_new_enough_is_accepted(installed: str | None) -> None:
    """S1: PostgreSQL 15 and pgvector 0.8 are the floor; versions compare as numbers, not as text."""
    check_server(Answers({**FACTS, "version_number": 150000}, installed))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("facts", "installed", "what", "fix"),
    [
        ({"version_number": 140012, "version": "14.12"}, None, "PostgreSQL 14.12 is too old", "Upgrade the server"),
        ({"encoding": "SQL_ASCII"}, None, "SQL_ASCII", "createdb --encoding=UTF8"),
        ({"available": "ltree,pg_trgm"}, None, "no extension vector", "apt-get install postgresql-18-pgvector"),
        ({"available": "vector,pg_trgm"}, None, "no extension ltree", "apt-get install postgresql-contrib"),
        ({"available": "vector,ltree"}, None, "no extension pg_trgm", "apt-get install postgresql-contrib"),
        ({"available": None}, None, "no extension vector", "pgvector"),
        ({}, "0.7.4", "pgvector 0.7.4 is too old", "ALTER EXTENSION vector UPDATE"),
        ({"vector_version": "0.5.1"}, None, "pgvector 0.5.1 is too old", "apt-get install postgresql-18-pgvector"),
    ],
)
def test_an_unfit_server_is_refused_with_the_command(
    facts: dict[str, Any], installed: str | None, what: str, fix: str
) -> None:
    """S1: a missing extension or an old version says which, and what to type."""
    with pytest.raises(StoreError) as refused:
        check_server(Answers({**FACTS, **facts}, installed))  # type: ignore[arg-type]
    assert what in str(refused.value)
    assert fix in str(refused.value.fix)


def test_what_is_pending() -> None:
    """S1: what was applied is skipped, what is new comes in order."""
    assert pending([], FILES) == FILES
    assert pending(APPLIED[:1], FILES) == FILES[1:]
    assert pending(APPLIED, FILES) == []


@pytest.mark.parametrize(
    ("applied", "said"),
    [
        ([{**APPLIED[0], "checksum": "x"}], "differs"),
        ([{**APPLIED[0], "name": "uno"}], "differs"),
        (APPLIED[1:], "differs"),
        ([*APPLIED, {"number": 3, "name": "three", "checksum": "x"}], "has 3 migrations, this version knows 2"),
    ],
)
def test_what_does_not_fit_is_refused(applied: list[dict[str, Any]], said: str) -> None:
    """S1: edited, renamed, skipped or unknown migrations."""
    with pytest.raises(SchemaError, match=said) as refused:
        pending(applied, FILES)
    assert refused.value.fix


def test_the_files_are_numbered_and_within_limits() -> None:
    """S1: 1..n without a gap; a file that is not under 400 lines is two files."""
    found = migrations()
    assert [item.number for item in found] == list(range(1, len(found) + 1))
    assert all(item.text.count("\n") < 400 for item in found)
    assert len({item.checksum for item in found}) == len(found)


DSN = "postgresql://admin:p%40ss@db.example:6432/kos?sslmode=require"


def test_a_role_has_its_own_user_and_password() -> None:
    """S5: a process that holds one role's DSN cannot compute another's."""
    settings = Settings(dsn=DSN)
    found = {role: parse_dsn(role_dsn(settings, role)) for role in ("writer", "reader", "auditor", "dbt")}
    assert {parts["user"] for parts in found.values()} == {f"kos_{role}" for role in found}
    assert len({parts["password"] for parts in found.values()} | {"p@ss"}) == 5
    assert all((parts["host"], parts["sslmode"]) == ("db.example", "require") for parts in found.values())
    assert derived_password(DSN, "reader") == derived_password(DSN, "reader")


def test_an_explicit_role_dsn_wins() -> None:
    """S5: least privilege: a process may be given its role's DSN and nothing else."""
    settings = Settings(reader_dsn="postgresql://someone:x@h/kos")
    assert role_dsn(settings, "reader") == "postgresql://someone:x@h/kos"
    for role in ("owner", "writer"):
        with pytest.raises(ConfigError):
            role_dsn(settings, role)


def test_a_password_is_never_in_a_message() -> None:
    """P7: neither a DSN that cannot be read nor one without a password is shown."""
    with pytest.raises(ConfigError) as unreadable:
        parse_dsn("host=db password=topsecret nonsense")
    assert "topsecret" not in str(unreadable.value)
    with pytest.raises(ConfigError, match="no password"):
        derived_password("postgresql://admin@host/kos", "reader")


def test_another_database_of_the_same_server() -> None:
    """S1: Dagster keeps its own database in the same server; odd characters and options survive."""
    moved = with_database(DSN, "dagster", driver="+psycopg2")
    assert moved == "postgresql+psycopg2://admin:p%40ss@db.example:6432/dagster?sslmode=require"
    assert parse_dsn(with_database(DSN, "other")) == {**parse_dsn(DSN), "dbname": "other"}


@pytest.mark.parametrize(
    ("dsn", "url"),
    [
        ("host=::1 port=6432 user=a password=b", "://a:b@[::1]:6432/other"),
        ("postgresql://a:b@[2001:db8::7]/kos", "://a:b@[2001:db8::7]:5432/other"),
        ("host='/var/run/my pg' port=6432 user=a password=b", "://a:b@/other?host=%2Fvar%2Frun%2Fmy%20pg&port=6432"),
        ("postgresql://a:b@%2Ftmp/kos?sslmode=disable", "://a:b@/other?host=%2Ftmp&sslmode=disable"),
        ("port=6432 user=a password=b dbname=kos", "://a:b@/other?port=6432"),
        ("user=a password=b", "://a:b@/other"),
    ],
    ids=["IPv6", "IPv6 URL", "socket", "socket URL", "no host", "nothing"],
)
def test_a_url_leads_to_the_same_server(dsn: str, url: str) -> None:
    """S1: IPv6 hosts, sockets and hosts that are not named survive the way into a URL, for libpq and SQLAlchemy."""
    assert with_database(dsn, "other") == f"postgresql{url}"
    wanted = {**parse_dsn(dsn), "dbname": "other"}
    found = parse_dsn(with_database(dsn, "other"))
    assert {"port": "5432", **found} == {"port": "5432", **wanted}
    made = make_url(with_database(dsn, "other", driver="+psycopg2"))
    arguments = made.get_dialect()().create_connect_args(made)[1]
    assert {key: str(value) for key, value in arguments.items()} == found
