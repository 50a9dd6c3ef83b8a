"""Commands of a memory's life: write, history, restore, verify, boost."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kos_assets.cli.context import embedder_of, installation, settings_of, store
from kos_assets.cli.output import err, print_json, print_line, table
from kos_assets.cli.recall import memory_id_of
from kos_assets.domain.index_line import clean_inline
from kos_assets.domain.principals import Principal
from kos_assets.errors import AuthorityError, InputError
from kos_assets.settings import Settings

if TYPE_CHECKING:
    from kos_assets.audit import Audit
    from kos_assets.gate.context import Gate
    from kos_assets.gate.statement import Statement

Json = Annotated[bool, typer.Option("--json", help="The payload that REST and MCP answer.")]
MemoryId = Annotated[str, typer.Argument(help="An id between the brackets of an index line.")]
_SHOWN = 100


def register(app: typer.Typer) -> None:
    """Add this family's commands."""
    app.command("write")(write)
    app.command("history")(history)
    app.command("restore")(restore)
    app.command("verify")(verify)
    app.command("boost")(boost)


@contextmanager
def open_gate_of(
    context: typer.Context, *, with_embedder: bool = False, agent: str | None = None
) -> Iterator[tuple[Settings, Gate]]:
    """The installation's gate, as the principal of the settings, or as an agent for whom the owner writes."""
    from kos_assets.gate.context import open_gate

    settings = settings_of(context)
    if agent is not None:
        settings = _as_agent(settings, context, agent)
    settings.require_vault()
    with installation(settings) as found, store(found, "writer") as writer:
        yield found, open_gate(writer, found, embedder_of(found) if with_embedder else None)


@contextmanager
def open_audit(context: typer.Context) -> Iterator[tuple[Settings, Audit]]:
    """Audit reads of the installation, as kos_auditor."""
    from kos_assets.audit import Audit

    with installation(settings_of(context)) as found, store(found, "auditor") as auditor:
        yield found, Audit(auditor)


def write(
    context: typer.Context,
    heading: Annotated[str, typer.Argument(help="What it is about, in one line.")],
    content: Annotated[str, typer.Argument(help="What is to be remembered; - or nothing reads it from stdin.")] = "-",
    namespace: Annotated[
        str | None, typer.Option(help="global, agent:<name> or shared:<group>. Default: shared:owner, or the agent's.")
    ] = None,
    memory_type: Annotated[
        str | None, typer.Option("--type", help="episodic, semantic, procedural or working; else rules decide.")
    ] = None,
    provenance: Annotated[str | None, typer.Option(help="raw, derived or output.")] = None,
    confidence: Annotated[float | None, typer.Option(help="How sure, 0 to 1.")] = None,
    event_at: Annotated[str | None, typer.Option(help="When it happened, such as 2026-03-04T14:30+01:00.")] = None,
    expires_at: Annotated[str | None, typer.Option(help="When it stops being true or useful.")] = None,
    supersedes: Annotated[str | None, typer.Option(help="The id of the memory that this corrects.")] = None,
    key: Annotated[str | None, typer.Option(help="A name of this write, so that repeating it writes once.")] = None,
    agent: Annotated[
        str | None, typer.Option("--as", help="Write as this agent: its namespace, its authority. For the owner.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Remember a statement: through the gate, as a Markdown file and a row. Prints what the gate decided.

    A near-identical statement is replaced (its text stays in history); a look-alike that says something else stays.

    Examples: kos write "Port of the gateway" "It listens on 8443." --namespace global

    git log -5 --oneline | kos write "What changed this week" --type episodic --event-at 2026-03-04T14:30+01:00
    """
    from kos_assets.gate.payload import result_payload
    from kos_assets.gate.write import write_memory

    given = {
        "heading": heading,
        "content": _from_stdin() if content == "-" else content,
        "namespace": namespace,
        "key": key,
        "memory_type": memory_type,
        "provenance": provenance,
        "confidence": confidence,
        "event_at": _instant("--event-at", event_at),
        "expires_at": _instant("--expires-at", expires_at),
        "supersedes": None if supersedes is None else memory_id_of(supersedes),
    }
    with open_gate_of(context, with_embedder=True, agent=agent) as (settings, gate):
        statement = _statement(settings, given)
        result = write_memory(gate, statement, principal=settings.who, at=datetime.now(UTC))
    (print_json if as_json else _print_result)(result_payload(result))


def _as_agent(settings: Settings, context: typer.Context, agent: str) -> Settings:
    """Settings of an agent without groups. Raises AuthorityError for all but the owner, InputError for no name."""
    if settings.who.role != "owner":
        raise AuthorityError(
            f"{settings.who.name} may not write as {agent[:70]!r}.",
            why="Only the owner lends the name of another principal.",
            fix="Leave --as out, or run it with KOS_ROLE=owner.",
        )
    Principal(agent, "agent")
    return settings_of(context, principal=agent, principal_role="agent", principal_groups=())


def _from_stdin() -> str:
    """What is piped in. Raises InputError for what is no UTF-8, and for more than any statement may hold."""
    from kos_assets.gate.statement import MAX_CONTENT

    if sys.stdin.isatty():
        err.print("Type what is to be remembered; end it with Ctrl-D.")
    data = sys.stdin.buffer.read(4 * MAX_CONTENT + 1)
    if len(data) > 4 * MAX_CONTENT:
        raise InputError(
            f"stdin gives more than {MAX_CONTENT:,} characters.",
            fix="Write the document into the vault as a note, and remember what matters of it.",
        )
    try:
        return data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InputError(
            "stdin gives no valid UTF-8.", why=str(error), fix="Convert it, such as with iconv."
        ) from error


def _statement(settings: Settings, given: dict[str, Any]) -> Statement:
    """What the options say; without a namespace the principal's own."""
    from kos_assets.gate.statement import Statement

    own = "shared:owner" if settings.who.role == "owner" else f"agent:{settings.who.name}"
    return Statement(**{**given, "namespace": given["namespace"] or own})


def _print_result(result: dict[str, Any]) -> None:
    told = {
        "insert": "Stored.",
        "supersede": f"Stored; it replaces [{result['superseded']}] ({result['reason']}).",
        "pending": "Kept as a file; it goes live when the embedder answers.",
        "retry": f"Nothing new: {result['reason']}.",
    }[result["action"]]
    print_line(f"[{result['memory_id']}] {told}")
    for item in result["beside"]:
        what = "Contradicts" if item["kind"] == "contradicts" else "Stands beside"
        print_line(f"  {what} [{item['memory_id']}]: {item['code']}")
    print_line(f"  {result['path']}")


def history(context: typer.Context, memory_id: MemoryId, as_json: Json = False) -> None:
    """Who changed a memory, when and why, with the versions before and after it; retired ones are marked.

    Example: kos history 374f8a9a-061d-5657-9e3c-4828d4304e90
    """
    from kos_assets.audit.payload import history_payload

    wanted = memory_id_of(memory_id)
    with open_audit(context) as (settings, audit):
        payload = history_payload(audit.history(wanted, principal=settings.who))
    if as_json:
        print_json(payload)
        return
    for version in payload["versions"]:
        mark = "live" if version["status"] == "live" else f"retired: {version['retired_reason']}"
        print_line(f"[{version['memory_id']}] {shown(version['heading'])} ({mark})")
        print_line(f"  {shown(version['content'])}")
    rows = [
        (event["at"][:19], event["memory_id"][:8], event["by"], event["action"], clean_inline(event["reason"]))
        for event in payload["events"]
    ]
    table("What happened, newest first (UTC)", ("at", "memory", "by", "what", "why"), rows)
    if payload["more"]:
        print_line("Older changes are not shown.")


def restore(
    context: typer.Context,
    memory_id: MemoryId,
    instead: Annotated[
        bool, typer.Option("--instead", help="Retire what replaced it; otherwise both live and never fold again.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Undo: bring a forgotten or superseded memory back.

    Example: kos restore 374f8a9a-061d-5657-9e3c-4828d4304e90 --instead
    """
    from kos_assets.gate.life import restore as run

    wanted = memory_id_of(memory_id)
    with open_gate_of(context) as (settings, gate):
        change = run(gate, wanted, principal=settings.who, at=datetime.now(UTC), instead=instead)
    print_change(change, as_json=as_json)


def verify(
    context: typer.Context,
    memory_id: MemoryId,
    how: Annotated[str, typer.Option(help="source, test, person, measurement or other.")],
    as_json: Json = False,
) -> None:
    """Record that a memory was checked again and holds; a stale one is fresh from then on.

    Example: kos verify 374f8a9a-061d-5657-9e3c-4828d4304e90 --how source
    """
    from kos_assets.gate.marks import verify as run

    wanted, way = memory_id_of(memory_id), _known(how)
    with open_gate_of(context) as (settings, gate):
        change = run(gate, wanted, how=way, principal=settings.who, at=datetime.now(UTC))
    print_change(change, as_json=as_json)


def boost(
    context: typer.Context,
    memory_id: MemoryId,
    factor: Annotated[float, typer.Argument(help="0.25 to 4; 1 takes a boost back.")],
    as_json: Json = False,
) -> None:
    """Weigh a memory up or down in ranking.

    Example: kos boost 374f8a9a-061d-5657-9e3c-4828d4304e90 2
    """
    from kos_assets.gate.marks import annotate

    wanted = memory_id_of(memory_id)
    with open_gate_of(context) as (settings, gate):
        change = annotate(gate, wanted, boost=factor, principal=settings.who, at=datetime.now(UTC))
    print_change(change, as_json=as_json)


def shown(text: str, most: int = _SHOWN) -> str:
    """The beginning of stored text on one line; nothing in it can steer a terminal."""
    return clean_inline(text[: 8 * most])[:most]


def print_change(change: Any, *, as_json: bool) -> None:
    """What a decision did."""
    from kos_assets.gate.payload import change_payload

    payload = change_payload(change)
    if as_json:
        print_json(payload)
        return
    print_line(f"[{payload['memory_id']}] {payload['action']}: {payload['reason']}")
    for also in payload["also"]:
        print_line(f"  changed with it: [{also}]")


def _known(how: str) -> Any:
    from kos_assets.gate.marks import HOWS

    if how not in HOWS:
        raise InputError(f"--how is one of {', '.join(HOWS)}, not {how[:40]!r}.")
    return how


def _instant(option: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(f"{option} is not a time: {text!r}.", fix="Write it like 2026-03-04T14:30+01:00.") from error
    if found.tzinfo is None:
        raise InputError(
            f"{option} has no zone, so it names no instant (S10).", fix=f"Write it like {found:%Y-%m-%dT%H:%M}+01:00."
        )
    try:
        found.astimezone(UTC)
    except OverflowError as error:
        raise InputError(f"{option} lies outside the years 1 to 9999.", fix="Check the date.") from error
    return found
