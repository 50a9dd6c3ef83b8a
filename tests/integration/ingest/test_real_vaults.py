"""Issue's real input: five public vaults, each note accounted for; nothing distinct is ever retired."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kos_assets import testing
from kos_assets.ingest.memories import sync_memories
from kos_assets.operations.accounting import account
from kos_assets.vault import markdown  # noqa: F401 - the parser's tables are built before the clock runs
from kos_assets.vault.note import ParsedNote, parse_note
from kos_assets.vault.scan import walk

VAULTS = ("agent-gbrain", "dendron-site", "gh-explore", "obsidian-tasks", "oldwinter-zh")
_SLICE = 150


@pytest.fixture(params=VAULTS)
def public_vault(request: pytest.FixtureRequest, real_inputs: Path, tmp_path: Path) -> Path:
    """One archive, unpacked."""
    archive = real_inputs / "vaults" / f"{request.param}.tar.gz"
    if not archive.exists():
        pytest.skip(f"KOS_TEST_DATA has no vaults/{request.param}.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "public", filter="data")
    return tmp_path / "public"


def _bodies(root: Path, paths: set[str]) -> dict[str, str]:
    found = {}
    for path in paths:
        note = parse_note(path, (root / path).read_bytes())
        assert isinstance(note, ParsedNote)
        found[path] = " ".join(note.body.split())
    return found


def test_every_note_of_a_public_vault_is_accounted_for(public_vault: Path, fresh: Callable[..., Any]) -> None:
    """G6, V1, V5, promise 4: files = notes + blocked; notes = live + folded; folded pairs have equal bodies; no two
    live memories do; a second scan reads and writes nothing; no file is touched."""
    before = {path: hashlib.sha256(path.read_bytes()).digest() for path in public_vault.rglob("*.md") if path.is_file()}
    with fresh(public_vault) as place, testing.store(place.settings) as store:
        place.scan()
        sync_memories(store, place.settings)
        result = account(store)
        files, _ = walk(public_vault)
        blocked = {row[0] for row in place.rows("select path from kos.quarantine where severity = 'blocked'")}
        standing = {row[0] for row in place.rows("select path from kos.notes where deleted_at is null")}
        assert standing | blocked >= {stat.path for stat in files}
        assert result.notes == len(standing)
        assert result.balanced
        assert (result.retired, result.expired) == (0, 0)
        bodies = _bodies(public_vault, {path for pair in result.folded for path in pair})
        assert all(bodies[copy] == bodies[chosen] for copy, chosen in result.folded)
        assert place.rows("""
            select n.namespace, n.body_hash from kos.notes as n join kos.memories as m using (note_id)
            where m.deleted_at is null and n.body_hash is not null group by 1, 2 having count(*) > 1
        """) == []  # fmt: skip
        assert place.scan().read == 0
        assert sync_memories(store, place.settings).notes == 0
    print(result)
    after = {path: hashlib.sha256(path.read_bytes()).digest() for path in before}
    assert after == before


def test_a_slice_of_a_public_vault_with_the_real_model(
    real_inputs: Path, fresh: Callable[..., Any], tmp_path: Path, embedder: Any
) -> None:
    """G6, R8: 150 notes with many near-duplicates: every live memory has its vectors, near pairs are linked within
    0.08 in one namespace, and not one of them is retired for it."""
    archive = real_inputs / "vaults/obsidian-tasks.tar.gz"
    if not archive.exists():
        pytest.skip("KOS_TEST_DATA has no vaults/obsidian-tasks.tar.gz")
    root = tmp_path / "slice"
    with tarfile.open(archive) as packed:
        members = [member for member in packed.getmembers() if member.isfile() and member.name.endswith(".md")]
        small = sorted((member for member in members if member.size < 600), key=lambda member: member.name)[:_SLICE]
        packed.extractall(root, members=small, filter="data")
    with fresh(root) as place, testing.store(place.settings) as store:
        place.embedder = embedder
        report = place.ingest()
        result = account(store)
        assert result.balanced
        assert result.notes == report.notes.files == len(small)
        assert (result.pending_vectors, result.retired) == (0, 0)
        assert place.rows("select state, count(*) from kos.vector_facts where is_live group by 1")[0][0] == "current"
        pairs = place.rows("""
            select (l.embedding <=> r.embedding)::float8, (e.detail ->> 'distance')::float8, l.live and r.live
            from kos.edges as e join kos.embeddings as l on e.src_id = l.memory_id and l.ordinal = -1
            join kos.embeddings as r on e.dst_id = r.memory_id and r.ordinal = -1 where e.kind = 'similar_to'
        """)
        assert len(pairs) >= 5
        assert all(exact < 0.08 and abs(exact - told) < 1e-3 and live for exact, told, live in pairs)
        assert report.embeddings.similar_pairs == len(pairs)
