"""What the tests of the gate share: a store, and an embedder whose geometry a test can state exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kos_assets import testing
from kos_assets.errors import ProviderUnavailableError
from kos_assets.gate.authority import OWNER, Principal
from kos_assets.gate.context import Gate as OpenGate
from kos_assets.gate.context import open_gate
from kos_assets.gate.statement import Statement
from kos_assets.gate.write import Result, write_memory
from kos_assets.inference.embedding import ModelIdentity
from kos_assets.settings import Settings
from kos_assets.store import embeddings
from kos_assets.store.database import Store

AT = datetime(2026, 3, 4, 12, tzinfo=UTC)


@dataclass
class Compass:
    """Vectors as the test says, by the first line of a text; a text that it does not know lies far from all others.

    A real model cannot be asked for two statements at a distance of exactly 0.08.
    """

    known: dict[str, tuple[float, ...]] = field(default_factory=dict)
    away: bool = False
    calls: int = 0

    @property
    def identity(self) -> ModelIdentity:
        """Four dimensions and one for each unknown text."""
        return ModelIdentity("test", "compass", 40, 256, "", "", "", 1)

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Zeros but for what the test said."""
        if self.away:
            raise ProviderUnavailableError("The test's provider is away.")
        self.calls += 1
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The same."""
        vector = np.zeros(40, dtype=np.float32)
        name = text.split("\n", 1)[0]
        if name in self.known:
            vector[: len(self.known[name])] = self.known[name]
        else:
            self.known[name] = (*(0.0,) * (4 + len(self.known)), 1.0)
            return self.embed_query(text)
        return vector

    def count_tokens(self, text: str) -> int:
        """Words."""
        return len(text.split())

    def truncates(self, text: str) -> bool:
        """No window."""
        return False


@dataclass
class Gate:
    """A store with an active model, and short forms of what tests do with it."""

    settings: Settings
    store: Store
    embedder: Compass

    def open(self, *, distance: float = 0.08, store: Store | None = None) -> OpenGate:
        """What the gate's verbs take."""
        return replace(open_gate(store or self.store, self.settings, self.embedder), distance=distance)

    def write(self, heading: str, content: str = "Body.", *, by: Principal = OWNER, **values: Any) -> Result:
        """One statement in `global` under a key of its own."""
        given = {"namespace": "global", "key": f"{heading}|{content}", "memory_type": "semantic", **values}
        at = given.pop("at", AT)
        return write_memory(self.open(), Statement(heading, content, **given), principal=by, at=at)

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """What an administrator sees."""
        with testing.connect(self.settings) as connection:
            return connection.execute(statement, values).fetchall()

    def live(self) -> list[str]:
        """Headings of live memories."""
        return [row[0] for row in self.rows("select heading from kos.memories where deleted_at is null order by 1")]


@pytest.fixture
def gate(database: Settings, tmp_path: Path) -> Iterator[Gate]:
    """A store whose active model is the compass, and an empty vault."""
    embedder = Compass()
    (tmp_path / "vault").mkdir()
    database = replace(database, vault=tmp_path / "vault")
    with testing.store(database) as store:
        with store.transaction(pipeline=True) as session:
            key = embeddings.register(session, model_id=embedder.identity.model_id, dimensions=40, recipe={})
            embeddings.activate(session, key)
        yield Gate(database, store, embedder)


@pytest.fixture
def opened(postgres: testing.TestServer, tmp_path: Path) -> Callable[..., Any]:
    """`with opened(vault) as (settings, store)`: an empty store for a vault."""

    @contextmanager
    def open_store(vault: Path) -> Iterator[tuple[Settings, Store]]:
        base = Settings(data_dir=tmp_path / "data", vault=vault, stamp_quiet_s=0)
        with postgres.database(base) as settings, testing.store(settings) as store:
            yield settings, store

    return open_store
