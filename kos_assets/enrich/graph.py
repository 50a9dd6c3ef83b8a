"""The graph that concepts are found in: memories, the entities that they mention, and memories that are alike (C1).

Here: from rows to weighted edges, with content-age decay and hub damping. Not here: communities (`communities`), SQL,
how neighbours are found. numpy only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from kos_assets.domain.entities.promotion import FLOOR, HALF_LIFE_DAYS
from kos_assets.errors import InputError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_DAY_SECONDS: Final = 86_400.0


class MemoryNode(NamedTuple):
    """A memory and when what it tells happened (aware; None: not known, which weighs the floor)."""

    memory_id: UUID
    event_at: datetime | None


class Mention(NamedTuple):
    """A memory mentions an entity (or tag). `weight` > 0: how sure and how often."""

    memory_id: UUID
    entity_id: UUID
    weight: float


class Neighbour(NamedTuple):
    """Two memories whose vectors are near: one pair of an approximate nearest-neighbour list."""

    first: UUID
    second: UUID
    cosine: float


@dataclass(frozen=True, slots=True)
class Weights:
    """How rows become weights.

    `hub_share`: an entity in more than this share of the memories is no bond at all (never below `hub_least` memories).
    `cosine_floor`: nearer pairs than this are edges, weighted by what they have above it. `neighbour_share`: of the
    weight of a memory that has both kinds of edges, what comes from its neighbours on average.
    """

    hub_share: float = 0.1
    hub_least: int = 10
    cosine_floor: float = 0.3
    neighbour_share: float = 0.65
    half_life_days: float = HALF_LIFE_DAYS
    decay_floor: float = FLOOR


WEIGHTS: Final = Weights()


@dataclass(frozen=True, slots=True)
class ConceptGraph:
    """Nodes 0..len(memories)-1 are memories, the rest entities; both by id. Edges `heads[i]`-`tails[i]`, each pair
    once, smaller node first, with `weights[i]` > 0. The same for rows in any order."""

    memories: tuple[UUID, ...]
    entities: tuple[UUID, ...]
    heads: Ints
    tails: Ints
    weights: Floats

    @property
    def size(self) -> int:
        return len(self.memories) + len(self.entities)


def build(
    memories: Iterable[MemoryNode],
    mentions: Iterable[Mention],
    neighbours: Iterable[Neighbour],
    *,
    at: datetime,
    weights: Weights = WEIGHTS,
) -> ConceptGraph:
    """C1, O3: the graph at the instant `at`.

    A mention counts by weight x decay of its memory x rarity of its entity; hubs and entities of one memory bind
    nothing and are left out. A neighbour pair counts by what its cosine has above the floor x the geometric mean of
    both decays. Rows that name a memory which is not in `memories` are left out: the caller chooses the memories that
    count. Of a pair that comes twice the greater weight counts. InputError for a weight or cosine that is no finite
    number.
    """
    found = dict(sorted((row.memory_id, row.event_at) for row in memories))
    place = {memory_id: index for index, memory_id in enumerate(found)}
    decay = _decay(list(found.values()), at, weights)
    pairs, mention_weights, entities = _mention_edges(mentions, place, decay, weights)
    near, near_weights = _neighbour_edges(neighbours, place, decay, weights)
    if len(pairs) and len(near):
        near_weights = near_weights * _balance(pairs, mention_weights, near, near_weights, weights.neighbour_share)
    edges = np.concatenate([pairs, near])
    edge_weights = np.concatenate([mention_weights, near_weights])
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    return ConceptGraph(tuple(found), entities, edges[order, 0], edges[order, 1], edge_weights[order])


def _decay(moments: Sequence[datetime | None], at: datetime, weights: Weights) -> Floats:
    """O3 for all memories at once; the same figures as `domain.entities.promotion.age_weight`."""
    now = at.timestamp()
    seconds = [np.inf if moment is None else now - moment.timestamp() for moment in moments]
    ages = np.array(seconds, dtype=np.float64) / _DAY_SECONDS
    faded = 0.5 ** (np.maximum(ages, 0.0) / weights.half_life_days)
    return np.asarray(np.maximum(weights.decay_floor, faded), dtype=np.float64)


def _mention_edges(
    mentions: Iterable[Mention], place: dict[UUID, int], decay: Floats, weights: Weights
) -> tuple[Ints, Floats, tuple[UUID, ...]]:
    greatest: dict[tuple[UUID, int], float] = {}
    for memory_id, entity_id, weight in mentions:
        index = place.get(memory_id)
        if index is not None and _is_positive(weight):
            key = (entity_id, index)
            greatest[key] = max(weight, greatest.get(key, 0.0))
    rows = sorted(greatest.items())
    names = sorted({entity_id for entity_id, _ in greatest})
    number = {entity_id: index for index, entity_id in enumerate(names)}
    owner = np.array([number[key[0]] for key, _ in rows], dtype=np.int64)
    memory = np.array([key[1] for key, _ in rows], dtype=np.int64)
    value = np.array([weight for _, weight in rows], dtype=np.float64)
    degree = np.bincount(owner, minlength=len(names))
    rarity = _rarity(degree, len(place), weights)
    kept = np.flatnonzero(rarity > 0)
    renumbered = np.full(len(names), -1, dtype=np.int64)
    renumbered[kept] = np.arange(len(kept)) + len(place)
    bound = rarity[owner] > 0
    owner, memory, value = owner[bound], memory[bound], value[bound]
    edges = np.stack([memory, renumbered[owner]], axis=1) if len(owner) else np.empty((0, 2), dtype=np.int64)
    return edges, value * decay[memory] * rarity[owner], tuple(names[index] for index in kept)


def _rarity(degree: Ints, memories: int, weights: Weights) -> Floats:
    """Hub damping: 0 for a hub or an entity of one memory, else its share of what is left to tell, log(n/d)/log(n)."""
    most = max(weights.hub_least, weights.hub_share * memories)
    bonds = (degree >= 2) & (degree <= most)
    told = np.log((memories + 1) / np.maximum(degree, 1)) / np.log(memories + 1)
    return np.asarray(np.where(bonds, told, 0.0), dtype=np.float64)


def _neighbour_edges(
    neighbours: Iterable[Neighbour], place: dict[UUID, int], decay: Floats, weights: Weights
) -> tuple[Ints, Floats]:
    greatest: dict[tuple[int, int], float] = {}
    for first, second, cosine in neighbours:
        one, other = place.get(first), place.get(second)
        above = (cosine - weights.cosine_floor) / (1 - weights.cosine_floor)
        if one is None or other is None or one == other or not _is_positive(above):
            continue
        key = (min(one, other), max(one, other))
        greatest[key] = max(min(above, 1.0), greatest.get(key, 0.0))
    edges = np.array(sorted(greatest), dtype=np.int64).reshape(-1, 2)
    value = np.array([greatest[int(one), int(other)] for one, other in edges], dtype=np.float64)
    return edges, value * np.sqrt(decay[edges[:, 0]] * decay[edges[:, 1]])


def _balance(pairs: Ints, mention_weights: Floats, near: Ints, near_weights: Floats, share: float) -> float:
    """What neighbour edges are multiplied by, so that a memory with both kinds has `share` of its weight from them."""
    by_mention = mention_weights.sum() / len(np.unique(pairs[:, 0]))
    by_nearness = 2 * near_weights.sum() / len(np.unique(near))
    return float(by_mention / by_nearness * share / (1 - share))


def _is_positive(number: float) -> bool:
    if not np.isfinite(number):
        raise InputError(
            f"A weight of the concept graph is {number!r}.", why="A weight or a cosine is a finite number."
        )
    return bool(number > 0)
