"""The page about mail tells what the code does."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

from kos_assets.domain.mirrors import KINDS, mirror_settings
from kos_assets.writers.mail import open_source
from kos_assets.writers.mirror import mirror

PAGE = Path(__file__).parents[3] / "docs" / "writers" / "mail.md"


def block(language: str) -> str:
    """The one block of that language on the page."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return str(found)


def test_the_sample_on_the_page_gives_the_note_on_the_page(tmp_path: Path) -> None:
    """W3: the text on the page is what comes of the sample; the table has every option."""
    table = tomllib.loads(block("toml"))["mirror"]["mail"]
    assert set(table) == {"path", *KINDS["mail"].options}
    settings = mirror_settings("mail", table | {"path": str(tmp_path / "mail")})
    (tmp_path / "mail").write_text(block("mbox"))
    vault = tmp_path / "vault"
    vault.mkdir()
    source = open_source(settings, vault=vault, data_dir=tmp_path, zone=ZoneInfo("Europe/Berlin"))
    mirror(source, vault, name="mail", folder=settings.folder, namespace="shared:owner", today=date(2026, 12, 1))
    note = (vault / "mail" / "2026-03-04 Watering plan.md").read_text()
    assert note.partition("\n---\n")[2] == block("markdown")
    assert 'date: "2026-03-04T13:30:00+01:00"' in note
    assert 'people: ["Ben Fern <ben@garden.example>", "Ilka Tannwald <ilka@steinkar.example>"]' in note


def test_the_page_is_one_page() -> None:
    """Short enough to be read, and every code that is used is on it."""
    assert len(PAGE.read_text().splitlines()) <= 60
    code = "".join(path.read_text() for path in Path(open_source.__code__.co_filename).parent.glob("*.py"))
    codes = {
        *re.findall(r'Skipped\(\s*[^,]+(?:\([^()]*\))?,\s*"(\w+)"', code),
        *re.findall(r'return "(\w+)", "it', code),
    }
    assert len(codes) >= 9
    assert {one for one in codes if f"`{one}`" not in PAGE.read_text()} == set()
