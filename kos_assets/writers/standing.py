"""The notes of a mirror as they stand in the vault: which file is whose (W1, V2).

Here: looking through the mirror's folder, through the rest of the vault where a note may have been moved to, and which
ids were erased for good. Not here: deciding what is written (mirror.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from uuid import UUID

from kos_assets.vault import files
from kos_assets.vault.ledger import ledger_files, read_ledger
from kos_assets.writers.note import MIRROR_KEY, Mirrored, read_mirrored

_HEAD: Final = 1 << 16


class Standing:
    """What the folder of one mirror holds. `taken` are casefolded paths, `unread` those of unreadable files."""

    def __init__(self, vault: Path, mirror: str, folder: str) -> None:
        self._vault, self._mirror, self._folder = vault, mirror, folder
        self._elsewhere: dict[UUID, str] | None = None
        self.notes: dict[UUID, tuple[str, Mirrored]] = {}
        self.taken: set[str] = set()
        self.unread: set[str] = set()

    def look(self) -> None:
        """Read every file below the folder."""
        for path in markdown_below(self._vault, self._folder):
            self.taken.add(path.casefold())
            data = read_note(self._vault, path)
            if data is None:
                self.unread.add(path.casefold())
                continue
            found = read_mirrored(data, self._mirror)
            if found is None:
                continue
            before = self.notes.get(found.note_id)
            if before is None or (len(path), path) < (len(before[0]), before[0]):  # a copy's name is the longer one
                self.notes[found.note_id] = (path, found)

    def elsewhere(self, note_id: UUID) -> str | None:
        """Where outside the folder the note lies, when a person moved it; the vault is searched once, when asked."""
        if self._elsewhere is None:
            self._elsewhere = {}
            mark = f"{MIRROR_KEY}: ".encode()
            for path in markdown_below(self._vault, ""):
                if path.startswith(f"{self._folder}/") or path.startswith("memories/"):
                    continue
                data = read_note(self._vault, path, most=_HEAD)
                found = read_mirrored(data, self._mirror) if data is not None and mark in data else None
                if found is not None:
                    self._elsewhere.setdefault(found.note_id, path)
        return self._elsewhere.get(note_id)

    def erased(self) -> set[UUID]:
        """S11: ids of notes that were erased for good; what the source still has of them is not written again."""
        found = set()
        records = (record for file in ledger_files(self._vault) for record in read_ledger(self._vault, file)[0])
        for record in records:
            if record.op == "erase":
                for text in (record.body.get("note_id"), record.subject):
                    try:
                        found.add(UUID(str(text)))
                    except ValueError:
                        continue
        return found


def read_note(vault: Path, path: str, *, most: int | None = None) -> bytes | None:
    """The bytes of a file of the vault, or at most the first so many; None where it cannot be read."""
    try:
        with files.parent_of(vault, path) as (folder, name):
            size = os.stat(name, dir_fd=folder, follow_symlinks=False).st_size
            if most is None or size <= most:
                return files.read_all(folder, name, size)
            descriptor = files.open_file(folder, name)
            try:
                return os.read(descriptor, most)
            finally:
                os.close(descriptor)
    except OSError:
        return None


def count_notes(vault: Path, folder: str) -> int:
    """How many Markdown files stand below a folder; nothing is opened."""
    return sum(1 for _ in markdown_below(vault, folder))


def markdown_below(vault: Path, folder: str) -> Iterator[str]:
    """Files below a folder, relative to the vault, in order; links are not followed, hidden ones left out."""
    for where, folders, names in os.walk(vault / folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        inner = Path(where).relative_to(vault).as_posix()
        prefix = "" if inner == "." else f"{inner}/"
        found = sorted(name for name in names if name.lower().endswith(".md") and not name.startswith("."))
        yield from (f"{prefix}{name}" for name in found)
