"""Step 1: the vault's files to kos.notes. A stat per file, a hash, parsing, ids, stamps, quarantine (V1-V5, V9).

One transaction holds the whole change, so a killed scan leaves nothing half done; stamps written before it are found
and kept by the next one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from kos_assets.errors import VaultError
from kos_assets.gate.ends import Ends, read_ends
from kos_assets.ingest.ledger import sync_ledger
from kos_assets.ingest.note_rows import fold_key, home_problem, note_links, note_row, recipe
from kos_assets.ingest.quarantine import problem_entry, update_quarantine
from kos_assets.ingest.reports import NotesReport, Progress
from kos_assets.ingest.trust import notes_only, refuse_mass_deletion, refuse_other_vault
from kos_assets.settings import Settings
from kos_assets.store import notes as store_notes
from kos_assets.store.database import Row, Session, Store
from kos_assets.vault import git, identity, sidecar
from kos_assets.vault.namespaces import OWNER, folder_namespace, resolve_namespace
from kos_assets.vault.note import ParsedNote, parse_note
from kos_assets.vault.problems import Unreadable
from kos_assets.vault.scan import FileStat, hidden_by, read, walk
from kos_assets.vault.stamp import Stamped, Waiting, write_stamp

_SECOND_LOOK_S = 3.0  # at most, in a scan that has nothing else to do
_LAST_SECOND = 253_370_764_800  # the year 9999; a forged commit may lie beyond what a date can say


@dataclass
class _Scan:
    """What one look at the vault found."""

    root: Path
    adoption: sidecar.Adoption | None
    ids: dict[str, UUID]
    known: dict[str, Row]
    stats: dict[str, FileStat]
    unreadable: list[Unreadable]
    parsed: dict[str, ParsedNote]
    touched: set[str]
    ends: Ends
    commits: dict[str, datetime] = field(default_factory=dict)


def sync_notes(
    store: Store,
    settings: Settings,
    *,
    now: datetime | None = None,
    progress: Progress | None = None,
    allow_mass_deletion: bool = False,
) -> NotesReport:
    """Bring kos.notes to what the vault's files say. Raises VaultError when the vault as a whole cannot be trusted.

    An unchanged vault costs one stat per file and writes nothing (V5); under other settings it is all read anew (V9).
    A file that cannot be read keeps the note that it gave before and is listed in quarantine (V1, V4).
    """
    started = time.monotonic()
    at = now or datetime.now(UTC)
    root = settings.require_vault()
    with store.exclusive("ingest:notes"):
        scan = _look(store, settings, root, progress)
        gone = _vanished(scan)
        moved_in = sum(1 for path in scan.stats if path not in scan.known)
        refuse_mass_deletion(
            root, known=len(scan.known), gone=len(gone), moved_in=moved_in, allowed=allow_mass_deletion
        )
        assignments = _assign(scan, settings)
        _read_renamed(scan, assignments, settings)
        _read_committed(scan, settings)
        stamps = _stamp(scan, assignments, settings, at)
        _read_stamped(scan, stamps, settings)
        scan.commits |= _commits(scan)
        with store.transaction(pipeline=True) as session:
            report = _write(session, scan, settings, assignments=assignments, stamps=stamps, gone=gone)
        _write_sidecar(scan, assignments, stamps)
    return replace(report, seconds=round(time.monotonic() - started, 3))


def _look(store: Store, settings: Settings, root: Path, progress: Progress | None) -> _Scan:
    found, unreadable = notes_only(*walk(root))
    adoption = sidecar.read_adoption(root)
    ids, problems = sidecar.read_ids(root)
    if problems:
        raise VaultError(
            f"{len(problems)} line(s) of the vault's id file are damaged; the first is line {problems[0].line}.",
            why="Going on would give those notes new ids.",
            fix=f"Restore {sidecar.IDS_PATH} in the vault from git or a backup, or delete the damaged lines.",
        )
    with store.transaction(pipeline=True) as session:
        installation = store_notes.installation(session)
        refuse_other_vault(installation, adoption, root)
        sync_ledger(session, root, namespace=settings.default_namespace)
        ends = read_ends(session, root)
        known = {row["path"]: row for row in store_notes.known(session, settings.source)}
        blocked = {row["path"] for row in store_notes.quarantined(session) if row["severity"] == "blocked"}
    stats = {stat.path: stat for stat in found}
    scan = _Scan(root, adoption, ids, known, stats, list(unreadable), {}, set(), ends)
    anew = installation is not None and installation["notes_recipe"] != recipe(settings)
    candidates = [stat for stat in found if anew or stat.path in blocked or _differs(known.get(stat.path), stat)]
    for number, stat in enumerate(candidates, start=1):
        _read(scan, stat, settings)
        if anew:
            scan.touched.discard(stat.path)
        if progress and (number % 100 == 0 or number == len(candidates)):
            progress("notes", number, len(candidates))
    return scan


def _differs(row: Row | None, stat: FileStat) -> bool:
    return row is None or (row["size_bytes"], row["mtime_ns"]) != (stat.size, stat.mtime_ns)


def _read(scan: _Scan, stat: FileStat, settings: Settings) -> None:
    data = read(scan.root, stat)
    note = data if isinstance(data, Unreadable) else parse_note(stat.path, data, zone=settings.zone)
    if isinstance(note, Unreadable):
        scan.unreadable.append(note)
        return
    if _is_erased(scan, note, settings):
        fix = "delete the file; git history keeps it until it is cleaned"
        scan.unreadable.append(Unreadable(stat.path, "erased", "what it holds was erased for good", fix))
        return
    row = scan.known.get(stat.path)
    if row is not None and row["file_hash"] == note.file_hash:
        scan.touched.add(stat.path)
    scan.parsed[stat.path] = note


def _is_erased(scan: _Scan, note: ParsedNote, settings: Settings) -> bool:
    """S11: a file left in place after an erasure never comes back, by its id or by its text."""
    if not scan.ends.ids and not scan.ends.hashes:
        return False
    namespace, _ = resolve_namespace(
        note.path, note.kos_namespace, settings.namespace_folders, settings.default_namespace
    )
    return scan.ends.reason(note.kos_id or scan.ids.get(note.path), namespace, fold_key(note)) == "erased"


def _read_renamed(scan: _Scan, assignments: Mapping[str, identity.Assignment], settings: Settings) -> None:
    """A file that did not change can still become another note: a copy of it came with its id stamped in."""
    for path, item in assignments.items():
        row = scan.known.get(path)
        if path not in scan.parsed and row is not None and row["note_id"] != item.note_id:
            _read(scan, scan.stats[path], settings)


def _read_committed(scan: _Scan, settings: Settings) -> None:
    """S10: a note that its file's own time dates may have been committed since, and a rebuild would date it by that."""
    waiting = [
        path
        for path, row in scan.known.items()
        if row["event_rule"] == "mtime" and path in scan.stats and path not in scan.parsed
    ]
    committed = git.tracked(scan.root, waiting, timeout_s=_SECOND_LOOK_S)
    for path, moment in git.first_commit_times(scan.root, committed, timeout_s=_SECOND_LOOK_S).items():
        if moment < _LAST_SECOND:
            _read(scan, scan.stats[path], settings)
            scan.commits[path] = datetime.fromtimestamp(moment, UTC)


def _vanished(scan: _Scan) -> list[str]:
    """Known paths where no note stands any more. What is only out of sight is not known to be gone (V4); a conflict
    copy is in plain sight and set aside for good."""
    hiding = [item for item in scan.unreadable if item.code != "sync_conflict"]
    return [path for path in scan.known if path not in scan.stats and hidden_by(path, hiding) is None]


def _assign(scan: _Scan, settings: Settings) -> dict[str, identity.Assignment]:
    known = {path: identity.Known(path, row["note_id"], row["content_hash"]) for path, row in scan.known.items()}
    blocked = {item.path for item in scan.unreadable}
    seen = []
    for path in scan.stats:
        note, row = scan.parsed.get(path), scan.known.get(path)
        if note is not None:
            seen.append(identity.Seen(path, note.kos_id, note.content_hash))
        elif path not in blocked and row is not None:
            seen.append(identity.Seen(path, row["note_id"] if row["stamped"] else None, row["content_hash"]))
        elif row is not None:
            seen.append(identity.Seen(path, None, None))
    found = identity.assign(
        known, seen, scan.ids, settings.source, lambda paths: git.first_commit_times(scan.root, paths)
    )
    return {item.path: item for item in found}


def _stamp(
    scan: _Scan, assignments: Mapping[str, identity.Assignment], settings: Settings, at: datetime
) -> dict[str, Stamped | Waiting]:
    """Write ids into files where the person agreed to it; what is not safe or not yet quiet stays in the sidecar."""
    if scan.adoption is None or scan.adoption.stamp != "frontmatter":
        return {}
    results: dict[str, Stamped | Waiting] = {}
    for path, item in assignments.items():
        note, row = scan.parsed.get(path), scan.known.get(path)
        file_hash = note.file_hash if note is not None else row["file_hash"] if row is not None else None
        stamped = note.kos_id == item.note_id if note is not None else bool(row and row["stamped"])
        if file_hash is None or (stamped and not item.restamp) or (note is not None and not note.stampable):
            continue
        result = write_stamp(scan.root, path, file_hash, item.note_id, now=at, quiet_s=settings.stamp_quiet_s)
        if isinstance(result, Stamped | Waiting):
            results[path] = result
    return results


def _read_stamped(scan: _Scan, stamps: Mapping[str, Stamped | Waiting], settings: Settings) -> None:
    """A stamp moves every line below it: what points at lines is taken from the file as it stands now."""
    for path, stamp in stamps.items():
        if isinstance(stamp, Stamped) and stamp.written:
            stat = _standing(scan.stats[path], stamp)
            data = read(scan.root, stat)
            note = data if isinstance(data, Unreadable) else parse_note(path, data, zone=settings.zone)
            if not isinstance(note, Unreadable) and note.file_hash == stamp.file_hash:
                scan.stats[path], scan.parsed[path] = stat, note
                scan.touched.discard(path)


def _commits(scan: _Scan) -> dict[str, datetime]:
    """S10: when git first saw the notes that name no date of their own; one question for all of them."""
    undated = sorted(path for path, note in scan.parsed.items() if note.event_at is None and path not in scan.commits)
    times = git.first_commit_times(scan.root, undated)
    return {path: datetime.fromtimestamp(seconds, UTC) for path, seconds in times.items() if seconds < _LAST_SECOND}


@dataclass
class _Changes:
    """What one scan has to write: whole notes with their links, facts of files alone, problems."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    touched: list[dict[str, object]] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)
    problems: list[dict[str, Any]] = field(default_factory=list)


def _changes(
    scan: _Scan,
    settings: Settings,
    assignments: Mapping[str, identity.Assignment],
    stamps: Mapping[str, Stamped | Waiting],
) -> _Changes:
    found = _Changes()
    for path, item in assignments.items():
        note, row, stamp, stat = scan.parsed.get(path), scan.known.get(path), stamps.get(path), scan.stats[path]
        if note is None:
            if isinstance(stamp, Stamped) and row is not None:
                found.touched.append(_file_facts(item.note_id, stamp, stat, row["file_hash"], stamped=True))
            continue
        namespace, wish = resolve_namespace(
            path, note.kos_namespace, settings.namespace_folders, settings.default_namespace
        )
        problems = (*note.problems, wish, home_problem(note))
        found.problems += [problem_entry(path, namespace, problem) for problem in problems if problem is not None]
        is_stamped = isinstance(stamp, Stamped) or note.kos_id == item.note_id
        facts = _file_facts(item.note_id, stamp, stat, note.file_hash, stamped=is_stamped)
        same = path in scan.touched and row is not None and row["note_id"] == item.note_id
        if same and note.event_at is not None:  # an undated note's date is the file's time, which has moved
            found.touched.append(facts)
            continue
        standing, committed = _standing(stat, stamp), scan.commits.get(path)
        found.rows.append({**note_row(note, item.note_id, namespace, standing, settings, committed=committed), **facts})
        found.links += note_links(note, item.note_id)
    return found


def _write(
    session: Session,
    scan: _Scan,
    settings: Settings,
    *,
    assignments: Mapping[str, identity.Assignment],
    stamps: Mapping[str, Stamped | Waiting],
    gone: Sequence[str],
) -> NotesReport:
    changes = _changes(scan, settings, assignments, stamps)
    rows, deleted = changes.rows, _deleted(scan, assignments, gone)
    store_notes.upsert(session, rows)
    if rows:
        store_notes.replace_links(session, [row["note_id"] for row in rows], changes.links)
    store_notes.touch(session, changes.touched)
    store_notes.mark_deleted(session, deleted)
    blocked = update_quarantine(
        session,
        scan.unreadable,
        changes.problems,
        looked_at={*scan.parsed, *gone},
        standing=scan.stats,
        namespace_of=lambda path: _namespace_of_unread(scan, settings, path),
    )
    _record(session, scan, settings)
    paths_before = {row["note_id"]: path for path, row in scan.known.items()}
    new = [row for row in rows if row["note_id"] not in paths_before]
    moved = [row for row in rows if paths_before.get(row["note_id"], row["path"]) != row["path"]]
    return NotesReport(
        files=len(scan.stats),
        read=len(scan.parsed),
        new=len(new),
        changed=len(rows) - len(new) - len(moved),
        moved=len(moved),
        deleted=len(deleted),
        stamped=sum(1 for result in stamps.values() if isinstance(result, Stamped) and result.written),
        waiting=sum(1 for result in stamps.values() if isinstance(result, Waiting)),
        blocked=blocked,
        problems=len(changes.problems),
        changed_ids=tuple(str(row["note_id"]) for row in rows[:10]),
    )


def _namespace_of_unread(scan: _Scan, settings: Settings, path: str) -> str:
    """S12: a path is told to those alone who may read its folder; what the file itself wished cannot be read now, so
    a note that was narrower before stays the owner's."""
    place = folder_namespace(path, settings.namespace_folders, settings.default_namespace)
    row = scan.known.get(path)
    return place if row is None or row["namespace"] == place else OWNER


def _deleted(scan: _Scan, assignments: Mapping[str, identity.Assignment], gone: Sequence[str]) -> list[UUID]:
    """Notes that stand nowhere: their file is gone, or another note's file was put in its place."""
    standing = {item.note_id for item in assignments.values()}
    paths = {*gone, *scan.stats}
    return [row["note_id"] for path, row in scan.known.items() if path in paths and row["note_id"] not in standing]


def _record(session: Session, scan: _Scan, settings: Settings) -> None:
    """What the store belongs to and how it was read, where that is news (V5)."""
    before = store_notes.installation(session)
    now = (scan.adoption.vault_id if scan.adoption else None, str(scan.root.resolve()))
    if before is None or (scan.adoption is not None and (before["vault_id"], before["vault_root"]) != now):
        store_notes.adopt(session, *now)
    if before is None or before["notes_recipe"] != recipe(settings):
        store_notes.set_notes_recipe(session, recipe(settings))


def _standing(stat: FileStat, stamp: Stamped | Waiting | None) -> FileStat:
    """The file as it stands now: replacing an id moves its time on by a second."""
    return FileStat(stat.path, stamp.size, stamp.mtime_ns) if isinstance(stamp, Stamped) else stat


def _file_facts(
    note_id: UUID, stamp: Stamped | Waiting | None, stat: FileStat, file_hash: str, *, stamped: bool
) -> dict[str, object]:
    """Size, time and hash of the file as it stands now, after a stamp."""
    now = _standing(stat, stamp)
    return {
        "note_id": note_id,
        "size_bytes": now.size,
        "mtime_ns": now.mtime_ns,
        "file_hash": stamp.file_hash if isinstance(stamp, Stamped) else file_hash,
        "stamped": stamped,
    }


def _write_sidecar(
    scan: _Scan, assignments: Mapping[str, identity.Assignment], stamps: Mapping[str, Stamped | Waiting]
) -> None:
    """Ids of notes that do not carry their own; a note's id leaves the sidecar when it is stamped.

    While a copy still carries the same stamp, the owner's path stays on record, or a rebuild could not tell the two.
    """
    ids: dict[str, UUID] = {}
    stamped = {path for path, result in stamps.items() if isinstance(result, Stamped)}
    contested = {
        scan.parsed[path].kos_id
        for path, item in assignments.items()
        if item.restamp and path in scan.parsed and path not in stamped
    }
    for path, item in assignments.items():
        note, row = scan.parsed.get(path), scan.known.get(path)
        carried = note.kos_id == item.note_id if note is not None else bool(row and row["stamped"])
        recorded = scan.ids.get(path) == item.note_id or item.note_id in contested
        if path not in stamped and (recorded or not carried):
            ids[path] = item.note_id
    hidden = {path: note_id for path, note_id in scan.ids.items() if path not in scan.stats}
    for path, note_id in hidden.items():
        if hidden_by(path, scan.unreadable) is not None:
            ids.setdefault(path, note_id)
    sidecar.write_ids(scan.root, ids)
