"""Importance: a product of bounded, explained modifiers (O1, O2, O4)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.domain.importance import MODIFIERS, Modifier, Rates, Standing, importance

NOW = datetime(2026, 12, 1, tzinfo=UTC)
days = st.floats(min_value=-400, max_value=4000)
boosts = st.floats(min_value=0.25, max_value=4)


def ago(number: float) -> datetime:
    return NOW - timedelta(days=number)


moments = st.builds(ago, days)
standings = st.builds(
    Standing,
    boost=boosts,
    boosted_at=st.none() | moments,
    changed_at=st.none() | moments,
    reads=st.lists(moments, max_size=12),
    parent_boost=boosts,
    project_changed_at=st.none() | moments,
)


def part(standing: Standing, name: str, at: datetime = NOW) -> float:
    return next(one.value for one in importance(standing, at).parts if one.name == name)


@settings(max_examples=150)
@given(standing=standings)
def test_each_modifier_is_bounded_and_the_product_is_theirs(standing: Standing) -> None:
    """O1: importance = product of registered modifiers, each within its bounds."""
    found = importance(standing, NOW)
    product = 1.0
    for modifier, one in zip(MODIFIERS, found.parts, strict=True):
        assert one.name == modifier.name
        assert modifier.low <= one.value <= modifier.high
        assert one.reason
        product *= one.value
    assert found.value == pytest.approx(product)
    assert found.value > 0


@settings(max_examples=100)
@given(standing=standings, more=st.floats(min_value=0, max_value=3.75))
def test_a_greater_boost_never_lowers_importance(standing: Standing, more: float) -> None:
    """O1: importance rises with the manual boost and with the parent's."""
    raised = Standing(
        boost=min(4.0, standing.boost + more),
        boosted_at=standing.boosted_at,
        changed_at=standing.changed_at,
        reads=standing.reads,
        parent_boost=standing.parent_boost,
        project_changed_at=standing.project_changed_at,
    )
    inherited = Standing(
        boost=standing.boost,
        boosted_at=standing.boosted_at,
        changed_at=standing.changed_at,
        reads=standing.reads,
        parent_boost=min(4.0, standing.parent_boost + more),
        project_changed_at=standing.project_changed_at,
    )
    before = importance(standing, NOW).value
    assert importance(raised, NOW).value >= before - 1e-9
    assert importance(inherited, NOW).value >= before - 1e-9


@settings(max_examples=100)
@given(reads=st.lists(st.floats(min_value=0, max_value=1000).map(ago), max_size=8), age=st.floats(0, 1000))
def test_a_read_never_lowers_and_only_fades(reads: list[datetime], age: float) -> None:
    """O1, O2: one more full read never lowers importance; without reads it sinks toward the floor of 1, never below."""
    now = part(Standing(reads=reads), "access")
    assert part(Standing(reads=[*reads, ago(age)]), "access") >= now
    later = part(Standing(reads=reads), "access", NOW + timedelta(days=age))
    assert 1 <= later <= now


def test_a_boost_halves_in_ninety_days_toward_one() -> None:
    """O1: half-life 90 d, floor 1.0."""
    assert part(Standing(boost=3, boosted_at=ago(90)), "boost") == pytest.approx(2)
    assert part(Standing(boost=3, boosted_at=ago(9000)), "boost") == pytest.approx(1)
    one, half = part(Standing(reads=[NOW]), "access") - 1, part(Standing(reads=[ago(90)]), "access") - 1
    assert half == pytest.approx(0.5 * 0.5 / 3.5)
    assert one == pytest.approx(0.5 / 4)


def test_a_boost_holds_while_its_subject_changes() -> None:
    """O1: the clock of a manual boost starts anew with a change; one without a date and a demotion do not fade."""
    assert part(Standing(boost=3, boosted_at=ago(400), changed_at=ago(0)), "boost") == pytest.approx(3)
    assert part(Standing(boost=3, boosted_at=ago(90), changed_at=ago(400)), "boost") == pytest.approx(2)
    assert part(Standing(boost=3), "boost") == 3
    assert part(Standing(boost=0.25, boosted_at=ago(4000)), "boost") == 0.25


def test_an_inherited_boost_halves_when_the_project_sleeps() -> None:
    """O4: half-life 182.5 days since the project's last change; what stays is never below no boost at all."""
    awake = importance(Standing(parent_boost=4, project_changed_at=NOW), NOW).value
    asleep = importance(Standing(parent_boost=4, project_changed_at=ago(182.5)), NOW).value
    gone = importance(Standing(parent_boost=4, project_changed_at=ago(9000)), NOW).value
    assert awake == pytest.approx(2)
    assert asleep == pytest.approx(1.5)
    assert gone == pytest.approx(1)
    assert importance(Standing(parent_boost=0.25, project_changed_at=ago(9000)), NOW).value == pytest.approx(0.5)


def test_reads_to_come_do_not_count() -> None:
    """O1: importance is a function of the instant, also of one in the past."""
    assert importance(Standing(reads=[NOW]), ago(1)).value == 1


def test_it_explains_itself() -> None:
    """O1: each modifier's value and reason can be shown."""
    standing = Standing(boost=2, boosted_at=ago(10), reads=[ago(3)], parent_boost=4, project_changed_at=ago(30))
    told = importance(standing, NOW).explained()
    for words in ("boost", "unchanged for 10 d", "full reads: 1, last 3 d ago", "inherited 2.00", "dormancy"):
        assert words in told
    assert importance(Standing(), NOW).explained() == "1.00: nothing raises or lowers it"


def test_another_modifier_is_registered_and_held_within_its_bounds() -> None:
    """O1: modifiers are a list; a wild one cannot leave its bounds."""

    def wild(_: Standing, __: datetime, ___: Rates) -> tuple[float, str]:
        return 100.0, "wild"

    found = importance(Standing(boost=2), NOW, modifiers=(*MODIFIERS, Modifier("wild", 0.5, 1.5, wild)))
    assert found.value == pytest.approx(3)
    assert found.parts[-1].reason == "wild"
