"""The first command of a new installation, whichever it is."""

from __future__ import annotations

from pathlib import Path

from kos_assets.operations.installation import embedded, open_installation
from kos_assets.settings import Settings
from kos_assets.store.database import Store, role_dsn


def test_the_first_command_may_be_one_that_only_reads(tmp_path: Path) -> None:
    """P2: `kos search` before the first ingest finds an empty store, not a login that is unknown."""
    base = Settings(data_dir=tmp_path)
    try:
        with (
            open_installation(base, apply_migrations=False) as found,
            Store(role_dsn(found, "reader")) as reader,
            reader.transaction(namespaces=["global"]) as session,
        ):
            assert session.value("select count(*) from kos.live_memories") == 0
    finally:
        embedded(base).stop()
