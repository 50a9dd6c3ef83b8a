"""What a hygiene step did or would do: counts, and ids of what it touched; never text (house rule 14)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

_SAMPLE: Final = 10


@dataclass(frozen=True)
class Report:
    """Counts by name, and the ids behind them by the name of what happened to them, in the order of the work."""

    counts: Mapping[str, int]
    ids: Mapping[str, tuple[UUID, ...]]

    def metadata(self) -> dict[str, int | list[str]]:
        """Counts, and up to ten ids of each kind, for an asset's page."""
        samples = {f"{name}_ids": [str(found) for found in ids[:_SAMPLE]] for name, ids in self.ids.items() if ids}
        return {**self.counts, **samples}

    def as_dict(self) -> dict[str, Any]:
        """Counts and every id, JSON-safe."""
        return {"counts": dict(self.counts), "ids": {name: [str(one) for one in ids] for name, ids in self.ids.items()}}
