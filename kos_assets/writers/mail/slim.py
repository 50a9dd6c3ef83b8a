"""A message without what no note holds: the bytes of its attachments are counted and let go (W3).

Here: lines of a message in, a small message with the same structure out, in bounded memory and one pass. Not here: what
the parts mean (message.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from kos_assets.writers.mail.mbox import unquoted

CUT_HEADER: Final = "x-cut-here"
"""Says how many bytes an attachment had; never taken from a message itself."""
_CUT: Final = CUT_HEADER.encode()
_MOST_BYTES: Final = 4_000_000
_MOST_LINES: Final = 120_000
_MOST_STRUCTURE: Final = 8_000_000
_LONGEST_HEAD: Final = 262_144
_MOST_CONTAINERS: Final = 100
_CONTAINER = re.compile(rb"^content-type[ \t]*:\s*(?:multipart|message)/", re.IGNORECASE | re.MULTILINE)
_TYPE_NAME = re.compile(rb"^content-type(?=[ \t]*:)", re.IGNORECASE | re.MULTILINE)
_BASE64 = re.compile(rb"^content-transfer-encoding[ \t]*:\s*base64", re.IGNORECASE | re.MULTILINE)
_READ = re.compile(rb"^content-type[ \t]*:\s*(?:text/|message/|multipart/)", re.IGNORECASE | re.MULTILINE)
_ATTACHED = re.compile(rb"^content-disposition[ \t]*:\s*attachment", re.IGNORECASE | re.MULTILINE)
_OWN = re.compile(rb"^" + _CUT + rb"[ \t]*:[^\n]*\n?", re.IGNORECASE | re.MULTILINE)
_ALPHABET = re.compile(rb"[A-Za-z0-9+/= \t\r\n]*")


def slimmed(lines: Iterable[bytes], *, quoted: bool = False) -> bytes:
    """The message of some lines, with every base64 attachment's bytes cut (its size is left in a header of its own) and
    at most 4 MB of text in 120,000 lines. `quoted` undoes the `>From ` of an mbox."""
    work = _Slimming()
    for raw in lines:
        work.take(unquoted(raw) if quoted else raw)
        if work.full:
            break
    return work.end()


class _Slimming:
    """Where in the message the pass stands."""

    def __init__(self) -> None:
        self.full = False
        self._kept: list[bytes] = []
        self._size = self._lines = self._containers = self._structure = 0
        self._head: list[bytes] | None = []
        self._head_size = 0
        self._cutting: int | None = None  # where in what is kept the size belongs
        self._dropped = 0
        self._top = True

    def take(self, line: bytes) -> None:
        if self._head is not None:
            self._in_head(line)
        elif line.startswith(b"--") and len(line) > 3 and line.rstrip() != b"--":
            self._count_cut()
            self._keep(line, structure=True)
            self._head, self._head_size = [], 0
        elif self._cutting is not None and _ALPHABET.fullmatch(line) is not None:
            self._dropped += len(line.strip()) - line.rstrip().endswith(b"=") - line.rstrip().endswith(b"==")
        else:
            self._count_cut()
            self._keep(line)

    def end(self) -> bytes:
        if self._head is not None:
            self._close_head()
        self._count_cut()
        return b"".join(self._kept)

    def _in_head(self, line: bytes) -> None:
        assert self._head is not None  # noqa: S101 - for the reader and the type checker
        bare = line.strip(b" \t\r\n")
        if not bare and self._top and not self._head:
            return  # blank lines before the first header
        if not bare:
            self._close_head()
            self._keep(line, structure=True)
            return
        self._top = False
        if line.startswith(b"--"):  # the next part begins, or this was no part's beginning
            self._close_head()
            self.take(line)
            return
        self._head_size += len(line)
        if self._head_size <= _LONGEST_HEAD:
            self._head.append(line)

    def _close_head(self) -> None:
        head = _OWN.sub(b"", b"".join(self._head or ()))
        containers = len(_CONTAINER.findall(head))
        self._containers += containers
        if containers and self._containers > _MOST_CONTAINERS:
            head = _TYPE_NAME.sub(b"x-content-type", head)
        self._head, self._top = None, False
        cut = _BASE64.search(head) is not None and (_READ.search(head) is None or _ATTACHED.search(head) is not None)
        if cut and head and not head.endswith(b"\n"):
            head += b"\n"
        self._keep(head, structure=True)
        if cut:
            self._cutting, self._dropped = len(self._kept), 0
            self._kept.append(b"")

    def _count_cut(self) -> None:
        if self._cutting is not None:
            self._kept[self._cutting] = b"%s: %d\n" % (_CUT, max(0, self._dropped * 3 // 4))
            self._cutting = None

    def _keep(self, line: bytes, *, structure: bool = False) -> None:
        if structure:
            self._structure += len(line) + 1
            self.full = self._structure > _MOST_STRUCTURE
            self._kept.append(line)
        elif self._size < _MOST_BYTES and self._lines < _MOST_LINES:
            self._size += len(line)
            self._lines += 1
            self._kept.append(line)
