"""Who spoke and who was there: names, addresses, and placeholders that are nobody (W2).

Here: what a name is. Not here: where one stands in a format.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

LONGEST_NAME: Final = 80
MOST_PEOPLE: Final = 500

_LABEL = (
    r"speaker|spk|sprecher(?:in)?|locuteur|intervenant|orateur|hablante|orador|falante|interlocutor|parlante|spreker|"
    r"talare|mówca|говорящий|спикер|참석자|화자|話者|话者|説話者|说话人|說話者|发言人|發言人|講者|مكبر|المتحدث|participant|"
    r"teilnehmer(?:in)?|person|user|guest|gast|voice|channel|unknown|unbekannt(?:er)?|unidentified|anonymous|caller"
)
_PLACEHOLDER = re.compile(
    rf"(?:(?:unknown|unidentified|unbannter|unbekannter?|anonymous)\s+)?(?:{_LABEL})[\s_#.-]*(?:[a-z]|\d{{1,4}})?",
    re.IGNORECASE,
)
_NOBODY: Final = frozenset(
    (
        "me", "you", "them", "others", "other", "host", "microphone", "mic", "system", "system audio", "recording",
        "computer", "all", "everyone", "everybody", "multiple speakers", "multiple people", "none", "null",
        "undefined", "n/a", "na", "-", "?", "agent", "customer", "user", "assistant", "bot", "transcript",
        "transcriber", "crosstalk",
    )
)  # fmt: skip
_NUMBERED = re.compile(r"(?:speaker|spk)[\s_#-]*(\d{1,4})", re.IGNORECASE)
_SHORT = re.compile(r"\d{1,4}|[A-Za-z]")
_NUMBER_ONLY = re.compile(r"[\d\s()+*.x/-]+")
_RESOURCE = re.compile(r"[\w.-]+/[\w./-]+")
_ADDRESS = re.compile(r"[^\s<>()\[\],;:\"]{1,64}@[^\s<>()\[\],;:\"@]{1,190}")
_WITH_ADDRESS = re.compile(r"\s*(.*?)\s*[<(\[]\s*(?:mailto:)?([^\s<>()\[\]]+@[^\s<>()\[\]]+)\s*[>)\]]\s*")
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff*_`<>\\[\\]|]")
_WORD = re.compile(r"[^\w\s:\"]{1,4}|[^\W\d_][\w'’.-]*\)?|[(&](?:[^\W\d_][^()]{0,40})?\)?|[/|,–-]", re.UNICODE)
_PARTICLES: Final = frozenset(
    (
        "de", "da", "do", "dos", "das", "del", "della", "di", "du", "des", "la", "le", "van", "von", "vom", "zu", "zum",
        "zur", "der", "den", "ter", "ten", "el", "al", "bin", "bint", "ibn", "abu", "y", "e", "und", "and", "of", "af",
        "av", "mac", "mc", "st", "dr", "prof",
    )
)  # fmt: skip
_NOT_NAMES: Final = frozenset(
    (
        "note", "notes", "question", "answer", "example", "summary", "warning", "attention", "action", "actions",
        "todo", "todos", "agenda", "attendees", "participants", "date", "time", "title", "topic", "topics", "subject",
        "decision", "decisions", "duration", "location", "language", "http", "https", "ps", "update", "result",
        "next steps", "risk", "status", "problem", "goal", "goals", "owner", "due", "meeting", "transcript",
        "recording", "kind", "link", "url", "frage", "antwort", "beispiel", "hinweis", "thema", "datum", "ort",
        "teilnehmer", "dauer", "beschluss", "file", "also", "so", "well", "and", "but", "because", "first", "second",
        "third", "finally", "again", "here", "there", "host", "organizer", "organiser", "invitees", "present",
        "absent", "问", "答", "問", "email", "mailto", "tags", "type", "source",
    )
)  # fmt: skip
_MOST_WORDS: Final = 7
_CASED = frozenset(("Lu", "Lt", "Ll"))


def tidy(name: str) -> str:
    """A speaker's name on one line without marks; of a number or letter alone, `Speaker 1`. May be empty."""
    name = " ".join(_UNFIT.sub(" ", unicodedata.normalize("NFC", name[: 4 * LONGEST_NAME])).split()).strip(" :.,;-–—")
    if _SHORT.fullmatch(name):
        return f"Speaker {int(name) if name.isdigit() else name.upper()}"
    numbered = _NUMBERED.fullmatch(name)
    return f"Speaker {int(numbered[1])}" if numbered else name[:LONGEST_NAME].strip()


def is_person(name: str) -> bool:
    """Whether a tidy name is somebody's: not `Speaker 1`, `Me`, `SPEAKER_00`, a number or a resource's path."""
    plain = name.casefold()
    if not name or plain in _NOBODY or _NUMBER_ONLY.fullmatch(name) or _RESOURCE.fullmatch(name):
        return False
    return _PLACEHOLDER.fullmatch(plain) is None


def is_label(name: str) -> bool:
    """Whether what stands before a colon may be a speaker: a name of up to seven words, or a placeholder."""
    name = name.strip()
    if not name or len(name) > LONGEST_NAME or name.casefold() in _NOT_NAMES:
        return False
    if _PLACEHOLDER.fullmatch(name.casefold()):
        return True
    words = name.split()
    return len(words) <= _MOST_WORDS and all(_is_name_word(word) for word in words) and not words[0].isdigit()


def person(name: str, address: str = "") -> str:
    """`Name <address>`, or what there is of it; empty for nobody."""
    found = _WITH_ADDRESS.fullmatch(name[:400])
    if found is not None:
        name, address = found[1], address or found[2]
    address = address.strip() if _ADDRESS.fullmatch(address.strip()) else ""
    name = name.strip().strip("\"'")
    if _ADDRESS.fullmatch(name):
        name, address = "", address or name
    name = tidy(name) if name else ""
    if name and not is_person(name):
        return ""
    return f"{name} <{address}>" if name and address else name or address


def merged(people: Iterable[str]) -> tuple[str, ...]:
    """Everybody once, in order of first mention: a name and the same with an address are one person, and so are two
    names with one address; who has both counts."""
    by_name: dict[str, tuple[str, str]] = {}
    by_address: dict[str, str] = {}
    for one in people:
        if not one:
            continue
        found = _WITH_ADDRESS.fullmatch(one)
        name, address = (found[1], found[2]) if found else ("", one) if _ADDRESS.fullmatch(one) else (one, "")
        known = by_address.get(address.casefold()) if address else None
        key = name.casefold() or known or address.casefold()
        if known is not None and known != key and known == address.casefold():
            by_name = {key if old == known else old: value for old, value in by_name.items()}
        elif known is not None:
            key = known
        if address:
            by_address[address.casefold()] = key
        before = by_name.get(key, ("", ""))
        by_name[key] = (before[0] or name, before[1] or address)
        if len(by_name) >= MOST_PEOPLE:
            break
    return tuple(f"{name} <{address}>" if name and address else name or address for name, address in by_name.values())


def _is_name_word(word: str) -> bool:
    if word.casefold() in _PARTICLES:
        return True
    if _WORD.fullmatch(word) is None:
        return False
    first = next((character for character in word if character.isalpha()), "")
    return not first or unicodedata.category(first) != "Ll"
