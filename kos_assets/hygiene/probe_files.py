"""Searching files for the runs of an erased text: streamed, folded, in bounded memory.

Here: which files of a folder hold a run. Not here: which folders must be clean (probe.py), what a run is
(domain/needles.py). Links are not followed; nothing is written.
"""

from __future__ import annotations

import codecs
import gzip
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, cast

from kos_assets.domain.needles import fold

_BLOCK: Final = 1 << 20
_ESCAPES: Final = 64
SAMPLES: Final = 50
"""Most paths that are kept of one place."""


@dataclass
class Tally:
    """What a walk found. `unread`: files that could not be opened, so that nothing can be said of them."""

    searched: int = 0
    hits: int = 0
    named: int = 0
    where: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def search_files(folder: Path, runs: Sequence[str], id_runs: Sequence[str], *, apart: Collection[Path] = ()) -> Tally:
    """Search every file below a folder, names included; folders in `apart` are left out. A file that is gone when its
    turn comes is no hit."""
    tally = Tally()
    for path in walk(folder, apart):
        shown = path.relative_to(folder).as_posix()
        try:
            holds, names = search_file(path, runs, id_runs, name=shown)
        except FileNotFoundError:
            continue
        except (OSError, EOFError):
            tally.unread.append(shown)
            continue
        tally.searched += 1
        tally.hits += holds
        tally.named += names
        if holds and len(tally.where) < SAMPLES:
            tally.where.append(shown)
    return tally


def walk(folder: Path, apart: Collection[Path] = ()) -> Iterator[Path]:
    """Regular files below a folder, in a fixed order."""
    left_out = {os.path.realpath(path) for path in apart}
    for found, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if os.path.realpath(Path(found, name)) not in left_out)
        for name in sorted(names):
            path = Path(found, name)
            if path.is_file() and not path.is_symlink():
                yield path


def search_file(path: Path, runs: Sequence[str], id_runs: Sequence[str], *, name: str = "") -> tuple[bool, bool]:
    """Whether a file, or its name, holds a run; whether it mentions an id. Gzip is unpacked. Raises OSError."""
    title = fold(name)
    holds, names = _any(runs, title), _any(id_runs, title)
    longest = max((len(run) for run in (*runs, *id_runs)), default=1)
    with _opened(path) as file:
        for window in _windows(file, longest):
            holds = holds or _any(runs, window)
            names = names or _any(id_runs, window)
            if holds and names:
                break
    return holds, names


def _opened(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        is_packed = file.read(2) == b"\x1f\x8b"
    return cast(IO[bytes], gzip.open(path)) if is_packed else path.open("rb")


def _windows(file: IO[bytes], longest: int) -> Iterator[str]:
    """Folded text in windows that overlap by one run, so that a run across two blocks is seen."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    held = tail = ""
    while block := file.read(_BLOCK):
        text = held + decoder.decode(block)
        bare = text.rstrip("\\")
        held = text[len(bare) :][-_ESCAPES:]  # an escape is folded with the letter that follows it
        window = tail + fold(bare)
        yield window
        tail = window[max(0, len(window) - longest + 1) :]
    yield tail + fold(held + decoder.decode(b"", final=True))


def _any(runs: Sequence[str], text: str) -> bool:
    return any(run in text for run in runs)
