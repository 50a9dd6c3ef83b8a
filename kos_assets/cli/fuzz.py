"""`kos fuzz`: mutated inputs for the parsers, until the time is up.

Not here: mutating and running (operations/fuzz.py).
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Annotated

import typer

from kos_assets.cli.output import err, out, print_line, table


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("fuzz")(fuzz)


def fuzz(
    target: Annotated[str, typer.Argument(help="frontmatter, markdown, canvas, mail, calendar, or all.")] = "all",
    seconds: Annotated[float, typer.Option(min=0.1, max=86_400, help="How long, for all targets together.")] = 60.0,
    seed: Annotated[int | None, typer.Option(help="Repeats a run's inputs. Default: a new one.")] = None,
    folder: Annotated[Path, typer.Option("--out", help="Where inputs that crash or hang a parser are kept.")] = Path(
        "fuzz-findings"
    ),
) -> None:
    """Feed mutated bytes to the parsers of what others wrote; exit with 1 when one crashes or hangs.

    Every input has 2 s of CPU time. Nothing is read but the built-in seeds, and nothing is written but findings.

    Example: kos fuzz all --seconds 60 --seed 7
    """
    from kos_assets.operations import fuzz as fuzzing

    chosen = random.SystemRandom().randrange(10**6) if seed is None else seed
    names = list(fuzzing.targets()) if target == "all" else [target]
    reports = []
    for name in names:
        err.print(f"{name}, seed {chosen} …", markup=False)
        reports.append(fuzzing.fuzz(name, seconds=seconds / len(names), seed=chosen, folder=folder))
    rows = [
        (item.target, f"{item.inputs:,}", f"{item.per_second:,.0f}", f"{item.slowest_s * 1000:.0f}", len(item.findings))
        for item in reports
    ]
    columns = ("target", "inputs", "inputs/s", "slowest, ms", "found")
    table(f"Fuzzing, seed {chosen}", columns, rows, right=(1, 2, 3, 4))
    found = [finding for report in reports for finding in report.findings]
    for finding in found:
        print_line(f"{finding.target}: {finding.kind}, {finding.times} times: {finding.error!r}: {finding.input_file}")
    out.print("Nothing crashed, nothing hung." if not found else f"{len(found)} findings.")
    if found:
        raise typer.Exit(1)
