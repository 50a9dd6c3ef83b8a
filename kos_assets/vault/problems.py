"""What is wrong with a file or a line, in words that a person can act on (V1, V4).

Here: the two kinds of finding. Not here: failures of the vault as a whole (VaultError).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a file that was read anyway. `line` is 1-based in the file, None when no single line is to blame."""

    code: str
    line: int | None
    reason: str
    fix: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A path that gives no note this time: it is quarantined with its reason and never blocks another (V4)."""

    path: str
    code: str
    reason: str
    fix: str
