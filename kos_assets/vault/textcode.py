"""From bytes to text: encodings, line endings, NUL bytes, binary content (V4).

Here: deciding how a file's bytes are read. Not here: what the text means.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from kos_assets.vault.problems import Problem

_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")
_SAMPLE = 64 * 1024
_BINARY_SHARE = 0.05  # of control bytes in the sample; text has none, PNG and zip data have about 0.1
_UTF16 = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_BINARY_HEADS = (
    b"\x89PNG",
    b"%PDF-",
    b"PK\x03\x04",
    b"\x7fELF",
    b"GIF8",
    b"\xff\xd8\xff",
    b"\x1f\x8b",
    b"SQLite format 3\0",
)


@dataclass(frozen=True, slots=True)
class Utf8:
    """A file's content as clean UTF-8 (a leading BOM kept, NULs replaced), and what had to be done for that."""

    data: bytes
    problems: tuple[Problem, ...]


def is_binary(data: bytes) -> bool:
    """Whether the bytes are not text: a known file signature, or many control bytes without a UTF-16 mark."""
    if data.startswith(_BINARY_HEADS):
        return True
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return False
    sample = data[:_SAMPLE]
    return len(_CONTROL.findall(sample)) > max(8, len(sample) * _BINARY_SHARE)


def to_utf8(data: bytes) -> Utf8:
    """The same text in UTF-8. Order: UTF-8 (with or without BOM), UTF-16 with BOM, else Windows-1252 with a problem."""
    problems: list[Problem] = []
    for mark, name in _UTF16:
        if data.startswith(mark):
            data = data[len(mark) :].decode(name, errors="replace").encode()
            problems.append(
                Problem("utf16", None, "the file is UTF-16; it was read, but cannot be stamped", "save it as UTF-8")
            )
            break
    else:
        try:
            data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            data = data.decode("cp1252", errors="replace").encode()
            reason = "the file is not UTF-8; it was read as Windows-1252, so some characters may be wrong"
            problems.append(Problem("not_utf8", line, reason, "save it as UTF-8"))
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        data = data.replace(b"\0", "\ufffd".encode())
        problems.append(Problem("nul_byte", line, "the text holds NUL bytes; they were replaced", "delete them"))
    return Utf8(data, tuple(problems))


def normal_newlines(text: str) -> str:
    """The text with CRLF and CR turned into LF."""
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n")
