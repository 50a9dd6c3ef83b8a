"""H2 on a real store: which versions stay live, which chains are recorded, and what is left alone."""

from __future__ import annotations

import itertools
import threading
import time
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets import testing
from kos_assets.hygiene.report import Report
from kos_assets.hygiene.sweep import sweep
from kos_assets.store import invariants
from kos_assets.store.database import Store

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
_SPACES = itertools.count()


def compact(store: Store, *, limit: int = 1000) -> Report:
    return sweep(store, stale_after_days=180, steps=["compact"], now=NOW, limit=limit)["compact"]


def settle(store: Store, *, limit: int) -> None:
    """Run until a run changes nothing."""
    for _ in range(100):
        counts = compact(store, limit=limit).counts
        if not counts["retired"] + counts["recorded"] + counts["dropped"]:
            return
    raise AssertionError("it never comes to rest")


def path_down(links: list[int | None], start: int) -> tuple[list[int], bool]:
    """The versions from one to its root, and whether they lead into a circle instead."""
    path = [start]
    while (older := links[path[-1]]) is not None:
        if older in path:
            return path, True
        path.append(older)
    return path, False


def model_live(links: list[int | None], live: list[bool]) -> set[int]:
    """Said a second time: of what was live, the newest versions, and whatever is in a circle."""
    circle = {n for n in range(len(links)) if any(links[m] == n for m in path_down(links, n)[0])}
    return {n for n in range(len(links)) if live[n] and (n in circle or n not in links)}


@st.composite
def graphs(draw: Any) -> tuple[list[int | None], list[bool]]:
    """Any links at all: forests with branches, and circles as a broken import leaves them."""
    count = draw(st.integers(1, 9))
    backwards = draw(st.booleans())
    links = [
        draw(st.one_of(st.none(), st.integers(0, (n - 1 if backwards else count - 1)))) if n or not backwards else None
        for n in range(count)
    ]
    return links, draw(st.lists(st.booleans(), min_size=count, max_size=count))


@settings(max_examples=60)
@given(graph=graphs(), limit=st.sampled_from([1, 2, 1000]))
def test_exactly_the_tips_stay_live(shared_shelf: Any, graph: tuple[Any, Any], limit: int) -> None:
    """H2: any forest with any live flags ends with its live tips alone, whatever the limit; circles stay as they are;
    chains longer than two hops are recorded; a second run changes nothing."""
    links, live = graph
    space = f"agent:a{next(_SPACES)}"
    ids = [uuid4() for _ in links]
    shared_shelf.put(
        [
            {
                "memory_id": ids[n],
                "supersedes": None if older is None else ids[older],
                "live": live[n],
                "namespace": space,
            }
            for n, older in enumerate(links)
        ]
    )
    settle(shared_shelf.store, limit=limit)
    kept = model_live(links, live)
    assert shared_shelf.live(ids) == {ids[n] for n in kept}
    tips = {n: path_down(links, n) for n in range(len(links)) if n not in links}
    found = shared_shelf.rows("select tip_id, root_id, length, at from kos.chains where namespace = %s", space)
    assert sorted(found) == sorted(
        (ids[n], ids[path[-1]], len(path) - 1, NOW)
        for n, (path, leads_astray) in tips.items()
        if len(path) > 3 and not leads_astray
    )
    healed = shared_shelf.rows(
        "select memory_id from kos.memory_history where namespace = %s and action = 'compact'", space
    )
    assert sorted(row[0] for row in healed) == sorted(ids[n] for n in range(len(links)) if live[n] and n not in kept)


def test_a_healed_version_is_in_history_and_off_the_list(shelf: Any) -> None:
    """H2, S7: the audit trail is whole, and nobody is asked to review what is retired."""
    old, tip = shelf.chain([True, True])
    shelf.rows(
        "insert into kos.review_items (kind, namespace, memory_id, code) values ('stale', 'global', %s, 'x')", old
    )
    report = compact(shelf.store)
    assert report.metadata() == {
        "retired": 1, "recorded": 0, "dropped": 0, "chains": 0, "longest": 0, "circular": 0, "retired_ids": [str(old)],
    }  # fmt: skip
    assert shelf.rows("select memory_id, at, principal, action, reason, before, after from kos.memory_history") == [
        (old, NOW, "hygiene", "compact", "a later version supersedes it", {"deleted_at": None, "deleted_reason": None},
         {"deleted_at": NOW.isoformat(), "deleted_reason": "superseded"})
    ]  # fmt: skip
    assert shelf.rows("select outcome from kos.review_items") == [("superseded",)]
    assert shelf.live([old, tip]) == {tip}


def test_a_record_follows_its_chain(shelf: Any) -> None:
    """H2: it grows with the chain, and goes when a restore cuts the link or an erasure takes the root."""
    ids = shelf.chain([False, False, True])
    assert compact(shelf.store).counts["chains"] == 0
    [tip] = shelf.put([{"supersedes": ids[-1]}])
    report = compact(shelf.store)
    assert (report.ids["recorded"], report.counts["longest"], report.counts["retired"]) == ((tip,), 3, 1)
    [newer] = shelf.put([{"supersedes": tip}])
    report = compact(shelf.store)
    assert (report.ids["recorded"], report.ids["dropped"]) == ((newer,), (tip,))
    assert shelf.rows("select root_id, tip_id, length from kos.chains") == [(ids[0], newer, 4)]
    shelf.rows("update kos.memories set supersedes = null where memory_id = %s", ids[1])
    report = compact(shelf.store)
    assert report.ids["recorded"] == (newer,)
    assert shelf.rows("select root_id, tip_id, length from kos.chains") == [(ids[1], newer, 3)]
    shelf.rows("update kos.memories set supersedes = null where memory_id = %s", tip)
    assert compact(shelf.store).ids["dropped"] == (newer,)
    assert shelf.rows("select * from kos.chains") == []


def test_a_circle_is_told_and_left_alone(shelf: Any) -> None:
    """H2: an import gone wrong never makes it loop; all that leads into the circle is counted."""
    a, b, above, tip = (uuid4() for _ in range(4))
    shelf.put(
        [
            {"memory_id": memory_id, "supersedes": older}
            for memory_id, older in ((a, b), (b, a), (above, a), (tip, above))
        ]
    )
    report = compact(shelf.store)
    assert (report.counts["circular"], set(report.ids["circular"])) == (4, {a, b, above, tip})
    assert shelf.live([a, b, above, tip]) == {a, b, tip}
    assert compact(shelf.store).counts["retired"] == 0
    with testing.store(shelf.settings, "dbt") as facts:
        found = invariants.versions_single(facts)
        assert (found.violations, found.figures["circular"], set(found.sample)) == (0, 2, {str(a), str(b)})


def test_other_borders_hold(shelf: Any) -> None:
    """G4, S12: a link from another namespace retires nothing, and neither does one that names a note's memory."""
    [mine] = shelf.put([{"namespace": "global"}])
    shelf.rows(
        """insert into kos.notes (note_id, source, path, title, title_rule, content, namespace, type_reason,
        type_confidence, provenance, confidence, home_path, lang, event_rule, properties, structure, size_bytes,
        mtime_ns, file_hash, content_hash, stamped, row_hash)
        values (%s, 'vault', 'a.md', 't', 'h1', 'c', 'global', 'rule', 1, 'raw', 0.9, '', 'en', 'none', '{}', '{}', 1,
        1, 'f', 'c', true, 'r')""",
        note_id := uuid4(),
    )
    [noted] = shelf.put([{"note_id": note_id}])
    shelf.put([{"namespace": "agent:x", "supersedes": mine}, {"supersedes": noted}])
    assert compact(shelf.store).counts["retired"] == 0
    assert shelf.live([mine, noted]) == {mine, noted}


def test_a_retired_tip_gives_its_place_to_nothing_older(shelf: Any) -> None:
    """Promise 2, H2: what expired or was forgotten had superseded the older one all the same."""
    old, _ = shelf.chain([True, False])
    assert compact(shelf.store).ids["retired"] == (old,)


def test_what_was_restored_beside_its_successor_stays(shelf: Any) -> None:
    """S7, H2: a restore cuts the link, so there is no chain any more."""
    old, tip = shelf.chain([False, True])
    shelf.rows("update kos.memories set supersedes = null where memory_id = %s", tip)
    shelf.rows("update kos.memories set deleted_at = null, deleted_reason = null where memory_id = %s", old)
    assert compact(shelf.store).counts["retired"] == 0
    assert shelf.live([old, tip]) == {old, tip}


def test_the_check_sees_a_version_that_was_not_healed(shelf: Any) -> None:
    """H2: hops above it too; and it is content after the run."""
    root, _, _ = shelf.chain([True, False, True])
    shelf.chain([True])
    with testing.store(shelf.settings, "dbt") as facts:
        found = invariants.versions_single(facts)
        assert (found.violations, found.sample) == (1, (str(root),))
        compact(shelf.store)
        assert invariants.versions_single(facts).passed


def test_two_at_once_and_a_writer_beside(shelf: Any) -> None:
    """H4: every version is retired once, whoever comes first."""
    chains = [shelf.chain([True, True, True, True]) for _ in range(12)]
    reports: list[Report] = []
    threads = [
        threading.Thread(target=lambda: reports.append(compact(shelf.store))),
        threading.Thread(target=lambda: reports.append(compact(shelf.store))),
        threading.Thread(target=lambda: shelf.put([{"supersedes": ids[-1]} for ids in chains])),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    compact(shelf.store)
    inner = [memory_id for ids in chains for memory_id in ids]
    assert shelf.live(inner) == set()
    actions = shelf.rows("select memory_id, count(*) from kos.memory_history where action = 'compact' group by 1")
    assert sorted(actions) == sorted((memory_id, 1) for memory_id in inner)


def test_a_long_chain_costs_little(shelf: Any) -> None:
    """H2, H4: a year of restatements is one walk: 20,000 hops in seconds, not in hours."""
    shelf.rows(
        """insert into kos.memories (memory_id, namespace, memory_type, heading, content, provenance, confidence,
        supersedes, home, home_path, content_hash, deleted_at, deleted_reason)
        select ('00000000-0000-0000-0000-' || lpad(g::text, 12, '0'))::uuid, 'agent:busy', 'semantic', 'h', 'c', 'raw',
        0.9, case when g > 0 then ('00000000-0000-0000-0000-' || lpad((g - 1)::text, 12, '0'))::uuid end, 'a', 'a', 'c',
        case when g not in (0, 20000) then now() end, case when g not in (0, 20000) then 'superseded' end
        from generate_series(0, 20000) as g"""
    )
    started = time.perf_counter()
    report = compact(shelf.store)
    assert time.perf_counter() - started < 10
    assert (report.counts["longest"], report.ids["retired"]) == (20000, (UUID(int=0),))
