"""Connections to Postgres as one role, and transactions that say which namespaces they may see (S6).

Here: pools, transactions, error mapping. Not here: statements (one module per family of tables) or DDL (migrate.py).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, LiteralString, Self

import psycopg
from pgvector.psycopg import register_vector
from psycopg import conninfo
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from psycopg_pool import ConnectionPool, PoolTimeout

from kos_assets.errors import ConfigError, InputError, StoreError, StoreUnavailableError
from kos_assets.settings import Settings

Row = dict[str, Any]
_CONNECT_TIMEOUT_S = 10


def json(value: Any) -> Jsonb:
    """A parameter of type jsonb."""
    return Jsonb(value)


class Session:
    """One open transaction. Every value travels as a parameter."""

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def rows(self, statement: LiteralString, /, **values: Any) -> list[Row]:
        """All rows of a statement."""
        return self._connection.execute(statement, values).fetchall()

    def one(self, statement: LiteralString, /, **values: Any) -> Row | None:
        """The first row, or None."""
        return self._connection.execute(statement, values).fetchone()

    def value(self, statement: LiteralString, /, **values: Any) -> Any:
        """The first column of the first row, or None."""
        row = self.one(statement, **values)
        return None if row is None else next(iter(row.values()))

    def run(self, statement: LiteralString, /, **values: Any) -> int:
        """Execute; the number of rows changed."""
        return self._connection.execute(statement, values).rowcount

    def run_many(self, statement: LiteralString, rows: Iterable[Mapping[str, Any]], /) -> int:
        """Execute once per row in one pipelined batch; the number of rows changed."""
        with self._connection.cursor() as cursor:
            cursor.executemany(statement, list(rows))
            return max(cursor.rowcount, 0)

    def copy(self, statement: LiteralString, rows: Iterable[Sequence[Any]]) -> int:
        """COPY rows in text format; the number of rows."""
        count = 0
        with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)
                count += 1
        return count


def _configure(connection: psycopg.Connection[Row]) -> None:
    connection.prepare_threshold = None  # cached generic plans ignore the planner settings that search sets
    connection.execute("set timezone to 'UTC'")
    register_vector(connection)
    connection.commit()


class Store:
    """A pool of connections as one role. Cheap to make; connects on first use; safe to share between threads."""

    def __init__(self, dsn: str, *, pool_size: int = 4, wait_s: float = _CONNECT_TIMEOUT_S) -> None:
        """`wait_s`: seconds to wait for a connection before the database counts as not answering."""
        self._dsn = dsn
        self.pool_size = pool_size
        self._pool = ConnectionPool(
            dsn,
            min_size=0,
            max_size=pool_size,
            kwargs={"row_factory": dict_row, "connect_timeout": _CONNECT_TIMEOUT_S, "application_name": "kos"},
            configure=_configure,
            check=ConnectionPool.check_connection,
            timeout=wait_s,
            open=False,
            name="kos",
        )
        self._opened = False

    def open(self) -> Self:
        """Open the pool (idempotent)."""
        if not self._opened:
            self._pool.open()
            self._opened = True
        return self

    def close(self) -> None:
        """Close every connection."""
        if self._opened:
            self._pool.close()
            self._opened = False

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def transaction(self, *, namespaces: Sequence[str] = (), pipeline: bool = False) -> Iterator[Session]:
        """One transaction that sees `namespaces` (none: nothing), or every namespace as the pipeline.

        `pipeline` is granted to kos_writer only. Raises StoreUnavailableError when the server does not answer.
        """
        if any("," in name or not name for name in namespaces):
            raise InputError("A namespace is empty or contains a comma.")
        self.open()
        with _mapped_errors(), self._pool.connection() as connection, connection.transaction():
            if namespaces:
                connection.execute("select set_config('kos.namespaces', %s, true)", [",".join(namespaces)])
            if pipeline:
                connection.execute("select kos.enter_pipeline()")
            yield Session(connection)

    @contextmanager
    def exclusive(self, name: str) -> Iterator[None]:
        """Hold an advisory lock on a connection of its own: whoever comes second waits (two at once, same state)."""
        with (
            _mapped_errors(),
            psycopg.connect(self._dsn, autocommit=True, connect_timeout=_CONNECT_TIMEOUT_S) as connection,
        ):
            connection.execute("select pg_advisory_lock(hashtext('kos.exclusive'), hashtext(%s))", [name])
            yield


@contextmanager
def _mapped_errors() -> Iterator[None]:
    try:
        yield
    except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure) as error:
        raise StoreUnavailableError(
            "Two writers met, and the database let the other one go first.",
            why=str(error).strip().split("\n")[0],
            fix="Try again: nothing was changed.",
        ) from error
    except (psycopg.OperationalError, PoolTimeout) as error:
        raise StoreUnavailableError(
            "The database does not answer.",
            why=str(error).strip().split("\n")[0] or type(error).__name__,
            fix="Start it with `kos up`, or check KOS_DSN.",
        ) from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreError(
            "The database refused: this role has no right to do that.", why=str(error).strip().split("\n")[0]
        ) from error
    except psycopg.errors.UndefinedTable as error:
        raise StoreError(
            "The database has no Knowledge OS schema.", why=str(error).strip().split("\n")[0], fix="Run `kos migrate`."
        ) from error
    except psycopg.Error as error:  # the primary message names constraints and types, never a row's values
        raise StoreError(
            f"The database refused a statement ({error.sqlstate or type(error).__name__}).",
            why=error.diag.message_primary or str(error).strip().split("\n")[0],
        ) from error


def role_dsn(settings: Settings, role: str) -> str:
    """The DSN of role `owner` (administrator), `writer`, `reader`, `auditor` or `dbt`.

    An explicit KOS_<ROLE>_DSN wins; otherwise it is KOS_DSN with the role's user and a password derived from KOS_DSN's
    own, so that a process that holds only a role's DSN cannot compute another one. Raises ConfigError.
    """
    if settings.dsn is None and role == "owner":
        raise ConfigError("No database is set.", fix="Use `kos up`, or set KOS_DSN.")
    if role == "owner":
        return str(settings.dsn)
    explicit = getattr(settings, f"{role}_dsn")
    if explicit:
        return str(explicit)
    if settings.dsn is None:
        raise ConfigError(
            f"No database is set for role {role}.", fix=f"Use `kos up`, or set KOS_DSN or KOS_{role.upper()}_DSN."
        )
    return conninfo.make_conninfo(str(settings.dsn), user=f"kos_{role}", password=derived_password(settings.dsn, role))


def derived_password(dsn: str, role: str) -> str:
    """The password of a role, derived one-way from the administrator's. Raises ConfigError when that one has none."""
    secret = parse_dsn(dsn).get("password")
    if not secret:
        raise ConfigError(
            "KOS_DSN carries no password, so the passwords of the other roles cannot be derived from it.",
            fix="Put it into KOS_DSN, or set KOS_WRITER_DSN, KOS_READER_DSN, KOS_AUDITOR_DSN and KOS_DBT_DSN.",
        )
    return hmac.new(str(secret).encode(), f"knowledge-os role {role}".encode(), hashlib.sha256).hexdigest()


def parse_dsn(dsn: str) -> dict[str, Any]:
    """The parts of a DSN: host, port, user, password, dbname, … Raises ConfigError (without the password in it)."""
    try:
        return dict(conninfo.conninfo_to_dict(dsn))
    except psycopg.ProgrammingError as error:
        raise ConfigError(
            "A database DSN cannot be read.", fix="Write it as postgresql://user:password@host:5432/database."
        ) from error


def with_database(dsn: str, database: str, *, driver: str = "") -> str:
    """The DSN as a URL with another database; `driver` such as `+psycopg2` makes it a SQLAlchemy URL.

    A socket's folder has no place in a URL's authority, so it travels in the query, with its port; a host that is not
    named stays unnamed (the client's default).
    """
    from urllib.parse import quote

    parts = parse_dsn(dsn)
    user, password = quote(str(parts.get("user", "")), safe=""), quote(str(parts.get("password", "")), safe="")
    host, apart, address = str(parts.get("host", "")), {"user", "password", "dbname"}, ""
    if host and not host.startswith("/"):
        address = f"{f'[{host}]' if ':' in host else host}:{parts.get('port', 5432)}"
        apart |= {"host", "port"}
    extra = "&".join(f"{key}={quote(str(value), safe='')}" for key, value in sorted(parts.items()) if key not in apart)
    return f"postgresql{driver}://{user}:{password}@{address}/{database}" + (f"?{extra}" if extra else "")
