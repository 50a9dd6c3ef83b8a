"""Commands that read: search, fetch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer

from kos_assets.cli.context import embedder_of, installation, settings_of, store
from kos_assets.cli.output import err, out, print_json, print_line
from kos_assets.domain.moments import moment
from kos_assets.errors import InputError, NotFoundError
from kos_assets.recall import Query, Recall
from kos_assets.settings import Settings


def register(app: typer.Typer) -> None:
    """Add this family's commands."""
    app.command("search")(search)
    app.command("fetch")(fetch)


def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="A question or words; empty with a filter lists the newest rows.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", help="Results, 1 to 100.")] = 10,
    types: Annotated[
        list[str] | None, typer.Option("--type", help="episodic, semantic, procedural or working; repeatable.")
    ] = None,
    home: Annotated[str | None, typer.Option(help="Only this folder and below, such as projects/huts.")] = None,
    since: Annotated[str | None, typer.Option(help="Events from this time on (ISO 8601).")] = None,
    until: Annotated[str | None, typer.Option(help="Events up to this time; a date means its end.")] = None,
    as_of: Annotated[str | None, typer.Option(help="Only what was known by this time.")] = None,
    namespace: Annotated[
        list[str] | None, typer.Option(help="Namespace to read; repeatable. Default: the settings'.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The payload that REST and MCP answer.")] = False,
) -> None:
    """Search the memories. Prints the index lines that an agent gets, best first, and how far to trust them.

    Example: kos search "why did we choose Postgres"
    """
    from kos_assets.recall.payload import search_payload

    settings = settings_of(context)
    with _recall(settings) as recall:
        answer = recall.search(
            Query(
                text=query,
                namespaces=tuple(namespace) if namespace else settings.reading_namespaces,
                limit=limit,
                types=tuple(types or ()),
                home=home.strip("/") if home else None,
                since=_time("--since", since, settings),
                until=_time("--until", until, settings, last=True),
                as_of=_time("--as-of", as_of, settings, last=True),
                principal=settings.principal,
            )
        )
    payload = search_payload(answer)
    if as_json:
        print_json(payload)
        return
    out.print(f"[bold]{payload['confidence']}[/] · {payload['advice']}")
    for note in payload["notes"]:
        err.print(f"[yellow]Note:[/] {note}")
    for result in payload["results"]:
        print_line(result["index_line"])


def fetch(
    context: typer.Context,
    memory_ids: Annotated[list[str], typer.Argument(help="Ids from index lines.")],
    namespace: Annotated[list[str] | None, typer.Option(help="Namespace to read; repeatable.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The payload that REST and MCP answer.")] = False,
) -> None:
    """Print whole memories by id."""
    from kos_assets.recall.payload import fetch_payload

    settings = settings_of(context)
    with _recall(settings, with_embedder=False) as recall:
        found = recall.fetch(
            [memory_id_of(memory_id) for memory_id in memory_ids],
            namespaces=tuple(namespace) if namespace else settings.reading_namespaces,
            principal=settings.principal,
        )
    payload = fetch_payload(found)
    if as_json:
        print_json(payload)
    else:
        for memory in payload["memories"]:
            out.print(f"[bold]{memory['memory_type']}[/] · {memory['provenance']} · {memory['event_at'] or 'undated'}")
            print_line(f"{memory['heading']}\n{memory['path'] or ''}\n\n{memory['content']}\n")
    if payload["missing"]:
        raise NotFoundError(
            f"Not found: {', '.join(payload['missing'])}.", fix="Search again: ids of retired memories are not served."
        )


@contextmanager
def _recall(settings: Settings, *, with_embedder: bool = True) -> Iterator[Recall]:
    from kos_assets.store.database import role_dsn
    from kos_assets.store.migrate import check_current

    with installation(settings, apply_migrations=False) as found:
        check_current(role_dsn(found, "reader"))
        with store(found, "reader") as reader:
            recall = Recall(
                reader, embedder_of(found) if with_embedder else None, stale_after_days=settings.stale_after_days
            )
            try:
                yield recall
            finally:
                recall.close()


def _time(option: str, text: str | None, settings: Settings, *, last: bool = False) -> datetime | None:
    if text is None:
        return None
    try:
        return moment(text, settings.zone, last=last)
    except ValueError as error:
        raise InputError(
            f"{option} is not a time: {text!r}.", fix="Write it like 2026-03-04 or 2026-03-04T14:30."
        ) from error


def memory_id_of(text: str) -> UUID:
    try:
        return UUID(text.strip("[]"))
    except ValueError as error:
        raise InputError(
            f"{text!r} is not a memory id.", fix="Copy the id between the brackets of an index line."
        ) from error
