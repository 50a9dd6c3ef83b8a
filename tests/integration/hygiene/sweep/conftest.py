"""Statements written straight into a store, in any state: also those that no gate would write.

Here: what several files of this folder start from. Not here: what they assert.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from kos_assets import testing
from kos_assets.domain.vocabulary import home_tree
from kos_assets.settings import Settings
from kos_assets.store import memories
from kos_assets.store.database import Store

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
_EMPTY = (
    "summary", "supersedes", "folded_into", "note_id", "note_path", "author", "event_at", "event_zone", "verified_at",
    "verified_by", "verified_how", "expires_at", "deleted_at", "deleted_reason", "fold_hash", "idempotency_key",
)  # fmt: skip


@dataclass
class Shelf:
    """A store, and rows put into it."""

    settings: Settings
    store: Store
    count: int = field(default=0)

    def put(self, rows: Sequence[dict[str, Any]]) -> list[UUID]:
        """Insert memories with these columns over defaults; their ids. `live` False: retired as superseded."""
        made = [self._row(dict(row)) for row in rows]
        with self.store.transaction(pipeline=True) as session:
            memories.insert(session, made)
        return [row["memory_id"] for row in made]

    def _row(self, values: dict[str, Any]) -> dict[str, Any]:
        self.count += 1
        if not values.pop("live", True):
            values = {"deleted_at": NOW - timedelta(days=1), "deleted_reason": "superseded", **values}
        return {
            **dict.fromkeys(_EMPTY),
            "memory_id": uuid4(), "namespace": "global", "memory_type": "semantic", "type_reason": "explicit",
            "type_confidence": 1.0, "heading": f"Heading {self.count}", "content": "Text", "provenance": "raw",
            "confidence": 0.9, "boost": 1.0, "home_path": "a", "home": home_tree("a"), "lang": "en",
            "event_rule": "none", "keywords": [], "content_hash": f"c{self.count}", "created_at": NOW, **values,
        }  # fmt: skip

    def chain(self, live: Sequence[bool], **values: Any) -> list[UUID]:
        """Versions of one statement, the oldest first."""
        ids = [uuid4() for _ in live]
        return self.put(
            [
                {"memory_id": ids[n], "supersedes": ids[n - 1] if n else None, "live": is_live, **values}
                for n, is_live in enumerate(live)
            ]
        )

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """What an administrator sees or does."""
        with testing.connect(self.settings) as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def live(self, memory_ids: Sequence[UUID]) -> set[UUID]:
        """Those that are live."""
        found = self.rows(
            "select memory_id from kos.memories where deleted_at is null and memory_id = any(%s)", memory_ids
        )
        return {row[0] for row in found}

    def everything(self) -> list[Any]:
        """All that hygiene may write, to compare before and after."""
        return [
            self.rows(f"select to_jsonb(t)::text from kos.{table} as t order by 1")
            for table in ("memories", "memory_history", "review_items", "chains", "chunks", "lexical_terms")
        ]


@pytest.fixture
def shelf(database: Settings) -> Iterator[Shelf]:
    """An empty one."""
    with testing.store(database) as store:
        yield Shelf(database, store)


@pytest.fixture(scope="module")
def shared_shelf(postgres: testing.TestServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    """One that all examples of a property fill, each in a namespace of its own."""
    base = Settings(data_dir=tmp_path_factory.mktemp("shelf"))
    with postgres.database(base) as settings, testing.store(settings) as store:
        yield Shelf(settings, store)
