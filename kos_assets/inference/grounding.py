"""E7: whether what a model says is in the text that it was given.

Here: pure checks of names, quotes and sentences. Not here: what a task does with them (`tasks`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import regex  # type: ignore[import-untyped]

_WORD_CHAR: Final = regex.compile(r"[\p{L}\p{N}\p{M}_]")
# Scripts without spaces: a name has no border there that could be checked.
_UNSPACED: Final = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
_SENTENCE: Final = regex.compile(r"[^\s].*?(?:[.!?…]+(?=[\s\"'»”)]|$)[\"'»”)]*|[。！？]|$)", regex.DOTALL)
_NAME: Final = regex.compile(r"\p{Lu}[\p{L}\p{M}\p{N}_]*(?:[-'’.][\p{L}\p{N}]+)*")
_INSIDE: Final = regex.compile(r"(?<=[\p{Ll},;] )\p{L}{3,}")
_NOUNS: Final = 0.2  # of words inside sentences; English notes have 0.05 to 0.15, German ones 0.3 and more
_OPENERS: Final = " \"'«»“”‘’(*_-"
_NUMBER: Final = regex.compile(r"\d+(?:[.,:/\-]\d+)*")
_STRAIGHT: Final = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "\u2010": "-", "\u2011": "-", "–": "-", "—": "-", "\u00ad": None}
)


@dataclass(frozen=True)
class Source:
    """A text that answers are checked against; offsets are code points of `text`."""

    text: str

    @cached_property
    def _folded(self) -> tuple[str, list[int]]:
        """The text folded for comparison, and for each folded character where it stands in the text."""
        folded: list[str] = []
        at: list[int] = []
        space = True
        for offset, char in enumerate(self.text):
            if char.isspace():
                if not space:
                    folded.append(" ")
                    at.append(offset)
                space = True
                continue
            for piece in _fold(char):
                folded.append(piece)
                at.append(offset)
            space = False
        return "".join(folded), at

    def find(self, phrase: str) -> tuple[int, int] | None:
        """Where `phrase` stands first as whole words, (start, end) in the text; None when it is not there.

        Case, kinds of space, quote marks and dashes do not matter; accents do.
        """
        folded, at = self._folded
        wanted = fold(phrase)
        start = folded.find(wanted) if wanted else -1
        while start >= 0:
            end = start + len(wanted)
            if _whole(folded, start, end):
                return at[start], at[end - 1] + 1
            start = folded.find(wanted, start + 1)
        return None

    def has(self, phrase: str) -> bool:
        """Whether `phrase` stands in the text as whole words."""
        return self.find(phrase) is not None

    def _knows(self, word: str) -> bool:
        """Whether the text holds the word, or each name in a compound of it (`Kafka-based`)."""
        parts = regex.split(r"[-.]", word)
        return self.has(word) or (len(parts) > 1 and all(self.has(part) for part in parts if not part.islower()))

    @cached_property
    def _capitalises_nouns(self) -> bool:
        """Whether ordinary words have capitals inside sentences, as in German: a capital alone means no name then."""
        inside = _INSIDE.findall(self.text)
        return len(inside) >= 20 and sum(word[0].isupper() for word in inside) > len(inside) * _NOUNS

    def unknown(self, sentence: str) -> list[str]:
        """Names and numbers of `sentence` that the text does not hold: what a model invented.

        The first word counts as a name only with a second capital or a digit in it: every sentence begins with a
        capital. Where nouns have capitals, a word counts only so, or beside another unknown one (`Anna Schmidt`).
        """
        found: list[tuple[str, bool, int, int]] = []
        for match in _NAME.finditer(sentence):
            word = regex.sub(r"['’]s$", "", match.group())
            if len(word) > 1 and not self._knows(word):
                sure = bool(regex.search(r"\p{Lu}|\p{N}", word[1:]))
                found.append((word, sure, match.start(), match.end()))
        names = []
        for at, (word, sure, start, _) in enumerate(found):
            first = not sentence[:start].strip(_OPENERS)
            beside = any(abs(other[2] - found[at][3]) == 1 or abs(start - other[3]) == 1 for other in found)
            if sure or beside or not (first or self._capitalises_nouns):
                names.append(word)
        numbers = [match.group() for match in _NUMBER.finditer(sentence)]
        return [*names, *(number for number in numbers if not self.has(number))]


def fold(text: str) -> str:
    """One space between words, no case, plain quote marks and dashes, compatibility forms resolved."""
    return " ".join("".join(_fold(char) if not char.isspace() else " " for char in text).split())


def _fold(char: str) -> str:
    return unicodedata.normalize("NFKD", char).translate(_STRAIGHT).casefold().replace(" ", "")


def _whole(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] is not the inside of a longer word."""
    return not (_joined(text, start) or _joined(text, end))


def _joined(text: str, at: int) -> bool:
    if at in {0, len(text)}:
        return False
    before, after = text[at - 1], text[at]
    if _UNSPACED.match(before) or _UNSPACED.match(after):
        return False
    return bool(_WORD_CHAR.match(before) and _WORD_CHAR.match(after))


def sentences(text: str) -> list[str]:
    """The sentences of `text`, without the space between them."""
    return [found.strip() for found in _SENTENCE.findall(text) if found.strip()]


def named(names: Iterable[str]) -> dict[str, str]:
    """From a folded name to the name as it was given, for answers that repeat names."""
    return {fold(name): name for name in names}
