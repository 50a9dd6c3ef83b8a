"""The proof of an erasure (S11): where the erased text was looked for, and what was found.

Here: which places there are, and which of them must be clean. Not here: how one is searched (store/erasure.py for
databases, probe_files.py, git_history.py), the erasure itself. A report holds places, counts, ids, paths, never text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kos_assets.domain.needles import Fingerprint
from kos_assets.hygiene.git_history import search_history
from kos_assets.hygiene.probe_files import SAMPLES, Tally, search_files, walk
from kos_assets.settings import Settings
from kos_assets.store import erasure
from kos_assets.store.database import role_dsn
from kos_assets.store.erasure import Found, Watch
from kos_assets.vault.ledger import LEDGER


@dataclass(frozen=True)
class Place:
    """One place. `must_be_clean`: an erasure answers for it; otherwise it is listed for the person. `hits`: rows, files
    or commits with the text; `elsewhere`: rows with it that belong to other memories; `named`: mentions of an id."""

    name: str
    must_be_clean: bool
    searched: int
    unit: str
    hits: int
    elsewhere: int = 0
    named: int = 0
    where: tuple[str, ...] = ()
    note: str = ""
    fix: tuple[str, ...] = ()

    @property
    def is_dirty(self) -> bool:
        """Whether this place spoils the proof."""
        return self.must_be_clean and self.hits > 0


@dataclass(frozen=True)
class Proof:
    """All places. `telling`: whether the text had runs long enough to search for; ids were searched in any case."""

    places: tuple[Place, ...]
    telling: bool

    @property
    def clean(self) -> bool:
        """No place that must be clean has a hit, and all of them could be read."""
        return not any(place.is_dirty for place in self.places)

    @property
    def others(self) -> tuple[str, ...]:
        """Ids of other memories that hold the same words, as far as they were sampled."""
        return tuple(sorted({owner for place in self.places if place.elsewhere for owner in place.where}))

    def rows(self) -> list[tuple[str, str, str, str]]:
        """(place, what was searched, hits, what to know) for a table."""
        return [_row(place) for place in self.places]

    def as_dict(self) -> dict[str, Any]:
        """The proof as JSON-safe values."""
        return {"clean": self.clean, "telling": self.telling, "places": [asdict(place) for place in self.places]}


def probe(settings: Settings, fingerprint: Fingerprint, *, watch: Watch | None = None) -> Proof:
    """S11: search the store, Dagster's database, the data directory, the vault and git for an erased memory.

    Tables are found by the catalogue, so that new ones join by themselves. Reads as the administrator. Raises
    StoreError, StoreUnavailableError.
    """
    dsn = role_dsn(settings, "owner")
    places = [
        *_store_places(erasure.search_store(dsn, fingerprint, watch=watch)),
        *_dagster_places(settings, fingerprint, watch),
        *_data_places(settings, fingerprint, dsn),
    ]
    if settings.vault is not None:
        places += _vault_places(settings.vault, fingerprint)
        places += _git_places(settings.vault, fingerprint)
    places.append(
        Place(
            "old backups",
            False,
            0,
            "files",
            0,
            note="not searched: dumps, file-system snapshots and clones on other machines are out of reach",
            fix=("delete backups made before this erasure, then make a new one",),
        )
    )
    return Proof(tuple(places), bool(fingerprint.runs))


def _store_places(found: Sequence[Found]) -> list[Place]:
    """Tables of ours. Planner statistics hold samples of what stands: where other memories hold the same words, so may
    they."""
    shared = any(item.elsewhere for item in found)
    places = []
    for item in found:
        is_sample = item.place == "planner statistics"
        places.append(
            Place(
                name=item.place,
                must_be_clean=True,
                searched=item.searched,
                unit="columns" if is_sample else "rows",
                hits=0 if is_sample and shared else item.hits,
                elsewhere=item.hits if is_sample and shared else item.elsewhere,
                named=item.named,
                where=item.owners,
                note=f"not searched: {', '.join(item.opaque)} (bytes)" if item.opaque else "",
                fix=(f"look at {item.place}: it is no table that an erasure knows",) if item.hits else (),
            )
        )
    return places


def _dagster_places(settings: Settings, fingerprint: Fingerprint, watch: Watch | None) -> list[Place]:
    if settings.dagster_dsn is None:
        return [Place("dagster", True, 0, "rows", 0, note="there is no such database")]
    found = erasure.search_other(settings.dagster_dsn, fingerprint, watch=watch)
    if found is None:
        return [Place("dagster", True, 0, "rows", 0, note="there is no such database")]
    return [
        Place(
            name=f"dagster {item.place}",
            must_be_clean=True,
            searched=item.searched,
            unit="rows",
            hits=item.hits,
            named=item.named,
            note=f"not searched: {', '.join(item.opaque)} (bytes)" if item.opaque else "",
            fix=("delete the runs in question in Dagster's UI, then VACUUM that database",) if item.hits else (),
        )
        for item in found
    ]


def _data_places(settings: Settings, fingerprint: Fingerprint, dsn: str) -> list[Place]:
    """Files of the data directory, by its first folder. The server's own files are counted, not searched."""
    home = settings.data_dir
    if not home.is_dir():
        return []
    clusters = [path.parent for path in walk(home) if path.name == "PG_VERSION" and path.parent.parent.name != "base"]
    clusters = [path for path in clusters if not any(other in path.parents for other in clusters)]
    apart = [*clusters, *([settings.vault] if settings.vault is not None else [])]
    places = []
    for child in sorted(path for path in home.iterdir() if path.is_dir() and not path.is_symlink()):
        if child in apart:
            continue
        tally = search_files(child, fingerprint.runs, fingerprint.id_runs, apart=apart)
        places.append(_file_place(f"data directory: {child.name}/", tally, prefix=f"{child}/"))
    loose = search_files(home, fingerprint.runs, fingerprint.id_runs, apart=[p for p in home.iterdir() if p.is_dir()])
    places.append(_file_place("data directory: files", loose, prefix=f"{home}/"))
    for cluster in clusters:  # the server's log is text, and is searched like any other
        tally = search_files(cluster / "log", fingerprint.runs, fingerprint.id_runs)
        places.append(_file_place("the server's log", tally, prefix=f"{cluster / 'log'}/"))
    places.append(_server_place(dsn, clusters))
    return places


def _file_place(name: str, tally: Tally, *, prefix: str) -> Place:
    unread = tuple(f"{prefix}{path} (unreadable)" for path in tally.unread[:SAMPLES])
    where = tuple(f"{prefix}{path}" for path in tally.where)
    return Place(
        name=name,
        must_be_clean=True,
        searched=tally.searched,
        unit="files",
        hits=tally.hits + len(tally.unread),
        named=tally.named,
        where=(*where, *unread),
        note=f"{len(tally.unread)} could not be read" if tally.unread else "",
        fix=(*(f"delete {path}, or cut the lines out of it" for path in where[:5]),),
    )


def _server_place(dsn: str, clusters: Sequence[Path]) -> Place:
    """What a search of rows cannot see: freed space inside data files, and the write-ahead log."""
    files, octets = erasure.server_files(dsn)
    counted = sum(1 for cluster in clusters for _ in walk(cluster))
    return Place(
        name="Postgres data files and write-ahead log",
        must_be_clean=False,
        searched=0,
        unit="files",
        hits=0,
        note=f"{counted or 'the'} files, not searched: dead rows are vacuumed, their bytes are overwritten as space is "
        f"used again; {files} files ({octets // 1_048_576} MiB) of write-ahead log are recycled",
        fix=("at once: VACUUM FULL kos.memories, kos.notes, kos.chunks, kos.memory_history; CHECKPOINT",),
    )


def _vault_places(vault: Path, fingerprint: Fingerprint) -> list[Place]:
    """The ledger must be clean. What the person's files say is theirs, and listed."""
    ledger = search_files(vault / LEDGER, fingerprint.runs, ())
    rest = search_files(
        vault, fingerprint.runs, fingerprint.id_runs, apart=[vault / ".git", vault / LEDGER, *_nested_git(vault)]
    )
    return [
        _file_place(f"vault: {LEDGER}", ledger, prefix=f"{LEDGER}/"),
        Place(
            name="vault: files",
            must_be_clean=False,
            searched=rest.searched,
            unit="files",
            hits=rest.hits,
            named=rest.named,
            where=tuple([*rest.where, *(f"{path} (unreadable)" for path in rest.unread)][:SAMPLES]),
            note="still in the vault" if rest.hits else "",
            fix=("a file that was left in place stays erased; other files are yours to edit",) if rest.hits else (),
        ),
    ]


def _nested_git(vault: Path) -> Iterable[Path]:
    return [path for path in vault.rglob(".git") if path.is_dir()]


def _git_places(vault: Path, fingerprint: Fingerprint) -> list[Place]:
    history = search_history(vault, fingerprint.paths, fingerprint.verbatim)
    if history is None:
        return [Place("git history", False, 0, "commits", 0, note="the vault is in no git repository")]
    note = "" if history.searched else f"not searched: {history.reason}"
    return [
        Place(
            name="git history",
            must_be_clean=False,
            searched=len(fingerprint.paths) + len(fingerprint.verbatim),
            unit="questions",
            hits=len(history.commits),
            where=history.commits,
            note="git still has it" if history.commits else note,
            fix=history.commands,
        )
    ]


def _row(place: Place) -> tuple[str, str, str, str]:
    known = [place.note] if place.note else []
    if place.elsewhere:
        known.append(f"{place.elsewhere} belong to other memories: {', '.join(place.where)}")
    elif place.where and place.hits:
        known.append(", ".join(place.where[:5]))
    if place.named:
        known.append(f"{place.named} mention the id")
    if place.hits:
        known += place.fix
    hits = f"{place.hits}{' !' if place.is_dirty else ''}"
    return place.name, f"{place.searched:,} {place.unit}", hits, "\n".join(known)
