"""Loopback doubles of the providers' servers, strict about what the real ones refuse, and a double of the client."""

from __future__ import annotations

import json
import socket
import struct
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest


@dataclass
class Sent:
    """What the server sends: a whole answer, or with `cut` one that breaks off after so many bytes."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    reset: bool = False
    silent_s: float = 0.0


def refusal(status: int, message: str, kind: str = "api_error", **headers: str) -> Sent:
    """An error in the shape of Anthropic's API."""
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return Sent(status, json.dumps(body).encode(), {name.replace("_", "-"): value for name, value in headers.items()})


@dataclass
class Double:
    """A server on 127.0.0.1. `replies` are used first, one a request, then `usual` answers."""

    Reply: ClassVar = Sent
    refusal: ClassVar = staticmethod(refusal)

    url: str = ""
    replies: list[Sent] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    released: threading.Event = field(default_factory=threading.Event)
    usual: Callable[[str, str, dict[str, Any], dict[str, str]], Sent] = lambda *_: Sent()

    def answer(self, method: str, path: str, body: dict[str, Any], headers: dict[str, str]) -> Sent:
        with self.lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            self.requests.append(body)
            self.paths.append(f"{method} {path}")
            scripted = self.replies.pop(0) if self.replies else None
        reply = self.usual(method, path, body, headers)
        if reply.status == 400:
            self.refused.append(reply.body.decode())
        return scripted or reply


def _handler(double: Double) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._reply("GET", {})

        def do_POST(self) -> None:
            self._reply("POST", json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _reply(self, method: str, body: dict[str, Any]) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            try:
                self._send(double.answer(method, self.path, body, headers))
            finally:
                with double.lock:
                    double.at_once -= 1

        def _send(self, reply: Sent) -> None:
            if reply.silent_s:
                double.released.wait(reply.silent_s)
            self.send_response(reply.status)
            whole = {"Content-Type": "application/json", "Content-Length": str(len(reply.body)), **reply.headers}
            for name, value in whole.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body if reply.cut is None else reply.body[: reply.cut])
            self.wfile.flush()
            if reply.cut is not None:
                if reply.reset:  # RST instead of FIN
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True

        def log_message(self, *args: object) -> None:
            """Quiet."""

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is part of these tests."""


@pytest.fixture
def double() -> Iterator[Double]:
    found = Double()
    server = _Server(("127.0.0.1", 0), _handler(found))
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield found
    found.released.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def closed_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port


CLIENT = """
import json, os, pathlib, sys, time
here = pathlib.Path(__file__).parent
calls = here / "calls.jsonl"
script = json.loads((here / "script.json").read_text())
seen = {"argv": sys.argv[1:], "stdin": sys.stdin.read(), "env": dict(os.environ), "cwd": os.listdir(".")}
number = len(calls.read_text().splitlines()) if calls.exists() else 0
with calls.open("a") as log:
    log.write(json.dumps(seen) + chr(10))
now = script[min(number, len(script) - 1)]
(here / "pid").write_text(str(os.getpid()))
if now.get("child"):
    import subprocess
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    (here / "child").write_text(str(child.pid))
time.sleep(now.get("sleep", 0))
sys.stdout.write(now.get("out", ""))
sys.stderr.write(now.get("err", ""))
sys.exit(now.get("status", 0))
"""


@dataclass
class ClientDouble:
    """A program that stands for `claude`: says what the script says, one entry a call, and notes how it was called."""

    folder: Path

    @property
    def command(self) -> str:
        return str(self.folder / "claude")

    def say(self, *script: dict[str, Any]) -> None:
        (self.folder / "script.json").write_text(json.dumps(script))

    @property
    def calls(self) -> list[dict[str, Any]]:
        path = self.folder / "calls.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def client_double(tmp_path: Path) -> ClientDouble:
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "claude"
    program.write_text(f"#!{sys.executable}\n{textwrap.dedent(CLIENT)}")
    program.chmod(0o755)
    return ClientDouble(folder)
