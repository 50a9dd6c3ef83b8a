"""H1 and the housekeeping of statistics and traces, on a real store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from kos_assets import testing
from kos_assets.hygiene import statistics as hygiene_statistics
from kos_assets.hygiene.statistics import fold_statistics
from kos_assets.hygiene.sweep import sweep
from kos_assets.hygiene.traces import prune_traces
from kos_assets.ingest.chunks import sync_chunks
from kos_assets.ingest.memories import sync_memories
from kos_assets.ingest.notes import sync_notes
from kos_assets.settings import Settings
from kos_assets.store.database import Store

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def expire(store: Store, *, now: datetime | None = None, limit: int = 1000) -> tuple[int, tuple[Any, ...]]:
    """One run of expiry: how many, and which."""
    report = sweep(store, stale_after_days=180, steps=["expire"], now=now, limit=limit)["expire"]
    return report.counts["expired"], report.ids["expired"]


@dataclass
class House:
    """A store with a vault whose notes end at several times."""

    settings: Settings
    store: Store

    def write(self, name: str, text: str) -> None:
        """A note, not yet ingested."""
        (self.settings.require_vault() / name).write_text(text)

    def ingest(self) -> None:
        """Notes, memories, words; no vectors are needed here."""
        sync_notes(self.store, self.settings)
        sync_memories(self.store, self.settings)
        sync_chunks(self.store, count_tokens=lambda text: len(text.split()))

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """What an administrator sees."""
        with testing.connect(self.settings) as connection:
            return connection.execute(statement, values).fetchall()


@pytest.fixture
def house(database: Settings, tmp_path: Path) -> Iterator[House]:
    """An empty one."""
    (tmp_path / "vault").mkdir()
    settings = replace(database, vault=tmp_path / "vault")
    with testing.store(settings) as store:
        yield House(settings, store)


def _ending(house: House, count: int) -> None:
    for number in range(count):
        at = (NOW + timedelta(days=number)).date().isoformat()
        house.write(f"n{number}.md", f"---\nexpires_at: {at}\n---\nNote {number}.\n")
    house.write("lasting.md", "Lasting.\n")
    house.ingest()


def test_what_is_over_is_retired_once_with_history(house: House) -> None:
    """H1, S7: at the instant itself and before, never after; a second run does nothing."""
    _ending(house, 4)
    count, ids = expire(house.store, now=NOW + timedelta(days=2))
    assert count == 3
    assert set(ids) == {row[0] for row in house.rows("select memory_id from kos.memories where deleted_at is not null")}
    gone = "select note_path, deleted_at, deleted_reason from kos.memories where deleted_at is not null order by 1"
    assert house.rows(gone) == [(f"n{number}.md", NOW + timedelta(days=2), "expired") for number in range(3)]
    assert house.rows(
        "select action, principal, reason, before, after, count(*) from kos.memory_history"
        " where action <> 'insert' group by 1, 2, 3, 4, 5"
    ) == [
        ("expire", "hygiene", "expires_at passed", {"deleted_at": None, "deleted_reason": None},
         {"deleted_at": (NOW + timedelta(days=2)).isoformat(), "deleted_reason": "expired"}, 3)
    ]  # fmt: skip
    history = house.rows("select count(*) from kos.memory_history")
    assert expire(house.store, now=NOW + timedelta(days=2)) == (0, ())
    assert house.rows("select count(*) from kos.memory_history") == history


def test_a_run_is_bounded_and_takes_the_oldest_first(house: House) -> None:
    """H1: bounded per run; the next one goes on."""
    _ending(house, 5)
    later = NOW + timedelta(days=30)
    assert [expire(house.store, now=later, limit=2)[0] for _ in range(4)] == [2, 2, 1, 0]
    order = house.rows("select m.note_path from kos.memory_history as h join kos.memories as m using (memory_id)"
                       " where action = 'expire' order by history_id")  # fmt: skip
    names = [row[0] for row in order]
    assert [sorted(names[:2]), sorted(names[2:4]), names[4:]] == [["n0.md", "n1.md"], ["n2.md", "n3.md"], ["n4.md"]]


def test_an_expired_note_comes_back_only_with_a_later_end(house: House) -> None:
    """H1, promise 2: a rescan or an edit of something else does not revive it; a new end does, with history."""
    past, future = "2020-01-01", "2150-01-01"
    house.write("a.md", f"---\nexpires_at: {past}\n---\nText.\n")
    house.ingest()
    assert expire(house.store)[0] == 1
    house.write("a.md", f"---\nexpires_at: {past}\ntags: [x]\n---\nText, edited.\n")
    house.ingest()
    assert house.rows("select deleted_reason, content from kos.memories") == [("expired", "Text, edited.")]
    house.write("a.md", f"---\nexpires_at: {future}\n---\nText.\n")
    house.ingest()
    assert house.rows("select deleted_reason from kos.memories") == [(None,)]
    actions = house.rows("select action from kos.memory_history order by history_id")
    assert [row[0] for row in actions] == ["insert", "expire", "update", "restore"]


def test_folding_of_statistics_changes_no_sum(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """R1: exact sums before, between two batches and after; afterwards one row a term and namespace; idempotent."""
    for number in range(6):
        house.write(f"n{number}.md", f"Word{number % 3} common word{number} again.\n")
    house.ingest()
    for number in range(4):
        house.write(f"n{number}.md", f"Word{number % 2} common changed.\n")
    (house.settings.require_vault() / "n5.md").unlink()
    house.ingest()
    sums = "select namespace, term, sum(documents) from kos.lexical_terms group by 1, 2 having sum(documents) <> 0 order by 1, 2"  # noqa: E501
    totals = "select namespace, lang, sum(documents), sum(tokens) from kos.lexical_totals group by 1, 2 order by 1, 2"
    exact = house.rows(
        "select p.namespace, p.term, count(*) from kos.postings as p where p.live group by 1, 2 order by 1, 2"
    )
    before, total = house.rows(sums), house.rows(totals)
    assert before == exact
    monkeypatch.setattr(hygiene_statistics, "_BATCH", 3)
    assert fold_statistics(house.store, most_batches=1) > 0
    assert house.rows(sums) == exact
    fold_statistics(house.store)
    assert house.rows(sums) == exact
    assert [row for row in house.rows(totals) if row[2]] == [row for row in total if row[2]]
    assert house.rows(
        "select max(n) from (select count(*) as n from kos.lexical_terms group by term, namespace) as c"
    ) == [(1,)]
    assert fold_statistics(house.store) == 0


def test_old_traces_go_and_their_reads_with_them(house: House) -> None:
    """R7: retention in days; younger ones stay; idempotent."""
    ids = [uuid4() for _ in range(3)]
    with house.store.transaction(pipeline=True) as session:
        for trace_id, days in zip(ids, (40, 31, 29), strict=True):
            trace: dict[str, Any] = {
                "trace_id": str(trace_id), "at": (datetime.now(UTC) - timedelta(days=days)).isoformat(),
                "principal": "owner", "session": "s", "namespaces": ["global"], "kind": "search", "query": "q",
                "filters": {}, "model_id": None, "confidence": "none",
                "results": [{"memory_id": str(ids[0])}], "latency_ms": 1.0,
            }  # fmt: skip
            session.run("select kos.record_traces(%(traces)s::jsonb)", traces=json.dumps([trace]))
    house.rows("insert into kos.trace_reads select trace_id, trace_id, at from kos.traces returning 1")
    assert prune_traces(house.store, keep_days=30) == 2
    assert house.rows("select trace_id from kos.traces") == [(ids[2],)]
    assert house.rows("select trace_id from kos.trace_reads") == [(ids[2],)]
    assert prune_traces(house.store, keep_days=30) == 0
