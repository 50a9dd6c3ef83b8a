"""Any request whatever, over REST and MCP, on a real database and vault: no defect, and nothing half written (G1)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.domain.vocabulary import MEMORY_TYPES

REFUSED = {403, 404, 413, 422}
REFUSALS = {"forbidden", "not_found", "invalid_input"}
UNKNOWN = "00000000-0000-4000-8000-000000000000"

anything = st.text(st.characters(exclude_categories=()), max_size=30)  # half surrogate pairs too
words = st.sampled_from(["port", "8443", "9443", "gateway", "not", "Tür", "2026-03-04", "\u2028", "---", "# x", "| a"])
texts = st.lists(words, min_size=1, max_size=5).map(" ".join)
seconds = st.integers(200, 2_000_000)  # far from now: the clock goes on between the draw and the write
past = seconds.map(lambda s: (datetime.now(UTC) - timedelta(seconds=s)).isoformat())
future = seconds.map(lambda s: (datetime.now(UTC) + timedelta(seconds=s)).isoformat())
odd_times = st.one_of(st.datetimes().map(datetime.isoformat), st.sampled_from(
    ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "2026-02-30T00:00:00Z", "2026-03-04", "24:00"]
))  # fmt: skip
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | anything,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(anything, inner, max_size=3),
    max_leaves=5,
)


def mostly(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Nine times what fits the field, once anything."""
    return st.integers(0, 9).flatmap(lambda n: good if n else json_values)


statements = st.fixed_dictionaries(
    {"heading": mostly(texts), "content": mostly(texts | anything)},
    optional={
        "namespace": mostly(st.sampled_from([*["global", "shared:owner", "agent:robo"] * 3, "agent:", "a/b", ""])),
        "key": mostly(st.uuids().map(str) | st.sampled_from("abc")),
        "memory_type": mostly(st.sampled_from(MEMORY_TYPES)),
        "provenance": mostly(st.sampled_from(["raw", "derived", "output"])),
        "confidence": mostly(st.floats(0, 1)),
        "event_at": mostly(past | past | odd_times | future),
        "event_zone": mostly(st.sampled_from([*["Europe/Berlin", "UTC"] * 4, "Europe", "../etc", ""])),
        "expires_at": mostly(future | future | odd_times | past),
        "supersedes": mostly(st.sampled_from(["last", UNKNOWN])),
    },
)
tame = st.fixed_dictionaries(
    {"heading": texts, "content": texts, "namespace": st.sampled_from(["global", "shared:owner", "agent:robo"])},
    optional={"key": st.uuids().map(str), "event_at": past, "expires_at": future, "confidence": st.floats(0, 1)},
)
batches = st.lists(st.tuples(tame | statements, st.sampled_from(["rest", "mcp"])), min_size=1, max_size=5)


def _sent(life: Any, client: TestClient, statement: dict[str, Any], transport: str) -> dict[str, Any] | None:
    """The payload of a write, or None for a refusal that a caller can act on."""
    if transport == "rest":
        headers = {"Content-Type": "application/json"}
        answer = client.post("/v1/memories", content=json.dumps(statement), headers=headers)
        assert answer.status_code in {200, 201, 202} | REFUSED, answer.text
        return None if answer.status_code in REFUSED else dict(answer.json())
    result = life.tool(client, "write_memory", statement)
    if not result.get("isError"):
        return dict(result["structuredContent"])
    if "error" in result:  # the message is no JSON-RPC: half a surrogate pair
        assert result["error"]["code"] in {-32700, -32600, -32602}, result
        return None
    assert json.loads(result["content"][0]["text"])["code"] in REFUSALS, result
    return None


def test_no_write_is_a_defect_and_none_is_half_done(life: Any) -> None:
    """G1, G5, V6: after any batch there are as many rows as accepted files as records of writes in the ledger."""
    client = life.client()
    last, seen = [UNKNOWN], set()

    @settings(max_examples=80)
    @given(batches, st.booleans())
    def run(batch: list[tuple[dict[str, Any], str]], away: bool) -> None:
        life.embedder.away = away
        for statement, transport in batch:
            whole = {**statement, **({"supersedes": last[0]} if statement.get("supersedes") == "last" else {})}
            payload = _sent(life, client, whole, transport)
            seen.add(None if payload is None else payload["action"])
            if payload is None:
                continue
            last[0] = payload["memory_id"]
            assert (life.vault / payload["path"]).is_file()
            if whole.get("key"):
                again = _sent(life, client, whole, "mcp" if transport == "rest" else "rest")
                assert again is not None
                seen.add(again["action"])
                assert (again["memory_id"], again["action"] in {"retry", "pending"}) == (payload["memory_id"], True)
        rows, files, records = life.sums()
        assert rows == files == records

    run()
    assert {None, "insert", "pending", "retry"} <= seen, f"only {seen}: this proves little"


def _operations(client: TestClient) -> list[tuple[str, str]]:
    paths = client.get("/openapi.json").json()["paths"]
    return [(method.upper(), path) for path, methods in paths.items() for method in methods]


def _names(client: TestClient, life: Any) -> list[str]:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    answer = client.post("/mcp", json=body, headers={"Accept": "application/json, text/event-stream"})
    assert life.vault
    return [tool["name"] for tool in answer.json()["result"]["tools"]]


fields = st.sampled_from(
    ["how", "factor", "instead", "left", "right", "keep", "query", "limit", "ids", "memory_id", "kinds", "heading",
     "content", "since", "types", "session"]
)  # fmt: skip


@pytest.fixture
def bodies(life: Any) -> st.SearchStrategy[Any]:
    """Objects with the fields of all routes, or anything."""
    client = life.client()
    written = client.post("/v1/memories", json={"heading": "Here", "content": "There."}).json()["memory_id"]
    likely = st.sampled_from([written, UNKNOWN, "test", "left", "both", True, 2, [written], ["stale"], "", []])
    return st.dictionaries(fields, likely | json_values, max_size=4) | json_values


def test_no_route_answers_anything_with_a_defect(life: Any, bodies: Any) -> None:
    """X1: every operation of the OpenAPI document with any body and id."""
    client = life.client()
    operations = _operations(client)
    own = client.post("/v1/memories", json={"heading": "Path", "content": "Its id stands in one."}).json()["memory_id"]

    @settings(max_examples=80)
    @given(st.sampled_from(operations), bodies, st.sampled_from([own, own, UNKNOWN, "x", "%00", "%ff"]))
    def run(operation: tuple[str, str], body: Any, name: str) -> None:
        method, path = operation
        content = json.dumps(body) if method == "POST" else None
        headers = {"Content-Type": "application/json"}
        answer = client.request(method, path.replace("{memory_id}", name), content=content, headers=headers)
        assert answer.status_code < 500 or path == "/readyz", answer.text

    run()
    rows, files, records = life.sums()
    assert rows == files == records


def test_no_tool_answers_anything_with_a_defect(life: Any, bodies: Any) -> None:
    """X2: every tool with any arguments ends with a result or a problem that is not `internal`."""
    client = life.client()

    @settings(max_examples=60)
    @given(st.sampled_from(_names(client, life)), bodies)
    def run(name: str, arguments: Any) -> None:
        result = life.tool(client, name, arguments)
        if result.get("isError") and "error" not in result:
            assert json.loads(result["content"][0]["text"])["code"] in REFUSALS, result

    run()
    rows, files, records = life.sums()
    assert rows == files == records
