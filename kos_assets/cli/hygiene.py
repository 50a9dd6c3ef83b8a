"""`kos hygiene`: the night's work on memories, now, or a rehearsal of it."""

from __future__ import annotations

from typing import Annotated, Any, Final, cast

import typer

from kos_assets.cli.context import installation, settings_of, store
from kos_assets.cli.output import out, print_json, table
from kos_assets.errors import InputError

_SHOWN: Final = 3


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("hygiene")(hygiene)


def hygiene(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what a run would do, and change nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print counts and every id as JSON.")] = False,
    only: Annotated[str | None, typer.Option(help="One step alone: expire, compact or stale.")] = None,
    limit: Annotated[int, typer.Option(help="Most memories that a step changes; the next run goes on.")] = 1000,
) -> None:
    """Retire what has expired, leave one live version of what was superseded, list what is stale for `kos review`.

    The nightly job does the same. Each step is safe to repeat and safe beside live traffic.
    """
    from kos_assets.hygiene.sweep import STEPS, Step, rehearse, sweep

    if only is not None and only not in STEPS:
        raise InputError(f"--only is one of {', '.join(STEPS)}, not {only!r}.")
    if limit < 1:
        raise InputError(f"--limit is 1 or more, not {limit}.")
    steps = STEPS if only is None else (cast(Step, only),)
    run = rehearse if dry_run else sweep
    with installation(settings_of(context)) as found, store(found, "writer") as writer:
        reports = run(writer, stale_after_days=found.stale_after_days, steps=steps, limit=limit)
    if as_json:
        print_json({"dry_run": dry_run, "steps": {step: report.as_dict() for step, report in reports.items()}})
        return
    rows = [row for step, report in reports.items() for row in _rows(step, report.as_dict())]
    title = "Hygiene: what a run would do" if dry_run else "Hygiene"
    table(title, ("step", "what", "how many", "ids"), rows, right=(2,))
    if dry_run:
        out.print("Nothing was changed. `--json` prints every id.")


def _rows(step: str, report: dict[str, Any]) -> list[tuple[str, str, int, str]]:
    rows = []
    for name, count in report["counts"].items():
        ids = report["ids"].get(name, [])
        more = [f"and {len(ids) - _SHOWN} more"] if len(ids) > _SHOWN else []
        rows.append((step, name, count, "\n".join([*ids[:_SHOWN], *more])))
    return rows
