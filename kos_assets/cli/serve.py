"""Commands that stay: up, serve, mcp; and stop."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from kos_assets.cli.context import installation, settings_of
from kos_assets.cli.output import err, out

SERVICE = (sys.executable, "-m", "kos_assets.cli", "serve")


def register(app: typer.Typer) -> None:
    """Add this family's commands."""
    app.command("up")(up)
    app.command("serve")(serve)
    app.command("mcp")(mcp)
    app.command("stop")(stop)


def up(
    context: typer.Context,
    port: Annotated[int | None, typer.Option(help="Port of the service. [env: KOS_PORT]")] = None,
    dagster_port: Annotated[int | None, typer.Option(help="Port of the Dagster UI. [env: KOS_DAGSTER_PORT]")] = None,
) -> None:
    """Run everything for a vault: database, Dagster (UI, schedules, sensors) and the service. Ctrl-C stops it.

    Example: kos --vault ~/notes up
    """
    from kos_assets.operations.supervision import run_up

    settings = settings_of(context, port=port, dagster_port=dagster_port)
    settings.require_vault()
    err.print("Starting the database …")
    with installation(settings) as found:
        code = run_up(found, service_argv=SERVICE, on_event=lambda text: err.print(text, markup=False))
    raise typer.Exit(code)


def serve(
    context: typer.Context,
    port: Annotated[int | None, typer.Option(help="Port of the service. [env: KOS_PORT]")] = None,
) -> None:
    """Run the service alone: REST, MCP at /mcp and health, on loopback. Works while Dagster is down."""
    from kos_assets.serving.app import serve as run

    with installation(settings_of(context, port=port), apply_migrations=False) as found:
        run(found)


def mcp(context: typer.Context) -> None:
    """Serve MCP over stdin and stdout, for clients that start their servers themselves.

    Example for such a client: {"command": "kos", "args": ["--vault", "/home/me/notes", "mcp"]}
    """
    from kos_assets.serving.app import run_stdio

    with installation(settings_of(context), apply_migrations=False) as found:
        run_stdio(found)


def stop(context: typer.Context) -> None:
    """Stop the embedded database of this installation, whoever still uses it."""
    from kos_assets.operations.installation import embedded

    settings = settings_of(context)
    stopped = embedded(settings).stop()
    out.print("Stopped the embedded database." if stopped else "The embedded database was not running.")
