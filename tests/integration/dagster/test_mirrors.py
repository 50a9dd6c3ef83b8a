"""Mirrors as assets: what a run writes and records, and when the sensor asks for one."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import dagster as dg
import pytest

from kos_assets.assets.mirrors import mirror_assets
from kos_assets.definitions.live import defs
from kos_assets.domain.mirrors import KINDS, MirrorSettings
from kos_assets.jobs import OWN_MIRRORS, mirror_key
from kos_assets.settings import Settings
from sensors.mirrors import mirrors_due

SHELF = """
from kos_assets.writers import Item, Skipped

class Shelf:
    complete = True
    def __init__(self, mirror, *, vault, data_dir, zone):
        self.path = mirror.paths[0]
    def fingerprint(self):
        return self.path.read_text()
    def entries(self):
        for name in self.path.read_text().split():
            torn = Skipped(name, "torn", "it is torn", "mend it")
            yield torn if name == "torn" else Item(name, name, f"The secret of {name}.")
"""


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    """Settings with one mirror of one's own and one of a kind that is set up nowhere else."""
    (tmp_path / "shelf_of_test.py").write_text(SHELF)
    (tmp_path / "names.txt").write_text("oven door torn")
    (tmp_path / "vault").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    own = MirrorSettings("shelf", "shelf_of_test:Shelf", (tmp_path / "names.txt",), "shelf")
    yield Settings(data_dir=tmp_path / "data", vault=tmp_path / "vault", mirrors=MappingProxyType({"shelf": own}))
    sys.modules.pop("shelf_of_test", None)


def materialise(settings: Settings) -> dg.ExecuteInProcessResult:
    """Every asset of the group."""
    with dg.DagsterInstance.ephemeral() as instance:
        return dg.materialize(mirror_assets, resources={"settings": settings}, instance=instance, raise_on_error=False)


def test_a_run_writes_notes_and_records_counts_alone(shelf: Settings) -> None:
    """W1, D1, D3: counts and codes, no text; a second run finds nothing to do; kinds that are not set up say so."""
    result = materialise(shelf)
    assert result.success
    told = result.asset_materializations_for_node(f"mirrors__{OWN_MIRRORS}")[0].metadata
    assert {name: told[name].value for name in ("mirrors", "items", "written", "skipped_total")} == {
        "mirrors": 1, "items": 2, "written": 2, "skipped_total": 1
    }  # fmt: skip
    assert told["skipped_by_code"].value == {"torn": 1}
    assert "secret" not in json.dumps([str(value) for value in told.values()])
    assert result.asset_materializations_for_node("mirrors__mail")[0].metadata["mirrors"].value == 0
    assert shelf.vault is not None
    assert sorted(path.name for path in (shelf.vault / "shelf").iterdir()) == ["door.md", "oven.md"]
    again = materialise(shelf).asset_materializations_for_node(f"mirrors__{OWN_MIRRORS}")[0].metadata
    assert again["written"].value == 0


def test_a_source_that_is_gone_fails_the_run_and_nothing_else(shelf: Settings) -> None:
    """D3: a permanent failure, with what to do; the notes stay."""
    materialise(shelf)
    broken = replace(shelf.mirrors["shelf"], kind="no_such_module:Shelf")
    assert not materialise(replace(shelf, mirrors=MappingProxyType({"shelf": broken}))).success
    assert shelf.vault is not None
    assert len(list((shelf.vault / "shelf").iterdir())) == 2


def test_one_source_that_is_away_does_not_hold_up_the_others(shelf: Settings) -> None:
    """D3: the run fails, and says why; what can be written is."""
    away = replace(shelf.mirrors["shelf"], name="away", kind="no_such_module:Shelf", folder="away")
    both = MappingProxyType({"away": away, **shelf.mirrors})
    assert not materialise(replace(shelf, mirrors=both)).success
    assert shelf.vault is not None
    assert len(list((shelf.vault / "shelf").iterdir())) == 2


def test_the_lineage_begins_at_the_writers() -> None:
    """D1: every kind is upstream of the vault's files."""
    graph = defs.resolve_asset_graph()
    parents = graph.get(dg.AssetKey(["vault", "files"])).parent_keys
    assert parents == {mirror_key(kind) for kind in (*KINDS, OWN_MIRRORS)}


def test_the_sensor_asks_for_what_is_due_once(shelf: Settings) -> None:
    """D2: kinds of due mirrors alone; not again before their time; nothing where nothing is set up."""
    with dg.DagsterInstance.ephemeral() as instance:

        def tick(settings: Settings, cursor: str | None = None) -> dg.SensorResult:
            context = dg.build_sensor_context(
                instance=instance, cursor=cursor, definitions=defs, resources={"settings": settings}
            )
            found = mirrors_due(context)
            assert isinstance(found, dg.SensorResult)
            return found

        first = tick(shelf)
        assert first.run_requests is not None
        assert first.run_requests[0].asset_selection == [mirror_key(OWN_MIRRORS)]
        second = tick(shelf, first.cursor)
        assert not second.run_requests
        assert "due" in str(second.skip_reason)
        none = tick(replace(shelf, mirrors=MappingProxyType({})))
        assert "kos.toml" in str(none.skip_reason)
