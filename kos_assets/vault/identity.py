"""Which note a file is: the same one after edits, moves and renames, never two files the same one (V2).

Here: pure decisions over what the index knew and what stands now. Not here: reading or stamping files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID, uuid5

from kos_assets.domain.vocabulary import KOS_NAMESPACE

Reason = Literal["known", "stamped", "sidecar", "moved", "copied", "minted"]
Rank = Callable[[Sequence[str]], Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Known:
    """What the index holds for a path before this scan."""

    path: str
    note_id: UUID
    content_hash: str | None


@dataclass(frozen=True, slots=True)
class Seen:
    """A file that stands now. One that could not be read this time stands too: it has neither stamp nor hash."""

    path: str
    kos_id: UUID | None
    content_hash: str | None


@dataclass(frozen=True, slots=True)
class Assignment:
    """The id of a file and why. `restamp`: the file carries another note's id, which must be replaced."""

    path: str
    note_id: UUID
    reason: Reason
    restamp: bool


def mint(source: str, path: str, taken: Container[UUID]) -> UUID:
    """The id of a new note: uuid5 of source and path, with #2, #3, ... when `taken` holds it (a note moved away)."""
    name = f"{source}:{path}"
    candidate, number = uuid5(KOS_NAMESPACE, name), 1
    while candidate in taken:
        number += 1
        candidate = uuid5(KOS_NAMESPACE, f"{name}#{number}")
    return candidate


def assign(
    known: Mapping[str, Known],
    seen: Sequence[Seen],
    sidecar: Mapping[str, UUID],
    source: str,
    rank: Rank | None,
) -> list[Assignment]:
    """One id for each file of `seen` (one entry per path), sorted by path; no id twice, whatever the order of `seen`.

    `known` is by path, the whole vault before this scan; `seen` is every file that stands, unchanged ones too.
    A stamp that one file carries decides. Of several files with one stamp, the path that the index (else the sidecar)
    has for that id keeps it, else the earliest by `rank` (called at most once, only then), else the smallest path; the
    others are copies. A file without a usable stamp has its path's id from the index, else from the sidecar, else the
    id of a vanished path with the same content if there is just one such pair, else a new one.
    """
    files = {file.path: file for file in seen}
    pool = _Pool(known, files, sidecar)
    losers = pool.stamps(rank)
    rest = [path for path in sorted(files) if path not in pool.given]
    for path in rest:
        if path in known:
            pool.give(path, known[path].note_id, "known", path in losers)
    for path in rest:
        if path in sidecar:
            pool.give(path, sidecar[path], "sidecar", path in losers)
    pool.moves([path for path in rest if path not in losers])
    pool.taken.update(entry.note_id for entry in known.values())
    pool.taken.update(sidecar.values())
    for path in rest:
        if path not in pool.given:
            copied = path in losers
            pool.give(path, mint(source, path, pool.taken), "copied" if copied else "minted", copied)
    return [pool.given[path] for path in sorted(files)]


class _Pool:
    """Ids given so far: each at most once."""

    def __init__(self, known: Mapping[str, Known], files: Mapping[str, Seen], sidecar: Mapping[str, UUID]) -> None:
        self.known = known
        self.files = files
        self.sidecar = sidecar
        self.given: dict[str, Assignment] = {}
        self.taken: set[UUID] = set()

    def give(self, path: str, note_id: UUID, reason: Reason, restamp: bool) -> None:
        if path in self.given or note_id in self.taken:
            return
        self.given[path] = Assignment(path, note_id, reason, restamp)
        self.taken.add(note_id)

    def stamps(self, rank: Rank | None) -> set[str]:
        """Give every stamped id to one file; returns the paths that carry an id and may not keep it."""
        claims: dict[UUID, list[str]] = defaultdict(list)
        for path in sorted(self.files):
            note_id = self._claim(self.files[path])
            if note_id is not None:
                claims[note_id].append(path)
        settled = {note_id: self._recorded(note_id, paths) for note_id, paths in claims.items()}
        open_paths = [path for note_id, paths in claims.items() if settled[note_id] is None for path in paths]
        times = rank(sorted(open_paths)) if rank is not None and open_paths else {}
        former = {self.known[path].note_id: path for path in sorted(self.known)}
        losers: set[str] = set()
        for note_id, paths in claims.items():
            owner = settled[note_id] or min(paths, key=lambda path: (times.get(path, float("inf")), path))
            losers.update(path for path in paths if path != owner)
            self.give(owner, note_id, self._stamp_reason(owner, former.get(note_id)), restamp=False)
        return losers

    def _claim(self, file: Seen) -> UUID | None:
        """The stamp; for a file that could not be read, the id on record, so that a copy cannot take it meanwhile."""
        if file.kos_id is None and file.content_hash is None and file.path in self.known:
            return self.known[file.path].note_id
        return file.kos_id

    def _recorded(self, note_id: UUID, paths: list[str]) -> str | None:
        """The owner that needs no comparing: the only one, or the one on record."""
        if len(paths) == 1:
            return paths[0]
        for path in paths:
            if path in self.known and self.known[path].note_id == note_id:
                return path
        return next((path for path in paths if self.sidecar.get(path) == note_id), None)

    def _stamp_reason(self, path: str, former: str | None) -> Reason:
        if former == path:
            return "known"
        return "moved" if former is not None and former not in self.files else "stamped"

    def moves(self, paths: Iterable[str]) -> None:
        """Give ids of vanished paths to new files with the same content: by content alone, else content and name."""
        gone = [
            (entry.content_hash, path)
            for path, entry in self.known.items()
            if path not in self.files and entry.note_id not in self.taken and entry.content_hash is not None
        ]
        new = [(self.files[path].content_hash, path) for path in paths if path not in self.given]
        for with_name in (False, True):
            left, right = _grouped(gone, with_name), _grouped(new, with_name)
            for key, sources in left.items():
                targets = right.get(key, [])
                if len(sources) == 1 and len(targets) == 1:
                    self.give(targets[0], self.known[sources[0]].note_id, "moved", restamp=False)


def _grouped(pairs: Iterable[tuple[str | None, str]], with_name: bool) -> dict[tuple[str, str], list[str]]:
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for content_hash, path in pairs:
        if content_hash is not None:
            groups[content_hash, path.rpartition("/")[2] if with_name else ""].append(path)
    return groups
