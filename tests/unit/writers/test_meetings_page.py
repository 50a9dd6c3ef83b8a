"""The page about meetings tells what the code does."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

from kos_assets.domain.mirrors import mirror_settings
from kos_assets.writers.meetings import open_source
from kos_assets.writers.mirror import mirror

PAGE = Path(__file__).parents[3] / "docs" / "writers" / "meetings.md"


def block(language: str) -> str:
    """The one block of that language on the page."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return str(found)


def test_the_sample_on_the_page_gives_the_note_on_the_page(tmp_path: Path) -> None:
    """W2: the note on the page is what comes of the sample, byte for byte."""
    table = tomllib.loads(block("toml"))["mirror"]["meetings"]
    source = tmp_path / "source"
    source.mkdir()
    settings = mirror_settings("meetings", table | {"path": str(source)})
    (source / "2026-03-04 Budget.txt").write_text(block("text"))
    (source / "2026-03-04 Budget.json").write_text(block("json"))
    vault = tmp_path / "vault"
    vault.mkdir()
    opened = open_source(settings, vault=vault, data_dir=tmp_path, zone=ZoneInfo("Europe/Berlin"))
    mirror(opened, vault, name="meetings", folder=settings.folder, namespace=None, today=date(2026, 12, 1))
    assert (vault / "meetings" / "2026-03-04 Budget 2027.md").read_text() == block("markdown")


def test_the_page_is_one_page() -> None:
    """Short enough to be read."""
    assert len(PAGE.read_text().splitlines()) <= 60
