"""Names: when two are the same, who they denote, and how alike they are (N1, N3).

Here: the normal form, the entity's id, similarity, initials, acronyms, identifiers inside names, mail addresses. Not
here: where names are found (candidates.py), what follows from likeness (merging.py).
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import lru_cache
from typing import Final, NamedTuple
from uuid import UUID, uuid5

import regex  # type: ignore[import-untyped]

from kos_assets.domain.vocabulary import KOS_NAMESPACE

CLASSES: Final = (
    "person",
    "organisation",
    "tool",
    "project",
    "place",
    "event",
    "product",
    "document",
    "topic",
    "repository",
)
"""The classes that the embedded rules give; models and people may add others (N1: open vocabulary)."""

LONGEST_NAME: Final = 120
"""Code points; what is longer is a sentence, not a name."""

_INVISIBLE = regex.compile(r"[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad\ufe00-\ufe0f]")
_DASHES: Final = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2212\ufe58\ufe63\uff0d"), "-")
_APOSTROPHES: Final = dict.fromkeys(map(ord, "\u2018\u2019\u02bc\u00b4`"), "'")
_EDGES: Final = " \t\"'“”„«»‚‹›()[]{}<>*_~,;:!?…。、，；：！？「」『』"
_SPACE = regex.compile(r"\s+")
_WORD = regex.compile(r"[\p{L}\p{N}\p{M}]+")
_HUMP = regex.compile(r"(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})")
_DIGITS = regex.compile(r"\p{N}")
_SIGNS = regex.compile(r"(?<=\p{L})[+#]+")
_INITIAL = regex.compile(r"\p{Lu}\.?\Z")
_PEOPLE = regex.compile(r"\s*(?P<name>[^<>]*?)\s*<\s*(?P<mail>[^<>\s@]+@[^<>\s@]+)\s*>\s*\Z")
_MAIL = regex.compile(r"(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+-]++@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+")


class EntityName(NamedTuple):
    """A class and a name as written. Equal entities have equal `key`s."""

    entity_class: str
    name: str

    @property
    def key(self) -> tuple[str, str]:
        """Class and normal form: what makes two names one entity without asking anybody (N3)."""
        return self.entity_class, normalise(self.name)

    @property
    def entity_id(self) -> UUID:
        """N1: the same in every installation, for it is made of the class and the normal form alone."""
        return entity_id(self.entity_class, self.name)


def entity_id(entity_class: str, name: str) -> UUID:
    """N1: uuid5 of class and normalised name. Raises ValueError for an empty class or a name without any character."""
    normal = normalise(name)
    if not entity_class.strip() or not normal:
        raise ValueError("an entity has a class and a name")
    return uuid5(KOS_NAMESPACE, f"entity:{entity_class.strip().casefold()}:{normal}")


@lru_cache(maxsize=65_536)
def normalise(name: str) -> str:
    """The form in which equal names are equal: compatibility forms, case, blanks, dashes, quotation marks at the edges.

    Idempotent. Accents, inner punctuation, signs (`C` and `C++`) and digits stay: they tell different things apart, and
    what only they separate is a suggestion for a person (N3).
    """
    text = _once(name)
    while (again := _once(text)) != text:
        text = again
    return text


def _once(name: str) -> str:
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", name)).translate(_DASHES).translate(_APOSTROPHES)
    text = unicodedata.normalize("NFKC", _SPACE.sub(" ", text).casefold())
    return text.strip(_EDGES).removesuffix("'s").strip(_EDGES).rstrip(".").strip(_EDGES)


@lru_cache(maxsize=65_536)
def folded(name: str) -> str:
    """The normal form without accents, joiners and word borders of identifiers: for comparing, never for equality."""
    spaced = _HUMP.sub(" ", unicodedata.normalize("NFKC", name))
    plain = "".join(
        mark for mark in unicodedata.normalize("NFKD", normalise(spaced)) if not unicodedata.combining(mark)
    )
    return " ".join(_WORD.findall(plain))


@lru_cache(maxsize=65_536)
def words(name: str) -> tuple[str, ...]:
    """The words of the folded name, in order."""
    return tuple(folded(name).split())


@lru_cache(maxsize=65_536)
def trigrams(name: str) -> Counter[str]:
    """Trigrams of each folded word, padded as pg_trgm pads them."""
    return Counter(
        padded[at : at + 3] for word in words(name) for padded in [f"  {word} "] for at in range(len(padded) - 2)
    )


def similarity(one: str, other: str) -> float:
    """0..1, symmetric, 1.0 for equal folded names: the better of trigrams over words and over the joined letters."""
    if folded(one) == folded(other):
        return 1.0
    joined = _dice(trigrams(folded(one).replace(" ", "")), trigrams(folded(other).replace(" ", "")))
    return max(_dice(trigrams(one), trigrams(other)), joined)


def _dice(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0


def is_initialled(one: str, other: str) -> bool:
    """Whether one is the other with given names cut to initials: `J. Smith` and `Jane Smith`. Symmetric."""
    return _abbreviates(one, other) or _abbreviates(other, one)


def _abbreviates(short: str, long: str) -> bool:
    given, full = short.split(), long.split()
    if len(given) != len(full) or len(given) < 2 or folded(given[-1]) != folded(full[-1]):
        return False
    pairs = list(zip(given[:-1], full[:-1], strict=True))
    cut = [bool(_INITIAL.match(part)) and len(_WORD.findall(whole)[:1] or "") == 1 for part, whole in pairs]
    return any(part != whole for part, whole in pairs) and all(
        folded(part) == folded(whole) or (is_cut and folded(whole).startswith(folded(part)))
        for (part, whole), is_cut in zip(pairs, cut, strict=True)
    )


def is_acronym(one: str, other: str) -> bool:
    """Whether one is made of the first letters of the other's words or humps: `gh` and `GitHub`. Symmetric."""
    return _spells(one, other) or _spells(other, one)


def _spells(short: str, long: str) -> bool:
    parts = words(long)
    letters = folded(short).replace(" ", "")
    return 2 <= len(letters) == len(parts) and all(
        part.startswith(letter) for part, letter in zip(parts, letters, strict=True)
    )


def is_part(one: str, other: str) -> bool:
    """Whether the words of one, fewer than the other's, stand in the other in the same order, or at its edge."""
    short, long = sorted((words(one), words(other)), key=len)
    if not short or len(short) == len(long):
        return False
    rest = iter(long)
    return all(word in rest for word in short)


def identifiers(name: str) -> tuple[str, ...]:
    """What numbers a thing among its like: the tokens that hold a digit, whole (`SR-2023-052`), in order, folded;
    then signs that are part of a name (`C++`, `C#`)."""
    tokens = [folded(token) for token in name.replace("/", " ").split() if _DIGITS.search(token)]
    return tuple(token for token in (*tokens, *_SIGNS.findall(name)) if token)


def split_person(entry: str) -> tuple[str, str | None]:
    """Name and lower-case address of `Name <mail>`, `mail` or `Name`; the name may be empty, the address None."""
    if match := _PEOPLE.match(entry):
        return match["name"].strip(" \"'"), match["mail"].lower()
    bare = entry.strip().removeprefix("mailto:")
    return ("", bare.lower()) if _MAIL.fullmatch(bare) else (entry.strip(), None)


def mail_addresses(text: str) -> list[tuple[int, int, str]]:
    """Start, end and lower-case address of each mail address in `text`."""
    return [(*match.span(), match.group().lower()) for match in _MAIL.finditer(text)]
