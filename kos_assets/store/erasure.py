"""Statements of hard erasure (S11): what goes with a memory, its deletion, what follows as the administrator, and the
search of whole databases that proves it.

Here: SQL, by the catalogue where a table that does not exist yet has to be covered. Not here: who may erase
(gate/erase.py), files, what counts as clean (hygiene/probe.py). No erased text leaves this module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from kos_assets.domain.needles import DROPPED, Fingerprint
from kos_assets.store.database import Row, Session, _mapped_errors
from kos_assets.store.sql import blocks

_SQL = blocks("erasure")
_OURS: Final = ("kos", "kos_marts")
_LOCK_WAIT: Final = "60s"
_PINNED = re.compile(r"(\d+) are dead but not yet removable")
_Connection = psycopg.Connection[Row]
Watch = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Found:
    """One place that was searched: `hits` rows hold erased text or are keyed by an erased id; `elsewhere` hold it and
    belong to another memory (`owners`: ids of up to five); `named` mention an erased id in a text."""

    place: str
    searched: int
    hits: int
    elsewhere: int = 0
    named: int = 0
    owners: tuple[str, ...] = ()
    opaque: tuple[str, ...] = ()


@dataclass(frozen=True)
class Settled:
    """Tables vacuumed, indexes rebuilt; `pinned`: dead rows that an open transaction still kept from being removed."""

    tables: int
    indexes: tuple[str, ...]
    pinned: int


def erasable(session: Session, memory_ids: Sequence[UUID]) -> list[Row]:
    """What an erasure of these memories takes with it, by id: themselves and what has exactly their text; with heading,
    content and earlier texts, the file's path and hash, and the other versions of their chains."""
    return session.rows(_SQL["erasable"], memory_ids=list(memory_ids))


def erase(
    session: Session, memory_ids: Sequence[UUID], runs: Sequence[str], *, principal: str, at: datetime
) -> tuple[dict[str, int], list[str]]:
    """Delete memories and all that follows from them; rows by table, and words that nothing uses any more. Idempotent.

    Raises StoreError outside the pipeline and the transaction's namespaces.
    """
    done = session.value(
        _SQL["erase"], memory_ids=list(memory_ids), runs=list(runs), dropped=DROPPED, principal=principal, at=at
    )
    return dict(done["counts"]), list(done["terms"])


def scrub_marts(dsn: str, fingerprint: Fingerprint) -> dict[str, int]:
    """Delete what dbt made of these memories: rows of `kos_marts` keyed by an id, by table; materialised views are
    refreshed. `dsn`: the administrator's."""
    counts: dict[str, int] = {}
    with _connected(dsn) as connection:
        for table in _tables(connection, ("kos_marts",)):
            name, place = f"{table['schema_name']}.{table['table_name']}", _place(table)
            if table["is_materialised"]:
                connection.execute(_composed("refresh", place=place))
            elif table["ids"] or table["id_lists"]:
                statement = _composed("delete_rows", place=place, keyed=_keyed(table))
                counts[name] = connection.execute(statement, _values(fingerprint)).rowcount
    return counts


def settle(dsn: str, *, watch: Watch | None = None) -> Settled:
    """Vacuum every table of ours with its indexes, renew planner statistics (they hold samples of values, and those of
    an emptied table would stay), rebuild the vector indexes beside running searches. `dsn`: the administrator's.

    Waits at most a minute for each lock. Raises StoreUnavailableError; the same call again goes on.
    """
    pinned: list[int] = []

    def listen(notice: psycopg.errors.Diagnostic) -> None:
        pinned.extend(int(number) for number in _PINNED.findall(notice.message_primary or ""))
        pinned.extend(int(number) for number in _PINNED.findall(notice.message_detail or ""))

    with _connected(dsn) as connection:
        connection.execute("select set_config('lock_timeout', %s, false)", [_LOCK_WAIT])
        connection.add_notice_handler(listen)
        tables = _tables(connection, _OURS)
        may_clear = (connection.execute(_SQL["may_clear_statistics"]).fetchone() or {}).get("present", False)
        for number, table in enumerate(tables, start=1):
            if may_clear:
                connection.execute(_SQL["clear_statistics"], {"table_id": table["table_id"]})
            connection.execute(_composed("vacuum", place=_place(table)))
            if watch:
                watch("vacuum", number, len(tables))
        if may_clear:
            connection.execute(_SQL["vacuum_statistics"])
        indexes = _rebuild_vector_indexes(connection, watch)
    return Settled(len(tables), tuple(indexes), sum(pinned))


def _rebuild_vector_indexes(connection: _Connection, watch: Watch | None) -> list[str]:
    found = connection.execute(_SQL["vector_indexes"]).fetchall()
    for row in found:  # what an interrupted rebuild left
        if not row["is_valid"]:
            place = sql.Identifier(row["schema_name"], row["index_name"])
            connection.execute(_composed("drop_index", place=place))
    standing = [row for row in found if row["is_valid"]]
    for number, row in enumerate(standing, start=1):
        place = sql.Identifier(row["schema_name"], row["index_name"])
        connection.execute(_composed("reindex", place=place))
        if watch:
            watch("vector index", number, len(standing))
    return [row["index_name"] for row in standing]


def search_store(dsn: str, fingerprint: Fingerprint, *, watch: Watch | None = None) -> list[Found]:
    """Every table and materialised view of our schemas, and the planner's statistics of them. `dsn`: administrator."""
    return list(_search(dsn, fingerprint, _OURS, others=False, watch=watch))


def search_other(dsn: str, fingerprint: Fingerprint, *, watch: Watch | None = None) -> list[Found] | None:
    """Every other schema of a database (Dagster's); None when there is no such database."""
    try:
        return list(_search(dsn, fingerprint, _OURS, others=True, watch=watch))
    except psycopg.errors.InvalidCatalogName:
        return None
    except psycopg.OperationalError as error:
        if "does not exist" in str(error):  # refused while connecting, where there is no SQLSTATE
            return None
        raise


def server_files(dsn: str) -> tuple[int, int]:
    """Files and bytes of the write-ahead log; (0, 0) where this account may not list them."""
    with _connected(dsn) as connection:
        try:
            row = connection.execute(_SQL["server_files"]).fetchone() or {"files": 0, "bytes": 0}
        except psycopg.errors.InsufficientPrivilege:
            return 0, 0
    return int(row["files"]), int(row["bytes"])


def _search(
    dsn: str, fingerprint: Fingerprint, schemas: Sequence[str], *, others: bool, watch: Watch | None
) -> Iterator[Found]:
    with psycopg.connect(dsn, autocommit=True, row_factory=dict_row, connect_timeout=10) as connection:
        connection.execute("set row_security = off")  # an account that would see a part only is refused, not misled
        connection.execute("set default_transaction_read_only = on")
        tables = _tables(connection, schemas, others=others)
        owners = _owners(connection, tables) if not others else {}
        for number, table in enumerate(tables, start=1):
            yield _search_table(connection, table, owners.get(table["table_id"]), fingerprint)
            if watch:
                watch("tables", number, len(tables))
        values = {**_values(fingerprint), "schemas": list(schemas), "others": others}
        row = connection.execute(_SQL["search_statistics"], values).fetchone() or {"searched": 0, "hits": 0}
        yield Found("planner statistics", row["searched"], row["hits"])


def _search_table(connection: _Connection, table: Row, owner: sql.Composable | None, fingerprint: Fingerprint) -> Found:
    place, values = _place(table), _values(fingerprint)
    texts = [sql.SQL("t.{}::text").format(sql.Identifier(name)) for name in table["texts"]]
    statement = _composed(
        "search",
        place=place,
        keyed=_keyed(table),
        owner=owner or sql.SQL("null::uuid"),
        texts=sql.SQL("array[{}]::text[]").format(sql.SQL(", ").join(texts)),
    )
    row = connection.execute(statement, values).fetchone() or {}
    hits = int(row["hits"]) + int(row["keyed"])
    if "term" in table["texts"] and fingerprint.terms:
        words = connection.execute(_composed("search_words", place=place), values).fetchone() or {}
        hits += int(words["hits"])
    return Found(
        place=f"{table['schema_name']}.{table['table_name']}",
        searched=int(row["searched"]),
        hits=hits,
        elsewhere=int(row["elsewhere"]),
        named=int(row["named"]),
        owners=tuple(row["owners"] or ()),
        opaque=tuple(table["opaque"]),
    )


def _tables(connection: _Connection, schemas: Sequence[str], *, others: bool = False) -> list[Row]:
    rows = connection.execute(_SQL["places"], {"schemas": list(schemas), "others": others}).fetchall()
    return [row for row in rows if not others or row["schema_name"] not in schemas]


def _owners(connection: _Connection, tables: Sequence[Row]) -> dict[int, sql.Composable]:
    """How a row of a table tells whose it is: its memory_id or note_id, or that of the row it refers to. Marts have no
    owner: they hold no text at all (S12)."""
    found: dict[int, sql.Composable] = {}
    for row in connection.execute(_SQL["references"]).fetchall():
        if row["leads_to_memory"]:
            through = _composed(
                "owner_through",
                place=sql.Identifier(row["to_schema"], row["to_table"]),
                key=sql.Identifier(row["to_column"]),
                column=sql.Identifier(row["column_name"]),
            )
            found[row["table_id"]] = sql.SQL("({})").format(through)
    for table in tables:
        for name in ("note_id", "memory_id"):
            if name in table["ids"]:
                found[table["table_id"]] = sql.SQL("t.{}").format(sql.Identifier(name))
        if table["schema_name"] != "kos":
            found.pop(table["table_id"], None)
    return found


def _keyed(table: Row) -> sql.Composable:
    """A row is keyed by an erased id: one of its uuids is one."""
    parts = [sql.SQL("t.{} = any(%(ids)s::uuid[])").format(sql.Identifier(name)) for name in table["ids"]]
    parts += [sql.SQL("t.{} && %(ids)s::uuid[]").format(sql.Identifier(name)) for name in table["id_lists"]]
    return sql.SQL("({})").format(sql.SQL(" or ").join(parts)) if parts else sql.SQL("false")


def _composed(block: str, **parts: sql.Composable) -> sql.Composed:
    """A block with its `"{name}"` parts, which read as identifiers to whoever lints the file."""
    return sql.SQL(_SQL[block].replace('"{', "{").replace('}"', "}")).format(**parts)


def _place(table: Row) -> sql.Identifier:
    return sql.Identifier(table["schema_name"], table["table_name"])


def _values(fingerprint: Fingerprint) -> dict[str, Any]:
    runs, ids = list(fingerprint.runs), list(fingerprint.id_runs)
    return {
        "ids": [*fingerprint.memory_ids, *fingerprint.note_ids],
        "runs": runs,
        "id_runs": ids,
        "terms": list(fingerprint.terms),
        "least": min((len(run.encode()) for run in [*runs, *ids]), default=1),
        "dropped": DROPPED,
    }


@contextmanager
def _connected(dsn: str) -> Iterator[_Connection]:
    with (
        _mapped_errors(),
        psycopg.connect(dsn, autocommit=True, row_factory=dict_row, connect_timeout=10) as connection,
    ):
        yield connection
