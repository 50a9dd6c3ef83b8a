"""Which messages belong to one conversation (W3).

Here: grouping by ids, then by subject; pure, over numbers. Not here: reading mail (register.py), notes (page.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

WINDOW_S: Final = 30 * 86_400.0
"""A reply that names no message joins one of the same subject that is at most 30 days older."""


@dataclass(slots=True)
class Letter:
    """What is remembered of one message, as numbers: `box` and `start`..`end` say where its bytes are; `name` is its
    id, `references` those of the messages before it, the first one first; `subject` is -1 where it says too little
    to join by; `reply`: the subject is marked as a reply's; `at` in seconds since 1970, None where no date is known;
    `people` are whom it is from and to; `mine`: the owner wrote it. `came`: when the file says it came, in seconds, or
    None."""

    box: int
    start: int
    end: int
    quoted: bool
    name: int
    references: tuple[int, ...]
    subject: int
    reply: bool
    at: float | None
    came: float | None
    people: tuple[int, ...]
    mine: bool
    partial: bool


def grouped(letters: Sequence[Letter]) -> list[list[int]]:
    """W3: the places of the messages of each conversation, oldest message first; conversations in the order of their
    first message in `letters`.

    Two messages belong together where one names the other, or both name a third, also one that is not there. A reply
    that names no message that is there joins the newest older one with the same subject (not an empty or a common one)
    that has a sender or recipient in common, at most WINDOW_S older; never where both name messages that are missing,
    for then these differ.
    """
    joined = _Joined()
    present = {letter.name for letter in letters}
    for letter in letters:
        for reference in letter.references:
            joined.join(letter.name, reference)
    _by_subject(letters, present, joined)
    groups: dict[int, list[int]] = {}
    for place, letter in enumerate(letters):
        groups.setdefault(joined.root(letter.name), []).append(place)
    return [sorted(group, key=lambda place: _order(letters[place])) for group in groups.values()]


def _order(letter: Letter) -> tuple[bool, float, int, int]:
    return letter.at is None, letter.at or 0.0, len(letter.references), letter.name


def _by_subject(letters: Sequence[Letter], present: set[int], joined: _Joined) -> None:
    subjects: dict[int, list[int]] = {}
    for place, letter in enumerate(letters):
        if letter.subject >= 0 and letter.at is not None:
            subjects.setdefault(letter.subject, []).append(place)
    for places in subjects.values():
        if len(places) < 2:
            continue
        older: list[Letter] = []
        for letter in sorted((letters[place] for place in places), key=_order):
            if letter.reply and not present.intersection(letter.references):
                found = _answered(letter, older)
                if found is not None:
                    joined.join(letter.name, found.name)
            older.append(letter)


def _answered(letter: Letter, older: Sequence[Letter]) -> Letter | None:
    """The newest older message that a reply without a known parent may answer; the last 50 are looked at."""
    people = set(letter.people)
    for other in older[:-51:-1]:
        if (letter.at or 0.0) - (other.at or 0.0) > WINDOW_S:
            return None
        if not (letter.references and other.references) and people.intersection(other.people):
            return other
    return None


class _Joined:
    """Sets of numbers that are joined step by step; the smallest number stands for its set."""

    def __init__(self) -> None:
        self._above: dict[int, int] = {}

    def root(self, one: int) -> int:
        above = self._above
        top = one
        while (higher := above.get(top, top)) != top:
            top = higher
        while (higher := above.get(one, one)) != top:
            above[one], one = top, higher
        return top

    def join(self, one: int, other: int) -> None:
        first, second = sorted((self.root(one), self.root(other)))
        if first != second:
            self._above[second] = first
