"""Merge suggestions, durable rejects, accounts, grounding."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.domain.entities.accounts import account, state_of
from kos_assets.domain.entities.grounding import grounded, is_grounded
from kos_assets.domain.entities.memory_text import Candidate, MemoryText
from kos_assets.domain.entities.merging import (
    EntityFacts,
    Suggestion,
    compare,
    merges_by_itself,
    pair_of,
    suggestions,
)
from kos_assets.domain.entities.names import EntityName


def _facts(name: str, entity_class: str = "person", **more: object) -> EntityFacts:
    return EntityFacts(EntityName(entity_class, name), **more)  # type: ignore[arg-type]


def _kinds(suggestion: Suggestion | None) -> set[str]:
    return {one.kind for one in suggestion.evidence} if suggestion else set()


def test_only_equality_merges_by_itself() -> None:
    """N3: equal class and normal form, and nothing else."""
    assert merges_by_itself(EntityName("tool", "GitHub"), EntityName("tool", "github "))
    assert not merges_by_itself(EntityName("tool", "GitHub"), EntityName("organisation", "GitHub"))
    assert not merges_by_itself(EntityName("tool", "gh"), EntityName("tool", "GitHub"))
    assert not merges_by_itself(EntityName("person", "Théo"), EntityName("person", "Theo"))


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (_facts("gh", "tool"), _facts("GitHub", "tool"), "acronym"),
        (_facts("J. Smith"), _facts("Jane Smith"), "initials"),
        (_facts("Theo Larmandier"), _facts("Théo Larmandier"), "same_spelling"),
        (_facts("Kobalt", "organisation"), _facts("Kobalt Hosting", "organisation"), "part_of_name"),
        (
            _facts("闻雨兰", mails=frozenset({"y@b.example"})),
            _facts("Wen Yulan", mails=frozenset({"y@b.example"})),
            "same_mail",
        ),
        (_facts("Murmel", "project", aliases=("Hut telemetry",)), _facts("Hut telemetry", "topic"), "shared_alias"),
    ],
)
def test_near_duplicates_are_suggested_with_their_evidence(one: EntityFacts, other: EntityFacts, kind: str) -> None:
    """N3: each for its reason, and found among others."""
    assert kind in _kinds(compare(one, other))
    assert [each.pair for each in suggestions([_facts("Somebody Else"), one, other])] == [
        pair_of(one.entity, other.entity)
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (_facts("SR-2023-052", "document"), _facts("SR-2023-053", "document")),
        (_facts("OAuth", "topic"), _facts("OAuth 2.0", "topic")),
        (_facts("C", "tool"), _facts("C++", "tool")),
        (_facts("Anna Berg"), _facts("Anton Berg")),
        (_facts("Anna Maria Berg"), _facts("Anna Maria Cordes")),
        (_facts("Nordkar", "place"), _facts("Nordkar", "person")),
        (_facts("Petra"), _facts("Pia")),
    ],
)
def test_what_speaks_against_is_heard(one: EntityFacts, other: EntityFacts) -> None:
    """N3: other numbers, signs, given names, classes."""
    assert compare(one, other) is None
    assert suggestions([one, other]) == []


def test_co_mention_is_evidence_of_two_things() -> None:
    """N3: names that stand in the same notes are told apart there; when unsure, reject."""
    apart = compare(
        _facts("Gateway North", "tool", groups=frozenset({1})),
        _facts("Gateway Northern", "tool", groups=frozenset({2})),
    )
    beside = compare(
        _facts("Gateway North", "tool", groups=frozenset({1, 2})),
        _facts("Gateway Northern", "tool", groups=frozenset({1, 2})),
    )
    assert apart is not None
    assert "co_mention" not in _kinds(apart)
    assert beside is None or (beside.score < apart.score and beside.recommendation == "reject")


def test_a_reject_is_for_good() -> None:
    """N4: from either side, whatever new evidence comes."""
    one, other = _facts("J. Smith"), _facts("Jane Smith", mails=frozenset({"j@s.example"}))
    pair = pair_of(other.entity, one.entity)
    assert suggestions([one, other], rejected={pair}) == []
    assert suggestions([other, one], rejected={pair}) == []
    assert suggestions([one, other], open_pairs={pair}) == []


def test_suggestions_do_not_depend_on_the_order() -> None:
    """N3: the same facts, the same list."""
    facts = [
        _facts(name, "tool") for name in ("Git", "GitHub", "gh", "Github Inc", "GitLab", "Kobalt", "Kobalt Hosting")
    ]
    assert suggestions(facts) == suggestions(list(reversed(facts)))


IDS = [UUID(int=number) for number in range(1, 7)]
PAIRS = st.tuples(st.sampled_from(IDS), st.sampled_from(IDS)).filter(lambda pair: pair[0] != pair[1])


@settings(max_examples=100, deadline=None)
@given(st.lists(PAIRS), st.sets(PAIRS), st.sets(PAIRS), st.sets(st.sampled_from(IDS)))
def test_accounts_always_add_up(
    suggested: list[tuple[UUID, UUID]],
    merged: set[tuple[UUID, UUID]],
    rejected: set[tuple[UUID, UUID]],
    living: set[UUID],
) -> None:
    """N4: suggested = merged + rejected + moot + open."""
    counts = account(suggested, merged=merged, rejected=rejected, living=living)
    assert counts.adds_up
    assert counts.suggested == counts.merged + counts.rejected + counts.moot + counts.open


def test_a_reject_beats_a_merge_and_the_gone_are_moot() -> None:
    """N4: one state each."""
    pair = (IDS[0], IDS[1])
    assert state_of(pair, merged={pair}, rejected={(IDS[1], IDS[0])}, living=set(IDS)) == "rejected"
    assert state_of(pair, merged={pair}, rejected=set(), living={IDS[0]}) == "merged"
    assert state_of(pair, merged=set(), rejected=set(), living={IDS[0]}) == "moot"
    assert state_of(pair, merged=set(), rejected=set(), living=set(IDS)) == "open"


def test_what_a_model_invents_is_dropped() -> None:
    """E7: a name or a span that is not in the text, and noise whoever claims it."""
    memory = MemoryText(IDS[0], "Call", "Jane  Smith rang about max_wal_size; the janesmithery is closed. 闻雨兰来信。")
    claims = [
        Candidate(IDS[0], EntityName("person", name), span, "model", 0.9)
        for name, span in [
            ("Jane Smith", "Jane Smith"),
            ("Jane Smith", "Jane Smith of Acme"),
            ("John Doe", "John Doe"),
            ("max_wal_size", "max_wal_size"),
            ("闻雨兰", "闻雨兰"),
        ]
    ]
    kept, dropped = grounded(claims, memory)
    assert [one.entity.name for one in kept] == ["Jane Smith", "闻雨兰"]
    assert dropped == 3
    assert not is_grounded("smith", "the janesmithery")
    assert not is_grounded("", "anything")
