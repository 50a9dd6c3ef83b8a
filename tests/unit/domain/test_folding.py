"""G6: the canonical copy depends on the copies alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kos_assets.domain.folding import Copy, canonical

_TIMES = st.none() | st.datetimes(
    datetime(2020, 1, 1), datetime(2026, 1, 1), timezones=st.just(UTC)  # noqa: DTZ001 - bounds are naive by contract
)  # fmt: skip
_GROUPS = st.lists(
    st.tuples(st.text("abcZ/äé", min_size=1, max_size=4), _TIMES),
    min_size=1,
    max_size=6,
    unique_by=lambda pair: pair[0],
)


def _copies(group: list[tuple[str, datetime | None]]) -> list[Copy]:
    return [Copy(UUID(int=number), path, at) for number, (path, at) in enumerate(group)]


@given(_GROUPS, st.randoms(use_true_random=False))
def test_the_order_of_reading_never_matters(group: Any, chance: Any) -> None:
    """G6: any order gives the same copy."""
    copies = _copies(group)
    shuffled = copies[:]
    chance.shuffle(shuffled)
    assert canonical(shuffled) == canonical(copies)


@given(_GROUPS)
def test_it_is_the_greatest_by_date_then_smallest_by_path(group: Any) -> None:
    """G6: nobody else is newer; among the equally new nobody's path is smaller; a dated one beats an undated one."""
    copies = _copies(group)
    chosen = canonical(copies)
    for other in copies:
        if other.changed_at is None:
            assert chosen.changed_at is not None or chosen.path <= other.path
        else:
            assert chosen.changed_at is not None
            assert chosen.changed_at > other.changed_at or (
                chosen.changed_at == other.changed_at and chosen.path <= other.path
            )


@given(_GROUPS)
def test_taking_others_away_changes_nothing(group: Any) -> None:
    """G6: deleting a copy that is not canonical leaves the canonical one."""
    copies = _copies(group)
    chosen = canonical(copies)
    for other in copies:
        if other != chosen:
            assert canonical([copy for copy in copies if copy != other]) == chosen


def test_the_same_instant_in_two_zones_is_the_same() -> None:
    """S10: instants are compared, not how they were written."""
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    east = noon.astimezone(timezone(timedelta(hours=9)))
    assert canonical([Copy(UUID(int=1), "b", noon), Copy(UUID(int=2), "a", east)]).path == "a"


def test_an_empty_group_is_no_group() -> None:
    """G6: nothing to choose from is the caller's mistake."""
    with pytest.raises(ValueError, match="at least one"):
        canonical([])
