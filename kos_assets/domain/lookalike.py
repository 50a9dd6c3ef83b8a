"""G4's look-alike guard: whether two wordings in near-identical words state different things. Pure, linear in length.

A vector sees neither the digit that differs nor what lies beyond its window. Here both texts are read as words:
headings by what they name, contents by the values that were exchanged, long ones by the share of their shingles. A veto
only leaves two rows side by side; a wrong supersede hides knowledge: so every doubt is a veto.

Not here: type, day, provenance (gate/verdict.py), contradictions (contradiction.py).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from kos_assets.domain.wording import Word, is_content, kind_of, words_of
from kos_assets.domain.wording_lists import NEGATIONS, OPPOSITES, PRONOUNS

LONG: Final = 150
"""Words beyond which a text may reach out of a small model's window: its shingles are compared as well."""

_MOST_WORDS: Final = 40_000
_ALIGNED: Final = 400
_SHINGLE: Final = 4
_SAME_TEXT: Final = 0.7
_RETITLED: Final = 0.8
_KEPT: Final = 0.6
_STATEMENT: Final = 40
_LOST: Final = 0.3
_FRAME: Final = 0.34
_RELATED: Final = 0.25
_WORDS_A_SLOT: Final = 200
_ROOT: Final = 5
_SHORTEST_FORM: Final = 3
_MARKED = re.compile("\\w(?:[+#]+|[-\u2212])\\Z|<?-+>|<-+|[→←↔⇒⇐]")


Swap = tuple[Sequence[Word], Sequence[Word]]
"""Words of the older text, and those that stand in their place in the newer one; either may be empty."""


@dataclass(frozen=True)
class Wording:
    """Heading and content of a memory."""

    heading: str
    content: str


def difference(new: Wording, old: Wording) -> str | None:
    """A code for what sets the two apart, or None: a restatement, or a correction of a value under the same heading.

    Codes hold no text: `number`, `version`, `date`, `identifier`, `name`, `negation`, `heading`, `whole_text`,
    `other_content`, `shorter`. Symmetric but for `shorter`, which protects what only the longer, older text says.
    """
    if _marked(new.heading) != _marked(old.heading):
        return "identifier"
    title, former = words_of(new.heading, _MOST_WORDS), words_of(old.heading, _MOST_WORDS)
    text, before = words_of(new.content, _MOST_WORDS), words_of(old.content, _MOST_WORDS)
    same_heading = _folded(title) == _folded(former)
    if not same_heading and (code := _heading_difference(title, former, text, before)):
        return code
    if max(len(text), len(before)) >= _MOST_WORDS:
        return None if new.content == old.content else "whole_text"  # more than is read here
    if _folded(text) == _folded(before):
        return None
    if max(len(text), len(before)) > LONG and _shared(text, before) < _SAME_TEXT:
        return "whole_text"
    if code := _loss(text, before):
        return code
    swaps = exchanged(before, text)
    if not same_heading and (code := _first_value(swaps)):
        return code
    if max(len(text), len(before)) <= LONG and _other_subject(title, former, text, before, swaps):
        return "other_content"
    if not same_heading:
        return None
    if not names_a_subject(title) and any(_says(gone) for gone, _ in swaps):
        return "other_content"  # it may only say more
    return _too_much(swaps, text, before)


def _heading_difference(
    title: Sequence[Word], former: Sequence[Word], text: Sequence[Word], before: Sequence[Word]
) -> str | None:
    """What two headings that are not the same name differently."""
    gone, come = _difference(former, title)
    for code in ("negation", "version", "date", "identifier", "number", "name"):
        if any(kind_of(word) == code for word in (*gone, *come)):
            return code
    gone, come = [word for word in gone if is_content(word)], [word for word in come if is_content(word)]
    if not gone and not come:
        return "heading" if _turned_round(title, former) else None
    shared = {word.stem for word in title if is_content(word)} & {word.stem for word in former if is_content(word)}
    if not shared:
        return "heading"
    if gone and come:  # "due" for "scheduled", "start" for "stop": nobody can tell a synonym from another thing here
        return "heading"
    return None if overlap(text, before) >= _RETITLED else "heading"


def _marked(heading: str) -> list[str]:
    """Words of a heading that their marks or their one letter tell apart: `A+`, `C#`, `web->db`, a server `Б`."""
    words = [word.strip("\"'“”‘’()[],.:;!?") for word in unicodedata.normalize("NFKC", heading).split()]
    return [
        word.replace("\u2212", "-")
        for number, word in enumerate(words)
        if _MARKED.search(word) or (number and len(word) == 1 and word.isupper())
    ]


def _turned_round(title: Sequence[Word], former: Sequence[Word]) -> bool:
    """Whether the same words change places in one frame: from A to B, from B to A. "Gateway port" and "port of the
    gateway" have another frame each."""
    frames = [[word.folded for word in words if not is_content(word)] for words in (title, former)]
    told = [[word.stem for word in words if is_content(word)] for words in (title, former)]
    return frames[0] == frames[1] and told[0] != told[1]


def _other_subject(
    title: Sequence[Word], former: Sequence[Word], text: Sequence[Word], before: Sequence[Word], swaps: Sequence[Swap]
) -> bool:
    """Whether the two may be two entries under one title ("Known issues", "Allergies of the children").

    A correction still speaks of what its heading names. Where no word of the headings is left in what both texts share,
    an exchange may be of the very thing that is spoken of; where only some are, one of the first thing said may be.
    """
    exchanges = [
        swap for swap in swaps if _says(swap[0]) and _says(swap[1]) and not _inflected(swap) and not _measures(swap)
    ]
    named = {word.stem for word in (*title, *former) if is_content(word) and word.folded not in NEGATIONS}
    if not exchanges or not named or _speaks_of_its_heading(text, before):
        return False
    kept = sum(_has(text, stem) and _has(before, stem) for stem in named)
    if kept in (0, len(named)):
        return kept == 0
    return all(_opens(words, exchanges, side, named) for side, words in enumerate((before, text)))


def _speaks_of_its_heading(text: Sequence[Word], before: Sequence[Word]) -> bool:
    """Whether both begin with the same pronoun: "It listens on 8443"."""
    return bool(text and before) and text[0].folded in PRONOUNS and text[0].folded == before[0].folded


def _has(words: Sequence[Word], stem: str) -> bool:
    """Whether a word of the same root stands there: "maintainer" and "maintains", "roof" and "roofer"."""
    for word in words:
        short = min(len(word.stem), len(stem), _ROOT)
        if word.stem == stem or (short >= _ROOT - 1 and word.stem[:short] == stem[:short]):
            return True
    return False


def _inflected(swap: Swap) -> bool:
    """Whether one lower-case word only gave way to a longer or shorter form of itself: "min" and "minutes"."""
    if len(swap[0]) != 1 or len(swap[1]) != 1:
        return False
    short, long = sorted((swap[0][0].text, swap[1][0].text), key=len)
    return len(short) >= _SHORTEST_FORM and short.isalpha() and short.islower() and long.startswith(short)


def _measures(swap: Swap) -> bool:
    """Whether only numbers, versions and dates gave way to such: a value, and never the thing that is spoken of."""
    return all(kind_of(word) in ("number", "version", "date") for side in swap for word in side if is_content(word))


def _opens(words: Sequence[Word], exchanges: Sequence[Swap], side: int, named: set[str]) -> bool:
    """Whether what was exchanged is the first that a text says, and not just what the heading names."""
    first = next((word for word in words if is_content(word)), None)
    if first is None or any(_has([first], stem) for stem in named):
        return False
    return any(word is first for swap in exchanges for word in swap[side])


def _too_much(swaps: Sequence[Swap], text: Sequence[Word], before: Sequence[Word]) -> str | None:
    """Under one heading one value may be corrected; several exchanged at once are another thing in the same frame, and
    so is one word that gives way to another wherever it stands."""
    valued = [swap for swap in swaps if _states(*swap)]
    ordinary = [swap for swap in swaps if _says(swap[0]) and _says(swap[1]) and not _states(*swap)]
    if any(count > 1 for count in Counter(_pair(swap) for swap in ordinary).values()):
        return "other_content"
    gone = {_pair(swap)[0] for swap in valued if _first_value([(swap[0], ())])}
    come = {_pair(swap)[1] for swap in valued if _first_value([((), swap[1])])}
    values = max(len(gone), len(come))
    if values and values + len(ordinary) > 1 + max(len(text), len(before)) // _WORDS_A_SLOT:
        return "other_content"
    if values and frame(text, before) < _FRAME:
        return "other_content"
    if len(ordinary) > 1 and overlap(text, before) < _RELATED:
        return "other_content"
    return None


def _states(gone: Sequence[Word], come: Sequence[Word]) -> bool:
    """Whether an exchange is of values. "After" is one where "before" comes for it, not where it is only added."""
    turned = all(any(word.folded in OPPOSITES for word in side) for side in (gone, come))
    return any(kind_of(word) is not None and (turned or word.folded not in OPPOSITES) for word in (*gone, *come))


def frame(text: Sequence[Word], before: Sequence[Word]) -> float:
    """The share of all words, small ones too, that both have: of a short statement little else is left."""
    ours, theirs = {word.stem for word in text}, {word.stem for word in before}
    return len(ours & theirs) / len(ours | theirs) if ours | theirs else 1.0


def _says(words: Sequence[Word]) -> bool:
    return any(is_content(word) for word in words)


def _pair(swap: Swap) -> tuple[str, str]:
    return " ".join(word.stem for word in swap[0]), " ".join(word.stem for word in swap[1])


def names_a_subject(title: Sequence[Word]) -> bool:
    """Whether a heading says what its text is about: "Port of the gateway" does; "Lesson" and "approved" do not."""
    return len({word.stem for word in title if is_content(word)}) > 1


def _first_value(swaps: Sequence[Swap]) -> str | None:
    """The kind of the first value that differs."""
    for gone, come in swaps:
        for word in (*gone, *come):
            if kind := kind_of(word):
                return kind
    return None


def _loss(text: Sequence[Word], before: Sequence[Word]) -> str | None:
    """Whether the older text says a good deal that the newer one does not; of a longer text a third is a good deal."""
    theirs = {word.stem for word in before if is_content(word)}
    ours = {word.stem for word in text if is_content(word)}
    lost = len(theirs - ours) / len(theirs) if theirs else 0.0
    if len(ours) < len(theirs) * _KEPT and lost > 1 - _KEPT:
        return "shorter"
    return "other_content" if len(before) > _STATEMENT and lost > _LOST else None


def _folded(words: Sequence[Word]) -> list[str]:
    return [word.folded for word in words]


def _difference(before: Sequence[Word], after: Sequence[Word]) -> tuple[list[Word], list[Word]]:
    """Words that only one of the two has, as multisets of stems."""
    left, right = Counter(word.stem for word in before), Counter(word.stem for word in after)
    return _beyond(before, left - right), _beyond(after, right - left)


def _beyond(words: Sequence[Word], counts: Counter[str]) -> list[Word]:
    found = []
    for word in words:
        if counts[word.stem] > 0:
            counts[word.stem] -= 1
            found.append(word)
    return found


def _common(text: Sequence[Word], before: Sequence[Word]) -> list[Word]:
    shared = Counter(word.stem for word in text) & Counter(word.stem for word in before)
    return _beyond(text, shared)


def overlap(text: Sequence[Word], before: Sequence[Word]) -> float:
    """The share of content words that both have, of all that either has."""
    ours = {word.stem for word in text if is_content(word)}
    theirs = {word.stem for word in before if is_content(word)}
    return len(ours & theirs) / len(ours | theirs) if ours | theirs else 1.0


def _shared(text: Sequence[Word], before: Sequence[Word]) -> float:
    """The share of shingles of four words that both have, of all that either has."""
    ours, theirs = _shingles(text), _shingles(before)
    return len(ours & theirs) / len(ours | theirs) if ours | theirs else 1.0


def _shingles(words: Sequence[Word]) -> set[int]:
    folded = [word.folded for word in words]
    size = min(_SHINGLE, len(folded)) or 1
    return {hash(tuple(folded[start : start + size])) for start in range(len(folded) - size + 1)}


def exchanged(before: Sequence[Word], after: Sequence[Word]) -> list[Swap]:
    """Places where the two differ, as (gone, come), without what only stands elsewhere; of long texts word by word."""
    gone, come = _difference(before, after)
    if max(len(before), len(after)) > _ALIGNED:
        return [((word,), ()) for word in gone] + [((), (word,)) for word in come]
    lost, won = {id(word) for word in gone}, {id(word) for word in come}
    matcher = SequenceMatcher(None, [word.stem for word in before], [word.stem for word in after], autojunk=False)
    found = [
        (
            tuple(word for word in before[start:end] if id(word) in lost),
            tuple(word for word in after[first:last] if id(word) in won),
        )
        for tag, start, end, first, last in matcher.get_opcodes()
        if tag != "equal"
    ]
    return [swap for swap in found if swap[0] or swap[1]]
