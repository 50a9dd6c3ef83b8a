"""What becomes of a statement after it was written: file, ledger and row together, on a real store."""

from __future__ import annotations

import json
import shutil
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kos_assets.errors import AuthorityError, InputError, NotFoundError
from kos_assets.gate.adopt import adopt_file
from kos_assets.gate.authority import OWNER, Principal
from kos_assets.gate.life import forget, restore
from kos_assets.gate.marks import annotate, resolve, verify
from kos_assets.ingest.memories import sync_memories
from kos_assets.ingest.notes import sync_notes
from kos_assets.ingest.statements import sync_statements
from kos_assets.store.database import Store

AT = datetime(2026, 3, 4, 12, tzinfo=UTC)
ROBO = Principal("robo", "agent", frozenset({"crew"}))


def ingest(gate: Any, store: Store | None = None) -> Any:
    """Notes, statements, memories; the report on statements."""
    sync_notes(store or gate.store, gate.settings)
    report = sync_statements(store or gate.store, gate.settings, gate.embedder)
    sync_memories(store or gate.store, gate.settings)
    return report


def state(gate: Any, memory_id: Any) -> Any:
    """Why a memory is retired, or None."""
    [(reason,)] = gate.rows("select deleted_reason from kos.memories where memory_id = %s", memory_id)
    return reason


def note(gate: Any, path: str, text: str) -> None:
    """A file of the vault."""
    target = gate.settings.vault / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def memory_of(gate: Any, path: str) -> Any:
    """The memory of a note."""
    [(memory_id,)] = gate.rows("select memory_id from kos.memories where note_path = %s", path)
    return memory_id


def test_a_write_is_a_file_and_a_record_first(gate: Any) -> None:
    """V6: Markdown below memories/, a line in the ledger without text, and the row points to the file."""
    result = gate.write("Port of the gateway", "It listens on 8443.", namespace="agent:robo", by=ROBO)
    vault: Path = gate.settings.vault
    assert result.path == f"memories/agent/robo/{result.memory_id}.md"
    assert "# Port of the gateway\n\nIt listens on 8443.\n" in (vault / result.path).read_text()
    [ledger] = list((vault / ".kos/ledger").glob("*/2026-03.jsonl"))
    [line] = ledger.read_text().splitlines()
    assert json.loads(line)["op"] == "write"
    assert "8443" not in line
    assert "gateway" not in line
    row = gate.rows("select provenance, author, note_path, home_path from kos.memories")
    assert row == [("output", "robo", result.path, "memories/agent:robo")]


def test_a_crash_before_the_row_is_healed_by_the_next_scan(gate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """V6, G1: file and record stand, the row does not: the scan applies the recorded outcome, supersede included."""
    old = gate.write("Gateway port", "It is 8080.")
    with monkeypatch.context() as patched:
        patched.setattr(
            "kos_assets.store.decisions.record", lambda *_, **__: (_ for _ in ()).throw(RuntimeError("cut"))
        )
        with pytest.raises(RuntimeError):
            gate.write("Gateway port", "It is 9090.", key="new")
    assert state(gate, old.memory_id) is None
    assert ingest(gate).healed == 1
    assert state(gate, old.memory_id) == "superseded"
    assert gate.live() == ["Gateway port"]
    assert gate.write("Gateway port", "It is 9090.", key="new").action == "retry"
    assert ingest(gate).settled == 0


def test_a_deleted_file_is_a_retired_memory_and_comes_back_with_it(gate: Any) -> None:
    """V6, V7: the vault is the truth; the index deletes nothing in it."""
    result = gate.write("Gateway port", "It is 8080.")
    path = gate.settings.vault / result.path
    text = path.read_text()
    path.unlink()
    ingest(gate)
    assert state(gate, result.memory_id) == "file_deleted"
    with pytest.raises(InputError, match="cannot be restored"):
        restore(gate.open(), result.memory_id, principal=OWNER, at=AT)
    path.write_text(text)
    ingest(gate)
    assert state(gate, result.memory_id) is None


def test_a_file_that_the_gate_did_not_write_waits_for_the_owner(gate: Any) -> None:
    """V9: without a record it is quarantined; the owner adopts it; an agent may not."""
    result = gate.write("Gateway port", "It is 8080.")
    forged = gate.settings.vault / "memories/global/11111111-1111-5111-8111-111111111111.md"
    forged.write_text((gate.settings.vault / result.path).read_text().replace(str(result.memory_id), forged.stem))
    assert ingest(gate).refused == 1
    assert gate.rows("select code from kos.quarantine") == [("not_written_by_gate",)]
    assert gate.live() == ["Gateway port"]
    path = f"memories/global/{forged.name}"
    with pytest.raises(AuthorityError):
        adopt_file(gate.open(), path, principal=ROBO, at=AT)
    with pytest.raises(InputError, match="the key of another memory"):
        adopt_file(gate.open(), path, principal=OWNER, at=AT)
    forged.write_text(forged.read_text().replace("|It is 8080.", "|copy"))  # a key of its own
    adopt_file(gate.open(), path, principal=OWNER, at=AT)
    assert gate.live() == ["Gateway port", "Gateway port"]
    assert gate.rows("select code from kos.quarantine") == []
    assert ingest(gate).refused == 0


def test_a_changed_file_is_not_what_the_gate_wrote(gate: Any) -> None:
    """V9: an edit is held back until it is adopted; harmless changes of editors and git are not edits."""
    result = gate.write("Gateway port", "8080\nline")
    path = gate.settings.vault / result.path
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert ingest(gate).refused == 0
    assert state(gate, result.memory_id) is None
    path.write_text(path.read_text().replace("8080\n", "9090\n"))
    assert ingest(gate).refused == 1
    assert state(gate, result.memory_id) == "file_deleted"
    adopt_file(gate.open(), result.path, principal=OWNER, at=AT)
    assert gate.rows("select content, deleted_reason from kos.memories") == [("9090\nline", None)]


def test_a_supersede_is_undone_beside_or_instead(gate: Any) -> None:
    """S7: restored, an old version lives beside its successor for good, or in its place."""
    first = gate.write("Gateway port", "It is 8080.")
    second = gate.write("Gateway port", "It is 9090.")
    assert second.superseded == first.memory_id
    done = restore(gate.open(), first.memory_id, principal=OWNER, at=AT)
    assert (done.action, state(gate, first.memory_id), state(gate, second.memory_id)) == ("restore", None, None)
    assert gate.rows("select supersedes from kos.memories where memory_id = %s", second.memory_id) == [(None,)]
    third = gate.write("Host of the shop", "It runs on alpha.")
    fourth = gate.write("Host of the shop", "It runs on beta.")
    assert fourth.superseded == third.memory_id
    restore(gate.open(), third.memory_id, principal=OWNER, at=AT, instead=True)
    assert state(gate, fourth.memory_id) == "undone"
    assert state(gate, third.memory_id) is None
    before = gate.rows("select memory_id, deleted_reason, supersedes from kos.memories order by 1")
    ingest(gate)
    assert gate.rows("select memory_id, deleted_reason, supersedes from kos.memories order by 1") == before


def test_forgotten_stays_forgotten(gate: Any) -> None:
    """S11: a statement and a note whose files still stand do not come back with a scan, an edit or a copy."""
    note(gate, "door.md", "# Door\n\nThe code is 4711.\n")
    statement = gate.write("Alarm", "The code is 0815.")
    ingest(gate)
    door = memory_of(gate, "door.md")
    for memory_id in (door, statement.memory_id):
        forget(gate.open(), memory_id, principal=OWNER, at=AT)
        with pytest.raises(InputError, match="forgotten already"):
            forget(gate.open(), memory_id, principal=OWNER, at=AT)
    assert gate.live() == []
    note(gate, "copy.md", "# Door\n\nThe code is 4711.\n")
    ingest(gate)
    assert gate.live() == []
    note(gate, "door.md", "# Door\n\nThe code is 4712 now.\n")
    ingest(gate)
    assert gate.live() == []
    restore(gate.open(), door, principal=OWNER, at=AT)
    restore(gate.open(), statement.memory_id, principal=OWNER, at=AT)
    assert gate.live() == ["Alarm", "Door", "Door"], "the equal copy was forgotten with it, and is back with it"
    ingest(gate)
    assert gate.live() == ["Alarm", "Door", "Door"]


def test_another_store_reads_the_same_from_the_files_alone(gate: Any, postgres: Any) -> None:
    """V6: decisions of every kind, replayed into an empty store, give the same rows."""
    note(gate, "door.md", "# Door\n\nThe code is 4711.\n")
    note(gate, "oven.md", "# Oven\n\nIt heats to 240.\n")
    ingest(gate)
    one = gate.write("Gateway port", "It is 8080.")
    two = gate.write("Gateway port", "It is 9090.")
    gate.write("Host", "alpha", namespace="agent:robo", by=ROBO)
    gone = gate.write("Gone", "soon", namespace="shared:crew")
    verify(gate.open(), memory_of(gate, "oven.md"), how="source", principal=OWNER, at=AT + timedelta(hours=1))
    verify(gate.open(), two.memory_id, how="test", principal=OWNER, at=AT)
    annotate(gate.open(), two.memory_id, boost=2.0, principal=OWNER, at=AT)
    forget(gate.open(), memory_of(gate, "door.md"), principal=OWNER, at=AT)
    forget(gate.open(), gone.memory_id, principal=OWNER, at=AT)
    assert state(gate, one.memory_id) == "superseded"
    ingest(gate)
    query = """select memory_id, heading, content, deleted_reason, supersedes, verified_how, verified_by, boost, 1
        from kos.memories where note_id is null or deleted_reason is null order by memory_id"""
    wanted = [row[:-1] for row in gate.rows(query)]
    with postgres.database(replace(gate.settings)) as settings, Store(_writer(settings)) as store:
        other = replace_gate(gate, settings, store)
        ingest(other)
        assert [row[:-1] for row in other.rows(query)] == wanted
        assert ingest(other).settled == 0


def _writer(settings: Any) -> str:
    from kos_assets.store.database import role_dsn

    return role_dsn(settings, "writer")


def replace_gate(gate: Any, settings: Any, store: Store) -> Any:
    """The same vault under another store."""
    return replace(gate, settings=settings, store=store)


def test_who_may_end_what(gate: Any) -> None:
    """G2: the owner anything; an agent what it wrote; what it cannot see does not exist for it."""
    note(gate, "door.md", "# Door\n\nThe code is 4711.\n")
    ingest(gate)
    mine = gate.write("Mine", namespace="agent:robo", by=ROBO)
    crew = gate.write("Crew's", namespace="shared:crew", by=ROBO)
    other = gate.write("Other's", namespace="agent:ada", by=Principal("ada", "agent"))
    owners = gate.write("Owner's", namespace="shared:crew")
    for memory_id in (memory_of(gate, "door.md"), owners.memory_id):
        with pytest.raises(AuthorityError):
            forget(gate.open(), memory_id, principal=ROBO, at=AT)
    with pytest.raises(NotFoundError):
        forget(gate.open(), other.memory_id, principal=ROBO, at=AT)
    for result in (mine, crew):
        forget(gate.open(), result.memory_id, principal=ROBO, at=AT)
        restore(gate.open(), result.memory_id, principal=ROBO, at=AT)


def test_contradictions_wait_until_they_are_resolved(gate: Any) -> None:
    """G9: the same subject, another value, outside the ball: both live, linked, listed; a person decides."""
    gate.embedder.known |= {"Rate limit": (1.0,)}
    old = gate.write("Rate limit", "It is 100 a second.")
    gate.embedder.known["Rate limit"] = (0.9, (1 - 0.81) ** 0.5)
    new = gate.write("Rate limit", "It is 250 a second.")
    assert new.beside == (("contradicts", old.memory_id, "distance"),)
    assert gate.rows("select kind, closed_at from kos.review_items") == [("contradiction", None)]
    resolve(gate.open(), new.memory_id, old.memory_id, outcome="left", principal=OWNER, at=AT)
    assert state(gate, old.memory_id) == "forgotten"
    assert gate.rows("select outcome from kos.review_items") == [("this",)]
    with pytest.raises(NotFoundError):
        resolve(gate.open(), new.memory_id, old.memory_id, outcome="both", principal=OWNER, at=AT)


def test_a_lost_ledger_is_no_licence(gate: Any) -> None:
    """V9: files alone, without their records, are not accepted."""
    gate.write("Gateway port", "It is 8080.")
    shutil.rmtree(gate.settings.vault / ".kos/ledger")
    from kos_assets import testing

    with testing.connect(gate.settings) as connection:
        connection.execute("truncate kos.decisions, kos.ledger_files, kos.memory_files")
    assert ingest(gate).refused == 1


def test_scans_beside_writers_lose_and_refuse_nothing(gate: Any) -> None:
    """V6, G5: a file is never judged between its rename and its commit, nor taken for gone because it is new."""
    failures: list[BaseException] = []
    done = threading.Event()

    def work(call: Any) -> None:
        try:
            call()
        except BaseException as error:
            failures.append(error)

    def write(number: int) -> None:
        for item in range(12):
            gate.write(f"Writer {number}, item {item}", namespace=f"shared:crew-{number % 2}")

    def scan() -> None:
        while not done.is_set():
            ingest(gate)

    for number in range(3):  # the compass numbers unknown texts: not while others read
        for item in range(12):
            gate.embedder.embed_query(f"Writer {number}, item {item}")
    gate.embedder.known = {name: vector[:40] for name, vector in gate.embedder.known.items()}
    writers = [threading.Thread(target=work, args=(lambda number=number: write(number),)) for number in range(3)]
    scanner = threading.Thread(target=work, args=(scan,))
    for thread in (*writers, scanner):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    scanner.join()
    ingest(gate)
    assert failures == []
    assert len(gate.live()) == 36
    assert gate.rows("select state, count(*) from kos.memory_files group by 1") == [("accepted", 36)]
    assert gate.rows("select count(*) from kos.quarantine") == [(0,)]
    assert gate.rows("select action, count(*) from kos.memory_history group by 1") == [("insert", 36)]


def test_edges_hold_in_whatever_order_the_files_come(gate: Any, postgres: Any) -> None:
    """V6, G9: a vault whose files arrive one by one, the newest first, ends as the one that wrote them."""
    gate.embedder.known["Rate limit"] = (1.0,)
    one = gate.write("Rate limit", "It is 100 a second.")
    gate.embedder.known["Rate limit"] = (0.9, (1 - 0.81) ** 0.5)
    two = gate.write("Rate limit", "It is 250 a second.")
    three = gate.write("Rate limit", "It is 300 a second.", memory_type="procedural")
    query = "select src_id, kind, dst_id, detail ->> 'veto', detail ->> 'code' from kos.edges order by 1, 2, 3"
    wanted = gate.rows(query)
    assert len(wanted) == 3
    items = gate.rows("select memory_id, other_id, outcome from kos.review_items order by 1, 2")
    texts = {path: (gate.settings.vault / path).read_bytes() for path in (one.path, two.path, three.path)}
    with postgres.database(replace(gate.settings)) as settings, Store(_writer(settings)) as store:
        other = replace_gate(gate, settings, store)
        for path in texts:
            (gate.settings.vault / path).unlink()
        for path in (three.path, two.path, one.path):
            (gate.settings.vault / path).write_bytes(texts[path])
            ingest(other)
        assert other.rows(query) == wanted
        assert other.rows("select memory_id, other_id, outcome from kos.review_items order by 1, 2") == items
