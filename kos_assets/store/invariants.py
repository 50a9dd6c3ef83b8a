"""Statements that must always hold, as questions: how many rows violate, and which (at most 10 ids).

Here: what the blocking checks of the assets ask, over fact views that hold no text. Not here: thresholds of health
(dbt, Great Expectations).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kos_assets.store.database import Row, Store
from kos_assets.store.sql import blocks

_SQL = blocks("invariants")
_SECOND_LOOK_S: Final = 2.0


@dataclass(frozen=True)
class Finding:
    """The answer: figures for the record, and a sample of what violates."""

    violations: int
    figures: Mapping[str, int]
    sample: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Nothing violates."""
        return self.violations == 0

    def metadata(self) -> dict[str, int | list[str]]:
        """Figures by name, ready to show; `sample` only when there is one."""
        shown: dict[str, int | list[str]] = {"violations": self.violations, **self.figures}
        return {**shown, "sample": list(self.sample)} if self.sample else shown


def notes_accounted(store: Store) -> Finding:
    """Each standing note is live, folded into a live one, or retired for a reason of its own; no live memory is of a
    note that is gone. Notes whose memory has not followed yet are `waiting`."""
    return _ask(store, "notes_accounted")


def memories_chunked(store: Store) -> Finding:
    """Each live memory is indexed as it reads now, with at least one chunk."""
    return _ask(store, "memories_chunked")


def vectors_current(store: Store) -> Finding:
    """No vector of the active model was made from another text than the one that stands, or belongs to nothing (S9).
    Missing ones are figures: a provider may be out of reach."""
    return _ask(store, "vectors_current")


def versions_single(store: Store) -> Finding:
    """No statement is live beside a later version of it, however many hops above (H2). Figures: recorded `chains`, and
    live statements that supersede themselves in a circle (`circular`); the sample names those too."""
    return _ask(store, "versions_single")


def quarantined(store: Store) -> Finding:
    """Files that cannot be read at all, with their reasons' codes."""
    return _ask(store, "quarantined", patient=False)


def _ask(store: Store, block: str, *, patient: bool = True) -> Finding:
    """Look; when something violates, look once more, because another writer may have been between two of its steps."""
    found = _look(store, block)
    if found.passed or not patient:
        return found
    time.sleep(_SECOND_LOOK_S)
    return _look(store, block)


def _look(store: Store, block: str) -> Finding:
    with store.transaction() as session:
        row: Row = session.one(_SQL[block]) or {}
    figures = {name: int(value) for name, value in row.items() if name not in {"violations", "sample"}}
    return Finding(int(row["violations"]), figures, tuple(row["sample"]))
