"""Where meetings lie: which files may tell of one, and what the files of one meeting have in common.

Here: names. Not here: finding and opening files (listing.py), what they hold (parsing.py).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from kos_assets.writers.contract import Skipped, SourceError
from kos_assets.writers.listing import SourceFile, Wanted, is_folder_or, listed, prefixes
from kos_assets.writers.meetings.parsing import SUFFIXES

LARGEST: Final = 64 * 2**20
"""Bytes of one file; the vault's notes and this writer's memory are bounded by it."""

_PART = re.compile(
    r"(?i)[._ -]{1,4}(?:transcript(?:ion)?|transkript|captions?|subtitles?|cc|timeline|summary|notes?|metadata|"
    r"meeting[ _-]?notes|action[ _-]?items|zusammenfassung|notizen)\Z|"
    r"\.(?:en|de|fr|es|it|pt|nl|ja|zh|ko|ru|pl|uk|ar|he|hi|tr|sv|da|fi|nb|cs)(?:-[a-z]{2,4}){0,2}\Z"
)


def stem_of(name: str) -> str:
    """`2026-03-04 Budget - Transcript.en.vtt` is of the meeting `2026-03-04 Budget`. Never empty."""
    stem = name.rpartition(".")[0] or name
    for _ in range(3):
        shorter = _PART.sub("", stem).rstrip(" ._-")
        if not shorter or shorter == stem:
            break
        stem = shorter
    return stem


def check(mirror: str, paths: Sequence[Path]) -> None:
    """Raises SourceError for a path that is not there, or cannot hold meetings."""
    for path in paths:
        if not is_folder_or(path, _is_wanted):
            raise SourceError(
                f"Mirror {mirror}: {path} is neither a folder nor a file of meetings.",
                why=f"Files of meetings end in {', '.join(SUFFIXES)}.",
                fix="Name such a file, or the folder that holds them (path in kos.toml).",
            )


def found(paths: Sequence[Path], without: Sequence[Path]) -> Iterator[SourceFile | Skipped]:
    """Every file that may tell of a meeting; `without` are folders that the product wrote. Labels are without the root,
    so that they outlive a move of the whole."""
    wanted = Wanted(_is_wanted, without=frozenset(os.path.realpath(path) for path in without))
    return listed(paths, wanted, prefixes=prefixes(paths))


def _is_wanted(name: str) -> bool:
    return name.lower().endswith(tuple(SUFFIXES))
