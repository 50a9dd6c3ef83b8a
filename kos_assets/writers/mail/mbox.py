"""Where the messages of a file begin and end, found in bounded memory, whatever the flavour (W3).

Here: positions in mbox and .emlx files, and reading a part of a file by lines. Not here: which files (places.py) or
what a message says. Flavours of mbox: mboxo and mboxrd (`>From ` in the text), mboxcl and mboxcl2 (Content-Length).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from kos_assets.writers.mail.dates import from_epoch, moment
from kos_assets.writers.mail.headers import fields, first

_CHUNK: Final = 1 << 20
_HEAD: Final = 1 << 14
_LONGEST_HEAD: Final = 1 << 18
_LONGEST_LINE: Final = 1 << 16
_LONGEST_MARK: Final = 500
_AHEAD: Final = 700
_BLANK = re.compile(rb"\r?\n[ \t]*\r?\n|\r\r")
_DATED = re.compile(rb"From .{0,400}\d{1,2}:\d{2}(?::\d{2})?[ \t].{0,40}\d{4}|From .{0,400}\d{4}[ \t]+\d{1,2}:\d{2}")
_PLAIN = re.compile(rb"From (?:-|[^\s@]{1,100}@[^\s@]{1,200}|MAILER-DAEMON)?[ \t]*\Z")
_HEADER = re.compile(rb">?From |[!-9;-~]{1,80}[ \t]*:")
_QUOTED = re.compile(rb">+From ")
_EMLX_SIZE = re.compile(rb"\s{0,8}(\d{1,12})[ \t]{0,40}\r?\n")
_EMLX_FLAGS = re.compile(rb"<key>flags</key>\s{0,40}<integer>(\d{1,20})</integer>")
_EMLX_DATE = re.compile(rb"<key>date-received</key>\s{0,40}<(?:real|integer)>(\d{1,12})")


@dataclass(frozen=True)
class Span:
    """A message's bytes in its file, from its first header to its end. `head` is its header block, at most 256 KB.
    `quoted`: lines that begin with `>From ` were quoted for the mailbox. `at`: when it came, by the file; `flags` are
    Apple's."""

    start: int
    end: int
    head: bytes
    quoted: bool = False
    at: datetime | None = None
    flags: int = 0


def whole(descriptor: int, size: int) -> Span:
    """A file that is one message."""
    return Span(0, size, head_of(descriptor, 0, size))


def emlx(descriptor: int, size: int) -> Span:
    """Apple Mail's: the message's length in bytes on a line of its own, the message, a property list. A wrong length is
    mended by where the property list begins."""
    counted = _EMLX_SIZE.match(os.pread(descriptor, 64, 0))
    if counted is None:
        return whole(descriptor, size)
    start, end = counted.end(), counted.end() + int(counted[1])
    tail_at = max(start, size - (1 << 16))
    tail = os.pread(descriptor, size - tail_at, tail_at)
    listed = tail.rfind(b"<?xml")
    if os.pread(descriptor, 5, end) != b"<?xml":
        end = tail_at + listed if listed >= 0 and b"<plist" in tail[listed:] else min(end, size)
    facts = tail[max(0, listed) :]
    flags, came = _EMLX_FLAGS.search(facts), _EMLX_DATE.search(facts)
    return Span(
        start,
        end,
        head_of(descriptor, start, end),
        at=from_epoch(float(came[1])) if came is not None else None,
        flags=int(flags[1]) if flags is not None else 0,
    )


def spans(descriptor: int, size: int) -> Iterator[Span]:
    """The messages of an mbox, in order. What lies before its first `From ` line is no message."""
    mark: int | None = 0 if _is_mark(descriptor, 0) else _next_mark(descriptor, 0, size)
    while mark is not None:
        line = os.pread(descriptor, _LONGEST_MARK, mark).partition(b"\n")[0]
        start = min(size, mark + len(line) + 1)
        head = head_of(descriptor, start, size)
        following, by_length = _after_length(descriptor, start, size, head)
        if not by_length:
            following = _next_mark(descriptor, start - 1, size)
        end = size if following is None else following
        yield Span(start, end, head[: end - start], quoted=True, at=_mark_date(line))
        mark = following


def head_of(descriptor: int, start: int, end: int) -> bytes:
    """The header block of a message, without the blank line after it; at most 256 KB."""
    for size in (_HEAD, _LONGEST_HEAD):
        data = os.pread(descriptor, min(size, end - start), start)
        begun = len(data) - len(data.lstrip(b"\r\n"))
        blank = _BLANK.search(data, begun)
        if blank is not None:
            return data[: blank.start()]
        if len(data) < size:
            break
    return data


def lines(descriptor: int, start: int, end: int) -> Iterator[bytes]:
    """A part of a file by lines, each with its `\\n`; a longer one comes in pieces of 64 KB, for bounded memory."""
    return split_lines(lambda at: os.pread(descriptor, min(_CHUNK, end - at), at), start)


def split_lines(read: Callable[[int], bytes], at: int = 0) -> Iterator[bytes]:
    """Lines of what `read(position)` gives, until it gives nothing. Old Macintosh files end lines with `\\r` alone."""
    rest, only_returns = b"", None
    while chunk := read(at):
        at += len(chunk)
        if only_returns is None:
            only_returns = b"\n" not in chunk[:_HEAD] and b"\r" in chunk[:_HEAD]
        if only_returns:
            chunk = chunk.replace(b"\r", b"\n")
        *complete, rest = (rest + chunk).split(b"\n")
        for line in complete:
            yield from _bounded(line + b"\n")
        while len(rest) > _LONGEST_LINE:
            yield rest[:_LONGEST_LINE]
            rest = rest[_LONGEST_LINE:]
    if rest:
        yield rest


def unquoted(line: bytes) -> bytes:
    """A line of an mbox as it was before `From ` was quoted in it (mboxo, mboxrd)."""
    return line[1:] if line[:1] == b">" and _QUOTED.match(line) else line


def _bounded(line: bytes) -> Iterator[bytes]:
    for at in range(0, len(line), _LONGEST_LINE):
        yield line[at : at + _LONGEST_LINE]


def _next_mark(descriptor: int, at: int, size: int) -> int | None:
    """Where the next `From ` line after `at` begins."""
    while at < size:
        chunk = os.pread(descriptor, _CHUNK, at)
        found = chunk.find(b"\nFrom ")
        while found >= 0:
            if _is_mark(descriptor, at + found + 1):
                return at + found + 1
            found = chunk.find(b"\nFrom ", found + 1)
        if len(chunk) < _CHUNK:
            return None
        at += len(chunk) - 5
    return None


def _is_mark(descriptor: int, at: int) -> bool:
    """Whether a message begins there: a `From ` line with a date, or with an address alone, before a header; after a
    blank line, unless there is a date and no doubt."""
    begin = max(0, at - 4)
    window = os.pread(descriptor, at - begin + _AHEAD, begin)
    before, rest = window[: at - begin], window[at - begin :]
    if at == 0:
        rest = rest.removeprefix(b"\xef\xbb\xbf")
    line, _, after = rest.partition(b"\n")
    line = line.rstrip(b"\r")
    if not line.startswith(b"From ") or len(line) > _LONGEST_MARK:
        return False
    apart = at == 0 or before.endswith((b"\n\n", b"\n\r\n")) or len(before) == before.count(b"\n") + before.count(b"\r")
    header = _HEADER.match(after) is not None
    if _DATED.match(line) is not None:
        return header or (apart and (not after.strip() or after[:1] in (b"\n", b"\r")))
    return apart and header and _PLAIN.match(line) is not None


def _after_length(descriptor: int, start: int, size: int, head: bytes) -> tuple[int | None, bool]:
    """Where the next message begins by this one's Content-Length, and whether that is true: there it begins, or the
    file ends."""
    said = first(fields(head), "content-length")
    if not said.isdigit() or len(said) > 12:
        return None, False
    gap = os.pread(descriptor, 4, start + len(head))
    blank = next((mark for mark in (b"\r\n\r\n", b"\n\n") if gap.startswith(mark)), None)
    if blank is None:
        return None, False
    end = start + len(head) + len(blank) + int(said)
    if end > size:
        return None, False
    rest = os.pread(descriptor, 8, end)
    skipped = len(rest) - len(rest.lstrip(b"\r\n"))
    if end + skipped >= size:
        return None, True
    return (end + skipped, True) if skipped <= 4 and _is_mark_after_length(descriptor, end + skipped) else (None, False)


def _is_mark_after_length(descriptor: int, at: int) -> bool:
    line = os.pread(descriptor, _LONGEST_MARK, at).partition(b"\n")[0].rstrip(b"\r")
    before = os.pread(descriptor, 1, at - 1)
    return before == b"\n" and (_DATED.match(line) is not None or _PLAIN.match(line) is not None)


def _mark_date(line: bytes) -> datetime | None:
    """The date of a `From ` line, which is in UTC where it says no zone (RFC 4155)."""
    found = re.search(rb"(?:[A-Z][a-z]{2}\s+)?[A-Z][a-z]{2}\s+\d{1,2}\s+\d{1,2}:\d{2}(?::\d{2})?\s.{0,40}\d{4}", line)
    return moment(found[0].decode("ascii", "replace"), UTC) if found is not None else None
