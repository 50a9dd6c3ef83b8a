"""A Markdown file of a repository as a note: its title, its text, what is known of it, and how it is read back (W5).

Here: from bytes and facts to an Item, and what standing notes of the mirror say. Not here: which version of a file
counts (source.py).
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from kos_assets.vault import files, frontmatter
from kos_assets.vault.frontmatter import BOM, Span
from kos_assets.vault.textcode import is_binary, normal_newlines, to_utf8
from kos_assets.writers.contract import Item, Skipped, Value
from kos_assets.writers.note import read_mirrored
from kos_assets.writers.standing import markdown_below, read_note

DIGEST_KEY: Final = "source_digest"
_LINES_FOR_TITLE: Final = 60
_MOST_FOLDERS: Final = 6
_LONGEST_TITLE: Final = 300
_HEADING = re.compile(r" {0,3}#[ \t]+(\S.*?)(?:[ \t]+#+)?[ \t]*\Z")
_UNDERLINE = re.compile(r" {0,3}=+[ \t]*\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TICKS = re.compile("`{3,}")
_INDEX_NAMES: Final = frozenset(("readme", "index", "claude", "claude.local", "agents", "skill"))


@dataclass(frozen=True)
class Facts:
    """Where a version of a file comes from. `at` is aware, in whole seconds; `zone` an IANA name or an offset; texts
    that are not known are empty."""

    at: datetime
    zone: str
    branch: str = ""
    commit: str = ""
    agent: str = ""
    session: str = ""


@dataclass(frozen=True)
class Place:
    """A file by its repository's identity (the same in every clone) and its path there."""

    identity: str
    path: str

    @property
    def external_id(self) -> str:
        """Stable across clones, machines and file systems (NFC)."""
        return f"{self.identity}:{unicodedata.normalize('NFC', self.path)}"

    @property
    def origin(self) -> str:
        """Where in the source it stands."""
        return f"{self.identity}/{unicodedata.normalize('NFC', self.path)}"


@dataclass(frozen=True)
class Standing:
    """A note of this mirror as it stands in the vault. `facts` is None where they cannot be read."""

    identity: str
    path: str
    origin: str
    digest: str
    edited: bool
    facts: Facts | None


def item_of(place: Place, repository: str, data: bytes, facts: Facts) -> Item | Skipped:
    """The note of one version of a file; Skipped where the bytes are no text or nothing but space.

    Frontmatter of the file is kept as a fenced block at the top: what it says is text of another's, and no property of
    the note. `repository` is what people call it.
    """
    if is_binary(data):
        return Skipped(place.origin, "binary", "the file is no text", "nothing to do", place.origin, counts=False)
    text = to_utf8(data).data.removeprefix(BOM)
    block, rest = _split(text)
    title, body = _titled(rest, place.path)
    body = f"{block}\n\n{body}" if block and body else block or body
    if not body.strip() and not rest.strip():
        return Skipped(place.origin, "empty", "nothing is written in it", "nothing to do", place.origin, counts=False)
    known: dict[str, Value] = {"kind": "agent", "provenance": "output", "repository": repository}
    known |= {"repository_path": unicodedata.normalize("NFC", place.path)}
    known |= {key: value for key in ("branch", "commit", "agent", "session") if (value := getattr(facts, key))}
    return Item(
        external_id=place.external_id,
        title=title,
        body=body,
        at=facts.at,
        zone=facts.zone,
        properties=known | {DIGEST_KEY: digest_of(data)},
        folder="/".join([repository.rsplit("/", 1)[-1] or "repository", *place.path.split("/")[:-1][:_MOST_FOLDERS]]),
        origin=place.origin,
    )


def digest_of(data: bytes) -> str:
    """The same for the same text, whatever line endings a checkout gave it."""
    return hashlib.sha256(data.replace(b"\r\n", b"\n").removeprefix(BOM)).hexdigest()[:32]


def standing_notes(vault: Path, folder: str, mirror: str) -> dict[str, Standing]:
    """The notes of this mirror below `folder`, by external id. What cannot be read is left out."""
    found: dict[str, Standing] = {}
    for path in markdown_below(vault, folder):
        data = read_note(vault, path)
        standing = _standing(data, mirror) if data is not None else None
        if standing is not None:
            found.setdefault(*standing)
    return found


def _standing(data: bytes, mirror: str) -> tuple[str, Standing] | None:
    note = read_mirrored(data, mirror)
    if note is None:
        return None
    says = frontmatter.parse(data).properties
    name, path = _text(says, "source_id"), _text(says, "repository_path")
    if not path or not name.endswith(f":{path}"):
        return None
    facts = _facts(says)
    digest = _text(says, DIGEST_KEY)
    return name, Standing(name.removesuffix(f":{path}"), path, note.origin, digest, note.edited, facts)


def _facts(says: Mapping[str, Any]) -> Facts | None:
    try:
        at = datetime.fromisoformat(_text(says, "date"))
    except ValueError:
        return None
    if at.tzinfo is None:
        return None
    known = {key: _text(says, key) for key in ("branch", "commit", "agent", "session")}
    return Facts(at=at, zone=_text(says, "timezone") or at.isoformat()[-6:], **known)


def _text(says: Mapping[str, Any], key: str) -> str:
    value = says.get(key)
    return value if isinstance(value, str) else ""


def _bytes(vault: Path, path: str) -> bytes | None:
    try:
        with files.parent_of(vault, path) as (folder, name):
            return files.read_all(folder, name, os.stat(name, dir_fd=folder, follow_symlinks=False).st_size)
    except (OSError, ValueError):
        return None


def _split(data: bytes) -> tuple[str, str]:
    """The file's frontmatter as a fenced block (empty where there is none), and the rest."""
    span = frontmatter.locate(data)
    if not isinstance(span, Span):
        return "", normal_newlines(data.decode())
    inner = normal_newlines(data[span.inner_start : span.inner_end].decode()).strip("\n")
    rest = normal_newlines(data[span.end :].decode())
    if not inner.strip():
        return "", rest
    ticks = "`" * max([3, *(len(run) + 1 for run in _TICKS.findall(inner))])
    return f"{ticks}{span.kind}\n{inner}\n{ticks}", rest


def _titled(text: str, path: str) -> tuple[str, str]:
    """Title and body: the first heading of the first level, taken off the body where it comes first; else the name."""
    body = text.strip("\n")
    lines = body.split("\n", _LINES_FOR_TITLE)
    fence = ""
    for number, line in enumerate(lines[:_LINES_FOR_TITLE]):
        opened = _FENCE.match(line)
        if opened and (not fence or opened.group(1).startswith(fence)):
            fence = "" if fence else opened.group(1)[:3]
        if fence:
            continue
        heading = _HEADING.match(line)
        below = lines[number + 1] if number + 1 < len(lines) else ""
        underlined = heading is None and line.strip() and number == 0 and _UNDERLINE.match(below)
        if heading is None and not underlined:
            continue
        title = heading.group(1) if heading else line.strip()
        if len(title) > _LONGEST_TITLE or any(before.strip() for before in lines[:number]):
            return title[:_LONGEST_TITLE], body
        return title, "\n".join(lines[number + (1 if heading else 2) :]).strip("\n")
    return _named(path), body


def _named(path: str) -> str:
    name = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    above = path.split("/")[-2:-1]
    return f"{above[0]}: {name}" if above and name.casefold() in _INDEX_NAMES else name
