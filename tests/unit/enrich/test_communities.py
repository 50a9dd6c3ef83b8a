"""Communities: seeded Leiden, resolution by the data, several memberships (C1)."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from uuid import UUID

import pytest

from kos_assets.enrich.communities import Choices, Communities, Former, communities, partition
from kos_assets.enrich.graph import ConceptGraph, MemoryNode, Mention, Neighbour, build

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def memory(number: int) -> UUID:
    return UUID(int=number)


def entity(number: int) -> UUID:
    return UUID(int=10_000 + number)


Rows = tuple[list[MemoryNode], list[Mention], list[Neighbour]]


def planted(topics: int, size: int, seed: int = 1) -> Rows:
    """Topics of `size` memories each, with three entities of their own, and noise between them."""
    order = random.Random(seed)
    count = topics * size
    mentions, pairs = [], []
    for number in range(count):
        topic = number // size
        mentions += [Mention(memory(number), entity(topic * 3 + order.randrange(3)), 1.0) for _ in range(2)]
        pairs += [
            Neighbour(memory(number), memory(topic * size + order.randrange(size)), order.uniform(0.6, 0.9))
            for _ in range(4)
        ]
        pairs.append(Neighbour(memory(number), memory(order.randrange(count)), order.uniform(0.35, 0.6)))
    return [MemoryNode(memory(number), NOW) for number in range(count)], mentions, pairs


def graph_of(rows: Rows) -> ConceptGraph:
    return build(*rows, at=NOW)


def cores(found: Communities) -> set[frozenset[int]]:
    return {frozenset(member.member_id.int for member in group.core) for group in found.groups}


@pytest.mark.parametrize(("topics", "size"), [(4, 10), (12, 8), (40, 12)])
def test_planted_topics_are_found_whatever_their_number(topics: int, size: int) -> None:
    """C1: the data choose the resolution: few and many topics come out as they were planted."""
    found = communities(graph_of(planted(topics, size)))
    assert cores(found) == {frozenset(range(topic * size, (topic + 1) * size)) for topic in range(topics)}
    assert found.modularity > 0.5


def test_the_resolution_of_modularity_alone_would_not_do() -> None:
    """C1: at resolution 1 many small topics run together; the chosen one tells them apart."""
    graph = graph_of(planted(120, 4))
    fixed = communities(graph, choices=Choices(resolution=1.0))
    chosen = communities(graph)
    assert chosen.resolution > 2
    assert len(chosen.groups) > 1.5 * len(fixed.groups)


def test_the_same_input_in_any_order_gives_the_same_communities() -> None:
    """C1: seeded and deterministic."""
    rows = planted(6, 9)
    first = communities(graph_of(rows))
    for seed in range(4):
        for items in rows:
            random.Random(seed).shuffle(items)
        assert communities(graph_of(rows)) == first


def test_what_was_found_before_holds_while_it_fits() -> None:
    """C1, C2: beginning with the former communities, a few notes more or less change nothing else, and it is cheaper:
    the former resolution is kept; the same `former` gives the same answer in any order."""
    rows = planted(8, 9)
    first = communities(graph_of(rows))
    names = [UUID(int=500_000 + number) for number in range(len(first.groups))]
    former = Former(first.homes(names), first.resolution)
    fewer = ([row for row in rows[0] if row.memory_id.int not in (3, 20)], rows[1], rows[2])
    second = communities(graph_of(fewer), former=former)
    assert second.resolution == first.resolution
    assert cores(second) == {core - {3, 20} for core in cores(first)}
    for items in fewer:
        random.Random(5).shuffle(items)
    reverse = Former(dict(reversed(former.homes.items())), former.resolution)
    assert communities(graph_of(fewer), former=reverse) == second


def test_a_former_that_fits_no_more_is_given_up() -> None:
    """C1: the data outweigh the past: one lump of everything, at a resolution of its own, falls apart again."""
    graph = graph_of(planted(12, 8))
    lump = Former({member: UUID(int=7) for member in (*graph.memories, *graph.entities)}, 0.3)
    assert cores(communities(graph, former=lump)) == cores(communities(graph))


def test_a_seed_is_all_the_chance_there_is() -> None:
    """C1: seeded."""
    graph = graph_of(planted(10, 6))
    random.seed(1)
    first = partition(graph, 1.0, seed=7)
    random.seed(2)
    assert partition(graph, 1.0, seed=7).tolist() == first.tolist()


def test_a_memory_between_two_topics_is_in_both() -> None:
    """C1: a memory may belong to several concepts; its shares say how much, and never more than one together."""
    rows = planted(3, 8)
    between = memory(900)
    rows[0].append(MemoryNode(between, NOW))
    rows[1].extend(Mention(between, entity(number), 1.0) for number in (0, 1, 3, 4))
    found = communities(graph_of(rows))
    homes = [group for group in found.groups if between in {member.member_id for member in group.core}]
    guests = [group for group in found.groups if between in {member.member_id for member in group.others}]
    assert (len(homes), len(guests)) == (1, 1)
    shares = [m.share for group in (*homes, *guests) for m in (*group.core, *group.others) if m.member_id == between]
    assert min(shares) >= 0.2
    assert sum(shares) <= 1 + 1e-9
    alone = communities(graph_of(rows), choices=Choices(most_memberships=1))
    assert not any(group.others for group in alone.groups)


def test_small_groups_and_lonely_memories_are_in_no_concept() -> None:
    """C1: two notes are no concept, one without any bond is none."""
    rows = planted(2, 8)
    rows[0].extend(MemoryNode(memory(number), NOW) for number in (800, 801, 802))
    rows[2].append(Neighbour(memory(800), memory(801), 0.99))
    found = communities(graph_of(rows))
    assert cores(found) == {frozenset(range(8)), frozenset(range(8, 16))}


def test_entities_carry_the_share_of_their_weight() -> None:
    """C1: entities are members too, each where its mentions are."""
    found = communities(graph_of(planted(3, 8)))
    for group in found.groups:
        topic = group.core[0].member_id.int // 8
        assert {member.member_id for member in group.entities} == {entity(topic * 3 + n) for n in range(3)}
        assert all(member.share == pytest.approx(1) for member in group.entities)


def test_nothing_gives_no_communities() -> None:
    """C1: an empty or unconnected vault is no error."""
    assert communities(build([], [], [], at=NOW)).groups == ()
    assert communities(build([MemoryNode(memory(1), None)], [], [], at=NOW)).groups == ()
