"""Which notes stand in the vault now, and their bytes (V4, V5).

Here: one stat per file, what is left out, what cannot be read and why. Not here: what has changed since the last scan
(the caller compares), what is in the bytes, or the names of conflict copies (conflicts.py).
"""

from __future__ import annotations

import os
import stat as modes
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kos_assets.errors import VaultError
from kos_assets.vault import files
from kos_assets.vault.conflicts import original_of
from kos_assets.vault.problems import Unreadable

SUFFIXES: Final = (".md", ".markdown", ".canvas")
MAX_DEPTH: Final = 64
MAX_BYTES: Final = 16 * 2**20
_LEFT_OUT_FOLDERS = frozenset(
    ("node_modules", "@eaDir", "#recycle", "#snapshot", "$RECYCLE.BIN", "System Volume Information", "__MACOSX",
     "_gsdata_", "lost+found")
)  # fmt: skip
_LEFT_OUT_PATHS = frozenset(("logseq/bak", "logseq/version-files"))  # Logseq's copies of every note it ever changed
_ICLOUD = ".icloud"  # `.Name.md.icloud` stands for Name.md while its content is only in the cloud


@dataclass(frozen=True, slots=True)
class FileStat:
    """A note's file. `path` is relative to the vault, with `/`, as the file system spells it; size in bytes."""

    path: str
    size: int
    mtime_ns: int


def walk(root: Path) -> tuple[list[FileStat], list[Unreadable]]:
    """Every Markdown file and canvas below `root`, and what could not be looked at; both sorted by path.

    One stat per file (V5). Left out: hidden files and folders, editor and swap files, folders of programs
    (`node_modules`, Logseq's copies, a disk's own), everything that is neither Markdown nor canvas. Links
    are never followed: what one inside the vault leads to has its own path, what lies outside is not the vault's (V4).
    A folder that cannot be listed is Unreadable: see hidden_by(). Raises VaultError when the root is no folder.
    """
    base = os.path.realpath(root)
    if not Path(base).is_dir():
        raise VaultError(
            f"The vault {root} cannot be read.",
            why="It is a file, not a folder." if Path(base).exists() else "There is no such folder.",
            fix="Check the path, or mount the drive that it is on.",
        )
    walker = _Walker(base)
    walker.run()
    if walker.root_error is not None:
        why = walker.root_error.strerror or str(walker.root_error)
        raise VaultError(f"The vault {root} cannot be listed.", why=why, fix="Give this user the right to read it.")
    return _without_conflicts(sorted(walker.found, key=lambda stat: stat.path), walker.unreadable)


class _Walker:
    def __init__(self, base: str) -> None:
        self.base = base
        self.found: list[FileStat] = []
        self.unreadable: list[Unreadable] = []
        self.root_error: OSError | None = None

    def run(self) -> None:
        waiting = [("", 0)]
        while waiting:
            folder, depth = waiting.pop()
            try:
                with os.scandir(os.path.join(self.base, folder)) as entries:  # noqa: PTH118 - strings: 5 times faster here
                    for entry in entries:
                        if entry.name[0] != ".":
                            self._entry(entry, folder, depth, waiting)
                        elif entry.name.endswith(_ICLOUD):
                            self._placeholder(entry.name, folder)
            except OSError as error:
                if not folder:
                    self.root_error = error
                self._report(folder, "folder_unreadable", f"the folder cannot be listed: {error.strerror}", "rights")

    def _placeholder(self, name: str, folder: str) -> None:
        """A note that is out of sight is not deleted: hidden_by() finds it at the path where it will be again."""
        real = name[1 : -len(_ICLOUD)]
        path = f"{folder}/{real}" if folder else real
        if real.lower().endswith(SUFFIXES) and self._decodable(path):
            self._report(path, "not_downloaded", "iCloud keeps this file in the cloud only", "download")

    def _entry(self, entry: os.DirEntry[str], folder: str, depth: int, waiting: list[tuple[str, int]]) -> None:
        name = entry.name
        path = f"{folder}/{name}" if folder else name
        note = name.lower().endswith(SUFFIXES) and not name.startswith("~$")
        if entry.is_symlink():
            self._link(entry, path, note)
        elif entry.is_dir(follow_symlinks=False):
            if name in _LEFT_OUT_FOLDERS or path in _LEFT_OUT_PATHS or not self._decodable(path):
                return
            if depth + 1 > MAX_DEPTH:
                self._report(path, "too_deep", f"the folder lies more than {MAX_DEPTH} levels down", "move")
            else:
                waiting.append((path, depth + 1))
        elif note and self._decodable(path):
            self._file(entry, path)

    def _file(self, entry: os.DirEntry[str], path: str) -> None:
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError as error:
            self._report(path, "unreadable", f"the file cannot be looked at: {error.strerror}", "rights")
            return
        if modes.S_ISREG(status.st_mode):
            self.found.append(FileStat(path, status.st_size, status.st_mtime_ns))
        else:
            self._report(path, "not_a_file", "it is a pipe, socket or device, which is never opened", "remove")

    def _decodable(self, path: str) -> bool:
        try:
            path.encode()
        except UnicodeEncodeError:
            shown = path.encode(errors="surrogateescape").decode(errors="backslashreplace")
            self._report(shown, "name_not_utf8", "the name is not valid UTF-8", "rename")
            return False
        return True

    def _link(self, entry: os.DirEntry[str], path: str, note: bool) -> None:
        try:
            folder = entry.is_dir()
        except OSError:
            folder = False
        if not (note or folder) or not self._decodable(path):
            return
        target = os.path.realpath(entry.path)
        if target != self.base and not target.startswith(self.base.rstrip("/") + "/"):
            self._report(path, "symlink_outside", "the link leads out of the vault and is not followed", "copy")
        elif folder:
            self._report(path, "symlink_folder", "the link leads to a folder of the vault, read there", "ignore")
        elif os.path.exists(target):  # noqa: PTH110 - a string already
            self._report(path, "symlink_file", "the link leads to a file of the vault, read there", "ignore")
        else:
            self._report(path, "symlink_broken", "the link leads nowhere", "remove")

    def _report(self, path: str, code: str, reason: str, fix: str) -> None:
        self.unreadable.append(Unreadable(path, code, reason, _FIXES[fix]))


_FIXES = {
    "download": "download it (in Finder: Download Now), or leave it out of the vault",
    "rights": "give this user the right to read it",
    "move": "move it higher up",
    "remove": "remove it from the vault",
    "rename": "rename it",
    "copy": "copy the file into the vault instead of linking it",
    "ignore": "nothing needs doing",
}


def _without_conflicts(found: list[FileStat], unreadable: list[Unreadable]) -> tuple[list[FileStat], list[Unreadable]]:
    """A synchronisation's conflict copy is set aside while the note that it is a copy of stands beside it (V4)."""
    paths = {stat.path for stat in found}
    kept: list[FileStat] = []
    for stat in found:
        original = original_of(stat.path)
        if original in paths:
            reason = f"it is a conflict copy of {original}, left by a synchronisation"
            fix = "merge it into that note and delete it, or give it a name of its own"
            unreadable.append(Unreadable(stat.path, "sync_conflict", reason, fix))
        else:
            kept.append(stat)
    return kept, sorted(unreadable, key=lambda item: item.path)


def hidden_by(path: str, unreadable: Iterable[Unreadable]) -> Unreadable | None:
    """The finding that keeps `path` from view (on it, or a folder above). Such a path is not known to be deleted."""
    for item in unreadable:
        if path == item.path or path.startswith(f"{item.path}/"):
            return item
    return None


def read(root: Path, stat: FileStat, *, max_bytes: int = MAX_BYTES) -> bytes | Unreadable:
    """The file's bytes. No link is followed, no pipe opened; a file that changes meanwhile is read once more."""
    if stat.size > max_bytes:
        return _too_large(stat.path, stat.size, max_bytes)
    try:
        with files.parent_of(root, stat.path) as (folder, name):
            for _ in range(2):
                result = _read_once(folder, name, stat.path, max_bytes)
                if result is not None:
                    return result
    except FileNotFoundError:
        return Unreadable(stat.path, "vanished", "the file went away while the vault was read", "scan again")
    except OSError as error:
        reason = f"the file cannot be read: {error.strerror or error}"
        return Unreadable(stat.path, "unreadable", reason, "give this user the right to read it, or check the disk")
    return Unreadable(stat.path, "changed_while_read", "the file keeps changing while it is read", "scan again later")


def _read_once(folder: int, name: str, path: str, max_bytes: int) -> bytes | Unreadable | None:
    """None: it changed while it was read."""
    descriptor = files.open_file(folder, name)
    try:
        before = os.fstat(descriptor)
        if not modes.S_ISREG(before.st_mode):
            return Unreadable(path, "not_a_file", "it is no regular file any more", "remove it from the vault")
        if before.st_size > max_bytes:
            return _too_large(path, before.st_size, max_bytes)
        data = files.read_descriptor(descriptor, before.st_size, max_bytes)
        return data if files.same(before, os.fstat(descriptor)) and len(data) == before.st_size else None
    finally:
        os.close(descriptor)


def _too_large(path: str, size: int, max_bytes: int) -> Unreadable:
    reason = f"the file has {size:,} bytes; notes are read up to {max_bytes:,}"
    return Unreadable(path, "too_large", reason, "split it, or move it out of the vault")
