"""Where conversations lie: the files below the paths of the settings, opened so that nothing else can be met.

Here: finding and opening files. Not here: what is in them. Links are not followed below a path that was named; pipes
and devices are never opened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Literal

from kos_assets.vault import files
from kos_assets.writers.contract import Skipped, SourceError

Kind = Literal["zip", "json", "jsonl"]
_KINDS: Final[dict[str, Kind]] = {".zip": "zip", ".json": "json", ".jsonl": "jsonl"}
_DEEPEST: Final = 16
_MOST_FILES: Final = 500_000
_NAMED = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class Place:
    """A file: `inner` is its path below `root`, empty where `root` itself is the file. `size` in bytes."""

    root: Path
    inner: str
    kind: Kind
    size: int
    mtime_ns: int

    @property
    def name(self) -> str:
        """What people call it: its path below the root, or its name."""
        return shown(self.inner or self.root.name)


def is_export_name(name: str) -> bool:
    """Whether a file of that name holds conversations: conversations.json, conversations-000.json, ..."""
    parts = name.replace("\\", "/").casefold().split("/")
    return parts[-1].startswith("conversations") and parts[-1].endswith(".json") and "__macosx" not in parts


def shown(path: str) -> str:
    """A path that can be printed, whatever bytes its names are made of."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def check(paths: Sequence[Path]) -> None:
    """Raises SourceError for a path that is not there or is neither a file nor a folder."""
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError as error:
            raise SourceError(
                f"{path} cannot be read.",
                why=error.strerror or str(error),
                fix="Name the folder or file where the export or the session logs lie (path in kos.toml).",
            ) from error
        fits = stat.S_ISDIR(mode) or (stat.S_ISREG(mode) and path.suffix.casefold() in _KINDS)
        if not fits:
            raise SourceError(
                f"{path} is neither a folder nor a .zip, .json or .jsonl file.",
                fix="Name an export as it was downloaded, its folder, or the folder of the session logs.",
            )


def found(paths: Sequence[Path]) -> Iterator[Place | Skipped]:
    """Every file of a kind that may hold conversations, in order of its path; Skipped for what may not be opened.

    Raises SourceError where a path itself cannot be read.
    """
    for path in dict.fromkeys(paths):
        status = _stat(path)
        if stat.S_ISREG(status.st_mode):
            kind = _KINDS.get(path.suffix.casefold())
            if kind is not None:
                yield Place(path, "", kind, status.st_size, status.st_mtime_ns)
            continue
        yield from _below(path)


def opened(place: Place) -> BinaryIO:
    """The file, open for reading. Raises OSError: also for what is no regular file any more."""
    if place.inner:
        with files.parent_of(place.root, place.inner) as (folder, name):
            descriptor = files.open_file(folder, name)
    else:
        descriptor = os.open(place.root, _NAMED)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{place.name} is not a regular file")
    return os.fdopen(descriptor, "rb")


def _below(root: Path) -> Iterator[Place | Skipped]:
    """Depth first, each folder's files before its folders, by name; hidden ones are passed over."""
    waiting, count = [""], 0
    while waiting:
        inner = waiting.pop()
        try:
            with os.scandir(root / inner) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError as error:
            if not inner:
                raise SourceError(f"{root} cannot be read.", why=error.strerror or str(error)) from error
            yield Skipped(
                shown(inner), "unreadable", error.strerror or str(error), "give this user the right to read it"
            )
            continue
        folders: list[str] = []
        for entry in entries:
            path = f"{inner}/{entry.name}" if inner else entry.name
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(path)
            elif (kind := _kind(entry.name)) is not None:
                yield _place(root, path, kind, entry)
                count += 1
        if count > _MOST_FILES:
            raise SourceError(f"{root} holds more than {_MOST_FILES:,} files.", fix="Name a smaller folder.")
        waiting += [path for path in reversed(folders) if path.count("/") < _DEEPEST]


def _kind(name: str) -> Kind | None:
    kind = _KINDS.get(Path(name).suffix.casefold())
    return kind if kind != "json" or is_export_name(name) else None


def _place(root: Path, path: str, kind: Kind, entry: os.DirEntry[str]) -> Place | Skipped:
    reason = "it is a link or no regular file"
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError as error:
        reason, status = error.strerror or str(error), None
    if status is not None and stat.S_ISREG(status.st_mode):
        return Place(root, path, kind, status.st_size, status.st_mtime_ns)
    return Skipped(shown(path), "not_a_file", reason, "put the file itself there, or name its own folder in path")


def _stat(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except OSError as error:
        raise SourceError(
            f"{path} cannot be read.", why=error.strerror or str(error), fix="Put it back, or change path in kos.toml."
        ) from error
