"""The conversations inside a zip file, read as streams: nothing of it is written to disk.

Here: which members are read, and what is refused. Not here: what is in them (records.py).
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from typing import BinaryIO, Final

from kos_assets.writers.chats.places import is_export_name
from kos_assets.writers.chats.records import Readable
from kos_assets.writers.contract import Skipped

LARGEST_MEMBER: Final = 16_000_000_000
"""Bytes of one member, as declared and as read."""
HIGHEST_RATIO: Final = 200
"""Unpacked to packed, above 64 MB: texts come to 3 to 20; 1,000 is what a bomb of deflate reaches."""
_ALWAYS_FINE: Final = 64_000_000
LARGEST_DIRECTORY: Final = 64_000_000
_MOST_MEMBERS: Final = 2000
_METHODS: Final = frozenset((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
_END = b"PK\x05\x06"
_ZIP64 = b"PK\x06\x07"
_LOOK_BACK: Final = 22 + 65_535 + 20
_ERRORS: Final = (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError, ValueError, struct.error)


class _Bounded:
    """A member of which no more comes out than may."""

    def __init__(self, stream: Readable, limit: int) -> None:
        self._stream = stream
        self._left = limit

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(min(size, 1 << 20) if size >= 0 else 1 << 20)
        self._left -= len(data)
        if self._left < 0:
            raise zipfile.BadZipFile("more comes out than it declares")
        return data


def members(file: BinaryIO, where: str) -> Iterator[tuple[str, Readable] | Skipped]:
    """Name and stream of each member that holds conversations, by name; Skipped where one, or all, cannot be read.

    A stream is open until the next one is asked for.
    """
    try:
        if directory_size(file) > LARGEST_DIRECTORY:
            yield _refused(where, "zip_directory_too_large", "its table of contents is larger than 64 MB")
            return
        archive = zipfile.ZipFile(file)
    except _ERRORS as error:
        yield _refused(where, "broken_zip", f"it is not a whole zip file: {str(error)[:120]}")
        return
    with archive:
        found = sorted(
            (info for info in archive.infolist() if is_export_name(info.filename) and not info.is_dir()),
            key=lambda info: (info.filename, info.header_offset),
        )
        if not found:
            reason, fix = "there is no conversations.json in it", "leave only exports of chats in the folder"
            yield Skipped(where, "not_an_export", reason, fix, origin=f"zip:{where}", counts=False)
        for info in found[:_MOST_MEMBERS]:
            inner = f"{where}!{info.filename[:200]}"
            problem = _problem(info)
            if problem is not None:
                yield _refused(inner, *problem)
                continue
            try:
                member = archive.open(info)
            except _ERRORS as error:
                yield _refused(inner, "broken_zip", f"it cannot be opened: {str(error)[:120]}")
                continue
            with member:
                yield inner, _Bounded(member, info.file_size)
        if len(found) > _MOST_MEMBERS:
            yield _refused(where, "too_many_members", f"it has more than {_MOST_MEMBERS} files of conversations")


def directory_size(file: BinaryIO) -> int:
    """Bytes of the table of contents as the file's end declares them; 0 where there is no such end. Read before the
    file is opened as a zip file, since that takes the whole table into memory."""
    length = file.seek(0, 2)
    file.seek(max(0, length - _LOOK_BACK))
    tail = file.read(_LOOK_BACK)
    end = len(tail) - 22 if tail[-22:-18] == _END and tail[-2:] == b"\0\0" else tail.rfind(_END)
    if end < 0 or len(tail) < end + 22:
        return 0
    size: int = struct.unpack_from("<L", tail, end + 12)[0]
    if tail[max(0, end - 20) : max(0, end - 16)] == _ZIP64:
        file.seek(min(length, struct.unpack_from("<Q", tail, end - 12)[0]))
        record = file.read(56)
        size = max(
            size if size != 0xFFFFFFFF else 0, struct.unpack_from("<Q", record, 40)[0] if len(record) == 56 else 0
        )
    return size


def _problem(info: zipfile.ZipInfo) -> tuple[str, str] | None:
    if info.flag_bits & 0x1:
        return "encrypted_zip", "it is encrypted"
    if info.compress_type not in _METHODS:
        return "zip_method", f"it is packed by a method ({info.compress_type}) that is not read"
    if info.file_size > LARGEST_MEMBER:
        return "zip_too_large", f"it declares {info.file_size // 1_000_000:,} MB"
    if info.file_size > _ALWAYS_FINE and info.file_size > HIGHEST_RATIO * max(info.compress_size, 1):
        return "zip_bomb", f"it would unpack to {info.file_size // max(info.compress_size, 1):,} times its size"
    return None


def _refused(where: str, code: str, reason: str) -> Skipped:
    fix = "download the export again, or unpack it yourself and name the folder"
    return Skipped(where, code, reason, fix)
