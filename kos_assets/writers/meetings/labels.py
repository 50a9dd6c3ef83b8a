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
_LOOKED_AT: Final = 400
"""Characters of a row in which its colon is looked for."""


class Labels:
    """The speakers of one transcript. In one where every fourth line has a name before its colon, each such name is a
    speaker; in another, only names that stand there three times. Words in lower case are names where half of the lines
    begin with such as stand there three times.

    `strict`, for notes that may be no transcript at all: neither words in lower case (`key: value`) nor single letters
    (`Q: ...`) are names.
    """

    def __init__(self, rows: Iterable[str], *, strict: bool = False) -> None:
        self.strict = strict
        counts: Counter[str] = Counter()
        loose: Counter[str] = Counter()
        total = 0
        for row in rows:
            total += 1
            found = _BEFORE_COLON.match(row[:_LOOKED_AT]) if ":" in row or "：" in row else None
            if found is not None and len(counts) + len(loose) < _MOST:
                name = found[1].strip()
                (counts if self.allows(name) else loose)[name] += 1
        labelled = sum(counts.values()) >= _SHARE * total
        names = {name for name, count in counts.items() if labelled or count >= _OFTEN}
        low = {name for name, count in loose.items() if count >= _OFTEN and is_label(name.title()) and not strict}
        begun = sum(counts[name] for name in names) + sum(loose[name] for name in low)
        self.names = frozenset(names | low if begun * 2 >= total else names)

    def allows(self, name: str) -> bool:
        """Whether that may be a name here."""
        return is_label(name) and not (self.strict and len(name.strip()) == 1)

    def split(self, row: str) -> tuple[str, str]:
        """(speaker, words); no speaker, and the row, where none stands before it."""
        found = _BEFORE_COLON.match(row) if ":" in row or "：" in row else None
        if found is None or found[1].strip() not in self.names:
            return "", row
        return found[1].strip(), found[2]
