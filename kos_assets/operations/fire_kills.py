"""`kos fire kills` (V6, promise 1): a writer, and now and then PostgreSQL, is killed with signal 9 at a random moment;
after a restart and one scan every acknowledged result is there, and the store equals one built from the files alone.

Here: the rounds and what is checked after each. Not here: what the writer does (fire_child.py). Only processes that
the drill itself started are killed.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from kos_assets.errors import OperationError
from kos_assets.operations.fire import Ground, Line, Tell, Told, ground, torn_temporaries
from kos_assets.operations.fire_child import Life, Wish, live_on
from kos_assets.settings import Settings

_READY_S: Final = 120.0
_LONGEST_S: Final = 0.5
"""A round's writer lives for up to this long: some ten operations, so that most kills fall into one."""

_NAMESPACES: Final = ("global", "shared:fire-1", "shared:fire-2")
_NOTES: Final = 12
_OPS: Final = {"write": "write", "verify": "verify", "boost": "annotate", "forget": "forget", "restore": "restore"}


@dataclass(frozen=True)
class Failure:
    """What did not hold after a round."""

    round: int
    line: Line


@dataclass
class KillsReport:
    """What the drill did. `acknowledged`: results that a writer had told before it died; `compared`: the rounds after
    which the store was compared with one built from the files."""

    seed: int
    rounds: int
    writer_kills: int = 0
    server_kills: int = 0
    acknowledged: int = 0
    cut_off: int = 0
    healed: int = 0
    torn_lines: int = 0
    left_temporaries: int = 0
    compared: int = 0
    seconds: float = 0.0
    failures: list[Failure] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """No round failed."""
        return not self.failures


@dataclass
class _Books:
    """What all rounds so far acknowledged, and what was tried when a kill came."""

    acknowledged: Counter[tuple[str, str]] = field(default_factory=Counter)
    open: Counter[tuple[str, str]] = field(default_factory=Counter)
    written: set[str] = field(default_factory=set)
    again: Wish | None = None
    subjects: int = 0


def fire_kills(
    settings: Settings, *, rounds: int, seed: int, tell: Tell, compare_every: int = 10, server_every: int = 10
) -> KillsReport:
    """Run the rounds on a throw-away installation. A comparison builds a whole second store, so it is made after every
    `compare_every`-th round and after the last; all other checks after each. Every `server_every`-th kill is
    PostgreSQL's.

    Raises OperationError when a writer does not get ready.
    """
    dice = random.Random(seed)  # noqa: S311 - the seed makes a run repeatable
    report, books, began = KillsReport(seed, rounds), _Books(), time.monotonic()
    with ground(settings) as found, _children() as context:
        for number in range(_NOTES):
            (found.vault / f"note-{number}.md").write_text(f"# Note {number}\n\nIt says {number * 7919}.\n", "utf-8")
        found.ingest()
        for number in range(1, rounds + 1):
            lines = _round(found, context, dice, report, books, server=number % server_every == 0)
            if number % compare_every == 0 or number == rounds:
                lines += _compared(found, report)
            report.failures += [Failure(number, line) for line in lines if not line.holds]
            if number % max(1, min(10, compare_every)) == 0 or number == rounds:
                tell(f"round {number} of {rounds}: {report.acknowledged} results, {len(report.failures)} failures")
        report.failures += [Failure(rounds, line) for line in _last(found, context, report, books) if not line.holds]
    report.seconds = time.monotonic() - began
    return report


@contextmanager
def _children() -> Iterator[Any]:
    """A way to start writers in milliseconds: forked from a process that has everything loaded."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["kos_assets.operations.fire_child"])
    yield context


def _round(
    found: Ground, context: Any, dice: random.Random, report: KillsReport, books: _Books, *, server: bool
) -> list[Line]:
    told = _write_and_kill(found, context, dice, report, books, server=server)
    found.connect()
    tried = _keep(books, told)
    report.acknowledged += sum("done" in line for line in told)
    report.cut_off += tried is not None
    statements = found.ingest().statements
    report.healed += statements.healed
    return _checks(found, report, books, refused=statements.refused, pending=statements.pending)


def _write_and_kill(
    found: Ground, context: Any, dice: random.Random, report: KillsReport, books: _Books, *, server: bool
) -> list[dict[str, Any]]:
    """One writer's life and death; what it told."""
    file = Told(found.root / f"told-{report.writer_kills + report.server_kills}")
    process = context.Process(target=live_on, args=(found.place, _life(found, dice, books), file.path))
    process.start()
    try:
        _wait_until_ready(file, process)
        time.sleep(dice.uniform(0, _LONGEST_S))
        if server:
            running = found.server.running()
            if running is not None:
                os.kill(running.pid, signal.SIGKILL)
                report.server_kills += 1
            process.join(timeout=5)
        else:
            report.writer_kills += 1
    finally:
        process.kill()
        process.join()
        process.close()
    return file.lines()


def _life(found: Ground, dice: random.Random, books: _Books) -> Life:
    rows = found.rows()
    live = sorted(key for key, row in rows.items() if row["retired"] is None)
    retired = sorted(key for key, row in rows.items() if row["retired"] in ("forgotten", "superseded", "undone"))
    return Life(dice.randrange(2**31), books.subjects, live, retired, books.again, _NAMESPACES)


def _wait_until_ready(file: Told, process: Any) -> None:
    deadline = time.monotonic() + _READY_S
    while not file.lines():
        if process.exitcode is not None or time.monotonic() > deadline:
            raise OperationError("A writer does not get ready.", why=f"It ended with status {process.exitcode}.")
        time.sleep(0.005)


def _keep(books: _Books, told: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Enter what a writer told; what it was trying when it died, if anything."""
    trying: dict[int, dict[str, Any]] = {line["number"]: line["trying"] for line in told if "trying" in line}
    for line in told:
        if "done" in line:
            tried = trying.pop(line["number"])
            done = line["done"]
            if books.again is not None and tried.get("wish") == vars(books.again):
                books.again = None
            if done["op"] != "write":
                books.acknowledged[done["op"], done["id"]] += 1
            else:
                books.written.add(done["id"])
        elif "refused" in line:
            trying.pop(line["number"])
    books.subjects += max((int(line["number"]) for line in told if "number" in line), default=0)
    left = next(iter(trying.values()), None)
    if left is None:
        return None
    if left["op"] == "write":
        books.again = Wish(**left["wish"])
    else:
        books.open[_OPS[left["op"]], left["id"]] += 1
    return left


def _checks(found: Ground, report: KillsReport, books: _Books, *, refused: int, pending: int) -> list[Line]:
    """What has to hold after every restart and scan."""
    rows, files = found.rows(), found.files()
    records, damaged = found.records()
    report.torn_lines = damaged
    report.left_temporaries = torn_temporaries(found.vault)
    told: Counter[tuple[str, str]] = Counter((record.op, record.subject) for record in records)
    written = {record.subject for record in records if record.op == "write"}
    lost = sum(max(0, count - told[name]) for name, count in books.acknowledged.items())
    beyond = sum(
        max(0, told[name] - books.acknowledged[name] - books.open[name])
        for name in told
        if name[0] not in ("write", "pending")
    )
    cut = 0 if books.again is None else 1
    wrong = sum(rows[key]["retired"] != "forgotten" for key in _ended(books, records) if key in rows)
    return [
        Line("acknowledged writes without a row", 0, len(books.written - rows.keys())),
        Line("acknowledged writes without a file", 0, len(books.written - files)),
        Line("acknowledged writes without a record", 0, len(books.written - written)),
        Line("acknowledged decisions without a record", 0, lost),
        Line("decisions that nobody tried", 0, beyond),
        Line("writes that nobody tried", 0, max(0, len(written - books.written) - cut)),
        Line("forgotten memories that are not", 0, wrong),
        Line("rows whose file or record is missing", 0, _half(rows, files, written)),
        Line("files refused beyond the one cut off", 0, max(0, refused - cut)),
        Line("files that wait", 0, pending),
    ]


def _ended(books: _Books, records: Sequence[Any]) -> set[str]:
    """Memories whose forgetting was acknowledged, and that no restore was recorded for: forgotten they must be."""
    restored = {record.subject for record in records if record.op == "restore"}
    return {subject for op, subject in books.acknowledged if op == "forget"} - restored


def _half(rows: dict[str, Any], files: set[str], written: set[str]) -> int:
    """Statements that only a part of a write stands for."""
    statements = {key for key, row in rows.items() if row["is_statement"]}
    return len(statements - files) + len(statements - written)


def _compared(found: Ground, report: KillsReport) -> list[Line]:
    report.compared += 1
    again = found.ingest().statements
    return [
        Line("a second scan changes rows", 0, again.healed + again.settled + again.passed),
        *(
            Line(f"rebuilt from files, differing: {item.what}", 0, len(item.differing))
            for item in found.compare().findings
        ),
    ]


def _last(found: Ground, context: Any, report: KillsReport, books: _Books) -> list[Line]:
    """What was cut off is written again under its key, as its writer would: nothing is refused, nothing is double."""
    if books.again is None:
        return []
    file = Told(found.root / "last")
    life = Life(0, books.subjects, [], [], books.again, _NAMESPACES)
    process = context.Process(target=live_on, args=(found.place, life, file.path))
    process.start()
    try:
        deadline = time.monotonic() + _READY_S
        while not any("done" in line or "refused" in line for line in file.lines()) and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        process.kill()
        process.join()
        process.close()
    first = next((line for line in file.lines() if "done" in line), {"number": 0})
    _keep(books, file.lines())
    report.writer_kills += 1
    statements = found.ingest().statements
    return [
        Line("what was cut off is written at last", 1, int(first["number"])),
        *_checks(found, report, books, refused=statements.refused, pending=statements.pending),
        *_compared(found, report),
    ]
