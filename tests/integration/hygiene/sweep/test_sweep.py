"""The order of hygiene, its rehearsal, and `kos hygiene`."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
import typer
from typer.testing import CliRunner

from kos_assets.cli import hygiene
from kos_assets.errors import InputError
from kos_assets.hygiene.sweep import STEPS, rehearse, sweep

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def _fill(shelf: Any) -> dict[str, list[UUID]]:
    """Work for every step, and rows that one step settles for the next: expired ones that would be stale, and an inner
    version that would be."""
    old = datetime.now(UTC) - timedelta(days=400)
    past = datetime.now(UTC) - timedelta(days=2)
    return {
        "over": shelf.put([{"expires_at": past, "created_at": old}, {"memory_type": "working", "expires_at": past}]),
        "chain": shelf.chain([False, True, False, True], created_at=old),
        "stale": shelf.put([{"created_at": old}]),
        "fresh": shelf.put([{"created_at": datetime.now(UTC)}]),
    }


def test_each_step_sees_what_the_one_before_left(shelf: Any) -> None:
    """H1-H3: what expired or was superseded is not listed as stale; a second run does nothing."""
    ids = _fill(shelf)
    found = sweep(shelf.store, stale_after_days=180)
    assert tuple(found) == STEPS
    assert set(found["expire"].ids["expired"]) == set(ids["over"])
    assert found["compact"].ids["retired"] == (ids["chain"][1],)
    assert found["compact"].ids["recorded"] == (ids["chain"][3],)
    assert set(found["stale"].ids["opened"]) == {ids["chain"][3], *ids["stale"]}
    before = shelf.everything()
    again = sweep(shelf.store, stale_after_days=180)
    assert shelf.everything() == before
    assert [again["expire"].counts["expired"], again["compact"].counts["retired"], again["stale"].counts["opened"]] == [
        0, 0, 0,
    ]  # fmt: skip


@pytest.mark.parametrize("limit", [1, 1000])
def test_a_rehearsal_tells_the_run_and_changes_nothing(shelf: Any, limit: int) -> None:
    """H1-H4: the same counts and ids as the run that follows, in every step."""
    _fill(shelf)
    before = shelf.everything()
    told = rehearse(shelf.store, stale_after_days=180, now=datetime.now(UTC), limit=limit)
    assert shelf.everything() == before
    assert told == sweep(shelf.store, stale_after_days=180, now=datetime.now(UTC), limit=limit)


def test_what_ends_leaves_every_review_list(shelf: Any) -> None:
    """H1, G9: a contradiction with an expired memory waits for nobody."""
    over, other = shelf.put([{"expires_at": NOW - timedelta(days=1)}, {}])
    shelf.rows(
        "insert into kos.review_items (kind, namespace, memory_id, other_id, code) "
        "values ('contradiction', 'global', %s, %s, 'number')",
        other,
        over,
    )
    sweep(shelf.store, stale_after_days=180, steps=["expire"], now=NOW)
    assert shelf.rows("select outcome, closed_at from kos.review_items") == [("expired", NOW)]


@pytest.fixture
def kos(shelf: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command line over the shelf's database."""
    monkeypatch.setenv("KOS_DSN", str(shelf.settings.dsn))
    monkeypatch.setenv("KOS_DATA_DIR", str(shelf.settings.data_dir))
    app = typer.Typer()
    hygiene.register(app)
    app.callback()(lambda: None)

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, ["hygiene", *arguments])

    return run


def test_the_command_rehearses_then_runs(shelf: Any, kos: Any) -> None:
    """H1-H4: the same figures twice, the second time for good; then nothing is left to do."""
    ids = _fill(shelf)
    before = shelf.everything()
    told = json.loads(kos("--dry-run", "--json").stdout)
    assert shelf.everything() == before
    assert told["dry_run"] is True
    assert told["steps"]["expire"]["counts"] == {"expired": 2}
    assert told["steps"]["compact"]["ids"]["retired"] == [str(ids["chain"][1])]
    done = json.loads(kos("--json").stdout)
    assert done == {"dry_run": False, "steps": told["steps"]}
    assert shelf.everything() != before


def test_the_table_names_steps_counts_and_ids_never_text(shelf: Any, kos: Any) -> None:
    """House rule 14: what is printed may stand in a log."""
    ids = shelf.put([{"content": "Zanzibarwhisper", "heading": "Zanzibarwhisper", "created_at": NOW - timedelta(400)}])
    shown = kos("--dry-run", "--only", "stale")
    assert shown.exit_code == 0
    assert "opened" in shown.stdout
    assert str(ids[0]) in shown.stdout
    assert "Nothing was changed" in shown.stdout
    assert "expired" not in shown.stdout
    assert "Zanzibar" not in shown.stdout
    many = shelf.put([{"created_at": NOW - timedelta(days=400)} for _ in range(5)])
    assert len(many) == 5
    assert "and 3 more" in kos("--only", "stale").stdout


@pytest.mark.parametrize("arguments", [["--only", "everything"], ["--limit", "0"]])
def test_a_wrong_call_changes_nothing(shelf: Any, kos: Any, arguments: list[str]) -> None:
    """X1: it is told what would be right."""
    _fill(shelf)
    before = shelf.everything()
    assert isinstance(kos(*arguments).exception, InputError)
    assert shelf.everything() == before
