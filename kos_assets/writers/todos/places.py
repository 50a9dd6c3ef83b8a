"""Where tasks lie: which files may hold some, in what form by their names, and their text.

Here: names, and text of bytes. Not here: finding and opening files (listing.py), what the text means (the formats).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from kos_assets.vault.stamp import TEMPLATE_FOLDERS
from kos_assets.writers.contract import Skipped, SourceError
from kos_assets.writers.decoding import decoded
from kos_assets.writers.listing import SourceFile, Wanted, is_folder_or, listed, prefixes, read_whole

Form = Literal["todo.txt", "markdown", "vtodo", "taskwarrior"]

_FORMS: Final[dict[str, Form]] = {
    ".md": "markdown", ".markdown": "markdown", ".ics": "vtodo", ".ical": "vtodo", ".json": "taskwarrior",
    ".jsonl": "taskwarrior", ".ndjson": "taskwarrior",
}  # fmt: skip
_LARGEST: Final[dict[Form, int]] = {
    "todo.txt": 64 * 2**20, "markdown": 16 * 2**20, "vtodo": 128 * 2**20, "taskwarrior": 128 * 2**20,
}  # fmt: skip
_TODO_TXT = re.compile(r"(?:.*[._ -])?(todo|done)(?:[._ -].*)?\.txt", re.IGNORECASE)
_DONE = re.compile(r"(?i)(?<![^._ -])done(?=[._ -])")


@dataclass(frozen=True)
class Text:
    """A file's text with LF line ends; `encoding` where it was not UTF-8."""

    text: str
    encoding: str


def check(mirror: str, paths: Sequence[Path]) -> None:
    """Raises SourceError for a path that is not there, or cannot hold tasks."""
    for path in paths:
        if not is_folder_or(path, lambda name: _form(name, named=True) is not None):
            raise SourceError(
                f"Mirror {mirror}: {path} is neither a folder nor a file of tasks.",
                why="Files of tasks end in .txt, .md, .ics, .json or .jsonl.",
                fix="Name such a file, or the folder that holds them (path in kos.toml).",
            )


def found(paths: Sequence[Path], without: Sequence[Path]) -> Iterator[SourceFile | Skipped]:
    """Every file that may hold tasks; `without` are folders that the product wrote. Labels are without the root: the
    part of a list's identity that outlives a move of the whole source."""
    hidden = frozenset(os.path.realpath(path) for path in without)
    return listed(
        paths, Wanted(lambda name: _form(name, named=False) is not None, without=hidden), prefixes=prefixes(paths)
    )


def form_of(file: SourceFile) -> Form:
    """What the file holds, by its name."""
    return _form(file.name, named=True) or "markdown"


def stem_of(file: SourceFile) -> str:
    """The file's name without what its kind is known by."""
    return file.name.rpartition(".")[0]


def is_template(file: SourceFile) -> bool:
    """Whether it lies in a folder of templates."""
    return not TEMPLATE_FOLDERS.isdisjoint(part.casefold() for part in file.inner.split("/")[:-1])


def unit_name(label: str) -> str:
    """The list that a todo.txt belongs to: its archive (`done.txt`, `work.done.txt`) belongs to the open one's."""
    folder, slash, name = label.rpartition("/")
    return f"{folder}{slash}{_DONE.sub('todo', name)}"


def read(file: SourceFile, origin: str) -> Text | Skipped:
    """The file's text, or why there is none; what cannot be read there touches the notes of `origin`."""
    data = read_whole(file, _LARGEST[form_of(file)])
    if isinstance(data, Skipped):
        return replace(data, origin=origin)
    found = decoded(data)
    if found is None:
        return Skipped(file.label, "binary", "the file is no text", "remove it from there", origin)
    return Text(*found)


def _form(name: str, *, named: bool) -> Form | None:
    """What a file holds, by its name. A .txt counts in a folder only when it is called todo or done."""
    if name.startswith((".", "~$")):
        return None
    if name.lower().endswith(".txt"):
        return "todo.txt" if named or _TODO_TXT.fullmatch(name) else None
    return _FORMS.get(os.path.splitext(name)[1].lower())  # noqa: PTH122 - a name, not a path
