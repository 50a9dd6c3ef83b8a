"""What the tests of hygiene share: an installation with a vault, a ledger and a cheap embedder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from kos_assets import testing
from kos_assets.domain.principals import OWNER, Principal
from kos_assets.gate.context import Gate, open_gate
from kos_assets.gate.write import Statement, write_memory
from kos_assets.hygiene.erase import Erasure, erase_memories
from kos_assets.inference.embedding import ModelIdentity
from kos_assets.ingest.pipeline import ingest_vault
from kos_assets.settings import Settings
from kos_assets.store import embeddings

_DIMS = 32


class Words:
    """A sum of one pseudo-random vector a word: the real model would test the model, and takes its time."""

    identity = ModelIdentity("test", "words", _DIMS, 256, "", "", "", 1)

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Vectors of length 1."""
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The same recipe for queries."""
        total = np.full(_DIMS, 1e-3)
        for word in text.split():
            seed = hashlib.sha256(word.encode()).digest()
            total += np.frombuffer(seed, dtype=np.uint8).astype(np.float64) / 127.5 - 1
        return np.asarray(total / np.linalg.norm(total), dtype=np.float32)

    def count_tokens(self, text: str) -> int:
        """Words."""
        return len(text.split())

    def truncates(self, text: str) -> bool:
        """No window."""
        return False


@dataclass
class Home:
    """One installation."""

    settings: Settings
    gate: Gate
    embedder: Words

    @property
    def vault(self) -> Path:
        """Its folder."""
        return self.settings.require_vault()

    def note(self, path: str, text: str) -> Path:
        """A file in the vault, not yet ingested."""
        file = self.vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def ingest(self) -> None:
        """All steps."""
        ingest_vault(self.gate.store, self.embedder, self.settings)

    def say(self, heading: str, content: str, *, by: Principal = OWNER, **values: Any) -> UUID:
        """A statement through the gate."""
        given = {"namespace": "global", "memory_type": "semantic", **values}
        statement = Statement(heading, content, **given)
        return write_memory(self.gate, statement, principal=by, at=datetime.now(UTC)).memory_id

    def erase(self, *memory_ids: UUID, by: Principal = OWNER, delete_file: bool = False) -> Erasure:
        """From end to end."""
        return erase_memories(
            self.gate, self.settings, memory_ids, principal=by, at=datetime.now(UTC), delete_file=delete_file
        )

    def id_of(self, path: str) -> UUID:
        """The memory of a note."""
        found: UUID = self.rows("select memory_id from kos.memories where note_path = %s", path)[0][0]
        return found

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """What an administrator sees."""
        with testing.connect(self.settings) as connection:
            return connection.execute(statement, values).fetchall()

    def run(self, statement: str, *values: Any) -> None:
        """What an administrator does."""
        with testing.connect(self.settings) as connection:
            connection.execute(statement, values)

    def ledger(self) -> str:
        """All lines of the ledger."""
        return "".join(path.read_text() for path in sorted((self.vault / ".kos/ledger").rglob("*.jsonl")))


@pytest.fixture
def home(database: Settings, tmp_path: Path) -> Iterator[Home]:
    """An empty one, with an active model."""
    (tmp_path / "vault").mkdir()
    (tmp_path / "data").mkdir()
    settings = replace(database, vault=tmp_path / "vault", data_dir=tmp_path / "data", stamp_quiet_s=0)
    with testing.store(settings) as store:
        with store.transaction(pipeline=True) as session:
            name = Words.identity.model_id
            embeddings.activate(session, embeddings.register(session, model_id=name, dimensions=_DIMS, recipe={}))
        embedder = Words()
        yield Home(settings, open_gate(store, settings, embedder), embedder)
