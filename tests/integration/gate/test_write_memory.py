"""`write_memory` on a real store: verdicts at the edge of the ball, authority, retries, races, all or nothing."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from kos_assets.errors import AuthorityError, InputError
from kos_assets.gate import birth
from kos_assets.gate.authority import OWNER, Principal
from kos_assets.gate.ends import Ends
from kos_assets.gate.notes import write_notes
from kos_assets.gate.statement import Statement
from kos_assets.gate.write import write_memory
from kos_assets.ingest.notes import sync_notes
from kos_assets.ingest.statements import sync_statements
from kos_assets.store import edges
from kos_assets.store.database import Store, role_dsn

ROBO = Principal("robo", "agent", frozenset({"crew"}))
_HISTORY = """
    select h.action, h.principal, h.reason, h.before, h.after from kos.memory_history as h
    where h.memory_id = %s order by h.history_id
"""
# Halves of powers of two have no rounding in a halfvec, so that the distance comes out as written.
ORIGIN = (1.0,)
EXACT = (0.75, 0.5, 0.25, 0.25, 0.25)  # squares sum to 1: cosine to the origin 0.75, distance exactly 0.25


def test_strictly_nearer_supersedes_and_exactly_there_inserts(gate: Any) -> None:
    """G3: distance < threshold (strictly) supersedes; exactly at the threshold both stay live."""
    for distance, expected in ((0.25, "insert"), (0.2500001, "supersede")):
        space: dict[str, Any] = {"namespace": f"shared:at-{str(distance).replace('.', '-')}"}
        gate.embedder.known["Oven heat"] = (*ORIGIN, *(0.0,) * 4)
        old = gate.write("Oven heat", **space)
        gate.embedder.known["Oven heat"] = EXACT
        statement = Statement("Oven heat", "Body, longer.", key="k", memory_type="semantic", **space)
        new = write_memory(gate.open(distance=distance), statement, principal=OWNER, at=_AT)
        assert new.action == expected
        assert new.superseded == (old.memory_id if expected == "supersede" else None)
        [(measured,)] = gate.rows(
            "select 1 - (a.embedding <=> b.embedding) from kos.embeddings as a, kos.embeddings as b"
            " where a.memory_id = %s and b.memory_id = %s",
            old.memory_id,
            new.memory_id,
        )
        assert measured == 0.75, "the geometry itself is exact"


_AT = datetime(2026, 3, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(("cosine", "action"), [(0.9194, "insert"), (0.9206, "supersede")])
def test_the_default_threshold_is_eight_hundredths(gate: Any, cosine: float, action: str) -> None:
    """G3: with nothing said, 0.0806 inserts and 0.0794 supersedes."""
    gate.embedder.known["Oven heat"] = (1.0, 0.0)
    gate.write("Oven heat")
    gate.embedder.known["Oven heat"] = (cosine, (1 - cosine**2) ** 0.5)
    assert gate.write("Oven heat", "Body, longer.").action == action


def test_a_supersede_is_whole(gate: Any) -> None:
    """G3, S7: the new row names the old one, the old one is retired, both have history, an edge joins them."""
    old = gate.write("Gateway port", "The service listens on 8080.")
    new = gate.write("Gateway port", "The service listens on 9090.")
    assert gate.live() == ["Gateway port"]
    assert gate.rows("select supersedes from kos.memories where memory_id = %s", new.memory_id) == [(old.memory_id,)]
    assert gate.rows("select deleted_reason from kos.memories where memory_id = %s", old.memory_id) == [("superseded",)]
    assert gate.rows("select src_id, kind, dst_id from kos.edges") == [(new.memory_id, "supersedes", old.memory_id)]
    actions = gate.rows(_HISTORY, old.memory_id)
    assert [row[:3] for row in actions] == [
        ("insert", "owner", "no near match"),
        ("supersede", "owner", f"by {new.memory_id}"),
    ]
    assert actions[1][3:] == (
        {"deleted_at": None, "deleted_reason": None},
        {"deleted_at": _AT.isoformat(), "deleted_reason": "superseded"},
    )
    [(action, _, reason, _, _)] = gate.rows(_HISTORY, new.memory_id)
    assert action == "insert"
    assert reason.startswith("distance ")
    assert gate.rows("select live from kos.embeddings where memory_id = %s", old.memory_id) == [(False,)]


def test_a_failure_in_the_middle_leaves_nothing(gate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """G1, G3: row, retirement, history and edge are one transaction."""
    gate.write("Gateway port", "It is 8080.")
    before = gate.rows("select m::text from kos.memories as m"), gate.rows("select count(*) from kos.memory_history")

    def fail(*_: object) -> None:
        raise RuntimeError("cut")

    for module, name in ((edges, "add"), (birth, "_index")):
        with monkeypatch.context() as patched:
            patched.setattr(module, name, fail)
            with pytest.raises(RuntimeError, match="cut"):
                gate.write("Gateway port", "It is 9090.")
        after = gate.rows("select m::text from kos.memories as m"), gate.rows("select count(*) from kos.memory_history")
        assert after == before
    assert gate.write("Gateway port", "It is 9090.").action == "supersede"


def test_what_may_not_supersede_stays_beside(gate: Any) -> None:
    """G4: another type, another day, a weaker statement: both live, linked, the veto recorded."""
    day = timedelta(days=1)
    cases: list[tuple[str, dict[str, Any], dict[str, Any], str | None]] = [
        ("type", {"memory_type": "semantic"}, {"memory_type": "procedural"}, "type"),
        ("days", {"memory_type": "episodic", "event_at": _AT}, {"memory_type": "episodic", "event_at": _AT + day},
         "event_day"),
        ("zones", {"memory_type": "episodic", "event_at": datetime.fromisoformat("2026-03-04T23:30:00+00:00")},
         {"memory_type": "episodic", "event_at": datetime.fromisoformat("2026-03-05T01:30:00+02:00")}, None),
        ("weaker", {"confidence": 0.9}, {"provenance": "derived", "confidence": 0.6},
         "weaker"),
        ("output", {"confidence": 0.9}, {"provenance": "output", "confidence": 0.89},
         "weaker"),
        ("surer", {"confidence": 0.5}, {"provenance": "derived", "confidence": 0.6}, None),
        ("raw", {"provenance": "output", "confidence": 0.9}, {"confidence": 0.3}, None),
    ]  # fmt: skip
    for name, first, second, veto in cases:
        space = {"namespace": f"shared:{name}"}
        gate.embedder.known |= {name: (1.0,)}
        old = gate.write(name, **space, **first)
        new = gate.write(name, key="second", **space, **second)
        if veto is None:
            assert (new.action, new.superseded) == ("supersede", old.memory_id), name
        else:
            assert (new.action, new.superseded, new.beside) == ("insert", None, (("similar_to", old.memory_id, veto),))
            linked = gate.rows("select dst_id from kos.edges where src_id = %s and kind = 'similar_to'", new.memory_id)
            assert linked == [(old.memory_id,)], name
            told = [row[:3:2] for row in gate.rows(_HISTORY, new.memory_id)]
            assert told == [("insert", "look-alike"), ("veto", f"{veto}: {old.memory_id}")], name
            assert gate.live().count(name) == 2, name


def test_a_note_is_never_superseded_by_a_statement(gate: Any, tmp_path: Any) -> None:
    """G4, G6: only its file changes a note-backed memory."""
    (tmp_path / "vault/port.md").write_text("# Port\n\n8080\n")
    sync_notes(gate.store, gate.settings)
    with gate.store.transaction(pipeline=True) as session:
        write_notes(session, limit=10, at=_AT, ends=Ends())
    [(memory_id,)] = gate.rows("select memory_id from kos.memories")
    gate.embedder.known |= {"Port": (1.0,), "The port": (1.0, 0.01)}
    from kos_assets.ingest.chunks import sync_chunks
    from kos_assets.ingest.embeddings import sync_embeddings

    sync_chunks(gate.store, count_tokens=gate.embedder.count_tokens)
    sync_embeddings(gate.store, gate.embedder, gate.settings)
    result = gate.write("The port", "9090")
    assert (result.action, result.beside) == ("insert", (("similar_to", memory_id, "note_backed"),))
    assert gate.live() == ["Port", "The port"]
    linked = gate.rows("select dst_id from kos.edges where src_id = %s and kind = 'similar_to'", result.memory_id)
    assert linked == [(memory_id,)]


def test_the_ball_stops_at_the_namespace(gate: Any) -> None:
    """G3: only a neighbour in the same namespace is superseded."""
    gate.embedder.known |= {"one": (1.0,), "two": (1.0,)}
    gate.write("one", namespace="shared:crew")
    assert gate.write("two", namespace="agent:robo").action == "insert"
    assert gate.live() == ["one", "two"]


def test_a_retry_returns_the_first_result(gate: Any) -> None:
    """G5: the same key writes once and costs no second embedding, even while the provider is away; a key is its
    writer's own, so that nobody's statement is lost to another's key."""
    first = gate.write("Deploy", key="k1")
    gate.embedder.away = True
    again = gate.write("Deploy", key="k1")
    gate.embedder.away = False
    assert (again.memory_id, again.action, gate.embedder.calls) == (first.memory_id, "retry", 1)
    assert gate.live() == ["Deploy"]
    other = gate.write("Robo's own", key="k1", namespace="agent:robo", by=ROBO)
    crew = gate.write("Crew's own", key="k1", namespace="shared:crew", by=ROBO)
    ada = gate.write("Ada's own", key="k1", namespace="shared:crew", by=Principal("ada", "agent", frozenset({"crew"})))
    assert {item.action for item in (other, crew, ada)} == {"insert"}
    assert gate.live() == ["Ada's own", "Crew's own", "Deploy", "Robo's own"]


def test_a_key_names_one_statement(gate: Any) -> None:
    """G5: the same key with other words is a mistake of the caller, not a retry; nothing is changed."""
    gate.write("Deploy", key="k1")
    with pytest.raises(InputError, match="another statement"):
        gate.write("Deploy, told otherwise", key="k1")
    assert gate.live() == ["Deploy"]


def test_while_the_embedder_is_away_a_statement_waits_in_its_file(gate: Any) -> None:
    """G1, E5: not live, not lost: the next scan passes it through the gate, and its key returns the same memory."""
    gate.embedder.away = True
    result = gate.write("Later", key="k")
    assert result.action == "pending"
    assert gate.rows("select count(*) from kos.memories") == [(0,)]
    assert (gate.settings.vault / result.path).read_text().endswith("# Later\n\nBody.\n")
    assert sync_statements(gate.store, gate.settings, gate.embedder).pending == 1
    gate.embedder.away = False
    assert sync_statements(gate.store, gate.settings, gate.embedder).passed == 1
    assert gate.live() == ["Later"]
    assert gate.write("Later", key="k").memory_id == result.memory_id
    assert gate.rows("select state, count(*) from kos.memory_files group by state") == [("accepted", 1)]


def test_concurrent_writers_of_one_statement_leave_one_live_row(gate: Any) -> None:
    """G5: eight writers at once, with keys of their own: one live row, a chain of the others, nothing lost."""
    gate.embedder.known["The oven heats to 240"] = (0.5, 0.5, 0.5, 0.5)
    start, failures = threading.Barrier(8), []

    def run(number: int) -> None:
        with Store(role_dsn(gate.settings, "writer")) as store:
            start.wait()
            statement = Statement("The oven heats to 240", "Degrees.", "global", f"key {number}", "semantic")
            try:
                write_memory(gate.open(store=store), statement, principal=OWNER, at=_AT)
            except Exception as error:
                failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert gate.live() == ["The oven heats to 240"]
    assert gate.rows("select count(*), count(distinct supersedes) from kos.memories") == [(8, 7)]
    assert gate.rows("select count(*) from kos.memory_history") == [(15,)]


def test_the_authority_of_each_role(gate: Any) -> None:
    """G2: who may write where, on the store itself: a refusal writes nothing and names its rule."""
    orchestrator = Principal("night", "orchestrator")
    allowed = [
        (OWNER, "global"), (OWNER, "agent:robo"), (OWNER, "shared:crew"), (ROBO, "agent:robo"), (ROBO, "shared:crew"),
        (orchestrator, "global"), (orchestrator, "agent:night"),
    ]  # fmt: skip
    refused = [
        (ROBO, "global", "global is written by the owner or an orchestrator"),
        (ROBO, "agent:other", "an agent: namespace belongs to the agent of that name"),
        (ROBO, "shared:owner", "a shared: namespace is written by members of the group"),
        (orchestrator, "agent:robo", "an agent: namespace belongs to the agent of that name"),
        (orchestrator, "shared:crew", "a shared: namespace is written by members of the group"),
    ]
    for principal, namespace in allowed:
        assert gate.write(f"{principal.name} in {namespace}", namespace=namespace, by=principal).action == "insert"
    count = gate.rows("select count(*) from kos.memories")
    for principal, namespace, rule in refused:
        with pytest.raises(AuthorityError) as caught:
            gate.write("x", namespace=namespace, by=principal)
        assert rule in str(caught.value)
        assert caught.value.fix is not None
    with pytest.raises(AuthorityError, match="agent:robo, shared:crew"):
        gate.write("x", by=ROBO)
    assert gate.rows("select count(*) from kos.memories") == count
    assert gate.rows("select author from kos.memories where heading = 'robo in shared:crew'") == [("robo",)]


@pytest.mark.parametrize(
    "values",
    [
        {"heading": "  "}, {"key": " "}, {"confidence": 1.2}, {"confidence": float("nan")}, {"namespace": "nowhere"},
        {"namespace": "global\n"}, {"memory_type": "working"}, {"event_at": datetime(2026, 3, 4)},  # noqa: DTZ001
    ],
)  # fmt: skip
def test_what_is_no_statement_is_refused(gate: Any, values: dict[str, Any]) -> None:
    """S2, S3, S10: refused in words, before anything is embedded or written."""
    with pytest.raises(InputError):
        gate.write(**{"heading": "Fine", **values})
    assert gate.embedder.calls == 0
    assert gate.rows("select count(*) from kos.memories") == [(0,)]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"content": "a\x00b"}, "NUL"),
        ({"heading": "half \ud800"}, "surrogate"),
        ({"content": " \n "}, "content is empty"),
        ({"heading": ""}, "heading is empty"),
        ({"content": "x" * 5_000_000}, "5,000,000 characters"),
        ({"heading": "bell \x07"}, "control character"),
        ({"memory_type": "working"}, "needs an end"),
        ({"memory_type": "rumour"}, "no memory type"),
        ({"provenance": "hearsay"}, "no provenance"),
        ({"confidence": 1.01}, "from 0 to 1"),
        ({"confidence": float("nan")}, "from 0 to 1"),
        ({"namespace": "agent:../../etc"}, "not a namespace"),
        ({"namespace": "everyone"}, "not a namespace"),
        ({"event_at": datetime(2026, 3, 4, 12)}, "no zone"),  # noqa: DTZ001
        ({"expires_at": datetime(2026, 3, 4, 12)}, "no zone"),  # noqa: DTZ001
        ({"expires_at": _AT - timedelta(seconds=1)}, "over already"),
        ({"event_at": _AT + timedelta(days=2)}, "future"),
        ({"event_at": _AT, "event_zone": "Mars/Olympus"}, "no time zone"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(gate: Any, values: dict[str, Any], told: str) -> None:
    """G1, S3, S4, S10: each has its own error, and neither row nor file nor record comes of it."""
    given: dict[str, Any] = {"heading": "Heading", "content": "Content.", **values}
    with pytest.raises(InputError, match=told):
        gate.write(given.pop("heading"), given.pop("content"), key="k", **given)
    assert gate.rows("select count(*) from kos.memories") == [(0,)]
    assert [path for path in gate.settings.vault.rglob("*") if path.is_file()] == []


def test_what_a_statement_may_not_name_as_superseded(gate: Any) -> None:
    """G4: an id of another namespace, of a retired row, of nothing: refused, and nothing is changed."""
    elsewhere = gate.write("One", namespace="shared:crew")
    old = gate.write("Two")
    gate.write("Two", "Body, mended.", supersedes=old.memory_id)
    strong = gate.write("Three", namespace="agent:robo", confidence=0.99)
    before = gate.rows("select count(*) from kos.memories"), gate.rows("select count(*) from kos.decisions")
    for target, why in ((elsewhere, "no such memory"), (old, "retired"), (None, "no such memory")):
        with pytest.raises(InputError) as caught:
            gate.write("Four", key="k", supersedes=UUID(int=7) if target is None else target.memory_id)
        assert why in str(caught.value.why)
    with pytest.raises(InputError) as caught:
        gate.write("Five", by=ROBO, namespace="agent:robo", supersedes=strong.memory_id)
    assert "weaker" in str(caught.value.why)
    assert (gate.rows("select count(*) from kos.memories"), gate.rows("select count(*) from kos.decisions")) == before


def test_the_database_itself_refuses_scratch_without_an_end(gate: Any) -> None:
    """S3: not even an administrator stores a working memory that never expires."""
    import psycopg

    gate.write("Scratch", memory_type="working", expires_at=_AT + timedelta(days=1))
    with pytest.raises(psycopg.errors.CheckViolation, match="working_memory_expires"):
        gate.rows("update kos.memories set expires_at = null")
