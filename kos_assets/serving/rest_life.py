"""The REST routes of a memory's life: write, history, restore, verify, boost, forget, review. Thin, as rest.py."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Body, Header, Path, Query
from fastapi.responses import JSONResponse

from kos_assets.audit.reader import MOST_ITEMS
from kos_assets.errors import InputError
from kos_assets.serving.life_models import (
    Changed,
    HistoryAnswer,
    Kind,
    Resolve,
    Restore,
    ReviewAnswer,
    Verify,
    Weigh,
    WriteRequest,
    Written,
)
from kos_assets.serving.life_service import LifeService
from kos_assets.serving.rest import problems

_STATUS = {"insert": 201, "supersede": 201, "pending": 202, "retry": 200}
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"model": Written, "description": "`retry`: this key wrote it before."},
    201: {"model": Written, "description": "`insert` or `supersede`: it is live."},
    202: {"model": Written, "description": "`pending`: its file stands; it goes live when the embedder answers."},
}
MemoryId = Annotated[UUID, Path(description="A `memory_id`.")]


def router(life: LifeService) -> APIRouter:
    """The routes of writes, decisions and audit under /v1."""
    routes = APIRouter(prefix="/v1")
    _add_write(routes, life)
    _add_decisions(routes, life)
    _add_audit(routes, life)
    return routes


def _add_write(routes: APIRouter, life: LifeService) -> None:
    @routes.post(
        "/memories",
        summary="Have a statement remembered",
        tags=["life"],
        response_model=Written,
        status_code=201,
        responses={**_ANSWERS, **problems(403)},
    )
    async def write(
        request: Annotated[WriteRequest, Body()],
        idempotency_key: Annotated[
            str | None, Header(description="A name of this write; the same as `key` in the body.")
        ] = None,
    ) -> JSONResponse:
        """Write through the gate: a file of the vault first, then a row.

        A near-identical statement is replaced (its text stays in history); a look-alike that says something else stays.
        """
        payload = await life.write(_keyed(request, idempotency_key))
        return JSONResponse(payload, status_code=_STATUS[payload["action"]])


def _keyed(request: WriteRequest, header: str | None) -> WriteRequest:
    if header is None or header == request.key:
        return request
    if not header.isascii():
        raise InputError(
            "Idempotency-Key is not ASCII.",
            why="A header has no encoding, so the same key in the body would be another one.",
            fix="Send this key as `key` in the body.",
        )
    if request.key is not None:
        raise InputError(
            "The write has two keys.", why="Idempotency-Key and `key` differ.", fix="Send one of them, or the same."
        )
    return request.model_copy(update={"key": header})


def _add_decisions(routes: APIRouter, life: LifeService) -> None:
    described: dict[str, Any] = {"tags": ["life"], "response_model": Changed, "responses": problems(403, 404)}

    @routes.post("/memories/{memory_id}/restore", summary="Bring a retired memory back", **described)
    async def restore(memory_id: MemoryId, request: Annotated[Restore | None, Body()] = None) -> JSONResponse:
        """What was forgotten or superseded is live again: beside its successor, or instead of it."""
        return JSONResponse(await life.restore(memory_id, instead=request is not None and request.instead))

    @routes.post("/memories/{memory_id}/verify", summary="Record that a memory was checked", **described)
    async def verify(memory_id: MemoryId, request: Annotated[Verify, Body()]) -> JSONResponse:
        """It holds; a stale memory is fresh from then on."""
        return JSONResponse(await life.verify(memory_id, request.how))

    @routes.post("/memories/{memory_id}/boost", summary="Weigh a memory in ranking", **described)
    async def boost(memory_id: MemoryId, request: Annotated[Weigh, Body()]) -> JSONResponse:
        """By a factor; 1 takes it back."""
        return JSONResponse(await life.boost(memory_id, request.factor))

    @routes.post("/memories/{memory_id}/forget", summary="Forget a memory", **described)
    async def forget(memory_id: MemoryId) -> JSONResponse:
        """Softly: nothing recalls it and no scan brings it back; `restore` does. Erasing for good is not served."""
        return JSONResponse(await life.forget(memory_id))

    @routes.post("/review/resolve", summary="Settle a contradiction", **described)
    async def resolve(request: Annotated[Resolve, Body()]) -> JSONResponse:
        """Both stand, or one stays and the other is forgotten."""
        return JSONResponse(await life.resolve(request.left, request.right, request.keep))


def _add_audit(routes: APIRouter, life: LifeService) -> None:
    @routes.get(
        "/memories/{memory_id}/history",
        summary="A memory's versions and changes",
        tags=["audit"],
        response_model=HistoryAnswer,
        responses=problems(404),
    )
    async def history(memory_id: MemoryId) -> JSONResponse:
        """Retired versions are marked. The owner sees all, an agent its own namespace, nobody what was erased."""
        return JSONResponse(await life.history(memory_id))

    @routes.get(
        "/review",
        summary="What waits for a person",
        tags=["audit"],
        response_model=ReviewAnswer,
        responses=problems(),
    )
    async def review(
        kinds: Annotated[list[Kind] | None, Query(alias="kind", description="Repeat it: `?kind=…&kind=…`.")] = None,
        limit: Annotated[int, Query(ge=1, le=MOST_ITEMS)] = 50,
    ) -> JSONResponse:
        """Contradictions, stale memories, and files below memories/ that are refused or pending; newest first."""
        return JSONResponse(await life.review(kinds, limit))
