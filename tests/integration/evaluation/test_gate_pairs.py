"""The labelled pairs under the real model: the bars of the gate, the commands that print them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kos_assets.cli.app import app
from kos_assets.errors import InputError
from kos_assets.evaluation.gate_pairs import measured, points, read_pairs
from kos_assets.evaluation.gate_vaults import VectorFile, try_revisions, try_vault
from kos_assets.inference.embedding import Embedder

_NEW = "# Oven heat\n\nThe oven of the bakery heats to 220.\n"


def test_no_look_alike_is_superseded_and_nine_restatements_of_ten_are(embedder: Embedder) -> None:
    """G3, G4: the bars at 0.08 over the committed pairs; without the guard the distance alone would be wrong often."""
    pairs = measured(read_pairs(None), embedder)
    assert len(pairs) >= 650
    near = [item for item in pairs if item.distance < 0.08]
    look_alikes = [item for item in near if not item.pair.same]
    assert len(look_alikes) >= 100
    assert [item.pair.id for item in look_alikes if not item.codes] == [], "each veto has its reason"
    true = [item for item in near if item.pair.same]
    assert sum(not item.codes for item in true) >= 0.9 * len(true)
    assert all(point.wrong == 0 for point in points(pairs, distances=(0.08,)))


def test_pairs_that_cannot_be_read_are_explained(tmp_path: Path) -> None:
    """House rule 8: the line is named."""
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"id": "x"}\n')
    with pytest.raises(InputError, match="Line 1"):
        read_pairs(path)


def test_a_vault_is_tried_without_being_touched(embedder: Embedder, tmp_path: Path) -> None:
    """G4: pairs within the distance, vetoes and supersedes are told; a second trial embeds nothing."""
    vault = tmp_path / "vault"
    vault.mkdir()
    for name, text in (
        ("a", "# Backup of host db-01\n\nThe backup of host db-01 runs every night at 02:00.\n"),
        ("b", "# Backup of host db-02\n\nThe backup of host db-02 runs every night at 02:00.\n"),
        ("c", "# Backup of host db-01\n\nThe backup of host db-01 runs every night at 03:30.\n"),
        ("d", "# Oven\n\nIt heats to 240 degrees.\n"),
    ):
        (vault / f"{name}.md").write_text(text)
    trial = try_vault(vault, VectorFile(tmp_path / "v.npz", embedder), 0.08)
    assert (trial.notes, trial.within, dict(trial.vetoes)) == (4, 3, {"identifier": 2})
    assert [(item.old, item.new) for item in trial.supersedes] == [("a.md", "c.md")]

    class Refusing:
        identity = embedder.identity

        def embed_documents(self, texts: object) -> object:
            raise AssertionError(texts)

    again = try_vault(vault, VectorFile(tmp_path / "v.npz", Refusing()), 0.08)  # type: ignore[arg-type]
    assert again == trial
    assert sorted(path.name for path in vault.iterdir()) == ["a.md", "b.md", "c.md", "d.md"]
    revisions = tmp_path / "r.json"
    revisions.write_text(
        json.dumps([{"file": "a.md", "old": "# Oven heat\n\nThe oven of the bakery heats to 240.\n", "new": _NEW}])
    )
    assert len(try_revisions(revisions, VectorFile(None, embedder), 0.08).supersedes) == 1


def test_a_trial_is_printed_as_json(tmp_path: Path) -> None:
    """House rule 8: what a script reads is one JSON document, vetoes by code."""
    for name, text in (("a", "Host db-01 runs at night."), ("b", "Host db-02 runs at night.")):
        (tmp_path / f"{name}.md").write_text(f"# {text[:10]}\n\n{text}\n")
    result = CliRunner().invoke(app, ["try-gate", str(tmp_path), "--json"])
    assert result.exit_code == 0, result.output
    (told,) = json.loads(result.stdout)
    assert (told["notes"], told["within"], told["vetoes"], told["supersedes"]) == (2, 1, {"identifier": 1}, [])


def test_the_command_prints_the_bars() -> None:
    """G3: one command shows precision and recall at each distance."""
    result = CliRunner().invoke(app, ["calibrate-gate", "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert {point["split"] for point in told["points"]} >= {"dev", "held_out"}
    assert all(point["wrong"] == 0 for point in told["points"] if point["distance"] <= 0.08)
