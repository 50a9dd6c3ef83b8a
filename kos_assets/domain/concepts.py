"""What a concept is from one recomputation to the next (C2-C4).

Here: stable ids with splits and merges, labels by rules and how long they hold, trends, whether enough changed. Not
here: communities (`enrich.communities`), rows, models that word a label, clocks (`at` is an argument).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count, groupby
from math import log
from typing import Final, Literal
from uuid import UUID, uuid5

from kos_assets.domain.language import stop_words
from kos_assets.domain.vocabulary import KOS_NAMESPACE
from kos_assets.domain.wording import Word, is_content, kind_of, words_of

LEAST_OVERLAP: Final = 0.25
"""Jaccard index below which a community is not the same concept any more."""

LABEL_HOLDS: Final = 0.5
"""Jaccard index with the members that a label was made from, from which on it is kept."""

ChangeKind = Literal["created", "kept", "split", "merged", "ended"]
Direction = Literal["rising", "steady", "fading"]


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a concept. `others`: where a new one split from, or what an old one was merged into."""

    kind: ChangeKind
    concept_id: UUID
    others: tuple[UUID, ...] = ()
    overlap: float = 0.0


@dataclass(frozen=True, slots=True)
class Lineage:
    """`ids[i]` is the concept of `found[i]`; `changes` tells each found and each former concept once."""

    ids: tuple[UUID, ...]
    changes: tuple[Change, ...]


def lineage(known: Mapping[UUID, Collection[UUID]], found: Sequence[Collection[UUID]]) -> Lineage:
    """C2: ids for the found communities (their core memories), from the known concepts by best overlap.

    The pair with the greatest Jaccard index goes first, ties to the smaller ids; below LEAST_OVERLAP nothing is
    inherited. A community without an inherited id is `split` from the concept that at least half of it came from, else
    `created`; a concept that nobody inherited is `merged` into the community that took at least half of it, else
    `ended`. A new id follows from the founding members alone, so that a rebuild gives the same. `found` are disjoint.
    """
    former = {concept_id: frozenset(members) for concept_id, members in known.items()}
    groups = [frozenset(members) for members in found]
    shared = _shared(former, groups)
    inherited = _inherited(former, groups, shared)
    sources: dict[int, list[tuple[int, UUID]]] = {}
    for (concept_id, index), common in shared.items():
        sources.setdefault(index, []).append((-common, concept_id))
    taken = set(former)
    ids: list[UUID] = []
    changes = []
    for index, group in enumerate(groups):
        if index in inherited:
            concept_id, overlap = inherited[index]
            changes.append(Change("kept", concept_id, overlap=overlap))
        else:
            concept_id = _new_id(group, taken)
            changes.append(_fate("split", "created", concept_id, len(group), sources.get(index, ())))
        taken.add(concept_id)
        ids.append(concept_id)
    heirs: dict[UUID, list[tuple[int, UUID]]] = {}
    for (concept_id, index), common in shared.items():
        heirs.setdefault(concept_id, []).append((-common, ids[index]))
    for concept_id in sorted(set(former) - set(ids)):
        changes.append(_fate("merged", "ended", concept_id, len(former[concept_id]), heirs.get(concept_id, ())))
    return Lineage(tuple(ids), tuple(changes))


def _shared(former: Mapping[UUID, frozenset[UUID]], groups: Sequence[frozenset[UUID]]) -> Counter[tuple[UUID, int]]:
    """How many members each concept and each community have in common, where there are any."""
    where = {member: index for index, group in enumerate(groups) for member in group}
    return Counter(
        (concept_id, where[member]) for concept_id, members in former.items() for member in members if member in where
    )


def _inherited(
    former: Mapping[UUID, frozenset[UUID]], groups: Sequence[frozenset[UUID]], shared: Mapping[tuple[UUID, int], int]
) -> dict[int, tuple[UUID, float]]:
    """For a community its concept and their overlap, the best pairs first."""
    least = [min(group) if group else None for group in groups]
    pairs = [(_jaccard(former[concept_id], groups[index]), concept_id, index) for concept_id, index in shared]
    passed: set[UUID] = set()
    heirs: dict[int, tuple[UUID, float]] = {}
    for overlap, concept_id, index in sorted(pairs, key=lambda pair: (-pair[0], pair[1], least[pair[2]])):
        if overlap >= LEAST_OVERLAP and index not in heirs and concept_id not in passed:
            heirs[index] = concept_id, overlap
            passed.add(concept_id)
    return heirs


def _fate(
    moved: ChangeKind, otherwise: ChangeKind, concept_id: UUID, size: int, relatives: Iterable[tuple[int, UUID]]
) -> Change:
    """`moved` where one relative shares at least half of the members; `relatives` are (-shared members, id)."""
    nearest = min(relatives, default=None)
    if nearest is None or -nearest[0] * 2 < size:
        return Change(otherwise, concept_id)
    return Change(moved, concept_id, (nearest[1],), -nearest[0] / size)


def _new_id(group: frozenset[UUID], taken: Collection[UUID]) -> UUID:
    founders = ",".join(str(member) for member in sorted(group))
    concept_id = uuid5(KOS_NAMESPACE, f"concept:{founders}")
    while concept_id in taken:  # its founders met before, and that concept has moved on
        concept_id = uuid5(KOS_NAMESPACE, f"concept:{concept_id}")
    return concept_id


def _jaccard(one: Collection[UUID], other: Collection[UUID]) -> float:
    left, right = frozenset(one), frozenset(other)
    union = len(left | right)
    return len(left & right) / union if union else 1.0


def label_holds(labelled: Collection[UUID], members: Collection[UUID]) -> bool:
    """C2: whether a label made from the members `labelled` still stands for `members`. Compare with the members that it
    was made from, not with the last ones: slow drift adds up."""
    return bool(labelled) and _jaccard(labelled, members) >= LABEL_HOLDS


@dataclass(frozen=True, slots=True)
class Term:
    """Something that a label may say: `text` as it is shown, `key` as it is counted, `weight` of its kind."""

    text: str
    key: str
    weight: float


_CLASS_WEIGHT: Final[Mapping[str, float]] = {
    "project": 2.0,
    "topic": 1.4,
    "product": 1.2,
    "event": 1.2,
    "tool": 1.1,
    "repository": 1.1,
    "organisation": 0.9,
    "place": 0.8,
    "document": 0.7,
    "person": 0.6,
}
_HEADING_WEIGHT: Final = 0.9
_LONGER: Final = 0.15  # a phrase tells more than its words, where both are as frequent
_MOST_WORDS: Final = 3
_MOST_TERMS: Final = 3
_COVERED: Final = 0.6
_READ_WORDS: Final = 40


def entity_term(name: str, entity_class: str) -> Term:
    """An entity as a term of a label."""
    return Term(name, " ".join(word.folded for word in words_of(name, _READ_WORDS)), _CLASS_WEIGHT.get(entity_class, 1))


def heading_terms(heading: str, lang: str) -> frozenset[Term]:
    """The phrases of a heading, of one to three words (two to four characters where a script has no spaces): no stop
    words and nothing with a digit (numbered names are entities, if anything), and none across them."""
    stops = stop_words(lang)
    words = words_of(heading, _READ_WORDS)
    told = [(word, is_content(word) and word.folded not in stops and not _is_value(word)) for word in words]
    found: set[Term] = set()
    for tells, run in groupby(told, key=lambda item: item[1]):
        if tells:
            found.update(_phrases([word for word, _ in run]))
    return frozenset(found)


def _is_value(word: Word) -> bool:
    if len(word.text) == 1 and word.text.isascii():
        return True
    return any(char.isdigit() for char in word.text) or kind_of(word) in ("date", "number", "negation")


def _phrases(run: Sequence[Word]) -> Iterator[Term]:
    for spaceless, part in groupby(run, key=lambda word: len(word.text) == 1):
        words = list(part)
        sizes = range(2, 5) if spaceless else range(1, _MOST_WORDS + 1)
        for size in sizes:
            weight = _HEADING_WEIGHT * (1 + _LONGER * (size - sizes[0]))
            for start in range(len(words) - size + 1):
                chosen = words[start : start + size]
                glue = "" if spaceless else " "
                text, key = glue.join(word.text for word in chosen), glue.join(word.stem for word in chosen)
                yield Term(text, key, weight)


def labels(concepts: Mapping[UUID, Sequence[Collection[Term]]], *, taken: Collection[str] = ()) -> dict[UUID, str]:
    """C2: a label for each concept from the terms of its memories, distinct from one another and from those `taken`.

    Class-based TF-IDF: the share of the concept's memories that have a term, times log(1 + mean size / its memories in
    all concepts), times its weight. Up to three terms, until 60 % of the memories have one of them; more where the
    label is taken, at last a number. Pass all concepts, also those whose label is kept, so that what is distinctive is
    known; pass only memories that the reader may read (S12). A concept without any term is not in the answer.
    """
    counts = {concept_id: _counted(memories) for concept_id, memories in concepts.items()}
    everywhere: Counter[str] = Counter()
    for counted in counts.values():
        everywhere.update({key: number for key, (number, _) in counted.items()})
    mean = sum(len(memories) for memories in concepts.values()) / max(1, len(concepts))
    used = {text.casefold() for text in taken}
    answer: dict[UUID, str] = {}
    for concept_id in sorted(concepts, key=lambda name: (-len(concepts[name]), name)):
        memories = concepts[concept_id]
        scored = {
            key: (term.weight * number / len(memories) * log(1 + mean / everywhere[key]), number, term)
            for key, (number, term) in counts[concept_id].items()
        }
        label = _worded(memories, scored, used)
        if label is not None:
            answer[concept_id] = label
            used.add(label.casefold())
    return answer


def _counted(memories: Sequence[Collection[Term]]) -> dict[str, tuple[int, Term]]:
    """For each key the memories that have it, and the term to show: the heaviest, then the most frequent spelling."""
    spellings: dict[str, Counter[Term]] = {}
    for terms in memories:
        for term in {(term.key, term.text): term for term in sorted(terms, key=_spelling)}.values():
            if term.key:
                spellings.setdefault(term.key, Counter())[term] += 1
    memory_counts = Counter(key for terms in memories for key in {term.key for term in terms})
    return {
        key: (memory_counts[key], max(seen, key=lambda term: (term.weight, seen[term], term.text)))
        for key, seen in spellings.items()
    }


def _spelling(term: Term) -> tuple[str, float]:
    return term.text, term.weight


def _worded(
    memories: Sequence[Collection[Term]], scored: Mapping[str, tuple[float, int, Term]], used: Collection[str]
) -> str | None:
    """The best terms, shared ones (two memories and more) first; more of them while the label is taken."""
    ranked = sorted(scored, key=lambda key: (scored[key][1] < 2, -scored[key][0], key))
    keys = [frozenset(term.key for term in terms) for terms in memories]
    chosen: list[str] = []
    label: str | None = None
    for key in ranked:
        if any(_says(key, other) for other in chosen):
            continue
        covered = sum(1 for terms in keys if not terms.isdisjoint(chosen)) / len(keys)
        enough = bool(chosen) and (covered >= _COVERED or len(chosen) >= _MOST_TERMS or scored[key][1] < 2)
        if enough and label is not None and label.casefold() not in used:
            break
        chosen.append(key)
        label = ", ".join(scored[one][2].text for one in chosen)
    if label is None or label.casefold() not in used:
        return label
    return next(other for number in count(2) if (other := f"{label} ({number})").casefold() not in used)


def _says(key: str, other: str) -> bool:
    """Whether one of two terms is said by the other already (a tag by a tag below it); in scripts without spaces, by
    any part of it."""
    one, two = key.replace("/", " "), other.replace("/", " ")
    if one.isascii() or two.isascii():
        return f" {one} " in f" {two} " or f" {two} " in f" {one} "
    return one in two or two in one


@dataclass(frozen=True, slots=True)
class Trend:
    """C3: `recent` dated memories in the last window, `earlier` the mean of the windows before it."""

    current: bool
    direction: Direction
    recent: int
    earlier: float
    last_at: datetime | None


WINDOW: Final = timedelta(days=28)
_WINDOWS: Final = 3
_RATIO: Final = 1.5
_LEAST_RECENT: Final = 2


def trend(moments: Iterable[datetime], at: datetime) -> Trend:
    """C3: from the dates of a concept's memories (the future is left out), at the instant `at`.

    Current: something happened in the last four windows of 28 days. Rising: at least two in the last window, and with
    one added to both, half as many again as in the mean of the three before; fading: the same the other way round, or
    not current. Else steady.
    """
    past = [moment for moment in moments if moment <= at]
    recent = sum(1 for moment in past if at - moment < WINDOW)
    before = sum(1 for moment in past if WINDOW <= at - moment < WINDOW * (_WINDOWS + 1))
    earlier = before / _WINDOWS
    current = recent + before > 0
    direction: Direction = "steady"
    if recent >= _LEAST_RECENT and recent + 1 >= _RATIO * (earlier + 1):
        direction = "rising"
    elif not current or earlier + 1 >= _RATIO * (recent + 1):
        direction = "fading"
    return Trend(current, direction, recent, earlier, max(past, default=None))


@dataclass(frozen=True, slots=True)
class Drift:
    """What happened to the memories since concepts were last computed; `days_since` is None where they never were."""

    memories: int
    added: int
    removed: int
    changed: int
    days_since: float | None


@dataclass(frozen=True, slots=True)
class Due:
    """Whether concepts are recomputed now, and why."""

    due: bool
    reason: str


def enough_changed(drift: Drift, *, least: int = 3, share: float = 0.02, patience_days: float = 7.0) -> Due:
    """C4: due when never computed; when 2 % of the memories (at least 3) came, went or changed what they mention; or
    when anything did and the last time is 7 days ago. Time alone is no change. More change never makes it less due."""
    if drift.days_since is None:
        return Due(drift.memories > 0, "never computed" if drift.memories else "no memories yet")
    moved = drift.added + drift.removed + drift.changed
    needed = max(least, share * drift.memories)
    if moved == 0:
        return Due(False, "nothing changed")
    if moved >= needed:
        return Due(True, f"{moved} memories changed, {needed:.0f} are enough")
    if drift.days_since >= patience_days:
        return Due(True, f"{moved} memories changed, and the last time was {drift.days_since:.0f} days ago")
    return Due(False, f"{moved} memories changed, {needed:.0f} would be enough")
