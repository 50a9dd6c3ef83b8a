"""The files of a source below the paths that a mirror names, found and opened so that nothing else can be met.

Here: walking, bounds, what may not be opened and why, reading one file whole, the digest of all of them. Not here:
which names a kind wants and what is in the files (the kinds). Below a path that was named no link is followed; pipes
and devices are never opened; hidden files are passed over.
"""

from __future__ import annotations

import hashlib
import os
import stat
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kos_assets.vault import files
from kos_assets.vault.conflicts import original_of
from kos_assets.writers.contract import Skipped, SourceError

RIGHTS: Final = "give this user the right to read it"
UNREADABLE: Final = frozenset(("unreadable_file", "unreadable_folder"))
"""Codes of what another right, or a mounted drive, would mend without any name, size or time changing."""

_DEEPEST: Final = 64
_MOST_FILES: Final = 2_000_000
_LEFT_OUT_FOLDERS: Final = frozenset(("node_modules",))
_NAMED: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file: `inner` is its path below `root`, empty where `root` itself was named. `label` is what it is called in a
    report and in notes; size in bytes. `mode` with its kind, as stat gives it."""

    root: Path
    inner: str
    label: str
    size: int
    mtime_ns: int
    mode: int

    @property
    def named(self) -> bool:
        """Whether the mirror's settings name this very file."""
        return not self.inner

    @property
    def name(self) -> str:
        """The last part of the label."""
        return self.label.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """The folder of the label; empty at the top."""
        return self.label.rpartition("/")[0]

    @property
    def suffix(self) -> str:
        """`.md` in lower case; empty where there is none."""
        return os.path.splitext(self.name)[1].lower()  # noqa: PTH122 - a name, not a path


def usual_folder(name: str, beside: frozenset[str]) -> bool:
    """Whether a folder is looked into; `beside` are the names that stand beside it."""
    del beside
    return not name.startswith(".") and name not in _LEFT_OUT_FOLDERS


@dataclass(frozen=True)
class Wanted:
    """What a kind looks for: files by name, folders by name and neighbours, and real paths of folders that are passed
    over (what the product wrote itself)."""

    file: Callable[[str], bool]
    folder: Callable[[str, frozenset[str]], bool] = usual_folder
    without: frozenset[str] = field(default=frozenset())


def shown(path: str) -> str:
    """A path that can be printed and compared, whatever bytes and forms its names are made of."""
    return unicodedata.normalize("NFC", path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))


def status_of(path: Path) -> os.stat_result:
    """What a named path is; a link there is followed. Raises SourceError where there is nothing."""
    try:
        return path.stat()
    except (OSError, ValueError) as error:
        raise SourceError(
            f"{path} cannot be read.",
            why=getattr(error, "strerror", None) or str(error),
            fix="Put it back, mount the drive that it is on, or name another path.",
        ) from error


def is_folder_or(path: Path, wanted: Callable[[str], bool]) -> bool:
    """Whether a named path is a folder, or a regular file whose name is wanted. Raises SourceError."""
    mode = status_of(path).st_mode
    return stat.S_ISDIR(mode) or (stat.S_ISREG(mode) and wanted(path.name))


def listed(
    paths: Sequence[Path], wanted: Wanted, *, prefixes: Sequence[str] | None = None
) -> Iterator[SourceFile | Skipped]:
    """Every wanted file, each once, in the order of the paths; below each depth first, a folder's files before its
    folders, by name. Skipped for what may not be opened.

    A file that is named itself is given whatever its name. `prefixes`, one a path, stand before the labels. Raises
    SourceError where a path itself cannot be read, or holds more than two million files.
    """
    seen: set[tuple[int, int]] = set()
    for number, path in enumerate(paths):
        prefix = prefixes[number] if prefixes is not None else ""
        status = status_of(path)
        if stat.S_ISDIR(status.st_mode):
            yield from _Walk(path, prefix, wanted, seen).entries()
        elif (status.st_dev, status.st_ino) not in seen:
            seen.add((status.st_dev, status.st_ino))
            yield _file(path, "", shown(prefix + path.name), status)


def prefixes(paths: Sequence[Path]) -> list[str]:
    """What the labels of each path begin with, where they are part of an id: nothing for those of the first folder,
    else their folder's name, longer where that is taken. A path that is added behind the others changes none."""
    names: dict[Path, str] = {}
    found = []
    for path in paths:
        base = path.absolute() if path.is_dir() else path.absolute().parent
        if base not in names:
            parts = base.parts[1:] or ("root",)
            longer = ("/".join(parts[-count:]) + "/" for count in range(1, len(parts) + 1))
            taken = set(names.values())
            names[base] = next((name for name in longer if name not in taken), f"{len(names)}/") if names else ""
        found.append(names[base])
    return found


def opened(file: SourceFile) -> int:
    """A descriptor of the file, for reading. Raises OSError: also for what is no regular file any more."""
    if file.inner:
        with files.parent_of(file.root, file.inner) as (folder, name):
            descriptor = files.open_file(folder, name)
    else:
        descriptor = os.open(file.root, _NAMED)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("it is no regular file any more")
    return descriptor


def read_whole(file: SourceFile, largest: int) -> bytes | Skipped:
    """The bytes of a file, or why there are none. One that changes meanwhile is read once more."""
    try:
        for _ in range(2):
            data = _read_once(file, largest)
            if data is not None:
                break
        else:
            reason = "the file keeps changing while it is read"
            return Skipped(file.label, "changed_while_read", reason, "run the mirror again", file.label)
    except OSError as error:
        reason = f"the file cannot be read: {error.strerror or error}"
        return Skipped(file.label, "unreadable_file", reason, RIGHTS, file.label)
    if len(data) > largest:
        reason = f"the file has more than {largest // 2**20} MiB"
        return Skipped(file.label, "too_large", reason, "split it", file.label)
    return data


def fingerprint(entries: Iterable[SourceFile | Skipped], made_as: str) -> str:
    """A digest of names, sizes, times and rights, of what may not be opened, and of how notes are made of it all."""
    digest = hashlib.sha256(made_as.encode())
    for entry in entries:
        if isinstance(entry, Skipped):
            said = f"\0{entry.where}\0{entry.code}"
        else:
            said = f"\0{entry.root}\0{entry.label}\0{entry.size}\0{entry.mtime_ns}\0{entry.mode}"
        digest.update(said.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _read_once(file: SourceFile, largest: int) -> bytes | None:
    """None: it changed while it was read."""
    descriptor = opened(file)
    try:
        before = os.fstat(descriptor)
        data = files.read_descriptor(descriptor, min(before.st_size, largest), largest)
        whole = len(data) == before.st_size or len(data) > largest
        return data if whole and files.same(before, os.fstat(descriptor)) else None
    finally:
        os.close(descriptor)


def _file(root: Path, inner: str, label: str, status: os.stat_result) -> SourceFile:
    return SourceFile(root, inner, label, status.st_size, status.st_mtime_ns, status.st_mode)


class _Walk:
    """One folder and what is below it."""

    def __init__(self, root: Path, prefix: str, wanted: Wanted, seen: set[tuple[int, int]]) -> None:
        self.root, self.prefix, self.wanted, self.seen = root, prefix, wanted, seen
        self.real = os.path.realpath(root)
        self.count = 0

    def entries(self) -> Iterator[SourceFile | Skipped]:
        waiting = [""]
        while waiting:
            inner = waiting.pop()
            try:
                with os.scandir(self.root / inner) as found:
                    entries = sorted(found, key=lambda entry: entry.name)
            except OSError as error:
                yield self._unlisted(inner, error)
                continue
            beside = frozenset(entry.name for entry in entries)
            folders: list[str] = []
            for entry in entries:
                path = f"{inner}/{entry.name}" if inner else entry.name
                if entry.is_dir(follow_symlinks=False):
                    looked_into = self.wanted.folder(entry.name, beside) and not self._is_ours(path)
                    folders += [path] if looked_into else []
                elif not entry.name.startswith((".", "~$")) and self.wanted.file(entry.name):
                    copied = original_of(entry.name)
                    yield from self._entry(entry, path, is_copy=copied is not None and copied in beside)
            for path in reversed(folders):
                if path.count("/") < _DEEPEST:
                    waiting.append(path)
                else:
                    label, reason = shown(self.prefix + path), f"it lies more than {_DEEPEST} folders deep"
                    yield Skipped(label, "too_deep", reason, "move it up, or name it in path")

    def _unlisted(self, inner: str, error: OSError) -> Skipped:
        why = error.strerror or str(error)
        if not inner:
            raise SourceError(f"{self.root} cannot be read.", why=why, fix=f"Please {RIGHTS}.") from error
        return Skipped(shown(self.prefix + inner), "unreadable_folder", f"the folder cannot be listed: {why}", RIGHTS)

    def _is_ours(self, path: str) -> bool:
        return f"{self.real}/{path}" in self.wanted.without

    def _entry(self, entry: os.DirEntry[str], path: str, *, is_copy: bool) -> Iterator[SourceFile | Skipped]:
        label = shown(self.prefix + path)
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError as error:
            yield Skipped(label, "unreadable_file", error.strerror or str(error), RIGHTS, label)
            return
        if stat.S_ISLNK(status.st_mode):
            fix = "name the file itself, or its folder, in path"
            yield Skipped(label, "link", "links are not followed", fix, label, counts=False)
        elif not stat.S_ISREG(status.st_mode):
            yield Skipped(label, "not_a_file", "it is a pipe, socket or device", "remove it from there", label)
        elif is_copy:
            reason = "it is a conflict copy, left by a synchronisation"
            yield Skipped(label, "sync_conflict", reason, "merge it into its original and delete it", label)
        elif (status.st_dev, status.st_ino) not in self.seen:
            self.seen.add((status.st_dev, status.st_ino))
            self.count += 1
            if self.count > _MOST_FILES:
                raise SourceError(f"{self.root} holds more than {_MOST_FILES:,} files.", fix="Name a smaller folder.")
            yield _file(self.root, path, label, status)
