"""One run of a mirror: from a source's entries to files in the mirror's folder of the vault (W1, V7).

Here: which file is an item's, what is written, what is left alone, what is marked as gone. Not here: sources, the
look of a file (note.py), or the settings and the lock of a run (run.py).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from kos_assets.errors import VaultError
from kos_assets.vault import files
from kos_assets.writers.contract import Item, Skipped, Source
from kos_assets.writers.note import file_stem, folder_parts, marked_gone, note_id_of, read_mirrored, render
from kos_assets.writers.standing import Standing, read_note

Progress = Callable[[str, int, int], None]
_MASS: Final = 10
_SAMPLE: Final = 10
_KEPT_SKIPPED: Final = 1000
_EVERY: Final = 100
_OLD_S: Final = 60.0


@dataclass
class MirrorReport:
    """What one run did, in counts; `items` = written + updated + unchanged + edited. `skipped` lists what gave no note
    (at most 1,000 of them), `left_out` counts what was left out on purpose, by code. No text of an item."""

    mirror: str
    items: int = 0
    written: int = 0
    updated: int = 0
    unchanged: int = 0
    edited: int = 0
    gone: int = 0
    recalled_cut: int = 0
    same_source: bool = False
    skipped: list[Skipped] = field(default_factory=list)
    skipped_total: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    paths: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def metadata(self) -> dict[str, Any]:
        """Figures by name, ready to show: counts, and paths of up to ten notes that were written."""
        names = (
            "items",
            "written",
            "updated",
            "unchanged",
            "edited",
            "gone",
            "recalled_cut",
            "skipped_total",
            "seconds",
        )
        return {name: getattr(self, name) for name in names} | {"left_out": sum(self.left_out.values())}

    def skip(self, entry: Skipped) -> None:
        """Count something that gives no note, and keep it where it is a problem."""
        if not entry.counts:
            self.left_out[entry.code] += 1
            return
        self.skipped_total += 1
        self.codes[entry.code] += 1
        if len(self.skipped) < _KEPT_SKIPPED:
            self.skipped.append(entry)


def mirror(
    source: Source,
    vault: Path,
    *,
    name: str,
    folder: str,
    namespace: str | None,
    today: date,
    progress: Progress | None = None,
    allow_mass_gone: bool = False,
    partial: bool = False,
) -> MirrorReport:
    """Write one note per item below `vault/folder`; a file that says so already is not touched (its time stays).

    An item keeps its file wherever it lies in the folder. A file that a person changed is left alone and reported. An
    item that is gone from a complete source is marked with `gone_since`, never deleted; more than half of them at once
    (and more than ten) are not believed unless `allow_mass_gone`, nor is a source with nothing in it. `partial`: what
    is not in this source may be in another, so nothing is gone. Killed anywhere, a rerun goes on from what stands.
    Raises SourceError, VaultError.
    """
    started = time.monotonic()
    report = MirrorReport(name)
    run = _Run(vault, name, folder, namespace, report)
    run.look()
    for entry in source.entries():
        if isinstance(entry, Skipped):
            if entry.counts or entry.origin:
                run.unsure.add(entry.origin)
            report.skip(entry)
            continue
        run.take(entry)
        if progress is not None and report.items % _EVERY == 0:
            progress(name, report.items, 0)
    nothing = not (run.seen or report.skipped_total or report.left_out)
    if source.complete and nothing and not allow_mass_gone:
        reason, fix = "there is nothing in the source", "check its path, or mount the drive that it is on"
        report.skip(Skipped(folder, "empty_source", reason, fix))
    elif source.complete and not partial:
        run.mark_gone(today, allow_mass=allow_mass_gone)
    if progress is not None:
        progress(name, report.items, report.items)
    report.seconds = round(time.monotonic() - started, 3)
    return report


class _Run:
    """What was seen of the folder in this run, and what is done about each item."""

    def __init__(self, vault: Path, name: str, folder: str, namespace: str | None, report: MirrorReport) -> None:
        self.vault, self.name, self.folder, self.namespace, self.report = vault, name, folder, namespace, report
        self.standing = Standing(vault, name, folder)
        self.seen: set[UUID] = set()
        self.unsure: set[str] = set()
        self.erased: set[UUID] = set()

    def look(self) -> None:
        """Which note is where, and which ids were erased for good. What a killed run left half-written is removed."""
        files.remove_leftovers(self.vault, self.folder, older_than_s=_OLD_S)
        self.standing.look()
        self.erased = self.standing.erased()

    def take(self, item: Item) -> None:
        """One item: its file is written, brought up to date, or left as it is."""
        note_id = note_id_of(self.name, item.external_id)
        if note_id in self.seen:
            reason, fix = "its id is there twice in the source", "the first one counts; mend the source"
            self.report.skip(Skipped(item.origin or self.name, "duplicate_id", reason, fix, item.origin))
            return
        self.seen.add(note_id)
        if note_id in self.erased:
            reason = "it was erased for good (kos forget --erase)"
            self.report.skip(Skipped(item.origin or self.name, "erased", reason, "nothing needs doing", counts=False))
            return
        data, cut = render(item, mirror=self.name, namespace=self.namespace)
        self.report.recalled_cut += cut + item.recalled_cut
        path, _ = self.standing.notes.get(note_id, (None, None))
        if path is None:
            self._create(item, note_id, data)
        else:
            self._update(path, item.origin, data)

    def mark_gone(self, today: date, *, allow_mass: bool) -> None:
        """Mark what the source has no more; not what lies in a part of it that could not be read."""
        standing = self.standing.notes
        gone = [
            path
            for note_id, (path, found) in sorted(standing.items(), key=lambda entry: entry[1][0])
            if note_id not in self.seen and not found.edited and found.gone_since is None
            and not (self.unsure & {found.origin, ""})
        ]  # fmt: skip
        if not allow_mass and len(gone) > _MASS and len(gone) * 2 > len(standing):
            reason = f"{len(gone)} of {len(standing)} notes would be marked as gone"
            fix = "if the source is whole, run `kos mirror` with --allow-mass-gone"
            self.report.skip(Skipped(self.folder, "mass_gone", reason, fix))
            return
        for path in gone:
            data = read_note(self.vault, path)
            found = read_mirrored(data, self.name) if data is not None else None
            marked = marked_gone(data, today.isoformat()) if data is not None else None
            if data is None or found is None or found.edited or marked is None:
                continue  # someone is at it just now
            if self._swap(path, data, marked):
                self.report.gone += 1

    def _update(self, path: str, origin: str, data: bytes) -> None:
        """What stands there now decides, not what stood there when the run began."""
        self.report.items += 1
        before = read_note(self.vault, path)
        found = read_mirrored(before, self.name) if before is not None else None
        if before == data or (before is not None and before.replace(b"\r\n", b"\n") == data):
            self.report.unchanged += 1
        elif before is None or found is None or found.edited or not self._swap(path, before, data):
            self._leave(path, origin)
        else:
            self._told(path)
            self.report.updated += 1

    def _leave(self, path: str, origin: str) -> None:
        reason = "someone changed this note after it was mirrored, so that it is not brought up to date"
        fix = "move your own words to a note of your own and delete this file; the next run writes it anew"
        self.report.edited += 1
        self.report.skip(Skipped(path, "edited_by_hand", reason, fix, origin))

    def _create(self, item: Item, note_id: UUID, data: bytes) -> None:
        moved = self.standing.elsewhere(note_id)
        if moved is not None:
            reason = f"its note was moved out of {self.folder}, where it is not brought up to date"
            fix = f"move it back below {self.folder}, or delete it to have it written anew"
            self.report.skip(Skipped(moved, "moved_out", reason, fix, counts=False))
            return
        place, stem = "/".join([self.folder, *folder_parts(item.folder)]), file_stem(item)
        for path in (f"{place}/{stem}.md", f"{place}/{stem} {note_id.hex[:8]}.md", f"{place}/{note_id}.md"):
            if path.casefold() in self.standing.unread:
                break  # it may be this very note
            if path.casefold() not in self.standing.taken and self._new(path, data):
                self.standing.taken.add(path.casefold())
                self.report.items += 1
                self.report.written += 1
                self._told(path)
                return
        reason, fix = "its file cannot be read, or no name is free for it", f"look at {place}/{stem}.md"
        self.report.skip(Skipped(f"{place}/{stem}.md", "no_place", reason, fix, item.origin))

    def _new(self, path: str, data: bytes) -> bool:
        with _mapped(path):
            return files.create_file(self.vault, path, data)

    def _swap(self, path: str, before: bytes, data: bytes) -> bool:
        with _mapped(path):
            return files.swap_file(self.vault, path, before, data)

    def _told(self, path: str) -> None:
        if len(self.report.paths) < _SAMPLE:
            self.report.paths.append(path)


@contextmanager
def _mapped(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise VaultError(
            f"{path} cannot be written.",
            why=error.strerror or str(error),
            fix="Make room, give this user the right, or see that each part of the path is a folder (no link, no file);"
            " the next run goes on from here.",
        ) from error
