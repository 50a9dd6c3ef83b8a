"""The Great Expectations suite against planted breaches."""

from __future__ import annotations

from uuid import UUID

import pytest

from kos_assets import testing
from kos_assets.checks import SUITE, Expectation, run_suite
from kos_assets.errors import StoreError
from kos_assets.settings import Settings
from kos_assets.store.database import role_dsn

FIRST = "00000000-0000-0000-0000-000000000001"
ID = "00000000-0000-0000-0000-000000000002"

# (statement on memory ID that plants the breach, the expectation that it breaks)
BREACHES = [
    ("update kos.memories set heading = '' where memory_id = %(id)s", "heading_is_not_empty"),
    ("update kos.memories set event_at = now() + interval '11 years' where memory_id = %(id)s", "event_is_near"),
    ("update kos.memories set created_at = now() + interval '1 day' where memory_id = %(id)s", "created_in_the_past"),
    ("update kos.index_state set indexed_hash = 'old' where memory_id = %(id)s", "is_indexed"),
    ("update kos.embeddings set content_hash = 'old' where memory_id = %(id)s", "has_vector"),
    ("delete from kos.chunks where memory_id = %(id)s", "has_chunks"),
    ("update kos.memories set folded_into = %(first)s where memory_id = %(id)s", "folded_is_not_live"),
    ("update kos.memories set supersedes = %(id)s where memory_id = %(first)s", "superseded_is_not_live"),
    (
        "update kos.memories set note_id = (select note_id from kos.memories where memory_id = %(first)s) "
        "where memory_id = %(id)s",
        "note_has_one_memory",
    ),
]


def _heal(settings: Settings) -> None:
    with testing.store(settings) as store, store.transaction(pipeline=True) as session:
        session.run(
            "insert into kos.embeddings (model_key, memory_id, ordinal, namespace, live, content_hash, embedding) "
            "select e.model_key, m.memory_id, -1, m.namespace, true, 'e' || m.content_hash, e.embedding "
            "from kos.memories as m cross join (select * from kos.embeddings limit 1) as e "
            "where m.memory_id = '00000000-0000-0000-0000-000000000005'"
        )


def _broken(settings: Settings) -> dict[str, tuple[str, ...]]:
    return {item.name: item.sample for item in run_suite(role_dsn(settings, "dbt")) if not item.passed}


def test_healthy_store_passes(filled: Settings) -> None:
    """M2: every expectation holds; expired rows are not looked at."""
    _heal(filled)
    outcomes = run_suite(role_dsn(filled, "dbt"))
    assert [outcome.name for outcome in outcomes] == [item.name for item in SUITE]
    assert {(outcome.passed, outcome.rows, outcome.broken) for outcome in outcomes} == {(True, 5, 0)}


def test_empty_store_passes(database: Settings) -> None:
    """M2: nothing is live, nothing is broken."""
    assert {(item.passed, item.rows, item.broken) for item in run_suite(role_dsn(database, "dbt"))} == {(True, 0, 0)}


@pytest.mark.parametrize(("statement", "expected"), BREACHES, ids=[name for _, name in BREACHES])
def test_breach_is_seen_and_named(filled: Settings, statement: str, expected: str) -> None:
    """M2: one planted breach breaks one expectation, and the metadata names the memory."""
    _heal(filled)
    with testing.store(filled) as store, store.transaction(pipeline=True) as session:
        session.run("update kos.memories set updated_at = now() - interval '2 hours'")
        assert session.run(statement, id=UUID(ID), first=UUID(FIRST)) == 1
    broken = _broken(filled)
    assert set(broken) == {expected}
    assert ID in broken[expected]


def test_a_fresh_memory_may_lack_its_vector(filled: Settings) -> None:
    """R8: within the hour after a change the index is behind, not broken."""
    with testing.store(filled) as store, store.transaction(pipeline=True) as session:
        session.run("update kos.memories set updated_at = now()")
        session.run("update kos.index_state set indexed_hash = 'old'")
    assert _broken(filled) == {}


def test_an_expectation_that_cannot_run_is_an_error(filled: Settings) -> None:
    """House rule 8: a missing column is an error with its reason, not a passed check."""
    wrong = Expectation("wrong", "…", "ExpectColumnValuesToNotBeNull", {"column": "no_such_column"})
    with pytest.raises(StoreError, match="no_such_column"):
        run_suite(role_dsn(filled, "dbt"), [wrong])


def test_the_suite_reads_no_text(filled: Settings) -> None:
    """S12: role kos_dbt has no right on the memories themselves."""
    with pytest.raises(StoreError), testing.store(filled, "dbt") as store, store.transaction() as session:
        session.rows("select content from kos.memories")
