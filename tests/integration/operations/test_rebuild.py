"""`kos rebuild` on real stores: from the files alone, compared, switched, and interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kos_assets import testing
from kos_assets.gate.authority import OWNER
from kos_assets.gate.context import open_gate
from kos_assets.gate.life import forget
from kos_assets.gate.marks import annotate, verify
from kos_assets.gate.statement import Statement
from kos_assets.gate.write import write_memory
from kos_assets.inference.embedding import Embedder
from kos_assets.ingest.pipeline import ingest_vault
from kos_assets.operations import rebuild as operations_rebuild
from kos_assets.operations.rebuild import rebuild
from kos_assets.settings import Settings
from kos_assets.store import rebuild as store_rebuild
from kos_assets.store.database import Store, role_dsn

AT = datetime(2026, 3, 4, 12, tzinfo=UTC)


@pytest.fixture
def house(database: Settings, tmp_path: Path, embedder: Embedder) -> Iterator[Settings]:
    """A vault with notes, statements and decisions, ingested."""
    vault = tmp_path / "vault"
    vault.mkdir()
    for name, text in (("oven", "It heats to 240 degrees."), ("door", "The code is 4711."), ("roof", "It leaks.")):
        (vault / f"{name}.md").write_text(f"# {name.title()}\n\n{text} See [[roof]].\n")
    settings = replace(database, vault=vault)
    with testing.store(settings) as store:
        ingest_vault(store, embedder, settings)
        gate = open_gate(store, settings, embedder)
        for text in ("It listens on 8443.", "It listens on 9443."):
            result = write_memory(gate, Statement("Port of the gateway", text, "global"), principal=OWNER, at=AT)
        verify(gate, result.memory_id, how="test", principal=OWNER, at=AT)
        annotate(gate, result.memory_id, boost=2, principal=OWNER, at=AT)
        forget(gate, memory_of(settings, "door.md"), principal=OWNER, at=AT)
    yield settings
    for name in databases(settings):
        if "_before_" in name:
            store_rebuild.drop_database(role_dsn(settings, "owner"), name)


def memory_of(settings: Settings, path: str) -> Any:
    """The memory of a note."""
    with testing.connect(settings) as connection:
        row = connection.execute("select memory_id from kos.memories where note_path = %s", [path]).fetchone()
        assert row is not None
        return row[0]


def databases(settings: Settings) -> list[str]:
    """Databases of this test."""
    name = operations_rebuild.database_name(settings)
    with testing.connect(settings) as connection:
        rows = connection.execute(
            "select datname::text from pg_database where datname like %s order by 1", [f"{name}%"]
        )
        return [str(row[0]) for row in rows]


def live(settings: Settings) -> list[Any]:
    """What recall serves, with what was decided."""
    with testing.connect(settings) as connection:
        return connection.execute(
            "select memory_id, heading, content, supersedes, verified_how, boost, created_at from kos.memories"
            " where deleted_at is null order by 1"
        ).fetchall()


def silent(_: str) -> None:
    """Nobody listens."""


def test_the_rebuilt_store_says_the_same_and_takes_over(house: Settings, embedder: Embedder) -> None:
    """V6, promise 1: equal, switched, no text embedded again; history, traces and first-seen times are carried over."""
    with testing.connect(house) as owner:
        owner.execute("insert into kos.health_snapshots (at, metric, value) values (now(), 'm', 1)")
        history = owner.execute(
            "select memory_id, action, principal from kos.memory_history order by 1, 2, 3"
        ).fetchall()
    before = live(house)
    result = rebuild(house, embedder, tell=silent)
    assert (result.comparison.equal, result.switched, result.embedded) == (True, True, 0)
    assert result.reused > 0
    assert live(house) == before
    with testing.connect(house) as owner:
        assert owner.execute("select count(*) from kos.health_snapshots").fetchone() == (1,)
        again = owner.execute("select memory_id, action, principal from kos.memory_history order by 1, 2, 3").fetchall()
    assert again == history
    name = operations_rebuild.database_name(house)
    assert databases(house) == [name, result.before]


def test_the_gates_calibrated_distance_is_kept(house: Settings, embedder: Embedder) -> None:
    """G3: it belongs to the installation's model, and no file holds it."""
    with testing.connect(house) as owner:
        owner.execute("update kos.embedding_models set gate_distance = 0.05 where state = 'active'")
    assert rebuild(house, embedder, tell=silent, drop_old=True).switched
    with testing.connect(house) as owner:
        assert owner.execute("select gate_distance::text from kos.active_model").fetchone() == ("0.05",)


def test_a_store_that_differs_is_not_switched_unless_the_files_shall_win(house: Settings, embedder: Embedder) -> None:
    """V6: what the files do not say is shown by id, and stays until a person decides."""
    with testing.connect(house) as owner:
        owner.execute("update kos.memories set heading = 'Edited by hand in the database' where heading = 'Oven'")
    first = rebuild(house, embedder, tell=silent)
    assert (first.comparison.equal, first.switched) == (False, False)
    [finding] = [item for item in first.comparison.findings if not item.equal]
    assert (finding.what, list(finding.differing)) == ("live memories", [str(memory_of(house, "oven.md"))])
    assert "Edited by hand in the database" in [row[1] for row in live(house)]
    second = rebuild(house, embedder, tell=silent, accept_differences=True, drop_old=True)
    assert second.switched
    assert "Oven" in [row[1] for row in live(house)]
    assert databases(house) == [operations_rebuild.database_name(house)]


def test_an_interrupted_rebuild_leaves_the_live_store_alone(
    house: Settings, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """House rule 5: cut at any step, the live store serves as before, and the next attempt starts clean."""
    before = live(house)
    for module, name in (
        (operations_rebuild, "migrate"),
        (operations_rebuild, "compare_stores"),
        (store_rebuild, "carry_over"),
        (store_rebuild, "switch"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(module, name, lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                rebuild(house, embedder, tell=silent)
        assert live(house) == before
    assert rebuild(house, embedder, tell=silent, drop_old=True).switched
    assert live(house) == before


def test_a_write_during_the_rebuild_is_in_the_new_store(
    house: Settings, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Promise 4: between comparison and switch a statement comes in: file and record carry it over."""
    carry = store_rebuild.carry_over

    def write_then_carry(left: str, right: str) -> datetime:
        with Store(role_dsn(house, "writer")) as store:
            gate = open_gate(store, house, embedder)
            write_memory(gate, Statement("Late", "It came in between.", "global"), principal=OWNER, at=AT)
        return carry(left, right)

    monkeypatch.setattr(store_rebuild, "carry_over", write_then_carry)
    assert rebuild(house, embedder, tell=silent, drop_old=True).switched
    assert "Late" in [row[1] for row in live(house)]
