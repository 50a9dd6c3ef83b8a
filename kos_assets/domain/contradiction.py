"""G9: whether two statements about one subject disagree. Pure.

Asked for neighbours near in meaning that are not superseded. A wrong yes only puts a pair before a person, but a list
of such pairs is soon not read any more: only short statements in one frame that differ in a value or a negation count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kos_assets.domain.lookalike import Wording, exchanged, frame, names_a_subject, overlap
from kos_assets.domain.wording import Word, is_content, kind_of, words_of

_MOST_WORDS: Final = 120
_SAME_SUBJECT: Final = 0.99
_SAME_FRAME: Final = 0.5
_CONTRARY: Final = ("number", "version", "date", "identifier", "name", "negation")


def disagrees(new: Wording, old: Wording) -> str | None:
    """The kind of value that the two state differently about one subject, or None. Codes as in lookalike.py."""
    title, former = words_of(new.heading, _MOST_WORDS + 1), words_of(old.heading, _MOST_WORDS + 1)
    text, before = words_of(new.content, _MOST_WORDS + 1), words_of(old.content, _MOST_WORDS + 1)
    if max(len(text), len(before)) > _MOST_WORDS or not names_a_subject(title) or not names_a_subject(former):
        return None
    if overlap(title, former) < _SAME_SUBJECT or _contrary_headings(title, former):
        return None
    if frame(text, before) < _SAME_FRAME:
        return None
    swaps = exchanged(before, text)
    gone = {kind for words, _ in swaps for word in words if (kind := kind_of(word))}
    come = {kind for _, words in swaps for word in words if (kind := kind_of(word))}
    for kind in _CONTRARY:
        if kind in gone and kind in come:
            return kind
    return "negation" if "negation" in gone | come else None


def _contrary_headings(title: Sequence[Word], former: Sequence[Word]) -> bool:
    """Headings that differ in a value or a negation name two subjects."""
    return any(
        kind_of(word) is not None
        for swap in exchanged(former, title)
        for words in swap
        for word in words
        if is_content(word) or kind_of(word) == "negation"
    )
