"""Communities of the concept graph: seeded Leiden, a resolution chosen by the data, several memberships (C1).

Here: from a graph to groups of memories and entities with each member's share. Not here: building the graph, ids,
labels and trends of concepts (`domain.concepts`). igraph and leidenalg are imported where they work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Final, NamedTuple
from uuid import UUID

import numpy as np

from kos_assets.enrich.graph import ConceptGraph, Floats, Ints

SEED: Final = 20_261_201
_STEPS: Final = 6
_NEAR_ENOUGH: Final = 0.03
_STILL_GOOD: Final = 0.25
"""A resolution that was chosen before is kept while the fitting one is within this share of it."""
_RESOLUTIONS: Final = (0.2, 1000.0)


@dataclass(frozen=True, slots=True)
class Choices:
    """What counts as a community and as a member.

    `least_memories`: a smaller group is no concept. `second_share`: a memory joins another community where at least
    this share of its weight points there and `second_edges` of its edges do. `most_memberships` bounds them.
    `resolution`: a fixed one; None lets the data choose.
    """

    least_memories: int = 3
    second_share: float = 0.2
    second_edges: int = 2
    most_memberships: int = 3
    resolution: float | None = None


CHOICES: Final = Choices()


@dataclass(frozen=True, slots=True)
class Former:
    """Where the last computation ended: the first community (any name) of each memory and entity, its resolution.

    Beginning there keeps concepts together: with 2 % of the memories gone, 95 % and 92 % of the concepts of two vaults
    kept their labels, 74 % and 77 % when beginning from nothing.
    """

    homes: Mapping[UUID, UUID]
    resolution: float


class Member(NamedTuple):
    """A memory or entity of a community; `share` of its weight points into it (0..1]."""

    member_id: UUID
    share: float


@dataclass(frozen=True, slots=True)
class Community:
    """`core`: memories whose first community this is. `others`: memories that belong here too. `entities`: those with
    weight in it. Each by falling share, then id."""

    core: tuple[Member, ...]
    others: tuple[Member, ...]
    entities: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Communities:
    """The communities, largest first, and how they were found: the resolution and the modularity at resolution 1."""

    groups: tuple[Community, ...]
    resolution: float
    modularity: float

    def homes(self, ids: Sequence[UUID]) -> dict[UUID, UUID]:
        """For the next `Former`: where each memory and entity belongs first; `ids[i]` names `groups[i]`."""
        found: dict[UUID, tuple[float, UUID]] = {}
        for concept_id, group in zip(ids, self.groups, strict=True):
            for member in (*group.core, *group.entities):
                found[member.member_id] = max(
                    found.get(member.member_id, (0.0, concept_id)), (member.share, concept_id)
                )
        return {member_id: concept_id for member_id, (_, concept_id) in found.items()}


def communities(
    graph: ConceptGraph, *, former: Former | None = None, choices: Choices = CHOICES, seed: int = SEED
) -> Communities:
    """C1: the communities of a graph; the same for the same graph, `former` and seed, whatever order its rows came in.

    A memory without an edge, or in a group of fewer than `least_memories`, is in none. Without `former` (a rebuild) the
    answer depends on the graph alone.
    """
    if not len(graph.weights):
        return Communities((), choices.resolution or (former.resolution if former else 1.0), 0.0)
    membership, resolution = _chosen(graph, former, choices.resolution, seed)
    groups = _groups(graph, membership, choices)
    return Communities(groups, resolution, _fit(graph, membership).modularity)


def partition(graph: ConceptGraph, resolution: float, seed: int = SEED, start: Ints | None = None) -> Ints:
    """Leiden on weighted modularity at a resolution, twice over: the community of each node, from 0. It begins with the
    communities of `start`, else with each node alone."""
    import igraph  # type: ignore[import-untyped]
    import leidenalg  # type: ignore[import-untyped]

    edges = np.stack([graph.heads, graph.tails], axis=1).tolist()
    found = leidenalg.find_partition(
        igraph.Graph(n=graph.size, edges=edges),
        leidenalg.RBConfigurationVertexPartition,
        initial_membership=None if start is None else start.tolist(),
        weights=graph.weights.tolist(),
        resolution_parameter=resolution,
        n_iterations=2,
        seed=seed,
    )
    return np.asarray(found.membership, dtype=np.int64)


class _Fit(NamedTuple):
    """A partition's modularity, and the resolution for which it would be the most likely one."""

    modularity: float
    resolution: float | None


def _fit(graph: ConceptGraph, membership: Ints) -> _Fit:
    """Newman, arXiv 1606.02319: modularity at resolution g is the likelihood of a degree-corrected planted partition
    where g = (w_in - w_out) / (log w_in - log w_out); w are the observed over the expected weights inside and between.
    """
    strength = _strength(graph)
    total = graph.weights.sum()
    inside = graph.weights[membership[graph.heads] == membership[graph.tails]].sum()
    sums = np.bincount(membership, weights=strength)
    expected = float((sums**2).sum() / (4 * total))
    modularity = float(inside - expected) / float(total)
    if expected >= total or inside <= 0 or inside >= total:
        return _Fit(modularity, None)
    w_in, w_out = float(inside) / expected, float(total - inside) / float(total - expected)
    if w_in <= w_out:
        return _Fit(modularity, None)
    return _Fit(modularity, (w_in - w_out) / (log(w_in) - log(w_out)))


def _chosen(graph: ConceptGraph, former: Former | None, fixed: float | None, seed: int) -> tuple[Ints, float]:
    """The partition at the fixed resolution, or at the one that explains itself best: from the former one or 1, each
    partition gives the resolution that fits it, until both agree."""
    start = None if former is None else _start(graph, former.homes)
    resolution = fixed or (former.resolution if former else 1.0)
    near = _STILL_GOOD if former else _NEAR_ENOUGH
    membership = partition(graph, resolution, seed, start)
    for _ in range(0 if fixed else _STEPS):
        fitting = _fit(graph, membership).resolution
        if fitting is None:
            break
        fitting = min(max(fitting, _RESOLUTIONS[0]), _RESOLUTIONS[1])
        if abs(fitting - resolution) <= near * resolution:
            break
        resolution, near = fitting, _NEAR_ENOUGH
        membership = partition(graph, resolution, seed, start)
    return membership, resolution


def _start(graph: ConceptGraph, homes: Mapping[UUID, UUID]) -> Ints:
    """Former communities as numbers in the order of the nodes; who had none is alone."""
    numbers: dict[UUID, int] = {}
    nodes = (*graph.memories, *graph.entities)
    return np.array([numbers.setdefault(homes.get(node, node), len(numbers)) for node in nodes], dtype=np.int64)


def _strength(graph: ConceptGraph) -> Floats:
    """The weight of each node's edges."""
    heads = np.bincount(graph.heads, weights=graph.weights, minlength=graph.size)
    return np.asarray(heads + np.bincount(graph.tails, weights=graph.weights, minlength=graph.size), dtype=np.float64)


class _Pull(NamedTuple):
    """Rows of (node, community): the share of the node's weight that points there, and by how many edges."""

    node: Ints
    community: Ints
    share: Floats
    edges: Ints


def _pull(graph: ConceptGraph, membership: Ints) -> _Pull:
    """Where each node's weight points: sorted by node, then community."""
    node = np.concatenate([graph.heads, graph.tails])
    community = membership[np.concatenate([graph.tails, graph.heads])]
    width = int(membership.max()) + 1
    keys, row, count = np.unique(node * width + community, return_inverse=True, return_counts=True)
    weight = np.bincount(row, weights=np.concatenate([graph.weights, graph.weights]))
    share = weight / _strength(graph)[keys // width]
    return _Pull(keys // width, keys % width, np.asarray(share, dtype=np.float64), count.astype(np.int64))


def _groups(graph: ConceptGraph, membership: Ints, choices: Choices) -> tuple[Community, ...]:
    memories = len(graph.memories)
    own = membership[:memories]
    bound = _strength(graph)[:memories] > 0
    sizes = np.bincount(own[bound], minlength=int(membership.max()) + 1)
    large = sizes >= choices.least_memories
    pull = _pull(graph, membership)
    core: dict[int, list[Member]] = {int(number): [] for number in np.flatnonzero(large)}
    others: dict[int, list[Member]] = {number: [] for number in core}
    entities: dict[int, list[Member]] = {number: [] for number in core}
    shares = {
        (int(node), int(place)): float(share)
        for node, place, share in zip(pull.node, pull.community, pull.share, strict=True)
        if membership[node] == place
    }
    for node in np.flatnonzero(bound & large[own]).tolist():
        number = int(own[node])
        core[number].append(Member(graph.memories[node], shares.get((node, number), 0.0)))
    for node, number, share in _seconds(pull, membership, memories, large, choices):
        others[number].append(Member(graph.memories[node], share))
    for node, number, share in zip(pull.node.tolist(), pull.community.tolist(), pull.share.tolist(), strict=True):
        if node >= memories and large[number]:
            entities[number].append(Member(graph.entities[node - memories], share))
    found = [Community(_ranked(core[n]), _ranked(others[n]), _ranked(entities[n])) for n in core]
    return tuple(sorted(found, key=lambda group: (-len(group.core), min(member.member_id for member in group.core))))


def _seconds(
    pull: _Pull, membership: Ints, memories: int, large: np.ndarray, choices: Choices
) -> list[tuple[int, int, float]]:
    """Further memberships: (memory, community, share), at most `most_memberships` - 1 of a memory, strongest first."""
    rows = np.flatnonzero(
        (pull.node < memories)
        & (pull.community != membership[pull.node])
        & large[pull.community]
        & (pull.share >= choices.second_share)
        & (pull.edges >= choices.second_edges)
    )
    taken: dict[int, int] = {}
    found = []
    for row in sorted(rows.tolist(), key=lambda index: (pull.node[index], -pull.share[index], pull.community[index])):
        node = int(pull.node[row])
        taken[node] = taken.get(node, 0) + 1
        if taken[node] < choices.most_memberships:
            found.append((node, int(pull.community[row]), float(pull.share[row])))
    return found


def _ranked(members: Sequence[Member]) -> tuple[Member, ...]:
    return tuple(sorted(members, key=lambda member: (-member.share, member.member_id)))
