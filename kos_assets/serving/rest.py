"""The REST routes: search and fetch. Thin: a request model in, the shared payload out, failures as problem JSON."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Body, Path, Query
from fastapi.responses import JSONResponse

from kos_assets.recall.search import MAX_FETCH
from kos_assets.serving.models import FetchAnswer, Problem, SearchAnswer, SearchRequest, ShortText
from kos_assets.serving.service import Service

SEARCH_EXAMPLE = {
    "query": "why did we leave Kafka",
    "confidence": "strong",
    "advice": "Use these results.",
    "mode": "hybrid",
    "calibrated": True,
    "trace_id": "0199d2c4-7f1e-7c3a-9a51-0d4c6f0b7a11",
    "results": [
        {
            "memory_id": "6f1d0a52-3c1b-5b8e-9b6e-2f5a7f0c9d31",
            "index_line": (
                "[6f1d0a52-3c1b-5b8e-9b6e-2f5a7f0c9d31] Queue decision — "
                "We leave Kafka for Postgres queues: one system less to run, and our peak of 300 …"
            ),
            "heading": "Queue decision",
            "namespace": "global",
            "memory_type": "semantic",
            "provenance": "raw",
            "confidence": 0.95,
            "event_at": "2026-03-02T09:00:00Z",
            "verified_at": None,
            "stale": False,
            "index_behind": False,
            "path": "decisions/queue.md",
            "score": 0.87,
            "matched_by": ["words", "meaning"],
            "similar_to": [],
        }
    ],
    "notes": [],
}
_WHEN = {
    403: "`forbidden`: a namespace that this service may not read, or what it may not write or end.",
    404: "`not_found`: no memory that may be read here has that id; unknown, foreign and, for recall, retired ids look "
    "the same.",
    413: "`too_large`: the request body is over the limit.",
    421: "`misdirected`: the Host header does not name this machine's loopback.",
    422: "`invalid_input`: a field is missing, unknown or out of range; nothing was done.",
    500: "`internal` or `store`: a defect; the service's log has the place.",
    503: "`store_unavailable`, `schema` or `busy`: try again after the seconds in `Retry-After`. `vault` or `config`: "
    "nothing can be written until that is mended; reads go on.",
    504: "`timeout`: no answer in time.",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """OpenAPI entries for the failures of a route."""
    return {
        number: {"description": _WHEN[number], "model": Problem} for number in (*statuses, 413, 421, 422, 500, 503, 504)
    }


def router(service: Service) -> APIRouter:
    """The routes under /v1, answering from `service`."""
    routes = APIRouter(prefix="/v1", tags=["recall"])

    @routes.post(
        "/search",
        summary="Search memories",
        response_model=SearchAnswer,
        responses={200: {"content": {"application/json": {"example": SEARCH_EXAMPLE}}}, **problems(403)},
    )
    async def search(request: Annotated[SearchRequest, Body()]) -> JSONResponse:
        """Find memories by words and by meaning. Returns index lines; fetch an id for its full text.

        `confidence` says how far to trust the answer: with `none`, say that you do not know.
        """
        return JSONResponse(await service.search(request))

    @routes.get(
        "/memories/{memory_id}",
        summary="Fetch one memory in full",
        response_model=FetchAnswer,
        responses=problems(404),
    )
    async def fetch_one(
        memory_id: Annotated[UUID, Path(description="A `memory_id` from a search.")],
        session: Annotated[ShortText | None, Query(description="Your session's name.")] = None,
    ) -> JSONResponse:
        """The full text of one memory, in the same shape as fetching several."""
        return JSONResponse(await service.fetch([memory_id], session))

    @routes.get(
        "/memories", summary="Fetch several memories in full", response_model=FetchAnswer, responses=problems(404)
    )
    async def fetch_several(
        memory_id: Annotated[
            list[UUID],
            Query(alias="id", min_length=1, max_length=MAX_FETCH, description="Repeat it: `?id=…&id=…`."),
        ],
        session: Annotated[ShortText | None, Query(description="Your session's name.")] = None,
    ) -> JSONResponse:
        """Memories in the order asked for; ids that no live memory has are in `missing`. None found: 404."""
        return JSONResponse(await service.fetch(memory_id, session))

    return routes
