"""The command line as a person meets it, on a real database."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer.testing

from kos_assets.cli.app import app
from kos_assets.errors import ConfigError, InputError, KosError, NotFoundError
from kos_assets.settings import Settings

UUID = re.compile(r"^\[([0-9a-f-]{36})\] ", re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """What a command printed on stdout, and how it ended."""

    output: str
    code: int
    error: BaseException | None


Kos = Callable[..., Run]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """Three notes, one of them broken."""
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "pump.md").write_text(
        "---\ndate: 2026-03-04\n---\n# The pump\n\nThe pump of the hut is a Grundmann P7.\n", "utf-8"
    )
    (folder / "stove.md").write_text("# The stove\n\nBurns pellets; cleaned every May.\n", "utf-8")
    (folder / "broken.md").write_text('---\ntitle: "open\n---\nThe roof leaks above bed 12.\n', "utf-8")
    return folder


@pytest.fixture
def kos(database: Settings, vault: Path, monkeypatch: pytest.MonkeyPatch) -> Kos:
    """Run a command against the test's database and vault."""
    monkeypatch.setenv("KOS_DSN", str(database.dsn))
    monkeypatch.setenv("KOS_DAGSTER_DSN", str(database.dagster_dsn))
    monkeypatch.setenv("KOS_DATA_DIR", str(database.data_dir))
    monkeypatch.setenv("KOS_VAULT", str(vault))
    runner = typer.testing.CliRunner()

    def run(*arguments: str) -> Run:
        result = runner.invoke(app, list(arguments))
        return Run(result.stdout, result.exit_code, result.exception)

    return run


def test_ingest_search_fetch(kos: Kos) -> None:
    """R2: the index lines of `kos search` are the payload's; a fetch by the id in a line gives the whole note."""
    assert kos("ingest").code == 0
    found = kos("search", "what is the pump of the hut")
    [first, *_] = UUID.findall(found.output)
    payload = json.loads(kos("search", "what is the pump of the hut", "--json").output)
    assert payload["results"][0]["memory_id"] == first
    assert all(row["index_line"] in found.output for row in payload["results"])
    whole = kos("fetch", first)
    assert "Grundmann P7" in whole.output
    assert json.loads(kos("fetch", first, "--json").output)["memories"][0]["path"] == "pump.md"


def test_status_accounts_for_every_note(kos: Kos) -> None:
    """V1: the broken note is read and live, and its problem is listed with line and fix."""
    kos("ingest")
    figures = json.loads(kos("status", "--json").output)
    assert (figures["notes"], figures["live"], figures["balanced"]) == (3, 3, True)
    [problem] = json.loads(kos("quarantine", "--json").output)
    assert problem["path"] == "broken.md"
    assert problem["severity"] == "problem"
    assert problem["line"] > 0
    assert problem["fix"]


def test_init_says_what_it_will_write_and_then_stamps(kos: Kos, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """V2: nothing is written into notes before `kos init`; afterwards each sound one has its id."""
    monkeypatch.setenv("KOS_STAMP_QUIET_S", "0")
    kos("ingest")
    assert "kos_id" not in (vault / "pump.md").read_text("utf-8")
    asked = kos("init", str(vault), "--yes")
    assert "kos_id" in asked.output
    kos("ingest")
    assert "kos_id" in (vault / "pump.md").read_text("utf-8")
    assert "kos_id" not in (vault / "broken.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (["search"], InputError, "Nothing to search for"),
        (["search", "x", "--since", "yesterday"], InputError, "--since is not a time"),
        (["fetch", "12"], InputError, "not a memory id"),
        (["fetch", "00000000-0000-4000-8000-000000000000"], NotFoundError, "Not found"),
        (["search", "x", "--namespace", "all"], InputError, "not a namespace"),
        (["calibrate", "--gold", "no-such-file.jsonl"], InputError, "cannot be read"),
    ],
)
def test_errors_are_for_people(kos: Kos, arguments: list[str], error: type[KosError], says: str) -> None:
    """X1: a wrong call says what, and nothing else happens."""
    result = kos(*arguments)
    assert isinstance(result.error, error)
    assert says in str(result.error)


def test_a_missing_vault_names_the_ways_to_name_one(kos: Kos, monkeypatch: pytest.MonkeyPatch) -> None:
    """V1: the only input is a vault, and its absence is explained."""
    monkeypatch.delenv("KOS_VAULT")
    result = kos("ingest")
    assert isinstance(result.error, ConfigError)
    assert "--vault" in str(result.error)


def test_migrate_twice(kos: Kos) -> None:
    """S1: the second time there is nothing to do."""
    assert "current" in kos("migrate").output


def test_help_teaches() -> None:
    """X1: every command has a help text of its own."""
    runner = typer.testing.CliRunner()
    commands = getattr(typer.main.get_command(app), "commands")  # noqa: B009 - typer's own group class is not exported
    for name in commands:
        result = runner.invoke(app, [name, "--help"])
        assert result.exit_code == 0
        assert len(result.stdout) > 200, name
