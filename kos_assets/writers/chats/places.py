"""Where conversations lie: exports and session logs by their names.

Here: names, and opening as a stream. Not here: finding files (listing.py), what is in them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final, Literal

from kos_assets.writers import listing
from kos_assets.writers.contract import Skipped, SourceError
from kos_assets.writers.listing import SourceFile, Wanted

Kind = Literal["zip", "json", "jsonl"]
_KINDS: Final[dict[str, Kind]] = {".zip": "zip", ".json": "json", ".jsonl": "jsonl"}


def is_export_name(name: str) -> bool:
    """Whether a file of that name holds conversations: conversations.json, conversations-000.json, ..."""
    parts = name.replace("\\", "/").casefold().split("/")
    return parts[-1].startswith("conversations") and parts[-1].endswith(".json") and "__macosx" not in parts


def check(paths: Sequence[Path]) -> None:
    """Raises SourceError for a path that is not there or is neither a file nor a folder."""
    for path in paths:
        if not listing.is_folder_or(path, lambda name: Path(name).suffix.casefold() in _KINDS):
            raise SourceError(
                f"{path} is neither a folder nor a .zip, .json or .jsonl file.",
                fix="Name an export as it was downloaded, its folder, or the folder of the session logs.",
            )


def found(paths: Sequence[Path]) -> Iterator[SourceFile | Skipped]:
    """Every file of a kind that may hold conversations, in order of its path; Skipped for what may not be opened.

    Raises SourceError where a path itself cannot be read.
    """
    return listing.listed(paths, Wanted(_is_wanted))


def kind_of(file: SourceFile) -> Kind:
    """What the file is, by its name."""
    return _KINDS[file.suffix]


def opened(file: SourceFile) -> BinaryIO:
    """The file, open for reading. Raises OSError: also for what is no regular file any more."""
    return os.fdopen(listing.opened(file), "rb")


def _is_wanted(name: str) -> bool:
    kind = _KINDS.get(Path(name).suffix.casefold())
    return kind is not None and (kind != "json" or is_export_name(name))
