"""What a model claims about a text must stand in it (E7).

Here: whether a name or a span of an answer is in the text, and the answer without what is not. Not here: calling
models,
validating their JSON against a schema.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

import regex  # type: ignore[import-untyped]

from kos_assets.domain.entities.memory_text import Candidate, MemoryText
from kos_assets.domain.entities.noise import noise_reason

_EDGE = regex.compile(r"[\p{L}\p{N}]")
_SPACELESS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}]")


def is_grounded(span: str, text: str) -> bool:
    """E7: whether `span` stands in `text` as whole words, letter case, blanks and compatibility forms aside."""
    wanted, within = _plain(span), _plain(text)
    if not wanted:
        return False
    at = within.find(wanted)
    while at >= 0:
        before, after = within[at - 1 : at] if at else "", within[at + len(wanted) : at + len(wanted) + 1]
        if _is_border(before, wanted[0]) and _is_border(wanted[-1], after):
            return True
        at = within.find(wanted, at + 1)
    return False


def grounded(claimed: Iterable[Candidate], memory: MemoryText) -> tuple[list[Candidate], int]:
    """E7: the claims whose span and name both stand in the memory, and how many were dropped.

    A name that the noise gate refuses is dropped too, whoever proposed it.
    """
    text = f"{memory.heading}\n{memory.content}"
    rows = list(claimed)
    kept = [
        one
        for one in rows
        if is_grounded(one.span, text) and is_grounded(one.entity.name, text) and not noise_reason(one.entity.name)
    ]
    return kept, len(rows) - len(kept)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _is_border(left: str, right: str) -> bool:
    if not left or not right or _SPACELESS.match(left) or _SPACELESS.match(right):
        return True
    return not (_EDGE.match(left) and _EDGE.match(right))
