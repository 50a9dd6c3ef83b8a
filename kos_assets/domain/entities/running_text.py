"""Names in running text that nobody declared: the rules of the embedded extractor (N1).

Here: capitalised runs with sentence starts taken out, forms of organisations, titles of persons, mixed-case words. Not
here: names that are known (known.py), models. A capital letter is a hint only where the language keeps it for names: in
German single words and two-word runs count for nothing, and in scripts without capitals nothing is guessed at all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import regex  # type: ignore[import-untyped]

from kos_assets.domain.entities.extraction_words import ORGANISATIONS, PERSON_AFTER, PERSON_BEFORE, POSSESSIONS, TRADES
from kos_assets.domain.entities.masking import HIDDEN, Prose
from kos_assets.domain.entities.memory_text import Rule
from kos_assets.domain.entities.names import normalise
from kos_assets.domain.entities.noise import noise_reason
from kos_assets.domain.entities.noise_words import CALENDAR, PLAIN, STARTERS

_WORD: Final = r"\p{Lu}[\p{L}\p{M}\p{N}]*+(?:[-'’.&+#][\p{L}\p{N}]++)*[+#]{0,2}"
_JOIN: Final = r"(?:of the|of|du|de la|de|des|del|della|di|da|do|von der|von|van den|van der|van|ter|la|le|les|&|y|e)"
_RUN = regex.compile(
    rf"(?<![\p{{L}}\p{{N}}_@#/.\-]){_WORD}(?:[ \u00a0](?:{_JOIN}[ \u00a0])?{_WORD})*(?![\p{{L}}_(/\\])"
)
_MIXED = regex.compile(r"(?!\p{Lu}{2,}s\Z)(?:\p{Lu}?[\p{Ll}\d]+\p{Lu}[\p{L}\d]*|\p{Lu}{2,}\p{Ll}+\p{Lu}?\p{L}*)")
_PLURAL = regex.compile(
    r"\p{Lu}{2,}s|.*-(?:based|like|powered|generated|driven|style|only|free|specific|compatible|related|enabled|first|ready|wide)"
)
_ACRONYM = regex.compile(r"\p{Lu}{3,6}")
_START = regex.compile(
    r"(?:^|\n)[ \t>|]*(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+|#{1,6}[ \t]+)*(?:\[.\][ \t]+)?"
    r"(?:[#\ufffc]\S*[ \t]+)*[*_~\"“„«'‘(\[]*\Z|"
    r"[.!?:;…。！？|—–]['\"”’)\]*_]*[ \t\n]*[*_\"“„«'‘(\[]*\Z|[(\"“„«‘\[][*_]*\Z"
)
_SMALL = regex.compile(r"(?<![\p{L}\p{N}])\p{Ll}[\p{L}\p{M}-]*")
_NAME = regex.compile(r"\w+")
_POSSESSIVE = regex.compile(r"['’]s?\Z")
_TOKEN_OF = regex.compile(r"\S+")
_LOOK_BACK: Final = 60
_TITLE = regex.compile(
    r"(?<![\p{L}])(?:Herrn?|Frau|Mr|Mrs|Ms|Dr|Prof|Professor|Mme|Mlle|Monsieur|Madame|Señora?|Sra?|Dott|Signora?)\.?"
    rf"[ \u00a0](?:(?:Dr|Prof|Doktor)\.?[ \u00a0])?(?P<name>{_WORD}(?:[ \u00a0]{_WORD})?)"
)
_PERSON_AFTER = regex.compile(rf"(?:['’]s (?:{'|'.join(POSSESSIONS)})\b|,? (?:{'|'.join(PERSON_AFTER)})\b)")
_PERSON_BEFORE = regex.compile(rf"(?i:{'|'.join(PERSON_BEFORE)})[:,]?\s(?:is\s)?\Z")
_PLACE_BEFORE = regex.compile(
    r"\b(?:in|near|at|to|from|nach|aus|bei|à|vers|towards|outside|above|below)\s(?:\p{Lu}[\p{L}-]*,\s)*(?:\p{Lu}[\p{L}-]*\s)?"
    r"(?:(?:and|und|et|or)\s)?\Z"
)
_TOOL_AFTER = regex.compile(
    r"\s(?:plug-?ins?|app|apps|server|library|framework|database|theme|IDE|CLI|API|v?\d+(?:\.\d+)+)\b"
)
_PROGRAM = regex.compile(r"\p{L}*(?:gres|SQL|DB|base|Script|OS|[Ww]are|Hub|Lab|soft)\Z")
_OWNER_AFTER = regex.compile(r"['’]s\b(?! \p{L})")
_NOUN_CAPITALS: Final = frozenset(("de", "lb"))


@dataclass(frozen=True, slots=True)
class Guess:
    """A name that a rule saw at `start`; the class is a guess too."""

    start: int
    end: int
    name: str
    entity_class: str
    rule: Rule
    confidence: float


def guesses(prose: Prose, lang: str) -> Iterator[Guess]:
    """Names by rule, in the order of the text. What the noise gate refuses is left out; headings are not read."""
    small = frozenset(_SMALL.findall(prose.text))
    code = frozenset(word for span in prose.code for word in _NAME.findall(span))
    titled: set[int] = set()
    for match in _TITLE.finditer(prose.text):
        titled.add(match.start("name"))
        if not _in_heading(prose, match.start()) and not noise_reason(match["name"]):
            start, end = match.span("name")
            yield Guess(start, end, match["name"], "person", "title_of_person", 0.7)
    for match in _RUN.finditer(prose.text):
        if _in_heading(prose, match.start()) or match.start() in titled or _TITLE.match(prose.text, match.start()):
            continue
        guess = _read(prose.text, match.start(), match.end(), lang)
        if guess and not noise_reason(guess.name) and not _is_ordinary(guess, small, code):
            yield guess


def starts_sentence(text: str, at: int) -> bool:
    """Whether a capital letter at this offset says nothing: a line, a sentence, a list item, a cell or a quotation
    begins."""
    return _START.search(text, max(0, at - _LOOK_BACK), at) is not None


def _in_heading(prose: Prose, at: int) -> bool:
    place = bisect_right(prose.headings, (at, len(prose.text))) - 1
    return place >= 0 and at < prose.headings[place][1]


def _is_ordinary(guess: Guess, small: frozenset[str], code: frozenset[str]) -> bool:
    """A single word that the same text also writes in small letters, or in code."""
    if " " in guess.name:
        return False
    return guess.name in code or (guess.rule == "capitalised_word" and guess.name.casefold() in small)


def _read(text: str, start: int, end: int, lang: str) -> Guess | None:
    is_start = starts_sentence(text, start)
    start, end = _trimmed(text, start, end, is_start)
    name = _POSSESSIVE.sub("", text[start:end])
    end = start + len(name)
    tokens = name.split()
    if not tokens or any(normalise(token).removesuffix("s") in CALENDAR for token in tokens):
        return None
    if _is_organisation(tokens):
        return Guess(start, end, name, "organisation", "organisation_form", 0.7)
    if len(tokens) == 1 and _MIXED.fullmatch(name):
        return Guess(start, end, name, "tool", "mixed_case", 0.5)
    if is_start or (lang in _NOUN_CAPITALS and len(tokens) < 3):
        return None
    if len(tokens) == 1 and (_PLURAL.fullmatch(name) or not (len(name) > 3 or _ACRONYM.fullmatch(name))):
        return None
    rule: Rule = "capitalised_run" if len(tokens) > 1 else "capitalised_word"
    return Guess(start, end, name, _class_of(text, start, end, tokens), rule, 0.5 if len(tokens) > 1 else 0.35)


def _trimmed(text: str, start: int, end: int, is_start: bool) -> tuple[int, int]:
    """Without words at its edges that only begin a sentence, or sort or count a thing."""
    tokens = [match.span() for match in _TOKEN_OF.finditer(text, start, end)]
    while tokens and (normalise(text[slice(*tokens[0])]) in STARTERS or normalise(text[slice(*tokens[0])]) in PLAIN):
        tokens.pop(0)
    while tokens and normalise(text[slice(*tokens[-1])]) in PLAIN | STARTERS:
        tokens.pop()
    if not tokens:
        return start, start
    if is_start and tokens[0][0] == start and len(tokens) == 2 and not _is_organisation(text[start:end].split()):
        return start, end
    return tokens[0][0], tokens[-1][1]


def _is_organisation(tokens: list[str]) -> bool:
    if len(tokens) < 2:
        return False
    last, first = tokens[-1].casefold().rstrip("."), tokens[0].casefold()
    return last in ORGANISATIONS or first in TRADES or (len(tokens) == 3 and tokens[1] == "&")


def _class_of(text: str, start: int, end: int, tokens: list[str]) -> str:
    after, before = text[end : end + 24], text[max(0, start - 40) : start].rsplit(HIDDEN, 1)[-1]
    if len(tokens) < 4 and (_PERSON_AFTER.match(after) or _PERSON_BEFORE.search(before)):
        return "person"
    if _TOOL_AFTER.match(after) or (len(tokens) == 1 and _PROGRAM.match(tokens[0])):
        return "tool"
    if (
        len(tokens) == 1
        and _PLACE_BEFORE.search(before)
        and not _PROGRAM.match(tokens[0])
        and not _ACRONYM.fullmatch(tokens[0])
    ):
        return "person" if _OWNER_AFTER.match(after) else "place"
    return "topic"
