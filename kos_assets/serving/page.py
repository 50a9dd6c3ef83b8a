"""The page at `/`: what this is and where things are. Plain text or HTML, nothing loaded from elsewhere."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response

_PLACES = (
    ("POST /v1/search", 'search memories; body: {"query": "…"}'),
    ("GET /v1/memories/{id}", "one memory in full"),
    ("GET /v1/memories?id=…&id=…", "several memories in full"),
    ("POST /v1/memories", 'have it remembered; body: {"heading": "…", "content": "…"}'),
    ("GET /v1/memories/{id}/history", "its versions and changes"),
    ("POST /v1/memories/{id}/restore", "undo a supersede or a forget; also /forget, /verify, /boost"),
    ("GET /v1/review", "what waits for a person; POST /v1/review/resolve settles it"),
    ("POST /mcp", "MCP over streamable HTTP: the same as tools"),
    ("GET /readyz", "can it answer, and how well"),
    ("GET /healthz", "is the process alive"),
    ("GET /openapi.json", "the REST interface, described"),
)
_TITLE = "Knowledge OS"
_LEAD = "The memory of your agents, from your Markdown vault. Local callers only."
_CSP = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


def router() -> APIRouter:
    """The route of the page."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/")
    async def page(request: Request) -> Response:
        if "text/html" in request.headers.get("accept", ""):
            return HTMLResponse(_html(), headers={"Content-Security-Policy": _CSP})
        return PlainTextResponse(_text(str(request.base_url)))

    return routes


def _text(base_url: str) -> str:
    width = max(len(place) for place, _ in _PLACES)
    lines = [f"{_TITLE} {version('knowledge-os')}", _LEAD, ""]
    lines += [f"  {place:<{width}}  {what}" for place, what in _PLACES]
    lines += [
        "",
        "Try:",
        f"  curl -s {base_url}v1/search -H 'Content-Type: application/json' -d '{{\"query\": \"…\"}}'",
        f"  claude mcp add --transport http knowledge-os {base_url}mcp",
    ]
    return "\n".join(lines) + "\n"


def _html() -> str:
    rows = "".join(f"<tr><td><code>{place}</code><td>{what}" for place, what in _PLACES)
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{_TITLE}</title>"
        "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:3rem auto;padding:0 1rem;color:#222}"
        "td{padding:.2rem 1.2rem .2rem 0;vertical-align:top}code{font-size:.9em}</style>"
        f"<h1>{_TITLE} <small>{version('knowledge-os')}</small></h1><p>{_LEAD}</p><table>{rows}</table>"
    )
