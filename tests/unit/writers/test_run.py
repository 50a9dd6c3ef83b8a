"""A mirror's run on an installation, with a writer of one's own from the README."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kos_assets import settings as settings_module
from kos_assets.cli.app import app
from kos_assets.domain.mirrors import _COMMON
from kos_assets.errors import ConfigError
from kos_assets.settings import Settings
from kos_assets.vault.note import ParsedNote, parse_note
from kos_assets.writers import run as writers_run
from kos_assets.writers.run import mirror_of, run_mirror

README = Path(__file__).parents[3] / "README.md"
TODAY = date(2026, 3, 4)
CSV = "isbn,title,author,read,notes\n978-1,The Patient Network,Ines Faro,2026-02-11,Slow is smooth.\n,Nameless,,,\n"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the README's writer, its source, and its kos.toml."""
    python, toml = re.search(r"```python\n(.*?)```.*?```toml\n(.*?)```", README.read_text("utf-8"), re.DOTALL).groups()  # type: ignore[union-attr]
    assert len(python.splitlines()) < 40
    (tmp_path / "books.py").write_text(python)
    (tmp_path / "books.csv").write_text(CSV)
    (tmp_path / "vault" / ".kos").mkdir(parents=True)
    (tmp_path / "vault" / ".kos" / "kos.toml").write_text(toml.replace("~/", f"{tmp_path}/"))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("books", None)


def loaded(shelf: Path) -> Settings:
    """Settings as a command reads them."""
    return settings_module.load({}, vault=shelf / "vault", data_dir=shelf / "data")


def run(shelf: Path, **values: Any) -> Any:
    """One run of the mirror `books`."""
    found = loaded(shelf)
    return run_mirror(found, mirror_of(found, "books"), today=TODAY, **values)


def test_the_readmes_writer_works_as_it_stands(shelf: Path) -> None:
    """W1: the contract is public; what README shows is what runs here."""
    report = run(shelf)
    assert (report.items, report.written, [item.code for item in report.skipped]) == (1, 1, ["no_isbn"])
    assert report.skipped[0].where == "books.csv:3"
    (path,) = (shelf / "vault" / "reading").glob("*.md")
    note = parse_note(path.name, path.read_bytes())
    assert isinstance(note, ParsedNote)
    assert (note.title, note.people, note.problems) == ("The Patient Network", ("Ines Faro",), ())


def test_an_unchanged_source_is_not_read_again(shelf: Path) -> None:
    """V5: nothing is read, nothing is written; a changed source, other settings, and --again read it."""
    run(shelf)
    assert run(shelf).same_source
    assert run(shelf, again=True).unchanged == 1
    (shelf / "books.csv").write_text(CSV + "978-2,Ice,Ada,2026-03-01,Cold.\n")
    assert run(shelf).written == 1
    assert run(shelf).same_source
    toml = shelf / "vault" / ".kos" / "kos.toml"
    toml.write_text(toml.read_text() + 'namespace = "shared:readers"\n')
    assert run(shelf).updated == 2


def test_a_folder_that_lost_notes_is_filled_again(shelf: Path) -> None:
    """Promise 4: though the source is what it was."""
    run(shelf)
    (path,) = (shelf / "vault" / "reading").glob("*.md")
    path.unlink()
    assert run(shelf).written == 1


def test_while_a_note_waits_for_a_person_the_source_is_read(shelf: Path) -> None:
    """Promise 4: once the edited file is deleted, the next run writes it anew, though the source did not change."""
    run(shelf)
    (path,) = (shelf / "vault" / "reading").glob("*.md")
    path.write_text(path.read_text() + "Mine.\n")
    assert run(shelf, again=True).edited == 1
    path.unlink()
    assert run(shelf).written == 1


def test_two_runs_at_once_end_in_one_state(shelf: Path) -> None:
    """House rule 5: the second waits for the first."""
    reports: list[Any] = []
    threads = [threading.Thread(target=lambda: reports.append(run(shelf))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(report.same_source for report in reports) == [False, True, True, True]
    assert sum(report.written for report in reports) == 1


def test_a_run_that_hangs_is_named(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """House rule 8: the other run waits for so long, and then says what to look at."""
    monkeypatch.setattr(writers_run, "_WAIT_S", 0.3)
    place = writers_run._place(shelf / "vault", "reading")
    lock = shelf / "data" / "locks" / f"mirror-{place}.lock"
    with writers_run._turn(lock, "books"), pytest.raises(ConfigError, match="has not ended"):
        run(shelf)


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [
        ("nope", None, "No mirror 'nope' is set up"), ("books", "missing_module:Books", "cannot be loaded"),
        ("books", "books:Missing", "cannot be loaded"),
    ],
)  # fmt: skip
def test_what_cannot_run_is_said(shelf: Path, name: str, kind: str | None, says: str) -> None:
    """House rule 8."""
    toml = shelf / "vault" / ".kos" / "kos.toml"
    toml.write_text(toml.read_text().replace("books:Books", kind or "books:Books"))
    found = loaded(shelf)
    with pytest.raises(ConfigError, match=says):
        run_mirror(found, mirror_of(found, name), today=TODAY)


def test_the_namespace_comes_from_the_writers_setting_then_the_folder_map_then_the_kind(tmp_path: Path) -> None:
    """V9: in that order."""
    (tmp_path / ".kos").mkdir()
    toml = tmp_path / ".kos" / "kos.toml"

    def namespaces(text: str) -> tuple[str | None, dict[str, str]]:
        toml.write_text(text)
        found = settings_module.load({}, vault=tmp_path, data_dir=tmp_path / "data")
        return writers_run._namespace(found, found.mirrors["mail"]), dict(found.namespace_folders)

    mail, folders = '[mirror.mail]\npath = "x"\n', '[vault.namespaces]\nmail = "shared:family"\n'
    assert namespaces(mail) == ("shared:owner", {"mail": "shared:owner"})
    assert namespaces(mail + folders) == ("shared:family", {"mail": "shared:family"})
    everything = '[vault.namespaces]\n"" = "global"\n'
    assert namespaces(mail + everything) == ("shared:owner", {"": "global", "mail": "shared:owner"})
    assert namespaces(mail + 'namespace = "shared:crew"\n' + folders) == ("shared:crew", {"mail": "shared:crew"})


def test_the_command_lists_runs_and_reports(shelf: Path) -> None:
    """P4: what there is, what a run did, what it left out."""
    arguments = ["--vault", str(shelf / "vault"), "--data-dir", str(shelf / "data"), "mirror"]
    listed = CliRunner().invoke(app, arguments)
    assert listed.exit_code == 0, listed.output
    assert "books" in listed.output
    assert "todo.txt" in listed.output
    done = CliRunner().invoke(app, [*arguments, "books"])
    assert done.exit_code == 0, done.output
    assert "no_isbn" in done.output
    again = CliRunner().invoke(app, [*arguments, "--all"])
    assert "nothing was read" in again.output
    (told,) = __import__("json").loads(CliRunner().invoke(app, [*arguments, "books", "--again", "--json"]).stdout)
    assert (told["unchanged"], told["skipped"][0]["code"]) == (1, "no_isbn")


def test_the_page_of_all_mirrors_names_every_code_and_key() -> None:
    """House rule 15: what mirror.py can say, and what every table takes."""
    root = README.parent
    page = (root / "docs" / "writers" / "index.md").read_text("utf-8")
    code = (root / "kos_assets" / "writers" / "mirror.py").read_text("utf-8")
    code += (root / "kos_assets" / "writers" / "listing.py").read_text("utf-8")
    said = set(re.findall(r'Skipped\((?:[^,()]|\([^()]*\))+, "([a-z_]+)"', code))
    rows = re.findall(r"^\| (`[^|]+`) \|", page.split("| code |")[1], re.MULTILINE)
    assert said == {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}
    assert set(re.findall(r"^\| `([a-z_]+)` \|", page.split("| code |")[0], re.MULTILINE)) == set(_COMMON)
