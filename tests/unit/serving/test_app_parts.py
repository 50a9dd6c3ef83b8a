"""Running the application: sockets, statement limits, the embedder's warm-up."""

from __future__ import annotations

import os
import socket
import threading
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kos_assets.errors import OperationError, ProviderUnavailableError
from kos_assets.inference.embedding import Embedder
from kos_assets.serving import health
from kos_assets.serving.app import _listen
from kos_assets.serving.health import Warmup
from kos_assets.serving.service import limited_dsn
from kos_assets.store.database import parse_dsn


def test_a_port_in_use_is_explained() -> None:
    """P2: what, why, and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OperationError) as caught:
            _listen("127.0.0.1", port)
    assert str(port) in caught.value.what
    assert str(os.getpid()) in (caught.value.why or "")
    assert "KOS_PORT" in (caught.value.fix or "")
    with _listen("127.0.0.1", port) as again:
        assert again.getsockname()[1] == port


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://u:p@127.0.0.1:5/kos",
        "postgresql://u:p@127.0.0.1:5/kos?sslmode=disable",
        "host=127.0.0.1 port=5 dbname=kos user=u password=p",
    ],
)
def test_a_statement_timeout_is_added_to_either_form_of_dsn(dsn: str) -> None:
    """X5: a call that timed out does not hold a connection for ever."""
    parts = parse_dsn(limited_dsn(dsn, 15))
    assert parts == parse_dsn(dsn) | {"options": "-c statement_timeout=15000"}


def test_options_of_the_persons_own_are_kept() -> None:
    """P2: a DSN that sets options says what it wants."""
    dsn = "postgresql://u:p@127.0.0.1:5/kos?options=-c%20work_mem%3D64MB"
    assert limited_dsn(dsn, 15) == dsn


class Loading:
    """An embedder whose load takes until `go` is set, and which can fail."""

    identity = SimpleNamespace(model_id="model-1")

    def __init__(self) -> None:
        self.go = threading.Event()
        self.failure: Exception | None = None
        self.loads = 0

    def embed_query(self, text: str) -> list[float]:
        self.loads += 1
        self.go.wait(5)
        if self.failure:
            raise self.failure
        return [0.0]


def settled(warmup: Warmup, state: str) -> Any:
    """The check once it has that state, or as it is after five seconds."""
    deadline = time.monotonic() + 5
    while warmup.check().state != state and time.monotonic() < deadline:
        time.sleep(0.005)
    return warmup.check()


def test_the_embedder_loads_in_the_background_and_says_when_it_is_ready() -> None:
    """X5: the service starts at once."""
    embedder = Loading()
    warmup = Warmup(cast(Embedder, embedder))
    assert warmup.check().state == "waiting"
    warmup.start()
    warmup.start()
    assert warmup.check().state == "loading"
    embedder.go.set()
    check = settled(warmup, "ready")
    assert (check.ok, check.state, check.reason) == (True, "ready", "model-1")
    assert embedder.loads == 1


def test_an_embedder_out_of_reach_is_tried_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """X5, E5: unavailable with its reason; asked again after a while it is back without a restart."""
    embedder = Loading()
    embedder.go.set()
    embedder.failure = ProviderUnavailableError("Ollama does not answer.", fix="Start it.")
    warmup = Warmup(cast(Embedder, embedder))
    warmup.start()
    check = settled(warmup, "unavailable")
    assert (check.ok, check.state) == (False, "unavailable")
    assert check.reason == "Ollama does not answer. Start it."
    embedder.failure = None
    assert warmup.check().state == "unavailable"
    monkeypatch.setattr(health, "RETRY_EMBEDDER_S", 0.0)
    assert settled(warmup, "ready").ok
