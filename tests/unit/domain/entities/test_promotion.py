"""Promotion: distinct memories, decay, ambiguity."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.domain.entities.memory_text import Candidate, Rule
from kos_assets.domain.entities.names import EntityName
from kos_assets.domain.entities.ordinary import code_symbols, is_ordinary, small_phrases
from kos_assets.domain.entities.promotion import Promotion, age_weight, promote

NOW = datetime(2026, 6, 1, tzinfo=UTC)
JANE = EntityName("person", "Jane Smith")


def _mention(number: int, entity: EntityName = JANE, rule: Rule = "people", confidence: float = 0.95) -> Candidate:
    return Candidate(UUID(int=number), entity, entity.name, rule, confidence)


def _promote(rows: list[Candidate], groups: Mapping[UUID, Hashable] | None = None, days: float = 0) -> list[Promotion]:
    when = {one.memory_id: NOW - timedelta(days=days) for one in rows}
    return promote(rows, groups=groups or {}, event_at=when, now=NOW)


def test_two_distinct_memories_promote() -> None:
    """N2: one does not, however often and however sure."""
    assert [one.promoted for one in _promote([_mention(1), _mention(1)])] == [False]
    assert [(one.promoted, one.memories) for one in _promote([_mention(1), _mention(2)])] == [(True, 2)]


def test_revisions_and_near_duplicates_count_once() -> None:
    """N2: a group is one memory, whatever its size."""
    rows = [_mention(number) for number in range(5)]
    same = {UUID(int=number): "one text" for number in range(5)}
    assert [(one.promoted, one.reason) for one in _promote(rows, same)] == [(False, "one_memory")]
    assert _promote(rows, {**same, UUID(int=4): "another"})[0].promoted


def test_content_age_decays_to_a_floor() -> None:
    """O3: half after 17 days, never below 0.2, none for the future, the floor without a date."""
    assert age_weight(NOW - timedelta(days=17), NOW) == pytest.approx(0.5)
    assert age_weight(NOW - timedelta(days=34), NOW) == pytest.approx(0.25)
    assert age_weight(NOW - timedelta(days=4000), NOW) == 0.2
    assert age_weight(NOW + timedelta(days=3), NOW) == 1.0
    assert age_weight(None, NOW) == 0.2
    with pytest.raises(ValueError, match="half-life"):
        age_weight(NOW, NOW, half_life_days=0)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 3000), st.integers(0, 3000))
def test_older_never_weighs_more(one: int, other: int) -> None:
    """O3: monotone, within its bounds."""
    young, old = sorted((one, other))
    weights = [age_weight(NOW - timedelta(days=days), NOW) for days in (young, old)]
    assert 0.2 <= weights[1] <= weights[0] <= 1.0


def test_a_weak_guess_needs_a_recent_or_a_third_memory() -> None:
    """N2, O3: two old mentions of a capitalised word are not enough; two recent ones, or three, are."""
    guess = [_mention(number, EntityName("topic", "Caddy"), "capitalised_word", 0.35) for number in (1, 2, 3)]
    assert not _promote(guess[:2], days=300)[0].promoted
    assert _promote(guess[:2], days=3)[0].promoted
    assert _promote(guess, days=300)[0].promoted
    assert _promote([_mention(1), _mention(2)], days=3000)[0].promoted


def test_ambiguous_mentions_count_for_nobody() -> None:
    """N5: not for either of the two."""
    options = (EntityName("person", "Victor Almeida"), EntityName("person", "Victor Brandt"))
    rows = [
        Candidate(UUID(int=number), EntityName("person", "Victor"), "Victor", "first_name", 0.75, options)
        for number in (1, 2, 3)
    ]
    assert _promote(rows) == []


def test_ordinary_words_and_code_are_not_promoted() -> None:
    """N1: judged by how the vault itself writes them, for names whose only ground is their letters."""
    words = small_phrases("Open the command palette; `Palette` is code.")
    assert is_ordinary("Command Palette", words)
    assert not is_ordinary("Kobalt Hosting", words)
    symbols = code_symbols("In TaskBuilder.ts, new Thing(), class RowMapper")
    assert symbols == {"TaskBuilder", "Thing", "RowMapper"}
    rows = [_mention(number, EntityName("topic", "Command Palette"), "capitalised_run", 0.5) for number in (1, 2)]
    rows += [_mention(number, EntityName("tool", "TaskBuilder"), "mixed_case", 0.5) for number in (1, 2)]
    verdicts = promote(rows, groups={}, event_at={}, now=NOW, ordinary=words, code=symbols)
    assert {one.reason for one in verdicts} == {"ordinary_word", "code_symbol"}
    linked = [_mention(number, EntityName("topic", "Command Palette"), "wikilink", 0.6) for number in (1, 2)]
    assert promote(linked, groups={}, event_at={}, now=NOW, ordinary=words)[0].promoted


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12), st.randoms(use_true_random=False))
def test_never_from_one_group_and_in_any_order(pairs: list[tuple[int, int]], random: object) -> None:
    """N2: promoted implies two groups; the order of mentions has no influence."""
    rows = [_mention(memory, EntityName("person", f"Name {who}")) for memory, who in pairs]
    groups = {UUID(int=number): number // 2 for number in range(6)}
    verdicts = _promote(rows, groups)
    for one in verdicts:
        seen = {groups[row.memory_id] for row in rows if row.entity.key == one.entity.key}
        assert one.promoted == (len(seen) >= 2)
    random.shuffle(rows)  # type: ignore[attr-defined]
    assert _promote(rows, groups) == verdicts
