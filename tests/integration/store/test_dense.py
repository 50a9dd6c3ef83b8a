"""Vectors: models never mix (S9), filters never empty a page (R1), none stands for a text that changed (R8)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
import pytest

from kos_assets import testing
from kos_assets.errors import StoreError
from kos_assets.store import embeddings, search
from kos_assets.store.database import Session, Store
from kos_assets.store.search import DenseQuery, Filters

PAGE = 20
QUERIES = 25


def _mask(corpus: Any, column: str, keep: Callable[[Any], bool]) -> Any:
    return np.array([keep(value) for value in corpus.columns[column]])


def _below(home: str) -> Callable[[Any], bool]:
    return lambda value: value == home or value.startswith(f"{home}/")


# Each class: namespaces, filters, and the same said over the loaded columns.
EVERYWHERE = ("global", "agent:busy", "shared:rare")
CLASSES: dict[str, tuple[tuple[str, ...], Filters, tuple[str, Callable[[Any], bool]] | None]] = {
    "no filter": (EVERYWHERE, Filters(), None),
    "one busy namespace": (("agent:busy",), Filters(), None),
    "rare namespace": (("shared:rare",), Filters(), None),
    "rare type": (
        EVERYWHERE, Filters(types=("episodic",)), ("memory_type", lambda v: v == "episodic"),
    ),
    "one percent type": (
        EVERYWHERE, Filters(types=("procedural",)), ("memory_type", lambda v: v == "procedural"),
    ),
    "rare home": (
        EVERYWHERE, Filters(home="archive/rare"), ("home", _below("archive/rare")),
    ),
    "one home of ten": (("global", "agent:busy"), Filters(home="folder/h4"), ("home", _below("folder/h4"))),
    "nearly every home": (("global", "agent:busy"), Filters(home="folder"), ("home", _below("folder"))),
    "rare window": (
        EVERYWHERE, Filters(until=datetime(2020, 1, 1, tzinfo=UTC)),
        ("days", lambda v: v >= 4000),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CLASSES)
def test_a_filtered_page_is_full_and_right(corpus: Any, name: str) -> None:
    """R1: a filter that keeps 1 row in 10,000 still fills the page; against brute force at least 0.99 in each class."""
    namespaces, filters, said = CLASSES[name]
    keep = _mask(corpus, "namespace", lambda value: value in namespaces)
    if said is not None:
        keep &= _mask(corpus, *said)
    dice = np.random.default_rng(11)
    hits = wanted = 0
    with testing.store(corpus.settings, "reader") as reader:
        for _ in range(QUERIES):
            query = corpus.vectors[dice.integers(len(corpus.ids))] + dice.normal(0, 0.05, corpus.vectors.shape[1])
            exact = corpus.nearest(query, keep, PAGE)
            with reader.transaction(namespaces=namespaces) as session:
                dense = DenseQuery(corpus.model_key, query)
                found = search.candidates(session, terms=(), dense=dense, filters=filters, limit=PAGE)
            assert len(found) >= min(PAGE, int(keep.sum()))
            page = sorted(found, key=lambda row: -row["cosine"])[:PAGE]
            hits += len({row["memory_id"] for row in page} & set(exact))
            wanted += len(exact)
    assert int(keep.sum()) == 2 or not name.startswith("rare")
    assert hits / wanted >= 0.99


@pytest.mark.parametrize("scope", [("agent:busy",), ("global", "agent:busy")], ids=["quarter", "everything"])
def test_a_page_deeper_than_one_pass_of_the_index_is_full(corpus: Any, scope: tuple[str, ...]) -> None:
    """R1: 400 rows are more than the index gives in one pass, and a namespace throws most of those away: it goes on."""
    keep = _mask(corpus, "namespace", lambda value: value in scope)
    hits = 0
    with testing.store(corpus.settings, "reader") as reader:
        for number in (3, 303, 3003):
            query = corpus.vectors[number] + corpus.vectors[number + 1] / 4
            with reader.transaction(namespaces=scope) as session:
                found = search.dense(session, DenseQuery(corpus.model_key, query), 400)
            assert len({row["memory_id"] for row in found}) == 400
            hits += len({row["memory_id"] for row in found} & set(corpus.nearest(query, keep, 400)))
    assert hits / 1200 >= 0.98


def test_cosines_are_right_and_in_order(corpus: Any) -> None:
    """R1: what the arm calls cosine is the cosine, best first."""
    query = corpus.vectors[77] + corpus.vectors[78]
    unit = query / np.linalg.norm(query)
    truth = dict(zip(corpus.ids, corpus.vectors @ unit, strict=True))
    with testing.store(corpus.settings, "reader") as reader, reader.transaction(namespaces=corpus.scope) as session:
        rows = search.dense(session, DenseQuery(corpus.model_key, query), PAGE)
    cosines = [row["cosine"] for row in rows]
    assert cosines == sorted(cosines, reverse=True)
    assert cosines == pytest.approx([truth[row["memory_id"]] for row in rows], abs=2e-3)


def test_filters_alone_give_the_newest(corpus: Any) -> None:
    """R1: without a question the page is chosen by the filters, newest event first."""
    with testing.store(corpus.settings, "reader") as reader, reader.transaction(namespaces=corpus.scope) as session:
        assert set(search.filtered(session, Filters(home="archive/rare"), 10)) == {corpus.ids[31], corpus.ids[12_031]}
        newest = search.filtered(session, Filters(home="folder/h3"), 10)
    days = {corpus.ids[number]: day for number, day in enumerate(corpus.columns["days"])}
    lowest = sorted(
        days[corpus.ids[number]] for number, home in enumerate(corpus.columns["home"]) if home == "folder/h3"
    )
    assert [days[memory_id] for memory_id in newest] == lowest[:10]


def test_as_of_hides_what_was_not_there_yet(desk: Any, reader: Store) -> None:
    """R1: as-of shows live rows with event_at and created_at not after the instant."""
    early, late = desk.memory(), desk.memory()
    desk.owner("update kos.memories set created_at = '2026-05-02' where memory_id = %s", early)
    desk.owner("update kos.memories set created_at = '2026-05-02', event_at = '2026-06-01' where memory_id = %s", late)
    with reader.transaction(namespaces=("global",)) as session:
        event = session.value("select max(event_at) from kos.live_memories")
        assert search.filtered(session, Filters(as_of=event - timedelta(days=1)), 10) == [early]
        assert search.filtered(session, Filters(as_of=event), 10) == [late, early]
        assert search.filtered(session, Filters(as_of=event - timedelta(days=60)), 10) == []


def _refused(store: Store, query: DenseQuery) -> None:
    with pytest.raises(StoreError, match="22023"), store.transaction(namespaces=("global",)) as session:
        search.dense(session, query, 5)


def test_models_never_mix(desk: Any, reader: Store) -> None:
    """S9: another model's key, another model's vector, or a model that is still building: each is refused."""
    active = desk.model("one", 8)
    desk.memory(vector=[1.0] * 8)
    with desk.writer.transaction(pipeline=True) as session:
        building = embeddings.register(session, model_id="two", dimensions=4, recipe={})
    _refused(reader, DenseQuery(active, [1.0] * 4))
    _refused(reader, DenseQuery(building, [1.0] * 4))
    _refused(reader, DenseQuery(building, [1.0] * 8))
    _refused(reader, DenseQuery(99, [1.0] * 8))
    with pytest.raises(StoreError, match="22023"), reader.transaction(namespaces=("global",)) as session:
        search.candidates(
            session, terms=(), dense=DenseQuery(building, [1.0] * 4), filters=Filters(types=("semantic",)), limit=5
        )
    with reader.transaction(namespaces=("global",)) as session:
        assert len(search.dense(session, DenseQuery(active, [1.0] * 8), 5)) == 1


def test_a_vector_of_other_dimensions_is_refused(desk: Any) -> None:
    """S9: the partition of a model holds vectors of its dimensions only, live or not."""
    key = desk.model("one", 8)
    memory = desk.memory()
    with pytest.raises(StoreError), desk.writer.transaction(pipeline=True) as session:
        embeddings.insert(session, key, [(memory, -1, f"e{memory}", [1.0] * 4)])
    with pytest.raises(psycopg.errors.CheckViolation):
        desk.owner(
            "insert into kos.embeddings (model_key, memory_id, ordinal, namespace, live, content_hash, embedding) "
            "values (%s, %s, -1, 'global', false, 'x', '[1,2]')",
            key, memory,
        )  # fmt: skip
    with pytest.raises(StoreError, match="22023"), desk.writer.transaction(pipeline=True) as session:
        embeddings.register(session, model_id="one", dimensions=4, recipe={})


def _partitions(desk: Any) -> set[str]:
    return {
        row[0]
        for row in desk.owner(
            "select inhrelid::regclass::text from pg_inherits where inhparent = 'kos.embeddings'::regclass"
        )
    }


def test_a_model_change_is_resumable_and_switches_at_once(desk: Any, reader: Store) -> None:
    """S9: both vector sets stand side by side, search keeps the old one until the switch, then its partition goes."""
    old = desk.model("old", 8)
    ids = [desk.memory(vector=[1.0, number, 0, 0, 0, 0, 0, 0]) for number in range(5)]
    with desk.writer.transaction(pipeline=True) as session:
        new = embeddings.register(session, model_id="new", dimensions=4, recipe={"prefix": "q: "})
        assert len(embeddings.pending(session, new, 100)) == 5
        embeddings.insert(session, new, [_vector(memory_id) for memory_id in ids[:2]])
    with desk.writer.transaction(pipeline=True) as session:  # as after a crash: registered again, going on
        assert embeddings.register(session, model_id="new", dimensions=4, recipe={"prefix": "q: "}) == new
        assert {row["memory_id"] for row in embeddings.pending(session, new, 100)} == set(ids[2:])
        assert embeddings.count_pending(session, new) == 3
    with reader.transaction(namespaces=("global",)) as session:
        assert len(search.dense(session, DenseQuery(old, [1.0] * 8), 10)) == 5
        assert search.active_model(session) == {"model_key": old, "model_id": "old", "dimensions": 8, "recipe": {}}
    assert len(_partitions(desk)) == 2
    with pytest.raises(RuntimeError), desk.writer.transaction(pipeline=True) as session:
        _activate_and_die(session, new)
    with reader.transaction(namespaces=("global",)) as session:
        assert len(search.dense(session, DenseQuery(old, [1.0] * 8), 10)) == 5
    with desk.writer.transaction(pipeline=True) as session:
        embeddings.insert(session, new, [_vector(memory_id) for memory_id in ids[2:]])
        embeddings.activate(session, new)
    assert _partitions(desk) == {f"kos.embeddings_{new}"}
    with reader.transaction(namespaces=("global",)) as session:
        assert len(search.dense(session, DenseQuery(new, [1.0] * 4), 10)) == 5
        rows = session.rows("select vector_dims(embedding) as dimensions from kos.live_memories")
    assert [row["dimensions"] for row in rows] == [4] * 5
    _refused(reader, DenseQuery(old, [1.0] * 8))
    back = desk.model("old", 8)  # and back again: a retired model is built anew
    assert back == old
    assert _partitions(desk) == {f"kos.embeddings_{old}"}


def _activate_and_die(session: Session, key: int) -> None:
    embeddings.activate(session, key)
    raise RuntimeError("killed between the switch and the commit")


def _vector(memory_id: UUID) -> tuple[UUID, int, str, list[float]]:
    return memory_id, -1, f"e{memory_id}", [1.0, 0.5, 0.25, 0.125]


def test_a_model_that_is_not_registered_takes_nothing_away(desk: Any, reader: Store) -> None:
    """S9: activating an unknown or retired model is refused, and the one in use stays."""
    old = desk.model("old", 8)
    desk.memory(vector=[1.0] * 8)
    for key in (99, 0):
        with pytest.raises(StoreError, match="22023"), desk.writer.transaction(pipeline=True) as session:
            embeddings.activate(session, key)
    with desk.writer.transaction(pipeline=True) as session:
        embeddings.activate(session, old)  # the active one again: nothing changes
    with reader.transaction(namespaces=("global",)) as session:
        assert len(search.dense(session, DenseQuery(old, [1.0] * 8), 10)) == 1


def test_a_vector_of_another_text_is_not_stored_and_not_kept(desk: Any) -> None:
    """R8, S9: a vector says which text it was made from; one that comes late, or outlives its text, is not there."""
    key = desk.model()
    memory = desk.memory(vector=[1.0] * 8)
    with desk.writer.transaction(pipeline=True) as session:
        assert embeddings.insert(session, key, [(memory, -1, "of an older text", [1.0] * 8)]) == 0
        assert embeddings.insert(session, key, [(memory, 0, f"e{memory}", [1.0] * 8)]) == 0
        assert embeddings.delete_stale(session, [memory]) == 0
        session.run("update kos.index_state set embed_hash = 'new text' where memory_id = %(id)s", id=memory)
        assert [row["embed_hash"] for row in embeddings.pending(session, key, 9)] == ["new text"]
        assert embeddings.delete_stale(session, [memory]) == 1
    drift = desk.owner("select state from kos.vector_facts where memory_id = %s", memory)
    assert drift == [("missing",)]


def test_a_stale_vector_is_counted_as_drift(desk: Any) -> None:
    """R8: a row whose text is newer than its vector is drift, and is searched by its words all the same."""
    desk.model()
    memory = desk.memory(vector=[1.0] * 8)
    desk.owner("update kos.index_state set embed_hash = 'newer' where memory_id = %s", memory)
    assert desk.owner("select state from kos.vector_facts where memory_id = %s", memory) == [("stale",)]
    desk.owner("delete from kos.index_state where memory_id = %s", memory)
    assert desk.owner("select state from kos.vector_facts where memory_id = %s", memory) == [("orphan",)]
