"""What a scan refuses or sets aside before it looks at any note: another vault, a vault that seems to be gone, paths.

Here: checks over paths and counts. Not here: what is in the files (notes.py), what becomes of statements.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kos_assets.errors import VaultError
from kos_assets.ingest.note_rows import LONGEST_PATH
from kos_assets.store.database import Row
from kos_assets.vault.memory_file import is_reserved
from kos_assets.vault.problems import Unreadable
from kos_assets.vault.scan import FileStat
from kos_assets.vault.sidecar import Adoption

_MASS_DELETION = 20
"""Fewer notes than this may all vanish in one scan; of more, at most half, unless the person says that it is meant."""


def notes_only(found: Sequence[FileStat], unreadable: Sequence[Unreadable]) -> tuple[list[FileStat], list[Unreadable]]:
    """What a scan of notes answers for: no files of statements (V9), no paths that the store's indexes cannot hold.

    A path that is too long is Unreadable: one such file must not block the rest (V4).
    """
    notes = [stat for stat in found if not is_reserved(stat.path)]
    others = [item for item in unreadable if not is_reserved(item.path)]
    long = {stat.path for stat in notes if len(stat.path.encode()) > LONGEST_PATH}
    reason, fix = f"the path is longer than {LONGEST_PATH:,} bytes", "move it higher up, or shorten its folders"
    blocked = [Unreadable(path, "path_too_long", reason, fix) for path in sorted(long)]
    return [stat for stat in notes if stat.path not in long], [*others, *blocked]


def refuse_other_vault(row: Row | None, adoption: Adoption | None, root: Path) -> None:
    """Another vault under the same store would read as "everything was deleted". Raises VaultError."""
    if row is None:
        return
    same_id = adoption is not None and row["vault_id"] == adoption.vault_id
    if not same_id and row["vault_root"] != str(root.resolve()):
        raise VaultError(
            f"This installation belongs to the vault {row['vault_root']}, not to {root}.",
            why="Scanning another vault would mark every note of the first one as deleted.",
            fix="Use another KOS_DATA_DIR (or database) for it. A vault that `kos init` adopted can be moved freely.",
        )


def refuse_mass_deletion(root: Path, *, known: int, gone: int, moved_in: int, allowed: bool) -> None:
    """Raises VaultError when most of the vault went away at once and that was not said to be meant."""
    lost = gone - moved_in
    if allowed or lost <= _MASS_DELETION or lost * 2 <= known:
        return
    raise VaultError(
        f"{gone} of {known} notes are gone from {root}; nothing was changed.",
        why="That looks like an unmounted drive or a half-finished synchronisation.",
        fix="If it is meant, run `kos ingest --allow-mass-deletion`.",
    )
