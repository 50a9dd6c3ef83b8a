"""Where a link of a note leads: vault paths, names and aliases to notes. Pure."""

from __future__ import annotations

import posixpath
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote
from uuid import UUID

_EXTENSIONS = (".md", ".markdown")


@dataclass(frozen=True)
class Named:
    """What a note can be linked by."""

    note_id: UUID
    path: str
    title: str
    aliases: tuple[str, ...]


def _spelled(name: str) -> str:
    """Without extension, composed: macOS spells `é` in names as two characters, people type one."""
    name = name.strip() if name.isascii() else unicodedata.normalize("NFC", name.strip())
    for extension in _EXTENSIONS:
        if name.casefold().endswith(extension):
            return name[: -len(extension)]
    return name


def _key(name: str) -> str:
    return _spelled(name).casefold()


class LinkIndex:
    """Resolves link targets as Obsidian does: path, then name (shortest path first), then alias or title.

    Case does not matter, unless two notes differ in nothing else. The order of `notes` never matters.
    """

    def __init__(self, notes: Iterable[Named]) -> None:
        self._exact: dict[str, UUID] = {}
        self._paths: dict[str, UUID] = {}
        names: defaultdict[str, list[tuple[int, str, UUID]]] = defaultdict(list)
        aliases: defaultdict[str, list[tuple[int, str, UUID]]] = defaultdict(list)
        for note in sorted(notes, key=lambda note: note.path):
            path = _key(note.path)
            self._exact.setdefault(_spelled(note.path), note.note_id)
            order = (len(note.path), note.path, note.note_id)
            self._paths.setdefault(path, note.note_id)
            names[path.rpartition("/")[2]].append(order)
            for alias in {_key(alias) for alias in (*note.aliases, note.title)}:
                aliases[alias].append(order)
        self._names = {name: sorted(found) for name, found in names.items()}
        self._tails: dict[str, dict[str, UUID]] = {}
        self._aliases = {name: sorted(found) for name, found in aliases.items()}

    def resolve(self, target: str, *, source_path: str) -> UUID | None:
        """The note that a link in `source_path` leads to, or None (dangling, external, or an attachment)."""
        folder = posixpath.dirname(source_path)
        if not target.strip():
            return self._at(source_path)
        for form in dict.fromkeys((target, unquote(target))):
            found = self._resolve_form(form.strip(), folder)
            if found is not None:
                return found
        return None

    def _at(self, path: str) -> UUID | None:
        return self._exact.get(_spelled(path)) or self._paths.get(_key(path))

    def _resolve_form(self, target: str, folder: str) -> UUID | None:
        relative = posixpath.normpath(posixpath.join(folder, target))
        written = posixpath.normpath(target.lstrip("/")) if target.strip("/") else ""
        for path in (written, relative) if not target.startswith(".") else (relative,):
            found = self._at(path)
            if found is not None:
                return found
        absolute = _key(written)
        name = absolute.rpartition("/")[2]
        if "/" in absolute:
            named = self._by_tail(name).get(absolute)
        else:
            named = next((item[2] for item in self._names.get(name, ())), None)
        if named is not None:
            return named
        return next((item[2] for item in self._aliases.get(_key(target), ())), None)

    def _by_tail(self, name: str) -> dict[str, UUID]:
        """The notes of one name by the ends of their paths (`b/note`, `a/b/note`), best first: 10,000 links to as many
        notes called `index` must not cost their product."""
        tails = self._tails.get(name)
        if tails is None:
            tails = self._tails[name] = {}
            for _, path, note_id in self._names.get(name, ()):
                parts = _key(path).split("/")
                for start in range(1, len(parts) - 1):
                    tails.setdefault("/".join(parts[start:]), note_id)
        return tails
