"""Whether a capitalised name is an ordinary word or phrase, judged by how the vault itself writes it (N1).

Here: words and pairs that a text writes in small letters, names that it uses as code, and the test of a name. Not
here: names that an
author declared; they are never tested.
"""

from __future__ import annotations

from collections.abc import Container
from itertools import pairwise
from typing import Final

import regex  # type: ignore[import-untyped]

from kos_assets.domain.entities.masking import prose_of
from kos_assets.domain.entities.memory_text import Rule

_SMALL_RUN = regex.compile(r"(?<![\p{L}\p{N}@#/._-])\p{Ll}[\p{L}\p{M}'’-]*(?: \p{Ll}[\p{L}\p{M}'’-]*)*")
_EDGE: Final = "'’-"
_SYMBOL = regex.compile(
    r"\b(?:new|class|interface|import|extends|implements|enum|struct|type)[ \t]+(\p{Lu}\w+)\b|\b(\p{Lu}\w+)(?=\()|"
    r"\b(\p{Lu}\w+)(?=\.(?:(?:\w+\.)?(?:ts|tsx|js|py|java|rs|go|cs|kt|cpp|h|rb|php|swift)\b|\p{Ll}\w*\())"
)
TESTED: Final[frozenset[Rule]] = frozenset(("capitalised_word", "capitalised_run"))
"""Rules whose only ground is the capital letter."""


def small_phrases(text: str) -> frozenset[str]:
    """The words, and the pairs of neighbours, that the prose of `text` writes in small letters. Linear."""
    seen: set[str] = set()
    for run in _SMALL_RUN.findall(prose_of(text).text):
        tokens = [token.strip(_EDGE) for token in run.split(" ")]
        seen.update(tokens)
        seen.update(map(" ".join, pairwise(tokens)))
    return frozenset(seen)


def is_ordinary(name: str, seen: Container[str]) -> bool:
    """A word that `seen` has in small letters, or a run each of whose pairs of neighbours it has; plural forms too.

    `seen` holds small_phrases that at least two memories share: one small letter may be a slip or an address.
    """
    tokens = name.lower().split()
    if len(tokens) == 1:
        return any(form in seen for form in (tokens[0], f"{tokens[0]}s", tokens[0].removesuffix("s")))
    pairs = [" ".join(pair) for pair in pairwise(tokens)]
    return all(pair in seen or f"{pair}s" in seen or pair.removesuffix("s") in seen for pair in pairs)


def code_symbols(text: str) -> frozenset[str]:
    """Names that `text` uses as code does: declared, called, or as the name of a source file."""
    return frozenset(name for found in _SYMBOL.findall(text) for name in found if name)
