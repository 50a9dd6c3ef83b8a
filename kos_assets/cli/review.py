"""`kos review`: what waits for a person, and the decisions about it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from kos_assets.cli.life import Json, open_audit, open_gate_of, print_change, shown
from kos_assets.cli.output import out, print_json, print_line
from kos_assets.cli.recall import memory_id_of
from kos_assets.domain.index_line import clean_inline
from kos_assets.errors import InputError

_SHOWN = 120
review = typer.Typer(help="What waits for a person: contradictions, stale memories, files that the gate did not write.")


def register(app: typer.Typer) -> None:
    """Add this family's commands."""
    review.callback(invoke_without_command=True)(_listed)
    app.add_typer(review, name="review")


def _listed(
    context: typer.Context,
    kinds: Annotated[
        list[str] | None, typer.Option("--kind", help="contradiction, stale, refused or pending; repeatable.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Entries, 1 to 200.")] = 50,
    as_json: Json = False,
) -> None:
    """List what waits. `kos verify` and the commands below settle it.

    Example: kos review --kind contradiction
    """
    if context.invoked_subcommand is not None:
        return
    from kos_assets.audit.payload import review_payload

    with open_audit(context) as (settings, audit):
        payload = review_payload(audit.review(principal=settings.who, kinds=kinds, limit=limit))
    if as_json:
        print_json(payload)
        return
    for item in payload["items"]:
        out.print(f"[bold]{item['kind']}[/] · {item['namespace']} · since {item['opened_at'][:10]}")
        for side in (item["memory"], item["other"]):
            if side is not None:
                _print_side(side)
    for file in payload["files"]:
        out.print(f"[bold]{file['state']}[/] · {file['namespace']} · {file['code'] or 'waits for the embedder'}")
        print_line(f"  {clean_inline(file['path'])}")
    if not payload["items"] and not payload["files"]:
        print_line("Nothing waits for you.")
    if payload["more"]:
        print_line("Others wait as well: kos review --limit 200, or --kind.")


def _print_side(side: dict[str, Any]) -> None:
    when = side["event_at"] or side["created_at"]
    checked = f"verified {side['verified_at'][:10]}" if side["verified_at"] else "never verified"
    mark = ", retired" if side["status"] == "retired" else ""
    print_line(f"  [{side['memory_id']}] {shown(side['heading'])} ({when[:10]}, {checked}{mark})")
    print_line(f"    {shown(side['content'], _SHOWN)}")


@review.command("resolve")
def resolve(
    context: typer.Context,
    left: Annotated[str, typer.Argument(help="The id of one of the two.")],
    right: Annotated[str, typer.Argument(help="The id of the other.")],
    keep: Annotated[str, typer.Option(help="both, left or right: the one that stays; the other is forgotten.")],
    as_json: Json = False,
) -> None:
    """Settle a contradiction.

    Example: kos review resolve 6f1d0a52-… 374f8a9a-… --keep left
    """
    from kos_assets.gate.marks import resolve as run

    if keep not in ("both", "left", "right"):
        raise InputError(f"--keep is both, left or right, not {keep[:40]!r}.")
    outcome: Any = keep
    pair = memory_id_of(left), memory_id_of(right)
    with open_gate_of(context) as (settings, gate):
        change = run(gate, *pair, outcome=outcome, principal=settings.who, at=datetime.now(UTC))
    print_change(change, as_json=as_json)


@review.command("adopt")
def adopt(
    context: typer.Context,
    path: Annotated[str, typer.Argument(help="The file's path inside the vault, as `kos review` shows it.")],
    as_json: Json = False,
) -> None:
    """Accept a file below memories/ as it stands, although the gate did not write it, or not like this.

    Example: kos review adopt memories/agent/robo/6f1d0a52-3c1b-5b8e-9b6e-2f5a7f0c9d31.md
    """
    from kos_assets.gate.adopt import adopt_file

    with open_gate_of(context) as (settings, gate):
        change = adopt_file(gate, path, principal=settings.who, at=datetime.now(UTC))
    print_change(change, as_json=as_json)
