"""What a vault says and what is wrong with it, from the files alone (V1-V5, V9): `kos vault check` and `kos init`.

Here: walking, reading, resolving links, giving ids as a first scan would, and listing every problem. Nothing is written
and no database is asked, so ids that only an index knows are not seen. Not here: how it is shown.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal
from uuid import UUID

from kos_assets.domain.links import LinkIndex, Named
from kos_assets.vault import git, identity, memory_file, sidecar, stamp
from kos_assets.vault.markdown import Link
from kos_assets.vault.namespaces import GLOBAL, resolve_namespace
from kos_assets.vault.note import ParsedNote, parse_note
from kos_assets.vault.problems import Problem, Unreadable
from kos_assets.vault.scan import FileStat, read, walk

Severity = Literal["blocked", "problem", "notice"]
Keeps = Literal["carried", "line", "block", "id", "sidecar"]
LONGEST_PATH: Final = 2000
"""Bytes of a path that the store's indexes take (the ingest's own limit; a test compares the two)."""

_PLACEHOLDER = UUID(int=0x0123456789ABCDEF0123456789ABCDEF)
_HEAD = ("frontmatter_", "kos_id_", "utf16", "not_utf8", "nul_byte")
_NOT_SAFE = "the frontmatter cannot be edited safely"
_HARMLESS = frozenset(("symlink_folder", "symlink_file"))  # what they lead to is read at its own path
_FILE = re.compile(
    r"\.(?:avif|bmp|gif|jpe?g|png|svg|webp|flac|m4a|mp3|ogg|wav|webm|3gp|mkv|mov|mp4|ogv|pdf|docx?|xlsx?|pptx?|csv|zip"
    r"|html?|json|txt|canvas|base|excalidraw)\Z",
    re.IGNORECASE,
)
_ANY_SUFFIX = re.compile(r"\.(?!(?:md|markdown)\Z)[A-Za-z][A-Za-z0-9]{0,9}\Z", re.IGNORECASE)
_REPEATED = re.compile(r"-\d+\Z")


@dataclass(frozen=True, slots=True)
class Reading:
    """The settings that a reading depends on: zone of naive times, source in minted ids, namespaces by folder."""

    zone: dt.tzinfo = dt.UTC
    source: str = "vault"
    namespace: str = GLOBAL
    folders: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a person may act on. `blocked`: no note comes of the file; `problem`: it does, but something in
    the file does not count as it was meant; `notice`: nothing is lost. `line` is 1-based, None for the whole file."""

    path: str
    line: int | None
    severity: Severity
    code: str
    reason: str
    fix: str


@dataclass(frozen=True, slots=True)
class IdPlace:
    """Where a note's id is or will be: `carried` in the file already; the file gains a `line`, a `block`, or another
    `id` in place of its own; or it stays in the `sidecar`, with the reason."""

    path: str
    keeps: Keeps
    code: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Understood:
    """How much of what was found. `dates` are notes by the rule that dated them, `namespaces` notes by namespace;
    `tags` and `people` are distinct ones; links to a note, to another file, and to nothing that stands."""

    notes: int
    canvases: int
    statements: int
    links: int
    embeds: int
    to_notes: int
    to_files: int
    unresolved: int
    headings: int
    tags: int
    tasks_open: int
    tasks_done: int
    tasks_cancelled: int
    aliases: int
    people: int
    dates: Mapping[str, int]
    namespaces: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Checked:
    """The whole answer. `ids` has one entry per note, by path; `findings` are sorted by path and line."""

    understood: Understood
    adoption: sidecar.Adoption | None
    ids: tuple[IdPlace, ...]
    findings: tuple[Finding, ...]


@dataclass(slots=True)
class _Note:
    """What is kept of a note once it is read: not its text, so that memory grows with notes and links only."""

    path: str
    title: str
    aliases: tuple[str, ...]
    links: tuple[Link, ...]
    headings: frozenset[str]
    blocks: frozenset[str]
    kos_id: UUID | None
    content_hash: str
    place: IdPlace


class _Reader:
    """Counts while the files go by."""

    def __init__(self, root: Path, reading: Reading) -> None:
        self.root = root
        self.reading = reading
        self.notes: list[_Note] = []
        self.findings: list[Finding] = []
        self.counts: Counter[str] = Counter()
        self.dates: Counter[str] = Counter()
        self.namespaces: Counter[str] = Counter()
        self.tags: set[str] = set()
        self.people: set[str] = set()

    def file(self, stat: FileStat) -> None:
        if len(stat.path.encode()) > LONGEST_PATH:
            reason, fix = f"the path is longer than {LONGEST_PATH:,} bytes", "move it higher up, or shorten its folders"
            self.unreadable(Unreadable(stat.path, "path_too_long", reason, fix))
            return
        data = read(self.root, stat)
        if isinstance(data, Unreadable):
            self.unreadable(data)
        elif memory_file.is_reserved(stat.path):
            self._statement(stat.path, data)
        else:
            note = parse_note(stat.path, data, zone=self.reading.zone)
            if isinstance(note, Unreadable):
                self.unreadable(note)
            else:
                self._note(note, data)

    def unreadable(self, item: Unreadable) -> None:
        severity: Severity = "notice" if item.code in _HARMLESS else "blocked"
        self.findings.append(Finding(item.path, None, severity, item.code, item.reason, item.fix))

    def _problem(self, path: str, problem: Problem, severity: Severity = "problem") -> None:
        self.findings.append(Finding(path, problem.line, severity, problem.code, problem.reason, problem.fix))

    def _statement(self, path: str, data: bytes) -> None:
        """A file that only the gate writes; whether the ledger knows it is told by the ingest."""
        self.counts["statements"] += 1
        statement = memory_file.parse(path, data)
        if isinstance(statement, Problem):
            self._problem(path, statement, "blocked")

    def _note(self, note: ParsedNote, data: bytes) -> None:
        wish, folders = note.kos_namespace, self.reading.folders
        namespace, problem = resolve_namespace(note.path, wish, folders, self.reading.namespace)
        for item in (*note.problems, *([problem] if problem else [])):
            self._problem(note.path, item)
        embeds = sum(1 for link in note.links if link.kind == "embed")
        states = Counter(task.state for task in note.tasks)
        self.counts.update(
            canvases=int(note.path.casefold().endswith(".canvas")),
            embeds=embeds,
            links=len(note.links) - embeds,
            headings=len(note.headings),
            tasks_done=states["done"],
            tasks_open=states["open"],
            tasks_cancelled=states["cancelled"],
            aliases=len(note.aliases),
        )
        self.dates[note.event_rule] += 1
        self.namespaces[namespace] += 1
        self.tags.update(tag.casefold() for tag in note.tags)
        self.people.update(person.casefold() for person in note.people)
        names = frozenset(_anchor(heading.text) for heading in note.headings)
        place = _place(self.root, note, data)
        blocks = frozenset(note.blocks)
        named = (note.path, note.title, note.aliases, note.links, names, blocks)
        self.notes.append(_Note(*named, note.kos_id, note.content_hash, place))


def check(root: Path, reading: Reading | None = None, *, progress: Callable[[int, int], None] | None = None) -> Checked:
    """Read the vault at `root` as a first scan would, and write nothing. Raises VaultError when it cannot be listed or
    its own records (`.kos/ids.jsonl`, `.kos/vault.toml`) cannot be trusted. Memory grows with notes, not with text."""
    reader = _Reader(root, reading or Reading())
    found, unreadable = walk(root)
    ids, damaged = sidecar.read_ids(root)
    adoption = sidecar.read_adoption(root)
    for item in unreadable:
        reader.unreadable(item)
    for problem in damaged:
        reader.findings.append(
            Finding(sidecar.IDS_PATH, problem.line, "problem", problem.code, problem.reason, problem.fix)
        )
    for number, stat in enumerate(found, start=1):
        reader.file(stat)
        if progress is not None and (number % 100 == 0 or number == len(found)):
            progress(number, len(found))
    assigned = _assigned(reader, ids)
    to_notes, to_files, unresolved = _links(reader, assigned)
    reader.findings += _collisions([stat.path for stat in found])
    counts = reader.counts
    understood = Understood(
        notes=len(reader.notes),
        canvases=counts["canvases"],
        statements=counts["statements"],
        links=counts["links"],
        embeds=counts["embeds"],
        to_notes=to_notes,
        to_files=to_files,
        unresolved=unresolved,
        headings=counts["headings"],
        tags=len(reader.tags),
        tasks_open=counts["tasks_open"],
        tasks_done=counts["tasks_done"],
        tasks_cancelled=counts["tasks_cancelled"],
        aliases=counts["aliases"],
        people=len(reader.people),
        dates=dict(reader.dates.most_common()),
        namespaces=dict(reader.namespaces.most_common()),
    )
    places = tuple(_settled(note, assigned[note.path]) for note in reader.notes)
    order = sorted(reader.findings, key=lambda item: (item.path, item.line or 0, item.code))
    return Checked(understood, adoption, places, tuple(order))


def _place(root: Path, note: ParsedNote, data: bytes) -> IdPlace:
    """Where the id goes if stamping is agreed to, seen from this file alone."""
    gain = stamp.foresee(root, note.path, data, _PLACEHOLDER)
    if isinstance(gain, stamp.Unsafe) and gain.code != "frontmatter":
        return IdPlace(note.path, "sidecar", gain.code, gain.reason)
    if isinstance(gain, stamp.Unsafe) or not note.stampable:
        worst = next((item for item in note.problems if item.code.startswith(_HEAD)), None)
        code, reason = (worst.code, worst.reason) if worst else ("frontmatter", _NOT_SAFE)
        return IdPlace(note.path, "sidecar", code, reason)
    return IdPlace(note.path, "carried" if gain == "nothing" else gain)


def _settled(note: _Note, item: identity.Assignment) -> IdPlace:
    return IdPlace(note.path, "carried") if note.kos_id == item.note_id else note.place


def _assigned(reader: _Reader, ids: Mapping[str, UUID]) -> dict[str, identity.Assignment]:
    """The id of each path as a scan with an empty index would give it; copies become findings."""
    seen = [identity.Seen(note.path, note.kos_id, note.content_hash) for note in reader.notes]

    def rank(paths: Sequence[str]) -> Mapping[str, float]:
        return git.first_commit_times(reader.root, paths)

    found = {item.path: item for item in identity.assign({}, seen, ids, reader.reading.source, rank)}
    owners = {item.note_id: path for path, item in found.items()}
    for note in reader.notes:
        if found[note.path].restamp and note.kos_id is not None:
            reason = f"it carries the id of {owners.get(note.kos_id, 'another note')}: one is a copy of the other"
            fix = "nothing needs doing: the next scan gives it an id of its own"
            reader.findings.append(Finding(note.path, None, "notice", "id_copied", reason, fix))
    return found


def _links(reader: _Reader, assigned: Mapping[str, identity.Assignment]) -> tuple[int, int, int]:
    """Links to notes, to other files, to nothing; the last, and anchors that are not there, become findings."""
    ids = {note.path: assigned[note.path].note_id for note in reader.notes}
    index = LinkIndex(Named(ids[note.path], note.path, note.title, note.aliases) for note in reader.notes)
    noted = {ids[note.path]: note for note in reader.notes}
    counts = [0, 0, 0]
    for note in reader.notes:
        for link in note.links:
            found = index.resolve(link.target, source_path=note.path)
            if found is not None:
                counts[0] += 1
                reader.findings += _missing_anchor(note.path, link, noted[found])
            elif _FILE.search(link.target) or (link.kind != "wikilink" and _ANY_SUFFIX.search(link.target)):
                counts[1] += 1
            else:
                counts[2] += 1
                reason = f"the link to {link.target!r} leads to no note"
                fix = "write the note, or correct the name"
                reader.findings.append(Finding(note.path, link.line, "notice", "link_unresolved", reason, fix))
    return counts[0], counts[1], counts[2]


def _missing_anchor(path: str, link: Link, target: _Note) -> list[Finding]:
    """A heading or block that the link names and its note does not have."""
    where = link.target or "this note"
    if link.block is not None and link.block not in target.blocks:
        code, reason = "block_missing", f"the link's block ^{link.block} is not in {where!r}"
        return [Finding(path, link.line, "notice", code, reason, "correct it; the link leads to the note as a whole")]
    wanted = link.heading.rpartition("#")[2] if link.heading else ""
    forms = {_anchor(wanted), _anchor(_REPEATED.sub("", wanted))}
    if not _anchor(wanted) or forms & target.headings:
        return []
    code, reason = "heading_missing", f"the link's heading {wanted!r} is not in {where!r}"
    return [Finding(path, link.line, "notice", code, reason, "correct it; the link leads to the note as a whole")]


def _anchor(text: str) -> str:
    """What a heading and the links to it have in common: letters and digits, without case."""
    return "".join(char for char in text.casefold() if char.isalnum())


def _collisions(paths: Iterable[str]) -> list[Finding]:
    """Names that differ only in case or in how accents are encoded: one file on macOS and Windows, two here (V4)."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for path in paths:
        groups[unicodedata.normalize("NFC", path).casefold()].append(path)
    fix = "rename one of them"
    return [
        Finding(
            path, None, "notice", "name_collision", f"on macOS and Windows it would be the same file as {first}", fix
        )
        for first, *others in groups.values()
        for path in others
    ]
