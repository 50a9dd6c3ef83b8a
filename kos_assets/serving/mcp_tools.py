"""What every MCP tool of ours shares: schemas small enough for an agent's context, failures in the words of REST (X2).

Not here: the tools (mcp.py, mcp_life.py).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import mcp_types
from fastmcp.exceptions import ToolError, ValidationError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import FunctionTool, ToolResult
from mcp_types import ToolAnnotations
from pydantic import BaseModel
from pydantic import ValidationError as PydanticValidationError
from pydantic_core import to_json

from kos_assets.errors import KosError
from kos_assets.serving.problems import input_error, problem

READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_KEPT_IN = frozenset(
    {"type", "enum", "items", "description", "default", "minimum", "maximum", "minItems", "maxItems", "required"}
)
_KEPT_OUT = frozenset({"type", "items"})


def make_tool(
    function: Any, title: str, description: str, answer: type[BaseModel], annotations: ToolAnnotations
) -> FunctionTool:
    """A tool whose schemas are small: the function's arguments, and `answer` as the shape of its structure."""
    tool = FunctionTool.from_function(
        function,
        title=title,
        description=description,
        annotations=annotations,
        output_schema=small_schema(answer.model_json_schema(), described=False),
    )
    tool.parameters = small_schema(tool.parameters, described=True)
    return tool


def small_schema(schema: Mapping[str, Any], *, described: bool) -> dict[str, Any]:
    """The same JSON schema in fewer tokens: references inlined, titles and formats gone, `T or null` as one type.

    An input (`described`) keeps its descriptions and loses `null`: leaving an argument out is the way to say it. An
    output keeps names and types.
    """
    definitions = schema.get("$defs", {})
    wanted = _KEPT_IN if described else _KEPT_OUT

    def small(node: Mapping[str, Any]) -> dict[str, Any]:
        if "$ref" in node:
            return small(definitions[node["$ref"].rsplit("/", 1)[1]])
        kept = {key: value for key, value in node.items() if key in wanted and value not in (None, "")}
        if "anyOf" in node:
            real = [option for option in node["anyOf"] if option != {"type": "null"}]
            kept = small(real[0]) | kept
            if len(real) < len(node["anyOf"]) and not described:
                kept["type"] = [kept["type"], "null"]
        if "items" in kept:
            kept["items"] = small(kept["items"])
        if "properties" in node:
            kept["properties"] = {name: small(value) for name, value in node["properties"].items()}
        return kept

    return small(schema)


@contextmanager
def expected_failures() -> Iterator[None]:
    """A failure that a caller can act on becomes a ToolError whose text is the problem JSON that REST answers with."""
    try:
        yield
    except KosError as error:
        raise _tool_error(error) from error
    except PydanticValidationError as error:
        raise _tool_error(_said_wrong(error)) from None


class Arguments(Middleware):
    """Says what is wrong with a call's arguments in the same words as REST; FastMCP would print pydantic's report."""

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        try:
            return await call_next(context)
        except ValidationError as error:
            if isinstance(error.__cause__, PydanticValidationError):
                raise _tool_error(_said_wrong(error.__cause__)) from None
            raise


def _said_wrong(error: PydanticValidationError) -> KosError:
    return input_error(error.errors(include_url=False, include_context=False, include_input=False))


def _tool_error(error: KosError) -> ToolError:
    return ToolError(to_json(problem(error)).decode(), log_level=logging.INFO)
