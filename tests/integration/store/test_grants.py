"""What each login role can do to each relation and function: tried, as that role, and compared with one table (G1, S5).

The catalogue names what there is, so whatever a migration adds fails here until it is listed. Beside this:
test_roles.py asks the catalogue for the rules behind the grants, test_row_security.py tries the policies within them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql

from kos_assets import testing
from kos_assets.settings import Settings
from kos_assets.testing import TestServer

ROLES = ("reader", "writer", "auditor", "dbt")
# S select, I insert, U update, D delete, T truncate; a small u: some columns only. What a role is not named for, it
# cannot do at all.
RELATIONS: dict[str, dict[str, str]] = {
    "kos.active_model": {"reader": "S", "writer": "S", "dbt": "S"},
    "kos.applied_migrations": {"reader": "S", "writer": "S", "auditor": "S", "dbt": "S"},
    "kos.audited_memories": {"writer": "S", "auditor": "S"},
    "kos.calibrations": {"writer": "SIU"},
    "kos.chain_facts": {"dbt": "S"},
    "kos.chains": {"writer": "SIUD", "auditor": "S"},
    "kos.chunks": {"writer": "SIUD"},
    "kos.decisions": {"writer": "SIu", "auditor": "S"},
    "kos.edges": {"writer": "SIUD", "auditor": "S"},
    "kos.embedding_models": {"writer": "SIU"},
    "kos.embeddings": {"writer": "SIUD"},
    "kos.embeddings_1": {},
    "kos.health_snapshots": {"writer": "SIUD"},
    "kos.index_state": {"writer": "SIUD"},
    "kos.installation": {"writer": "SIU"},
    "kos.lanes": {"writer": "SIUD"},
    "kos.ledger_files": {"writer": "SIUD"},
    "kos.lexical_terms": {"writer": "SIUD"},
    "kos.lexical_totals": {"writer": "SIUD"},
    "kos.live_chunks": {"reader": "S", "writer": "S"},
    "kos.live_edges": {"reader": "S", "writer": "S"},
    "kos.live_embeddings": {"reader": "S", "writer": "S"},
    "kos.live_memories": {"reader": "S", "writer": "S"},
    "kos.live_postings": {"reader": "S", "writer": "S"},
    "kos.memories": {"writer": "SIU", "auditor": "S"},
    "kos.memory_facts": {"dbt": "S"},
    "kos.memory_files": {"writer": "SIUD", "auditor": "S"},
    "kos.memory_history": {"writer": "SI", "auditor": "S"},
    "kos.migrations": {},
    "kos.note_facts": {"dbt": "S"},
    "kos.note_links": {"writer": "SIUD"},
    "kos.notes": {"writer": "SIUD"},
    "kos.postings": {"writer": "SIUD"},
    "kos.quarantine": {"writer": "SIUD", "auditor": "S"},
    "kos.quarantine_facts": {"dbt": "S"},
    "kos.review_items": {"writer": "SIUD", "auditor": "S"},
    "kos.trace_facts": {"dbt": "S"},
    "kos.trace_reads": {"writer": "SIUD"},
    "kos.traces": {"writer": "SIUD", "auditor": "S"},
    "kos.vector_facts": {"dbt": "S"},
    "kos_marts.mart": {"dbt": "SIUDT"},
}
FUNCTIONS: dict[str, str] = {
    "activate_model": "writer",
    "allowed_namespaces": "reader writer auditor dbt",
    "corpus_languages": "reader writer",
    "corpus_size": "reader writer",
    "count_chunks": "writer",
    "count_postings": "writer",
    "current_calibration": "reader writer",
    "dense_arm": "reader writer",
    "enter_pipeline": "writer",
    "erasable": "writer",
    "erase_memories": "writer",
    "filtered_memories": "",
    "filtered_page": "reader writer",
    "follow_memory": "writer",
    "holds_run": "",
    "in_pipeline": "reader writer auditor dbt",
    "keep_birthdays": "",
    "lexical_arm": "reader writer",
    "lexical_scores": "",
    "lock_memories": "writer",
    "near_memories": "writer",
    "near_pairs": "writer dbt",
    "posting_scores": "",
    "record_reads": "reader writer",
    "record_traces": "reader writer",
    "register_model": "writer",
    "search_candidates": "reader writer",
    "term_weights": "",
    "used_namespaces": "writer auditor",
}

_RELATIONS = """
select n.nspname || '.' || c.relname as name, c.relkind::text as kind, array(
    select a.attname::text from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
) as columns
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname in ('kos', 'kos_marts') and c.relkind in ('r', 'p', 'v', 'm', 'f') order by 1
"""
_FUNCTIONS = """
select p.oid::regprocedure::text as name, p.proname::text as short, array(
    select format_type(t, null) from unnest(p.proargtypes) as t
) as types
from pg_proc p where p.pronamespace in ('kos'::regnamespace, 'kos_marts'::regnamespace) order by 1
"""


@pytest.fixture(scope="module")
def granted(postgres: TestServer) -> Iterator[Settings]:
    """An empty database with a partition of vectors, as each model has one, and a mart, as dbt makes them."""
    with postgres.database() as settings:
        with testing.connect(settings) as owner:
            owner.execute("select kos.register_model('test/grants', 8, '{}')")
        with testing.connect(settings, "dbt") as dbt:
            dbt.execute("create table kos_marts.mart as select 1 as value")
        yield settings


def _rows(settings: Settings, statement: str) -> list[tuple[Any, ...]]:
    with testing.connect(settings) as owner:
        return owner.execute(statement).fetchall()


_IMPOSSIBLE = (
    psycopg.errors.ObjectNotInPrerequisiteState,
    psycopg.errors.WrongObjectType,
    psycopg.errors.FeatureNotSupported,
    psycopg.errors.GeneratedAlways,
)
"""How Postgres refuses to change a view that nobody could change, whatever they were granted."""


def _is_allowed(connection: psycopg.Connection[Any], statement: sql.Composed, denial: str = "") -> bool:
    """Try a statement and take it back: whether the right to it is there. `denial`: the only refusal that counts."""
    try:
        with connection.transaction(force_rollback=True):
            connection.execute(statement)
    except _IMPOSSIBLE:
        return bool(denial)  # a function was reached
    except psycopg.errors.InsufficientPrivilege as error:
        # a refusal by row-level security has this class too: it comes after the grant
        message = error.diag.message_primary or ""
        return not message.startswith("permission denied") or (bool(denial) and denial not in message)
    except psycopg.Error:
        return True  # it came as far as a constraint or an argument
    return True


def _verbs(connection: psycopg.Connection[Any], name: str, columns: list[str]) -> str:
    """The letters of what this connection can do to a relation."""
    table = sql.Identifier(*name.split("."))
    tries = {
        "S": "select 1 from {} where false",
        "I": "insert into {} default values",
        "D": "delete from {} where false",
        "T": "truncate {}",
    }
    found = {verb for verb, text in tries.items() if _is_allowed(connection, sql.SQL(text).format(table))}
    update = "update {} set {} = default where false"
    changeable = [
        column for column in columns if _is_allowed(connection, sql.SQL(update).format(table, sql.Identifier(column)))
    ]
    found |= {"U" if len(changeable) == len(columns) else "u"} if changeable else set()
    return "".join(sorted(found, key="SIUuDT".index))


def test_each_role_can_do_to_each_relation_what_is_listed_and_no_more(granted: Settings) -> None:
    """G1, S5: tables, views and partitions, every verb, every role; one new table without an entry fails."""
    found: dict[str, dict[str, str]] = {}
    for role in ROLES:
        with testing.connect(granted, role) as connection:
            for name, _, columns in _rows(granted, _RELATIONS):
                verbs = _verbs(connection, name, columns)
                found.setdefault(name, {}).update({role: verbs} if verbs else {})
    assert found == RELATIONS


def test_each_role_executes_the_functions_that_are_listed_and_no_other(granted: Settings) -> None:
    """S5: every function of the store, called by every role."""
    found = {}
    for name, short, types in _rows(granted, _FUNCTIONS):
        nulls = sql.SQL(", ").join(sql.SQL(f"null::{kind}") for kind in types)
        call = sql.SQL("select {}({})").format(sql.Identifier("kos", short), nulls)
        callers = []
        for role in ROLES:
            with testing.connect(granted, role) as connection:
                if _is_allowed(connection, call, denial=f"permission denied for function {short}"):
                    callers.append(role)
        assert short not in found, f"{name} is overloaded: list its arguments too"
        found[short] = " ".join(callers)
    assert found == FUNCTIONS


def test_one_role_changes_memories() -> None:
    """G1: the rule that the table above must never be edited against."""
    writers = {role for role, verbs in RELATIONS["kos.memories"].items() if set(verbs) & set("IUuDT")}
    assert writers == {"writer"}
    assert RELATIONS["kos.memories"]["writer"] == "SIU", "memories are retired, not deleted"
    assert RELATIONS["kos.memory_history"] == {"writer": "SI", "auditor": "S"}, "history is only added to"
    assert not [name for name, roles in RELATIONS.items() if set(roles.get("reader", "")) - {"S"}]
    assert not [name for name, roles in RELATIONS.items() if set(roles.get("auditor", "")) - {"S"}]


@pytest.mark.parametrize("role", ROLES)
def test_only_dbt_makes_tables_and_only_marts(granted: Settings, role: str) -> None:
    """S5, S12: no serving or writing role can add a relation to the store's schemas."""
    allowed = set()
    with testing.connect(granted, role) as connection:
        for schema in ("kos", "kos_marts", "public"):
            statement = sql.SQL("create table {} (a integer)").format(sql.Identifier(schema, "mine"))
            allowed |= {schema} if _is_allowed(connection, statement) else set()
    assert allowed == ({"kos_marts"} if role == "dbt" else set())
