"""An item as a Markdown file: its name, its bytes, and whether a person changed it since (W1, V2).

Here: what one mirrored file looks like and how it is read back. Not here: which files are written (mirror.py).
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID, uuid5

import regex  # type: ignore[import-untyped]

from kos_assets.domain.frame import cut_recalled
from kos_assets.domain.vocabulary import KOS_NAMESPACE
from kos_assets.vault import frontmatter
from kos_assets.vault.problems import Problem
from kos_assets.writers.contract import Item

MIRROR_KEY: Final = "kos_mirror"
WRITTEN_KEY: Final = "kos_written"
GONE_KEY: Final = "gone_since"
_OWN_KEYS: Final = frozenset(("kos_id", "title", "source_id", MIRROR_KEY, WRITTEN_KEY, GONE_KEY, "kos_namespace"))
_LARGEST_HEAD: Final = 60_000  # bytes; a scan reads heads of 64 KiB
_LONGEST_ENTRY: Final = 1000
_LONGEST_NAME: Final = 80
_LONGEST_NAME_BYTES: Final = 180
_UNFIT = re.compile(r'[\\/:*?"<>|#^\[\]\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+')
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|\Z)", re.IGNORECASE)
_NO_KEY = re.compile(r"[^\w-]+")
_UNYAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_GRAPHEME = regex.compile(r"\X")


@dataclass(frozen=True)
class Mirrored:
    """A file of a mirror as it stands. `edited`: a person changed it after it was written."""

    note_id: UUID
    gone_since: str | None
    origin: str
    edited: bool


def note_id_of(mirror: str, external_id: str) -> UUID:
    """V2: the note's id follows from the mirror and the item's id in the source, on every machine."""
    return uuid5(KOS_NAMESPACE, f"{mirror}:{external_id}")


def render(item: Item, *, mirror: str, namespace: str | None, gone_since: str | None = None) -> tuple[bytes, int]:
    """The file of an item, and how many recalled pieces were cut from it (W8). The same item gives the same bytes."""
    body, cut = cut_recalled(_text(item.body).replace("\r\n", "\n").replace("\r", "\n"))
    title, in_title = cut_recalled(_line(item.title))
    title = title or "Untitled"
    facts: dict[str, Any] = {"kos_id": str(note_id_of(mirror, item.external_id)), "title": title}
    facts |= {MIRROR_KEY: mirror, "source_id": _text(item.external_id)}
    facts |= {"origin": _line(item.origin)} if item.origin else {}
    facts |= {"date": _moment(item.at)} if item.at is not None else {}
    facts |= {"timezone": item.zone} if item.zone and item.at is not None else {}
    facts |= {"started": _moment(item.started)} if item.started is not None else {}
    for name, values in (("people", item.people), ("attachments", item.attachments), ("tags", item.tags)):
        if values:
            facts[name] = list(dict.fromkeys(_line(value)[:_LONGEST_ENTRY] for value in values))
    for key, value in item.properties.items():
        plain = _key(key)
        if plain and plain not in _OWN_KEYS and plain not in facts:
            facts[plain] = _plain(value)
    facts |= {"kos_namespace": namespace} if namespace is not None else {}
    facts |= {GONE_KEY: gone_since} if gone_since is not None else {}
    return sealed(_fitting(facts), f"# {title}\n\n{body.strip(chr(10))}\n"), cut + in_title


def _fitting(facts: dict[str, Any]) -> dict[str, Any]:
    """At most as much as a scan reads of a head: the longest list is halved, then the longest text, until it fits."""
    while sum(len(f"{key}: {_scalar(value)}\n".encode()) for key, value in facts.items()) > _LARGEST_HEAD:
        lists = {key: value for key, value in facts.items() if isinstance(value, list) and len(value) > 1}
        texts = {key: value for key, value in facts.items() if isinstance(value, str) and key not in _OWN_KEYS}
        longest = max(lists or texts, key=lambda key: len(_scalar(facts[key])))
        facts = {**facts, longest: facts[longest][: len(facts[longest]) // 2], f"{longest}_cut": True}
    return facts


def sealed(facts: Mapping[str, Any], body: str) -> bytes:
    """Frontmatter and body as bytes, with a digest of all of it, by which a person's edit is seen."""
    lines = "".join(f"{key}: {_scalar(value)}\n" for key, value in facts.items() if key != WRITTEN_KEY)
    digest = _digest(f"---\n{lines}---\n{body}".encode())
    return f"---\n{lines}{WRITTEN_KEY}: {digest}\n---\n{body}".encode()


def read_mirrored(data: bytes, mirror: str) -> Mirrored | None:
    """What a file says of itself; None when it is not a note of this mirror."""
    data = data.replace(b"\r\n", b"\n")  # a checkout may have turned the line ends; nobody edited it
    head = frontmatter.parse(data) if _decodes(data) else None
    if head is None:
        return None
    if not head.sound and f'{MIRROR_KEY}: "{mirror}"\n'.encode() in data[:_LARGEST_HEAD]:
        kos_id = _uuid(head.properties.get("kos_id"))  # saved from a head that somebody broke
        return None if kos_id is None else Mirrored(kos_id, None, "", edited=True)
    if head.properties.get(MIRROR_KEY) != mirror:
        return None
    note_id = _uuid(head.properties.get("kos_id"))
    if note_id is None:
        return None
    written = head.properties.get(WRITTEN_KEY)
    bare = data.replace(f"{WRITTEN_KEY}: {written}\n".encode(), b"", 1)
    gone, origin = head.properties.get(GONE_KEY), head.properties.get("origin")
    return Mirrored(
        note_id, None if gone is None else str(gone), "" if origin is None else str(origin), _digest(bare) != written
    )


def marked_gone(data: bytes, since: str) -> bytes | None:
    """The same file, marked as gone from its source; None when its head cannot be read."""
    head = frontmatter.parse(data)
    if isinstance(frontmatter.locate(data), Problem | None) or not head.sound:
        return None
    facts = {key: value for key, value in head.properties.items() if key != GONE_KEY}
    return sealed({**facts, GONE_KEY: since}, data[head.body_start :].decode())


def file_stem(item: Item) -> str:
    """`2026-03-04 Budget`: fit for every file system, never empty, in the item's own script (CJK, emoji, ...)."""
    title = _UNFIT.sub(" ", unicodedata.normalize("NFC", _line(item.title)))
    title = " ".join(title.split()).strip(". ")
    began = item.started or item.at
    day = f"{began.date().isoformat()} " if began is not None else ""
    stem = _cut(day + (title or "untitled"))
    return f"_{stem}" if _DEVICE.match(stem) else stem


def folder_parts(folder: str) -> list[str]:
    """A folder below the mirror's, each part fit for a file system; parts that climb or hide are made plain."""
    parts = (
        " ".join(_UNFIT.sub(" ", unicodedata.normalize("NFC", part)).split()).strip(". ") for part in folder.split("/")
    )
    return [f"_{part}" if _DEVICE.match(part) else _cut(part) for part in parts if part]


def _cut(text: str) -> str:
    """At most 80 characters and 180 bytes, on the border of a grapheme."""
    kept, size = "", 0
    for grapheme in _GRAPHEME.findall(text):
        size += len(grapheme.encode())
        if size > _LONGEST_NAME_BYTES or len(kept) + len(grapheme) > _LONGEST_NAME:
            break
        kept += grapheme
    return kept.strip(". ") or "untitled"


def _key(key: str) -> str:
    """A property's name that YAML reads as it stands; empty where nothing is left of it."""
    return _NO_KEY.sub("_", key).strip("_-")[:60]


def _moment(at: datetime) -> str:
    if at.tzinfo is None:
        raise ValueError("an item's time needs a zone")
    text = at.isoformat(timespec="seconds")
    return text.replace("+00:00", "Z") if at.utcoffset() == UTC.utcoffset(None) else text


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value)
    return value if isinstance(value, bool | int | float) else [_plain(part) for part in value]


def _line(text: str) -> str:
    return " ".join(_text(text).split())


def _text(text: str) -> str:
    """Without what no file or database can hold: NUL, halves of surrogate pairs."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def _scalar(value: Any) -> str:
    """JSON is YAML; what YAML refuses to read raw is escaped."""
    written = json.dumps(value, ensure_ascii=False)
    return _UNYAML.sub(lambda found: f"\\u{ord(found.group()):04x}", written)


def _digest(data: bytes) -> str:
    return "sha256-" + hashlib.sha256(data).hexdigest()[:32]


def _uuid(value: object) -> UUID | None:
    try:
        return UUID(str(value))
    except ValueError:
        return None


def _decodes(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
