"""Rows written through the store's own statements, and one corpus of 20,000 rows a session.

Here: what several files of this folder start from. Not here: what they assert.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import numpy as np
import psycopg
import pytest

from kos_assets import testing
from kos_assets.domain.vocabulary import KOS_NAMESPACE, home_tree
from kos_assets.settings import Settings
from kos_assets.store import bulk, chunks, embeddings, memories
from kos_assets.store.chunks import ChunkRow
from kos_assets.store.database import Session, Store, role_dsn

DIMENSIONS = 8
EVENT = datetime(2026, 5, 1, 12, tzinfo=UTC)
RECIPE = 1


@dataclass
class Desk:
    """Writes memories with chunks, postings and a vector the way that ingest does, in one pipeline transaction each."""

    settings: Settings
    writer: Store
    administrator: psycopg.Connection[Any]
    model_key: int = 0
    count: int = 0
    ids: list[UUID] = field(default_factory=list)

    def model(self, model_id: str = "test", dimensions: int = DIMENSIONS) -> int:
        """Register and activate a model."""
        with self.writer.transaction(pipeline=True) as session:
            self.model_key = embeddings.register(session, model_id=model_id, dimensions=dimensions, recipe={})
            embeddings.activate(session, self.model_key)
        return self.model_key

    def memory(
        self,
        *,
        terms: Sequence[Mapping[str, int]] = ({"word": 1},),
        lengths: Sequence[int] | None = None,
        vector: Any = None,
        indexed: bool = True,
        **values: Any,
    ) -> UUID:
        """One memory: a chunk per mapping of `terms`, and its own vector if given. `values` are columns."""
        self.count += 1
        memory_id = uuid5(KOS_NAMESPACE, f"desk:{self.settings.dsn}:{self.count}")
        row = {**_defaults(self.count), "content_hash": f"c{memory_id}", **values, "memory_id": memory_id}
        row["home"] = home_tree(row["home_path"])
        with self.writer.transaction(pipeline=True) as session:
            memories.insert(session, [row])
            session.run("select kos.enter_pipeline()")  # its views show the namespaces in use by now
            if indexed:
                self.index(session, memory_id, terms, lengths=lengths, lang=row["lang"])
            if vector is not None:
                embeddings.insert(session, self.model_key, [(memory_id, -1, f"e{memory_id}", vector)])
        self.ids.append(memory_id)
        return memory_id

    def index(
        self,
        session: Session,
        memory_id: UUID,
        terms: Sequence[Mapping[str, int]],
        *,
        lengths: Sequence[int] | None = None,
        lang: str = "en",
    ) -> None:
        """Replace the chunks of a memory."""
        sizes = lengths or [sum(found.values()) for found in terms]
        rows = [
            ChunkRow(memory_id, ordinal, (), " ".join(found), 1, 2, None, lang, size, found)
            for ordinal, (found, size) in enumerate(zip(terms, sizes, strict=True))
        ]
        chunks.replace(session, [memory_id], rows)
        chunks.record_state(session, {memory_id: (f"c{memory_id}", f"e{memory_id}")}, recipe=RECIPE)

    def change(self, memory_id: UUID, **values: Any) -> None:
        """Change columns of a memory, as the pipeline."""
        with self.writer.transaction(pipeline=True) as session:
            for name, value in values.items():
                session.run(CHANGES[name], value=value, memory_id=memory_id)

    def retire(self, memory_id: UUID, reason: str = "test") -> None:
        """Soft-delete."""
        with self.writer.transaction(pipeline=True) as session:
            memories.retire(session, [memory_id], at=EVENT, reason=reason)

    def restore(self, memory_id: UUID) -> None:
        """Undo it."""
        with self.writer.transaction(pipeline=True) as session:
            session.run(
                "update kos.memories set deleted_at = null, deleted_reason = null where memory_id = %(id)s",
                id=memory_id,
            )

    def owner(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """A statement as the administrator."""
        cursor = self.administrator.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


CHANGES = {
    "namespace": "update kos.memories set namespace = %(value)s where memory_id = %(memory_id)s",
    "expires_at": "update kos.memories set expires_at = %(value)s where memory_id = %(memory_id)s",
    "supersedes": "update kos.memories set supersedes = %(value)s where memory_id = %(memory_id)s",
}  # fmt: skip


def _defaults(number: int) -> dict[str, Any]:
    nothing = (
        "summary", "supersedes", "folded_into", "note_id", "note_path", "author", "event_zone", "verified_at",
        "verified_by", "verified_how", "expires_at", "deleted_at", "deleted_reason", "fold_hash", "idempotency_key",
        "created_at",
    )  # fmt: skip
    return {
        **dict.fromkeys(nothing),
        "namespace": "global", "memory_type": "semantic", "type_reason": "explicit", "type_confidence": 1.0,
        "heading": f"Heading {number}", "content": f"Content {number}", "provenance": "raw", "confidence": 0.95,
        "home_path": "notes", "lang": "en", "event_at": EVENT, "event_rule": "none", "keywords": [],
        "boost": 1.0,
    }  # fmt: skip


@pytest.fixture
def desk(database: Settings) -> Iterator[Desk]:
    """Writes rows into a fresh database."""
    with testing.store(database) as writer, testing.connect(database) as administrator:
        yield Desk(database, writer, administrator)


@pytest.fixture(scope="module")
def shared_desk(postgres: testing.TestServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Writes rows into a database that the tests of one file read together."""
    with (
        postgres.database(Settings(data_dir=tmp_path_factory.mktemp("shared"))) as settings,
        testing.store(settings) as writer,
        testing.connect(settings) as administrator,
    ):
        yield Desk(settings, writer, administrator)


@pytest.fixture
def reader(database: Settings) -> Iterator[Store]:
    """The serving role."""
    with testing.store(database, "reader") as opened:
        yield opened


@dataclass(frozen=True)
class Corpus:
    """20,000 memories of one chunk: what was loaded, by row number, to compare with."""

    settings: Settings
    model_key: int
    ids: tuple[UUID, ...]
    vectors: Any
    columns: Mapping[str, Any]
    scope: tuple[str, ...]

    def nearest(self, query: Any, keep: Any, limit: int) -> list[UUID]:
        """Exact: the ids of the rows of mask `keep` that are nearest to a query."""
        distances = 1 - self.vectors @ (query / np.linalg.norm(query))
        rows = np.flatnonzero(keep)
        return [self.ids[row] for row in rows[np.argsort(distances[rows], kind="stable")][:limit]]


ROWS = 20_000
CORPUS_DIMENSIONS = 32
TERMS = 8


def _columns(dice: Any) -> dict[str, Any]:
    """Common and rare values of each thing that can be filtered: rare ones keep 2 rows, which is 1 in 10,000."""
    numbers = np.arange(ROWS)
    namespace = np.where(numbers % 4 == 1, "agent:busy", "global").astype(object)
    namespace[[11, 12_011]] = "shared:rare"
    memory_type = np.where(numbers % 100 == 7, "procedural", "semantic").astype(object)
    memory_type[[21, 12_021]] = "episodic"
    home = np.array([f"folder/h{number % 10}" for number in numbers], dtype=object)
    home[[31, 12_031]] = ["archive/rare", "archive/rare/deep"]
    home[[41, 42]] = ["archive/rare-not", "archive/rarer"]
    days = dice.integers(0, 400, ROWS)
    days[[51, 12_051]] = 5000
    return {"namespace": namespace, "memory_type": memory_type, "home": home, "days": days}


@pytest.fixture(scope="session")
def corpus(postgres: testing.TestServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    """20,000 rows by COPY, with statistics folded, vacuumed and analysed. About ten seconds, once a session."""
    with postgres.database(Settings(data_dir=tmp_path_factory.mktemp("corpus"))) as settings:
        dice = np.random.default_rng(20260601)
        columns = _columns(dice)
        centres = dice.normal(size=(300, CORPUS_DIMENSIONS))
        vectors = centres[dice.integers(300, size=ROWS)] + dice.normal(0, 0.6, (ROWS, CORPUS_DIMENSIONS))
        vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
        ids = tuple(uuid5(KOS_NAMESPACE, f"corpus:{number}") for number in range(ROWS))
        with testing.store(settings) as writer, writer.transaction(pipeline=True) as session:
            key = embeddings.register(session, model_id="corpus", dimensions=CORPUS_DIMENSIONS, recipe={})
            embeddings.activate(session, key)
        exact = vectors.astype(np.float64)
        exact /= np.linalg.norm(exact, axis=1, keepdims=True)
        loaded = Corpus(settings, key, ids, exact, columns, ("agent:busy", "global", "shared:rare"))
        _load(loaded, vectors, dice)
        yield loaded


def _load(corpus: Corpus, vectors: Any, dice: Any) -> None:
    ids, key, columns = corpus.ids, corpus.model_key, corpus.columns
    words = 1.0 / np.arange(3, 3003)
    drawn = dice.choice(3000, p=words / words.sum(), size=(ROWS, TERMS))
    lengths = dice.integers(20, 400, ROWS)
    event = [(EVENT - timedelta(days=int(day))).isoformat() for day in columns["days"]]
    namespaces, homes = columns["namespace"], columns["home"]
    with Store(role_dsn(corpus.settings, "owner")) as owner, owner.transaction() as session:
        bulk.drop_vector_index(session)
        rows = range(ROWS)
        loads: dict[str, Callable[[int], Iterator[tuple[Any, ...]]]] = {
            "memories": lambda n: iter([(
                ids[n], namespaces[n], columns["memory_type"][n], f"Heading {n}", f"Content {n}", "raw", 0.95,
                home_tree(homes[n]), homes[n], event[n], "none", f"hash{n}",
            )]),
            "state": lambda n: iter([(ids[n], f"hash{n}", RECIPE, f"e{n}", True)]),
            "chunks": lambda n: iter([(
                n + 1, ids[n], 0, namespaces[n], True, [], f"Body {n}", 1, 1, None, "en", int(lengths[n]),
            )]),
            "postings": lambda n: _postings(n + 1, namespaces[n], drawn[n], int(lengths[n])),
            "embeddings": lambda n: iter([(
                key, ids[n], -1, namespaces[n], True, f"e{n}", embeddings.half(vectors[n]).to_text(),
            )]),
        }  # fmt: skip
        for table, make in loads.items():
            bulk.copy(session, table, (row for number in rows for row in make(number)))
        bulk.set_last_chunk(session, ROWS)
        bulk.build_vector_index(session)
    bulk.settle(role_dsn(corpus.settings, "owner"))


def _postings(chunk_id: int, namespace: str, drawn: Any, length: int) -> Iterator[tuple[Any, ...]]:
    words, counts = np.unique(drawn, return_counts=True)
    for word, count in zip(words.tolist(), counts.tolist(), strict=True):
        impact = count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / 100.0))
        yield chunk_id, impact, length, count, True, namespace, f"w{word}"


@pytest.fixture(scope="session")
def demo_vault() -> Path:
    """The demo's notes: real text."""
    return Path(str(resources.files("kos_assets.demo"))) / "vault"
