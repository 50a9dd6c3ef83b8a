"""Where calendars lie: .ics files, and their bytes made readable line by line (W7).

Here: names, and text of bytes. Not here: finding files (listing.py), what is in them.
"""

from __future__ import annotations

import codecs
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final, cast

from kos_assets.writers import listing
from kos_assets.writers.contract import Skipped, SourceError
from kos_assets.writers.listing import SourceFile, Wanted

_ENDINGS: Final = (".ics", ".ical", ".ifb", ".icalendar")
_HEAD: Final = 1 << 16
_PART: Final = 1 << 20


def check(paths: Sequence[Path]) -> None:
    """Raises SourceError for a path that is not there or is neither a calendar file nor a folder."""
    for path in paths:
        if not listing.is_folder_or(path, _is_wanted):
            raise SourceError(
                f"{path} is neither a folder nor an .ics file.",
                why="A calendar is read from a file that ends in .ics, or from a folder of such files.",
                fix="Export the calendar as .ics, or name the folder where your calendar program keeps it.",
            )


def found(paths: Sequence[Path]) -> Iterator[SourceFile | Skipped]:
    """Every calendar file, in order of its path; Skipped for what may not be opened. Raises SourceError."""
    return listing.listed(paths, Wanted(_is_wanted))


def opened(file: SourceFile) -> BinaryIO:
    """The file as UTF-8 or single bytes with LF or CRLF, open for reading and seeking. Raises OSError: also for what
    is no regular file any more. UTF-16 and files with nothing but CR are rewritten into a temporary file."""
    stream = os.fdopen(listing.opened(file), "rb")
    head = stream.read(_HEAD)
    stream.seek(0)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _rewritten(stream, codecs.getincrementaldecoder("utf-16")("replace"))
    if b"\r" in head and b"\n" not in head:
        return _rewritten(stream, None)
    return stream


def _is_wanted(name: str) -> bool:
    return name.casefold().endswith(_ENDINGS)


def _rewritten(stream: BinaryIO, decoder: codecs.IncrementalDecoder | None) -> BinaryIO:
    copy = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 (the caller closes it)
    with stream:
        while part := stream.read(_PART):
            copy.write(
                part.replace(b"\r", b"\n") if decoder is None else decoder.decode(part).encode("utf-8", "replace")
            )
    copy.seek(0)
    return copy
