"""`kos fire writers` (G5, V6): many processes write at once, near-twins among them; then rows, history, files, ledger
and acknowledgements must add up exactly, and a store built from the files alone must say the same.

Here: the wishes, the run, the books. Not here: what one process does (fire_child.py).
"""

from __future__ import annotations

import multiprocessing
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from kos_assets.errors import OperationError
from kos_assets.operations.fire import Ground, Line, Tell, Told, ground, torn_temporaries
from kos_assets.operations.fire_child import Wish, write_wishes
from kos_assets.settings import Settings
from kos_assets.store import audit, decisions
from kos_assets.store.database import Row, Store, role_dsn

_SAME_KEY: Final = 0.15
_SAME_TEXT: Final = 0.3
"""Of the twins: a retry under the same key, an equal statement under a key of its own; the rest correct the value."""

_READY_S: Final = 120.0
_WRITE_S: Final = 5.0
"""Seconds that one write may take on the slowest machine before the run counts as stuck."""


@dataclass(frozen=True)
class Drill:
    """How many processes, wishes, namespaces; `twins`: the share of wishes about a subject that another one names."""

    writers: int = 16
    writes: int = 2000
    twins: float = 0.3
    namespaces: int = 5
    seed: int = 0


@dataclass(frozen=True)
class WritersReport:
    """The books, and what the run cost. `seconds` from the common start to the last acknowledgement."""

    drill: Drill
    lines: Sequence[Line]
    seconds: float
    median_ms: float
    p95_ms: float
    actions: dict[str, int]
    errors: Sequence[str]

    @property
    def holds(self) -> bool:
        """Everything adds up."""
        return all(line.holds for line in self.lines)

    @property
    def per_second(self) -> float:
        """Acknowledged writes a second."""
        return sum(self.actions.values()) / self.seconds if self.seconds else 0.0


def fire_writers(settings: Settings, drill: Drill, *, tell: Tell) -> WritersReport:
    """Run the drill on a throw-away database and vault. Raises OperationError when a writer does not get ready or
    hangs."""
    with ground(settings) as field:
        wishes = make_wishes(drill)
        tell(f"{drill.writers} writers get ready")
        told, began = _run(field, drill, wishes, tell)
        tell("Counting rows, history, files and records")
        return _report(field, drill, wishes, told, began)


def make_wishes(drill: Drill) -> list[Wish]:
    """Every wish of the run, twins close behind what they resemble, so that they race; the same for the same seed."""
    dice = random.Random(drill.seed)  # noqa: S311 - the seed makes a run repeatable
    wishes: list[Wish] = []
    for number in range(drill.writes):
        if wishes and dice.random() < drill.twins:
            wishes.append(_twin(dice, number, wishes[-dice.randint(1, min(len(wishes), 2 * drill.writers))]))
        else:
            namespace = namespaces(drill)[number % drill.namespaces]
            wishes.append(Wish(number, namespace, number, dice.randrange(1000, 9999), f"key {number}"))
    return wishes


def _twin(dice: random.Random, number: int, like: Wish) -> Wish:
    kind = dice.random()
    if kind < _SAME_KEY:
        return Wish(number, like.namespace, like.subject, like.value, like.key)
    value = like.value if kind < _SAME_KEY + _SAME_TEXT else dice.randrange(1000, 9999)
    return Wish(number, like.namespace, like.subject, value, f"key {number}")


def namespaces(drill: Drill) -> list[str]:
    """`global`, and groups."""
    return ["global", *(f"shared:fire-{number}" for number in range(1, drill.namespaces))]


def _run(field: Ground, drill: Drill, wishes: Sequence[Wish], tell: Tell) -> tuple[list[dict[str, Any]], float]:
    """What all writers told, and when they started (seconds since the epoch)."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["kos_assets.operations.fire_child"])
    start = context.Event()
    files = [Told(field.root / f"writer-{number}") for number in range(drill.writers)]
    processes = [
        context.Process(target=write_wishes, args=(field.place, wishes[number :: drill.writers], file.path, start))
        for number, file in enumerate(files)
    ]
    try:
        for process in processes:
            process.start()
        _wait_until_ready(files, processes)
        tell(f"{drill.writes:,} writes")
        began = time.time()
        start.set()
        for process in processes:
            process.join(timeout=max(60.0, _WRITE_S * drill.writes - (time.time() - began)))
        if any(process.is_alive() for process in processes):
            raise OperationError("A writer hangs.", why="It did not end within 5 seconds per write of the whole run.")
    finally:
        for process in processes:
            if process.is_alive():
                process.kill()
                process.join()
    return [line for file in files for line in file.lines() if "number" in line], began


def _wait_until_ready(files: Sequence[Told], processes: Sequence[Any]) -> None:
    deadline = time.monotonic() + _READY_S
    while not all(file.lines() for file in files):
        if time.monotonic() > deadline or any(process.exitcode for process in processes):
            raise OperationError("A writer does not get ready.", why="It ended, or took longer than two minutes.")
        time.sleep(0.05)


def _report(
    field: Ground, drill: Drill, wishes: Sequence[Wish], told: Sequence[dict[str, Any]], began: float
) -> WritersReport:
    done = [line for line in told if "error" not in line]
    times = sorted(float(line["ms"]) for line in done) or [0.0]
    return WritersReport(
        drill=drill,
        lines=[*_acknowledged(wishes, told), *_stored(field, done), *_afterwards(field)],
        seconds=max((float(line["at"]) for line in done), default=began) - began,
        median_ms=times[len(times) // 2],
        p95_ms=times[int(len(times) * 0.95)],
        actions=dict(Counter(str(line["action"]) for line in done)),
        errors=[str(line["error"]) for line in told if "error" in line],
    )


def _acknowledged(wishes: Sequence[Wish], told: Sequence[dict[str, Any]]) -> list[Line]:
    """Every wish is answered once; every key gives one memory, and one write."""
    numbers = Counter(line["number"] for line in told)
    keys = {wish.number: (wish.namespace, wish.key) for wish in wishes}
    done = [line for line in told if "error" not in line]
    births = Counter(line["id"] for line in done if line["action"] != "retry")
    ids = {(keys[line["number"]], line["id"]) for line in done}
    return [
        Line("wishes answered exactly once", len(wishes), sum(numbers[wish.number] == 1 for wish in wishes)),
        Line("errors, deadlocks among them", 0, len(told) - len(done)),
        Line("memories written twice", 0, sum(count > 1 for count in births.values())),
        Line("memories, one a key", len(set(keys.values())), len(ids)),
        Line("writes that waited for the embedder", 0, sum(line["action"] == "pending" for line in done)),
    ]


def _stored(field: Ground, done: Sequence[dict[str, Any]]) -> list[Line]:
    """Rows, history, files, ledger and its index, each against what was acknowledged."""
    born = {str(line["id"]) for line in done if line["action"] in ("insert", "supersede")}
    ends = [str(line["superseded"]) for line in done if line["action"] == "supersede"]
    rows = field.rows()
    live = {memory_id for memory_id, row in rows.items() if row["retired"] is None}
    retired = {memory_id for memory_id, row in rows.items() if row["retired"] == "superseded"}
    texts = Counter((rows[key]["namespace"], rows[key]["heading"], rows[key]["content"]) for key in live)
    events = Counter(str(event["action"]) for event in _history(field, rows))
    records, damaged = field.records()
    with Store(role_dsn(field.settings, "writer")) as store, store.transaction(pipeline=True) as session:
        indexed = decisions.of_subjects(session, sorted(rows))
        waiting = decisions.unsettled(session, most=1_000_000)
        files = decisions.file_counts(session)
    return [
        Line("memories superseded twice", 0, len(ends) - len(set(ends))),
        Line("live rows", len(born - set(ends)), len(live & (born - set(ends)))),
        Line("live rows that nobody was told of", 0, len(live - born)),
        Line("superseded rows", len(set(ends)), len(retired & set(ends))),
        Line("rows in any other state", 0, len(rows) - len(live) - len(retired)),
        Line("equal statements live side by side", 0, sum(count > 1 for count in texts.values())),
        Line("history: inserts", len(born), events["insert"]),
        Line("history: supersedes", len(ends), events["supersede"]),
        Line("files", len(born), len(field.files() & born)),
        Line("files that nobody was told of", 0, len(field.files() - born)),
        Line("ledger: writes", len(born), sum(record.op == "write" for record in records)),
        Line("ledger: gaps in the numbers", 0, gaps([record.seq for record in records])),
        Line("ledger: damaged lines", 0, damaged),
        Line("database: decisions", len(records), len({record.name for record in indexed})),
        Line("database: decisions not settled", 0, len(waiting)),
        Line("database: files accepted", len(born), files.get("accepted", 0)),
    ]


def gaps(numbers: Sequence[int]) -> int:
    """How many of 1..n are missing or used twice (records of one machine's one month)."""
    return len(set(range(1, len(numbers) + 1)) ^ set(numbers)) + len(numbers) - len(set(numbers))


def _history(field: Ground, rows: dict[str, Row]) -> list[Row]:
    names = sorted({str(row["namespace"]) for row in rows.values()})
    if not names:
        return []
    with Store(role_dsn(field.settings, "auditor")) as store, store.transaction(namespaces=names) as session:
        return audit.events(session, [UUID(memory_id) for memory_id in rows], most=10_000_000)


def _afterwards(field: Ground) -> list[Line]:
    """One scan finds nothing to do, and the files alone give the same store."""
    report = field.ingest().statements
    comparison = field.compare()
    return [
        Line("scan afterwards: rows changed", 0, report.healed + report.settled + report.passed),
        Line("scan afterwards: files refused or waiting", 0, report.refused + report.pending),
        Line("half-written files", 0, torn_temporaries(field.vault)),
        *(Line(f"rebuilt from files, differing: {item.what}", 0, len(item.differing)) for item in comparison.findings),
    ]
