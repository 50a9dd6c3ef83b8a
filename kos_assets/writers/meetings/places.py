"""Where meetings lie: the files below the paths of the settings, and which of them tell of one meeting.

Here: finding, grouping and opening. Not here: what the files hold (parsing.py). Below a path that was named no link is
followed; pipes and devices are never opened; what the product wrote itself is not offered again.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kos_assets.vault import files
from kos_assets.writers.contract import Skipped, SourceError
from kos_assets.writers.meetings.parsing import SUFFIXES

LARGEST: Final = 64 * 2**20
"""Bytes of one file; the vault's notes and this writer's memory are bounded by it."""

_DEEPEST: Final = 64
_MOST_FILES: Final = 500_000
_RIGHTS: Final = "give this user the right to read it"
_NAMED: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_CONFLICT = re.compile(r"(?i)\.sync-conflict-|conflicted copy|_conflict-\d{8}-")
_PART = re.compile(
    r"(?i)[._ -]{1,4}(?:transcript(?:ion)?|transkript|captions?|subtitles?|cc|timeline|summary|notes?|metadata|"
    r"meeting[ _-]?notes|action[ _-]?items|zusammenfassung|notizen)\Z|"
    r"\.(?:en|de|fr|es|it|pt|nl|ja|zh|ko|ru|pl|uk|ar|he|hi|tr|sv|da|fi|nb|cs)(?:-[a-z]{2,4}){0,2}\Z"
)
_LEFT_OUT_FOLDERS: Final = frozenset(("node_modules",))


@dataclass(frozen=True)
class Place:
    """A file that may tell of a meeting. `label` is its path in the mirror's source, without the root, so that it
    outlives a move of the whole; `stem` is what the files of one meeting have in common."""

    root: Path
    inner: str
    label: str
    suffix: str
    size: int
    mtime_ns: int

    @property
    def folder(self) -> str:
        """The folder of the label; empty at the top."""
        return self.label.rpartition("/")[0]

    @property
    def stem(self) -> str:
        """The file's name without suffix and without `transcript`, `summary`, `.en` and the like at its end."""
        return stem_of(self.label.rpartition("/")[2])


def stem_of(name: str) -> str:
    """`2026-03-04 Budget - Transcript.en.vtt` is of the meeting `2026-03-04 Budget`. Never empty."""
    stem = name.rpartition(".")[0] or name
    for _ in range(3):
        shorter = _PART.sub("", stem).rstrip(" ._-")
        if not shorter or shorter == stem:
            break
        stem = shorter
    return stem


def shown(path: str) -> str:
    """A path that can be printed and compared, whatever bytes and forms its names are made of."""
    return unicodedata.normalize("NFC", path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))


def check(mirror: str, paths: Sequence[Path]) -> None:
    """Raises SourceError for a path that is not there, or cannot hold meetings."""
    for path in paths:
        mode = _status(path).st_mode
        if not (stat.S_ISDIR(mode) or (stat.S_ISREG(mode) and path.suffix.lower() in SUFFIXES)):
            raise SourceError(
                f"Mirror {mirror}: {path} is neither a folder nor a file of meetings.",
                why=f"Files of meetings end in {', '.join(SUFFIXES)}.",
                fix="Name such a file, or the folder that holds them (path in kos.toml).",
            )


def found(paths: Sequence[Path], without: Sequence[Path]) -> Iterator[Place | Skipped]:
    """Every file that may tell of a meeting, each once, in order; Skipped for what may not be opened.

    `without` are folders that are passed over (what the product wrote). Raises SourceError where a path cannot be read.
    """
    hidden = frozenset(os.path.realpath(path) for path in without)
    seen: set[tuple[int, int]] = set()
    for path, prefix in _prefixes(paths):
        status = _status(path)
        if stat.S_ISDIR(status.st_mode):
            yield from _Walk(path, prefix, hidden, seen).entries()
        elif (status.st_dev, status.st_ino) not in seen:
            seen.add((status.st_dev, status.st_ino))
            label = shown(prefix + path.name)
            yield Place(path, "", label, path.suffix.lower(), status.st_size, status.st_mtime_ns)


def read(place: Place) -> bytes | Skipped:
    """The file's bytes, or why there are none. A file that changes meanwhile is read once more."""

    def skipped(code: str, reason: str, fix: str) -> Skipped:
        return Skipped(place.label, code, reason, fix, place.label)

    if place.size > LARGEST:
        reason = f"the file has more than {LARGEST // 2**20} MiB"
        return skipped("too_large", reason, "split it, or export it without words' times")
    try:
        for _ in range(2):
            data = _bytes(place)
            if data is not None:
                break
        else:
            return skipped("changed_while_read", "the file keeps changing while it is read", "run the mirror again")
    except OSError as error:
        return skipped("unreadable", f"the file cannot be read: {error.strerror or error}", _RIGHTS)
    if len(data) > LARGEST:
        return skipped("too_large", f"the file has more than {LARGEST // 2**20} MiB", "split it")
    return data


def _bytes(place: Place) -> bytes | None:
    """None: it changed while it was read. Raises OSError, also for what is no regular file any more."""
    if place.inner:
        with files.parent_of(place.root, place.inner) as (folder, name):
            descriptor = files.open_file(folder, name)
    else:
        descriptor = os.open(place.root, _NAMED)
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise OSError("it is no regular file")
        data = files.read_descriptor(descriptor, min(before.st_size, LARGEST), LARGEST)
        whole = len(data) == before.st_size or len(data) > LARGEST
        return data if whole and files.same(before, os.fstat(descriptor)) else None
    finally:
        os.close(descriptor)


def _status(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except (OSError, ValueError) as error:
        raise SourceError(
            f"{path} cannot be read.",
            why=getattr(error, "strerror", None) or str(error),
            fix="Put it back, mount the drive that it is on, or change path in kos.toml.",
        ) from error


def _prefixes(paths: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Each path with what its labels begin with: nothing for those of the first folder, else their folder's name, with
    a number where that is taken. A path that is added behind the others changes none of them."""
    names: dict[Path, str] = {}
    for path in dict.fromkeys(paths):
        base = path.absolute() if path.is_dir() else path.absolute().parent
        if base not in names:
            name = base.name or "root"
            spellings = [f"{name}/", *(f"{name} {number}/" for number in range(2, len(names) + 2))]
            names[base] = next(each for each in spellings if each not in names.values()) if names else ""
        yield path, names[base]


class _Walk:
    """One folder, depth first, each folder's files before its folders, by name; hidden ones are passed over."""

    def __init__(self, root: Path, prefix: str, without: frozenset[str], seen: set[tuple[int, int]]) -> None:
        self.root, self.prefix, self.without, self.seen = root, prefix, without, seen
        self.real = os.path.realpath(root)
        self.count = 0

    def entries(self) -> Iterator[Place | Skipped]:
        """Places, and what may not be opened."""
        waiting = [""]
        while waiting:
            inner = waiting.pop()
            try:
                with os.scandir(self.root / inner) as listed:
                    entries = sorted(listed, key=lambda entry: entry.name)
            except OSError as error:
                why = error.strerror or str(error)
                if not inner:
                    raise SourceError(f"{self.root} cannot be read.", why=why, fix=_RIGHTS) from error
                yield Skipped(shown(inner), "folder_unreadable", f"the folder cannot be listed: {why}", _RIGHTS)
                continue
            folders = []
            for entry in entries:
                path = f"{inner}/{entry.name}" if inner else entry.name
                if entry.name.startswith((".", "~$")):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders += [path] if self._is_ours(entry.name, path) else []
                elif os.path.splitext(entry.name)[1].lower() in SUFFIXES:  # noqa: PTH122 - a name, not a path
                    yield from self._file(entry, path)
            for path in reversed(folders):
                if path.count("/") >= _DEEPEST:
                    yield Skipped(shown(path), "too_deep", f"the folder lies {_DEEPEST} levels down", "move it up")
                else:
                    waiting.append(path)

    def _is_ours(self, name: str, path: str) -> bool:
        return name not in _LEFT_OUT_FOLDERS and f"{self.real}/{path}" not in self.without

    def _file(self, entry: os.DirEntry[str], path: str) -> Iterator[Place | Skipped]:
        label = shown(self.prefix + path)
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError as error:
            yield Skipped(label, "unreadable", error.strerror or str(error), _RIGHTS, label)
            return
        if stat.S_ISLNK(status.st_mode):
            reason = "links are not followed"
            yield Skipped(label, "link", reason, "name the file or its folder in path", label, counts=False)
        elif not stat.S_ISREG(status.st_mode):
            yield Skipped(label, "not_a_file", "it is a pipe, socket or device", "remove it from there", label)
        elif _CONFLICT.search(entry.name):
            reason = "it is a conflict copy, left by a synchronisation"
            yield Skipped(label, "sync_conflict", reason, "merge it into its original and delete it", label)
        elif (status.st_dev, status.st_ino) not in self.seen:
            self.seen.add((status.st_dev, status.st_ino))
            self.count += 1
            if self.count > _MOST_FILES:
                raise SourceError(f"{self.root} holds more than {_MOST_FILES:,} files.", fix="Name a smaller folder.")
            suffix = os.path.splitext(entry.name)[1].lower()  # noqa: PTH122 - a name, not a path
            yield Place(self.root, path, label, suffix, status.st_size, status.st_mtime_ns)
