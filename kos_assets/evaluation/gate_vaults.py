"""What the gate would do to a vault's own notes, each written as a statement beside the others: a test of the guard on
text that nobody wrote for it. No database.

Here: notes to vectors, pairs within the distance, verdicts. Not here: labelled pairs (gate_pairs.py), printing.
"""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from kos_assets.domain.indexing import memory_text, text_hash
from kos_assets.domain.lookalike import Wording, difference
from kos_assets.errors import InputError
from kos_assets.inference.embedding import Embedder
from kos_assets.ingest.reports import Progress
from kos_assets.vault.note import ParsedNote, parse_note
from kos_assets.vault.scan import read, walk

_BLOCK: Final = 512
_BATCH: Final = 64
_LINES: Final = 6
_UTC: Final = ZoneInfo("UTC")


@dataclass(frozen=True)
class Supersede:
    """Two notes of which the guard would let the second retire the first; `lines` are those that differ."""

    old: str
    new: str
    distance: float
    lines: tuple[str, ...]


@dataclass
class Trial:
    """The pairs of distinct notes within the distance, and what became of them."""

    name: str
    notes: int
    within: int = 0
    vetoes: Counter[str] = field(default_factory=Counter)
    supersedes: list[Supersede] = field(default_factory=list)


class VectorFile:
    """Vectors by text hash, kept in a file that the person named, so that a second trial embeds nothing."""

    def __init__(self, path: Path | None, embedder: Embedder) -> None:
        self._path, self._embedder = path, embedder
        self._known: dict[str, NDArray[np.float32]] = {}
        if path is not None and path.exists():
            with np.load(path, allow_pickle=False) as stored:
                self._known = dict(zip(stored["names"].tolist(), stored["vectors"], strict=True))

    def of(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """Vectors of texts, shape (n, dims); what is missing is embedded and kept."""
        names = [f"{self._embedder.identity.model_id} {text_hash(text)}" for text in texts]
        missing = {name: text for name, text in zip(names, texts, strict=True) if name not in self._known}
        items = list(missing.items())
        for start in range(0, len(items), _BATCH):
            part = items[start : start + _BATCH]
            vectors = self._embedder.embed_documents([text for _, text in part])
            self._known.update((name, vector) for (name, _), vector in zip(part, vectors, strict=True))
            if progress:
                progress("vectors", start + len(part), len(items))
        if items and self._path is not None:
            with self._path.open("wb") as target:
                np.savez(target, names=np.array(list(self._known)), vectors=np.stack(list(self._known.values())))
        return np.stack([self._known[name] for name in names]) if names else np.zeros((0, 0), dtype=np.float32)


def try_vault(root: Path, vectors: VectorFile, distance: float, *, progress: Progress | None = None) -> Trial:
    """Every pair of notes with distinct bodies within the distance, and whether the guard lets one retire the other.

    Type, day and provenance are left out: they would only veto more. Raises VaultError.
    """
    notes = [note for note in _notes(root) if note.body_hash is not None]
    trial = Trial(root.name, len(notes))
    found = vectors.of([memory_text(note.title, note.content.strip("\n")) for note in notes], progress)
    for first, second, apart in _near(found, distance):
        old, new = notes[first], notes[second]
        if old.body_hash == new.body_hash:
            continue
        trial.within += 1
        _judge(trial, (old.path, old), (new.path, new), apart)
    return trial


def try_revisions(path: Path, vectors: VectorFile, distance: float, *, progress: Progress | None = None) -> Trial:
    """Pairs of revisions of one file, from a JSON list of {file, old, new}: those within the distance. InputError."""
    try:
        rows = json.loads(path.read_text("utf-8"))
        parsed = [(row["file"], _parsed(row["file"], row["old"]), _parsed(row["file"], row["new"])) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is no list of revisions.", why=str(error)) from error
    pairs = [(name, old, new) for name, old, new in parsed if old and new and old.body_hash != new.body_hash]
    trial = Trial(path.name, len(pairs))
    notes = [note for _, old, new in pairs for note in (old, new)]
    found = vectors.of([memory_text(note.title, note.content.strip("\n")) for note in notes], progress)
    for number, (name, old, new) in enumerate(pairs):
        apart = 1 - float(found[2 * number] @ found[2 * number + 1])
        if apart < distance:
            trial.within += 1
            _judge(trial, (f"{name} (older)", old), (f"{name} (newer)", new), apart)
    return trial


def _judge(trial: Trial, old: tuple[str, ParsedNote], new: tuple[str, ParsedNote], apart: float) -> None:
    before, after = old[1].content.strip("\n"), new[1].content.strip("\n")
    code = difference(Wording(new[1].title, after), Wording(old[1].title, before))
    if code is not None:
        trial.vetoes[code] += 1
        return
    lines = difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm="", n=0)
    shown = tuple(line for line in lines if line[:2] not in ("--", "++", "@@"))[:_LINES]
    trial.supersedes.append(Supersede(old[0], new[0], round(apart, 4), shown))


def _near(vectors: NDArray[np.float32], distance: float) -> Iterator[tuple[int, int, float]]:
    """Pairs (i < j) nearer than a distance, exactly, a block of rows at a time."""
    for start in range(0, len(vectors), _BLOCK):
        apart = 1 - vectors[start : start + _BLOCK] @ vectors.T
        for row, column in zip(*np.nonzero(apart < distance), strict=True):
            if start + row < column:
                yield start + int(row), int(column), float(apart[row, column])


def _notes(root: Path) -> Iterator[ParsedNote]:
    files, _ = walk(root)
    for stat in files:
        data = read(root, stat)
        note = parse_note(stat.path, data, zone=_UTC) if isinstance(data, bytes) else None
        if isinstance(note, ParsedNote):
            yield note


def _parsed(path: str, text: str) -> ParsedNote | None:
    note = parse_note(path, text.encode(), zone=_UTC)
    return note if isinstance(note, ParsedNote) else None
