"""Notes of a folder as the rows that extraction reads, without a database: the demo vault with its mirrors, any
vault."""

from __future__ import annotations

import hashlib
import os
import tarfile
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from kos_assets.domain.entities.candidates import candidates, discovered
from kos_assets.domain.entities.classes import settled
from kos_assets.domain.entities.declared import declared
from kos_assets.domain.entities.known import KnownNames
from kos_assets.domain.entities.memory_text import Candidate, MemoryText
from kos_assets.domain.entities.names import normalise
from kos_assets.domain.entities.ordinary import code_symbols, small_phrases
from kos_assets.domain.entities.promotion import Promotion, promote
from kos_assets.domain.language import detect
from kos_assets.operations.demo_home import lay_out, run_mirrors
from kos_assets.vault import scan
from kos_assets.vault.note import ParsedNote, parse_note

NOW = datetime(2026, 10, 1, tzinfo=UTC)
_SAMPLE = 4000


@dataclass(frozen=True)
class Extracted:
    """All that the rules made of one vault."""

    memories: tuple[MemoryText, ...]
    known: KnownNames
    found: tuple[Candidate, ...]
    promotions: tuple[Promotion, ...]
    groups: dict[UUID, Hashable]


def memories_of(root: Path) -> list[MemoryText]:
    """Every readable note below `root`, ordered by path; hidden folders and templates are left out, as ingest does."""
    found, _ = scan.walk(root)
    rows = []
    for stat in sorted(found, key=lambda one: one.path):
        data = scan.read(root, stat)
        note = parse_note(stat.path, data) if isinstance(data, bytes) else None
        if isinstance(note, ParsedNote) and stat.path.endswith(".md") and "templates/" not in stat.path:
            rows.append(_row(note))
    return rows


def _row(note: ParsedNote) -> MemoryText:
    kind = note.properties.get("kind")
    return MemoryText(
        memory_id=UUID(bytes=hashlib.sha256(note.path.encode()).digest()[:16]),
        heading=note.title,
        content=note.content,
        note_path=note.path,
        kind=kind if isinstance(kind, str) else None,
        tags=note.tags,
        aliases=note.aliases,
        people=note.people,
        links=tuple(link.target for link in note.links if link.target),
        lang=detect(f"{note.title}\n{note.content[:_SAMPLE]}"),
        event_at=note.event_at,
    )


def extract(memories: list[MemoryText]) -> Extracted:
    """The whole chain, as the pipeline will run it: declare, find, look for what was found, settle, promote."""
    names = [one for memory in memories for one in declared(memory)]
    first = KnownNames(names)
    titles = {normalise(name) for one in memories for name in (one.heading, one.note_path.rpartition("/")[2][:-3])}
    fresh = settled([one for memory in memories for one in candidates(memory, first, titles=titles)])
    known = KnownNames([*names, *discovered(fresh)])
    found = settled([one for memory in memories for one in candidates(memory, known, titles=titles)])
    groups: dict[UUID, Hashable] = {one.memory_id: " ".join(one.content.split()) or one.memory_id for one in memories}
    small = Counter(phrase for one in memories for phrase in small_phrases(one.content))
    code = frozenset(name for one in memories for name in code_symbols(one.content))
    ordinary = frozenset(phrase for phrase, count in small.items() if count > 1)
    event_at = {one.memory_id: one.event_at for one in memories}
    verdicts = promote(found, groups=groups, event_at=event_at, now=NOW, ordinary=ordinary, code=code)
    return Extracted(tuple(memories), known, tuple(found), tuple(verdicts), groups)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Extracted:
    """The demo vault with what its mirrors write."""
    home = tmp_path_factory.mktemp("demo")
    settings = lay_out(home)
    run_mirrors(settings)
    return extract(memories_of(settings.require_vault()))


@pytest.fixture(scope="session")
def public_vault(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Extracted]:
    """A public vault by the name of its archive below KOS_TEST_DATA; the test skips without it."""
    data = os.environ.get("KOS_TEST_DATA")

    def load(name: str) -> Extracted:
        archive = Path(data or "", "vaults", f"{name}.tar.gz")
        if not data or not archive.exists():
            pytest.skip(f"set KOS_TEST_DATA to the folder with vaults/{name}.tar.gz to measure it")
        root = tmp_path_factory.mktemp(name)
        with tarfile.open(archive) as packed:
            packed.extractall(root, filter="data")
        return extract(memories_of(root))

    return load
