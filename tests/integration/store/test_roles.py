"""Who may do what in the database (S5, S12, G1): asked of the catalogue and tried as each role.

The catalogue is enumerated, so a table or function that a later migration adds is tested without a change here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.errors import InsufficientPrivilege

from kos_assets import testing
from kos_assets.settings import Settings

LIVE_VIEWS = {
    "live_memories", "live_chunks", "live_embeddings", "live_postings", "live_edges", "active_model",
    "applied_migrations",
}  # fmt: skip
READER_FUNCTIONS = {
    "allowed_namespaces", "in_pipeline", "corpus_size", "corpus_languages", "lexical_arm", "dense_arm",
    "search_candidates", "filtered_page", "record_traces", "record_reads", "current_calibration",
}  # fmt: skip
FACTS = {"memory_facts", "vector_facts", "trace_facts", "note_facts", "quarantine_facts", "chain_facts"}
SECRET = "Zanzibarwhisper"

TABLES = "select c.relname from pg_class c where c.relnamespace = 'kos'::regnamespace and c.relkind in ('r', 'p')"
RELATIONS = TABLES.replace("('r', 'p')", "('r', 'p', 'v', 'm', 'f')")
READABLE = (
    RELATIONS + " and (has_table_privilege(%s, c.oid, 'select') or has_any_column_privilege(%s, c.oid, 'select'))"
)
FUNCTIONS = """
select p.proname, p.oid::regprocedure::text from pg_proc p
where p.pronamespace = 'kos'::regnamespace and has_function_privilege(%s, p.oid, 'execute')
"""
TRIES = (
    "select * from kos.{} limit 1", "insert into kos.{} default values", "delete from kos.{}", "truncate kos.{}",
    "select count(*) from kos.{}", "copy kos.{} to stdout",
)  # fmt: skip


@pytest.fixture(scope="module")
def filled(shared_desk: Any) -> Settings:
    """A database in which each text column that a person could write holds the secret."""
    desk = shared_desk
    desk.model()
    memory = desk.memory(heading=SECRET, content=SECRET, summary=SECRET, terms=[{SECRET.lower(): 1}], vector=[1.0] * 8)
    desk.owner(
        "insert into kos.memory_history (memory_id, namespace, principal, action, reason) "
        "values (%s, 'global', 'x', 'insert', %s)",
        memory,
        SECRET,
    )
    desk.owner(
        """insert into kos.notes (note_id, source, path, title, title_rule, content, namespace, type_reason,
        type_confidence, provenance, confidence, home_path, lang, event_rule, properties, structure, size_bytes,
        mtime_ns, file_hash, content_hash, stamped, row_hash)
        values (gen_random_uuid(), 'vault', %s, %s, 'h1', %s,
        'global', 'rule', 1, 'raw', 0.9, %s, 'en', 'none', jsonb_build_object('a', %s::text),
        '{}', 1, 1, 'f', 'c', true, 'r')""",
        *[SECRET] * 5,
    )
    desk.owner("insert into kos.quarantine values (%s, 'code', 0, 'problem', 'global', %s, %s)", *[SECRET] * 3)
    desk.owner(
        "insert into kos.traces values (gen_random_uuid(), now(), 'owner', null, '{global}', 'search', "
        "%s, '{}', null, 'weak', %s, 1)",
        SECRET, psycopg.types.json.Jsonb([{"memory_id": str(memory), "heading": SECRET}]),
    )  # fmt: skip
    desk.owner("insert into kos.chains values (%s, %s, 'global', 3, now())", memory, memory)
    return desk.settings  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def owner(filled: Settings) -> Iterator[psycopg.Connection[Any]]:
    """The administrator, to ask the catalogue."""
    with testing.connect(filled) as connection:
        yield connection


def _column(connection: psycopg.Connection[Any], statement: str, *values: Any) -> set[str]:
    return {row[0] for row in connection.execute(statement, values).fetchall()}


def _refused(connection: psycopg.Connection[Any], statement: str, name: str) -> bool:
    try:
        connection.execute(sql.SQL(statement).format(sql.Identifier(name)))
    except InsufficientPrivilege:
        return True
    except psycopg.Error:
        return False  # it came further than it may: to a constraint
    return False


def test_every_base_table_refuses_the_serving_role(filled: Settings, owner: psycopg.Connection[Any]) -> None:
    """S5: kos_reader has no right on any base table, partitions of vectors included."""
    tables = _column(owner, TABLES)
    assert {"memories", "memory_history", "embeddings", "embeddings_1", "notes", "traces", "migrations"} <= tables
    with testing.connect(filled, "reader") as reader:
        allowed = [(table, attempt) for table in tables for attempt in TRIES if not _refused(reader, attempt, table)]
        updates = [
            table for table in tables
            if not _refused(reader, f"update kos.{{}} set {_first_column(owner, table)} = default", table)
        ]  # fmt: skip
    assert allowed == []
    assert updates == []


def _first_column(connection: psycopg.Connection[Any], table: str) -> str:
    statement = "select attname from pg_attribute where attrelid = ('kos.' || %s)::regclass and attnum = 1"
    return str(connection.execute(statement, [table]).fetchone()[0])  # type: ignore[index]


def test_the_serving_role_reads_live_views_only(owner: psycopg.Connection[Any]) -> None:
    """S5: the relations of schema kos that kos_reader may select are the live views, and nothing that it may write."""
    assert _column(owner, READABLE, "kos_reader", "kos_reader") == LIVE_VIEWS
    writable = (
        RELATIONS
        + " and has_table_privilege('kos_reader', c.oid, 'insert, update, delete, truncate, references, trigger')"
    )
    assert _column(owner, writable) == set()


def test_the_serving_role_executes_named_functions_only(owner: psycopg.Connection[Any]) -> None:
    """S5: enumerated, so that a new function is closed until it is named here."""
    assert _column(owner, FUNCTIONS, "kos_reader") == READER_FUNCTIONS
    assert _column(owner, FUNCTIONS, "kos_auditor") == {"allowed_namespaces", "in_pipeline", "used_namespaces"}
    assert _column(owner, FUNCTIONS, "kos_dbt") == {"allowed_namespaces", "in_pipeline", "near_pairs"}


def test_the_serving_role_is_not_the_pipeline(filled: Settings) -> None:
    """S6: claiming the pipeline's scope by hand opens nothing to the serving role."""
    with testing.connect(filled, "reader") as reader, reader.transaction():
        reader.execute("select set_config('kos.scope', 'pipeline', true)")
        assert reader.execute("select count(*) from kos.live_memories").fetchone() == (0,)
    with testing.connect(filled, "reader") as reader, pytest.raises(InsufficientPrivilege):
        reader.execute("select kos.enter_pipeline()")


@pytest.mark.parametrize("role", ["reader", "writer", "auditor", "dbt"])
def test_no_role_creates_or_borrows(filled: Settings, role: str) -> None:
    """S1: schema kos is owned by migrations: no login role creates in it, or becomes another role."""
    with testing.connect(filled, role) as connection:
        with pytest.raises(InsufficientPrivilege):
            connection.execute("create table kos.mine (a integer)")
        with pytest.raises(InsufficientPrivilege):
            connection.execute("create table public.mine (a integer)")
        for other in ("kos_owner", "kos_view", "kos_writer" if role != "writer" else "kos_reader"):
            with pytest.raises(InsufficientPrivilege):
                connection.execute(f"set role {other}")
        attributes = (
            "select rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication "
            "from pg_roles where rolname = current_user"
        )
        assert connection.execute(attributes).fetchone() == (False,) * 5


def test_the_writer_cannot_delete_memories_or_change_history(filled: Settings) -> None:
    """S7: memories are only ever soft-deleted, and what history says stays."""
    with testing.connect(filled, "writer") as writer, writer.transaction(force_rollback=True):
        writer.execute("select kos.enter_pipeline()")
        for forbidden in (
            "delete from kos.memories", "truncate kos.memories cascade", "delete from kos.memory_history",
            "update kos.memory_history set reason = 'x'", "truncate kos.memory_history",
            "alter table kos.memories disable row level security", "drop view kos.live_memories",
            "insert into kos.migrations values (99, 'x', 'y')",
        ):  # fmt: skip
            with pytest.raises(InsufficientPrivilege), writer.transaction():
                writer.execute(forbidden)


def test_memories_are_written_by_one_role(owner: psycopg.Connection[Any]) -> None:
    """G1: the right to insert or change memories and their history is kos_writer's alone, beside the owner's."""
    statement = """
    select distinct r.rolname from pg_roles r cross join unnest(array['memories', 'memory_history']) as t (name)
    where not r.rolsuper and r.rolname !~ '^pg_'
    and has_table_privilege(r.oid, ('kos.' || t.name)::regclass, 'insert, update, delete, truncate')
    """
    assert _column(owner, statement) == {"kos_owner", "kos_writer"}
    members = (
        "select pg_get_userbyid(member) from pg_auth_members "
        "where pg_get_userbyid(roleid) in ('kos_owner', 'kos_writer', 'kos_view')"
    )
    superuser = str(owner.info.user)
    assert _column(owner, members) <= {superuser}


def test_the_view_role_owns_no_table_and_skips_no_policy(filled: Settings, owner: psycopg.Connection[Any]) -> None:
    """S5: kos_view has no login, no table, no BYPASSRLS: policies hold inside its views and functions."""
    attributes = "select rolcanlogin, rolsuper, rolbypassrls, rolcreaterole from pg_roles where rolname = 'kos_view'"
    assert owner.execute(attributes).fetchone() == (False,) * 4
    owned = "select relname from pg_class where relowner = 'kos_view'::regrole and relkind in ('r', 'p')"
    assert _column(owner, owned) == set()
    owners = (
        "select relname from pg_class where relnamespace = 'kos'::regnamespace and relkind = 'v' "
        "and relname like 'live%%' and relowner <> 'kos_view'::regrole"
    )
    assert _column(owner, owners) == set()


def test_every_table_with_a_namespace_is_under_row_security(filled: Settings, owner: psycopg.Connection[Any]) -> None:
    """S6, S12: a table that carries a namespace (or the text of one) has row-level security switched on."""
    open_tables = (
        TABLES
        + """
    and not c.relrowsecurity and exists(
        select 1 from pg_attribute a where a.attrelid = c.oid and a.attname in ('namespace', 'namespaces')
    )"""
    )
    assert _column(owner, open_tables) == set()


def test_no_live_view_is_a_security_barrier(owner: psycopg.Connection[Any]) -> None:
    """S5: a security barrier hides the HNSW index."""
    live = RELATIONS + " and c.relkind = 'v' and c.relname like 'live%%'"
    barriers = live + " and coalesce(c.reloptions::text, '') ~ 'security_(barrier|invoker)'"
    assert _column(owner, barriers) == set()


def test_the_functions_of_the_store_fix_their_search_path(owner: psycopg.Connection[Any]) -> None:
    """S5: a security definer function that takes names from the caller's search path can be made to run anything."""
    loose = """
    select proname from pg_proc where pronamespace = 'kos'::regnamespace and prosecdef
    and not coalesce(proconfig::text, '') like '%%search_path=kos%%pg_temp%%'
    """
    assert _column(owner, loose) == set()


def test_dbt_reads_no_text(filled: Settings, owner: psycopg.Connection[Any]) -> None:
    """S12: a secret planted in each text of the store is in nothing that kos_dbt may read."""
    readable = _column(owner, READABLE, "kos_dbt", "kos_dbt")
    assert readable == FACTS | {"active_model", "applied_migrations"}
    with testing.connect(filled, "dbt") as dbt:
        for name in sorted(readable):
            rows = dbt.execute(
                sql.SQL("select to_jsonb(r)::text from kos.{} as r").format(sql.Identifier(name))
            ).fetchall()
            assert rows, f"{name} is empty: the probe proves nothing"
            assert not [row for row in rows if SECRET.lower() in str(row[0]).lower()], name


def test_marts_open_by_name_only(filled: Settings) -> None:
    """S12: what dbt makes is closed to the serving role until it is granted; a per-memory mart never is."""
    with testing.connect(filled, "dbt") as dbt:
        dbt.execute("create table kos_marts.staleness as select 1 as memory_id")
        dbt.execute("create table kos_marts.health_summary as select 1 as value")
        dbt.execute("grant select on kos_marts.health_summary to kos_reader")
    with testing.connect(filled, "reader") as reader:
        assert reader.execute("select value from kos_marts.health_summary").fetchone() == (1,)
        with pytest.raises(InsufficientPrivilege):
            reader.execute("select * from kos_marts.staleness")
        with pytest.raises(InsufficientPrivilege):
            reader.execute("create table kos_marts.mine (a integer)")


def test_the_auditor_only_reads(filled: Settings, owner: psycopg.Connection[Any]) -> None:
    """S5: kos_auditor reads memories, history, traces and quarantine under row-level security, and writes nothing."""
    assert _column(owner, READABLE, "kos_auditor", "kos_auditor") == {
        "memories", "memory_history", "traces", "quarantine", "applied_migrations", "edges", "decisions",
        "review_items", "memory_files", "audited_memories", "chains",
    }  # fmt: skip
    with testing.connect(filled, "auditor") as auditor:
        for table in ("memories", "memory_history", "traces", "quarantine"):
            count = sql.SQL("select count(*) from kos.{}").format(sql.Identifier(table))
            assert auditor.execute(count).fetchone() == (0,)
            with auditor.transaction():
                auditor.execute("select set_config('kos.namespaces', 'global', true)")
                assert auditor.execute(count).fetchone() == (1,)
            with pytest.raises(InsufficientPrivilege):
                auditor.execute(sql.SQL("delete from kos.{}").format(sql.Identifier(table)))
