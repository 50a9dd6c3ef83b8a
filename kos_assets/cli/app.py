"""The root of the command line: shared options, and errors for people."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kos_assets.cli import (
    fire,
    forget,
    fuzz,
    gate,
    hooks,
    hygiene,
    life,
    measure,
    mirror,
    operate,
    rebuild,
    recall,
    review,
    serve,
    vault,
    vault_check,
)
from kos_assets.cli.output import print_error
from kos_assets.errors import ConfigError, InputError, KosError

app = typer.Typer(
    name="kos",
    help="Knowledge OS: a Markdown vault as memories that agents can recall. Start with `kos demo`.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
FAMILIES = (
    *(vault, vault_check, mirror, hooks, recall, life, forget, review),
    *(serve, operate, hygiene, rebuild, gate, fire, fuzz, measure),
)
for family in FAMILIES:
    family.register(app)


@app.callback()
def _root(
    context: typer.Context,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where database, logs and Dagster's home live. [env: KOS_DATA_DIR]")
    ] = None,
    vault_path: Annotated[Path | None, typer.Option("--vault", help="The Markdown vault. [env: KOS_VAULT]")] = None,
) -> None:
    context.obj = {"data_dir": data_dir, "vault": vault_path}


def main() -> None:
    """Run the command line; the exit status is 0, 1 for what failed, 2 for what was asked wrongly, 130 for Ctrl-C."""
    try:
        app()
    except KosError as error:
        print_error(error)
        sys.exit(2 if isinstance(error, ConfigError | InputError) else 1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
