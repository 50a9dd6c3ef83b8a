"""What a memory is worth beside its relevance: a product of bounded modifiers, each explained (O1, O2, O4).

Here: the registered modifiers and their product with the reasons. Not here: content-age decay (`entities.promotion`:
it has no part in retrieval, O3), how importance meets relevance (`ranking`), rows, clocks (`at` is an argument). A
reason holds numbers and no text of any memory, so that it may stand in a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Rates:
    """How fast boosts fade and how much is handed down; the defaults are SPEC's.

    `boost_half_life_days`: of a manual boost and of a read. `dormancy_half_life_days`: of an inherited boost.
    `access_gain`: what endless reading adds at most. `reads_for_half_gain`: fresh reads that add half of it.
    `handed_down`: the exponent of a parent's boost in its descendants (0.5: a boost of 4 is inherited as 2).
    """

    boost_half_life_days: float = 90.0
    dormancy_half_life_days: float = 182.5
    access_gain: float = 0.5
    reads_for_half_gain: float = 3.0
    handed_down: float = 0.5


RATES: Final = Rates()


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of one memory; times are aware.

    `boost` (0.25..4, 1 for none) was given at `boosted_at`; None means that it does not fade. `reads` are full reads
    alone (O2): fetch, hydrated content, a concept read; never an impression in a list. `changed_at` is the last change
    of the memory or of anything below it in the tree. `parent_boost` is the manual boost of the nearest ancestor that
    has one, as it was given, and `project_changed_at` the last change below that ancestor.
    """

    boost: float = 1.0
    boosted_at: datetime | None = None
    changed_at: datetime | None = None
    reads: Sequence[datetime] = ()
    parent_boost: float = 1.0
    project_changed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Modifier:
    """A registered factor of importance. `of` gives value and reason; the value is held within `low`..`high`."""

    name: str
    low: float
    high: float
    of: Callable[[Standing, datetime, Rates], tuple[float, str]]


@dataclass(frozen=True, slots=True)
class Part:
    """One modifier's share in an importance, and why."""

    name: str
    value: float
    reason: str


@dataclass(frozen=True, slots=True)
class Importance:
    """The product of `parts`, which are in the order of registration."""

    value: float
    parts: tuple[Part, ...]

    def explained(self) -> str:
        """One line for a trace: the factors that are not 1, with their reasons."""
        told = [f"{part.name} {part.value:.2f} ({part.reason})" for part in self.parts if abs(part.value - 1) >= 0.005]
        return f"{self.value:.2f} = {' x '.join(told)}" if told else "1.00: nothing raises or lowers it"


def importance(
    standing: Standing, at: datetime, *, rates: Rates = RATES, modifiers: Iterable[Modifier] | None = None
) -> Importance:
    """O1: the product of the modifiers (by default MODIFIERS) at the instant `at`, each held within its bounds."""
    parts = []
    value = 1.0
    for modifier in MODIFIERS if modifiers is None else modifiers:
        raw, reason = modifier.of(standing, at, rates)
        bounded = min(max(raw, modifier.low), modifier.high)
        value *= bounded
        parts.append(Part(modifier.name, bounded, reason))
    return Importance(value, tuple(parts))


def faded(age_days: float, half_life_days: float) -> float:
    """What is left of 1 after `age_days` (negative ages count as 0)."""
    return float(0.5 ** (max(age_days, 0.0) / half_life_days))


def days_between(earlier: datetime, later: datetime) -> float:
    """Days from one aware instant to another; negative where `earlier` is the later one."""
    return (later - earlier) / _DAY


def _manual(standing: Standing, at: datetime, rates: Rates) -> tuple[float, str]:
    """A raise fades toward 1 from the day that it was given or that its subject last changed; a demotion stays."""
    boost = standing.boost
    if boost == 1:
        return 1.0, "no boost"
    if boost < 1 or standing.boosted_at is None:
        return boost, f"set to {boost:g}"
    since = max(standing.boosted_at, standing.changed_at or standing.boosted_at)
    age = max(days_between(since, at), 0.0)
    return 1 + (boost - 1) * faded(age, rates.boost_half_life_days), f"set to {boost:g}, unchanged for {age:.0f} d"


def _access(standing: Standing, at: datetime, rates: Rates) -> tuple[float, str]:
    """O2: each full read counts less with age; many reads add ever less."""
    past = sorted(read for read in standing.reads if read <= at)
    if not past:
        return 1.0, "never read"
    strength = sum(faded(days_between(read, at), rates.boost_half_life_days) for read in past)
    gain = rates.access_gain * strength / (strength + rates.reads_for_half_gain)
    return 1 + gain, f"full reads: {len(past)}, last {days_between(past[-1], at):.0f} d ago"


def _inherited(standing: Standing, _: datetime, rates: Rates) -> tuple[float, str]:
    if standing.parent_boost == 1:
        return 1.0, "no boosted parent"
    return standing.parent_boost**rates.handed_down, f"its parent is set to {standing.parent_boost:g}"


def _dormancy(standing: Standing, at: datetime, rates: Rates) -> tuple[float, str]:
    """O4: takes back an inherited raise with a half-life of 182.5 days since the project last changed."""
    raised, _ = _inherited(standing, at, rates)
    if raised <= 1:
        return 1.0, "nothing inherited that fades"
    if standing.project_changed_at is None:
        return 1.0, "the project's last change is not known"
    idle = max(days_between(standing.project_changed_at, at), 0.0)
    left = 1 + (raised - 1) * faded(idle, rates.dormancy_half_life_days)
    return left / raised, f"the project has not changed for {idle:.0f} d"


MODIFIERS: Final[tuple[Modifier, ...]] = (
    Modifier("boost", 0.25, 4.0, _manual),
    Modifier("access", 1.0, 1.5, _access),
    Modifier("inherited", 0.5, 2.0, _inherited),
    Modifier("dormancy", 0.5, 1.0, _dormancy),
)
"""The registered modifiers; another one is a row here, with its bounds and a test of them."""
