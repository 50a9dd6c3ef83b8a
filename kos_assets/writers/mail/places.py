"""Where mail lies: files below the paths of the settings, opened so that nothing else can be met.

Here: finding and opening files, and telling mail from what is none. Not here: where messages begin in a mailbox
(mbox.py) or what is in them. Links are not followed below a path that was named; pipes and devices are never opened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from kos_assets.vault import files
from kos_assets.writers.contract import Skipped, SourceError
from kos_assets.writers.mail.headers import fields

Kind = Literal["mbox", "message", "emlx"]
LEFT_OUT: Final = "left out"
"""Origin of what was left out on purpose: no note has it, so nothing is taken for unread because of it."""
_DEEPEST: Final = 32
_MOST_FILES: Final = 2_000_000
_SNIFFED: Final = 16_384
_NAMED = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_PACKED: Final = (".gz", ".bz2", ".xz", ".zst", ".zip", ".7z", ".rar", ".pst", ".ost", ".olm", ".msg")
_STRONG: Final = frozenset(
    ("message-id", "received", "return-path", "mime-version", "delivered-to", "x-mozilla-status", "x-gm-thrid", "x-uid")
)
_ADDRESSED: Final = frozenset(("date", "subject", "to", "cc", "reply-to"))


@dataclass(frozen=True)
class Box:
    """A file with mail: `inner` is its path below `root`, empty where `root` itself is the file. `flags` are those in a
    Maildir's file name (`S`, `R`, `T`, `D`, ...). `size` in bytes."""

    root: Path
    inner: str
    kind: Kind
    size: int
    mtime_ns: int
    flags: str = ""

    @property
    def name(self) -> str:
        """What people call it: its path below the root, or its name."""
        return shown(self.inner or self.root.name)

    @property
    def partial(self) -> bool:
        """Whether Apple Mail left out the attachments."""
        return self.kind == "emlx" and ".partial." in self.name.rpartition("/")[2]


@dataclass(frozen=True)
class _File:
    path: str
    in_maildir: bool
    status: os.stat_result | None
    reason: str = ""


def shown(path: str) -> str:
    """A path that can be printed, whatever bytes its names are made of."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def check(paths: Sequence[Path]) -> None:
    """Raises SourceError for a path that is not there or is neither a file nor a folder."""
    for path in paths:
        mode = _status(path).st_mode
        if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
            raise SourceError(
                f"{path} is neither a file nor a folder.",
                why="A pipe or a device is never opened.",
                fix="Name an mbox, a Maildir, or a folder of .eml or .emlx files (path in kos.toml).",
            )


def stamps(paths: Sequence[Path]) -> Iterator[str]:
    """A line per file below the paths that changes whenever the file does. Nothing is opened."""
    for path in dict.fromkeys(paths):
        status = _status(path)
        if stat.S_ISREG(status.st_mode):
            yield f"{path}\0{status.st_size}\0{status.st_mtime_ns}"
            continue
        for one in _below(path):
            if isinstance(one, Skipped):
                yield f"{path}\0{one.where}\0{one.code}"
            elif one.status is not None:
                yield f"{path}\0{one.path}\0{one.status.st_size}\0{one.status.st_mtime_ns}"
            else:
                yield f"{path}\0{one.path}\0{one.reason}"


def found(paths: Sequence[Path]) -> Iterator[Box | Skipped]:
    """Every file with mail, in order of its path; Skipped for what holds none or may not be opened.

    Raises SourceError where a path itself cannot be read.
    """
    for path in dict.fromkeys(paths):
        status = _status(path)
        if stat.S_ISREG(status.st_mode):
            yield _told(path, _File("", False, status))
            continue
        for one in _below(path):
            yield one if isinstance(one, Skipped) else _told(path, one)


@contextmanager
def opened(box: Box) -> Iterator[int]:
    """A descriptor of the file, for reading. Raises OSError: also for what is not the same file in the same state."""
    descriptor = _open(box.root, box.inner)
    try:
        status = os.fstat(descriptor)
        if (status.st_size, status.st_mtime_ns) != (box.size, box.mtime_ns):
            raise OSError("it changed while it was read")
        yield descriptor
    finally:
        os.close(descriptor)


def _open(root: Path, inner: str) -> int:
    if inner:
        with files.parent_of(root, inner) as (folder, name):
            descriptor = files.open_file(folder, name)
    else:
        descriptor = os.open(root, _NAMED)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("it is no regular file any more")
    return descriptor


def _below(root: Path) -> Iterator[_File | Skipped]:
    """Depth first, each folder's files before its folders, by name. Hidden ones are passed over, but for the folders of
    a Maildir (`.Sent`); of a Maildir, `tmp` holds what is not delivered yet."""
    waiting, count = [""], 0
    while waiting:
        inner = waiting.pop()
        try:
            with os.scandir(root / inner) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError as error:
            if not inner:
                raise SourceError(f"{root} cannot be read.", why=error.strerror or str(error)) from error
            yield Skipped(shown(inner), "unreadable_folder", error.strerror or str(error), "give the right to read it")
            continue
        names = {entry.name for entry in entries}
        maildir = "cur" in names and "new" in names
        delivered = inner.rpartition("/")[2] in ("cur", "new")
        folders: list[str] = []
        for entry in entries:
            path = f"{inner}/{entry.name}" if inner else entry.name
            if entry.is_dir(follow_symlinks=False):
                wanted = not entry.name.startswith(".") or (maildir and entry.name not in (".", ".."))
                folders += [path] if wanted and not (maildir and entry.name == "tmp") else []
            elif not entry.name.startswith("."):
                yield _seen(path, delivered, entry)
                count += 1
        if count > _MOST_FILES:
            raise SourceError(f"{root} holds more than {_MOST_FILES:,} files.", fix="Name a smaller folder.")
        for path in reversed(folders):
            if path.count("/") < _DEEPEST:
                waiting.append(path)
            else:
                reason = f"it lies more than {_DEEPEST} folders deep"
                yield Skipped(shown(path), "too_deep", reason, "name it in path", shown(path))


def _seen(path: str, in_maildir: bool, entry: os.DirEntry[str]) -> _File:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError as error:
        return _File(path, in_maildir, None, error.strerror or str(error))
    if stat.S_ISREG(status.st_mode):
        return _File(path, in_maildir, status)
    return _File(path, in_maildir, None, "it is a link or no regular file")


def _told(root: Path, one: _File) -> Box | Skipped:
    """What a file is, by its name and its first bytes."""
    name = shown(one.path or root.name)
    if one.status is None:
        return Skipped(
            name, "not_a_file", one.reason, "put the file itself there, or name its own folder in path", name
        )
    bare = name.rpartition("/")[2].casefold()
    if bare.endswith(_PACKED):
        reason = "mail may be packed in it, in a form that is not read"
        return Skipped(name, "packed", reason, "unpack it (Outlook: export as .eml or mbox), or take it away", name)
    try:
        head = _head(root, one.path)
    except OSError as error:
        return Skipped(name, "unreadable_file", error.strerror or str(error), "give this user the right to read it")
    kind = _kind(bare, head, one.in_maildir)
    if kind is None:
        code, reason = ("not_mail", "it does not look like mail") if head else ("empty_file", "it is empty")
        return Skipped(name, code, reason, "nothing to do", LEFT_OUT, counts=False)
    flags = bare.rpartition(":2,")[2] if one.in_maildir and ":2," in bare else ""
    return Box(root, one.path, kind, one.status.st_size, one.status.st_mtime_ns, flags.upper())


def _kind(name: str, head: bytes, in_maildir: bool) -> Kind | None:
    if name.endswith(".emlx") and head:
        return "emlx"
    if (in_maildir or name.endswith(".eml")) and head:
        return "message"
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
    if start.startswith(b"From ") and looks_like_headers(start.partition(b"\n")[2]):
        return "mbox"
    return "message" if looks_like_headers(start) else None


def looks_like_headers(head: bytes) -> bool:
    """Whether some bytes begin with headers that only mail has, or with a sender and what goes with one."""
    if b"\0" in head[:512]:
        return False
    if b"\n" not in head:
        head = head.replace(b"\r", b"\n")
    first = head.partition(b"\n")[0].removeprefix(b">")
    if not first.startswith(b"From ") and not fields(first):
        return False
    names = {name for name, _ in fields(head)}
    return bool(names & _STRONG) or ("from" in names and bool(names & _ADDRESSED))


def _head(root: Path, inner: str) -> bytes:
    descriptor = _open(root, inner)
    try:
        return os.pread(descriptor, _SNIFFED, 0)
    finally:
        os.close(descriptor)


def _status(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except OSError as error:
        raise SourceError(
            f"{path} cannot be read.",
            why=error.strerror or str(error),
            fix="Name the mbox, Maildir or folder where your mail lies (path in kos.toml).",
        ) from error
