"""Which entities may be one, with the evidence for and against (N3, N4).

Here: suggestions, their evidence and a recommendation; nothing here merges. Not here: the accounts of what became of
suggestions (accounts.py), who decides, and the ledger. Only equal class and normal form make two names one entity, and
those already share an id.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, Literal
from uuid import UUID

from kos_assets.domain.entities.names import (
    EntityName,
    folded,
    identifiers,
    is_acronym,
    is_initialled,
    is_part,
    normalise,
    similarity,
    trigrams,
    words,
)

EvidenceKind = Literal[
    "same_spelling",
    "similar_name",
    "initials",
    "acronym",
    "part_of_name",
    "shared_alias",
    "same_mail",
    "shared_context",
    "other_identifier",
    "other_class",
    "other_mail",
    "other_given_name",
    "other_family_name",
    "co_mention",
]
Recommendation = Literal["merge", "reject", "unsure"]
Pair = tuple[UUID, UUID]

LEAST_SIMILARITY: Final = 0.6
"""Trigram likeness below which two names alone are no reason to ask a person."""
LEAST_SCORE: Final = 0.25
_SURE: Final = 0.8
_FULLEST_BUCKET: Final = 60
_LEAST_CONTEXT: Final = 3
_CLOSE_CLASSES: Final = frozenset(
    frozenset(pair)
    for pair in (
        ("tool", "product"),
        ("tool", "repository"),
        ("tool", "topic"),
        ("project", "repository"),
        ("project", "topic"),
        ("project", "tool"),
        ("place", "topic"),
        ("organisation", "topic"),
        ("person", "topic"),
        ("event", "document"),
        ("document", "topic"),
    )
)


@dataclass(frozen=True, slots=True)
class EntityFacts:
    """What is known of one promoted entity. `groups` are the distinct memories that mention it (near-duplicates as
    one),
    `neighbours` the keys of other entities that those memories mention."""

    entity: EntityName
    aliases: tuple[str, ...] = ()
    mails: frozenset[str] = frozenset()
    groups: frozenset[Hashable] = frozenset()
    neighbours: frozenset[tuple[str, str]] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """The name, then the aliases."""
        return (self.entity.name, *self.aliases)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One reason. `weight` is positive for the two being one, negative against it; |weight| is 0..1."""

    kind: EvidenceKind
    weight: float


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A pair for a person to decide on; `pair` is ordered by id. `score` is the sum of weights cut to -1..1."""

    one: EntityName
    other: EntityName
    pair: Pair
    evidence: tuple[Evidence, ...]
    score: float
    recommendation: Recommendation = field(default="unsure")


def merges_by_itself(one: EntityName, other: EntityName) -> bool:
    """N3: the one case without a person: equal class and equal normal form."""
    return one.key == other.key


def pair_of(one: EntityName, other: EntityName) -> Pair:
    """The two ids in order: a reject of a pair holds from both sides (N4)."""
    low, high = sorted((one.entity_id, other.entity_id))
    return low, high


def suggestions(
    facts: Iterable[EntityFacts],
    *,
    rejected: Collection[Pair] = frozenset(),
    open_pairs: Collection[Pair] = frozenset(),
) -> list[Suggestion]:
    """Pairs worth a person's look, best first. N4: a pair that was rejected, or is already open, is never among them.

    Only pairs that share a word, letters, an acronym, an alias or an address are compared; words that more than 60
    entities share bring nobody together. The same facts in another order give the same list.
    """
    by_key = {one.entity.key: one for one in sorted(facts, key=lambda one: one.entity.key)}
    found = []
    for left, right in _neighbouring(by_key):
        one, other = by_key[left], by_key[right]
        pair = pair_of(one.entity, other.entity)
        if pair in rejected or pair in open_pairs or merges_by_itself(one.entity, other.entity):
            continue
        if suggestion := compare(one, other):
            found.append(suggestion)
    return sorted(found, key=lambda each: (-each.score, each.pair))


def compare(one: EntityFacts, other: EntityFacts) -> Suggestion | None:
    """The evidence on a pair, or None if nothing speaks for it or what speaks against it is plainly stronger."""
    pros, cons = list(_for(one, other)), list(_against(one, other))
    if not any(evidence.kind != "shared_context" for evidence in pros):
        return None
    total = math.fsum(evidence.weight for evidence in (*_strongest(pros), *cons))
    score = round(max(-1.0, min(1.0, total)), 4)
    if score < LEAST_SCORE:
        return None
    first, second = sorted((one.entity, other.entity), key=lambda entity: entity.entity_id)
    recommendation: Recommendation = "merge" if score >= _SURE and not cons else "reject" if cons else "unsure"
    return Suggestion(first, second, pair_of(first, second), (*pros, *cons), score, recommendation)


def _strongest(pros: list[Evidence]) -> Iterator[Evidence]:
    """Names that are alike in three ways are alike once: the strongest likeness counts, address and context add."""
    likeness = [each for each in pros if each.kind not in ("same_mail", "shared_context")]
    if likeness:
        yield max(likeness, key=lambda each: each.weight)
    yield from (each for each in pros if each.kind in ("same_mail", "shared_context"))


def _for(one: EntityFacts, other: EntityFacts) -> Iterator[Evidence]:
    left, right = one.entity.name, other.entity.name
    if folded(left).replace(" ", "") == folded(right).replace(" ", ""):
        yield Evidence("same_spelling", 0.9)
    elif (alike := similarity(left, right)) >= LEAST_SIMILARITY:
        yield Evidence("similar_name", round(0.8 * alike, 3))
    if is_initialled(left, right):
        yield Evidence("initials", 0.6)
    if is_acronym(left, right):
        yield Evidence("acronym", 0.5)
    if is_part(left, right):
        yield Evidence("part_of_name", 0.35)
    if {normalise(name) for name in one.names} & {normalise(name) for name in other.names}:
        yield Evidence("shared_alias", 0.7)
    if one.mails & other.mails:
        yield Evidence("same_mail", 0.9)
    shared = len(one.neighbours & other.neighbours)
    if shared >= _LEAST_CONTEXT:
        yield Evidence("shared_context", round(0.2 * shared / min(len(one.neighbours), len(other.neighbours)), 3))


def _against(one: EntityFacts, other: EntityFacts) -> Iterator[Evidence]:
    if identifiers(one.entity.name) != identifiers(other.entity.name):
        yield Evidence("other_identifier", -1.0)
    classes = frozenset((one.entity.entity_class, other.entity.entity_class))
    if len(classes) > 1:
        yield Evidence("other_class", -0.15 if classes in _CLOSE_CLASSES else -0.7)
    if one.mails and other.mails and not one.mails & other.mails:
        yield Evidence("other_mail", -0.4)
    if classes == {"person"} and (kind := _differing_name(one.entity.name, other.entity.name)):
        yield Evidence(kind, -0.6)
    together = len(one.groups & other.groups)
    if together:
        share = together / min(len(one.groups), len(other.groups))
        yield Evidence("co_mention", round(-0.2 - 0.3 * share, 3))


def _differing_name(one: str, other: str) -> EvidenceKind | None:
    """Which half of two whole names of people sets them apart: `Anna Berg` and `Anton Berg`, or `Anna Cordes`.

    A first name that begins as the other (`Jan`, `Jane`; an initial) does not.
    """
    left, right = words(one), words(other)
    if len(left) < 2 or len(right) < 2:
        return None
    if not (left[0].startswith(right[0]) or right[0].startswith(left[0])):
        return "other_given_name" if left[-1] == right[-1] else None
    return "other_family_name" if similarity(left[-1], right[-1]) < LEAST_SIMILARITY else None


def _neighbouring(by_key: Mapping[tuple[str, str], EntityFacts]) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    buckets: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for key, one in by_key.items():
        for bucket in sorted(_buckets(one)):
            buckets[bucket].append(key)
    seen: set[tuple[tuple[str, str], tuple[str, str]]] = set()
    for bucket in sorted(buckets):
        if len(buckets[bucket]) <= _FULLEST_BUCKET:
            seen.update(combinations(sorted(buckets[bucket]), 2))
    yield from sorted(seen)


def _buckets(one: EntityFacts) -> set[str]:
    found = {f"mail {mail}" for mail in one.mails}
    for name in one.names:
        parts = words(name)
        joined = "".join(parts)
        found |= {f"word {part}" for part in parts if len(part) > 2}
        found |= {f"start {joined[:4]}", f"end {joined[-5:]}", f"letters {joined}"}
        if len(parts) > 1:
            found.add("letters " + "".join(part[0] for part in parts))
        rare = sorted(trigrams(joined), key=lambda gram: (gram.count(" "), gram))[:: max(1, len(joined) // 6)]
        found |= {f"gram {gram}" for gram in rare}
    return found
