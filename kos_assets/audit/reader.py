"""Audit reads: the history of a memory and of its versions, and the list of what waits for a person.

Here: who may see what (the owner everywhere, an author within its own namespace), and how much. Not here: SQL
(store/audit.py), JSON (payload.py), changes (gate).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kos_assets.domain.principals import Principal, auditable_namespaces
from kos_assets.errors import InputError, NotFoundError
from kos_assets.store import audit
from kos_assets.store.database import Row, Store

KINDS: Final = ("contradiction", "stale", "refused", "pending")
MOST_EVENTS: Final = 500
MOST_ITEMS: Final = 200
_ITEMS: Final = {"contradiction", "stale"}


@dataclass(frozen=True)
class History:
    """One memory's versions, oldest first, and what happened to them, newest first. `more`: older changes are there."""

    memory_id: UUID
    versions: Sequence[Row]
    events: Sequence[Row]
    more: bool = False


@dataclass(frozen=True)
class ReviewList:
    """Contradictions and stale rows, and files of statements that are not accepted; newest first.
    `more`: older ones wait as well."""

    items: Sequence[Row]
    files: Sequence[Row]
    more: bool = False


class Audit:
    """Audit reads over a store of role kos_auditor."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def history(self, memory_id: UUID, *, principal: Principal) -> History:
        """S7: every change of a memory and of the versions before and after it.

        Raises NotFoundError: unknown, erased and not visible look the same.
        """
        with self._store.transaction(namespaces=self._scope(principal)) as session:
            versions = audit.chain(session, memory_id)
            if not versions:
                raise _not_found(audit.pending_path(session, memory_id))
            events = audit.events(session, [row["memory_id"] for row in versions], most=MOST_EVENTS + 1)
        return History(memory_id, versions, events[:MOST_EVENTS], len(events) > MOST_EVENTS)

    def review(self, *, principal: Principal, kinds: Sequence[str] | None = None, limit: int = 50) -> ReviewList:
        """G9, H3, V9: what waits for a person, at most `limit` (1 to 200) of items and of files. Raises InputError."""
        unknown = sorted(set(kinds or ()) - set(KINDS))
        if unknown:
            raise InputError(f"{unknown[0][:40]!r} is no kind of review.", why=f"Kinds are {', '.join(KINDS)}.")
        if not 1 <= limit <= MOST_ITEMS:
            raise InputError(f"limit is a number from 1 to {MOST_ITEMS}, not {limit}.")
        wanted = set(kinds or KINDS)
        items, states = sorted(wanted & _ITEMS), sorted(wanted - _ITEMS)
        with self._store.transaction(namespaces=self._scope(principal)) as session:
            found = audit.open_items(session, items, most=limit + 1) if items else []
            held = audit.held_files(session, states, most=limit + 1) if states else []
        return ReviewList(found[:limit], held[:limit], max(len(found), len(held)) > limit)

    def _scope(self, principal: Principal) -> tuple[str, ...]:
        used: Sequence[str] = ()
        if principal.role == "owner":
            with self._store.transaction() as session:
                used = audit.used_namespaces(session)
        return auditable_namespaces(principal, used)


def _not_found(pending: str | None) -> NotFoundError:
    """Unknown, foreign and erased look the same; what its own author waits for does not."""
    if pending is not None:
        return NotFoundError(
            "That memory has no history yet.",
            why=f"It waits for the embedder as {pending}.",
            fix="`kos ingest` lets it pass the gate once the embedder answers.",
        )
    return NotFoundError(
        "No memory whose history you may read has that id.",
        why="It never existed, was erased, or lies in a namespace that is not yours.",
        fix="An agent reads the history of its own namespace; the owner reads all.",
    )
