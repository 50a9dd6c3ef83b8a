"""S5, S6: at 20,000 rows, as the serving role, each arm of search runs through its index.

The plans are those of the statements inside the functions, as the server logs them: a policy that is not leakproof, a
barrier or a generic plan shows here as a scan of the whole table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import psycopg
import pytest

from kos_assets import testing
from kos_assets.store.embeddings import half
from kos_assets.store.sql import blocks

SEARCH = blocks("search")
SCANS = re.compile(r"(Index Only Scan|Index Scan|Bitmap Index Scan|Seq Scan)(?: Backward)?(?: using (\S+))? on (\S+)")
SETTINGS = (
    "load 'auto_explain'", "set auto_explain.log_min_duration = 0", "set auto_explain.log_nested_statements = on",
    "set auto_explain.log_level = 'notice'", "set client_min_messages = 'notice'", "set role kos_reader",
)  # fmt: skip
Plans = Callable[..., list[str]]


@pytest.fixture(scope="module")
def plans(corpus: Any) -> Iterator[Plans]:
    """A function that runs a statement as kos_reader and gives the plan of every statement inside it."""
    with testing.connect(corpus.settings) as connection:
        seen: list[str] = []
        connection.add_notice_handler(lambda notice: seen.append(notice.message_primary or ""))
        for statement in SETTINGS:
            connection.execute(statement)

        def run(statement: str, namespaces: Sequence[str], *, bounds: Sequence[str] = (), **values: Any) -> list[str]:
            with connection.transaction():
                for name, _, value in (bound.partition("=") for bound in bounds):
                    connection.execute("select set_config(%s, %s, true)", [name, value])
                connection.execute("select set_config('kos.namespaces', %s, true)", [",".join(namespaces)])
                seen.clear()
                connection.execute(statement, values)
            found = [text for text in seen if "plan:" in text]
            assert found, "auto_explain said nothing"
            return found

        yield run


def scans(plan: Sequence[str], table: str) -> set[tuple[str, str]]:
    """(kind of scan, index) of every access to a table; for a bitmap, the index is its own name."""
    found = set()
    for text in plan:
        for kind, index, relation in SCANS.findall(text):
            name = relation if kind == "Bitmap Index Scan" else index
            if kind == "Bitmap Index Scan" or relation.startswith(table):
                found.add((kind, name))
    return found


def containing(plan: Sequence[str], fragment: str) -> list[str]:
    """The plans of statements whose text has a fragment."""
    found = [text for text in plan if fragment in text]
    assert found, f"no statement with {fragment!r}"
    return found


def _dense(corpus: Any, memory_ids: Any = None) -> dict[str, Any]:
    query = half(corpus.vectors[5]).to_text()
    return {"model_key": corpus.model_key, "query": query, "limit": 60, "memory_ids": memory_ids}


def _candidates(corpus: Any, **filters: Any) -> dict[str, Any]:
    nothing = dict.fromkeys(("types", "home", "since", "until", "as_of"))
    common = {"terms": ["w2", "w700"], "groups": [1, 2], "limit": 60, "depth": 60, "chunks": None, "nearest": None}
    return {**_dense(corpus), **common, **nothing, **filters}


def test_the_dense_arm_uses_its_vector_index(corpus: Any, plans: Plans) -> None:
    """S5: HNSW under row-level security, for the whole scope and for one namespace of thousands."""
    index = corpus_index(corpus)
    for scope in (corpus.scope, ("agent:busy",)):
        ran = plans(SEARCH["dense"], scope, bounds=["kos.exact_rows=1000"], **_dense(corpus))
        nested = containing(ran, "order by e.embedding::halfvec")
        assert scans(nested, "embeddings_") == {("Index Scan", index)}


def corpus_index(corpus: Any) -> str:
    """The name of the model's HNSW index."""
    with testing.connect(corpus.settings) as connection:
        row = connection.execute(
            "select indexname from pg_indexes where tablename = %s and indexdef like '%%hnsw%%'",
            [f"embeddings_{corpus.model_key}"],
        ).fetchone()
    assert row is not None
    return str(row[0])


def test_a_small_scope_is_scanned_exactly_by_its_namespace(corpus: Any, plans: Plans) -> None:
    """R1: a namespace that keeps 1 row in 10,000 neither walks the vector index nor the table."""
    nested = containing(plans(SEARCH["dense"], ("shared:rare",), **_dense(corpus)), "e.embedding <=> p_query")
    found = scans(nested, "embeddings_")
    assert found
    assert all("namespace" in index and kind != "Seq Scan" for kind, index in found), found


def test_few_ids_are_looked_up_by_key(corpus: Any, plans: Plans) -> None:
    """R1: a filter that keeps few memories is an exact search over those, through the primary key."""
    values = _dense(corpus, list(corpus.ids[:20]))
    nested = containing(plans(SEARCH["dense"], corpus.scope, **values), "e.embedding <=> p_query")
    assert scans(nested, "embeddings_") == {("Index Scan", f"embeddings_{corpus.model_key}_pkey")}


def test_the_lexical_arm_reads_impact_ordered_postings(corpus: Any, plans: Plans) -> None:
    """S5, R1: lists come from postings_impact in order, not sorted; what was cut is looked up by key."""
    values = {"terms": ["w2", "w700"], "groups": [1, 2], "limit": 20}
    for scope in (corpus.scope, ("agent:busy",)):
        [whole] = containing(plans(SEARCH["lexical"], scope, **values), "sum(t.idf")
        assert scans([whole], "postings") == {("Index Only Scan", "postings_impact")}
        ran = plans(SEARCH["lexical"], scope, bounds=["kos.lexical_budget=500", "kos.lexical_cut=100"], **values)
        nested = containing(ran, "with lists as materialized")[0]
        lists = nested[nested.index("CTE lists") : nested.index("CTE bounds")]
        assert scans([lists], "postings") == {("Index Only Scan", "postings_impact")}
        assert "Sort" not in lists
        assert scans([nested], "postings") <= {
            ("Index Only Scan", "postings_impact"), ("Index Scan", "postings_pkey"),
        }  # fmt: skip


def test_document_frequencies_are_read_by_term(corpus: Any, plans: Plans) -> None:
    """S6: `term = ...` is leakproof: the statistics of three words are not a scan of all words."""
    values = {"terms": ["w2", "w700"], "groups": [1, 2], "limit": 20}
    nested = plans(SEARCH["lexical"], ("global",), **values)
    found = scans(nested, "lexical_terms")
    assert found
    assert all(index == "lexical_terms_term" for _, index in found), found


@pytest.mark.parametrize(
    ("filters", "indexes"),
    [
        ({"home": "archive/rare"}, {"memories_home"}),
        ({"home": "folder/h3", "since": "2026-04-20"}, {"memories_home", "memories_namespace"}),
        ({"until": "2020-01-01"}, {"memories_namespace"}),
    ],
    ids=["home", "home and time", "time"],
)
def test_filters_use_their_index(corpus: Any, plans: Plans, filters: dict[str, Any], indexes: set[str]) -> None:
    """S6: text and time comparisons are leakproof, so a selective filter is an index condition, not a scan."""
    nested = containing(plans(SEARCH["candidates"], corpus.scope, **_candidates(corpus, **filters)), "p_types is null")
    found = scans(nested, "memories")
    assert {index for _, index in found} & indexes
    assert not any(kind == "Seq Scan" for kind, _ in found), found


def test_no_step_of_a_whole_search_scans_a_large_table(corpus: Any, plans: Plans) -> None:
    """S5: with every statement of search_candidates in view, memories, chunks, postings and vectors go by index."""
    for filters in ({}, {"home": "archive/rare"}, {"types": ["episodic"], "home": "folder"}):
        for scope in (corpus.scope, ("agent:busy",), ("shared:rare",)):
            nested = plans(SEARCH["candidates"], scope, **_candidates(corpus, **filters))
            for table in ("memories", "chunks", "postings", "embeddings"):
                whole = {scan for scan in scans(nested, table) if scan[0] == "Seq Scan"}
                if table == "memories" and filters.get("home") == "folder":
                    continue  # this filter keeps nearly every row
                assert whole == set(), (table, scope, filters)


def test_fetch_and_index_lines_go_by_primary_key(corpus: Any, plans: Plans) -> None:
    """S5: uuid equality is leakproof: the live view is entered through memories_pkey."""
    for block in ("whole", "lines"):
        nested = plans(SEARCH[block], corpus.scope, memory_ids=list(corpus.ids[:10]), stale_days=180)
        assert scans(nested, "memories") == {("Index Scan", "memories_pkey")}


def test_near_pairs_go_through_the_vector_index(corpus: Any, plans: Plans) -> None:
    """M1: the pairs of some memories are found by the index of vectors, not by comparing all of them."""
    with testing.connect(corpus.settings) as connection:
        seen: list[str] = []
        connection.add_notice_handler(lambda notice: seen.append(notice.message_primary or ""))
        for statement in (*SETTINGS[:-1], "set role kos_writer"):
            connection.execute(statement)
        connection.execute("select count(*) from kos.near_pairs(%s, 0.08, 20)", [list(corpus.ids[:50])])
    nested = containing([text for text in seen if "plan:" in text], "cross join lateral")
    assert ("Index Scan", corpus_index(corpus)) in scans(nested, "embeddings_")
    assert not any(kind == "Seq Scan" for kind, _ in scans(nested, "embeddings_"))


def test_the_probe_would_see_a_scan(corpus: Any, plans: Plans) -> None:
    """The probe itself: a table without an index for the question is seen to be scanned, a bitmap to have its index."""
    nested = plans("select 1 from kos.live_chunks where body = 'nothing'", ("agent:nobody",))
    assert scans(nested, "chunks") == {("Seq Scan", "")}
    bitmap = "->  Bitmap Heap Scan on memories m (cost)\n  ->  Bitmap Index Scan on memories_home  (cost)"
    assert scans([bitmap], "memories") == {("Bitmap Index Scan", "memories_home")}


def test_plans_are_taken_as_the_serving_role(plans: Plans, corpus: Any) -> None:
    """S5: the session that the plans come from has the rights of kos_reader and no more."""
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        plans("select 1 from kos.memories", corpus.scope)
