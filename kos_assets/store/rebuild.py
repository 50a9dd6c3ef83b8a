"""A second store beside the live one: rows to compare, what is carried over, the switch of names (V6).

As administrator where databases are made, renamed or dropped; names are composed here and nowhere else.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from kos_assets.errors import StoreError
from kos_assets.store.database import Row, Session, Store, _mapped_errors, parse_dsn, with_database
from kos_assets.store.sql import blocks

_SQL = blocks("rebuild")
_FACTS: Final = ("memories", "indexed", "edges", "blocked", "reviews")
_CARRIED: Final = ("traces", "reads", "calibrations", "health", "lanes")
_ELSEWHERE: Final = ("postgres", "template1")
_TRIES: Final = 8
_LONGEST_NAME: Final = 40
"""Bytes: with what is appended here, a name stays below PostgreSQL's 63, which cuts longer ones without a word."""
_OVERLAP: Final = timedelta(hours=1)
"""A trace is dated by its process and committed later: so far back is looked for what came after the first copy."""


@dataclass(frozen=True)
class Turn:
    """The one rebuild of a database that may be under way, on a connection to another database of the server.

    Its advisory lock ends with its connection; the switch is made on it, so nobody switches without the turn.
    """

    connection: psycopg.Connection[Row]
    live: str


def facts(store: Store) -> dict[str, list[Row]]:
    """What two stores of one vault must agree on: memories, edges, blocks, open contradictions. No text."""
    with store.transaction(pipeline=True) as session:
        return {name: session.rows(_SQL[name]) for name in _FACTS}


def erasures(store: Store) -> int:
    """How many erasures the store's index of the ledger knows of (S11)."""
    with store.transaction(pipeline=True) as session:
        return int(session.value(_SQL["erasures"]))


def vectors_by_hash(session: Session, model_id: str, hashes: Sequence[str]) -> dict[str, Any]:
    """Stored vectors of these texts under one model, by text hash."""
    rows = session.rows(_SQL["vectors_by_hash"], hashes=list(hashes), model_id=model_id)
    return {row["content_hash"]: row["embedding"] for row in rows}


def carry_over(live_dsn: str, new_dsn: str) -> datetime:
    """Copy what is in no file into the new store: traces, calibrations, health, lanes, history of memories that both
    hold, first-seen times. Whole or not at all, as of one instant, which is returned. Both DSNs are the
    administrator's."""
    with _both(live_dsn, new_dsn) as (live, new):
        moment = _moment(live)
        _carry(live, new, None)
        _carry_history(live, new)
        births = live.execute(_SQL["birthdays"]).fetchall()
        new.execute(
            _SQL["set_births"],
            {
                "memory_ids": [row["memory_id"] for row in births],
                "births": [row["created_at"] for row in births],
            },
        )
    return moment


def carry_late(old_dsn: str, live_dsn: str, since: datetime) -> None:
    """Copy what came into the old store between `carry_over` and the switch. Safe to repeat: what is there stays."""
    with _both(old_dsn, live_dsn) as (old, live):
        _carry(old, live, since - _OVERLAP)


@contextmanager
def _both(source: str, target: str) -> Iterator[tuple[psycopg.Connection[Row], psycopg.Connection[Row]]]:
    """Two transactions; the source is read as of one instant, so that a read is never copied without its trace."""
    with (
        _mapped_errors(),
        psycopg.connect(source, row_factory=dict_row) as reading,
        psycopg.connect(target, row_factory=dict_row) as writing,
    ):
        reading.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        yield reading, writing


def _moment(connection: psycopg.Connection[Row]) -> datetime:
    row = connection.execute("select now() as at").fetchone()
    if row is None:
        raise StoreError("The database gave no time.")
    moment: datetime = row["at"]
    return moment


def _carry(source: psycopg.Connection[Row], target: psycopg.Connection[Row], since: datetime | None) -> None:
    for name in _CARRIED:
        target.execute(_SQL[f"{name}_table"])
        _copy(source, target, name, {"since": since})
        target.execute(_SQL[f"{name}_keep"])


def _carry_history(live: psycopg.Connection[Row], new: psycopg.Connection[Row]) -> None:
    """The old store's history takes the place of the new one's, memory by memory; where there is none, the new one's
    stays (S7)."""
    known = [row["memory_id"] for row in new.execute(_SQL["known_memories"]).fetchall()]
    told = [row["memory_id"] for row in live.execute(_SQL["with_history"]).fetchall()]
    for connection, ids in ((live, known), (new, told)):
        connection.execute(_SQL["carried_memories"])
        with connection.cursor() as cursor, cursor.copy(_SQL["carried_in"]) as copy:
            for memory_id in ids:
                copy.write_row((memory_id,))
    new.execute(_SQL["clear_history"])
    _copy(live, new, "history", {})


def _copy(source: psycopg.Connection[Row], target: psycopg.Connection[Row], name: str, values: dict[str, Any]) -> None:
    with (
        source.cursor() as reader,
        target.cursor() as writer,
        reader.copy(_SQL[f"{name}_out"], values) as reading,
        writer.copy(_SQL[f"{name}_in"]) as writing,
    ):
        for block in reading:
            writing.write(block)


@contextmanager
def turn(dsn: str, live: str) -> Iterator[Turn]:
    """The turn to rebuild the database `live`; nobody else has it meanwhile. `dsn`: the administrator's.

    Raises StoreError when another rebuild has it, when the name is too long for a second one beside it, or when the
    server lets this account into no other database.
    """
    if len(live.encode()) > _LONGEST_NAME:
        raise StoreError(
            f"The name of database {live} is too long for a second one beside it.",
            why=f"A rebuild appends to it, and PostgreSQL cuts names at 63 bytes; this one has {len(live.encode())}.",
            fix=f"Rename the database to at most {_LONGEST_NAME} bytes, and name it so in KOS_DSN.",
        )
    with _elsewhere(dsn, live) as connection:
        row = connection.execute(_SQL["take_turn"], {"live": live}).fetchone()
        if row is None or not row["taken"]:
            raise StoreError(
                f"Another rebuild of {live} is at work.",
                why="Two of them would take each other's database for a leftover.",
                fix="Wait until it ends; if its process is gone, the server notices within a few minutes.",
            )
        yield Turn(connection, live)


def second_name(turn: Turn) -> str:
    """A new name for a second database, which marks it as a rebuild's."""
    return f"{turn.live}_rebuild_{secrets.token_hex(4)}"


def drop_leftovers(turn: Turn) -> list[str]:
    """Drop the second databases that killed rebuilds of this one left; their names."""
    ours = re.compile(rf"{re.escape(turn.live)}_rebuild_[0-9a-f]{{8}}")
    with _mapped_errors():
        names = [str(row["datname"]) for row in turn.connection.execute(_SQL["databases"]).fetchall()]
        left = [name for name in names if ours.fullmatch(name)]
        for name in left:
            turn.connection.execute(_drop(name))
    return left


def drop_database(dsn: str, name: str) -> None:
    """Drop a database of the server if it is there, whoever is connected to it."""
    with _elsewhere(dsn, name) as connection:
        connection.execute(_drop(name))


def _drop(name: str) -> sql.Composed:
    return sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name))


def check_may_switch(turn: Turn) -> None:
    """Raise StoreError, before any work, when this account may not rename the live database."""
    with _mapped_errors():
        row = turn.connection.execute(_SQL["may_rename"], {"live": turn.live}).fetchone()
    if row is None or not row["allowed"]:
        raise StoreError(
            f"This account may not rename the database {turn.live}.",
            why="Only its owner with the right to create databases, or a superuser, may; the switch is a rename.",
            fix=f"Let an administrator run: ALTER DATABASE {turn.live} OWNER TO this account; ALTER ROLE this account"
            " CREATEDB. Or only compare, with `kos rebuild --no-switch`.",
        )


def switch(turn: Turn, *, new: str, before: str, accounts: Sequence[str] = ()) -> None:
    """Let `new` take the name of the live database, which becomes `before`: both renames in one transaction.

    Connections to both are ended; who comes back finds the new store. An administrator that is no superuser may not end
    those of other roles, but each role may end its own: `accounts` are their DSNs. Raises StoreError when others keep
    connecting, or are beyond the reach of all of these.
    """
    names, connection = [turn.live, new], turn.connection
    holders: set[str] = set()
    with _mapped_errors():
        for number in range(_TRIES):
            holders = _end_others(turn, names, accounts)
            try:
                with connection.transaction():
                    rename = sql.SQL("alter database {} rename to {}")
                    connection.execute(rename.format(sql.Identifier(turn.live), sql.Identifier(before)))
                    connection.execute(rename.format(sql.Identifier(new), sql.Identifier(turn.live)))
            except psycopg.errors.ObjectInUse:
                time.sleep(0.2 * (number + 1))
            else:
                return
    whose = f", of {', '.join(sorted(holders))}, which this account may not end" if holders else " of others"
    raise StoreError(
        f"The stores could not be switched: there are connections{whose}.",
        why=f"A database can be renamed only while nobody uses {turn.live}.",
        fix="Stop `kos up` and other clients, then run `kos rebuild` again; the live store was not touched.",
    )


def _end_others(turn: Turn, names: Sequence[str], accounts: Sequence[str]) -> set[str]:
    """End the connections to these databases; the roles whose connections are beyond this account's reach."""
    beyond = _end(turn.connection, names)
    if not beyond:
        return beyond
    for account in accounts:
        with suppress(StoreError), _elsewhere(account, turn.live) as own:  # a role that cannot log in has none to end
            _end(own, names)
    return _end(turn.connection, names)


def _end(connection: psycopg.Connection[Row], names: Sequence[str]) -> set[str]:
    row = connection.execute(_SQL["end_others"], {"names": list(names)}).fetchone()
    return set(row["beyond"] or ()) if row is not None else set()


@contextmanager
def _elsewhere(dsn: str, name: str) -> Iterator[psycopg.Connection[Row]]:
    """A connection of the administrator to another database of the same server than `name`."""
    own = str(parse_dsn(dsn).get("dbname", ""))
    with _mapped_errors():
        for database in dict.fromkeys((own, *_ELSEWHERE)):
            if not database or database == name:
                continue
            try:
                connection = psycopg.connect(
                    with_database(dsn, database), autocommit=True, connect_timeout=10, row_factory=dict_row
                )
            except psycopg.OperationalError:
                continue
            with closing(connection):
                yield connection
            return
        raise StoreError(
            "No second database of the server can be reached.",
            why="A database can be created, renamed or dropped only from another one.",
            fix="Let this account connect to the database postgres, or rebuild on a server of your own.",
        )
