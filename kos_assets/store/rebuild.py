"""A second store beside the live one: rows to compare, what is carried over, the switch of names (V6).

As administrator where databases are made, renamed or dropped; names are composed here and nowhere else.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Final

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from kos_assets.errors import StoreError
from kos_assets.store.database import Row, Session, Store, _mapped_errors, parse_dsn, with_database
from kos_assets.store.sql import blocks

_SQL = blocks("rebuild")
_FACTS: Final = ("memories", "edges", "blocked", "reviews")
_CARRIED: Final = ("traces", "reads", "calibrations", "health", "lanes")
_ELSEWHERE: Final = ("postgres", "template1")
_TRIES: Final = 20


def facts(store: Store) -> dict[str, list[Row]]:
    """What two stores of one vault must agree on: memories, edges, blocks, open contradictions. No text."""
    with store.transaction(pipeline=True) as session:
        return {name: session.rows(_SQL[name]) for name in _FACTS}


def vectors_by_hash(session: Session, model_id: str, hashes: Sequence[str]) -> dict[str, Any]:
    """Stored vectors of these texts under one model, by text hash."""
    rows = session.rows(_SQL["vectors_by_hash"], hashes=list(hashes), model_id=model_id)
    return {row["content_hash"]: row["embedding"] for row in rows}


def carry_over(live_dsn: str, new_dsn: str) -> None:
    """Copy what is in no file into the new store: traces, calibrations, health, lanes, history of memories that both
    hold, first-seen times, the gate's distance. Whole or not at all. Both DSNs are the administrator's."""
    with (
        _mapped_errors(),
        psycopg.connect(live_dsn, row_factory=dict_row) as live,
        psycopg.connect(new_dsn, row_factory=dict_row) as new,
    ):
        for name in _CARRIED:
            _copy(live, new, name)
        ids = [row["memory_id"] for row in new.execute(_SQL["known_memories"]).fetchall()]
        live.execute(_SQL["carried_memories"])
        with live.cursor() as cursor, cursor.copy(_SQL["carried_in"]) as copy:
            for memory_id in ids:
                copy.write_row((memory_id,))
        new.execute(_SQL["clear_history"])
        _copy(live, new, "history")
        births = live.execute(_SQL["birthdays"]).fetchall()
        new.execute(
            _SQL["set_births"],
            {
                "memory_ids": [row["memory_id"] for row in births],
                "births": [row["created_at"] for row in births],
            },
        )
        model = live.execute(_SQL["active_model"]).fetchone()
        if model is not None:
            values = {"model_id": model["model_id"], "distance": model["gate_distance"]}
            new.execute(_SQL["gate_distance"], values)


def _copy(live: psycopg.Connection[Any], new: psycopg.Connection[Any], name: str) -> None:
    with (
        live.cursor() as source,
        new.cursor() as target,
        source.copy(_SQL[f"{name}_out"]) as reading,
        target.copy(_SQL[f"{name}_in"]) as writing,
    ):
        for block in reading:
            writing.write(block)


def drop_database(dsn: str, name: str) -> None:
    """Drop a database of the server if it is there, whoever is connected to it."""
    with _elsewhere(dsn, name) as connection:
        connection.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


def switch(dsn: str, *, live: str, new: str, before: str) -> None:
    """Let `new` take the name of `live`, which becomes `before`: both renames in one transaction.

    Connections to both are ended; who comes back finds the new store. Raises StoreError when others keep connecting or
    the account may not rename.
    """
    names = [live, new]
    with _elsewhere(dsn, live) as connection:
        for number in range(_TRIES):
            connection.execute(_SQL["end_others"], {"names": names})
            try:
                with connection.transaction():
                    rename = sql.SQL("alter database {} rename to {}")
                    connection.execute(rename.format(sql.Identifier(live), sql.Identifier(before)))
                    connection.execute(rename.format(sql.Identifier(new), sql.Identifier(live)))
            except psycopg.errors.ObjectInUse:
                time.sleep(0.2 * (number + 1))
            else:
                return
    raise StoreError(
        "The stores could not be switched: others keep connecting to the database.",
        why=f"A database can be renamed only while nobody uses {live}.",
        fix="Stop `kos up` and other clients, then run `kos rebuild` again; the live store was not touched.",
    )


@contextmanager
def _elsewhere(dsn: str, name: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection of the administrator to another database of the same server than `name`."""
    own = str(parse_dsn(dsn).get("dbname", ""))
    with _mapped_errors():
        for database in dict.fromkeys((own, *_ELSEWHERE)):
            if not database or database == name:
                continue
            try:
                connection = psycopg.connect(with_database(dsn, database), autocommit=True, connect_timeout=10)
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
