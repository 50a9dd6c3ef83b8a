"""Named blocks of SQL files: every file of the store can be read, and no name stands for two statements."""

from __future__ import annotations

from importlib import resources

import pytest

from kos_assets.store import sql

FILES = sorted(
    entry.name.removesuffix(".sql")
    for entry in resources.files("kos_assets.store").iterdir()
    if entry.name.endswith(".sql")
)


@pytest.mark.parametrize("name", FILES)
def test_every_file_splits_into_statements(name: str) -> None:
    """House rule 3: SQL lives in named blocks; none is empty, none ends in a semicolon."""
    found = sql.blocks(name)
    assert found
    assert all(text and not text.endswith(";") for text in found.values())


def test_blocks_cannot_be_changed() -> None:
    """House rule 3: the text of a statement is what the file says."""
    with pytest.raises(TypeError):
        sql.blocks("roles")["role_exists"] = "select 2"  # type: ignore[index]


def test_memories_are_named_in_one_file() -> None:
    """G1: beside the migrations only memories.sql says kos.memories; everything that reads says kos.live_memories."""
    folder = resources.files("kos_assets.store")
    saying = {name for name in FILES if "kos.memories" in folder.joinpath(f"{name}.sql").read_text("utf-8")}
    assert saying == {"memories"}
