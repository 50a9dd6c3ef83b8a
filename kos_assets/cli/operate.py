"""Commands of operation: demo, backfill, hygiene, migrate, reembed."""

from __future__ import annotations

from typing import Annotated

import typer

from kos_assets.cli.context import embedder_of, installation, settings_of, store
from kos_assets.cli.output import err, out, progress, table
from kos_assets.errors import OperationError


def register(app: typer.Typer) -> None:
    """Add this family's commands."""
    app.command("demo")(demo)
    app.command("backfill")(backfill)
    app.command("nightly")(nightly)
    app.command("migrate")(migrate)
    app.command("reembed")(reembed)


def demo(
    context: typer.Context,
    keep: Annotated[bool, typer.Option(help="Leave it running, with the Dagster UI and the service.")] = False,
) -> None:
    """Show the whole product on an invented vault: every asset materialised, health, and answered questions.

    Needs no model server and no login; nothing leaves the machine. About two minutes on two cores.
    """
    from kos_assets.cli.demo import run_demo

    run_demo(settings_of(context), keep=keep)


def backfill(context: typer.Context) -> None:
    """Materialise every asset of the live location through Dagster, here and now; recorded in its UI."""
    _run(context, "ingest")


def nightly(context: typer.Context) -> None:
    """Run the nightly job now: expiry, statistics, dbt, Great Expectations, health snapshot."""
    _run(context, "nightly")


def _run(context: typer.Context, job: str) -> None:
    from kos_assets.definitions.in_process import materialize_in_process

    settings = settings_of(context)
    settings.require_vault()
    with installation(settings) as found:
        outcome = materialize_in_process(
            found,
            job,
            on_step=lambda step: err.print(f"  {step.name}: {step.state} {step.text}".rstrip(), markup=False),
        )
    rows = [
        (asset, ", ".join(f"{name} {value}" for name, value in values.items() if isinstance(value, int | float)))
        for asset, values in sorted(outcome.metadata.items())
    ]
    table(f"Job {job}, {outcome.seconds:.1f} s, {outcome.passed_checks} checks passed", ("asset", "figures"), rows)
    if not outcome.success or outcome.failed_checks:
        problems = "; ".join((*outcome.failures, *outcome.failed_checks))
        raise OperationError(f"The job {job} did not go well.", why=problems, fix="Open the run in the Dagster UI.")


def migrate(context: typer.Context) -> None:
    """Bring roles, extensions and schema up to date. Safe to run at any time."""
    with installation(settings_of(context), apply_migrations=False) as found:
        from kos_assets.store.migrate import migrate as apply

        applied = apply(found)
    out.print(f"Applied {', '.join(applied)}." if applied else "The schema is current.")


def reembed(context: typer.Context) -> None:
    """Switch to the embedding model that inference.toml routes to: built beside the old one, then swapped at once."""
    from kos_assets.ingest.embeddings import reembed as run

    with installation(settings_of(context)) as found, store(found, "writer") as writer, progress() as tell:
        report = run(writer, embedder_of(found), found, progress=tell)
    out.print(f"Search now uses {report.model_id}: {report.embedded} embedded, {report.reused} reused.")
    out.print("Run `kos calibrate` next: thresholds of confidence belong to a model.")
