"""The graph that concepts are found in (C1, O3)."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.domain.entities.promotion import age_weight
from kos_assets.enrich.graph import ConceptGraph, MemoryNode, Mention, Neighbour, Weights, build
from kos_assets.errors import InputError

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def memory(number: int) -> UUID:
    return UUID(int=number)


def entity(number: int) -> UUID:
    return UUID(int=10_000 + number)


def nodes(count: int, age: float = 0) -> list[MemoryNode]:
    return [MemoryNode(memory(number), NOW - timedelta(days=age)) for number in range(count)]


def edges(graph: ConceptGraph) -> dict[tuple[UUID, UUID], float]:
    names = (*graph.memories, *graph.entities)
    return {
        (names[head], names[tail]): float(weight)
        for head, tail, weight in zip(graph.heads, graph.tails, graph.weights, strict=True)
    }


@settings(max_examples=60)
@given(ages=st.lists(st.none() | st.floats(-50, 4000), min_size=2, max_size=8))
def test_mentions_fade_with_the_age_of_their_content(ages: list[float | None]) -> None:
    """O3: half-life 17 days on event_at, floor 0.2, in the weights of the graph; the same figures as in promotion."""
    rows = [MemoryNode(memory(n), None if age is None else NOW - timedelta(days=age)) for n, age in enumerate(ages)]
    found = edges(build(rows, [Mention(row.memory_id, entity(1), 1.0) for row in rows], [], at=NOW))
    fresh = edges(build(nodes(len(rows)), [Mention(row.memory_id, entity(1), 1.0) for row in rows], [], at=NOW))
    for row in rows:
        ratio = found[row.memory_id, entity(1)] / fresh[row.memory_id, entity(1)]
        assert ratio == pytest.approx(age_weight(row.event_at, NOW))
        assert 0.2 - 1e-9 <= ratio <= 1 + 1e-9


def test_neighbours_fade_by_both_ages() -> None:
    """O3: an edge between a fresh and an old memory lies between."""
    rows = [*nodes(1), MemoryNode(memory(1), NOW - timedelta(days=17)), MemoryNode(memory(2), NOW)]
    pairs = [Neighbour(memory(0), memory(1), 0.8), Neighbour(memory(0), memory(2), 0.8)]
    found = edges(build(rows, [], pairs, at=NOW))
    assert found[memory(0), memory(1)] / found[memory(0), memory(2)] == pytest.approx(0.5**0.5)


def test_hubs_and_lonely_entities_bind_nothing_and_rarer_ones_bind_more() -> None:
    """C1: a tag that touches everything is no bond."""
    rows = nodes(40)
    hub = [Mention(row.memory_id, entity(1), 1.0) for row in rows]
    rare = [Mention(memory(n), entity(2), 1.0) for n in range(2)]
    common = [Mention(memory(n), entity(3), 1.0) for n in range(8)]
    lonely = [Mention(memory(0), entity(4), 1.0)]
    graph = build(rows, hub + rare + common + lonely, [], at=NOW)
    assert graph.entities == (entity(2), entity(3))
    found = edges(graph)
    assert found[memory(0), entity(2)] > found[memory(0), entity(3)] > 0


def test_weak_pairs_strangers_and_loops_are_left_out() -> None:
    """C1: below the floor nothing is near; rows of memories that the caller did not choose do not count."""
    pairs = [
        Neighbour(memory(0), memory(1), 0.9),
        Neighbour(memory(1), memory(0), 0.6),
        Neighbour(memory(0), memory(2), 0.2),
        Neighbour(memory(0), memory(0), 1.0),
        Neighbour(memory(0), memory(99), 1.0),
    ]
    graph = build(nodes(3), [Mention(memory(99), entity(1), 1.0), Mention(memory(1), entity(1), 1.0)], pairs, at=NOW)
    assert edges(graph) == {(memory(0), memory(1)): pytest.approx((0.9 - 0.3) / 0.7)}
    assert graph.size == 3


def test_both_kinds_of_edges_are_in_balance() -> None:
    """C1: the share of neighbour edges does not hang on the scale of mention weights."""
    mentions = [Mention(memory(n), entity(n % 2), 1.0) for n in range(8)]
    pairs = [Neighbour(memory(n), memory((n + 2) % 8), 0.8) for n in range(8)]
    for scale in (0.01, 1.0, 50.0):
        scaled = [mention._replace(weight=mention.weight * scale) for mention in mentions]
        graph = build(nodes(8), scaled, pairs, at=NOW, weights=Weights(neighbour_share=0.65))
        near = graph.tails < 8
        share = 2 * graph.weights[near].sum() / (2 * graph.weights[near].sum() + graph.weights[~near].sum())
        assert share == pytest.approx(0.65)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_a_weight_is_a_number(wrong: float) -> None:
    """C1: a broken figure stops the step with its reason and never spreads."""
    with pytest.raises(InputError, match="weight of the concept graph"):
        build(nodes(2), [Mention(memory(0), entity(1), wrong)], [], at=NOW)
    with pytest.raises(InputError, match="weight of the concept graph"):
        build(nodes(2), [], [Neighbour(memory(0), memory(1), wrong)], at=NOW)


def test_nothing_gives_an_empty_graph() -> None:
    """C1: an empty vault is no error."""
    graph = build([], [], [], at=NOW)
    assert (graph.size, len(graph.weights)) == (0, 0)


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_the_same_rows_in_any_order_give_the_same_graph(seed: int) -> None:
    """C1: deterministic, to the last bit."""
    order = random.Random(seed)
    rows = [MemoryNode(memory(n), NOW - timedelta(days=n * 7)) for n in range(20)]
    mentions = [
        Mention(memory(order.randrange(20)), entity(order.randrange(6)), order.uniform(0.1, 1)) for _ in range(60)
    ]
    pairs = [
        Neighbour(memory(order.randrange(20)), memory(order.randrange(20)), order.uniform(0, 1)) for _ in range(60)
    ]
    first = build(rows, mentions, pairs, at=NOW)
    for items in (rows, mentions, pairs):
        order.shuffle(items)
    turned = [Neighbour(pair.second, pair.first, pair.cosine) for pair in pairs]
    second = build(rows, mentions, turned, at=NOW)
    assert (first.memories, first.entities) == (second.memories, second.entities)
    for one, other in ((first.heads, second.heads), (first.tails, second.tails), (first.weights, second.weights)):
        assert np.array_equal(one, other)
