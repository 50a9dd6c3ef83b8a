"""How a failure reads to a caller: one JSON problem with code, what, why and next, and its HTTP status.

Here: the mapping, and the failures that only a service can have. Not here: the tree of errors (errors.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import JSONResponse

from kos_assets.errors import InputError, KosError, ProviderUnavailableError

RETRY_AFTER_S = 2
_MOST_DETAILS = 5


class SlowError(KosError):
    """The call took longer than the service gives one."""

    code = "timeout"


class BusyError(KosError):
    """Too many calls wait already; the same call may work in a moment."""

    code = "busy"


class InternalError(KosError):
    """A defect of this program; its details are in the log, not in the answer."""

    code = "internal"


STATUS = {
    "invalid_input": 422,
    "not_found": 404,
    "forbidden": 403,
    "misdirected": 421,
    "too_large": 413,
    "method_not_allowed": 405,
    "store_unavailable": 503,
    "schema": 503,
    "provider_unavailable": 503,
    "vault": 503,
    "config": 503,
    "busy": 503,
    "timeout": 504,
}


_UNTIL_MENDED = frozenset({"vault", "config"})  # trying again does not help


def problem(error: KosError) -> dict[str, Any]:
    """The JSON that says it, the same over REST and MCP."""
    return {"code": error.code, "what": error.what, "why": error.why, "next": error.fix}


def status(code: str) -> int:
    """The HTTP status of an error's code; 500 for what a caller cannot act on."""
    return STATUS.get(code, 500)


def response(error: KosError, *, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The HTTP answer for an error; 503 says when to try again, where that helps."""
    number = status(error.code)
    extra = dict(headers or {})
    if number == STATUS["busy"] and error.code not in _UNTIL_MENDED:
        after = error.retry_after_s if isinstance(error, ProviderUnavailableError) else None
        extra.setdefault("Retry-After", str(max(1, round(after or RETRY_AFTER_S))))
    return JSONResponse(problem(error), status_code=number, headers=extra)


def input_error(details: Sequence[Mapping[str, Any]]) -> InputError:
    """What pydantic found wrong with a request, without repeating the values that were sent."""
    found = []
    for detail in details[:_MOST_DETAILS]:
        place = [str(part) for part in detail["loc"]]
        if detail["type"] == "json_invalid":
            place = ["body"]  # pydantic gives the offset
        elif len(place) > 1 and place[0] in {"body", "path", "query"}:
            place = place[1:]
        found.append(f"{'.'.join(place) or 'request'}: {_message(detail)}")
    return InputError(
        "The request is not valid.", why="; ".join(found) + ".", fix="Mend the named fields and send it again."
    )


def _message(detail: Mapping[str, Any]) -> str:
    if detail["type"] == "json_invalid":
        return "not valid JSON"
    if detail["type"] == "model_attributes_type":
        return "must be a JSON object, sent with Content-Type: application/json"
    message = str(detail["msg"]).removeprefix("Value error, ")
    return f"{message[:1].lower()}{message[1:]}"
