"""A strict loopback double of an Ollama server: refuses what the real one refuses, in the shapes that it uses."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

ALLOWED = {"model", "input", "truncate", "options", "keep_alive", "dimensions"}
DIMS = 16


@dataclass
class OllamaDouble:
    """What the double knows and has seen. `failures` are answered first, in order, one a request."""

    url: str = ""
    models: dict[str, str] = field(
        default_factory=lambda: {"nomic-embed-text:latest": "a" * 64, "plain:latest": "b" * 64}
    )
    failures: list[tuple[int, str, dict[str, str]]] = field(default_factory=list)
    refused_text: str | None = None
    raw_answer: bytes | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)
    authorization: list[str | None] = field(default_factory=list)

    @property
    def inputs(self) -> list[str]:
        return [text for request in self.requests for text in request["input"]]

    def answer(self, path: str, body: dict[str, Any] | None) -> tuple[int, dict[str, Any], dict[str, str]]:
        if self.failures:
            status, message, headers = self.failures.pop(0)
            return status, {"error": message}, headers
        if path == "/api/tags" and body is None:
            return 200, {"models": [self._entry(name) for name in self.models]}, {}
        if path == "/api/embed" and body is not None:
            return self._embed(body)
        return 404, {"error": "404 page not found"}, {}

    def _entry(self, name: str) -> dict[str, Any]:
        return {
            "name": name,
            "model": name,
            "digest": self.models[name],
            "size": 1,
            "modified_at": "2026-11-30T00:00:00Z",
        }

    def _embed(self, body: dict[str, Any]) -> tuple[int, dict[str, Any], dict[str, str]]:
        assert set(body) <= ALLOWED, f"unknown fields {set(body) - ALLOWED}"
        self.requests.append(body)
        name = body["model"] if ":" in body["model"] else body["model"] + ":latest"
        if name not in self.models:
            return 404, {"error": f"model '{body['model']}' not found"}, {}
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        if self.refused_text and any(self.refused_text in text for text in texts):
            return 400, {"error": "invalid input"}, {}
        vectors = [vector(text, body.get("dimensions")) for text in texts if text]
        return 200, {"model": body["model"], "embeddings": vectors, "total_duration": 1, "prompt_eval_count": 1}, {}


def vector(text: str, dimensions: int | None = None) -> list[float]:
    """Some vector of a text; not of length 1, so that callers must normalise."""
    digest = hashlib.sha256(text.encode()).digest()
    return [byte - 127.5 for byte in digest[: dimensions or DIMS]]


def _handler(double: OllamaDouble) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._reply(None)

        def do_POST(self) -> None:
            self._reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _reply(self, body: dict[str, Any] | None) -> None:
            double.authorization.append(self.headers.get("Authorization"))
            status, answer, headers = double.answer(self.path, body)
            data = double.raw_answer if double.raw_answer is not None else json.dumps(answer).encode()
            self.send_response(status)
            for name, value in {
                "Content-Type": "application/json",
                "Content-Length": str(len(data)),
                **headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """Quiet."""

    return Handler


@pytest.fixture
def ollama_double() -> Iterator[OllamaDouble]:
    double = OllamaDouble()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(double))
    server.daemon_threads = True
    double.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield double
    server.shutdown()
    server.server_close()
    thread.join()
