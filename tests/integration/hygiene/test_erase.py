"""S11 on a real store: what an erasure takes, what it leaves, who may, and that the probe can tell."""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from kos_assets import testing
from kos_assets.domain import needles
from kos_assets.domain.needles import DROPPED, Fingerprint
from kos_assets.domain.principals import OWNER, Principal
from kos_assets.errors import AuthorityError, InputError, NotFoundError, StoreError
from kos_assets.gate import erase as gate_erase
from kos_assets.hygiene.probe import Proof, probe
from kos_assets.store import erasure
from kos_assets.store.migrate import create_database

SECRET = "The spare key of the attic server hangs behind the blue boiler, third hook from the left."
KEY = "zq4X8k2Pw91d"
TEXT = f'{SECRET}\n\nToken {KEY} opens it, and "nobody" else knows: Übergabe bei Frau Öttl am Gartentor.\n'
ROBO = Principal("robo", "agent")


def _fingerprint(home: Any, *memory_ids: UUID) -> Fingerprint:
    """What the gate takes before it erases."""
    rows = gate_erase.plan(home.gate, memory_ids, principal=OWNER)
    return gate_erase._fingerprint(home.gate, rows)


def _hits(proof: Proof) -> dict[str, int]:
    return {place.name: place.hits for place in proof.places if place.hits}


def _trace(home: Any, query: str, *memory_ids: UUID) -> UUID:
    trace_id = uuid4()
    results = [{"memory_id": str(memory_id), "score": 1} for memory_id in memory_ids]
    home.run(
        "insert into kos.traces (trace_id, at, principal, namespaces, kind, query, filters, confidence, results,"
        " latency_ms) values (%s, now(), 'owner', '{global}', 'search', %s, '{}', 'strong', %s, 1)",
        trace_id, query, json.dumps(results),
    )  # fmt: skip
    return trace_id


def test_a_note_goes_from_every_place_and_the_probe_proves_it(home: Any) -> None:
    """S11: row, history with older texts, chunks, words, vectors, links, quarantine, traces; the equal copy with it."""
    home.note("a/attic.md", "# Attic server\n\nAn older text that also was secret: under the doormat of number nine.\n")
    home.note("other.md", "# Boiler\n\nThe boiler is blue and was serviced in May. See [[attic]].\n")
    home.ingest()
    home.note("a/attic.md", f"# Attic server\n\n{TEXT}")
    home.note("copy.md", f"# Attic server\n\n{TEXT}")
    home.ingest()
    memory, copy, other = home.id_of("a/attic.md"), home.id_of("copy.md"), home.id_of("other.md")
    traces = [
        _trace(home, "where is the key", other, memory),
        _trace(home, SECRET, other),
        _trace(home, "boiler", other),
    ]
    home.run("insert into kos.trace_reads (trace_id, memory_id, at) values (%s, %s, now())", traces[0], memory)
    home.run("insert into kos.edges (src_id, kind, dst_id) values (%s, 'test', %s)", other, memory)
    for line, reason in enumerate((SECRET, TEXT)):  # two: one value alone is in no histogram of the planner
        home.run("insert into kos.quarantine values ('a/attic.md', 'x', %s, 'problem', 'global', %s, '')", line, reason)
    home.run("insert into kos.calibrations (model_id, rule, weak, strong, corpus_memories, inputs_hash, report)"
             " values ('m', 'cosine', 0.1, 0.2, 3, 'h', %s)", json.dumps({"question": TEXT}))  # fmt: skip
    home.run("insert into kos.lanes (provider, state, reason) values ('x', 'paused', %s)", f"refused: {SECRET}")
    home.run(
        "insert into kos.review_items (kind, namespace, memory_id, code) values ('stale', 'global', %s, 'x')", memory
    )
    home.run("analyze")

    before = _hits(probe(home.settings, _fingerprint(home, memory)))
    tables = ("memories", "memory_history", "notes", "chunks", "postings", "traces", "calibrations", "lanes",
              "quarantine", "index_state", "edges", "review_items", "trace_reads")  # fmt: skip
    assert {f"kos.{name}" for name in tables} <= set(before)
    assert any(name.startswith("kos.embeddings_") for name in before)
    assert "planner statistics" in before

    report = home.erase(memory)
    assert report.proof.clean, _hits(report.proof)
    assert report.proof.telling
    assert set(report.erased.memory_ids) == {memory, copy}
    assert report.erased.copies == tuple({memory, copy} - {memory})
    assert report.erased.kept == ("a/attic.md", "copy.md")
    assert report.settled.indexes
    assert report.settled.pinned == 0
    assert home.rows("select memory_id from kos.memories") == [(other,)]
    assert home.rows("select path from kos.notes") == [("other.md",)]
    stored = home.rows("select query, results from kos.traces order by at")
    assert [(query, [item["memory_id"] for item in results]) for query, results in stored] == [
        ("[erased]", [str(other)]), ("[erased]", [str(other)]), ("boiler", [str(other)]),
    ]  # fmt: skip
    assert home.rows("select report, weak from kos.calibrations") == [({"erased": True}, pytest.approx(0.1))]
    assert home.rows("select count(*) from kos.lexical_terms where term like %s", f"%{KEY.lower()}%") == [(0,)]
    sums = "select namespace, sum(documents), sum(tokens) from kos.lexical_totals group by 1"
    real = "select namespace, count(*), sum(length) from kos.chunks where live group by 1"
    assert home.rows(sums) == home.rows(real)
    files = next(place for place in report.proof.places if place.name == "vault: files")
    assert set(files.where) == {"a/attic.md", "copy.md"}


def test_the_ledger_records_ids_and_keyed_hashes_and_never_text(home: Any) -> None:
    """S11, V6: one record a memory, first; the index of the ledger has it too; a second erasure adds none."""
    home.note("a.md", TEXT)
    home.note("b.md", TEXT)
    home.ingest()
    memory = home.id_of("a.md")
    home.erase(memory)
    lines = [json.loads(line) for line in home.ledger().splitlines()]
    assert [line["op"] for line in lines] == ["erase", "erase"]
    assert str(memory) in {line["subject"] for line in lines}
    assert len({line["hash"] for line in lines}) == 1
    assert len({line["note_id"] for line in lines}) == 2
    assert not needles_in(home.ledger())
    assert home.rows("select count(*) from kos.decisions where op = 'erase'") == [(2,)]
    report = home.erase(memory)
    assert len(home.ledger().splitlines()) == 2
    assert not any(report.erased.counts.values())


def needles_in(text: str) -> bool:
    return any(run in needles.fold(text) for run in needles.runs("", [TEXT]))


def test_what_an_erasure_cannot_clean_is_reported_and_spoils_the_proof(home: Any) -> None:
    """S11: tables that nobody knows, marts, logs, compute logs, Dagster's database: found by the catalogue, never
    silently promised; what is keyed by an id in the marts, and result files, go."""
    memory = home.say("Where the spare key hangs", TEXT)
    home.run("create table kos.later (n integer, quotes jsonb, parts text[])")
    home.run(
        "insert into kos.later values (1, %s, '{}'), (2, null, %s), (3, '{}', '{}')", json.dumps({"q": TEXT}), [TEXT]
    )
    home.run("create materialized view kos.later_view as select n, parts from kos.later")
    home.run("create table kos_marts.quotes (label text)")
    home.run("insert into kos_marts.quotes values (%s)", SECRET)
    home.run("create table kos_marts.ages (memory_id uuid, days integer)")
    home.run("insert into kos_marts.ages values (%s, 3), (%s, 4)", memory, uuid4())
    dagster = home.settings.dagster_dsn
    create_database(str(home.settings.dsn), psycopg.conninfo.conninfo_to_dict(dagster)["dbname"])
    with psycopg.connect(dagster, autocommit=True) as connection:
        connection.execute("create table event_logs (id integer, event text)")
        connection.execute("insert into event_logs values (1, %s), (2, 'fine')", [json.dumps({"message": TEXT})])
    data = home.settings.data_dir
    for path in ("logs/service.log", "dagster/storage/run/compute_logs/x.err", "results/eval.json", "gx/index.html"):
        (data / path).parent.mkdir(parents=True, exist_ok=True)
        (data / path).write_text(f"before\n{json.dumps(TEXT)}\nafter\n")
    (data / "clean").mkdir()
    (data / "clean/fine.log").write_text("nothing")

    report = home.erase(memory)
    hits = _hits(report.proof)
    assert {name: hits[name] for name in hits if name.startswith(("kos", "dagster"))} == {
        "kos.later": 2, "kos.later_view": 1, "kos_marts.quotes": 1, "dagster public.event_logs": 1,
    }  # fmt: skip
    dirty = {place.name for place in report.proof.places if place.is_dirty}
    assert {"data directory: logs/", "data directory: dagster/", "data directory: gx/", "kos.later"} <= dirty
    assert not report.proof.clean
    assert not {"data directory: results/", "data directory: clean/", "kos.memories"} & set(hits)
    assert report.results == ("eval.json",)
    assert home.rows("select days from kos_marts.ages") == [(4,)]
    assert report.marts == {"kos_marts.ages": 1}
    assert not needles_in(json.dumps(report.as_dict(), default=str))
    assert not needles_in("\n".join(" ".join(row) for row in report.proof.rows()))
    assert not needles_in(repr(report))


def test_a_statement_goes_with_its_file_and_its_chain_is_told(home: Any) -> None:
    """S11: pointers of others become null, with history; older versions are named, and erased when asked for."""
    first = home.say("Attic key", "The spare key hangs behind the blue boiler on the second hook.")
    second = home.say("Attic key", "The spare key hangs behind the blue boiler on the third hook.", supersedes=first)
    path = home.vault / f"memories/global/{second}.md"
    assert path.is_file()
    report = home.erase(second, delete_file=True)
    assert not path.exists()
    assert report.erased.deleted == (f"memories/global/{second}.md",)
    assert report.erased.relatives == (first,)
    assert home.rows("select memory_id, deleted_reason from kos.memories") == [(first, "superseded")]
    assert home.rows("select count(*) from kos.memory_files") == [(1,)]

    third = home.say("Barn", "The barn is locked with the brass padlock since the storm of last winter.")
    fourth = home.say("Barn", "The barn is locked with the steel padlock since the storm.", supersedes=third)
    home.erase(third)
    assert home.rows("select supersedes from kos.memories where memory_id = %s", fourth) == [(None,)]
    told = home.rows("select action, reason from kos.memory_history where memory_id = %s order by 1", fourth)
    assert ("update", "a version that it pointed to was erased") in told
    assert (home.vault / f"memories/global/{third}.md").is_file()


def test_other_memories_with_the_same_words_are_named_and_stay(home: Any) -> None:
    """S11: what someone else wrote is not erased behind their back; the report names it, and the vault's files."""
    mine = home.say("Attic key of mine", TEXT)
    home.note(
        "quote.md", f"# A quote\n\nThey told me so many other things that day.\n\n{SECRET}\n\nAnd more of that.\n"
    )
    home.ingest()
    report = home.erase(mine, delete_file=True)
    assert home.rows("select count(*) from kos.memories") == [(1,)]
    table = next(place for place in report.proof.places if place.name == "kos.memories")
    assert (table.hits, table.elsewhere, table.where) == (0, 1, (str(home.id_of("quote.md")),))
    assert report.proof.clean, _hits(report.proof)
    assert _hits(report.proof) == {"vault: files": 1}
    assert str(home.id_of("quote.md")) in report.proof.others


def test_a_statement_that_still_waits_for_its_vector_can_be_erased(home: Any) -> None:
    """S11: a file and a record without a row: erased all the same, its text read from the file for the proof."""
    from dataclasses import replace

    waiting = replace(home.gate, embedder=None)
    home.gate = waiting
    memory = home.say("Attic key", TEXT)
    assert home.rows("select count(*) from kos.memories") == [(0,)]
    report = home.erase(memory, delete_file=True)
    assert report.erased.deleted == (f"memories/global/{memory}.md",)
    assert report.erased.counts["memory_files"] == 1
    assert report.proof.telling
    assert report.proof.clean


def test_only_the_owner_erases_and_what_is_unknown_is_said(home: Any) -> None:
    """S11: agents and orchestrators are refused, for their own memories too; nothing was changed."""
    memory = home.say("Lesson", TEXT, by=ROBO, namespace="agent:robo")
    for principal in (ROBO, Principal("night", "orchestrator")):
        with pytest.raises(AuthorityError, match="may not erase"):
            home.erase(memory, by=principal)
        with pytest.raises(AuthorityError, match="may not erase"):
            gate_erase.plan(home.gate, [memory], principal=principal)
    with pytest.raises(NotFoundError):
        home.erase(uuid4())
    assert home.rows("select count(*) from kos.memories") == [(1,)]
    assert '"erase"' not in home.ledger()


def test_the_database_itself_refuses_other_roles_and_foreign_namespaces(home: Any) -> None:
    """S6, S11: the writer has no right to delete; the function is its alone and keeps to its namespaces."""
    memory = home.say("Attic key", TEXT, namespace="shared:owner")
    for role in ("writer", "reader", "auditor", "dbt"):
        with testing.connect(home.settings, role) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("delete from kos.memories")
    for role in ("reader", "auditor", "dbt"):
        with testing.connect(home.settings, role) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("select kos.erase_memories(%s, '{}', '', 'x', now())", [[memory]])
        with testing.connect(home.settings, role) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("select * from kos.erasable(%s)", [[memory]])
    for namespaces in ([], ["global"]):
        with home.gate.store.transaction(namespaces=namespaces) as session:
            assert erasure.erasable(session, [memory]) == []
        with pytest.raises(StoreError), home.gate.store.transaction(namespaces=namespaces) as session:
            erasure.erase(session, [memory], [], principal="x", at=datetime.now(UTC))
    assert home.rows("select count(*) from kos.memories") == [(1,)]
    with home.gate.store.transaction(namespaces=["shared:owner"]) as session:
        counts, _ = erasure.erase(session, [memory], [], principal="x", at=datetime.now(UTC))
    assert counts["memories"] == 1


def test_a_file_that_changed_meanwhile_is_not_deleted(home: Any) -> None:
    """V7, S11: what was written since the last scan would be lost: refused before anything is recorded or erased."""
    file = home.note("a.md", TEXT)
    home.ingest()
    memory = home.id_of("a.md")
    file.write_text("Something else by now.\n")
    with pytest.raises(InputError, match="changed since it was read"):
        home.erase(memory, delete_file=True)
    assert '"erase"' not in home.ledger()
    assert home.rows("select count(*) from kos.memories") == [(1,)]
    home.ingest()
    report = home.erase(memory, delete_file=True)
    assert not file.exists()
    assert report.erased.deleted == ("a.md",)


def test_an_erasure_that_was_cut_off_is_completed_by_the_same_call(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """S11: killed after the record and before the transaction ends: the record stands, the rows too; then both fit."""
    memory = home.say("Attic key", TEXT)

    def die(*args: object, **values: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(erasure, "erase", die)
        with pytest.raises(KeyboardInterrupt):
            home.erase(memory)
    assert home.rows("select count(*) from kos.memories") == [(1,)]
    assert home.ledger().count('"op": "erase"') == 1
    assert home.erase(memory).proof.clean
    assert home.rows("select count(*) from kos.memories") == [(0,)]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_history_is_listed_with_its_commands(home: Any) -> None:
    """S11: not silently promised; it does not spoil the proof of what an erasure answers for."""
    home.note("a.md", TEXT)
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        command = ["git", "-C", str(home.vault), "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
        subprocess.run(command, check=True, capture_output=True)
    home.ingest()
    report = home.erase(home.id_of("a.md"), delete_file=True)
    [history] = [place for place in report.proof.places if place.name == "git history"]
    assert history.hits == 1
    assert any("git filter-repo" in command and "a.md" in command for command in history.fix)
    assert report.proof.clean


def test_postgres_folds_as_python_does(home: Any) -> None:
    """S11: a run that was folded here is found in what was folded there, in any script."""
    texts = [
        TEXT, SECRET.upper(), "a\\nb\\\\n\\u00fc", "tab\tnbsp\u00a0zw\u200bideographic\u3000end\ufeff",
        "日本語の テキスト", "Ünïcödé İstanbul ǅ ß", "".join(map(chr, range(1, 0x300))), json.dumps(TEXT),
        "\u2028\u2029\u2060\u00ad",
    ]  # fmt: skip
    found = home.rows(
        "select regexp_replace(lower(t collate \"C\"), %s, '', 'g') from unnest(%s::text[]) with ordinality as u (t, n)"
        " order by n", DROPPED, texts,
    )  # fmt: skip
    assert [row[0] for row in found] == [needles.fold(text) for text in texts]
