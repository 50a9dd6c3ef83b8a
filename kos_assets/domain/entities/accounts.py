"""What became of a batch of merge suggestions, so that the sums add up (N4).

Here: one state per suggestion and the totals. Not here: finding suggestions (merging.py), writing decisions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from kos_assets.domain.entities.merging import Pair

State = Literal["merged", "rejected", "moot", "open"]


@dataclass(frozen=True, slots=True)
class Accounts:
    """N4: suggested = merged + rejected + moot + open."""

    suggested: int
    merged: int
    rejected: int
    moot: int
    open: int

    @property
    def adds_up(self) -> bool:
        """Whether every suggestion is in exactly one of the four states."""
        return self.suggested == self.merged + self.rejected + self.moot + self.open


def state_of(pair: Pair, *, merged: Collection[Pair], rejected: Collection[Pair], living: Collection[UUID]) -> State:
    """The one state of a suggestion. A reject beats a merge (V6); without a decision it is moot once either of the
    two is
    no longer an entity of its own (merged into a third one, or not promoted any more), else open."""
    turned = (pair[1], pair[0])
    if pair in rejected or turned in rejected:
        return "rejected"
    if pair in merged or turned in merged:
        return "merged"
    return "open" if pair[0] in living and pair[1] in living else "moot"


def account(
    suggested: Iterable[Pair], *, merged: Collection[Pair], rejected: Collection[Pair], living: Collection[UUID]
) -> Accounts:
    """The totals of a batch; a pair that is given twice, or turned round, counts once."""
    pairs = {(min(pair), max(pair)) for pair in suggested}
    states = Counter(state_of(pair, merged=merged, rejected=rejected, living=living) for pair in pairs)
    return Accounts(len(pairs), states["merged"], states["rejected"], states["moot"], states["open"])
