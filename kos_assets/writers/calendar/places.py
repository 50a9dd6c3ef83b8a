"""Where calendars lie: .ics files below the paths of the settings, opened so that nothing else can be met (W7).

Here: finding and opening files, and making their bytes readable line by line. Not here: what is in them. Links are not
followed below a path that was named; pipes and devices are never opened.
"""

from __future__ import annotations

import codecs
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, cast

from kos_assets.vault import files
from kos_assets.writers.contract import Skipped, SourceError

_ENDINGS: Final = frozenset((".ics", ".ical", ".ifb", ".icalendar"))
_DEEPEST: Final = 16
_MOST_FILES: Final = 500_000
_NAMED: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_HEAD: Final = 1 << 16
_PART: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """A file: `inner` is its path below `root`, empty where `root` itself is the file. `size` in bytes."""

    root: Path
    inner: str
    size: int
    mtime_ns: int

    @property
    def name(self) -> str:
        """What people call it and what an item's origin is: its path below the root, or its name."""
        return shown(self.inner or self.root.name)


def shown(path: str) -> str:
    """A path that can be printed, whatever bytes its names are made of."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def check(paths: Sequence[Path]) -> None:
    """Raises SourceError for a path that is not there or is neither a calendar file nor a folder."""
    for path in paths:
        mode = _stat(path).st_mode
        if not stat.S_ISDIR(mode) and not (stat.S_ISREG(mode) and path.suffix.casefold() in _ENDINGS):
            raise SourceError(
                f"{path} is neither a folder nor an .ics file.",
                why="A calendar is read from a file that ends in .ics, or from a folder of such files.",
                fix="Export the calendar as .ics, or name the folder where your calendar program keeps it.",
            )


def found(paths: Sequence[Path]) -> Iterator[Place | Skipped]:
    """Every calendar file, in order of its path; Skipped for what may not be opened.

    Raises SourceError where a path itself cannot be read.
    """
    for path in dict.fromkeys(paths):
        status = _stat(path)
        if stat.S_ISREG(status.st_mode):
            yield Place(path, "", status.st_size, status.st_mtime_ns)
        else:
            yield from _below(path)


def opened(place: Place) -> BinaryIO:
    """The file as UTF-8 or single bytes with LF or CRLF, open for reading and seeking. Raises OSError: also for what
    is no regular file any more. UTF-16 and files with nothing but CR are rewritten into a temporary file."""
    if place.inner:
        with files.parent_of(place.root, place.inner) as (folder, name):
            descriptor = files.open_file(folder, name)
    else:
        descriptor = os.open(place.root, _NAMED)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{place.name} is not a regular file")
    stream = os.fdopen(descriptor, "rb")
    head = stream.read(_HEAD)
    stream.seek(0)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _rewritten(stream, codecs.getincrementaldecoder("utf-16")("replace"))
    if b"\r" in head and b"\n" not in head:
        return _rewritten(stream, None)
    return stream


def _rewritten(stream: BinaryIO, decoder: codecs.IncrementalDecoder | None) -> BinaryIO:
    copy = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 (the caller closes it)
    with stream:
        while part := stream.read(_PART):
            copy.write(
                part.replace(b"\r", b"\n") if decoder is None else decoder.decode(part).encode("utf-8", "replace")
            )
    copy.seek(0)
    return copy


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
            fix = "give this user the right to read it"
            yield Skipped(shown(inner), "unreadable_folder", error.strerror or str(error), fix)
            continue
        folders: list[str] = []
        for entry in entries:
            path = f"{inner}/{entry.name}" if inner else entry.name
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(path)
            elif Path(entry.name).suffix.casefold() in _ENDINGS:
                yield _place(root, path, entry)
                count += 1
        if count > _MOST_FILES:
            raise SourceError(f"{root} holds more than {_MOST_FILES:,} files.", fix="Name a smaller folder.")
        waiting += [path for path in reversed(folders) if path.count("/") < _DEEPEST]


def _place(root: Path, path: str, entry: os.DirEntry[str]) -> Place | Skipped:
    reason = "it is a link or no regular file"
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError as error:
        reason, status = error.strerror or str(error), None
    if status is not None and stat.S_ISREG(status.st_mode):
        return Place(root, path, status.st_size, status.st_mtime_ns)
    fix = "put the file itself there, or name its own folder in path"
    return Skipped(shown(path), "not_a_file", reason, fix, shown(path))


def _stat(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except OSError as error:
        raise SourceError(
            f"{path} cannot be read.", why=error.strerror or str(error), fix="Put it back, or change path in kos.toml."
        ) from error
