"""The command `kos forget`: the soft end, which can be undone, and the hard one, which cannot."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from kos_assets.cli.context import installation, settings_of, store
from kos_assets.cli.output import out, print_json, progress, table

if TYPE_CHECKING:
    from kos_assets.gate.context import Gate
    from kos_assets.hygiene.erase import Erasure
    from kos_assets.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("forget")(forget)


def forget(
    context: typer.Context,
    memory_ids: Annotated[list[UUID], typer.Argument(metavar="ID...", help="Ids of memories.")],
    erase: Annotated[bool, typer.Option("--erase", help="Erase for good: rows, history, vectors, traces.")] = False,
    file: Annotated[bool, typer.Option("--file", help="With --erase: delete the vault files too.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Forget memories: no scan or rebuild brings them back. `kos restore` undoes it; with --erase nothing does."""
    from kos_assets.errors import InputError
    from kos_assets.gate.context import open_gate

    if file and not erase:
        raise InputError("--file goes with --erase.", why="A file is deleted only with what it says (V7).")
    settings = settings_of(context)
    settings.require_vault()
    with installation(settings) as found, store(found, "writer") as writer:
        gate = open_gate(writer, found, None)  # nothing is embedded by an end
        if erase:
            _erase(gate, found, memory_ids, file=file, yes=yes, as_json=as_json)
        else:
            _forget(gate, found, memory_ids, as_json=as_json)


def _forget(gate: Gate, settings: Settings, memory_ids: list[UUID], *, as_json: bool) -> None:
    from kos_assets.gate.life import forget as forget_memory
    from kos_assets.gate.payload import change_payload

    at = datetime.now(UTC)
    changes = [forget_memory(gate, memory_id, principal=settings.who, at=at) for memory_id in memory_ids]
    if as_json:
        print_json([change_payload(change) for change in changes])
        return
    for change in changes:
        with_it = f", and with it {len(change.also)} equal copies" if change.also else ""
        out.print(f"Forgotten: {change.memory_id}{with_it}. Undo: kos restore {change.memory_id}", markup=False)


def _erase(gate: Gate, settings: Settings, memory_ids: list[UUID], *, file: bool, yes: bool, as_json: bool) -> None:
    from kos_assets.gate.erase import plan
    from kos_assets.hygiene.erase import erase_memories

    rows = plan(gate, memory_ids, principal=settings.who)
    if not yes:
        _ask(rows, file=file)
    with progress() as tell:
        erasure = erase_memories(
            gate,
            settings,
            memory_ids,
            principal=settings.who,
            at=datetime.now(UTC),
            delete_file=file,
            watch=tell,
        )
    if as_json:
        print_json(erasure.as_dict())
    else:
        _show(erasure)
    if not erasure.proof.clean:
        raise typer.Exit(1)


def _ask(rows: list[dict[str, Any]], *, file: bool) -> None:
    from kos_assets.errors import InputError

    out.print("This erases for good, and no command brings it back:")
    for row in rows:
        copy = "" if row["is_asked"] else " (an equal copy)"
        out.print(f"  {row['memory_id']}  {row['heading'][:80]}{copy}", markup=False)
        if row["path"]:
            fate = "the file is deleted" if file else "the file stays, and is not read again"
            out.print(f"    {row['path']}: {fate}", markup=False)
    if not typer.confirm("Go on?", err=True):
        raise InputError("Nothing was erased.", fix="`kos forget ID` alone can be undone.")


def _show(erasure: Erasure) -> None:
    erased, proof = erasure.erased, erasure.proof
    counts = ", ".join(f"{name} {count}" for name, count in {**erased.counts, **erasure.marts}.items() if count)
    out.print(f"Erased {len(erased.memory_ids)} ({len(erased.copies)} equal copies): {counts or 'no row was left'}.")
    for title, paths in (("Deleted", erased.deleted), ("Left in place, not read again", erased.kept)):
        if paths:
            out.print(f"{title}: {', '.join(paths)}", markup=False)
    if erased.relatives:
        listed = " ".join(str(item) for item in erased.relatives)
        out.print(f"Other versions of it still stand. To erase them too: kos forget --erase {listed}", markup=False)
    if erasure.settled.pinned:
        out.print(
            f"{erasure.settled.pinned} dead rows are still visible to an open transaction; end it, then run this again."
        )
    table("Proof", ("place", "searched", "hits", "what to know"), proof.rows(), right=(1, 2))
    if not proof.telling:
        out.print("The text was too short to be searched for; its ids were.")
    if proof.clean:
        out.print("Every place that must be clean is clean.")
    else:
        out.print("[bold red]Not clean:[/] the places marked with ! still hold it.")
