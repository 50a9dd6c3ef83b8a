"""How the command line speaks: results on stdout, progress and errors on stderr, plain when not on a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from kos_assets.errors import KosError
from kos_assets.ingest.reports import Progress as Tell

_WIDTH = None if sys.stdout.isatty() else 140  # tables that go to a file or a pipe are not folded at 80 columns

out = Console(highlight=False, soft_wrap=True, width=_WIDTH)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def print_error(error: KosError) -> None:
    """What, why, next."""
    err.print(f"[bold red]Error:[/] {escape(error.what)}")
    if error.why:
        err.print(f"  [bold]Why:[/]  {escape(error.why)}")
    if error.fix:
        err.print(f"  [bold]Next:[/] {escape(error.fix)}")


def print_json(value: Any) -> None:
    """One JSON document on stdout, byte for byte what REST and MCP answer."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def print_line(text: str) -> None:
    """One line of stored text, without any markup of ours being read into it."""
    sys.stdout.write(text + "\n")


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Sequence[int] = ()) -> None:
    """A table for people."""
    shown = Table(title=title, title_justify="left", header_style="bold")
    for number, column in enumerate(columns):
        shown.add_column(column, justify="right" if number in right else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(escape("" if cell is None else str(cell)) for cell in row))
    out.print(shown)


@contextmanager
def progress() -> Iterator[Tell]:
    """Bars on a terminal; nothing where nobody watches."""
    bars = Progress(
        TextColumn("{task.description:<12}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )
    tasks: dict[str, Any] = {}
    with bars:

        def tell(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total)
            bars.update(tasks[step], completed=done, total=total)

        yield tell
