"""Where tasks lie: the files below the paths of the settings, what they hold by their names, and their text.

Here: finding, opening and decoding. Not here: what the text means (the formats' modules). Below a path that was
named no link is followed; pipes and devices are never opened; what the mirrors wrote themselves is not offered again.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from kos_assets.vault import files, textcode
from kos_assets.vault.stamp import TEMPLATE_FOLDERS
from kos_assets.writers.contract import Skipped, SourceError

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
_CONFLICT = re.compile(r"(?i)\.sync-conflict-|conflicted copy|_conflict-\d{8}-")
_UTF32: Final = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}
_LIKELY: Final = (
    "cp1252", "cp1251", "cp1250", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874", "koi8_r",
    "cp932", "euc_jp", "gb18030", "big5", "euc_kr",
)  # fmt: skip
"""What Windows and older Unix programs write; without the rest, whose letters differ in a few places only."""

_LEFT_OUT_FOLDERS: Final = frozenset(("node_modules",))
_DEEPEST: Final = 64
_MOST_FILES: Final = 500_000
_SAMPLE: Final = 64 * 1024
_RIGHTS: Final = "give this user the right to read it"
_NAMED: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class Place:
    """A file with tasks. `label` is its path in the mirror's source: the part of its identity that outlives a move of
    the whole source. `template`: it lies in a folder of templates."""

    root: Path
    inner: str
    label: str
    form: Form
    size: int
    mtime_ns: int
    mode: int
    template: bool = False
    named: bool = False

    @property
    def folder(self) -> str:
        """The folder of the label; empty at the top."""
        return self.label.rpartition("/")[0]

    @property
    def stem(self) -> str:
        """The file's name without what its kind is known by."""
        return self.label.rpartition("/")[2].rpartition(".")[0]


@dataclass(frozen=True)
class Text:
    """A file's text with LF line ends; `encoding` where it was not UTF-8."""

    text: str
    encoding: str


def check(mirror: str, paths: Sequence[Path]) -> None:
    """Raises SourceError for a path that is not there, or cannot hold tasks."""
    for path in paths:
        mode = _status(path).st_mode
        if not (stat.S_ISDIR(mode) or (stat.S_ISREG(mode) and _form(path.name, named=True) is not None)):
            raise SourceError(
                f"Mirror {mirror}: {path} is neither a folder nor a file of tasks.",
                why="Files of tasks end in .txt, .md, .ics, .json or .jsonl.",
                fix="Name such a file, or the folder that holds them (path in kos.toml).",
            )


def found(paths: Sequence[Path], without: Sequence[Path]) -> Iterator[Place | Skipped]:
    """Every file that may hold tasks, each once, in order; Skipped for what may not be opened.

    `without` are folders that are passed over (what the product wrote). Raises SourceError where a path cannot be read.
    """
    hidden = frozenset(os.path.realpath(path) for path in without)
    seen: set[tuple[int, int]] = set()
    for path, prefix in _prefixes(paths):
        status = _status(path)
        if stat.S_ISDIR(status.st_mode):
            yield from _Walk(path, prefix, hidden, seen).entries()
        elif (form := _form(path.name, named=True)) is not None and (status.st_dev, status.st_ino) not in seen:
            seen.add((status.st_dev, status.st_ino))
            label = shown(prefix + path.name)
            yield Place(path, "", label, form, status.st_size, status.st_mtime_ns, status.st_mode, named=True)


def unit_name(label: str) -> str:
    """The list that a todo.txt belongs to: its archive (`done.txt`, `work.done.txt`) belongs to the open one's."""
    folder, slash, name = label.rpartition("/")
    return f"{folder}{slash}{_DONE.sub('todo', name)}"


def shown(path: str) -> str:
    """A path that can be printed and compared, whatever bytes and forms its names are made of."""
    return unicodedata.normalize("NFC", path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))


def read(place: Place, origin: str) -> Text | Skipped:
    """The file's text, or why there is none. A file that changes meanwhile is read once more."""

    def skipped(code: str, reason: str, fix: str) -> Skipped:
        return Skipped(place.label, code, reason, fix, origin)

    largest = _LARGEST[place.form]
    try:
        for _ in range(2):
            data = _bytes(place, largest)
            if data is not None:
                break
        else:
            return skipped("changed_while_read", "the file keeps changing while it is read", "run the mirror again")
    except OSError as error:
        return skipped("unreadable", f"the file cannot be read: {error.strerror or error}", _RIGHTS)
    if len(data) > largest:
        reason = f"the file has more than {largest // 2**20} MiB"
        return skipped("too_large", reason, "split it, or move what is done long ago to another file")
    return _decoded(data) or skipped("binary", "the file is no text", "remove it from there")


def _decoded(data: bytes) -> Text | None:
    for mark, name in _UTF32.items():
        if data.startswith(mark):
            return Text(textcode.normal_newlines(data.decode(name, "replace")), name)
    if textcode.is_binary(data):
        return None
    clean = textcode.to_utf8(data)
    codes = {problem.code for problem in clean.problems}
    name = "utf-16" if "utf16" in codes else ""
    text = clean.data.decode("utf-8", "replace").removeprefix("\ufeff")
    if "not_utf8" in codes:
        name = _guess(data)
        text = data.decode(name, "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    return Text(textcode.normal_newlines(text), name)


def _guess(data: bytes) -> str:
    """The likeliest encoding of what is not UTF-8, from its lines that are not ASCII; Windows-1252 where none is."""
    from charset_normalizer import from_bytes

    odd = b"\n".join(line for line in data[: 16 * _SAMPLE].split(b"\n") if not line.isascii())[:_SAMPLE]
    best = from_bytes(odd, cp_isolation=list(_LIKELY)).best() if odd else None
    try:
        return codecs.lookup(best.encoding).name if best is not None else "cp1252"
    except LookupError:
        return "cp1252"


def _bytes(place: Place, largest: int) -> bytes | None:
    """None: it changed while it was read. Raises OSError, also for what is no regular file any more."""
    if place.inner:
        with files.parent_of(place.root, place.inner) as (folder, name):
            descriptor = files.open_file(folder, name)
    else:
        descriptor = os.open(place.root, _NAMED)
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise OSError("it is no regular file")
        data = files.read_descriptor(descriptor, min(before.st_size, largest), largest)
        whole = len(data) == before.st_size or len(data) > largest
        return data if whole and files.same(before, os.fstat(descriptor)) else None
    finally:
        os.close(descriptor)


def _status(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except (OSError, ValueError) as error:
        raise SourceError(
            f"{path} cannot be read.",
            why=getattr(error, "strerror", None) or str(error),
            fix="Put it back, mount the drive that it is on, or change path in kos.toml.",
        ) from error


def _form(name: str, *, named: bool) -> Form | None:
    """What a file holds, by its name. A .txt counts in a folder only when it is called todo or done."""
    if name.startswith((".", "~$")):
        return None
    if name.lower().endswith(".txt"):
        return "todo.txt" if named or _TODO_TXT.fullmatch(name) else None
    return _FORMS.get(os.path.splitext(name)[1].lower())  # noqa: PTH122 - a name, not a path


def _prefixes(paths: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Each path with what its labels begin with: nothing for those of the first folder, else their folder's name,
    longer where that is taken. A path that is added behind the others changes none of them."""
    names: dict[Path, str] = {}
    for path in dict.fromkeys(paths):
        base = path.absolute() if path.is_dir() else path.absolute().parent
        if base not in names:
            parts = base.parts[1:] or ("root",)
            longer = ("/".join(parts[-count:]) + "/" for count in range(1, len(parts) + 1))
            taken = set(names.values())
            names[base] = next((name for name in longer if name not in taken), f"{len(names)}/") if names else ""
        yield path, names[base]


class _Walk:
    """One folder, depth first, each folder's files before its folders, by name; hidden ones are passed over."""

    def __init__(self, root: Path, prefix: str, without: frozenset[str], seen: set[tuple[int, int]]) -> None:
        self.root, self.prefix, self.without, self.seen = root, prefix, without, seen
        self.real = os.path.realpath(root)
        self.count = 0

    def entries(self) -> Iterator[Place | Skipped]:
        waiting = [("", False)]
        while waiting:
            inner, template = waiting.pop()
            try:
                with os.scandir(self.root / inner) as listed:
                    entries = sorted(listed, key=lambda entry: entry.name)
            except OSError as error:
                why = error.strerror or str(error)
                if not inner:
                    raise SourceError(f"{self.root} cannot be read.", why=why, fix=_RIGHTS) from error
                yield Skipped(shown(inner), "folder_unreadable", f"the folder cannot be listed: {why}", _RIGHTS)
                continue
            folders: list[tuple[str, bool]] = []
            for entry in entries:
                path = f"{inner}/{entry.name}" if inner else entry.name
                if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
                    below = template or entry.name.casefold() in TEMPLATE_FOLDERS
                    folders += [(path, below)] if self._is_ours(entry.name, path) else []
                elif (form := _form(entry.name, named=False)) is not None:
                    yield from self._file(entry, path, form, template)
            for path, below in reversed(folders):
                if path.count("/") >= _DEEPEST:
                    yield Skipped(shown(path), "too_deep", f"the folder lies {_DEEPEST} levels down", "move it up")
                else:
                    waiting.append((path, below))

    def _is_ours(self, name: str, path: str) -> bool:
        return name not in _LEFT_OUT_FOLDERS and f"{self.real}/{path}" not in self.without

    def _file(self, entry: os.DirEntry[str], path: str, form: Form, template: bool) -> Iterator[Place | Skipped]:
        label = shown(self.prefix + path)
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError as error:
            yield Skipped(label, "unreadable", error.strerror or str(error), _RIGHTS, label)
            return
        if stat.S_ISLNK(status.st_mode):
            reason = "links are not followed"
            yield Skipped(label, "link", reason, "name the file or its folder in path", label, counts=False)
        elif not stat.S_ISREG(status.st_mode):
            yield Skipped(label, "not_a_file", "it is a pipe, socket or device", "remove it from there", label)
        elif _CONFLICT.search(entry.name):
            reason = "it is a conflict copy, left by a synchronisation"
            yield Skipped(label, "sync_conflict", reason, "merge it into its original and delete it", label)
        elif (status.st_dev, status.st_ino) not in self.seen:
            self.seen.add((status.st_dev, status.st_ino))
            self.count += 1
            if self.count > _MOST_FILES:
                raise SourceError(f"{self.root} holds more than {_MOST_FILES:,} files.", fix="Name a smaller folder.")
            yield Place(self.root, path, label, form, status.st_size, status.st_mtime_ns, status.st_mode, template)
