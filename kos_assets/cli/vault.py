"""Commands on the vault: init, ingest, status, quarantine.

Not here: how `kos init` goes (vault_init.py), `kos vault check` (vault_check.py).
"""

from __future__ import annotations

from typing import Annotated

import typer

from kos_assets.cli import vault_init
from kos_assets.cli.context import embedder_of, installation, settings_of, store
from kos_assets.cli.output import print_json, progress, table


def register(app: typer.Typer) -> None:
    """Add this family's commands."""
    vault_init.register(app)
    app.command("ingest")(ingest)
    app.command("status")(status)
    app.command("quarantine")(quarantine)


def ingest(
    context: typer.Context,
    allow_mass_deletion: Annotated[
        bool, typer.Option(help="Accept that more than half of the notes are gone.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Bring the store to what the vault says, here and now, without Dagster. Safe to run at any time."""
    from dataclasses import asdict

    from kos_assets.ingest.pipeline import ingest_vault

    settings = settings_of(context)
    settings.require_vault()
    with installation(settings) as found, store(found, "writer") as writer, progress() as tell:
        report = ingest_vault(writer, embedder_of(found), found, progress=tell, allow_mass_deletion=allow_mass_deletion)
    if as_json:
        print_json(asdict(report))
        return
    rows = [
        (name, ", ".join(f"{key} {value}" for key, value in part.metadata().items() if _is_figure(key, value)))
        for name, part in vars(report).items()
    ]
    table(f"Ingested {settings.vault}", ("step", "figures"), rows)


def _is_figure(key: str, value: object) -> bool:
    return not isinstance(value, list) and value not in (0, "", 0.0) and key != "model_id"


def status(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
    show_folded: Annotated[bool, typer.Option("--folded", help="List equal copies and their canonical notes.")] = False,
) -> None:
    """Account for every note: live, folded as an equal copy, or blocked; and what the index still owes."""
    from kos_assets.alarms import recent_alarms
    from kos_assets.operations.accounting import account

    with installation(settings_of(context), apply_migrations=False) as found, store(found, "writer") as writer:
        figures = account(writer)
    if as_json:
        print_json(figures.as_dict())
        return
    table("Accounting", ("what", "how many"), list(figures.rows()), right=(1,))
    newest = recent_alarms(found, limit=3)
    if newest:
        columns = ("at", "source", "message")
        table("Newest alarms", columns, [[alarm.get(column) for column in columns] for alarm in newest])
    if show_folded:
        table("Equal copies", ("copy", "canonical note"), figures.folded)


def quarantine(
    context: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False
) -> None:
    """Files that could not be read, and problems in files that were: each with its reason and what to do."""
    from kos_assets.store import notes

    with (
        installation(settings_of(context), apply_migrations=False) as found,
        store(found, "writer") as writer,
        writer.transaction(pipeline=True) as session,
    ):
        rows = notes.quarantined(session)
    if as_json:
        print_json(rows)
        return
    shown = [
        (f"{row['path']}{':' + str(row['line']) if row['line'] else ''}", row["severity"], row["reason"], row["fix"])
        for row in rows
    ]
    table("Quarantine", ("file", "", "what is wrong", "what to do"), shown)
