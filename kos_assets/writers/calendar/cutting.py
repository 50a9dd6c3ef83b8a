"""A calendar file cut into its components by lines, so that no file has to fit into memory (W7).

Here: where components begin and end, also in broken files, and the few lines about a whole calendar. Not here: what is
in a component (event.py, zones.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final

_LONGEST_READ: Final = 1 << 16
_LONGEST_VALUE: Final = 2048
_LARGEST: Final = 1 << 21
_LONGEST_LINE: Final = 1 << 18
_LONGEST_ATTACHED: Final = 1 << 10
_ATTACHED: Final = frozenset((b"ATTACH", b"IMAGE;", b"IMAGE:"))
_DEEPEST: Final = 64
_TOP: Final = frozenset(
    (b"VEVENT", b"VTODO", b"VJOURNAL", b"VFREEBUSY", b"VTIMEZONE", b"VAVAILABILITY", b"VCALENDAR", b"VPOLL")
)
_FACTS: Final = frozenset((b"METHOD", b"NAME", b"X-WR-CALNAME"))


@dataclass(frozen=True, slots=True)
class Piece:
    """A component of a calendar: `length` bytes at `offset`; `line` counts from 1; `calendar` counts the calendars of
    the file. `uid` is the raw value, empty where there is none. `whole`: its END was there."""

    name: str
    offset: int
    length: int
    line: int
    calendar: int
    uid: bytes
    whole: bool


@dataclass(frozen=True, slots=True)
class Fact:
    """A property of a whole calendar: METHOD, NAME or X-WR-CALNAME, with its raw value."""

    calendar: int
    name: str
    value: bytes


def pieces(stream: BinaryIO) -> Iterator[Piece | Fact]:
    """Components and facts in the order of the file, in the memory of a few lines. Raises OSError.

    A component ends at its END, at the BEGIN of another top-level one, at the END of the calendar, or at the end of
    the file. Events outside of a calendar count too.
    """
    cutter = _Cutter()
    fresh = True
    while line := stream.readline(_LONGEST_READ):
        if fresh:
            yield from cutter.line(line)
        cutter.offset += len(line)
        fresh = line.endswith(b"\n")
    yield from cutter.close(whole=False)
    yield from cutter.told()


def piece_bytes(stream: BinaryIO, piece: Piece) -> bytes | None:
    """The bytes of a component; None where they are more than 2 MB also without attachments and long lines, or where
    the file is another one by now. Raises OSError."""
    stream.seek(piece.offset)
    if piece.length <= _LARGEST:
        data = stream.read(piece.length)
        return data if len(data) == piece.length and _begins(data, piece) else None
    return _shortened(stream, piece)


def _shortened(stream: BinaryIO, piece: Piece) -> bytes | None:
    """Lines cut at 256 KB, and those of ATTACH and IMAGE, which may hold whole files, at 1 KB."""
    kept: list[bytes] = []
    left, total, room, fresh = piece.length, 0, 0, True
    while left > 0 and (line := stream.readline(min(left, _LONGEST_READ))):
        left -= len(line)
        if fresh and not line.startswith((b" ", b"\t")):
            room = _LONGEST_ATTACHED if line[:6].upper() in _ATTACHED else _LONGEST_LINE
        fresh = line.endswith(b"\n")
        if room <= 0:
            continue
        kept.append(line if len(line) < room else line[:room].rstrip(b"\r\n") + b"\n")
        room -= len(line)
        total += len(kept[-1])
        if total > _LARGEST:
            return None
    data = b"".join(kept)
    return data if _begins(data, piece) else None


def _begins(data: bytes, piece: Piece) -> bool:
    return data[: len(piece.name) + 16].upper().lstrip(b"\xef\xbb\xbf").startswith(b"BEGIN:")


@dataclass
class _Cutter:
    """What is open at a line of the file."""

    offset: int = 0
    number: int = 0
    calendar: int = 0
    name: bytes = b""
    began: int = 0
    began_line: int = 0
    uid: bytes = b""
    inner: list[bytes] = field(default_factory=list)
    fact: tuple[bytes, bytes] | None = None
    reading: str = ""

    def line(self, line: bytes) -> Iterator[Piece | Fact]:
        self.number += 1
        if line[:1] in b" \t" and line.strip():
            self._folded(line)
            return
        if not line.strip():
            return
        self.reading = ""
        yield from self.told()
        head = line[:6].upper()
        if self.number == 1 and line.startswith(b"\xef\xbb\xbf"):
            line = line[3:]
            head = line[:6].upper()
        if head == b"BEGIN:":
            yield from self._begin(line[6:].strip().upper())
        elif head[:4] == b"END:":
            yield from self._end(line[4:].strip().upper())
        elif self.name:
            if head[:4] in (b"UID:", b"UID;") and not self.inner and not self.uid:
                self.uid, self.reading = _value(line), "uid"
        else:
            name = line[:16].split(b":", 1)[0].split(b";", 1)[0].strip().upper()
            if name in _FACTS:
                self.fact, self.reading = (name, _value(line)), "fact"

    def told(self) -> Iterator[Fact]:
        """The fact that was being read, once its last folded line is there."""
        if self.fact is not None:
            yield Fact(self.calendar, self.fact[0].decode(), self.fact[1])
            self.fact = None

    def close(self, *, whole: bool, after: int = 0) -> Iterator[Piece]:
        if self.name:
            length = self.offset + after - self.began
            name = self.name.decode("ascii", "replace")
            yield Piece(name, self.began, length, self.began_line, self.calendar, self.uid, whole)
        self.name, self.uid, self.inner = b"", b"", []

    def _begin(self, name: bytes) -> Iterator[Piece]:
        if name in _TOP or not self.name:
            yield from self.close(whole=False)
            if name == b"VCALENDAR":
                self.calendar += 1
            else:
                self.name, self.began, self.began_line = name[:64] or b"?", self.offset, self.number
        elif len(self.inner) < _DEEPEST:
            self.inner.append(name)

    def _end(self, name: bytes) -> Iterator[Piece]:
        if self.name and name == self.name:
            yield from self.close(whole=True, after=len(name) + 4)
        elif name == b"VCALENDAR":
            yield from self.close(whole=False)
        elif self.inner and name in self.inner:
            del self.inner[self.inner.index(name) :]

    def _folded(self, line: bytes) -> None:
        more = line[1:].rstrip(b"\r\n")
        if self.reading == "uid" and len(self.uid) < _LONGEST_VALUE:
            self.uid += more
        elif self.reading == "fact" and self.fact is not None and len(self.fact[1]) < _LONGEST_VALUE:
            self.fact = (self.fact[0], self.fact[1] + more)


def _value(line: bytes) -> bytes:
    """What stands after the colon that is in no quotes."""
    quoted = False
    for place, byte in enumerate(line[:_LONGEST_VALUE]):
        if byte == 0x22:
            quoted = not quoted
        elif byte == 0x3A and not quoted:
            return line[place + 1 :].rstrip(b"\r\n")[:_LONGEST_VALUE]
    return b""
