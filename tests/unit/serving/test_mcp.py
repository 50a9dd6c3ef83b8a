"""The MCP surface around a recall, through FastMCP's client in memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from fastmcp import Client
from fastmcp.exceptions import ToolError
from pydantic import BaseModel

from kos_assets.errors import StoreUnavailableError
from kos_assets.serving.frame import fetch_text, search_text
from kos_assets.serving.life_models import HistoryAnswer, Restore, ReviewAnswer, Verify, WriteRequest, Written
from kos_assets.serving.life_service import LifeService
from kos_assets.serving.mcp import build_mcp
from kos_assets.serving.models import FetchAnswer, SearchAnswer, SearchRequest
from kos_assets.serving.service import Service
from kos_assets.settings import Settings

T = TypeVar("T")
Ask = Callable[[Callable[[Client[Any]], Awaitable[Any]]], Any]
MOST_TOKENS = 2800
MOST_TOKENS_RECALL = 900
NAMES = [
    "search_memories", "fetch_memory", "write_memory", "memory_history", "restore_memory", "verify_memory",
    "forget_memory", "review_memories",
]  # fmt: skip
READ_ONLY = {"search_memories", "fetch_memory", "memory_history", "review_memories"}


@pytest.fixture
def ask(recall: Any, settings: Settings) -> Ask:
    """Run one coroutine with a client of the server; the service's own session is `stdio-1`."""

    def run(call: Callable[[Client[Any]], Awaitable[T]]) -> T:
        async def whole() -> T:
            service = Service(recall, settings, session="stdio-1")
            life = LifeService(service)
            try:
                async with Client(build_mcp(service, life)) as client:
                    return await call(client)
            finally:
                service.close()
                life.close()

        return asyncio.run(whole())

    return run


def failure(ask: Ask, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The problem that a call ends with."""
    with pytest.raises(ToolError) as caught:
        ask(lambda client: client.call_tool(name, arguments))
    return dict(json.loads(str(caught.value)))


def _tokens(tools: Any) -> float:
    sent = [tool.model_dump(by_alias=True, exclude_none=True) for tool in tools]
    return len(json.dumps(sent, ensure_ascii=False, separators=(",", ":"))) / 3.5


def test_eight_annotated_tools_in_few_tokens(ask: Ask) -> None:
    """X2: a small surface, annotated, with output schemas; each agent pays for it in every context."""
    tools = ask(lambda client: client.list_tools())
    assert [tool.name for tool in tools] == NAMES
    for tool in tools:
        assert tool.annotations.read_only_hint is (tool.name in READ_ONLY)
        assert tool.annotations.open_world_hint is False
        assert tool.output_schema["type"] == "object"
    assert {tool.name for tool in tools if tool.annotations.destructive_hint} == {"restore_memory", "forget_memory"}
    assert _tokens(tools) < MOST_TOKENS
    assert _tokens(tools[:2]) < MOST_TOKENS_RECALL


def test_tool_schemas_have_the_fields_of_the_models(ask: Ask) -> None:
    """X1: what MCP documents is what REST documents."""
    tools = {tool.name: tool for tool in ask(lambda client: client.list_tools())}
    requests: dict[str, set[str]] = {
        "search_memories": set(SearchRequest.model_fields),
        "write_memory": set(WriteRequest.model_fields),
        "restore_memory": {"memory_id", *Restore.model_fields},
        "verify_memory": {"memory_id", *Verify.model_fields},
    }
    for name, fields in requests.items():
        assert set(tools[name].input_schema["properties"]) == fields
    answers: list[tuple[str, type[BaseModel], str, str]] = [
        ("search_memories", SearchAnswer, "results", "SearchResult"),
        ("fetch_memory", FetchAnswer, "memories", "Memory"),
        ("write_memory", Written, "beside", "Neighbour"),
        ("memory_history", HistoryAnswer, "versions", "Version"),
        ("review_memories", ReviewAnswer, "items", "Item"),
    ]
    for name, model, items, nested in answers:
        schema = tools[name].output_schema
        assert set(schema["properties"]) == set(model.model_fields)
        wanted = model.model_json_schema()["$defs"][nested]["properties"]
        assert set(schema["properties"][items]["items"]["properties"]) == set(wanted)


def test_structure_is_the_payload_and_text_states_the_same(ask: Ask, recall: Any, samples: Any) -> None:
    """X1, R2: structured content is the shared payload; text is made from it alone."""
    searched = ask(lambda client: client.call_tool("search_memories", {"query": "kafka", "types": ["semantic"]}))
    assert searched.structured_content == samples.found()
    assert [block.text for block in searched.content] == [search_text(samples.found())]
    read = ask(lambda client: client.call_tool("fetch_memory", {"ids": [str(samples.known), str(samples.unknown)]}))
    payload = {"memories": [samples.memory()], "missing": [str(samples.unknown)]}
    assert read.structured_content == payload
    assert [block.text for block in read.content] == [fetch_text(payload)]
    assert (recall.queries[0].types, recall.queries[0].session) == (("semantic",), "stdio-1")
    assert recall.reads[0]["session"] == "stdio-1"


def test_null_is_the_same_as_leaving_an_argument_out(ask: Ask, recall: Any) -> None:
    """X2: clients that send every argument work."""
    nothing = dict.fromkeys(["namespaces", "types", "home", "since", "until", "as_of", "session"])
    ask(lambda client: client.call_tool("search_memories", {"query": "kafka", **nothing}))
    assert (recall.queries[0].types, recall.queries[0].home) == ((), None)


@pytest.mark.parametrize(
    ("name", "arguments", "code", "named"),
    [
        ("search_memories", {"query": "x" * 4001}, "invalid_input", "query"),
        ("search_memories", {"query": "a\x00"}, "invalid_input", "query"),
        ("search_memories", {"query": "x", "limit": 101}, "invalid_input", "limit"),
        ("search_memories", {"query": "x", "types": ["fact"]}, "invalid_input", "types"),
        ("search_memories", {"query": "x", "since": "soon"}, "invalid_input", "since"),
        ("search_memories", {"qurey": "x"}, "invalid_input", "qurey"),
        ("search_memories", {"query": "x", "namespaces": ["agent:other"]}, "forbidden", "global"),
        ("fetch_memory", {"ids": []}, "invalid_input", "ids"),
        ("fetch_memory", {"ids": ["nope"]}, "invalid_input", "ids"),
        ("fetch_memory", {"ids": ["00000000-0000-4000-8000-000000000000"]}, "not_found", "retired"),
    ],
)
def test_expected_failures_are_problems_as_over_rest(
    ask: Ask, name: str, arguments: dict[str, Any], code: str, named: str
) -> None:
    """X2: a ToolError with code, reason and next step."""
    problem = failure(ask, name, arguments)
    assert set(problem) == {"code", "what", "why", "next"}
    assert problem["code"] == code
    assert named in problem["why"]
    assert problem["next"]


def test_an_outage_and_a_defect_are_told_apart(ask: Ask, recall: Any, samples: Any) -> None:
    """X5, P7: the outage says what to do, the defect hides its words."""
    recall.failure = StoreUnavailableError("The database does not answer.", fix="Start it.")
    assert failure(ask, "search_memories", {"query": "x"})["code"] == "store_unavailable"
    recall.failure = KeyError("a secret sentence")
    problem = failure(ask, "fetch_memory", {"ids": [str(samples.known)]})
    assert problem["code"] == "internal"
    assert "secret" not in json.dumps(problem)
