"""The outermost layer of the HTTP service: who may talk to it, how much, and one log line per request.

Here: Host and Origin checks against DNS rebinding, the size limit of a body, security headers, the request log (method,
path, status, milliseconds: never a query or a text, P7), the answer to a defect. Not here: routes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kos_assets.errors import KosError
from kos_assets.serving import problems
from kos_assets.serving.room import internal_error

MAX_BODY_BYTES = 1536 * 1024  # 200,000 characters of any script, and the rest of a request
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
)
_log = logging.getLogger("kos.serving")


class MisdirectedError(KosError):
    """The request names another host or comes from a foreign web page."""

    code = "misdirected"


class ForeignOriginError(KosError):
    """A web page from elsewhere sent the request."""

    code = "forbidden"


class TooLargeError(KosError):
    """The body is over the limit."""

    code = "too_large"


class Guard:
    """ASGI middleware around the whole application, MCP included."""

    def __init__(self, app: ASGIApp, *, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self._app = app
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        answer = _Answer(send)
        try:
            refusal = _refusal(Headers(scope=scope))
            if refusal is None:
                body, refusal = await self._body(Headers(scope=scope), receive)
            if refusal is not None:
                await problems.response(refusal)(scope, receive, answer)
            else:
                await self._app(scope, _replay(body, receive), answer)
        except Exception as error:
            failure = internal_error(error)
            if answer.status is None:
                await problems.response(failure)(scope, receive, answer)
        finally:
            taken_ms = (time.perf_counter() - started) * 1000
            _log.info("%s %s %s %.1f ms", scope["method"], _printable(scope["path"]), answer.status or "-", taken_ms)

    async def _body(self, headers: Headers, receive: Receive) -> tuple[list[Message], KosError | None]:
        """The messages that carry the body, or the refusal of one that is too large."""
        declared = headers.get("content-length", "")
        messages: list[Message] = []
        size = int(declared) if declared.isascii() and declared.isdigit() else 0
        received = 0
        while max(size, received) <= self._max_body_bytes:
            message = await receive()
            messages.append(message)
            received += len(message.get("body", b""))
            if message["type"] != "http.request" or not message.get("more_body", False):
                break
        if max(size, received) > self._max_body_bytes:
            limit = self._max_body_bytes // 1024
            return messages, TooLargeError(f"The request body is over {limit} KiB.", fix="Send a smaller request.")
        return messages, None


class _Answer:
    """Sends on, adds the security headers, remembers the status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status: int | None = None

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            names = {name.lower() for name, _ in message.get("headers", [])}
            extra = [pair for pair in _HEADERS if pair[0] not in names]
            message = {**message, "headers": [*message.get("headers", []), *extra]}
        await self._send(message)


def _refusal(headers: Headers) -> KosError | None:
    if _host(headers.get("host", "")) not in LOOPBACK:
        return MisdirectedError(
            "The Host header does not name this machine's loopback.",
            why="Only local callers are served; a name that points here from elsewhere is how DNS rebinding works.",
            fix="Call http://127.0.0.1 or http://localhost.",
        )
    origin = headers.get("origin")
    if origin is not None and not _is_loopback_origin(origin):
        return ForeignOriginError(
            "Web pages from elsewhere may not call this service.", fix="Call it without a browser."
        )
    return None


def _host(header: str) -> str:
    """The host name of a Host header, without its port; empty when it is malformed."""
    try:
        parts = urlsplit(f"//{header}")
        _ = parts.port
    except ValueError:
        return ""
    if parts.username is not None or parts.path or parts.query or parts.fragment:
        return ""
    return parts.hostname or ""


def _is_loopback_origin(origin: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and parts.hostname in LOOPBACK


def _replay(messages: list[Message], receive: Receive) -> Receive:
    waiting = iter(messages)

    async def replayed() -> Message:
        message = next(waiting, None)
        return await receive() if message is None else message

    return replayed


def _printable(path: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in path[:200])
