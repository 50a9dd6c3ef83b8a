"""R7: the record of each retrieval, written behind the answer's back: a bounded queue, one thread, batches."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Mapping
from typing import Any

from kos_assets.store import search as store_search
from kos_assets.store.database import Store

_BOUND = 10_000
_BATCH = 200
_WAIT_S = 0.2
_log = logging.getLogger("kos.recall")


class TraceWriter:
    """Takes traces and reads without waiting; stores them in batches. When the queue is full the newest is dropped and
    counted: an answer is never delayed for its trace."""

    def __init__(self, store: Store, *, on_lost: Callable[[int], None] | None = None) -> None:
        self._store = store
        self._queue: queue.Queue[tuple[str, Mapping[str, Any]]] = queue.Queue(maxsize=_BOUND)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._on_lost = on_lost
        self.lost = 0

    def trace(self, row: Mapping[str, Any]) -> None:
        """Record one retrieval."""
        self._put("trace", row)

    def read(self, row: Mapping[str, Any]) -> None:
        """Record that a returned id was read in full."""
        self._put("read", row)

    def close(self, timeout_s: float = 5.0) -> None:
        """Store what is queued and end the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout_s)
            self._thread = None

    def _put(self, kind: str, row: Mapping[str, Any]) -> None:
        self._start()
        try:
            self._queue.put_nowait((kind, row))
        except queue.Full:
            self._lose(1)

    def _start(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._stop.clear()
                self._thread = threading.Thread(target=self._run, name="kos-traces", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not (self._stop.is_set() and self._queue.empty()):
            batch = self._next_batch()
            if batch:
                self._write(batch)

    def _next_batch(self) -> list[tuple[str, Mapping[str, Any]]]:
        batch: list[tuple[str, Mapping[str, Any]]] = []
        try:
            batch.append(self._queue.get(timeout=_WAIT_S))
            while len(batch) < _BATCH:
                batch.append(self._queue.get_nowait())
        except queue.Empty:
            pass
        return batch

    def _write(self, batch: list[tuple[str, Mapping[str, Any]]]) -> None:
        traces = [row for kind, row in batch if kind == "trace"]
        reads = [row for kind, row in batch if kind == "read"]
        try:
            with self._store.transaction() as session:
                if traces:
                    store_search.record_traces(session, traces)
                if reads:
                    store_search.record_reads(session, reads)
        except Exception as error:  # a trace is worth less than the thread that writes the next ones
            _log.warning("%d trace records were lost: %s", len(batch), type(error).__name__)
            self._lose(len(batch))

    def _lose(self, count: int) -> None:
        self.lost += count
        if self._on_lost is not None:
            self._on_lost(count)
