"""`kos rebuild` beside others: a second rebuild, searches, outages, erasures, kills, accounts with few rights."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from kos_assets import testing
from kos_assets.errors import ProviderUnavailableError, StoreError
from kos_assets.gate.authority import OWNER
from kos_assets.gate.context import open_gate
from kos_assets.gate.erase import erase
from kos_assets.gate.statement import Statement
from kos_assets.gate.write import write_memory
from kos_assets.ingest.pipeline import ingest_vault
from kos_assets.operations import rebuild as operations_rebuild
from kos_assets.operations.fire_embedder import FireEmbedder
from kos_assets.operations.rebuild import database_name, rebuild, second_store
from kos_assets.operations.rebuild_compare import Comparison, compare_stores
from kos_assets.settings import Settings
from kos_assets.store import rebuild as store_rebuild
from kos_assets.store.database import Store, role_dsn, with_database
from kos_assets.store.migrate import create_database

AT = datetime(2026, 3, 4, 12, tzinfo=UTC)
TRACE = (
    "insert into kos.traces (trace_id, at, principal, namespaces, kind, query, filters, confidence, results,"
    " latency_ms) values (%s, now(), 'owner', '{global}', 'search', 'q', '{}', 'weak', '[]', 1)"
)
READ = "insert into kos.trace_reads (trace_id, memory_id, at) values (%s, %s, now())"
FROM_FILES = {
    "installation", "notes", "note_links", "quarantine", "memories", "index_state", "chunks", "postings",
    "lexical_terms", "lexical_totals", "embedding_models", "embeddings", "edges", "decisions", "ledger_files",
    "memory_files", "review_items", "migrations",
}  # fmt: skip
"""What an ingest fills from the vault's files."""

CARRIED = {"traces", "trace_reads", "calibrations", "health_snapshots", "lanes", "memory_history"}
RECOMPUTED = {"chains"}
"""Made anew by the next nightly run."""


class Changing(FireEmbedder):
    """The drill's embedder, which can be away, and can be another model."""

    away = False
    model = "first-line"

    @property
    def identity(self) -> Any:
        """As it is now."""
        return replace(super().identity, name=self.model)

    def embed_documents(self, texts: Sequence[str]) -> Any:
        """Unless it is away."""
        if self.away:
            raise ProviderUnavailableError("The test's provider is away.")
        return super().embed_documents(texts)


@pytest.fixture
def embedder() -> Changing:
    """No model is needed here."""
    return Changing()


@pytest.fixture
def house(database: Settings, tmp_path: Path, embedder: Changing) -> Iterator[Settings]:
    """A vault with two notes and a correction, ingested."""
    vault = tmp_path / "vault"
    vault.mkdir()
    for name, text in (("oven", "It heats to 240 degrees."), ("roof", "It leaks.")):
        (vault / f"{name}.md").write_text(f"# {name.title()}\n\n{text}\n")
    settings = replace(database, vault=vault)
    with testing.store(settings) as store:
        ingest_vault(store, embedder, settings)
        gate = open_gate(store, settings, embedder)
        for text in ("It listens on 8443.", "It listens on 9443."):
            write_memory(gate, Statement("Port of the gateway", text, "global"), principal=OWNER, at=AT)
    yield settings
    for name in databases(settings):
        if name != database_name(settings):
            store_rebuild.drop_database(role_dsn(settings, "owner"), name)


def databases(settings: Settings) -> list[str]:
    """This test's databases."""
    statement = "select datname::text from pg_database where datname like %s order by 1"
    return [str(row[0]) for row in rows(settings, statement, f"{database_name(settings)}%")]


def rows(settings: Settings, statement: str, *values: Any) -> list[Any]:
    """What an administrator sees."""
    with testing.connect(settings) as connection:
        return connection.execute(statement.encode(), values or None).fetchall()


def live(settings: Settings) -> list[Any]:
    """What recall serves."""
    statement = "select memory_id, heading, content, supersedes from kos.memories where deleted_at is null order by 1"
    return rows(settings, statement)


def vectors(settings: Settings) -> Any:
    """How many there are."""
    return rows(settings, "select count(*) from kos.embeddings")[0][0]


def silent(_: str) -> None:
    """Nobody listens."""


def at_step(wanted: str, do: Callable[[], object]) -> Callable[[str], None]:
    """Something that happens when the rebuild tells of a step."""

    def tell(text: str) -> None:
        if text.startswith(wanted):
            do()

    return tell


def test_every_table_is_from_files_or_carried_over(house: Settings) -> None:
    """Promise 1: a table that is in no file and that nobody carries over would be lost by a rebuild."""
    found = {
        row[0]
        for row in rows(
            house,
            "select c.relname::text from pg_class as c where c.relnamespace = 'kos'::regnamespace"
            " and c.relkind in ('r', 'p') and not c.relispartition",
        )
    }
    assert found == FROM_FILES | CARRIED | RECOMPUTED


def test_two_rebuilds_never_take_each_others_store(house: Settings, embedder: Changing) -> None:
    """Promise 4: the second is refused, and the first switches to what it built and compared."""
    before, refused = live(house), []

    def second() -> None:
        with pytest.raises(StoreError, match="Another rebuild") as caught:
            rebuild(house, embedder, tell=silent)
        refused.append(caught.value)

    assert rebuild(house, embedder, tell=at_step("Carrying", second), drop_old=True).switched
    assert len(refused) == 1
    assert live(house) == before
    assert rebuild(house, embedder, tell=silent, drop_old=True).switched


def test_a_database_of_another_name_is_nobodys_leftover(house: Settings, embedder: Changing) -> None:
    """Only what a rebuild of this database made is dropped: a name with eight hex digits after it."""
    owner = role_dsn(house, "owner")
    name = database_name(house)
    foreign = [f"{name}_rebuild", f"{name}_rebuild_mine", f"{name}2_rebuild_0123abcd"]
    for each in (*foreign, f"{name}_rebuild_0123abcd"):
        create_database(owner, each)
    assert rebuild(house, embedder, tell=silent, drop_old=True).switched
    assert databases(house) == sorted([name, *foreign])


def test_a_name_that_postgres_would_cut_is_refused(postgres: testing.TestServer, tmp_path: Path) -> None:
    """63 bytes are the most: `<name>_rebuild_…` cut short could be the name of another database."""
    name = "k" * 41
    with (
        pytest.raises(StoreError, match="too long"),
        second_store(Settings(data_dir=tmp_path, dsn=with_database(postgres.dsn, name))),
    ):
        raise AssertionError


def test_a_search_during_the_copy_costs_nothing(
    house: Settings, embedder: Changing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R7: a trace and its read that come between two copies are whole in the new store, and so is one right before the
    switch, although the old store is dropped."""
    copy, switch = store_rebuild._copy, store_rebuild.switch

    def search() -> UUID:
        trace = uuid4()
        with testing.connect(house) as connection:
            connection.execute(TRACE, [trace])
            connection.execute(READ, [trace, uuid4()])
        return trace

    traces = [search()]

    def copied(source: Any, target: Any, name: str, values: Any) -> None:
        if name == "reads" and len(traces) == 1:
            traces.append(search())
        copy(source, target, name, values)

    def switched(turn: Any, **names: str) -> None:
        traces.append(search())
        switch(turn, **names)

    monkeypatch.setattr(store_rebuild, "_copy", copied)
    monkeypatch.setattr(store_rebuild, "switch", switched)
    assert rebuild(house, embedder, tell=silent, drop_old=True).switched
    assert len(traces) == 3
    for table in ("traces", "trace_reads"):
        assert [row[0] for row in rows(house, f"select trace_id from kos.{table} order by 1")] == sorted(traces)


def test_whoever_is_connected_finds_the_new_store(house: Settings, embedder: Changing) -> None:
    """X5: a service's pool, open all the while, answers from the new store without being opened again."""

    def served(pool: Any) -> Any:
        with pool.transaction(namespaces=["global"]) as session:
            return session.rows("select memory_id from kos.live_memories order by 1")

    with testing.store(house, "reader") as pool:
        before = served(pool)
        oid = rows(house, "select oid from pg_database where datname = current_database()")
        assert rebuild(house, embedder, tell=silent, drop_old=True).switched
        assert rows(house, "select oid from pg_database where datname = current_database()") != oid
        assert served(pool) == before
        assert before


@pytest.mark.parametrize("from_scratch", [False, True])
def test_an_outage_of_the_embedder_is_no_reason_to_lose_vectors(
    house: Settings, embedder: Changing, from_scratch: bool
) -> None:
    """E5: with the provider away a rebuilt store lacks vectors that the live one has: it does not take its place."""
    before = vectors(house)
    (house.require_vault() / "new.md").write_text("# New\n\nNobody has embedded it yet.\n")
    embedder.away = True
    result = rebuild(house, embedder, tell=silent, from_scratch=from_scratch)
    [finding] = [item for item in result.comparison.findings if not item.equal]
    assert (finding.what, result.switched) == ("vectors", False)
    assert vectors(house) == before
    embedder.away = False
    assert rebuild(house, embedder, tell=silent, accept_differences=True, drop_old=True).switched


def test_a_paused_lane_is_carried_over_once(house: Settings, embedder: Changing) -> None:
    """E5: both stores met the outage; the switch, when it is wanted all the same, does not trip over it."""
    (house.require_vault() / "new.md").write_text("# New\n\nNobody has embedded it yet.\n")
    embedder.away = True
    assert rebuild(house, embedder, tell=silent, accept_differences=True, drop_old=True).switched
    assert rows(house, "select provider, state from kos.lanes") == [("fire", "paused")]


def test_a_change_of_the_model_is_not_made_by_the_way(house: Settings, embedder: Changing) -> None:
    """S9: another model is `kos reembed`'s to switch to; the rebuild says so before it builds anything."""
    embedder.model = "another"
    told: list[str] = []
    with pytest.raises(StoreError, match="another model") as caught:
        rebuild(house, embedder, tell=told.append)
    assert "kos reembed" in str(caught.value)
    assert told == []


def test_an_erasure_during_the_rebuild_stops_it(house: Settings, embedder: Changing) -> None:
    """S11: the second store was built before the erasure and may hold the text: it never takes over."""
    [(memory_id,)] = rows(house, "select memory_id from kos.memories where heading = 'Oven'")

    def compare_then_erase(left: Store, right: Store) -> Comparison:
        found = compare_stores(left, right)
        with testing.store(house) as store:
            gate = open_gate(store, house, embedder)
            erase(gate, [memory_id], principal=OWNER, at=datetime.now(UTC))
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(operations_rebuild, "compare_stores", compare_then_erase)
        with pytest.raises(StoreError, match="erased during the rebuild"):
            rebuild(house, embedder, tell=silent, accept_differences=True)
    assert databases(house) == [database_name(house)]
    assert rebuild(house, embedder, tell=silent, drop_old=True).switched
    assert rows(house, "select 1 from kos.memories where heading = 'Oven'") == []


def test_a_row_that_only_the_files_know_keeps_its_history(house: Settings, embedder: Changing) -> None:
    """S7: the live store lost a memory; what the rebuilt one knows of its birth is not thrown away."""
    [(memory_id,)] = rows(house, "select memory_id from kos.memories where heading = 'Oven'")
    with testing.connect(house) as owner:
        for table in ("memory_history", "memories"):
            owner.execute(f"delete from kos.{table} where memory_id = %s".encode(), [memory_id])
    assert rebuild(house, embedder, tell=silent, accept_differences=True, drop_old=True).switched
    assert rows(house, "select action from kos.memory_history where memory_id = %s", memory_id) == [("insert",)]


def test_an_account_without_the_right_is_told_before_any_work(
    house: Settings, embedder: Changing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """House rule 8: the switch needs the database's owner; who is not hears so, with the way out, before the build."""
    name = f"rebuild_guest_{os.getpid()}"
    told: list[str] = []
    with testing.connect(house) as owner:
        owner.execute(f"create role {name} login createdb password 'guest'".encode())
    try:
        guest = str(house.dsn).replace("//postgres:", f"//{name}:")
        guest = guest.replace(guest.split(":")[2].split("@")[0], "guest")
        with (
            store_rebuild.turn(guest, database_name(house)) as turn,
            pytest.raises(StoreError, match="may not rename") as caught,
        ):
            store_rebuild.check_may_switch(turn)
        assert "--no-switch" in str(caught.value)
        monkeypatch.setattr(store_rebuild, "_ELSEWHERE", ())
        with pytest.raises(StoreError, match="No second database"):
            rebuild(house, embedder, tell=told.append)
    finally:
        with testing.connect(house) as owner:
            owner.execute(f"drop role {name}".encode())
    assert told == []


KILLED = """
import os, signal, sys
from pathlib import Path
from kos_assets.operations.fire_embedder import FireEmbedder
from kos_assets.operations.rebuild import rebuild
from kos_assets.settings import Settings

def tell(text):
    print(text, flush=True)
    if text.startswith(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)

found = Settings(data_dir=Path(sys.argv[2]), vault=Path(sys.argv[3]), dsn=os.environ["DSN"], stamp_quiet_s=0)
rebuild(found, FireEmbedder(), tell=tell)
"""


@pytest.mark.parametrize("step", ["Bringing", "Building", "Carrying", "Switching", "Taking up"])
def test_killed_at_any_step_the_store_is_the_old_or_the_new_one(house: Settings, embedder: Changing, step: str) -> None:
    """House rule 5: kill -9; what serves says the same as before, and the next rebuild clears what was left."""
    before = live(house)
    name = database_name(house)
    arguments = [sys.executable, "-c", KILLED, step, str(house.data_dir), str(house.vault)]
    ended = subprocess.run(
        arguments, env={**os.environ, "DSN": str(house.dsn)}, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert live(house) == before
    left = [item for item in databases(house) if item.startswith(f"{name}_rebuild_")]
    assert len(left) == (0 if step == "Taking up" else 1)
    _wait_for_the_turn(house)
    assert rebuild(house, embedder, tell=silent, drop_old=True).switched
    assert live(house) == before
    assert [item for item in databases(house) if "_rebuild_" in item] == []


def _wait_for_the_turn(settings: Settings) -> None:
    """The server needs a moment to see that a client is gone."""
    deadline = time.monotonic() + 10
    while True:
        try:
            with store_rebuild.turn(role_dsn(settings, "owner"), database_name(settings)):
                return
        except StoreError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
