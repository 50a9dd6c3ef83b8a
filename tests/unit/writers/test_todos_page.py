"""The documented sample of the todo writer is what it gives."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

from kos_assets.domain.mirrors import mirror_settings
from kos_assets.writers.mirror import mirror
from kos_assets.writers.todos import open_source

PAGE = Path(__file__).parents[3] / "docs" / "writers" / "todos.md"


def test_the_pages_sample_is_what_comes_of_it(tmp_path: Path) -> None:
    """W4: the page shows a source and its note, byte for byte."""
    page = PAGE.read_text("utf-8")
    source, note = (re.search(rf"```{name}\n(.*?)```", page, re.DOTALL).group(1) for name in ("text", "markdown"))  # type: ignore[union-attr]
    (tmp_path / "todo.txt").write_text(source, "utf-8")
    vault = tmp_path / "vault"
    vault.mkdir()
    settings = mirror_settings("todos", {"path": str(tmp_path / "todo.txt")})
    opened = open_source(settings, vault=vault, data_dir=tmp_path / "data", zone=ZoneInfo("Europe/Berlin"))
    mirror(opened, vault, name="todos", folder="todos", namespace=None, today=date(2026, 3, 4))
    assert sorted(path.name for path in (vault / "todos").iterdir()) == ["house (tasks).md"]
    assert (vault / "todos" / "house (tasks).md").read_text("utf-8") == note
    assert len(page.splitlines()) <= 60
