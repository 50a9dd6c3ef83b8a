"""One class for one name: how guesses of several memories are settled (N1).

Here: declared classes beat guesses, guesses vote by confidence. Not here: merging of different names (merging.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from kos_assets.domain.entities.memory_text import Candidate, Rule
from kos_assets.domain.entities.names import EntityName, normalise

_SURE: Final[frozenset[Rule]] = frozenset(("note_heading", "people", "mail_address", "repository", "model"))
_GUESSED: Final[frozenset[Rule]] = frozenset(
    (
        "wikilink",
        "tag",
        "organisation_form",
        "title_of_person",
        "mixed_case",
        "capitalised_run",
        "capitalised_word",
        "known_name",
        "mention_sign",
    )
)

_VOTES: Final[dict[Rule, int]] = {"mention_sign": 15, "tag": 20}
"""Hundredths of a vote: `@innsbruck` is often a context of a task, and people tag by places, tools and persons."""


def settled(found: Iterable[Candidate]) -> list[Candidate]:
    """The same candidates with one class, and one spelling, per normal form; order kept.

    A name that structure declares in exactly one class has it everywhere; one declared in several keeps what each
    candidate says. Otherwise the class with the most confidence wins, ties by the class's name; `topic`, which says
    only
    that no rule knew better, wins when it has more than three quarters. The spelling is the most frequent one.
    Ambiguous mentions stay as they are (N5).
    """
    rows = list(found)
    votes: dict[str, Counter[str]] = {}
    sure: dict[str, set[str]] = {}
    spellings: dict[str, Counter[str]] = {}
    for one in rows:
        if one.ambiguous:
            continue
        normal = normalise(one.entity.name)
        spellings.setdefault(normal, Counter())[one.entity.name] += 100 if one.rule == "note_heading" else 1
        if one.rule in _SURE:
            sure.setdefault(normal, set()).add(one.entity.entity_class)
        else:
            votes.setdefault(normal, Counter())[one.entity.entity_class] += _VOTES.get(
                one.rule, round(one.confidence * 100)
            )
    return [_with_class(one, sure, votes, spellings) for one in rows]


def _with_class(
    one: Candidate, sure: dict[str, set[str]], votes: dict[str, Counter[str]], spellings: dict[str, Counter[str]]
) -> Candidate:
    if one.ambiguous:
        return one
    normal = normalise(one.entity.name)
    declared = sure.get(normal, set())
    entity_class = one.entity.entity_class
    if one.rule in _GUESSED and len(declared) == 1:
        entity_class = next(iter(declared))
    elif one.rule in _GUESSED and not declared:
        entity_class = _most(votes[normal])
    name = min(spellings[normal], key=lambda spelling: (-spellings[normal][spelling], spelling))
    return replace(one, entity=EntityName(entity_class, name))


def _most(votes: Counter[str]) -> str:
    told = {name: count for name, count in votes.items() if name != "topic"}
    if not told or sum(told.values()) * 4 < votes.total():
        told = dict(votes)
    return min(told, key=lambda name: (-told[name], name))
