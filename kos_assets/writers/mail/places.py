"""Where mail lies: which files hold some, by their names and first bytes.

Here: telling mail from what is none. Not here: finding and opening files (listing.py), where messages begin in a
mailbox (mbox.py) or what is in them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from kos_assets.writers import listing
from kos_assets.writers.contract import Skipped, SourceError
from kos_assets.writers.listing import SourceFile, Wanted
from kos_assets.writers.mail.headers import fields

Kind = Literal["mbox", "message", "emlx"]
_SNIFFED: Final = 16_384
_PACKED: Final = (".gz", ".bz2", ".xz", ".zst", ".zip", ".7z", ".rar", ".pst", ".ost", ".olm", ".msg")
_STRONG: Final = frozenset(
    ("message-id", "received", "return-path", "mime-version", "delivered-to", "x-mozilla-status", "x-gm-thrid", "x-uid")
)
_ADDRESSED: Final = frozenset(("date", "subject", "to", "cc", "reply-to"))


@dataclass(frozen=True)
class Box:
    """A file with mail. `flags` are those in a Maildir's file name (`S`, `R`, `T`, `D`, ...)."""

    file: SourceFile
    kind: Kind
    flags: str = ""

    @property
    def name(self) -> str:
        """What people call it: its path below the root, or its name."""
        return self.file.label

    @property
    def partial(self) -> bool:
        """Whether Apple Mail left out the attachments."""
        return self.kind == "emlx" and ".partial." in self.file.name


def check(paths: Sequence[Path]) -> None:
    """Raises SourceError for a path that is not there or is neither a file nor a folder."""
    for path in paths:
        if not listing.is_folder_or(path, lambda _: True):
            raise SourceError(
                f"{path} is neither a file nor a folder.",
                why="A pipe or a device is never opened.",
                fix="Name an mbox, a Maildir, or a folder of .eml or .emlx files (path in kos.toml).",
            )


def files_of(paths: Sequence[Path]) -> Iterator[SourceFile | Skipped]:
    """Every file below the paths, whatever it is; none is opened. Raises SourceError.

    What cannot be read has no origin: any thread may have lost a message by it, so none is taken for gone.
    """
    for entry in listing.listed(paths, Wanted(lambda _: True, _is_looked_into)):
        unread = isinstance(entry, Skipped) and entry.code in listing.UNREADABLE
        yield replace(entry, origin="") if isinstance(entry, Skipped) and unread else entry


def found(paths: Sequence[Path]) -> Iterator[Box | Skipped]:
    """Every file with mail, in order of its path; Skipped for what holds none or may not be opened.

    Raises SourceError where a path itself cannot be read.
    """
    for entry in files_of(paths):
        yield entry if isinstance(entry, Skipped) else _told(entry)


@contextmanager
def opened(box: Box) -> Iterator[int]:
    """A descriptor of the file, for reading. Raises OSError: also for what is not the same file in the same state."""
    descriptor = listing.opened(box.file)
    try:
        status = os.fstat(descriptor)
        if (status.st_size, status.st_mtime_ns) != (box.file.size, box.file.mtime_ns):
            raise OSError("it changed while it was read")
        yield descriptor
    finally:
        os.close(descriptor)


def _is_looked_into(name: str, beside: frozenset[str]) -> bool:
    """Hidden folders of a Maildir (`.Sent`) too; its `tmp` holds what is not delivered yet."""
    if {"cur", "new"} <= beside:
        return name != "tmp"
    return listing.usual_folder(name, beside)


def _told(file: SourceFile) -> Box | Skipped:
    """What a file is, by its name and its first bytes."""
    bare = file.name.casefold()
    if bare.endswith(_PACKED):
        reason = "mail may be packed in it, in a form that is not read"
        fix = "unpack it (Outlook: export as .eml or mbox), or take it away"
        return Skipped(file.label, "packed", reason, fix, file.label)
    try:
        head = _head(file)
    except OSError as error:
        return Skipped(file.label, "unreadable_file", error.strerror or str(error), listing.RIGHTS)
    delivered = file.inner.rpartition("/")[0].rpartition("/")[2] in ("cur", "new")
    kind = _kind(bare, head, delivered)
    if kind is None:
        code, reason = ("not_mail", "it does not look like mail") if head else ("empty_file", "it is empty")
        return Skipped(file.label, code, reason, "nothing to do", counts=False)
    flags = bare.rpartition(":2,")[2] if delivered and ":2," in bare else ""
    return Box(file, kind, flags.upper())


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


def _head(file: SourceFile) -> bytes:
    descriptor = listing.opened(file)
    try:
        return os.pread(descriptor, _SNIFFED, 0)
    finally:
        os.close(descriptor)
