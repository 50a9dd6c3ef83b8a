"""Two at once: writers of chunks and vectors, retirements and the fold of statistics lose nothing (promises 2, 4)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import pytest

from kos_assets import testing
from kos_assets.hygiene.statistics import fold_statistics
from kos_assets.store import chunks, embeddings, memories
from kos_assets.store.chunks import ChunkRow
from kos_assets.store.database import Store

WAIT_S = 30


def at_once(*works: Callable[[], None]) -> None:
    """Run all in threads, started together; the first error of any is raised here."""
    barrier = threading.Barrier(len(works))
    errors: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            barrier.wait(WAIT_S)
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in threads)


def rows(memory_ids: Sequence[UUID], tag: str) -> list[ChunkRow]:
    """Three chunks a memory."""
    return [
        ChunkRow(memory_id, ordinal, (), tag, 1, 1, None, "en", 5, {"all": 1, f"o{ordinal}": 2, tag: 2})
        for memory_id in memory_ids
        for ordinal in range(3)
    ]


def assert_recount(desk: Any) -> None:
    """The sums of deltas are what a recount gives."""
    assert desk.owner(
        "select term, namespace, sum(documents) from kos.lexical_terms group by 1, 2 "
        "having sum(documents) <> 0 order by 1, 2"
    ) == desk.owner(
        "select term, namespace, count(*) from kos.postings where live and expires_at is null "
        "group by 1, 2 order by 1, 2"
    )
    assert desk.owner(
        "select namespace, sum(documents), sum(tokens) from kos.lexical_totals group by 1 "
        "having sum(documents) <> 0 order by 1"
    ) == desk.owner(
        "select namespace, count(*), sum(length) from kos.chunks where live and expires_at is null "
        "group by 1 order by 1"
    )


def assert_live_only(desk: Any) -> None:
    """No derived row is live when its memory is not."""
    for table in ("chunks", "embeddings"):
        assert (
            desk.owner(
                f"select d.memory_id from kos.{table} d join kos.memories m using (memory_id) "
                f"where d.live <> (m.deleted_at is null)"
            )
            == []
        )
    assert (
        desk.owner(
            "select p.chunk_id from kos.postings p join kos.chunks c using (chunk_id) "
            "where (p.live, p.namespace) is distinct from (c.live, c.namespace)"
        )
        == []
    )


def test_two_indexers_of_the_same_memories_take_turns(desk: Any) -> None:
    """Promise 4: opposite orders, many rounds: no deadlock, each memory's chunks of one writer, statistics right."""
    ids = [desk.memory(indexed=False) for _ in range(8)]

    def index(tag: str, order: Sequence[UUID]) -> Callable[[], None]:
        def work() -> None:
            with testing.store(desk.settings) as writer:
                for _ in range(12):
                    with writer.transaction(pipeline=True) as session:
                        chunks.replace(session, order, rows(order, tag))

        return work

    at_once(index("one", ids), index("two", ids[::-1]), index("three", ids[::2]))
    assert desk.owner("select count(*), count(distinct memory_id) from kos.chunks") == [(24, 8)]
    mixed = "select memory_id from kos.chunks group by memory_id having count(distinct body) > 1"
    assert desk.owner(mixed) == []
    assert_recount(desk)
    assert_live_only(desk)


def test_folding_loses_nothing_that_is_appended_meanwhile(desk: Any) -> None:
    """R1: writers append while hygiene folds; every reader's sum stays exact and the end is a recount."""
    ids = [desk.memory(indexed=False, namespace=name) for name in ("global", "agent:one") for _ in range(3)]
    done = threading.Event()

    def append(mine: Sequence[UUID]) -> Callable[[], None]:
        def work() -> None:
            with testing.store(desk.settings) as writer:
                for number in range(15):
                    with writer.transaction(pipeline=True) as session:
                        chunks.replace(session, mine, rows(mine, f"tag{number % 3}"))

        return work

    def appended() -> None:
        try:
            at_once(append(ids[:2]), append(ids[2:4]), append(ids[4:]))
        finally:
            done.set()

    def folded() -> None:
        with testing.store(desk.settings) as writer:
            while not done.is_set():
                fold_statistics(writer)

    def read() -> None:
        sums = "select sum(documents) from kos.lexical_terms where term = 'all'"
        with testing.connect(desk.settings) as owner:
            while not done.is_set():
                found = owner.execute(sums).fetchone()
                assert found is not None
                assert found[0] in (None, 0, 6, 12, 18)

    at_once(appended, folded, folded, read)
    assert_recount(desk)
    with testing.store(desk.settings) as writer:
        fold_statistics(writer)
    assert_recount(desk)
    assert desk.owner("select term, namespace from kos.lexical_terms group by 1, 2 having count(*) > 1") == []


def _waiting(desk: Any) -> bool:
    return bool(
        desk.owner(
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        )[0][0]
    )


def _index(writer: Store, memory_id: UUID) -> None:
    with writer.transaction(pipeline=True) as session:
        chunks.replace(session, [memory_id], rows([memory_id], "late"))
        chunks.record_state(session, {memory_id: (f"c{memory_id}", f"e{memory_id}")}, recipe=1)


@pytest.mark.parametrize("step", ["chunks", "vector"])
def test_a_memory_retired_meanwhile_gets_no_live_row(desk: Any, step: str) -> None:
    """S5, promise 2: the indexer starts while a retirement is not yet committed: it waits, sees it, adds nothing."""
    key = desk.model()
    memory = desk.memory(vector=[1.0] * 8)
    before = desk.owner("select count(*) from kos.chunks")
    desk.owner("delete from kos.embeddings")

    def late() -> None:
        with testing.store(desk.settings) as writer:
            if step == "chunks":
                _index(writer, memory)
            else:
                with writer.transaction(pipeline=True) as session:
                    assert embeddings.insert(session, key, [(memory, -1, f"e{memory}", [1.0] * 8)]) == 0

    thread = threading.Thread(target=late)
    with desk.writer.transaction(pipeline=True) as session:
        memories.retire(session, [memory], at=session.value("select now()"), reason="test")
        thread.start()
        deadline = time.monotonic() + WAIT_S
        while not _waiting(desk):
            assert time.monotonic() < deadline, "the other writer does not wait for the retirement"
            assert thread.is_alive(), "the other writer went on beside the retirement"
            time.sleep(0.01)
    thread.join(WAIT_S)
    assert before == [(1,)]
    assert desk.owner("select count(*) from kos.chunks where live") == [(0,)]
    assert desk.owner("select count(*) from kos.embeddings where live") == [(0,)]
    assert_live_only(desk)
    assert_recount(desk)


def test_a_memory_that_comes_back_is_indexed_again(desk: Any) -> None:
    """Promise 4: retired before its chunks were made, restored later: it is work again, not live without words."""
    memory = desk.memory(indexed=False)
    desk.retire(memory)
    _index(desk.writer, memory)
    desk.restore(memory)
    with desk.writer.transaction(pipeline=True) as session:
        assert [row["memory_id"] for row in chunks.unindexed(session, recipe=1, limit=9)] == [memory]
    _index(desk.writer, memory)
    assert desk.owner("select count(*) from kos.chunks where live") == [(3,)]
    assert_recount(desk)


def test_retiring_waits_for_the_indexer_and_takes_its_rows_along(desk: Any) -> None:
    """S5: the indexer was first: the retirement that comes next switches off what it wrote."""
    memory = desk.memory(indexed=False)
    thread = threading.Thread(target=desk.retire, args=(memory,))
    with desk.writer.transaction(pipeline=True) as session:
        chunks.replace(session, [memory], rows([memory], "first"))
        thread.start()
        deadline = time.monotonic() + WAIT_S
        while not _waiting(desk):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    thread.join(WAIT_S)
    assert desk.owner("select count(*), count(*) filter (where live) from kos.chunks") == [(3, 0)]
    assert_live_only(desk)
    assert_recount(desk)


def test_retirements_edits_and_indexing_mix_without_a_deadlock(desk: Any) -> None:
    """Promise 4: batches over the same rows in every order, by everything that writes them."""
    key = desk.model()
    ids = [desk.memory(vector=[1.0] * 8) for _ in range(6)]

    def indexing() -> None:
        with testing.store(desk.settings) as writer:
            for _ in range(10):
                with writer.transaction(pipeline=True) as session:
                    chunks.replace(session, ids, rows(ids, "mixed"))
                    embeddings.insert(session, key, [(memory, -1, f"e{memory}", [0.5] * 8) for memory in ids[::-1]])

    def retiring(order: Sequence[UUID]) -> Callable[[], None]:
        def work() -> None:
            with testing.store(desk.settings) as writer:
                for _ in range(10):
                    with writer.transaction(pipeline=True) as session:
                        memories.by_id(session, order)
                        memories.retire(session, order, at=session.value("select now()"), reason="test")
                        session.run(
                            "update kos.memories set deleted_at = null, deleted_reason = null where memory_id = %(id)s",
                            id=order[0],
                        )

        return work

    at_once(indexing, retiring(ids[::-1]), retiring(ids))
    assert_live_only(desk)
    assert_recount(desk)
