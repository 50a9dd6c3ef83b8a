"""Commands on the vault: init, ingest, status, quarantine."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated
from uuid import uuid4

import typer

from kos_assets.cli.context import embedder_of, installation, settings_of, store
from kos_assets.cli.output import out, print_json, progress, table


def register(app: typer.Typer) -> None:
    """Add this family's commands."""
    app.command("init")(init)
    app.command("ingest")(ingest)
    app.command("status")(status)
    app.command("quarantine")(quarantine)


def init(
    path: Annotated[Path, typer.Argument(help="The vault to adopt.")],
    stamp: Annotated[
        bool, typer.Option("--stamp/--no-stamp", help="Write each note's id into its frontmatter (one key, kos_id).")
    ] = True,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Adopt a vault: say where the ids of its notes live. Shows what it will write before it writes."""
    from kos_assets.errors import VaultError
    from kos_assets.vault import sidecar
    from kos_assets.vault.scan import walk

    found, unreadable = walk(path)
    before = sidecar.read_adoption(path)
    out.print(f"{path}: {len(found)} notes, {len(unreadable)} files that cannot be read.", markup=False)
    if stamp:
        out.print("kos will add one line, `kos_id: …`, to the frontmatter of each note that can be edited safely")
        out.print("(a note without frontmatter gains a block of three lines); nothing else in a file changes.")
        out.print("Templates, read-only files and notes with broken frontmatter keep their id in .kos/ids.jsonl.")
    else:
        out.print("kos will keep all ids in .kos/ids.jsonl and touch no note. A note that is moved and edited between")
        out.print("two scans then counts as a new one.")
    out.print(f"It writes {path / '.kos' / 'vault.toml'} now, and the ids at the next ingest.", markup=False)
    if not yes and not typer.confirm("Go on?"):
        raise VaultError("Nothing was written.", fix="Run it again with --yes, or with --no-stamp.")
    adoption = sidecar.Adoption(before.vault_id if before else uuid4(), "frontmatter" if stamp else "never")
    sidecar.write_adoption(path, adoption)
    out.print(f"Adopted. Next: kos --vault {shlex.quote(str(path))} ingest", markup=False)


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
