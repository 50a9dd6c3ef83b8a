"""What the hostile tests share: a vault with a store beside it, and an embedder that counts what it is asked."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kos_assets import testing
from kos_assets.inference.embedding import ModelIdentity
from kos_assets.ingest.notes import sync_notes
from kos_assets.ingest.pipeline import IngestReport, ingest_vault
from kos_assets.ingest.reports import NotesReport
from kos_assets.settings import Settings

_DIMS = 32
_ADOPTED = 'vault_id = "00000000-0000-4000-8000-000000000001"\nstamp = "frontmatter"\n'


@dataclass
class CountingEmbedder:
    """A vector from a digest of the text: equal texts at distance 0, others far apart. `texts` is all it was asked."""

    texts: list[str] = field(default_factory=list)

    @property
    def identity(self) -> ModelIdentity:
        """One model."""
        return ModelIdentity("test", "digest", _DIMS, 256, "", "", "", 1)

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Vectors of length 1."""
        self.texts.extend(texts)
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The same recipe."""
        seed = np.frombuffer(hashlib.sha256(text.encode("utf-8", "replace")).digest(), dtype=np.uint8)
        values = seed.astype(np.float64) / 127.5 - 1.001
        return np.asarray(values / np.linalg.norm(values), dtype=np.float32)

    def count_tokens(self, text: str) -> int:
        """Words."""
        return len(text.split())

    def truncates(self, text: str) -> bool:
        """No window."""
        return False


@dataclass
class Place:
    """One store and the vault that it belongs to."""

    settings: Settings
    embedder: CountingEmbedder = field(default_factory=CountingEmbedder)

    @property
    def root(self) -> Path:
        """The vault's folder."""
        return self.settings.require_vault()

    def write(self, path: str, text: str, *, at: float = 1_780_000_000) -> Path:
        """A file with a modification time of its own."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8", newline="")
        os.utime(file, (at, at))
        return file

    def ingest(self, **options: Any) -> IngestReport:
        """All steps."""
        with testing.store(self.settings) as store:
            return ingest_vault(store, self.embedder, self.settings, **options)

    def scan(self, **options: Any) -> NotesReport:
        """The first step alone."""
        with testing.store(self.settings) as store:
            return sync_notes(store, self.settings, **options)

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """What an administrator sees."""
        with testing.connect(self.settings) as connection:
            return connection.execute(statement, values).fetchall()

    def live(self) -> dict[str, str]:
        """Path -> id of the notes that stand, as the store has them."""
        return dict(self.rows("select path, note_id::text from kos.notes where deleted_at is null"))

    def versions(self) -> list[Any]:
        """Every row of every table with the transaction that wrote it."""
        tables = self.rows("select tablename from pg_tables where schemaname = 'kos' order by 1")
        return [
            (name, self.rows(f"select t.xmin::text, t.ctid::text from kos.{name} as t order by 2"))
            for (name,) in tables
        ]

    def files(self) -> dict[str, tuple[int, int, int]]:
        """Size, time and number of every regular file."""
        found = [path for path in self.root.rglob("*") if path.is_file() and not path.is_symlink()]
        return {str(path): (path.stat().st_size, path.stat().st_mtime_ns, path.stat().st_ino) for path in found}


def adopt(root: Path) -> Path:
    """The folder as `kos init` leaves it: ids go into frontmatter."""
    (root / ".kos").mkdir(parents=True, exist_ok=True)
    (root / ".kos/vault.toml").write_text(_ADOPTED)
    return root


@pytest.fixture
def adopted(database: Settings, tmp_path: Path) -> Place:
    """A fresh store and an empty, adopted vault; stamps wait for nothing."""
    return Place(replace(database, vault=adopt(tmp_path / "vault"), stamp_quiet_s=0))


@pytest.fixture
def unadopted(database: Settings, tmp_path: Path) -> Place:
    """A fresh store and an empty vault before `kos init`."""
    (tmp_path / "vault").mkdir()
    return Place(replace(database, vault=tmp_path / "vault", stamp_quiet_s=0))


@pytest.fixture
def beside(postgres: testing.TestServer, tmp_path: Path) -> Callable[..., Any]:
    """`with beside(root) as place`: another empty store, for another copy of a vault."""

    @contextmanager
    def opened(root: Path) -> Iterator[Place]:
        base = Settings(data_dir=tmp_path / f"data-{root.name}", vault=root, stamp_quiet_s=0)
        with postgres.database(base) as settings:
            yield Place(settings)

    return opened
