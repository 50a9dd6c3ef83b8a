"""How text is cut into surfaces, and what words and literal terms one surface stands for (R10).

Here: everything that does not depend on a language: scripts, identifiers, code, addresses, dates, emoji. Not here:
stemming, stop words and counting (`tokens`). A change here changes terms: raise `tokens.TOKENIZER_VERSION`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple
from urllib.parse import unquote

import regex  # type: ignore[import-untyped]

_BIGRAM = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}\u3099\u309a\u30fc"
_SPACELESS = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_START = rf"[[\p{{L}}\p{{N}}]--[{_BIGRAM}{_SPACELESS}]]"
_WORD = rf"{_START}[[\p{{L}}\p{{N}}\p{{M}}\u200c\u200d]--[{_BIGRAM}{_SPACELESS}]]*+"
_LINK = r"(?:__\.|[-_./:@&+\\'’]{1,2})"
_URL = r"(?:(?:https?|ftp|file|ssh|git|obsidian)://|www\.)[A-Za-z0-9\-._~:/?#@!$&+,;=%]++"
_EMOJI = (
    r"\p{Regional_Indicator}{2}"
    r"|\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]*+(?:\u200d\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]*+)*+"
)
_SURFACE: Final = regex.compile(
    rf"(?V1)(?i:{_URL})"
    r"|[0-9]{1,3}(?:,[0-9]{3})++(?:\.[0-9]++)?(?![\p{L}\p{N}_])"
    rf"|(?:\#|(?<!\.)\.)?{_WORD}(?:{_LINK}{_WORD})*+(?:\+\+[0-9]*+|\#(?![\p{{L}}\p{{N}}]))?"
    rf"|[{_BIGRAM}]++|[{_SPACELESS}]++"
    rf"|{_EMOJI}"
)
_RUN: Final = regex.compile(rf"(?V1)[{_BIGRAM}{_SPACELESS}]")
_ADDRESS: Final = regex.compile(rf"(?V1)(?i:{_URL})")
_EMOJI_RUN: Final = regex.compile(r"(?V1)[\p{Regional_Indicator}\p{Extended_Pictographic}]")
_EMOJI_STYLE: Final = regex.compile(r"(?V1)[\ufe0f\p{Emoji_Modifier}]")
# Dates, times, versions and addresses that stand alone or inside a longer surface ("2026-11-30_plan", "pkg-1.2.3.tar").
_NUMERIC: Final = regex.compile(
    r"(?<![0-9])(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})(?![0-9])"
    r"|(?<![0-9:])(?P<time>[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?)(?![0-9:])"
    r"|(?<![\p{L}\p{N}.])(?P<version>[vV]?[0-9]++(?:\.[0-9]++)++)"
)
_UUID: Final = regex.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HASH: Final = regex.compile(r"(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,}", regex.IGNORECASE)
_CAMEL: Final = regex.compile(r"\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?[\p{Ll}\p{M}\p{Lo}\p{Lm}]++|\p{Lu}++|\p{N}++")
_LINKS: Final = regex.compile(r"[-_./:@&+\\]+")
_SYMBOLIC: Final = regex.compile(r"([\p{L}\p{N}]++)(\+\+|\#)([0-9]*+)")
_APOSTROPHE: Final = regex.compile("['’]+")
_LATIN: Final = regex.compile(r"\p{Latin}")

_FOLD_MARKS: Final = regex.compile(r"([\p{Latin}\p{Greek}\p{Hebrew}])\p{Mn}++")
_ARABIC_MARKS: Final = regex.compile("[\u0640\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06ed]")
_INVISIBLE: Final = regex.compile("[\u200c\u200d\ufe00-\ufe0f\u20e3]")
_LETTERS: Final = str.maketrans(
    {
        "ø": "o", "đ": "d", "ł": "l", "ð": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th",
        "ё": "е", "أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه",
    }
)  # fmt: skip
# Format characters that a reader does not see are dropped, a zero-width space is a word border (Thai, Khmer).
_CLEAN: Final = str.maketrans(
    dict.fromkeys([0x00AD, 0x061C, 0x2060, 0xFEFF, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
    | {0x200B: " "}
)
_ADDRESS_NOISE: Final = frozenset({"http", "https", "www"})
_AUTHORITY_END: Final = regex.compile(r"[/?#]")
_IPV4_PARTS = 4
_VERSION_PARTS = 2
_CACHED_SURFACE = 64


class Shape(NamedTuple):
    """What one surface stands for, before any language is known."""

    words: tuple[str, ...] = ()
    """Casefolded words, to be stemmed."""
    literals: tuple[str, ...] = ()
    """Terms as they are."""
    heading_literals: tuple[str, ...] = ()
    """Terms that only heading fields get."""
    positions: int = 1
    """What the surface adds to a document's length."""
    plain: bool = False
    """Ordinary words only, so that the surface may be a stop word."""


def normalise(text: str) -> str:
    """NFKC, so that full-width, compatibility and decomposed forms are one; invisible format characters dropped."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text.translate(_CLEAN))


def surfaces(text: str) -> list[str]:
    """The surfaces of a normalised text in order; none spans whitespace. Linear."""
    found: list[str] = _SURFACE.findall(text)
    return found


def fold(word: str) -> str:
    """Strip what a reader may leave out: Latin, Greek and Hebrew marks, Arabic vowels and tatweel, ё for е.

    Marks of other scripts are letters (й, Indic vowel signs) and stay.
    """
    if word.isascii():
        return word
    word = _ARABIC_MARKS.sub("", _INVISIBLE.sub("", word))
    decomposed = _FOLD_MARKS.sub(r"\1", unicodedata.normalize("NFD", word))
    return unicodedata.normalize("NFC", decomposed).translate(_LETTERS)


def casefold(text: str) -> str:
    """Casefolded, NFC, decimal digits of any script as ASCII, joiners and presentation marks dropped."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFC", _INVISIBLE.sub("", text.casefold().replace("i\u0307", "i")))
    if any(char.isdecimal() and not char.isascii() for char in text):
        text = "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in text)
    return text


def shape(surface: str) -> Shape:
    """What `surface` (from `surfaces`) stands for."""
    return _cached_shape(surface) if len(surface) <= _CACHED_SURFACE else _shape(surface)


def _shape(surface: str) -> Shape:
    if surface.isalpha() and surface.islower() and surface.isascii():
        return Shape(words=(surface,), plain=True)
    if _RUN.match(surface):
        return _run_shape(surface)
    if _EMOJI_RUN.match(surface):
        return Shape(literals=(_EMOJI_STYLE.sub("", surface),))
    if _ADDRESS.match(surface):
        return _address_shape(surface)
    return _word_shape(surface)


_cached_shape = lru_cache(maxsize=65_536)(_shape)


def _run_shape(run: str) -> Shape:
    """CJK and spaceless scripts: character bigrams; single characters only for headings, or when the run is one."""
    if len(run) == 1:
        return Shape(literals=(run,))
    bigrams = tuple(map("".join, pairwise(run)))
    return Shape(literals=bigrams, heading_literals=tuple(run), positions=len(bigrams))


def _merge(shapes: Iterator[Shape] | list[Shape], *literals: str) -> Shape:
    words: dict[str, None] = {}
    terms: dict[str, None] = dict.fromkeys(literal for literal in literals if literal)
    for part in shapes:
        words.update(dict.fromkeys(part.words))
        terms.update(dict.fromkeys(part.literals))
    return Shape(words=tuple(words), literals=tuple(terms))


def _address_shape(surface: str) -> Shape:
    """A URL: host whole and by label, path and query by words; no scheme, no `www`."""
    rest = surface.rstrip(".,;:!?&").partition("://")[2] or surface.rstrip(".,;:!?&")
    authority = _AUTHORITY_END.split(rest, maxsplit=1)[0]
    host = authority.rpartition("@")[2].casefold().removeprefix("www.")
    name = host.partition(":")[0]
    labels = name.split(".")
    parts = [_simple(label) for piece in labels[:-1] or labels for label in _LINKS.split(piece) if label]
    tail = normalise(unquote(rest[len(authority) :]))
    for found in surfaces(tail.replace("/", " ").replace("&", " ")):
        if found.casefold() not in _ADDRESS_NOISE and "://" not in found:
            parts.append(shape(found))
    return _merge(parts, *(term for term in (name, host) if term))


def _word_shape(surface: str) -> Shape:
    """Words, identifiers, paths, e-mail addresses, numbers, dates, versions, and C++ alike."""
    body = surface.lstrip("#.")
    prefix = surface[: len(surface) - len(body)]
    body = body.removeprefix("mailto:")
    symbolic = _SYMBOLIC.fullmatch(body)
    if symbolic:
        name = fold(casefold(symbolic[1]))
        terms = [name + symbolic[2]] + ([name + symbolic[2] + symbolic[3]] if symbolic[3] else [])
        return Shape(words=(casefold(symbolic[1]),) if len(name) > 1 else (), literals=tuple(terms))
    body = body.rstrip("#+")
    if "," in body:
        return Shape(literals=(body.replace(",", ""),))
    whole = fold(casefold(body))
    if _UUID.fullmatch(body):
        return Shape(literals=(whole,))
    if "'" in body or "’" in body:
        return _apostrophe_shape(body)
    if "/" in body or "\\" in body:
        return _merge([_compound(part) for part in dict.fromkeys(regex.split(r"[/\\]+", body)) if part], whole)
    inner = _compound(body)
    if prefix == "#" and body.isdecimal():
        return _merge([inner], "#" + whole)
    return _merge([inner], "." + whole) if prefix == "." else inner


def _apostrophe_shape(body: str) -> Shape:
    """`Anna's`, `l'été`, `don't`: clitics of one letter go; other scripts (п'ять) keep the word in one piece."""
    pieces = list(dict.fromkeys(piece for piece in _APOSTROPHE.split(body) if piece))
    if not _LATIN.match(body):
        return _compound(_APOSTROPHE.sub("", body))
    kept = [piece for piece in pieces if len(piece) > 1] or pieces
    shapes = [_word_shape(piece) for piece in kept]
    return _merge(shapes)._replace(plain=all(part.plain for part in shapes))


def _numeric_terms(match: regex.Match[str]) -> list[str]:
    text = match.group()
    if match["date"]:
        return [text, text[:7]]
    if match["time"]:
        return [text] if len(text.split(":")) == _VERSION_PARTS else [text, text.rpartition(":")[0]]
    parts = text.lstrip("vV").split(".")
    terms = [".".join(parts)]
    if len(parts) > _VERSION_PARTS and len(parts) != _IPV4_PARTS:
        terms.append(".".join(parts[:_VERSION_PARTS]))
    return terms


def _compound(body: str) -> Shape:
    """One path segment: dates, times, versions inside it, its parts, and the whole."""
    ascii_digits = casefold(body) if not body.isascii() and any(map(str.isdecimal, body)) else body
    numeric = [term for match in _NUMERIC.finditer(ascii_digits) for term in _numeric_terms(match)]
    rest = _NUMERIC.sub("-", ascii_digits) if numeric else ascii_digits
    parts = list(dict.fromkeys(part for part in _LINKS.split(rest) if part and not (numeric and len(part) == 1)))
    if not numeric and len(parts) == 1 and parts[0] == rest.strip("_-./:@&+\\"):
        return _simple(parts[0])
    if not parts and len(set(numeric)) <= _VERSION_PARTS:
        return Shape(literals=tuple(dict.fromkeys(numeric)))
    whole = casefold(body)
    joined = whole.replace("-", "").replace("_", "")
    shapes = [_simple(part) for part in parts]
    if not numeric and all(part.isalpha() for part in parts) and joined.isalpha():
        return _merge([*shapes, Shape(words=(joined,))])
    if "@" in body and not body.startswith("@"):
        numeric.append(fold(whole.rpartition("@")[2]))
    return _merge(shapes, fold(whole), *numeric)


def _simple(part: str) -> Shape:
    """One run of letters and digits: whole, and split at camelCase and digit borders."""
    whole = casefold(part)
    if not whole:
        return Shape()
    if part.isalpha() and (part.islower() or part[1:].islower() or not part[1:]):
        return Shape(words=(whole,), plain=True)
    if whole.isdecimal() or _HASH.fullmatch(part):
        return Shape(literals=(fold(whole),))
    pieces = [casefold(piece) for piece in _CAMEL.findall(part)]
    acronym = part.isupper() and len(part) <= _IPV4_PARTS
    if len(pieces) <= 1:
        return Shape(words=(whole,), plain=not acronym)
    split = Shape(
        words=tuple(piece for piece in pieces if len(piece) > 1 and not piece.isdecimal()),
        literals=tuple(piece for piece in pieces if len(piece) > 1 and piece.isdecimal()),
    )
    return _merge([Shape(words=(whole,)), split])
