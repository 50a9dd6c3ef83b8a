"""The life of a memory as an asynchronous service: the same verbs for REST and MCP (X1).

Here: the gate as kos_writer and audit as kos_auditor, opened at their first use, so that a vault that is missing or
cannot be written stops writes and no reads. Not here: transports, or what a verb decides (gate, audit). Erasing and
adopting are not served: they are the owner's, at the command line.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from kos_assets.audit import Audit
from kos_assets.audit.payload import history_payload, review_payload
from kos_assets.gate import life, marks
from kos_assets.gate.context import Gate, open_gate
from kos_assets.gate.life import Change
from kos_assets.gate.marks import How, Resolution
from kos_assets.gate.payload import change_payload, result_payload
from kos_assets.gate.statement import Statement
from kos_assets.gate.write import write_memory
from kos_assets.serving.life_models import WriteRequest, instant
from kos_assets.serving.service import POOL_WAIT_S, Service, limited_dsn
from kos_assets.store.database import Store, role_dsn

_AGAIN = (
    "It may still come through. With the same key, sending it again is safe: it returns the first result, or writes "
    "what was lost. Without a key, look for it first."
)
_LOOK = "It may still come through: read the memory's history before sending it again."


class LifeService:
    """Writes, decisions and audit reads for the service's principal. `close` it after the service.

    Raises what gate and audit raise, BusyError, SlowError; ConfigError without a vault or a role's DSN, VaultError when
    the vault cannot be written.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._settings = service.settings
        self._lock = threading.Lock()
        self._stores: dict[str, Store] = {}
        self._gate: Gate | None = None

    async def write(self, request: WriteRequest) -> dict[str, Any]:
        """G1: one statement through the gate. Raises AuthorityError, InputError, VaultError, StoreError."""
        who = self._settings.who
        own = "shared:owner" if who.role == "owner" else f"agent:{who.name}"
        statement = Statement(
            heading=request.heading,
            content=request.content,
            namespace=own if request.namespace is None else request.namespace,
            key=request.key,
            memory_type=request.memory_type,
            provenance=request.provenance,
            confidence=request.confidence,
            event_at=None if request.event_at is None else instant(request.event_at),
            event_zone=request.event_zone,
            expires_at=None if request.expires_at is None else instant(request.expires_at),
            supersedes=request.supersedes,
        )

        def call() -> dict[str, Any]:
            result = write_memory(self._opened(), statement, principal=who, at=datetime.now(UTC))
            return result_payload(result)

        return await self._service.write(call, slow=_AGAIN)

    async def forget(self, memory_id: UUID) -> dict[str, Any]:
        """S11: soft-delete; `restore` undoes it."""
        return await self._change(lambda gate, at: life.forget(gate, memory_id, principal=self._settings.who, at=at))

    async def restore(self, memory_id: UUID, *, instead: bool) -> dict[str, Any]:
        """S7: what was forgotten or superseded is live again."""
        return await self._change(
            lambda gate, at: life.restore(gate, memory_id, principal=self._settings.who, at=at, instead=instead)
        )

    async def verify(self, memory_id: UUID, how: How) -> dict[str, Any]:
        """G8: checked again, and it holds."""
        return await self._change(
            lambda gate, at: marks.verify(gate, memory_id, how=how, principal=self._settings.who, at=at)
        )

    async def boost(self, memory_id: UUID, factor: float) -> dict[str, Any]:
        """O1: weigh it in ranking."""
        return await self._change(
            lambda gate, at: marks.annotate(gate, memory_id, boost=factor, principal=self._settings.who, at=at)
        )

    async def resolve(self, left: UUID, right: UUID, keep: Resolution) -> dict[str, Any]:
        """G9: close a contradiction."""
        return await self._change(
            lambda gate, at: marks.resolve(gate, left, right, outcome=keep, principal=self._settings.who, at=at)
        )

    async def history(self, memory_id: UUID) -> dict[str, Any]:
        """S7: versions and events, as far as the principal may audit."""
        return await self._service.read(
            lambda: history_payload(self._audit().history(memory_id, principal=self._settings.who))
        )

    async def review(self, kinds: Sequence[str] | None = None, limit: int = 50) -> dict[str, Any]:
        """G9, H3: what waits for a person, as far as the principal may audit."""
        return await self._service.read(
            lambda: review_payload(self._audit().review(principal=self._settings.who, kinds=kinds, limit=limit))
        )

    def close(self) -> None:
        """Close the connections; the service has ended its calls by then."""
        with self._lock:
            for store in self._stores.values():
                store.close()
            self._stores.clear()
            self._gate = None

    async def _change(self, decide: Callable[[Gate, datetime], Change]) -> dict[str, Any]:
        return await self._service.write(lambda: change_payload(decide(self._opened(), datetime.now(UTC))), slow=_LOOK)

    def _opened(self) -> Gate:
        """In a worker thread. What failed to open is tried again by the next call."""
        with self._lock:
            if self._gate is None:
                self._settings.require_vault()
                limits = self._service.limits
                store = self._store("writer", limits.writers, limits.write_timeout_s)
                self._gate = open_gate(store, self._settings, self._service.recall.embedder)
            return self._gate

    def _audit(self) -> Audit:
        with self._lock:
            limits = self._service.limits
            return Audit(self._store("auditor", limits.workers, limits.timeout_s))

    def _store(self, role: str, pool_size: int, timeout_s: float) -> Store:
        if role not in self._stores:
            dsn = limited_dsn(role_dsn(self._settings, role), timeout_s)
            self._stores[role] = Store(dsn, pool_size=pool_size, wait_s=POOL_WAIT_S)
        return self._stores[role]
