"""What the tests of ingest share: a cheap deterministic embedder, a vault to write into, the whole state of a store."""

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
from kos_assets.errors import ItemError, ProviderUnavailableError
from kos_assets.inference.embedding import ModelIdentity
from kos_assets.ingest.notes import sync_notes
from kos_assets.ingest.pipeline import IngestReport, ingest_vault
from kos_assets.ingest.reports import NotesReport
from kos_assets.settings import Settings

_DIMS = 32


@dataclass
class WordEmbedder:
    """A sum of one pseudo-random vector a word: texts that share words lie near each other, equal ones at distance 0.

    Hundreds of random vaults are embedded here; the real model takes 0.05 to 0.1 s a text and would test the model, not
    what ingest does with vectors. Tests beside these use the real one.
    """

    name: str = "words"
    out_of_reach: bool = False
    retry_after_s: float | None = None
    fails_after: int | None = None
    refuses: str = ""
    calls: list[list[str]] = field(default_factory=list)

    @property
    def identity(self) -> ModelIdentity:
        """One model per name."""
        return ModelIdentity("test", self.name, _DIMS, 256, "", "", "", 1)

    @property
    def texts(self) -> list[str]:
        """Every text that was embedded so far."""
        return [text for call in self.calls for text in call]

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Vectors of length 1."""
        if self.fails_after is not None and len(self.calls) >= self.fails_after:
            raise ProviderUnavailableError("The test's provider is away.", retry_after_s=self.retry_after_s)
        if self.refuses and any(self.refuses in text for text in texts):
            raise ItemError("The test's provider refuses this text.")
        vectors = np.stack([self.embed_query(text) for text in texts])
        self.calls.append(list(texts))
        return vectors

    def embed_query(self, text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The same recipe for queries."""
        if self.out_of_reach:
            raise ProviderUnavailableError("The test's provider is away.", retry_after_s=self.retry_after_s)
        total = np.full(_DIMS, 1e-3)
        for word in text.split():
            seed = hashlib.sha256(f"{self.name}:{word}".encode()).digest()
            total += np.frombuffer(seed, dtype=np.uint8).astype(np.float64) / 127.5 - 1
        return np.asarray(total / np.linalg.norm(total), dtype=np.float32)

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
    embedder: WordEmbedder

    @property
    def root(self) -> Path:
        """The vault's folder."""
        return self.settings.require_vault()

    def write(self, path: str, text: str | bytes, *, at: float = 1_780_000_000) -> Path:
        """A file with a modification time of its own, so that no date depends on the clock."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        os.utime(file, (at, at))
        return file

    def ingest(self, **options: Any) -> IngestReport:
        """All four steps."""
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

    def at(self, root: Path) -> Place:
        """This store, emptied, for another vault: quicker than another database."""
        with testing.connect(self.settings) as connection:
            tables = connection.execute("""
                select string_agg(format('kos.%I', tablename), ', ') from pg_tables
                where schemaname = 'kos' and tablename not in ('schema_migrations', 'migrations')
            """).fetchall()[0][0]
            connection.execute(f"truncate {tables} restart identity cascade")
        return Place(replace(self.settings, vault=root), WordEmbedder())

    def state(self) -> dict[str, list[Any]]:
        """Everything that a rebuild from the files must give again."""
        with testing.connect(self.settings) as connection:
            connection.execute("set timezone = 'UTC'")
            return {name: connection.execute(text).fetchall() for name, text in STATE.items()}


_LIVE = "select memory_id from kos.memories where deleted_at is null and (expires_at is null or expires_at > now())"
STATE = {
    "notes": """
        select path, note_id, source, title, title_rule, content, namespace, memory_type, type_reason, type_confidence,
            provenance, confidence, author, home_path, lang, event_at, event_zone, event_rule, source_updated_at,
            verified_at, expires_at, properties::text, structure::text, size_bytes, mtime_ns, file_hash, content_hash,
            body_hash, stamped, row_hash, synced_hash
        from kos.notes where deleted_at is null order by path
    """,
    "note_links": """
        select n.path, l.ordinal, l.kind, l.target, l.anchor, l.line
        from kos.note_links as l join kos.notes as n using (note_id) where n.deleted_at is null order by 1, 2
    """,
    "memories": """
        select memory_id, namespace, memory_type, type_reason, type_confidence, heading, content, summary, provenance,
            confidence, importance, supersedes, folded_into, note_id, note_path, author, home::text, home_path, lang,
            event_at, event_zone, event_rule, verified_at, verified_by, expires_at, keywords, content_hash, fold_hash,
            idempotency_key
        from kos.memories where deleted_at is null order by memory_id
    """,
    "folded": """
        select memory_id, namespace, heading, content, note_path, event_at, content_hash, fold_hash, folded_into
        from kos.memories where deleted_reason = 'folded' order by memory_id
    """,
    "index": f"""
        select memory_id, indexed_hash, recipe, embed_hash, linked
        from kos.index_state where memory_id in ({_LIVE}) order by 1
    """,
    "chunks": f"""
        select memory_id, ordinal, namespace, live, expires_at, heading_path, body, start_line, end_line, embed_hash,
            lang, length
        from kos.chunks where memory_id in ({_LIVE}) order by 1, 2
    """,
    "postings": f"""
        select c.memory_id, c.ordinal, p.term, p.namespace, p.live, p.expires_at, p.frequency, p.length, p.impact
        from kos.postings as p join kos.chunks as c using (chunk_id) where c.memory_id in ({_LIVE}) order by 1, 2, 3
    """,
    "terms": """
        select namespace, term, sum(documents) from kos.lexical_terms
        group by 1, 2 having sum(documents) <> 0 order by 1, 2
    """,
    "totals": """
        select namespace, lang, sum(documents), sum(tokens) from kos.lexical_totals
        group by 1, 2 having sum(documents) <> 0 or sum(tokens) <> 0 order by 1, 2
    """,
    "embeddings": f"""
        select e.memory_id, e.ordinal, m.model_id, e.namespace, e.live, e.expires_at, e.content_hash, e.embedding::text
        from kos.embeddings as e join kos.embedding_models as m using (model_key)
        where e.memory_id in ({_LIVE}) order by 1, 2, 3
    """,
    "edges": f"""
        select src_id, kind, dst_id, weight, provenance, detail::text from kos.edges
        where src_id in ({_LIVE}) and dst_id in ({_LIVE}) order by 1, 2, 3
    """,
    "quarantine": """
        select path, code, line, severity, namespace, reason, fix from kos.quarantine order by 1, 2, 3
    """,
}


def vault_of(root: Path, stamp: str | None = None) -> Path:
    """An empty vault; `stamp` is what the person agreed to, None before `kos init`."""
    root.mkdir(parents=True)
    if stamp is not None:
        (root / ".kos").mkdir()
        record = f'vault_id = "00000000-0000-4000-8000-000000000001"\nstamp = "{stamp}"\n'
        (root / ".kos/vault.toml").write_text(record)
    return root


@pytest.fixture
def place(database: Settings, tmp_path: Path) -> Place:
    """A fresh store and an empty vault that was never adopted; stamps wait for nothing."""
    return Place(replace(database, vault=vault_of(tmp_path / "vault"), stamp_quiet_s=0), WordEmbedder())


@pytest.fixture
def adopted(database: Settings, tmp_path: Path) -> Place:
    """The same after `kos init`: ids are stamped into files."""
    return Place(replace(database, vault=vault_of(tmp_path / "vault", "frontmatter"), stamp_quiet_s=0), WordEmbedder())


@pytest.fixture(params=["place", "adopted"])
def either(request: pytest.FixtureRequest) -> Place:
    """Both, one after the other."""
    found: Place = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def fresh(postgres: testing.TestServer, tmp_path: Path) -> Callable[..., Any]:
    """`with fresh(root, ...) as place`: another empty store for a vault."""

    @contextmanager
    def opened(root: Path | None, **changes: Any) -> Iterator[Place]:
        base = Settings(data_dir=tmp_path / "other", vault=root, stamp_quiet_s=0, **changes)
        with postgres.database(base) as settings:
            yield Place(settings, WordEmbedder())

    return opened


@pytest.fixture
def new_vault() -> Callable[..., Path]:
    """vault_of."""
    return vault_of
