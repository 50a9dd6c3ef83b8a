"""Public vaults that nobody here wrote: every file gives a note or a reason, and the stamp comes out again."""

from __future__ import annotations

import os
import tarfile
import time
from pathlib import Path
from uuid import UUID

import pytest

from kos_assets.vault import scan
from kos_assets.vault.note import ParsedNote, parse_note
from kos_assets.vault.problems import Unreadable
from kos_assets.vault.stamp import stamped, unstamped

ID = UUID("12345678-1234-5678-9234-56789abcdef0")
_CANVASES = 22  # in the five archives, by `find -name '*.canvas'`
DATA = os.environ.get("KOS_TEST_DATA")


def _archives() -> list[Path]:
    return sorted(Path(DATA, "vaults").glob("*.tar.gz")) if DATA else []


def test_every_note_of_real_vaults(tmp_path: Path) -> None:
    """V1, V2, V4: nothing crashes, nothing is lost, the stamp round-trips byte for byte."""
    if not _archives():
        pytest.skip("set KOS_TEST_DATA to the folder with vaults/*.tar.gz to try real vaults")
    spent: dict[str, float] = {"walk": 0.0, "read": 0.0, "parse": 0.0}
    notes = boards = refused = 0
    for archive in _archives():
        root = tmp_path / archive.name
        with tarfile.open(archive) as packed:
            packed.extractall(root, filter="data")
        started = time.perf_counter()
        found, unreadable = scan.walk(root)
        spent["walk"] += time.perf_counter() - started
        assert found
        assert all(item.reason and item.fix for item in unreadable)
        for stat in found:
            started = time.perf_counter()
            data = scan.read(root, stat)
            spent["read"] += time.perf_counter() - started
            assert isinstance(data, bytes), data
            started = time.perf_counter()
            note = parse_note(stat.path, data)
            spent["parse"] += time.perf_counter() - started
            assert isinstance(note, ParsedNote | Unreadable)
            if stat.path.endswith(".canvas"):
                boards += isinstance(note, ParsedNote) and not note.stampable
                continue
            notes += 1
            refused += not _round_trip(stat.path, data, note)
    print(f"{notes} notes, {boards} canvases, {refused} not stampable, seconds: {spent}")
    assert boards == _CANVASES
    assert refused < notes / 100


def _round_trip(path: str, data: bytes, note: ParsedNote | Unreadable) -> bool:
    new = stamped(data, ID)
    if new is None:
        return False
    assert isinstance(note, ParsedNote)
    assert unstamped(new) == unstamped(data), path
    assert note.kos_id is not None or unstamped(new) == data, path
    after = parse_note(path, new)
    assert isinstance(after, ParsedNote)
    assert (after.kos_id, after.content_hash, after.body_hash) == (ID, note.content_hash, note.body_hash), path
    assert (after.title, after.body, after.tags) == (note.title, note.body, note.tags), path
    assert [link.target for link in after.links] == [link.target for link in note.links], path
    return True
