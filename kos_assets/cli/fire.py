"""`kos fire`: drills on throw-away databases and vaults; the user's own are not touched."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kos_assets.cli.context import settings_of
from kos_assets.cli.output import err, out, table

if TYPE_CHECKING:
    from kos_assets.operations.fire import Line

_fire = typer.Typer(no_args_is_help=True, help="Drills on throw-away databases: many writers at once, kills at random.")


def register(app: typer.Typer) -> None:
    """Add this family's commands."""
    app.add_typer(_fire, name="fire")


@_fire.command("writers")
def writers(
    context: typer.Context,
    writers_at_once: Annotated[int, typer.Option("--writers", min=1, max=40, help="Processes that write.")] = 16,
    writes: Annotated[int, typer.Option(min=1, max=100_000, help="Writes of all of them together.")] = 2000,
    twins: Annotated[float, typer.Option(min=0, max=1, help="Share of writes about a subject of another one.")] = 0.3,
    namespaces: Annotated[int, typer.Option(min=1, max=50, help="Namespaces written to.")] = 5,
    seed: Annotated[int | None, typer.Option(help="Repeats a run's writes. Default: a new one.")] = None,
) -> None:
    """Many processes write near-twins at once; rows, history, files and ledger must add up exactly.

    Example: kos fire writers --writers 4 --writes 200
    """
    from kos_assets.operations.fire_writers import Drill, fire_writers

    chosen = _seed(seed)
    drill = Drill(writers_at_once, writes, twins, namespaces, chosen)
    report = fire_writers(settings_of(context), drill, tell=_tell)
    _books(f"{writers_at_once} writers, {writes:,} writes, {namespaces} namespaces, seed {chosen}", report.lines)
    for text in report.errors[:5]:
        err.print(text, markup=False)
    actions = ", ".join(f"{count} {name}" for name, count in sorted(report.actions.items()))
    out.print(f"Results: {actions}; {len(report.errors)} errors.")
    out.print(
        f"{report.per_second:.0f} writes/s over {report.seconds:.1f} s; one write {report.median_ms:.0f} ms in the"
        f" middle, {report.p95_ms:.0f} ms at p95. The vectors cost nothing: the drill's embedder has no model."
    )
    _verdict(report.holds)


@_fire.command("kills")
def kills(
    context: typer.Context,
    rounds: Annotated[int, typer.Option(min=1, max=10_000, help="Kills of a writer; every 10th of PostgreSQL.")] = 200,
    seed: Annotated[int | None, typer.Option(help="Repeats a run's dice. Default: a new one.")] = None,
    compare_every: Annotated[int, typer.Option(min=1, help="Rounds between two comparisons with a rebuild.")] = 10,
) -> None:
    """Kill the writer or PostgreSQL at random moments; after a scan everything acknowledged is there, nothing is half.

    Example: kos fire kills --rounds 20 --seed 7
    """
    from kos_assets.operations.fire_kills import fire_kills

    chosen = _seed(seed)
    report = fire_kills(
        settings_of(context), rounds=rounds, seed=chosen, tell=_tell, compare_every=min(compare_every, rounds)
    )
    rows = [(item.round, item.line.what, item.line.expected, item.line.found) for item in report.failures]
    if rows:
        table("What did not hold", ("round", "what", "expected", "found"), rows, right=(0, 2, 3))
    out.print(
        f"Seed {report.seed}: {report.rounds} rounds, {report.writer_kills} kills of the writer, {report.server_kills}"
        f" of PostgreSQL, {report.cut_off} of them in the middle of an operation; {report.acknowledged} acknowledged"
        f" results, {report.healed} rows healed by a scan, {report.torn_lines} torn lines,"
        f" {report.left_temporaries} temporary files left; {report.seconds:.0f} s."
    )
    out.print(
        f"Checked after every round; compared with a store built from the files {report.compared} times (every"
        f" {min(compare_every, rounds)} rounds and at the end: it builds everything anew)."
    )
    out.print(f"{len(report.failures)} failures.")
    _verdict(report.holds)


def _seed(given: int | None) -> int:
    chosen = random.SystemRandom().randrange(10**6) if given is None else given
    err.print(f"Seed {chosen}")
    return chosen


def _tell(text: str) -> None:
    err.print(f"{text} …", markup=False)


def _books(title: str, lines: Sequence[Line]) -> None:
    rows = [(line.what, line.expected, line.found, "" if line.holds else "MISMATCH") for line in lines]
    table(title, ("what", "expected", "found", ""), rows, right=(1, 2))


def _verdict(holds: bool) -> None:
    out.print("Everything adds up." if holds else "It does NOT add up.")
    if not holds:
        raise typer.Exit(1)
