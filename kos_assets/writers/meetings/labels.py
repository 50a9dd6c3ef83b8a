"""`Name: words`: which of a transcript's lines begin with their speaker (W2).

Here: telling names from other words before a colon. Not here: what a name is (names.py).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from kos_assets.writers.meetings.names import LONGEST_NAME, is_label

_BEFORE_COLON = re.compile(
    rf"\s*(?:[-–>]{{1,3}}\s*)?(\S[^:：\n]{{0,{LONGEST_NAME - 1}}})[:：](?=\s|\Z|[^\x00-\x7f])\s*(.*)", re.DOTALL
)
_SHARE: Final = 0.25
_OFTEN: Final = 3
_MOST: Final = 20_000


class Labels:
    """The speakers of one transcript. In one where every fourth line that is looked at has a name before its colon,
    each such name is a speaker; in another, only names that stand there three times."""

    def __init__(self, rows: Iterable[str]) -> None:
        counts: Counter[str] = Counter()
        total = 0
        for row in rows:
            total += 1
            found = _BEFORE_COLON.match(row)
            if found is not None and len(counts) < _MOST and is_label(found[1]):
                counts[found[1].strip()] += 1
        labelled = sum(counts.values()) >= _SHARE * total
        self.names = frozenset(name for name, count in counts.items() if labelled or count >= _OFTEN)
        self.lines = sum(count for name, count in counts.items() if name in self.names)

    def split(self, row: str) -> tuple[str, str]:
        """(speaker, words); no speaker, and the row, where none stands before it."""
        found = _BEFORE_COLON.match(row) if ":" in row or "：" in row else None
        if found is None or found[1].strip() not in self.names:
            return "", row
        return found[1].strip(), found[2]
