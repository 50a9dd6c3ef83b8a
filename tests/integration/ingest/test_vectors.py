"""E5, E6, S9 on a real store: outages pause and lose nothing, models never mix, a switch is one moment."""

from __future__ import annotations

from typing import Any

import pytest

from kos_assets import testing
from kos_assets.errors import ItemError, ProviderUnavailableError
from kos_assets.ingest import embeddings as ingest_embeddings
from kos_assets.ingest.embeddings import reembed
from kos_assets.recall.search import Query, Recall
from kos_assets.store import embeddings as store_embeddings

_MODELS = "select model_id, state from kos.embedding_models order by model_key"
_COUNTS = """
    select m.model_id, count(*) from kos.embeddings as e join kos.embedding_models as m using (model_key)
    group by 1 order by 1
"""


def _fill(place: Any, count: int = 9) -> None:
    for number in range(count):
        place.write(f"n{number}.md", f"Note {number} tells of the harbour and of number {number}.\n")


def _lane(place: Any) -> tuple[str, float, int]:
    [row] = place.rows(
        "select state, coalesce(extract(epoch from paused_until - now())::float8, 0), failures from kos.lanes"
    )
    return row  # type: ignore[no-any-return]


def _pass_time(place: Any) -> None:
    place.rows("update kos.lanes set paused_until = now() - interval '1 second' returning 1")


def _found(place: Any, text: str) -> list[str]:
    with testing.store(place.settings, "reader") as store:
        recall = Recall(store, place.embedder)
        try:
            return [hit.heading for hit in recall.search(Query(text, ("global",))).hits]
        finally:
            recall.close()


def test_an_outage_pauses_the_lane_and_loses_nothing(place: Any) -> None:
    """E5, R8, promise 4: texts stay pending and are found by their words; no call is made while the lane is closed;
    afterwards the work goes on by itself."""
    _fill(place)
    place.embedder.out_of_reach = True
    report = place.ingest().embeddings
    assert (report.state, report.pending, report.embedded) == ("paused", 9, 0)
    assert "away" in report.reason
    state, seconds, failures = _lane(place)
    assert (state, failures) == ("paused", 1)
    assert 25 < seconds <= 30
    assert _found(place, "harbour")
    place.embedder.out_of_reach = False
    report = place.ingest().embeddings
    assert (report.state, report.pending) == ("paused", 9)
    assert place.embedder.calls == []
    _pass_time(place)
    report = place.ingest().embeddings
    assert (report.state, report.pending, report.embedded) == ("current", 0, 9)
    assert _lane(place)[0] == "open"
    assert _lane(place)[2] == 0


def test_each_failure_waits_longer_and_a_stated_time_is_kept(place: Any) -> None:
    """E5: exponential back-off up to an hour; a reset that the provider named wins."""
    _fill(place, 1)
    place.embedder.out_of_reach = True
    waits = []
    for _ in range(9):
        place.ingest()
        waits.append(round(_lane(place)[1]))
        _pass_time(place)
    assert waits == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]
    place.embedder.retry_after_s = 7.0
    place.ingest()
    assert 5 < _lane(place)[1] <= 7


def test_what_was_embedded_before_an_outage_is_kept(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """E5: resumable after each batch; nothing is embedded twice."""
    monkeypatch.setattr(ingest_embeddings, "_BATCH", 3)
    _fill(place)
    place.embedder.fails_after = 2
    report = place.ingest().embeddings
    assert (report.state, report.embedded, report.pending) == ("paused", 6, 3)
    place.embedder.fails_after = None
    _pass_time(place)
    assert place.ingest().embeddings.embedded == 3
    assert len(place.embedder.texts) == len(set(place.embedder.texts)) == 9


def test_a_text_that_the_model_refuses_stops_no_other(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """E5, promise 4: it stays pending and is found by its words; the lane stays open; no switch leaves it behind."""
    monkeypatch.setattr(ingest_embeddings, "_BATCH", 4)
    _fill(place)
    place.embedder.refuses = "number 5"
    for embedded in (8, 0):
        report = place.ingest().embeddings
        assert (report.state, report.embedded, report.refused, report.pending) == ("current", embedded, 1, 1)
    assert "refuses" in report.reason
    assert place.rows("select count(*) from kos.lanes where state = 'paused'") == [(0,)]
    place.embedder.name = "other"
    with testing.store(place.settings) as store, pytest.raises(ItemError, match="refuses 1 text"):
        reembed(store, place.embedder, place.settings)
    assert place.rows(_MODELS)[0] == ("test/words/r1", "active")
    place.embedder.refuses, place.embedder.name = "", "words"
    assert place.ingest().embeddings.pending == 0


def test_an_edit_leaves_no_vector_of_the_old_text(place: Any) -> None:
    """R8, S9: while the provider is away an edited note has no vector rather than a stale one, and a word arm."""
    _fill(place, 2)
    place.ingest()
    place.embedder.out_of_reach = True
    place.write("n0.md", "Now about lighthouses.\n", at=1_780_000_100)
    place.ingest()
    stale = "select count(*) from kos.vector_facts where state in ('stale', 'orphan')"
    assert place.rows(stale) == [(0,)]
    assert place.rows("select count(*) from kos.vector_facts where state = 'missing'") == [(1,)]
    assert _found(place, "lighthouses") == ["n0"]


def test_another_model_is_reported_and_not_mixed(place: Any) -> None:
    """S9: a changed routing embeds nothing under the wrong name, says what to do, and search goes on."""
    _fill(place)
    place.ingest()
    place.write("later.md", "A later note about lighthouses.\n")
    place.embedder.name = "other"
    place.embedder.calls.clear()
    report = place.ingest().embeddings
    assert (report.state, report.embedded) == ("model_changed", 0)
    assert "kos reembed" in report.reason
    assert place.embedder.calls == []
    assert place.rows(_COUNTS) == [("test/words/r1", 9)]
    assert "later" in _found(place, "lighthouses")


def test_a_model_is_switched_in_one_moment(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """S9: both sets stand while the new one is built, a failure resumes where it stopped, search works all along, and
    the old set goes with the switch."""
    monkeypatch.setattr(ingest_embeddings, "_BATCH", 4)
    _fill(place)
    place.ingest()
    place.embedder.name, place.embedder.fails_after = "other", 1
    place.embedder.calls.clear()
    with testing.store(place.settings) as store:
        with pytest.raises(ProviderUnavailableError, match="Re-embedding stopped"):
            reembed(store, place.embedder, place.settings)
        assert place.rows(_COUNTS) == [("test/other/r1", 4), ("test/words/r1", 9)]
        assert place.rows(_MODELS) == [("test/words/r1", "active"), ("test/other/r1", "building")]
        place.embedder.name = "words"
        assert _found(place, "number 3 of the harbour")
        place.write("n0.md", "Edited meanwhile.\n", at=1_780_000_100)
        _pass_time(place)
        place.embedder.fails_after = None
        assert place.ingest().embeddings.state == "current"
        place.embedder.name = "other"
        with monkeypatch.context() as patched:
            patched.setattr(store_embeddings, "unlink_all", _cut)
            with pytest.raises(RuntimeError, match="cut"):
                reembed(store, place.embedder, place.settings)
        assert place.rows(_MODELS)[0] == ("test/words/r1", "active")
        assert place.rows(_COUNTS) == [("test/other/r1", 9), ("test/words/r1", 9)]
        place.embedder.calls.clear()
        report = reembed(store, place.embedder, place.settings)
    assert (report.embedded, report.pending) == (0, 0)
    assert place.rows(_MODELS) == [("test/words/r1", "retired"), ("test/other/r1", "active")]
    assert place.rows(_COUNTS) == [("test/other/r1", 9)]
    assert _found(place, "number 3 of the harbour")
    assert place.ingest().embeddings.state == "current"


def _cut(*_: object) -> None:
    raise RuntimeError("cut")


def test_back_to_the_first_model(place: Any) -> None:
    """S9: a model that was retired can be built again."""
    _fill(place, 3)
    place.ingest()
    with testing.store(place.settings) as store:
        for name in ("other", "words"):
            place.embedder.name = name
            assert reembed(store, place.embedder, place.settings).embedded == 3
    assert place.rows(_COUNTS) == [("test/words/r1", 3)]
    assert place.rows("select count(*) from kos.index_state where not linked") == [(0,)]


def test_the_real_model_tells_near_from_far(place: Any, embedder: Any) -> None:
    """G6, E3: the shipped embedder, through ingest: a restated note is near, another is not; a rerun makes no call."""
    place.write("a.md", "# Oven\n\nThe bread oven must be heated to 240 degrees before the dough goes in.\n")
    place.write("b.md", "# Oven\n\nThe bread oven must be heated to 230 degrees before the dough goes in.\n")
    place.write("c.md", "# Ferry\n\nThe last ferry to the island leaves at half past six.\n")
    place.embedder = embedder
    place.ingest()
    [(left, right)] = place.rows(
        "select s.note_path, d.note_path from kos.edges as e join kos.memories as s on e.src_id = s.memory_id"
        " join kos.memories as d on e.dst_id = d.memory_id where e.kind = 'similar_to'"
    )
    assert {left, right} == {"a.md", "b.md"}
    assert place.rows("select count(*) from kos.memories where deleted_at is null") == [(3,)]
    assert place.ingest().embeddings.embedded == 0
