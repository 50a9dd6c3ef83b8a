"""The gate that keeps noise out of the entities (N1): one reason code for a name that names nothing, else None.

Here: code symbols, paths, hashes, identifiers, dates, numbers, stop phrases, template headings. Not here: how often a
name must be met (promotion.py). What an author declared (a note about it, an alias, a person's entry) passes with
digits
and in small letters; code, paths, hashes, dates and template headings pass for nobody.
"""

from __future__ import annotations

from typing import Final

import regex  # type: ignore[import-untyped]

from kos_assets.domain.entities.names import LONGEST_NAME, normalise
from kos_assets.domain.entities.noise_words import CALENDAR, KINDS, PLAIN, STARTERS, TEMPLATE_HEADINGS

_TEMPLATE = regex.compile(r"<%|%>|\{\{|\}\}|\{%|\$\{|\[\[|\]\]|<[^<>]*>")
_URL = regex.compile(
    r"(?:[a-z][a-z0-9+.-]*://|www\.)\S+|[\p{L}\d-]+(?:\.[\p{L}\d-]+)*\.(?:com|org|net|io|dev|example)(?:/\S*)?",
    regex.IGNORECASE,
)
_PATH = regex.compile(r"(?:\.{0,2}|~)/\S+|[A-Za-z]:\\\S*|\S+/\S*/\S*|\S+\\\S+|\S+/")
_FILE = regex.compile(
    r"(?!\p{Lu}\p{L}*\.js\Z).*\.(?:py|js|mjs|ts|tsx|jsx|json|jsonl|ya?ml|toml|ini|cfg|conf|md|mdx|txt|csv|tsv|html?|css|scss|svg|png|jpe?g|gif|"
    r"webp|pdf|sh|bash|zsh|ps1|bat|rs|go|java|kt|c|h|cc|cpp|hpp|cs|rb|php|pl|lua|sql|xml|lock|log|zip|gz|tar|db|sqlite|"
    r"env|ipynb|canvas|base|eml|mbox|ics|vtt|srt|exe|dll|so|whl)",
    regex.IGNORECASE,
)
_HASH = regex.compile(
    r"(?=[\da-f]*\d)(?=\d*[a-f])[\da-f]{7,}|[\da-f]{32,}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}", regex.IGNORECASE
)
_SPLIT_HASH = regex.compile(r"(?:[\da-f]{4}[ :-]){1,}[\da-f]{4}|(?:[\da-f]{2}:){3,}[\da-f]{2}", regex.IGNORECASE)
_SECRET = regex.compile(r"(?=\S*\d)(?=\S*\p{Ll})(?=\S*\p{Lu})[\w+/=-]{20,}")
_CODE = regex.compile(
    r"\S*\(.*\)\S*|\S*(?:::|->|=>|==|!=|&&|\|\||[{};=`$]|\+=)\S*.*|--?\w[\w-]*|\w+_\w+|_\w+|\w+_|\p{Ll}+\d*(?:\p{Lu}[\p{Ll}\d]*)+|"
    r"@\w+/\S+|\p{L}\w*\.\p{Ll}\w*(?:\.\w+)+|%\w+|#\w+|\p{Lu}[\p{Lu}\d]*_[\p{Lu}\d_]+|\w+\[\w*\]"
)
_BRANDS = regex.compile(r"(?:i|e|x|m|z|d|q|k)\p{Lu}\p{L}{2,}|\p{Ll}{1,5}(?:OS|DB|QL|TeX|SQL|API)|mac\p{Lu}\p{L}*")
_DATE = regex.compile(
    r"(?-i:[YMDHhmsdyW]{1,4}(?:[-/.: T][YMDHhmsdy]{1,4})+)|"
    r"\d{4}[-./]\d{1,2}(?:[-./]\d{1,2})?(?:[T ]\d{1,2}:?\d{2}.*)?|"
    r"\d{1,2}[./-]\d{1,2}[./-](?:\d{2}|\d{4})|\d{8}(?:T\d+Z?)?|"
    r"\d{1,2}:\d{2}(?::\d{2})?|\d{4}-?W\d{1,2}|Q[1-4](?:[ -]?\d{4})?|\d{4}\s*(?:年.*)?",
    regex.IGNORECASE,
)
_NUMBER = regex.compile(
    r"[\p{N}\p{P}\p{S}\s]*|[\p{P}\p{S}\s]*\p{N}[\p{N}.,:/ ]*\s?(?:\p{L}{1,4}|°\p{L})\.?|v?\d+(?:\.\d+)+\S*|v\d+",
    regex.IGNORECASE,
)
_IDENTIFIER = regex.compile(
    r"(?=.*\d)[\p{Lu}\d]+(?:[-/_][\p{Lu}\d]+)*|#\d+|(?=.*\d)\p{Ll}{1,8}(?:-[\p{Ll}\d]+)*-\d+|"
    r"\p{Lu}{1,5}-?\d+\p{L}?",
    0,
)
_DATED = regex.compile(r"\d{4}-\d{2}(?:-\d{2})?\b")
_LETTER = regex.compile(r"\p{L}")
_SPACELESS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}]")
_WORDS = regex.compile(r"[^\s]+")
_MOST_WORDS: Final = 9
_DAYS: Final = CALENDAR | {day.removesuffix("s") for day in CALENDAR}


def noise_reason(name: str, *, declared: bool = False) -> str | None:
    """Why this is no entity's name: a code without text, or None. Linear in the length of `name`.

    `declared`: the author gave the thing a note, an alias, a link or a person's entry of this name.
    """
    text = " ".join(name.split()).strip("*_\"'“”„«» ")
    if len(name) > LONGEST_NAME or len(_WORDS.findall(text)) > _MOST_WORDS:
        return "too_long"
    normal = normalise(text)
    if reason := _never(text, normal):
        return reason
    return None if declared else _not_from_text(text, normal)


def _never(text: str, normal: str) -> str | None:
    """What even an author's link does not make an entity."""
    if not normal or not _LETTER.search(normal):
        return "date" if _DATE.fullmatch(text) else "number"
    if _TEMPLATE.search(text):
        return "template_code"
    if normal in TEMPLATE_HEADINGS:
        return "template_heading"
    if _DATE.fullmatch(text):
        return "date"
    if _HASH.fullmatch(text) or _SPLIT_HASH.fullmatch(text) or (_SECRET.fullmatch(text)):
        return "hash"
    if _URL.fullmatch(text) and "@" not in text:
        return "address"
    if _FILE.fullmatch(text) or _PATH.fullmatch(text):
        return "path"
    if _CODE.fullmatch(text) and not _BRANDS.fullmatch(text):
        return "code_symbol"
    parts = normal.replace("/", " ").split()
    if all(part.strip(".,").removesuffix("s") in _DAYS or part.strip(".,").isdigit() for part in parts):
        return "calendar"
    return "number" if _NUMBER.fullmatch(text) else None


def _not_from_text(text: str, normal: str) -> str | None:
    """What a rule over running text may not take for a name."""
    if _IDENTIFIER.fullmatch(text):
        return "identifier"
    if len(normal) < 2 or (len(normal) == 2 and not _SPACELESS.search(normal)):
        return "too_short"
    parts = [part.strip(".,'") for part in normal.split()]
    if normal in PLAIN or normal in KINDS:
        return "stop_phrase"
    if all(part in STARTERS or part in PLAIN or part in CALENDAR or not part for part in parts):
        return "stop_phrase"
    if _DATED.search(text):
        return "date"
    return None


def is_noise_tag(tag: str) -> bool:
    """Whether a tag sorts notes (kind, state, language, date) and names nothing that one would look up."""
    normal = normalise(tag)
    return normal in KINDS or normal in PLAIN or noise_reason(tag.replace("/", " "), declared=True) is not None
