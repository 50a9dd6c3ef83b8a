"""Checkouts of git repositories below some folders (W5).

Here: finding them, bounded and without following links. Not here: which repository each one is (identities.py), or what
is in its history (history.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kos_assets.writers.agents import capture
from kos_assets.writers.contract import Skipped

MOST_FOLDERS: Final = 50_000
MOST_CHECKOUTS: Final = 500
DEEPEST: Final = 6


@dataclass(frozen=True)
class Checkout:
    """A folder with a repository in it. `commit` is empty before the first one, or where git alone can tell it."""

    root: Path
    remote: str
    branch: str
    commit: str

    @property
    def told(self) -> bool:
        """Whether git's files say where HEAD is (a reftable does not)."""
        return bool(self.branch or self.commit)


def found(folders: Sequence[Path], *, without: Sequence[Path]) -> Iterator[Checkout | Skipped]:
    """The checkouts below `folders` (resolved), in order of their paths; none that lies in one of `without`.

    Repositories in repositories count (submodules, nested clones); hidden folders and installed dependencies are not
    searched, nor what lies more than 6 folders deep.
    """
    roots: set[str] = set()
    looked = 0
    for folder in folders:
        waiting = [(str(folder), 0)]
        while waiting:
            place, depth = waiting.pop()
            looked += 1
            if looked > MOST_FOLDERS or len(roots) >= MOST_CHECKOUTS:
                yield _too_many(folder)
                yield from (checkout_at(root) for root in sorted(roots))
                return
            if any(capture.is_inside(place, str(other)) for other in without):
                continue
            if capture.git_folder(place) is not None:
                roots.add(place)
            if depth < DEEPEST:
                waiting += [(inner, depth + 1) for inner in _folders(place)]
    yield from (checkout_at(root) for root in sorted(roots))


def checkout_at(root: str) -> Checkout:
    """What git's own files say of a checkout; git is not started."""
    facts = capture.git_facts(root)
    return Checkout(Path(root), facts["remote"], facts["branch"], facts["commit"])


def _folders(place: str) -> list[str]:
    """Folders to search inside of `place`; those that cannot be read have none."""
    try:
        with os.scandir(place) as entries:
            return sorted(
                entry.path
                for entry in entries
                if not entry.name.startswith(".")
                and entry.name not in capture.DEPENDENCIES
                and entry.is_dir(follow_symlinks=False)
            )
    except OSError:
        return []


def _too_many(folder: Path) -> Skipped:
    reason = f"more than {MOST_FOLDERS} folders or {MOST_CHECKOUTS} repositories; the search ended here"
    return Skipped(str(folder), "too_many_folders", reason, "name narrower folders in repositories", str(folder))
