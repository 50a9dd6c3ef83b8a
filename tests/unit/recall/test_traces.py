"""The trace writer: bounded, never in the answer's way."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kos_assets.errors import StoreUnavailableError
from kos_assets.recall import traces
from kos_assets.recall.traces import TraceWriter


class _Down:
    """A store whose database is down."""

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        raise StoreUnavailableError("down")
        yield


def test_a_database_that_is_down_delays_nothing_and_is_counted() -> None:
    """R7: the trace is lost and counted; the caller returns at once."""
    lost: list[int] = []
    writer = TraceWriter(_Down(), on_lost=lost.append)  # type: ignore[arg-type]
    began = time.perf_counter()
    for number in range(100):
        writer.trace({"n": number})
    assert time.perf_counter() - began < 1
    writer.close()
    assert writer.lost == 100
    assert sum(lost) == 100


def test_a_full_queue_drops_the_newest(monkeypatch: Any) -> None:
    """R7: bounded, and what does not fit is counted."""
    monkeypatch.setattr(traces, "_BOUND", 5)
    monkeypatch.setattr(TraceWriter, "_start", lambda self: None)
    writer = TraceWriter(_Down())  # type: ignore[arg-type]
    for number in range(8):
        writer.trace({"n": number})
    assert writer.lost == 3
