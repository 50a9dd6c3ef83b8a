"""Writers (mirrors): small deterministic programs that turn one outside source into notes.

The public contract: a source yields `Item`s (and `Skipped` for what it cannot use); `mirror` writes one note per item.
"""

from __future__ import annotations

from kos_assets.domain.mirrors import MirrorSettings
from kos_assets.writers.contract import Entry, Item, Skipped, Source, SourceError
from kos_assets.writers.mirror import MirrorReport, mirror

__all__ = ["Entry", "Item", "MirrorReport", "MirrorSettings", "Skipped", "Source", "SourceError", "mirror"]
