"""A text as words that can be compared: folded, stemmed roughly, with what each stands for. Pure.

Here: what counts as a value (number, version, date, identifier, name, negation) in any script. Not here: search terms
(tokens.py), what a difference means (lookalike.py).
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import regex  # type: ignore[import-untyped]

from kos_assets.domain.wording_lists import FUNCTION, MONTHS, NEGATIONS, NEGATORS, NUMERALS, OPPOSITES

Kind = Literal["number", "version", "date", "identifier", "name", "negation"]

_SPACELESS: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\u30fc\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_IN_WORD: Final = rf"[\p{{L}}\p{{N}}\p{{M}}--[{_SPACELESS}]]"
_WORD = regex.compile(
    rf"(?V1)[{_SPACELESS}]"
    rf"|{_IN_WORD}(?:{_IN_WORD}|['’_]|[-.:/@#](?={_IN_WORD})){{0,80}}+"
    r"|[%°€$£¥+≠=<>≥≤]|\p{Extended_Pictographic}"
)
_CONTRACTED = regex.compile(r"\b(?P<verb>ca|wo|sha|\p{L}{2,8}?)n(?:['’]t|ot(?<=\bcannot))\b", regex.IGNORECASE)
_WHOLE_VERB: Final = {"ca": "can", "wo": "will", "sha": "shall"}
_SENTENCE_END = regex.compile(r"(?:^|[.!?。！？]|\n)[\s\"'“”‘’(*_]*\Z")
_DATE = regex.compile(r"\d{4}-\d{1,2}(?:-\d{1,2})?\Z|\d{1,2}[./]\d{1,2}[./]\d{2,4}\Z")
_VERSION = regex.compile(r"v?\d+(?:\.\d+)+[a-z0-9.-]*\Z|v\d+\Z", regex.IGNORECASE)
_NUMBER = regex.compile(r"[\d.,:/%-]*\d[\d.,:/%-]*\Z")
_SIGN = regex.compile(r"\p{Extended_Pictographic}|[%°€$£¥]")
_CAMEL = regex.compile(r"\p{Ll}\p{Lu}|\p{Lu}{2}")
_SUFFIX = regex.compile(r"(?:'s|’s|ings?|edly|ed|es|s|ly)\Z")
_SHORTEST_STEM: Final = 3
_LOOK_BACK: Final = 12


@dataclass(frozen=True)
class Word:
    """A word as it stands, casefolded without accents, its rough stem, and whether it begins a sentence."""

    text: str
    folded: str
    stem: str
    begins: bool


def words_of(text: str, most: int) -> list[Word]:
    """The words of a text in order, at most `most`; a script without spaces gives one word a character."""
    found = []
    plain = _CONTRACTED.sub(_uncontracted, unicodedata.normalize("NFKC", text))
    for match in _WORD.finditer(plain):
        word = match.group()
        begins = _SENTENCE_END.search(match.string[max(0, match.start() - _LOOK_BACK) : match.start()]) is not None
        folded = _folded(word)
        found.append(Word(word, folded, _stem(folded), begins or match.start() == 0))
        if len(found) >= most:
            break
    return found


def _uncontracted(match: regex.Match[str]) -> str:
    """ "don't" and "cannot" in two words, as they are written elsewhere."""
    verb = match["verb"]
    return f"{_WHOLE_VERB.get(verb.casefold(), verb)} not"


@lru_cache(maxsize=65_536)
def _folded(word: str) -> str:
    return word.casefold().replace("’", "'").strip("'_")


@lru_cache(maxsize=65_536)
def _stem(folded: str) -> str:
    if folded in NEGATORS:
        return "not"
    if any(char.isdigit() for char in folded):
        return folded
    cut = _SUFFIX.sub("", folded)
    return cut if len(cut) >= _SHORTEST_STEM else folded


def kind_of(word: Word) -> Kind | None:
    """What a word stands for where it is exchanged; None for an ordinary word."""
    folded = word.folded
    if folded in NEGATIONS or folded in OPPOSITES or folded.endswith("n't"):
        return "negation"
    if folded in MONTHS:
        return "date"
    if folded in NUMERALS:
        return "number"
    if any(char.isdigit() for char in folded):
        return _numeric(folded)
    if _SIGN.match(folded):
        return "identifier"
    if len(word.text) == 1 and not word.text.isascii():
        return None
    if any(char in "_/@#.:" for char in folded):
        return "identifier"
    if _CAMEL.search(word.text):
        return "name"
    return "name" if word.text[:1].isupper() and not word.begins else None


def _numeric(folded: str) -> Kind:
    if _DATE.match(folded):
        return "date"
    if _NUMBER.match(folded) and folded.count(".") <= 1:
        return "number"
    return "version" if _VERSION.match(folded) else "identifier"


def is_content(word: Word) -> bool:
    """Whether a word carries meaning of its own."""
    return word.folded not in FUNCTION
