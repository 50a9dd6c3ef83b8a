"""`kos rebuild`: the store from the vault's files alone."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from kos_assets.cli.context import embedder_of, installation, settings_of
from kos_assets.cli.output import err, out, print_json, table
from kos_assets.errors import StoreError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("rebuild")(rebuild)


def rebuild(
    context: typer.Context,
    switch: Annotated[bool, typer.Option(help="Let the rebuilt store take the live one's place.")] = True,
    accept_differences: Annotated[
        bool, typer.Option("--accept-differences", help="Switch although the two differ: the files win.")
    ] = False,
    drop_old: Annotated[bool, typer.Option("--drop-old", help="Drop the old store after the switch.")] = False,
    from_scratch: Annotated[
        bool, typer.Option("--from-scratch", help="Embed every text anew instead of taking over its vector.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Build a second store from the vault's files alone, compare it with the live one, and switch if they say the same.

    Traces, calibrations, health and history are carried over. `--no-switch` only compares.

    Example: kos --vault ~/notes rebuild --no-switch
    """
    from kos_assets.operations.rebuild import rebuild as run

    settings = settings_of(context)
    settings.require_vault()
    with installation(settings) as found:
        result = run(
            found,
            embedder_of(found),
            tell=lambda text: err.print(f"{text} …", markup=False),
            switch=switch,
            accept_differences=accept_differences,
            drop_old=drop_old,
            from_scratch=from_scratch,
        )
    if as_json:
        print_json(asdict(result) | {"equal": result.comparison.equal})
    else:
        columns = ("what", "live store", "rebuilt", "differing", "sample")
        table("Live and rebuilt", columns, result.comparison.rows(), right=(1, 2, 3))
        out.print(f"{result.reused} vectors taken over, {result.embedded} made.")
        kept = (
            f" The old store is kept as database {result.before}; an erasure does not reach it."
            if result.before
            else ""
        )
        out.print(f"Switched.{kept}" if result.switched else "Not switched; the live store is as it was.")
    if not result.comparison.equal and not result.switched:
        raise StoreError(
            "The rebuilt store differs from the live one.",
            why="Something is in one of them that the files do not say, or say otherwise.",
            fix="Look at the differing ids (`kos history ID`); `--accept-differences` lets the files win.",
        )
