"""Which candidates become entities (N2, N5, O3).

Here: distinct memories, decay by content age, the verdict with its numbers. Not here: which memories are revisions or
near-duplicates of one another (the caller groups them), importance and ranking (this decay is never used there).
"""

from __future__ import annotations

import math
from collections.abc import Container, Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from kos_assets.domain.entities.memory_text import Candidate, Rule
from kos_assets.domain.entities.names import EntityName
from kos_assets.domain.entities.ordinary import TESTED, is_ordinary

HALF_LIFE_DAYS: Final = 17.0
FLOOR: Final = 0.2
LEAST_MEMORIES: Final = 2
LEAST_SCORE: Final = 0.16
"""Two mentions in old memories at the confidence of a capitalised run (0.5) reach 0.2; at that of one capitalised word
(0.35) they reach 0.14, and need a third memory or a recent one."""
_DAY: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Promotion:
    """The verdict on one entity. `memories` counts groups; `score` is the sum over groups of confidence times
    weight."""

    entity: EntityName
    memories: int
    score: float
    promoted: bool
    reason: str


def age_weight(
    event_at: datetime | None, now: datetime, *, half_life_days: float = HALF_LIFE_DAYS, floor: float = FLOOR
) -> float:
    """O3: floor..1: halves every `half_life_days` since `event_at`, never below the floor. No date weighs the floor,
    the
    future 1. Both times are aware. Raises ValueError for a half-life that is not positive or a floor outside 0..1."""
    if half_life_days <= 0 or not 0 <= floor <= 1:
        raise ValueError("the half-life is positive and the floor within 0..1")
    if event_at is None:
        return floor
    days = max(0.0, (now - event_at).total_seconds() / _DAY)
    return max(floor, math.exp2(-days / half_life_days))


def promote(
    found: Iterable[Candidate],
    *,
    groups: Mapping[UUID, Hashable],
    event_at: Mapping[UUID, datetime | None],
    now: datetime,
    half_life_days: float = HALF_LIFE_DAYS,
    floor: float = FLOOR,
    least_score: float = LEAST_SCORE,
    ordinary: Container[str] = frozenset(),
    code: Container[str] = frozenset(),
) -> list[Promotion]:
    """A verdict per entity, ordered by key. N2: promoted only if at least two distinct groups of memories mention it.

    `groups` gives the group of each memory (revisions and near-duplicates share one); a memory that is not in it stands
    for itself. `ordinary` holds small_phrases of the vault: a name whose only ground is its capital letters is then no
    entity; `code` holds code_symbols of the vault, and a word that only its mixed case made a name is then none
    either. N5: ambiguous mentions count for nothing. Within a group the strongest mention counts.
    """
    strongest: dict[tuple[str, str], dict[Hashable, float]] = {}
    names: dict[tuple[str, str], EntityName] = {}
    rules: dict[tuple[str, str], set[Rule]] = {}
    for one in found:
        if one.ambiguous:
            continue
        key = one.entity.key
        names[key] = min(names.get(key, one.entity), one.entity)
        rules.setdefault(key, set()).add(one.rule)
        group = groups.get(one.memory_id, one.memory_id)
        when = event_at.get(one.memory_id)
        worth = one.confidence * age_weight(when, now, half_life_days=half_life_days, floor=floor)
        seen = strongest.setdefault(key, {})
        seen[group] = max(seen.get(group, 0.0), worth)
    verdicts = []
    for key, seen in sorted(strongest.items()):
        name, grounds = names[key].name, rules[key]
        ordinary_word = grounds <= TESTED and is_ordinary(name, ordinary)
        symbol = grounds <= {"mixed_case", "capitalised_word"} and name in code
        doubt = "code_symbol" if symbol else "ordinary_word" if ordinary_word else None
        verdicts.append(_verdict(names[key], seen, least_score, doubt))
    return verdicts


def _verdict(entity: EntityName, seen: Mapping[Hashable, float], least_score: float, doubt: str | None) -> Promotion:
    score = math.fsum(seen.values())
    if len(seen) < LEAST_MEMORIES:
        return Promotion(entity, len(seen), score, promoted=False, reason="one_memory")
    if doubt:
        return Promotion(entity, len(seen), score, promoted=False, reason=doubt)
    if score < least_score:
        return Promotion(entity, len(seen), score, promoted=False, reason="weak")
    return Promotion(entity, len(seen), score, promoted=True, reason="promoted")
