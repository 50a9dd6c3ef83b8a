"""Terms of a document and of a query (R10): the one place that decides what lexical search can find.

Here: stemming by language, stop words, weights, lengths. Not here: how text is cut into surfaces (`token_shapes`),
which language a text is in (`language`), statistics and scoring (store, recall).

Changing terms means re-indexing every installation: raise `TOKENIZER_VERSION`; a golden test holds the terms of a fixed
text and fails when a library's word list or stemmer changes them.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import regex  # type: ignore[import-untyped]

from kos_assets.domain.language import SNOWBALL, UNDETERMINED, stop_words
from kos_assets.domain.token_shapes import Shape, casefold, fold, normalise, shape, surfaces

if TYPE_CHECKING:
    from Stemmer import Stemmer  # type: ignore[import-not-found]

TOKENIZER_VERSION: Final = 1
MAX_TERM_CHARS: Final = 64
MAX_DISTINCT_TERMS: Final = 20_000
BODY_WEIGHT: Final = 1
"""A field with a greater weight is a heading: it keeps its stop words and single CJK characters."""

_DIGEST_CHARS = 16
_LATIN_DEFAULT = "en"
# Stemmer for words in a script that is not the note's own (an English word in a Russian note), or when it is unknown.
_SCRIPT_DEFAULTS: Final = (
    (regex.compile(r"\p{Latin}"), _LATIN_DEFAULT),
    (regex.compile(r"\p{Cyrillic}"), "ru"),
    (regex.compile(r"\p{Greek}"), "el"),
    (regex.compile(r"\p{Arabic}"), "ar"),
    (regex.compile(r"\p{Devanagari}"), "hi"),
    (regex.compile(r"\p{Armenian}"), "hy"),
    (regex.compile(r"\p{Hebrew}"), "he"),
    (regex.compile(r"\p{Tamil}"), "ta"),
)
_CYRILLIC: Final = frozenset({"be", "bg", "kk", "ky", "mk", "mn", "ru", "sr", "tg", "uk"})
_ARABIC: Final = frozenset({"ar", "fa", "ps", "ug", "ur"})
_DEVANAGARI: Final = frozenset({"hi", "mr", "ne"})
_OTHER: Final = frozenset(
    {
        "am",
        "bn",
        "el",
        "gu",
        "he",
        "hy",
        "ja",
        "ka",
        "km",
        "kn",
        "ko",
        "lo",
        "ml",
        "my",
        "or",
        "pa",
        "si",
        "ta",
        "te",
        "th",
        "yi",
        "zh",
    }
)
_NOT_LATIN: Final = _CYRILLIC | _ARABIC | _DEVANAGARI | _OTHER
_SAME_SCRIPT: Final = {"ru": _CYRILLIC, "ar": _ARABIC, "hi": _DEVANAGARI, "he": frozenset({"he", "yi"})}
_HAS_DIGIT: Final = regex.compile(r"\p{N}")

_stemmers = threading.local()


@dataclass(frozen=True)
class TermVector:
    """The indexed form of a document."""

    weights: dict[str, float | int]
    """Term -> occurrences, each times its field's weight; `int` where the weights are whole."""
    length: int
    """Token positions of all fields, each once whatever its field's weight; dropped stop words are not counted."""


@dataclass(frozen=True)
class QueryTerm:
    """One thing to look for. A document that has any of `alternatives` has it."""

    alternatives: tuple[str, ...]
    surface: str


def _stemmer(algorithm: str) -> Stemmer:
    """A stemmer of this thread: PyStemmer's objects are not thread-safe."""
    known: dict[str, Stemmer] | None = getattr(_stemmers, "known", None)
    if known is None:
        known = _stemmers.known = {}
    if algorithm not in known:
        from Stemmer import Stemmer

        known[algorithm] = Stemmer(algorithm)
    return known[algorithm]


def _stem_language(word: str, lang: str) -> str:
    """`lang` if the word is in its script, else the default of the word's script."""
    if word.isascii():
        default = _LATIN_DEFAULT
    else:
        default = next((code for pattern, code in _SCRIPT_DEFAULTS if pattern.match(word)), UNDETERMINED)
    if UNDETERMINED in (lang, default):
        return default
    if default == _LATIN_DEFAULT:
        return default if lang in _NOT_LATIN else lang
    return lang if lang in _SAME_SCRIPT.get(default, ()) else default


@lru_cache(maxsize=131_072)
def _terms_of_word(word: str, lang: str) -> tuple[str, ...]:
    """Stem, then fold; and fold, then stem, where that differs: a query without accents meets either spelling."""
    folded = fold(word)
    algorithm = SNOWBALL.get(_stem_language(word, lang))
    if algorithm is None or _HAS_DIGIT.search(word):
        return (cap_term(folded),) if folded else ()
    stemmer = _stemmer(algorithm)
    first = fold(stemmer.stemWord(word)) or folded
    second = first if folded == word else fold(stemmer.stemWord(folded)) or folded
    return tuple(dict.fromkeys(cap_term(term) for term in (first, second) if term))


def cap_term(term: str) -> str:
    """At most 64 characters: a longer term keeps its beginning and a digest of the whole, so that equals stay equal."""
    if len(term) <= MAX_TERM_CHARS:
        return term
    digest = hashlib.sha1(term.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
    return f"{term[: MAX_TERM_CHARS - _DIGEST_CHARS - 1]}~{digest[:_DIGEST_CHARS]}"


def _document_terms_of(found: Shape, lang: str, *, heading: bool) -> Sequence[str]:
    if len(found.words) == 1 and not found.literals:
        return _terms_of_word(found.words[0], lang)
    terms = [cap_term(term) for term in found.literals]
    if heading:
        terms.extend(found.heading_literals)
    words = dict.fromkeys(term for word in found.words for term in _terms_of_word(word, lang))
    terms.extend(term for term in words if term not in found.literals)
    return terms


def _is_stop(found: Shape, stops: frozenset[str]) -> bool:
    return found.plain and all(word in stops for word in found.words)


def document_terms(fields: Sequence[tuple[str, float]], lang: str) -> TermVector:
    """R10: terms of a document's `fields` (text, weight), in the note's language `lang` (`und` if unknown).

    A weight over 1 marks a heading field: stop words and single CJK characters are indexed there. At most 20,000
    distinct terms, first come first kept, so give headings first. Linear; never raises for text.
    """
    stops = stop_words(lang)
    weights: dict[str, float | int] = {}
    length = 0
    for text, weight in fields:
        heading = weight > BODY_WEIGHT
        step = int(weight) if float(weight).is_integer() else weight
        for surface, count in Counter(surfaces(normalise(text))).items():
            found = shape(surface)
            if not heading and _is_stop(found, stops):
                continue
            length += found.positions * count
            for term in _document_terms_of(found, lang, heading=heading):
                if term in weights:
                    weights[term] += step * count
                elif len(weights) < MAX_DISTINCT_TERMS:
                    weights[term] = step * count
    return TermVector(weights, length)


def _query_terms_of(surface: str, found: Shape, langs: Sequence[str]) -> Iterable[QueryTerm]:
    for word in found.words:
        terms = [term for lang in (*langs, UNDETERMINED) for term in _terms_of_word(word, lang)]
        alternatives = tuple(dict.fromkeys((*terms, cap_term(fold(word)))))
        yield QueryTerm(tuple(term for term in alternatives if term), surface)
    for term in found.literals:
        yield QueryTerm((cap_term(term),), surface)


def query_terms(text: str, langs: Sequence[str]) -> list[QueryTerm]:
    """R10: what to look for, in order, each once. `langs`: the query's own language first, then those of the notes.

    Each word carries its stem under every language given and its plain form, so that an English query meets German
    notes. Stop words of the first language (of all languages when it is `und`) are dropped unless nothing would remain.
    """
    own = langs[:1] if langs and langs[0] != UNDETERMINED else langs
    stops = frozenset().union(*(stop_words(lang) for lang in own))
    shapes = [(surface, shape(surface)) for surface in dict.fromkeys(surfaces(normalise(text)))]
    kept = [(surface, found) for surface, found in shapes if not _is_stop(found, stops)] or shapes
    terms: dict[tuple[str, ...], QueryTerm] = {}
    for surface, found in kept:
        for term in _query_terms_of(surface, found, langs):
            if term.alternatives:
                terms.setdefault(term.alternatives, term)
    return list(terms.values())


__all__ = [
    "TOKENIZER_VERSION",
    "QueryTerm",
    "TermVector",
    "cap_term",
    "casefold",
    "document_terms",
    "fold",
    "query_terms",
]
