"""Commands that measure the gate: calibrate-gate on labelled pairs, try-gate on a vault's own notes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kos_assets.cli.context import embedder_of, installation, settings_of, store
from kos_assets.cli.output import err, out, print_json, print_line, progress, table
from kos_assets.errors import InputError

if TYPE_CHECKING:
    from kos_assets.evaluation.gate_pairs import Point
    from kos_assets.evaluation.gate_vaults import Trial


_COLUMNS = (
    "split", "distance", "pairs_within", "look-alikes", "precision_bare", "superseded", "wrong", "precision", "recall",
)  # fmt: skip


def register(app: typer.Typer) -> None:
    """Add this family's commands."""
    app.command("calibrate-gate")(calibrate_gate)
    app.command("try-gate")(try_gate)


def calibrate_gate(
    context: typer.Context,
    pairs: Annotated[
        Path | None, typer.Option(help="Labelled pairs, a JSON object a line. Default: the shipped ones.")
    ] = None,
    keep: Annotated[float | None, typer.Option(help="Keep this distance with the active model's recipe.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Precision and recall of a supersede at each distance, with and without the guard, under the routed model.

    Example: kos calibrate-gate --keep 0.08
    """
    from kos_assets.evaluation.gate_pairs import measured, points, read_pairs, wrongs

    settings = settings_of(context)
    if keep is not None and not 0 < keep < 1:
        raise InputError(f"--keep is a distance between 0 and 1, not {keep}.")
    found = measured(read_pairs(pairs), embedder_of(settings))
    distance = keep or settings.gate_distance
    figures, wrong = points(found), wrongs(found, distance)
    if as_json:
        print_json({"points": [asdict(point) for point in figures], "wrong": [asdict(item) for item in wrong]})
    else:
        columns = [name.replace("_", " ") for name in _COLUMNS]
        table(f"The gate on {len(found)} pairs", columns, [_row(point) for point in figures], right=range(1, 9))
        rows = [(item.id, item.kind, item.label, item.distance, ", ".join(item.codes)) for item in wrong]
        table(f"Otherwise than labelled, within {distance:g}", ("pair", "kind", "label", "distance", "veto"), rows)
    if keep is not None:
        _keep(context, keep)


def _row(point: Point) -> tuple[object, ...]:
    return (
        point.split, f"{point.distance:.2f}", point.within, point.look_alikes, _share(point.bare_precision),
        point.superseded, point.wrong, _share(point.precision), _share(point.recall),
    )  # fmt: skip


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _keep(context: typer.Context, distance: float) -> None:
    from kos_assets.store import embeddings

    settings = settings_of(context)
    with (
        installation(settings) as found,
        store(found, "writer") as writer,
        writer.transaction(pipeline=True) as session,
    ):
        model_id = embedder_of(found).identity.model_id
        if not embeddings.set_gate_distance(session, model_id, distance):
            raise InputError(f"The store has no vectors of {model_id} yet.", fix="Run `kos ingest` first.")
    err.print(f"Kept {distance:g} for {model_id}.", markup=False)


def try_gate(
    context: typer.Context,
    vaults: Annotated[list[Path] | None, typer.Argument(help="Folders of notes; nothing in them is written.")] = None,
    distance: Annotated[float, typer.Option(help="Cosine distance of the gate.")] = 0.08,
    revisions: Annotated[
        Path | None, typer.Option(help="A JSON list of {file, old, new}: revisions of one file.")
    ] = None,
    vectors: Annotated[Path | None, typer.Option(help="A file that keeps the vectors for the next time.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """What the gate would do to a vault's notes, were each a statement: pairs within the distance, vetoes, supersedes.

    Example: kos try-gate ~/notes --vectors /tmp/vectors.npz
    """
    from kos_assets.evaluation.gate_vaults import VectorFile, try_revisions, try_vault

    if not vaults and revisions is None:
        raise InputError("Nothing to try.", fix="Name a folder of notes, or --revisions FILE.")
    known = VectorFile(vectors, embedder_of(settings_of(context)))
    with progress() as tell:
        trials = [try_vault(root, known, distance, progress=tell) for root in vaults or ()]
        if revisions is not None:
            trials.append(try_revisions(revisions, known, distance, progress=tell))
    if as_json:
        print_json([{**vars(trial), "supersedes": [asdict(item) for item in trial.supersedes]} for trial in trials])
        return
    for trial in trials:
        _print_trial(trial)


def _print_trial(trial: Trial) -> None:
    vetoes = ", ".join(f"{code} {count}" for code, count in trial.vetoes.most_common())
    out.print(f"[bold]{trial.name}[/]: {trial.notes} notes, {trial.within} pairs within the distance")
    print_line(f"  vetoed: {vetoes or 'none'}")
    print_line(f"  superseded: {len(trial.supersedes)}")
    for item in trial.supersedes:
        print_line(f"    {item.distance:.4f} {item.old} <- {item.new}")
        for line in item.lines:
            print_line(f"      {line[:140]}")
