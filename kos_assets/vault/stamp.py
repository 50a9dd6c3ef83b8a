"""The id in a file: one line of frontmatter, put in and taken out without touching another byte (V2, V7).

Here: the bytes with and without the stamp, and the compare-and-swap that writes them. Not here: which id a file gets.

A file without frontmatter gains a block of its own, so taking the stamp out must tell that block from an empty one that
a person wrote. The id in such a person's block is therefore written in quotes; an unquoted id alone in a block with
three equal line ends is ours.
"""

from __future__ import annotations

import datetime as dt
import errno
import hashlib
import os
import re
import stat as modes
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Literal
from uuid import UUID

from kos_assets.vault import canvas, files, frontmatter
from kos_assets.vault.frontmatter import BOM, Frontmatter, Span
from kos_assets.vault.problems import Problem

Gain = Literal["nothing", "line", "block", "id"]
TEMPLATE_FOLDERS: Final = frozenset(("templates", "_templates", "template"))
_ID = rb"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_OWN_BLOCK = re.compile(rb"---(\r\n|\n|\r)kos_id: " + _ID + rb"\1---\1")
_END = rb"[\"']?[ \t]*(?:[ \t]#[^\r\n]*)?(?:\r\n|\n|\r)"
_LINE = {
    "yaml": re.compile(rb"(?:(?<=\n)|(?<=\r))kos_id:[ \t]+[\"']?(" + _ID + rb")" + _END),
    "toml": re.compile(rb"(?:(?<=\n)|(?<=\r))kos_id[ \t]*=[ \t]*[\"'](" + _ID + rb")" + _END),
}
_FIRST_EOL = re.compile(rb"\r\n|\n|\r")
_LASTING = frozenset((errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP, errno.ENOTDIR))  # others may pass: disk full
_STALE_TEMP_S = 60.0
_SECOND_NS = 10**9


@dataclass(frozen=True, slots=True)
class Stamped:
    """The file carries the id now. `file_hash`, `size` and `mtime_ns` are those of the file as it stands."""

    path: str
    file_hash: str
    size: int
    mtime_ns: int
    written: bool


@dataclass(frozen=True, slots=True)
class Waiting:
    """Nothing was written; the next scan may try again (the file changed, or is being worked on)."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Unsafe:
    """This file is not to be stamped: its id belongs in the sidecar."""

    path: str
    code: str
    reason: str


def unstamped(data: bytes) -> bytes:
    """The bytes without the stamp; the same bytes when there is none. Inverse of stamped() on every unstamped file."""
    start = len(BOM) if data.startswith(BOM) else 0
    own = _OWN_BLOCK.match(data, start)
    if own:
        return data[:start] + data[own.end() :]
    span = frontmatter.locate(data)
    if not isinstance(span, Span):
        return data
    lines = _stamp_lines(data, span)
    return data[: lines[-1].start()] + data[lines[-1].end() :] if lines else data


def stamped(data: bytes, note_id: UUID) -> bytes | None:
    """The bytes with `kos_id` added, or its value replaced, and nothing else changed; None when that cannot be proved.

    Proof: the result is read again, and must say the same properties plus the id, the same text below, and give back
    the old bytes when the stamp is taken out.
    """
    try:
        data.decode()
    except UnicodeDecodeError:
        return None
    if b"\0" in data:
        return None
    head = frontmatter.parse(data)
    span = frontmatter.locate(data)
    if not head.sound or isinstance(span, Problem):
        return None
    if "kos_id" in head.properties:
        return _replaced(data, head, span, note_id)
    if span is not None and _stamp_lines(data, span):
        return None  # a line that looks like the stamp, inside some other value
    return next((new for new in _candidates(data, span, note_id) if _proved(data, head, new, note_id)), None)


def _candidates(data: bytes, span: Span | None, note_id: UUID) -> list[bytes]:
    text = str(note_id).encode()
    if span is None:
        first = _FIRST_EOL.search(data)
        eol = first.group() if first else b"\n"
        start = len(BOM) if data.startswith(BOM) else 0
        return [data[:start] + b"---" + eol + b"kos_id: " + text + eol + b"---" + eol + data[start:]]
    if span.kind == "toml":
        line = b'kos_id = "' + text + b'"' + span.eol
        return [data[: span.inner_start] + line + data[span.inner_start :]]
    lines = (b"kos_id: " + text + span.eol, b'kos_id: "' + text + b'"' + span.eol)
    return [data[: span.inner_end] + line + data[span.inner_end :] for line in lines]


def _proved(data: bytes, head: Frontmatter, new: bytes, note_id: UUID) -> bool:
    after = frontmatter.parse(new)
    return (
        after.sound
        and dict(after.properties) == {**head.properties, "kos_id": str(note_id)}
        and new[after.body_start :] == data[head.body_start :]
        and unstamped(new) == data
    )


def _replaced(data: bytes, head: Frontmatter, span: Span | None, note_id: UUID) -> bytes | None:
    lines = _stamp_lines(data, span) if span is not None else []
    if len(lines) != 1 or lines[0].group(1).decode() != head.properties["kos_id"]:
        return None
    start, end = lines[0].span(1)
    new = data[:start] + str(note_id).encode() + data[end:]
    after = frontmatter.parse(new)
    same = dict(after.properties) == {**head.properties, "kos_id": str(note_id)}
    return new if after.sound and same and unstamped(new) == unstamped(data) else None


def _stamp_lines(data: bytes, span: Span) -> list[re.Match[bytes]]:
    return list(_LINE[span.kind].finditer(data, span.inner_start, span.inner_end)) if span.kind != "none" else []


def write_stamp(
    root: Path, path: str, expected_file_hash: str, note_id: UUID, *, now: dt.datetime, quiet_s: float = 10
) -> Stamped | Waiting | Unsafe:
    """Stamp one file by compare-and-swap: it still has `expected_file_hash` and rested for `quiet_s` seconds.

    Written to a hidden temporary file beside it, flushed to disk, renamed over it. Mode, owner and extended attributes
    are kept, and the modification time too (it may be the only date that the note has); when an id replaces another of
    the same length, the time moves on by one second so that synchronisation sees the change. Never follows a link.
    """
    unfit = _unfit(path)
    if unfit is not None:
        return unfit
    try:
        with files.parent_of(root, path) as (folder, name):
            spot = _Spot(folder, name, path)
            return _swap(spot, expected_file_hash, note_id, now.timestamp(), quiet_s)
    except FileNotFoundError:
        return Waiting(path, "the file is gone")
    except OSError as error:
        reason = f"the file cannot be replaced: {error.strerror or error}"
        return Unsafe(path, "not_writable", reason) if error.errno in _LASTING else Waiting(path, reason)


def foresee(root: Path, path: str, data: bytes, note_id: UUID) -> Gain | Unsafe:
    """What write_stamp() would do to a file that holds `data`, without doing it: `line` and `block` are added, `id`
    replaces another one, `nothing` is to be done. Whether the file rests is left out of it. Never writes or raises.
    """
    unfit = _unfit(path)
    if unfit is not None:
        return unfit
    try:
        with files.parent_of(root, path) as (folder, name):
            refused = _refused(os.stat(name, dir_fd=folder, follow_symlinks=False))
            if refused is None and not os.access(".", os.W_OK | os.X_OK, dir_fd=folder):
                refused = "not_writable", "nothing may be written in its folder"
    except OSError as error:
        refused = "not_writable", f"the file cannot be replaced: {error.strerror or error}"
    if refused is not None:
        return Unsafe(path, *refused)
    new = stamped(data, note_id)
    if new is None:
        return Unsafe(path, "frontmatter", "the frontmatter cannot be edited safely")
    if new == data:
        return "nothing"
    if frontmatter.locate(data) is None:
        return "block"
    return "id" if len(unstamped(data)) < len(data) else "line"


def _unfit(path: str) -> Unsafe | None:
    """Files whose place or kind forbids a stamp, whatever is in them."""
    folders = [part.casefold() for part in PurePosixPath(path).parts[:-1]]
    if TEMPLATE_FOLDERS.intersection(folders):
        return Unsafe(path, "template", "templates are copied into new notes, and their id would be copied too")
    if path.casefold().endswith(canvas.SUFFIX):
        return Unsafe(path, "canvas", "a canvas is JSON, which has no frontmatter")
    return None


@dataclass(frozen=True, slots=True)
class _Spot:
    folder: int  # open descriptor
    name: str
    path: str


def _swap(spot: _Spot, expected: str, note_id: UUID, now: float, quiet_s: float) -> Stamped | Waiting | Unsafe:
    folder, name, path = spot.folder, spot.name, spot.path
    before = os.stat(name, dir_fd=folder, follow_symlinks=False)
    refused = _refused(before)
    if refused:
        return Unsafe(path, *refused)
    if abs(now - before.st_mtime) < quiet_s:  # a time far in the future is a wrong clock, not an edit
        return Waiting(path, "the file changed a moment ago")
    data = files.read_all(folder, name, before.st_size)
    if data is None or hashlib.sha256(data).hexdigest() != expected:
        return Waiting(path, "the file changed since it was read")
    new = stamped(data, note_id)
    if new is None:
        return Unsafe(path, "frontmatter", "the frontmatter cannot be edited safely")
    if new == data:
        return Stamped(path, expected, before.st_size, before.st_mtime_ns, written=False)
    mtime_ns = before.st_mtime_ns + (_SECOND_NS if len(new) == len(data) else 0)
    temp = f".kos-{note_id.hex}.tmp"
    if not files.write_beside(folder, temp, new, like=before, like_name=name, mtime_ns=mtime_ns, stale_s=_STALE_TEMP_S):
        return Waiting(path, "another process is stamping it")
    if not files.replace_if_unchanged(folder, temp, name, before):
        return Waiting(path, "the file changed while its stamp was written")
    return Stamped(path, hashlib.sha256(new).hexdigest(), len(new), mtime_ns, written=True)


def _refused(status: os.stat_result) -> tuple[str, str] | None:
    if not modes.S_ISREG(status.st_mode):
        return "not_a_file", "it is no regular file"
    if not status.st_mode & (modes.S_IWUSR | modes.S_IWGRP | modes.S_IWOTH):
        return "read_only", "the file is read-only"
    if status.st_nlink > 1:
        return "hard_link", "the file has another name (hard link), which a replacement would split off"
    return None
