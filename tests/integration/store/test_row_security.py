"""What a transaction may see (S5, S6, S12): namespaces, and no row that is retired, expired or superseded, anywhere.

The walk asks every path that recall, the gate and the health models have, with the same planted rows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from kos_assets import testing
from kos_assets.errors import InputError, StoreError
from kos_assets.inference.embedding import Embedder
from kos_assets.recall.search import Query, Recall
from kos_assets.settings import Settings
from kos_assets.store import embeddings, memories, search
from kos_assets.store.database import Session, Store, role_dsn
from kos_assets.store.search import DenseQuery, Filters

TEXT = "The lighthouse keeper oils the lamp on Thursdays"
TERMS = {"lighthous": 2, "keeper": 1, "lamp": 1}
WORDS = [(term, number) for number, term in enumerate(TERMS, start=1)]
LIVE_VIEWS = ("live_memories", "live_chunks", "live_embeddings")
SCOPE = ("global", "shared:owner")


@dataclass
class Planted:
    """One live memory per namespace and four that no reader may meet; all say the same."""

    settings: Settings
    model_key: int
    vector: Any
    live: UUID
    foreign: UUID
    gone: dict[str, UUID]


@pytest.fixture(scope="module")
def planted(shared_desk: Any, embedder: Embedder) -> Planted:
    """Rows that match the same query equally well, live and not; for tests that change nothing."""
    return _plant(shared_desk, embedder)


@pytest.fixture
def planted_apart(desk: Any, embedder: Embedder) -> Planted:
    """The same in a database of the test's own."""
    return _plant(desk, embedder)


def _plant(desk: Any, embedder: Embedder) -> Planted:
    key = desk.model(embedder.identity.model_id, embedder.identity.dims)
    [vector] = embedder.embed_documents([TEXT])
    common = {"heading": "Lighthouse", "content": TEXT, "terms": [TERMS], "vector": vector}
    now = datetime.now(UTC)
    gone = {
        "retired": desk.memory(**common),
        "expired": desk.memory(**common, memory_type="working", expires_at=now + timedelta(seconds=3600)),
        "superseded": desk.memory(**common),
        "folded": desk.memory(**common),
    }
    live = desk.memory(**common)
    foreign = desk.memory(**common, namespace="agent:rival")
    desk.retire(gone["retired"])
    desk.retire(gone["superseded"], reason="superseded")
    desk.change(live, supersedes=gone["superseded"])
    desk.retire(gone["folded"], reason="folded")
    # Expired, but no job has come by yet: nothing but the clock says so.
    desk.owner("update kos.memories set expires_at = now() - interval '1 second' where memory_id = %s", gone["expired"])
    return Planted(desk.settings, key, vector, live, foreign, gone)


def _view(name: str) -> Callable[[Session, Planted], set[UUID]]:
    statement = f"select memory_id from kos.{name}"
    return lambda session, planted: {row["memory_id"] for row in session.rows(statement)}


def _postings(session: Session, planted: Planted) -> set[UUID]:
    rows = session.rows(
        "select c.memory_id from kos.live_postings p left join kos.live_chunks c on p.chunk_id = c.chunk_id"
    )
    return {row["memory_id"] for row in rows}


def _lexical(session: Session, planted: Planted) -> set[UUID]:
    found = [row["chunk_id"] for row in search.lexical(session, WORDS, 50)]
    rows = session.rows("select memory_id from kos.live_chunks where chunk_id = any(%(ids)s)", ids=found)
    assert len(rows) == len(found)
    return {row["memory_id"] for row in rows}


def _dense(session: Session, planted: Planted) -> set[UUID]:
    return {row["memory_id"] for row in search.dense(session, DenseQuery(planted.model_key, planted.vector), 50)}


def _dense_among(session: Session, planted: Planted) -> set[UUID]:
    every = [planted.live, planted.foreign, *planted.gone.values()]
    return {row["memory_id"] for row in search.dense(session, DenseQuery(planted.model_key, planted.vector), 50, every)}


def _candidates(filters: Filters) -> Callable[[Session, Planted], set[UUID]]:
    def found(session: Session, planted: Planted) -> set[UUID]:
        dense = DenseQuery(planted.model_key, planted.vector)
        rows = search.candidates(session, terms=WORDS, dense=dense, filters=filters, limit=50)
        return {row["memory_id"] for row in rows}

    return found


def _page(session: Session, planted: Planted) -> set[UUID]:
    return set(search.filtered(session, Filters(home="notes"), 50))


def _lines(session: Session, planted: Planted) -> set[UUID]:
    every = [planted.live, planted.foreign, *planted.gone.values()]
    found = search.lines(session, every, stale_days=180)
    return set(found) | set(search.whole(session, every, stale_days=180))


PATHS: dict[str, Callable[[Session, Planted], set[UUID]]] = {
    **{name: _view(name) for name in LIVE_VIEWS},
    "live_postings": _postings,
    "lexical_arm": _lexical,
    "dense_arm": _dense,
    "dense_arm among ids": _dense_among,
    "search_candidates": _candidates(Filters()),
    "search_candidates filtered": _candidates(Filters(types=("semantic", "working"))),
    "filtered_page": _page,
    "lines and whole": _lines,
}


@pytest.mark.parametrize("path", PATHS)
def test_no_path_returns_a_row_that_is_not_live(planted: Planted, path: str) -> None:
    """S5: neither retired, expired (before any job ran), superseded nor folded rows come out, whatever is asked."""
    with testing.store(planted.settings, "reader") as reader, reader.transaction(namespaces=SCOPE) as session:
        assert PATHS[path](session, planted) == {planted.live}


@pytest.mark.parametrize("path", PATHS)
def test_without_namespaces_nothing_is_visible(planted: Planted, path: str) -> None:
    """S6: with no namespace set every view and function is empty; so it is for a namespace that nobody uses."""
    with testing.store(planted.settings, "reader") as reader:
        for namespaces in ((), ("agent:nobody",)):
            with reader.transaction(namespaces=namespaces) as session:
                assert PATHS[path](session, planted) == set()


@pytest.mark.parametrize("path", PATHS)
def test_a_namespace_shows_its_own_rows_only(planted: Planted, path: str) -> None:
    """S6: the scope of another agent shows that agent's row, and not ours."""
    with (
        testing.store(planted.settings, "reader") as reader,
        reader.transaction(namespaces=("agent:rival",)) as session,
    ):
        assert PATHS[path](session, planted) == {planted.foreign}


def test_statistics_are_of_the_scope(planted: Planted) -> None:
    """S12: the number of documents and their languages are counted over what the caller may read."""
    with testing.store(planted.settings, "reader") as reader:
        with reader.transaction() as session:
            assert search.corpus(session)["documents"] == 0
            assert search.languages(session) == []
        with reader.transaction(namespaces=("global",)) as session:
            assert search.corpus(session)["documents"] == 1
        with reader.transaction(namespaces=("global", "agent:rival")) as session:
            assert search.corpus(session)["documents"] == 2


def test_edges_show_only_between_visible_memories(planted_apart: Planted, desk: Any) -> None:
    """S12: an edge to a retired row or into another namespace is not there; both ends must be readable."""
    pairs = [
        (planted_apart.live, planted_apart.foreign),
        *((planted_apart.live, gone) for gone in planted_apart.gone.values()),
    ]
    for src, dst in pairs:
        for ends in ((src, dst), (dst, src)):
            desk.owner("insert into kos.edges (src_id, kind, dst_id) values (%s, 'similar_to', %s)", *ends)
    count = "select count(*) from kos.live_edges"
    with testing.store(planted_apart.settings, "reader") as reader:
        for namespaces, expected in (((), 0), (("global",), 0), (("agent:rival",), 0), (("global", "agent:rival"), 2)):
            with reader.transaction(namespaces=namespaces) as session:
                assert session.value(count) == expected


def test_near_pairs_and_the_gate_skip_what_is_not_live(planted_apart: Planted, desk: Any) -> None:
    """M1, G3: neither the health model's pairs nor the gate's nearest row is retired or expired."""
    twin = desk.memory(terms=[TERMS], vector=planted_apart.vector)
    with testing.store(planted_apart.settings) as writer, writer.transaction(pipeline=True) as session:
        pairs = session.rows("select left_id, right_id, namespace from kos.near_pairs(null, 0.08, 20)")
        assert [{row["left_id"], row["right_id"]} for row in pairs] == [{planted_apart.live, twin}]
        vector = embeddings.half(planted_apart.vector)
        near = memories.near(session, "agent:rival", vector, distance=2.0, most=9)
        assert [memory_id for memory_id, _ in near] == [planted_apart.foreign]
        desk.retire(planted_apart.foreign)
    with testing.store(planted_apart.settings) as writer, writer.transaction(pipeline=True) as session:
        vector = embeddings.half(planted_apart.vector)
        assert memories.near(session, "agent:rival", vector, distance=2.0, most=9) == []
    with testing.store(planted_apart.settings) as writer, writer.transaction(namespaces=("global",)) as session:
        vector = embeddings.half(planted_apart.vector)
        assert memories.near(session, "agent:rival", vector, distance=2.0, most=9) == [], "S6: not its namespace"


@pytest.fixture
def recall(planted: Planted, embedder: Embedder) -> Iterator[Recall]:
    """Recall as the service runs it: serving role, real embedder."""
    with testing.store(planted.settings, "reader") as reader:
        opened = Recall(reader, embedder)
        yield opened
        opened.close()


@pytest.mark.parametrize(
    "query",
    [
        Query("lighthouse keeper lamp", SCOPE),
        Query("who oils the lamp", SCOPE, types=("semantic", "working")),
        Query("", SCOPE, home="notes"),
        Query("lighthouse", SCOPE, until=datetime(2030, 1, 1, tzinfo=UTC), limit=100),
    ],
    ids=["words and meaning", "types", "filters alone", "window"],
)
def test_recall_returns_the_live_row_alone(planted: Planted, recall: Recall, query: Query) -> None:
    """R1, S5: the product's own search meets the live row and nothing else."""
    assert [hit.memory_id for hit in recall.search(query).hits] == [planted.live]


def test_fetch_says_missing_for_all_that_is_not_live_or_not_ours(planted: Planted, recall: Recall) -> None:
    """R2, S5: retired, expired, superseded, foreign and unknown ids are all alike."""
    others: Sequence[UUID] = [*planted.gone.values(), planted.foreign, UUID(int=1)]
    fetched = recall.fetch([planted.live, *others], namespaces=SCOPE)
    assert [row["memory_id"] for row in fetched.memories] == [planted.live]
    assert list(fetched.missing) == list(others)


def test_namespaces_do_not_outlive_their_transaction(planted: Planted) -> None:
    """S6: the pooled connection that showed a namespace shows nothing in its next transaction, even after an error."""
    count = "select count(*), pg_backend_pid() as pid from kos.live_memories"
    with Store(role_dsn(planted.settings, "reader"), pool_size=1) as reader:
        with reader.transaction(namespaces=("global", "agent:rival")) as session:
            first = session.one(count)
        with reader.transaction() as session:
            second = session.one(count)
        with pytest.raises(StoreError, match="22012"), reader.transaction(namespaces=("global",)) as session:
            session.value("select 1 / 0")
        with reader.transaction() as session:
            third = session.one(count)
    assert first is not None
    assert second is not None
    assert third is not None
    assert (first["count"], second["count"], third["count"]) == (2, 0, 0)
    assert first["pid"] == second["pid"]


def test_threads_that_share_a_pool_keep_their_scopes_apart(planted: Planted) -> None:
    """S6: two callers on two connections in turn, many times: none ever sees the other's row."""
    seen: dict[str, set[UUID]] = {"global": set(), "agent:rival": set()}
    with Store(role_dsn(planted.settings, "reader"), pool_size=2) as reader:

        def ask(namespace: str) -> None:
            for _ in range(40):
                with reader.transaction(namespaces=(namespace,)) as session:
                    seen[namespace] |= {
                        row["memory_id"] for row in session.rows("select memory_id from kos.live_memories")
                    }

        threads = [threading.Thread(target=ask, args=(name,)) for name in ("global", "agent:rival") * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert seen == {"global": {planted.live}, "agent:rival": {planted.foreign}}


def test_a_namespace_cannot_be_smuggled_in(planted: Planted) -> None:
    """S6: names travel in one setting, so a name with a comma (or none) is refused before it gets there."""
    with testing.store(planted.settings, "reader") as reader:
        for names in (("global,agent:rival",), ("",)):
            with pytest.raises(InputError), reader.transaction(namespaces=names):
                pass
        with pytest.raises(StoreError), reader.transaction(pipeline=True):
            pass


def test_a_foreign_namespace_shapes_no_score(desk: Any, reader: Store) -> None:
    """S12: BM25 scores and dense results are the same number for number with and without another agent's rows."""
    desk.model()
    for number in range(30):
        vector = [1.0, number / 10, 0, 0, 0, 0, 0, 0]
        desk.memory(terms=[{"lamp": 1 + number % 3, f"w{number % 5}": 2}], lengths=[20 + number], vector=vector)
    query = DenseQuery(desk.model_key, [1.0, 0.5, 0, 0, 0, 0, 0, 0])

    def asked() -> tuple[Any, Any, Any]:
        with reader.transaction(namespaces=("global",)) as session:
            words = search.lexical(session, [("lamp", 1), ("w3", 2)], 20)
            both = search.candidates(session, terms=[("lamp", 1), ("w3", 2)], dense=query, filters=Filters(), limit=20)
            return words, search.dense(session, query, 20), sorted(both, key=lambda row: str(row["memory_id"]))

    before = asked()
    assert len(before[0]) == 20
    for _ in range(20):
        desk.memory(namespace="agent:rival", terms=[{"lamp": 9, "w3": 9}], lengths=[900], vector=query.vector)
    assert asked() == before


def test_working_memory_needs_an_end(desk: Any) -> None:
    """S3: the database itself refuses a working row without expires_at, at birth and later."""
    with pytest.raises(StoreError, match="23514"):
        desk.memory(memory_type="working")
    memory = desk.memory(memory_type="working", expires_at=datetime.now(UTC) + timedelta(days=1))
    with pytest.raises(StoreError, match="23514"):
        desk.change(memory, expires_at=None)
    with pytest.raises(StoreError, match="23514"):
        desk.memory(memory_type="dream")


def test_types_and_bounds_are_refused_by_the_database(desk: Any) -> None:
    """S4: provenance is one of three words and confidence lies in 0..1."""
    for values in ({"provenance": "rumour"}, {"confidence": 1.2}, {"confidence": -0.1}, {"namespace": "everyone"}):
        with pytest.raises(StoreError, match="23514"):
            desk.memory(**values)


def test_the_writer_outside_the_pipeline_keeps_to_its_namespaces(planted: Planted) -> None:
    """S6: kos_writer is under the same policies: it neither sees nor writes a namespace that was not named."""
    with testing.store(planted.settings) as writer:
        with writer.transaction(namespaces=("global",)) as session:
            every = [planted.live, planted.foreign]
            assert set(memories.by_id(session, every)) == {planted.live}
            assert memories.retire(session, [planted.foreign], at=datetime.now(UTC), reason="x") == []
        with pytest.raises(StoreError), writer.transaction(namespaces=("global",)) as session:
            session.run("update kos.memories set namespace = 'agent:rival' where memory_id = %(id)s", id=planted.live)


def test_vectors_of_the_view_follow_the_memory(planted: Planted) -> None:
    """S2: `embedding` is reachable by that name in the live view: the active model's vector of the whole memory."""
    with testing.store(planted.settings, "reader") as reader, reader.transaction(namespaces=("global",)) as session:
        row = session.one("select embedding, indexed_hash from kos.live_memories")
    assert row is not None
    assert row["embedding"].to_list() == pytest.approx(embeddings.half(planted.vector).to_list())
    assert row["indexed_hash"] == f"c{planted.live}"
