"""`kos forget`: soft and undoable without a flag, for good with --erase, and never without being asked."""

from __future__ import annotations

import json
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from kos_assets.cli import forget
from kos_assets.errors import InputError

TEXT = "The spare key of the attic server hangs behind the blue boiler, third hook from the left."


@pytest.fixture
def kos(home: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command on that installation."""
    for name in ("dsn", "vault", "data_dir", "dagster_dsn"):
        monkeypatch.setenv(f"KOS_{name.upper()}", str(getattr(home.settings, name)))
    app = typer.Typer()
    forget.register(app)
    app.callback()(lambda: None)

    def run(*arguments: object, answer: str | None = None) -> Result:
        return CliRunner().invoke(app, ["forget", *map(str, arguments)], input=answer)

    return run


def test_forget_is_soft_and_says_how_to_undo_it(home: Any, kos: Any) -> None:
    """S7, S11: the row stays, retired; the answer names the command that brings it back."""
    memory = home.say("Attic key", TEXT)
    done = kos(memory)
    assert done.exit_code == 0, done.output
    assert f"Undo: kos restore {memory}" in done.stdout
    assert home.rows("select deleted_reason from kos.memories") == [("forgotten",)]


def test_erase_asks_first_and_no_means_nothing(home: Any, kos: Any) -> None:
    """S11: it says what goes and what becomes of the file; without a yes nothing is changed."""
    memory = home.say("Attic key", TEXT)
    done = kos(memory, "--erase", answer="n\n")
    assert isinstance(done.exception, InputError)
    assert f"memories/global/{memory}.md: the file stays" in done.stdout
    assert home.rows("select deleted_reason from kos.memories") == [(None,)]
    assert isinstance(kos(memory, "--file").exception, InputError)
    assert home.rows("select deleted_reason from kos.memories") == [(None,)]


def test_erase_prints_its_proof_and_never_the_text(home: Any, kos: Any) -> None:
    """S11: exit status 0 when clean; 1 when a place that must be clean holds the text; JSON with the same facts."""
    memory = home.say("Attic key", TEXT)
    done = kos(memory, "--erase", "--yes")
    assert done.exit_code == 0, done.output
    assert "Every place that must be clean is clean." in done.stdout
    assert "kos.memories" in done.stdout
    assert "blue boiler" not in done.output

    memory = home.say("Attic key", TEXT)
    (home.settings.data_dir / "logs").mkdir(exist_ok=True)
    (home.settings.data_dir / "logs/x.log").write_text(TEXT)
    done = kos(memory, "--erase", "--file", "--yes", "--json")
    assert done.exit_code == 1
    report = json.loads(done.stdout)
    assert report["files_deleted"] == [f"memories/global/{memory}.md"]
    assert [place["name"] for place in report["proof"]["places"] if place["hits"] and place["must_be_clean"]] == [
        "data directory: logs/"
    ]
    assert "blue boiler" not in done.output
