"""`kos hooks`: let a coding agent's Markdown be mirrored as it is written (W5)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kos_assets.cli.context import settings_of
from kos_assets.cli.output import print_json, print_line
from kos_assets.errors import InputError

if TYPE_CHECKING:
    from kos_assets.operations.agent_hooks import Change, Scope

_AGENT = Annotated[str, typer.Argument(help="The agent: claude-code.")]
_SCOPE = Annotated[str, typer.Option(help="`user`: every project. `project`: the one in this folder, for you alone.")]
_YES = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def register(app: typer.Typer) -> None:
    """Add this family's commands."""
    family = typer.Typer(help="Mirror the Markdown that a coding agent writes, as it writes it.", no_args_is_help=True)
    family.command("install")(install)
    family.command("remove")(remove)
    family.command("status")(status)
    family.command("measure")(measure)
    app.add_typer(family, name="hooks")


def install(context: typer.Context, agent: _AGENT, scope: _SCOPE = "user", yes: _YES = False) -> None:
    """Put the hook into the agent's settings. Shows the exact change before it writes.

    Example: kos --vault ~/notes hooks install claude-code
    """
    from kos_assets.operations import agent_hooks

    settings = settings_of(context)
    path = _settings_file(agent, scope)
    vault = settings.require_vault().resolve()
    data_dir = settings.data_dir.resolve()
    change = agent_hooks.planned(path, agent_hooks.command(data_dir, vault))
    if not change.needed:
        print_line(f"{path} has the hook already; nothing was written.")
        return
    _show_and_ask(change, yes=yes)
    agent_hooks.apply(change, data_dir, remember=True)
    print_line(f"Installed. New sessions of {agent} leave their Markdown in {data_dir / 'spool' / 'agents'}.")
    print_line(
        "Next: `kos mirror agents` makes notes of it; with [mirror.agents] in kos.toml, `kos up` does so itself."
    )


def remove(context: typer.Context, agent: _AGENT, scope: _SCOPE = "user", yes: _YES = False) -> None:
    """Take the hook out again, and nothing else. Shows the exact change before it writes."""
    from kos_assets.operations import agent_hooks

    settings = settings_of(context)
    path = _settings_file(agent, scope)
    data_dir = settings.data_dir.resolve()
    change = agent_hooks.removal(path, data_dir)
    if not change.needed:
        print_line(f"There is no hook of kos in {path}; nothing was written.")
        return
    _show_and_ask(change, yes=yes)
    agent_hooks.apply(change, data_dir, remember=False)
    print_line("Removed. What waits in the spool still becomes notes at the next `kos mirror agents`.")


def status(
    context: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False
) -> None:
    """Where the hook is installed, whether it can run, and how much waits in the spool."""
    from kos_assets.operations import agent_hooks
    from kos_assets.writers.agents.spool import Spool

    data_dir = settings_of(context).data_dir
    rows = []
    for scope in agent_hooks.SCOPES:
        path = _settings_file(agent_hooks.AGENTS[0], scope)
        found = agent_hooks.status(path)
        state = "installed" if any(item.current for item in found) else "out of date" if found else "not installed"
        rows.append({"scope": scope, "settings": str(path), "state": state})
    waiting = len(Spool(data_dir).names())
    log = data_dir / "spool" / "agents" / "hook.log"
    if as_json:
        print_json({"hooks": rows, "waiting": waiting, "log": str(log) if log.exists() else None})
        return
    for row in rows:
        print_line(f"{row['scope']}: {row['state']} ({row['settings']})")
    if any(row["state"] == "out of date" for row in rows):
        print_line("Out of date means that the hook's program has moved: run `kos hooks install claude-code` again.")
    print_line(f"{waiting} files wait in the spool." + (f" Failures are told in {log}." if log.exists() else ""))


def measure(
    runs: Annotated[int, typer.Option(min=1, max=1000, help="How often the hook is run.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """How long an agent waits for the hook on this machine: it is run on an invented repository, and on no other."""
    from kos_assets.operations.hook_timing import hook_times

    times = hook_times(runs)
    if as_json:
        print_json(times)
        return
    for name, figure in times.items():
        print_line(f"{name}: median {figure['median_ms']} ms, p95 {figure['p95_ms']} ms, most {figure['most_ms']} ms")


def _settings_file(agent: str, scope: str) -> Path:
    from kos_assets.operations import agent_hooks

    if agent not in agent_hooks.AGENTS:
        raise InputError(f"There is no hook for {agent!r}.", why=f"Known: {', '.join(agent_hooks.AGENTS)}.")
    if scope not in agent_hooks.SCOPES:
        raise InputError(f"--scope cannot be {scope!r}.", why=f"It is one of {', '.join(agent_hooks.SCOPES)}.")
    chosen: Scope = "project" if scope == "project" else "user"
    return agent_hooks.settings_file(chosen, project=Path.cwd())


def _show_and_ask(change: Change, *, yes: bool) -> None:
    for line in change.diff():
        print_line(line)
    if change.after is None:
        print_line(f"{change.path} is deleted: it was made by kos and holds nothing else.")
    if not yes and not typer.confirm("Write this?"):
        raise InputError("Nothing was written.", fix="Run it again with --yes.")
