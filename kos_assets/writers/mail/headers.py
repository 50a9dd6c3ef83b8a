"""The headers of one message: names, encoded words, parameters, ids and subjects (W3).

Here: bytes of a header as what they mean; pure, and never raising. Not here: people (people.py), dates (dates.py).
"""

from __future__ import annotations

import binascii
import re
from typing import Final
from urllib.parse import unquote_to_bytes

from kos_assets.writers.mail.charsets import decoded

Fields = list[tuple[str, bytes]]

LONGEST_VALUE: Final = 100_000
_MOST_FIELDS: Final = 2_000
_LONGEST_LINE: Final = 998
_LONGEST_ID: Final = 250
_MOST_REFERENCES: Final = 60
_MOST_PARAMETERS: Final = 60
_FIELD = re.compile(rb"([!-9;-~]{1,200})[ \t]*:(.*)", re.DOTALL)
_WORD = re.compile(rb"=\?([A-Za-z0-9_.:+*'-]{1,60})\?([bBqQ])\?([^?]{0,5000})\?=")
_ID = re.compile(rb"<([^<>]{1,998})>")
_BARE_ID = re.compile(rb"[^\s<>\"(),;]{3,250}@[^\s<>\"(),;]{1,250}")
_SPACE = re.compile(rb"[ \t\r\n]+")
_PARAMETER = re.compile(rb'\s*([!-:<>-~]{1,80}?)\s*=\s*("(?:[^"\\]|\\.){0,5000}"?|[^;]{0,5000})\s*(?:;|\Z)', re.DOTALL)
_PART = re.compile(r"(.+?)(?:\*(\d{1,3}))?(\*)?")
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")


def fields(head: bytes) -> Fields:
    """The headers of a block, in order: lower-case name, raw value with its folds undone. An mbox line before them and
    lines that are no header are passed over; a blank line ends them."""
    found: Fields = []
    parts: list[bytes] = []
    for row in head.lstrip(b"\r\n").split(b"\n"):
        line = row.rstrip(b"\r")
        if not line.strip(b" \t"):
            break
        if line[:1] in (b" ", b"\t"):
            parts.append(line)
            continue
        _close(found, parts)
        parts = [line]
    _close(found, parts)
    return found[:_MOST_FIELDS]


def _close(found: Fields, parts: list[bytes]) -> None:
    match = _FIELD.match(parts[0]) if parts else None
    if match is not None:
        value = b"".join([match[2], *parts[1:]]) if len(parts) > 1 else match[2]
        found.append((match[1].decode("ascii").casefold(), value[:LONGEST_VALUE].strip()))


def first(found: Fields, name: str) -> bytes:
    """The first value of a header; empty where there is none."""
    return next((value for key, value in found if key == name and value), b"")


def every(found: Fields, name: str) -> list[bytes]:
    """All values of a header, in order."""
    return [value for key, value in found if key == name]


def text(raw: bytes, charset: str = "") -> str:
    """A header as a person reads it: RFC 2047 words decoded, also where one character is torn between two of them, raw
    8-bit bytes read as `charset`, else guessed; one line of at most 998 characters without control characters."""
    pieces: list[str] = []
    done, run, run_charset = 0, b"", ""
    for match in _WORD.finditer(raw):
        between = raw[done : match.start()]
        name = match[1].decode("ascii").partition("*")[0].casefold()
        if run_charset and (between.strip() or name != run_charset):
            pieces.append(decoded(run, run_charset))
            run = b""
        if between.strip() or not run_charset:
            pieces.append(decoded(between, charset))
        run += _word(match[2], match[3])
        run_charset, done = name, match.end()
    if run:
        pieces.append(decoded(run, run_charset))
    pieces.append(decoded(raw[done:], charset))
    return line("".join(pieces))


def line(words: str) -> str:
    """One line of text, without what cannot be seen."""
    return " ".join(_UNSEEN.sub(" ", words).split())[:_LONGEST_LINE]


def base64_bytes(data: bytes) -> bytes:
    """What base64 stands for, as far as it can be read."""
    clean = re.sub(rb"[^A-Za-z0-9+/]+", b"", data)
    clean = clean[: len(clean) - 1] if len(clean) % 4 == 1 else clean
    try:
        return binascii.a2b_base64(clean + b"=" * (-len(clean) % 4))
    except binascii.Error:
        return b""


def _word(encoding: bytes, words: bytes) -> bytes:
    if encoding in b"bB":
        return base64_bytes(words)
    return binascii.a2b_qp(_SPACE.sub(b"_", words), header=True)


def message_id(raw: bytes) -> str:
    """The id of a Message-ID header, without its brackets; empty where none can be made out. Long ones are cut to a
    digest by `short_id`."""
    found = _ID.search(raw)
    inner = found[1] if found is not None else raw.split()[0] if raw.split() else b""
    return short_id(_SPACE.sub(b"", inner).strip(b"<>"))


def short_id(raw: bytes) -> str:
    """An id fit to be compared and written: text as it is, digests of what is longer than 250 bytes."""
    if len(raw) > _LONGEST_ID:
        import hashlib

        return "sha256-" + hashlib.sha256(raw).hexdigest()[:32]
    return _UNSEEN.sub("", raw.decode("utf-8", "backslashreplace")).strip()


def references(found: Fields) -> list[str]:
    """Ids of the messages before this one, the thread's first one first; at most 60, the first and the last ones kept.

    What In-Reply-To holds beside ids (addresses, sentences of old programs) is passed over."""
    ids = [short_id(_SPACE.sub(b"", match[1])) for match in _ID.finditer(b" ".join(every(found, "references")))]
    answered = first(found, "in-reply-to")
    direct = [short_id(_SPACE.sub(b"", match[1])) for match in _ID.finditer(answered)]
    if not direct and (bare := _BARE_ID.fullmatch(answered.strip())):
        direct = [short_id(bare[0])]
    senders = b" ".join(value for key, value in found if key in ("from", "to", "cc", "reply-to", "sender")).lower()
    sound = [one for one in (*ids, *direct[-1:]) if _is_id(one, senders)]
    kept = list(dict.fromkeys(sound))
    return kept if len(kept) <= _MOST_REFERENCES else [kept[0], *kept[1 - _MOST_REFERENCES :]]


def _is_id(name: str, senders: bytes) -> bool:
    return (len(name) >= 8 or "@" in name) and name.lower().encode("utf-8", "replace") not in senders


def parameters(raw: bytes, charset: str = "") -> tuple[str, dict[str, str]]:
    """A Content-Type or Content-Disposition: its lower-case value, and its parameters by lower-case name, with RFC 2231
    pieces joined and decoded, RFC 2047 words (which do not belong there) and raw bytes read as well."""
    kind, _, rest = raw.partition(b";")
    pieces: dict[str, dict[int, tuple[bool, bytes]]] = {}
    at = 0
    for _ in range(_MOST_PARAMETERS):
        match = _PARAMETER.match(rest, at)
        if match is None:
            broken = rest.find(b";", at)
            if broken < 0:
                break
            at = broken + 1
            continue
        at = match.end()
        named = _PART.fullmatch(match[1].decode("ascii").casefold())
        if named is not None:
            number = -1 if named[2] is None else int(named[2])
            pieces.setdefault(named[1], {}).setdefault(number, (named[3] is not None, _unquoted(match[2])))
        if at >= len(rest):
            break
    value = decoded(_SPACE.sub(b"", kind)).casefold()
    return value[:120], {name: _joined(parts, charset) for name, parts in pieces.items()}


def _unquoted(value: bytes) -> bytes:
    value = value.strip()
    if value[:1] != b'"':
        return value
    inner = value[1:-1] if len(value) > 1 and value[-1:] == b'"' else value[1:]
    return re.sub(rb'\\([\\"])', rb"\1", inner)


def _joined(parts: dict[int, tuple[bool, bytes]], charset: str) -> str:
    if -1 in parts and not parts[-1][0] and len(parts) == 1:
        return text(parts[-1][1], charset)
    numbered = sorted(number for number in parts if number >= 0) or [-1]
    said, joined = "", b""
    for place, number in enumerate(numbered):
        coded, value = parts[number]
        if coded and place == 0 and value.count(b"'") >= 2:
            name, _, value = value.split(b"'", 2)
            said = name.decode("ascii", "replace")
        joined += unquote_to_bytes(value) if coded else value
    return line(decoded(joined, said or charset)) if said else text(joined, charset)


_REPLY: Final = (
    *("re", "aw", "sv", "vs", "antw", "antwort", "r", "rif", "res", "odp", "ynt", "ref", "bls", "vá", "ατ", "απ"),
    *(
        "回复",
        "回覆",
        "答复",
        "答覆",
        "返信",
        "回信",
        "회신",
        "답장",
        "отв",
        "ha",
        "на",
        "רד",
        "תגובה",
        "رد",
        "trả lời",
    ),
)
_FORWARD: Final = (
    *(
        "fwd",
        "fw",
        "wg",
        "tr",
        "vb",
        "vl",
        "doorst",
        "enc",
        "rv",
        "pd",
        "ilt",
        "i̇lt",
        "fs",
        "i",
        "转发",
        "轉寄",
        "轉發",
    ),
    *("転送", "전달", "пересл", "הועבר", "إعادة توجيه"),
)
_COUNT: Final = r"\s{0,3}(?:\[\d{1,4}\]|\(\d{1,4}\)|[*^]\d{1,3}|\d{1,2})?\s{0,3}[:：]\s*"
_PREFIX = re.compile(rf"(?:({'|'.join(_REPLY)})|({'|'.join(_FORWARD)})){_COUNT}", re.IGNORECASE)
_TAG = re.compile(r"\[[^\[\]\d]{1,60}\]\s*")
_NO_LETTERS = re.compile(r"[\W_]+")
_MOST_PREFIXES: Final = 30
_GENERIC: Final = frozenset(
    _NO_LETTERS.sub("", words)
    for words in (
        *("hello", "hallo", "hi there", "question", "frage", "update", "meeting", "test", "invoice", "rechnung"),
        *("no subject", "kein betreff", "ohne betreff", "sans objet", "sin asunto", "info", "information", "help"),
        *("thanks", "thank you", "danke", "merci", "gracias", "document", "documents", "photos", "fotos", "pictures"),
        *("request", "anfrage", "reminder", "erinnerung", "termin", "news", "newsletter", "report", "bericht"),
        *("feedback", "status", "status update", "weekly report", "proposal", "angebot", "offer", "order", "contract"),
        *("urgent", "important", "wichtig", "files", "file", "message", "nachricht", "contact", "kontakt", "reply"),
        *("facture", "bonjour", "salut", "ciao", "hola", "consulta", "pregunta", "réunion", "reunión", "fattura"),
        *(
            "你好",
            "您好",
            "请教",
            "发票",
            "会议",
            "无主题",
            "件名なし",
            "お知らせ",
            "ご連絡",
            "вопрос",
            "привет",
            "без темы",
        ),
        *("automatic reply", "out of office", "undelivered mail returned to sender", "delivery status notification"),
    )
)


def bare_subject(subject: str) -> tuple[str, bool]:
    """A subject without `Re:`, `AW:`, `RE[2]:`, `回复：`, `Fwd:` and the like, also behind a list's tag, which stays;
    and whether it is that of a reply (the outermost mark counts)."""
    tags, rest, reply, marked = "", subject.strip(), False, False
    for _ in range(_MOST_PREFIXES):
        found = _PREFIX.match(rest)
        if found is not None:
            reply = reply or (not marked and found[1] is not None)
            marked, rest = True, rest[found.end() :]
            continue
        tag = _TAG.match(rest)
        if tag is None or not tag[0].strip() or (tags and tag[0].strip() == tags.strip()):
            rest = rest[tag.end() :] if tag is not None else rest
            if tag is None:
                break
            continue
        if _PREFIX.match(rest, tag.end()) is None and _TAG.match(rest, tag.end()) is None:
            break
        tags, rest = tags + tag[0].strip() + " ", rest[tag.end() :]
    return (tags + rest).strip(), reply


def subject_key(subject: str) -> str:
    """What two subjects of one thread have in common; empty where that says too little to join anything by."""
    bare = bare_subject(subject)[0]
    while (tag := _TAG.match(bare)) is not None:
        bare = bare[tag.end() :]
    letters = _NO_LETTERS.sub("", bare.casefold())
    wide = sum(1 for letter in letters if letter >= "\u2e80")
    said = len(letters) + wide * 2
    return letters if said >= 8 and letters not in _GENERIC and not letters.isdigit() else ""
