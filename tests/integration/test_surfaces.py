"""One way out (S5, S7, S11): every surface of the product, found by introspection, before rows that must not show.

Each route, tool and command stands in one table here, as recall (live rows of its namespaces alone), audit (retired
rows too, marked, to whom they belong; erased ones never) or neutral (no stored text at all, or a reason why it is not
called). One that does not stand here fails. Marts: tests/unit/dbt and tests/integration/health prove they hold no text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import typer
import typer.main
import typer.testing
from fastapi.testclient import TestClient
from psycopg import sql

from kos_assets import testing
from kos_assets.cli.app import app
from kos_assets.domain.principals import OWNER, Principal
from kos_assets.gate.context import Gate, open_gate
from kos_assets.gate.erase import erase
from kos_assets.gate.life import forget
from kos_assets.gate.statement import Statement
from kos_assets.gate.write import write_memory
from kos_assets.inference.embedding import Embedder
from kos_assets.ingest.pipeline import ingest_vault
from kos_assets.recall import Recall
from kos_assets.serving.app import build_app
from kos_assets.settings import Settings
from kos_assets.store.database import Store, role_dsn

WORDS = {
    "live": "Marzipanlantern",
    "forgotten": "Quagmirewort",
    "expired": "Tanglefootvale",
    "superseded": "Bramblewhistle",
    "erased": "Cinderthimble",
    "foreign": "Foxglovemoor",
}
STATEMENTS = {
    "live": ("Stove of the {}", "The {} burns pellets and is swept every May."),
    "forgotten": ("Key of the {}", "Whoever closes the {} hangs its key behind the barrel."),
    "expired": ("Road to the {}", "Until the thaw the road to the {} is closed to lorries."),
    "superseded": ("Roof of the {}", "Sven mended the {} with larch shingles in two days."),
    "erased": ("Guests of the {}", "The {} had forty guests who paid in silver."),
    "foreign": ("Password of the {}", "Only the other agent may know how the {} is opened."),
}
HIDDEN = ("forgotten", "expired", "superseded", "erased", "foreign")
RETIRED = ("forgotten", "expired", "superseded")
OTHER = Principal("other", "agent")
_MARKED = re.compile(r"\bstatus\W+retired\b")  # as a value: each version has fields named retired_…


@dataclass
class World:
    """The planted rows, and ways to call each kind of surface as the owner or as the agent `robo`."""

    settings: Settings
    vault: Path
    ids: dict[str, str]
    embedder: Embedder
    stack: ExitStack
    environment: pytest.MonkeyPatch
    _clients: dict[str, TestClient] = field(default_factory=dict)

    def client(self, who: str) -> TestClient:
        """The service as a principal."""
        if who not in self._clients:
            settings = replace(self.settings, principal=who, principal_role="owner" if who == "owner" else "agent")
            store = self.stack.enter_context(Store(role_dsn(settings, "reader"), pool_size=9))
            recall = Recall(store, self.embedder)
            self.stack.callback(recall.close)
            client = TestClient(build_app(recall, settings), base_url="http://127.0.0.1:8321")
            self._clients[who] = self.stack.enter_context(client)
        return self._clients[who]

    def rest(self, who: str, method: str, path: str, body: Any = None) -> str:
        """What a route says."""
        answer = self.client(who).request(method, path, json=body)
        assert answer.status_code < 500, answer.text
        return answer.text

    def tool(self, who: str, name: str, arguments: Mapping[str, Any]) -> str:
        """What a tool says, as text and as structure."""
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        headers = {"Accept": "application/json, text/event-stream"}
        answer = self.client(who).post("/mcp", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.text

    def kos(self, who: str, *arguments: str) -> str:
        """What a command prints, or the problem that it ends with."""
        self.environment.setenv("KOS_PRINCIPAL", who)
        self.environment.setenv("KOS_ROLE", "owner" if who == "owner" else "agent")
        result = typer.testing.CliRunner().invoke(app, list(arguments))
        assert not isinstance(result.exception, AssertionError | TypeError | KeyError), result.exception
        return f"{result.output}\n{result.exception or ''}"


Call = Callable[[World, str], list[str]]


@dataclass(frozen=True)
class Surface:
    """`kind`: recall, audit or neutral; `call` gives what it says to a principal. Without one: `reason`."""

    kind: str
    call: Call | None = None
    reason: str = ""


def _queries(world: World) -> list[str]:
    return [*WORDS.values(), *(STATEMENTS[name][1].format(word) for name, word in WORDS.items()), *world.ids.values()]


def _each(say: Callable[[World, str, str], str]) -> Call:
    """A call for each planted id."""
    return lambda world, who: [say(world, who, memory_id) for memory_id in world.ids.values()]


def _gone(say: Callable[[World, str, str], str]) -> Call:
    """A call for the ids that this principal has nothing to decide about: they look unknown."""
    return lambda world, who: [say(world, who, world.ids[name]) for name in (("erased",) if who == "owner" else WORDS)]


NOTE = {"heading": "Bench", "content": "The bench by the spring was painted green."}
MEMORY = "/v1/memories/{memory_id}"
REST = {
    "POST /v1/search": Surface(
        "recall", lambda w, who: [w.rest(who, "POST", "/v1/search", {"query": q, "limit": 50}) for q in _queries(w)]
    ),
    f"GET {MEMORY}": Surface("recall", _each(lambda w, who, i: w.rest(who, "GET", f"/v1/memories/{i}"))),
    "GET /v1/memories": Surface(
        "recall", lambda w, who: [w.rest(who, "GET", "/v1/memories?" + "&".join(f"id={i}" for i in w.ids.values()))]
    ),
    f"GET {MEMORY}/history": Surface("audit", _each(lambda w, who, i: w.rest(who, "GET", f"/v1/memories/{i}/history"))),
    "GET /v1/review": Surface("audit", lambda w, who: [w.rest(who, "GET", "/v1/review?limit=200")]),
    "POST /v1/memories": Surface("neutral", lambda w, who: [w.rest(who, "POST", "/v1/memories", NOTE)]),
    f"POST {MEMORY}/restore": Surface(
        "neutral", _gone(lambda w, who, i: w.rest(who, "POST", f"/v1/memories/{i}/restore"))
    ),
    f"POST {MEMORY}/forget": Surface(
        "neutral", _gone(lambda w, who, i: w.rest(who, "POST", f"/v1/memories/{i}/forget"))
    ),
    f"POST {MEMORY}/verify": Surface(
        "neutral", _each(lambda w, who, i: w.rest(who, "POST", f"/v1/memories/{i}/verify", {"how": "test"}))
    ),
    f"POST {MEMORY}/boost": Surface(
        "neutral", _each(lambda w, who, i: w.rest(who, "POST", f"/v1/memories/{i}/boost", {"factor": 1}))
    ),
    "POST /v1/review/resolve": Surface(
        "neutral",
        _each(
            lambda w, who, i: w.rest(
                who, "POST", "/v1/review/resolve", {"left": i, "right": w.ids["erased"], "keep": "both"}
            )
        ),
    ),
    "GET /": Surface("neutral", lambda w, who: [w.rest(who, "GET", "/")]),
    "GET /openapi.json": Surface("neutral", lambda w, who: [w.rest(who, "GET", "/openapi.json")]),
    "POST /mcp": Surface("neutral", reason="its tools are surfaces of their own, below"),
    "DELETE /mcp": Surface("neutral", reason="it ends a session, and there are none"),
    "GET /healthz": Surface("neutral", lambda w, who: [w.rest(who, "GET", "/healthz")]),
    "GET /readyz": Surface("neutral", lambda w, who: [w.client(who).get("/readyz").text]),
}
TOOLS = {
    "search_memories": Surface(
        "recall", lambda w, who: [w.tool(who, "search_memories", {"query": q, "limit": 50}) for q in _queries(w)]
    ),
    "fetch_memory": Surface("recall", lambda w, who: [w.tool(who, "fetch_memory", {"ids": list(w.ids.values())})]),
    "memory_history": Surface("audit", _each(lambda w, who, i: w.tool(who, "memory_history", {"memory_id": i}))),
    "review_memories": Surface("audit", lambda w, who: [w.tool(who, "review_memories", {"limit": 200})]),
    "write_memory": Surface("neutral", lambda w, who: [w.tool(who, "write_memory", NOTE)]),
    "restore_memory": Surface("neutral", _gone(lambda w, who, i: w.tool(who, "restore_memory", {"memory_id": i}))),
    "forget_memory": Surface("neutral", _gone(lambda w, who, i: w.tool(who, "forget_memory", {"memory_id": i}))),
    "verify_memory": Surface(
        "neutral", _each(lambda w, who, i: w.tool(who, "verify_memory", {"memory_id": i, "how": "test"}))
    ),
}
_STARTS = "it starts servers; what they serve is tested above"
_DRILLS = "it works on a throw-away database and vault"
_FIGURES = "it prints figures about public texts of its own"
COMMANDS = {
    "search": Surface(
        "recall",
        lambda w, who: [
            w.kos(who, "search", word, "--limit", "50", *how) for word in WORDS.values() for how in ((), ("--json",))
        ],
    ),
    "fetch": Surface("recall", lambda w, who: [w.kos(who, "fetch", i) for i in w.ids.values()]),
    "history": Surface("audit", _each(lambda w, who, i: w.kos(who, "history", i, "--json"))),
    "review": Surface("audit", lambda w, who: [w.kos(who, "review", "--json")]),
    "review resolve": Surface(
        "neutral",
        lambda w, who: [w.kos(who, "review", "resolve", w.ids["live"], w.ids["erased"], "--keep", "both")],
    ),
    "review adopt": Surface(
        "neutral", lambda w, who: [w.kos(who, "review", "adopt", f"memories/global/{w.ids['erased']}.md")]
    ),
    "write": Surface("neutral", lambda w, who: [w.kos(who, "write", "Door", "The door of the shed sticks in rain.")]),
    "restore": Surface("neutral", _gone(lambda w, who, i: w.kos(who, "restore", i))),
    "forget": Surface("neutral", _gone(lambda w, who, i: w.kos(who, "forget", i))),
    "verify": Surface("neutral", lambda w, who: [w.kos(who, "verify", w.ids["forgotten"], "--how", "test")]),
    "boost": Surface("neutral", lambda w, who: [w.kos(who, "boost", w.ids["foreign"], "1")]),
    "ingest": Surface("neutral", lambda w, who: [w.kos(who, "ingest", "--json")]),
    "status": Surface("neutral", lambda w, who: [w.kos(who, "status"), w.kos(who, "status", "--folded")]),
    "quarantine": Surface("neutral", lambda w, who: [w.kos(who, "quarantine")]),
    "hygiene": Surface("neutral", lambda w, who: [w.kos(who, "hygiene", "--dry-run", "--json")]),
    "migrate": Surface("neutral", lambda w, who: [w.kos(who, "migrate")]),
    "init": Surface("neutral", reason="it reads files of the vault and no store, and prints paths and reasons"),
    "vault check": Surface("neutral", reason="it reads files of the vault and no store; tests/hostile"),
    "fuzz": Surface("neutral", reason="it reads what it makes up"),
    "hooks install": Surface("neutral", reason="it writes an agent's settings; tests/unit/operations"),
    "hooks remove": Surface("neutral", reason="it writes an agent's settings"),
    "hooks status": Surface("neutral", reason="it reads an agent's settings"),
    "hooks measure": Surface("neutral", reason="it times a process"),
    "mirror": Surface("neutral", reason="it prints counts, codes and paths of a source; tests/unit/writers"),
    "rebuild": Surface("neutral", reason="it prints counts and ids; tests/integration/operations compares both stores"),
    "reembed": Surface("neutral", reason="it prints counts of vectors"),
    "backfill": Surface("neutral", reason="it starts a Dagster run and prints its id"),
    "nightly": Surface("neutral", reason="it starts a Dagster run and prints its id"),
    "up": Surface("neutral", reason=_STARTS),
    "serve": Surface("neutral", reason=_STARTS),
    "mcp": Surface("neutral", reason=_STARTS),
    "stop": Surface("neutral", reason="it stops the database"),
    "demo": Surface("neutral", reason="it makes an installation of its own"),
    "calibrate": Surface("neutral", reason=_FIGURES),
    "calibrate-gate": Surface("neutral", reason=_FIGURES),
    "fire writers": Surface("neutral", reason=_DRILLS),
    "fire kills": Surface("neutral", reason=_DRILLS),
    "try-gate": Surface("neutral", reason="it reads the folders that it is given, and no store"),
    "bench": Surface("neutral", reason=_FIGURES),
    "eval": Surface("neutral", reason=_FIGURES),
}


def _statement(name: str, **values: Any) -> Statement:
    heading, content = (text.format(WORDS[name]) for text in STATEMENTS[name])
    return Statement(heading, content, "global", key=name, memory_type="semantic", **values)


def _plant(gate: Gate, now: datetime) -> dict[str, str]:
    """Every planted row, through the gate: ids by name."""
    before = now - timedelta(days=2)
    ids: dict[str, UUID] = {}
    for name in ("live", "forgotten", "superseded", "erased"):
        ids[name] = write_memory(gate, _statement(name), principal=OWNER, at=now).memory_id
    passing = _statement("expired", expires_at=now - timedelta(days=1))
    ids["expired"] = write_memory(gate, passing, principal=OWNER, at=before).memory_id
    foreign = replace(_statement("foreign"), namespace="agent:other")
    ids["foreign"] = write_memory(gate, foreign, principal=OTHER, at=now).memory_id
    newer = Statement("Roof", "Sven mended the roof with slate.", "global", supersedes=ids["superseded"])
    assert write_memory(gate, newer, principal=OWNER, at=now).superseded == ids["superseded"]
    forget(gate, ids["forgotten"], principal=OWNER, at=now)
    erase(gate, [ids["erased"]], principal=OWNER, at=now, delete_file=True)
    return {name: str(ids[name]) for name in WORDS}


@pytest.fixture
def world(database: Settings, tmp_path: Path, embedder: Embedder, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A vault with a note, and the planted rows; an open review item joins a live row to a retired one."""
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "note.md").write_text("# Spring\n\nThe spring behind the hut never freezes.\n")
    settings = replace(database, vault=vault, stamp_quiet_s=0.0)
    with testing.store(settings) as store:
        ingest_vault(store, embedder, settings)
        ids = _plant(open_gate(store, settings, embedder), datetime.now(UTC))
    with testing.connect(settings) as owner:
        owner.execute(
            "insert into kos.review_items (kind, namespace, memory_id, other_id, code, opened_at) "
            "values ('contradiction', 'global', %s, %s, 'number', now())",
            [ids["live"], ids["superseded"]],
        )
    for name, value in (
        ("KOS_DSN", settings.dsn), ("KOS_DAGSTER_DSN", settings.dagster_dsn), ("KOS_DATA_DIR", settings.data_dir),
        ("KOS_VAULT", vault), ("KOS_STAMP_QUIET_S", "0"), ("COLUMNS", "1000"),
    ):  # fmt: skip
        monkeypatch.setenv(name, str(value))
    with ExitStack() as stack:
        yield World(settings, vault, ids, embedder, stack, monkeypatch)


def _routes(routes: Iterable[Any], prefix: str = "") -> Iterator[str]:
    """Every method and path that is served, whether it is documented or not."""
    for route in routes:
        inner = getattr(route, "original_router", route)  # how FastAPI keeps an included router
        if getattr(inner, "routes", None) is not None:
            yield from _routes(inner.routes, prefix + getattr(route, "path", ""))
        else:
            yield from (f"{method} {prefix}{route.path}" for method in set(route.methods) - {"HEAD"})


def _commands(command: Any, path: str = "") -> Iterator[str]:
    children = getattr(command, "commands", {})
    for name, child in children.items():
        yield from _commands(child, f"{path} {name}".strip())
    if path and (not children or command.invoke_without_command):
        yield path


def _shown(texts: list[str]) -> set[str]:
    """The names of the planted rows of which some text says the word."""
    whole = "\n".join(texts).lower()
    return {name for name, word in WORDS.items() if word.lower() in whole}


def test_every_surface_is_registered(world: World) -> None:
    """S5: a new route, tool or command fails here until it is placed; one that is gone has to go."""
    document = json.loads(world.rest("owner", "GET", "/openapi.json"))
    routes = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    served = list(_routes(getattr(world.client("owner").app, "routes")))  # noqa: B009 an ASGI app has no type
    assert set(served) == set(REST)
    assert routes < set(served), "a documented route that the walk above missed"
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    listed = world.client("owner").post("/mcp", json=body, headers={"Accept": "application/json, text/event-stream"})
    assert {tool["name"] for tool in listed.json()["result"]["tools"]} == set(TOOLS)
    for kind in ("resources", "resources/templates", "prompts"):
        other = world.client("owner").post(
            "/mcp", json={**body, "method": f"{kind}/list"}, headers={"Accept": "application/json, text/event-stream"}
        )
        assert not [items for items in other.json().get("result", {}).values() if items], f"MCP {kind} are a surface"
    assert set(_commands(typer.main.get_command(app))) == set(COMMANDS)
    for surface in (*REST.values(), *TOOLS.values(), *COMMANDS.values()):
        assert surface.kind in {"recall", "audit", "neutral"}
        assert (surface.call is None) == bool(surface.reason)
        assert surface.call is not None or surface.kind == "neutral"


@pytest.mark.parametrize("family", [REST, TOOLS, COMMANDS], ids=["rest", "mcp", "kos"])
def test_no_surface_shows_what_it_must_not(world: World, family: Mapping[str, Surface]) -> None:
    """S5, S6, S7, S11: recall shows live rows of one's own namespaces alone; audit shows the owner what is retired,
    marked so, and an agent nothing of others; what is erased nobody sees; no other surface says stored text."""
    for name, surface in sorted(family.items(), key=lambda item: item[1].kind == "neutral"):
        if surface.call is None:
            continue
        for who in ("owner", "robo", "other") if surface.kind != "neutral" else ("owner", "robo"):
            said = surface.call(world, who)
            assert said, name
            if surface.kind == "recall":
                _check_recall(f"{name} as {who}", said, who)
            elif surface.kind == "audit":
                _check_audit(f"{name} as {who}", said, who)
            else:
                assert not _shown(said), f"{name} as {who} says stored text"


def _check_recall(name: str, said: list[str], who: str) -> None:
    asked = [re.sub(r'"query":\s*"[^"]*"|\\"query\\":\s*\\"[^"]*\\"', "", text) for text in said]
    assert _shown(asked) == ({"live", "foreign"} if who == "other" else {"live"}), name


def _check_audit(name: str, said: list[str], who: str) -> None:
    if who != "owner":
        own = {"foreign"} if who == "other" and "history" in name else set()
        assert _shown(said) == own, f"{name}: an agent sees its own namespace alone"
        assert not [text for text in said if _MARKED.search(text)], name
        return
    assert "erased" not in _shown(said), name
    wanted = {"live", "superseded"} if "review" in name else set(WORDS) - {"erased"}
    assert _shown(said) == wanted, name
    for text in said:
        if _shown([text]) & set(RETIRED):
            assert _MARKED.search(text), f"{name} shows a retired row unmarked"


def test_no_live_view_shows_what_is_not_live(world: World) -> None:
    """S5, S6: each view that recall reads, as kos_reader with the owner's namespaces: no word and no id of a bad row,
    but for the id that a correction names as what it superseded."""
    with testing.connect(world.settings) as owner:
        found = owner.execute(
            "select relname::text from pg_class where relnamespace = 'kos'::regnamespace and relkind in ('v', 'm')"
            " and relname like 'live%'"
        ).fetchall()
    views = {str(row[0]) for row in found}
    assert {"live_memories", "live_chunks", "live_embeddings", "live_edges", "live_postings"} <= views
    for view in sorted(views):
        with testing.connect(world.settings, "reader") as reader, reader.transaction():
            reader.execute("select set_config('kos.namespaces', 'global,shared:owner', true)")
            query = sql.SQL("select (to_jsonb(v) - 'supersedes')::text from kos.{} as v").format(sql.Identifier(view))
            texts = [str(row[0]) for row in reader.execute(query).fetchall()]
        assert not _shown(texts) - {"live"}, view
        assert not [name for name in HIDDEN if world.ids[name] in "\n".join(texts)], view
        assert world.ids["live"] in "\n".join(texts) or view in {"live_edges", "live_postings"}, view


def test_without_a_namespace_nothing_is_live(world: World) -> None:
    """S6: a connection that names no namespace sees no row of any live view."""
    with testing.connect(world.settings, "reader") as reader:
        for view in ("live_memories", "live_chunks", "live_embeddings", "live_edges", "live_postings"):
            count = sql.SQL("select count(*) from kos.{}").format(sql.Identifier(view))
            assert reader.execute(count).fetchone() == (0,), view
