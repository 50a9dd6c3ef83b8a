"""Decides that the vault's files and the index differ, and asks for an ingest run. Never works (D2, house rule 6).

A tick walks the vault (a stat per file) and digests what it saw. Only when the digest is new does it ask the index
whether a scan would find anything: after a run that stamped ids the files are new to the sensor, not to the index. A
file that was too fresh to be stamped gets one more scan when it has rested. While a run is queued or in progress
nothing is asked for and nothing forgotten: the tick after its end compares again, so a burst of saves costs one run.
A failed run is asked for again after a pause that doubles, or when the vault changes. Once a minute, but not in such a
pause, the index is asked whatever the digest says, so that a database that was lost or restored under an unchanged
vault fills again.

The cursor is a JSON object of five values; the run key carries a sequence, because a run key is unique for ever and
a vault that goes A -> B -> A must run three times.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

import dagster as dg

from kos_assets.errors import KosError
from kos_assets.jobs import ingest
from kos_assets.settings import Settings
from kos_assets.store import decisions, notes
from kos_assets.store.database import Row, Store
from kos_assets.vault import ledger, sidecar
from kos_assets.vault.problems import Unreadable
from kos_assets.vault.scan import FileStat, walk

_FIRST_PAUSE_S: Final = 60.0
_LONGEST_PAUSE_S: Final = 6 * 3600.0
_FAILURES_COUNTED: Final = 10
_LOOK_S: Final = 60.0


@dataclass(frozen=True)
class Cursor:
    """What the last tick knew: a digest of the vault; runs asked for, and when; when the index was last asked; whether
    every file had rested by then. Times in seconds since the epoch."""

    fingerprint: str = ""
    sequence: int = 0
    requested_at: float = 0.0
    looked_at: float = 0.0
    settled: bool = False

    @classmethod
    def read(cls, text: str | None) -> Cursor:
        """The cursor in `text`; a fresh one when there is none or it is another version's."""
        try:
            value = json.loads(text or "{}")
            return cls(
                str(value.get("fingerprint", "")),
                int(value.get("sequence", 0)),
                float(value.get("requested_at", 0.0)),
                float(value.get("looked_at", 0.0)),
                bool(value.get("settled", False)),
            )
        except (ValueError, TypeError, AttributeError):
            return cls()

    def write(self) -> str:
        """As JSON, under 250 characters."""
        return json.dumps(asdict(self))

    @property
    def run_key(self) -> str:
        """Unique for ever."""
        return f"vault-{self.sequence}-{self.fingerprint[:12]}"


@dataclass(frozen=True)
class Decision:
    """Ask for a run or not, why, and the cursor to keep."""

    run: bool
    reason: str
    cursor: Cursor


def fingerprint(files: Iterable[FileStat], unreadable: Iterable[Unreadable]) -> str:
    """A digest of every path, size and time, and of what could not be looked at. Both sorted by path."""
    digest = hashlib.sha256()
    for stat in files:
        digest.update(f"{stat.path}\0{stat.size}\0{stat.mtime_ns}\n".encode())
    for item in unreadable:
        digest.update(f"{item.path}\0{item.code}\n".encode())
    return digest.hexdigest()


def differences(files: Sequence[FileStat], known: Mapping[str, Row], blocked: Collection[str] = ()) -> int:
    """How many paths a scan would find new, changed or gone; `blocked` ones are known not to be in the index."""
    changed = sum(
        1
        for stat in files
        if ((row := known.get(stat.path)) is None and stat.path not in blocked)
        or (row is not None and (row["size_bytes"], row["mtime_ns"]) != (stat.size, stat.mtime_ns))
    )
    return changed + len(known.keys() - {stat.path for stat in files})


def waiting_for_stamp(known: Mapping[str, Row], *, since: float, until: float) -> int:
    """How many notes without a stamp last changed between two times (seconds): the last scan found them too fresh."""
    return sum(1 for row in known.values() if not row["stamped"] and since <= row["mtime_ns"] / 1e9 <= until)


def resting_until(files: Sequence[FileStat], quiet_s: float) -> float:
    """When the newest file will have rested, in seconds since the epoch."""
    return max((stat.mtime_ns for stat in files), default=0) / 1e9 + quiet_s


def retry_pause(failures: int) -> float:
    """Seconds to wait after this many failed runs in a row."""
    return float(min(_FIRST_PAUSE_S * 2 ** max(failures - 1, 0), _LONGEST_PAUSE_S))


@dataclass(frozen=True)
class Look:
    """What a tick sees of the vault."""

    files: Sequence[FileStat]
    fingerprint: str
    stamps: bool  # the person agreed to ids in frontmatter
    quiet_s: float


@dataclass(frozen=True)
class Index:
    """What the index says: standing notes by path (size, time, stamped), and paths that it holds back."""

    known: Mapping[str, Row]
    blocked: Collection[str] = ()


def needs_index(cursor: Cursor, look: Look, now: float) -> bool:
    """Whether the sight alone decides nothing."""
    return cursor.fingerprint != look.fingerprint or not cursor.settled or now - cursor.looked_at >= _LOOK_S


def pauses(cursor: Cursor, look: Look, now: float, *, failures: int, ended_at: float) -> bool:
    """D3: whether to ask for nothing yet: the last runs failed lately, on the very vault that is seen now.

    The index still differs after a failed run, so asking it would repeat a permanent failure at every tick.
    """
    return failures > 0 and now < ended_at + retry_pause(failures) and cursor.fingerprint == look.fingerprint


def decide(cursor: Cursor, look: Look, index: Index, now: float) -> Decision:
    """Compare the vault with the index. Pure.

    A blocked file that changed may be readable now, so a new digest counts it; the look once a minute does not.
    """
    changed = cursor.fingerprint != look.fingerprint
    rested = now >= resting_until(look.files, look.quiet_s)
    waiting = 0
    if look.stamps and rested:
        since = cursor.requested_at - look.quiet_s
        waiting = waiting_for_stamp(index.known, since=since, until=now - look.quiet_s)
    differing = differences(look.files, index.known, () if changed else index.blocked)
    seen = replace(cursor, fingerprint=look.fingerprint, settled=rested, looked_at=now)
    if not differing and not waiting:
        return Decision(False, "The index is up to date.", seen)
    reason = f"{differing} file(s) differ from the index." if differing else f"{waiting} note(s) wait for their id."
    return Decision(True, reason, replace(seen, sequence=cursor.sequence + 1, requested_at=now))


def look_at(root: Path, settings: Settings) -> Look:
    """Walk the vault, its ledger included: what other clones decided comes with it (V6).

    Raises VaultError when it is not there (never taken for "everything was deleted").
    """
    notes_and_statements, unreadable = walk(root)
    records = [FileStat(file.path, file.size, file.mtime_ns) for file in ledger.ledger_files(root)]
    files = sorted([*notes_and_statements, *records], key=lambda stat: stat.path)
    adoption = sidecar.read_adoption(root)
    stamps = adoption is not None and adoption.stamp == "frontmatter"
    return Look(files, fingerprint(files, unreadable), stamps, settings.stamp_quiet_s)


@dg.sensor(
    job=ingest,
    minimum_interval_seconds=2,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Asks for an ingest run when files of the vault differ from the index.",
)
def vault_changes(
    context: dg.SensorEvaluationContext,
    settings: dg.ResourceParam[Settings],
    store: dg.ResourceParam[Store],
) -> dg.SensorResult:
    """One tick: a look at the runs, a walk, and the index only when the walk saw something new."""
    now, cursor = time.time(), Cursor.read(context.cursor)
    busy, failures, ended_at = _runs(context.instance)
    if busy:
        return dg.SensorResult(skip_reason="An ingest run is queued or in progress.")
    try:
        look = look_at(settings.require_vault(), settings)
        if pauses(cursor, look, now, failures=failures, ended_at=ended_at):
            return dg.SensorResult(skip_reason="The last run failed; waiting before the next.")
        if failures > 0 and now >= ended_at + retry_pause(failures):
            asked = replace(cursor, fingerprint=look.fingerprint, sequence=cursor.sequence + 1, requested_at=now)
            decision = Decision(True, f"The last {failures} run(s) failed.", asked)
        elif needs_index(cursor, look, now):
            decision = decide(cursor, look, _index(store, settings), now)
        else:
            return dg.SensorResult(skip_reason="Nothing has changed.")
    except KosError as error:
        return dg.SensorResult(skip_reason=str(error))
    if not decision.run:
        return dg.SensorResult(skip_reason=decision.reason, cursor=decision.cursor.write())
    request = dg.RunRequest(run_key=decision.cursor.run_key, tags={"kos/reason": decision.reason})
    return dg.SensorResult(run_requests=[request], cursor=decision.cursor.write())


def _index(store: Store, settings: Settings) -> Index:
    with store.transaction(pipeline=True) as session:
        known = {row["path"]: row for row in notes.known(session, settings.source)}
        statements = decisions.memory_files(session).values()
        records = [
            {**row, "path": f"{ledger.LEDGER}/{machine}/{month}.jsonl"}
            for (machine, month), row in decisions.ledger_files(session).items()
        ]
        known |= {row["path"]: {**row, "stamped": True} for row in (*statements, *records)}
        held = {row["path"] for row in notes.quarantined(session) if row["severity"] == "blocked"}
    return Index(known, held)


def _runs(instance: dg.DagsterInstance) -> tuple[bool, int, float]:
    """Is an ingest run queued or in progress; how many of the last ones failed in a row; when the last one ended."""
    records = instance.get_run_records(dg.RunsFilter(job_name=ingest.name), limit=_FAILURES_COUNTED)
    unfinished = [record for record in records if not record.dagster_run.is_finished]
    failures = 0
    for record in records:
        if record.dagster_run.status != dg.DagsterRunStatus.FAILURE:
            break
        failures += 1
    return bool(unfinished), failures, max((record.end_time or 0.0 for record in records), default=0.0)
