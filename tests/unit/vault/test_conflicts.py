"""Names of conflict copies."""

from __future__ import annotations

import time

import pytest

from kos_assets.vault.conflicts import original_of


@pytest.mark.parametrize(
    "name",
    [
        "Note.sync-conflict-20260304-101112-ABCDEFG.md",
        "Note.sync-conflict-20260304-101112.md",
        "Note_conflict-20260304-101112.md",
        "Note (conflicted copy 2026-03-04 101112).md",
        "Note (Ada's conflicted copy 2026-03-04).md",
        "Note (Ada (work)'s conflicted copy 2026-03-04).md",
        "Note (Conflicted copy iPhone 202603041011).md",
        "Note (In Konflikt stehende Kopie von Ada 2026-03-04).md",
        "Note (Konfliktkopie 2026-03-04).md",
        "Note (Copie en conflit de Ada 2026-03-04).md",
        "Note (Copia en conflicto de Ada 2026-03-04).md",
        "Note (Copia in conflitto di Ada 2026-03-04).md",
        "Note (Cópia em conflito de Ada 2026-03-04).md",
        "Note (Conflicterende kopie van Ada 2026-03-04).md",
        "Note (kopia powodująca konflikt Ada 2026-03-04).md",
        "Note (конфликтующая копия пользователя Ada 2026-03-04).md",
        "Note (Ada の競合コピー 2026-03-04).md",
        "Note (Ada 的冲突副本 2026-03-04).md",
        "Note (Ada의 충돌된 사본 2026-03-04).md",
        "Note (SFConflict ada@example.org 2026-03-04-10-11-12).md",
        "Note (# Name clash 2026-03-04 abc #).md",
        "Note (case clash from Ada).md",
        "Note [Conflict].md",
        "Note.Conflict.md",
        "Note-DESKTOP-1A2B3C4.md",
        "Note-LAPTOP-1A2B3C4D-2.md",
        "Note_BACKUP_12345.md",
        "Note_REMOTE_12345.md",
        "Note~20260304-101112.md",
    ],
)
def test_names_that_programs_give(name: str) -> None:
    """V4: Syncthing, Nextcloud, Dropbox, OneDrive, Obsidian Sync, Seafile, Google Drive, git, in several languages."""
    assert original_of(f"a (b)/{name}") == "a (b)/Note.md"


@pytest.mark.parametrize(
    "name",
    ["Note.md", "Note 2.md", "Note (1).md", "Note - Copy.md", "Conflict.md", "War (conflict).md", "Note-DESKTOP.md",
     "Note-desktop-computers.md", "Buying-MacBook Pro.md", "Conflicted copy.md", "Konflikt (2026).md", "v_BASE_x.md",
     "(conflicted copy).md", ".conflict.md", "", "no suffix", "a" * 5000 + ".conflict.md"],
)  # fmt: skip
def test_names_that_people_give(name: str) -> None:
    """V4: a note is never set aside for a name that a person may have chosen."""
    assert original_of(name) is None


@pytest.mark.parametrize("part", ["(", "(conflicted copy", "_BASE_1", "-DESKTOP-", "~2026", ".sync-conflict-"])
def test_long_names_cost_little(part: str) -> None:
    """V4: no name makes the pattern slow."""
    start = time.process_time()
    for _ in range(50):
        original_of(part * 100 + "!.md")
        original_of(part * 20 + "!.md")
    assert time.process_time() - start < 1
