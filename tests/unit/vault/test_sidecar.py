"""The vault's own records in `.kos`."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from kos_assets.errors import VaultError
from kos_assets.vault import sidecar
from kos_assets.vault.sidecar import Adoption

A, B = UUID(int=1), UUID(int=2)


def test_ids_come_back_sorted_and_unchanged_files_are_not_written(tmp_path: Path) -> None:
    """V2, V5: one line per id, sorted, rewritten only when something changed."""
    assert sidecar.read_ids(tmp_path) == ({}, [])
    assert not sidecar.write_ids(tmp_path, {})
    assert not (tmp_path / ".kos").exists()
    assert sidecar.write_ids(tmp_path, {"é.md": B, "a\n b.md": A})
    file = tmp_path / sidecar.IDS_PATH
    assert file.read_text("utf-8").splitlines() == [
        f'{{"path": "a\\n b.md", "note_id": "{A}"}}',
        f'{{"path": "é.md", "note_id": "{B}"}}',
    ]
    before = file.stat()
    assert not sidecar.write_ids(tmp_path, {"a\n b.md": A, "é.md": B})
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert sidecar.read_ids(tmp_path) == ({"a\n b.md": A, "é.md": B}, [])
    assert sidecar.write_ids(tmp_path, {})
    assert sidecar.read_ids(tmp_path) == ({}, [])
    assert [item.name for item in (tmp_path / ".kos").iterdir()] == ["ids.jsonl"]


def test_damaged_lines_are_reported_and_the_rest_counts(tmp_path: Path) -> None:
    """V2, V4: a merge left open loses nothing, a cut line one id at most."""
    sidecar.write_ids(tmp_path, {"a.md": A, "b.md": B})
    file = tmp_path / sidecar.IDS_PATH
    lines = file.read_bytes().splitlines(keepends=True)
    bad = [
        b"<<<<<<< HEAD\n",
        b"[1]\n",
        b'{"path": 1, "note_id": "%s"}\n' % str(A).encode(),
        b'{"path": "c"}\n',
        b"\xff\n",
        b'{"path": "c", "note_id": "x"}\n',
        b"null\n",
    ]
    file.write_bytes(b"".join([*bad, lines[0], b"\n", lines[1][:-1]]))
    ids, problems = sidecar.read_ids(tmp_path)
    assert ids == {"a.md": A, "b.md": B}
    assert [problem.line for problem in problems] == [2, 3, 4, 5, 6, 7]


def test_the_sidecar_is_not_reached_through_a_link(tmp_path: Path) -> None:
    """V4, V7: a linked `.kos` is an error, not a write elsewhere and not an empty sidecar."""
    (tmp_path / "elsewhere").mkdir()
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / ".kos").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(VaultError):
        sidecar.write_ids(vault, {"a.md": A})
    with pytest.raises(VaultError):
        sidecar.read_ids(vault)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_adoption(tmp_path: Path) -> None:
    """V2: before `kos init` there is no record; afterwards it says what was agreed to."""
    assert sidecar.read_adoption(tmp_path) is None
    for record in (Adoption(A, "frontmatter"), Adoption(A, "never")):
        assert sidecar.write_adoption(tmp_path, record)
        assert not sidecar.write_adoption(tmp_path, record)
        assert sidecar.read_adoption(tmp_path) == record


@pytest.mark.parametrize(
    "text",
    ["stamp = ", 'stamp = "always"\nvault_id = "x"', 'stamp = "never"', 'stamp = "never"\nvault_id = 7', "\udcff"],
)
def test_a_damaged_adoption_is_an_error(tmp_path: Path, text: str) -> None:
    """V2: what cannot be read is not guessed: a wrong guess would stamp files that should stay as they are."""
    (tmp_path / ".kos").mkdir()
    (tmp_path / sidecar.ADOPTION_PATH).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(VaultError, match="damaged"):
        sidecar.read_adoption(tmp_path)
