"""The service over a real database: what agents get, what they never get, and what happens when parts are away."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from fastapi.testclient import TestClient

from kos_assets import testing
from kos_assets.operations.installation import open_installation
from kos_assets.operations.postgres import EmbeddedPostgres
from kos_assets.recall import Recall
from kos_assets.serving.app import build_app, open_recall
from kos_assets.serving.models import FetchAnswer, SearchAnswer
from kos_assets.settings import Settings
from kos_assets.store.database import Store, role_dsn

MCP_HEADERS = {"Accept": "application/json, text/event-stream"}


def search(client: TestClient, query: str, **options: Any) -> dict[str, Any]:
    """The payload of a search."""
    answer = client.post("/v1/search", json={"query": query, **options})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def call(client: TestClient, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The result of an MCP tool over HTTP."""
    params = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = client.post("/mcp", json=body, headers=MCP_HEADERS)
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["result"])


def ids(payload: dict[str, Any]) -> dict[str, str]:
    """Heading to memory id."""
    return {result["heading"]: result["memory_id"] for result in payload["results"]}


def test_a_question_is_answered_with_index_lines_and_where_they_come_from(client: TestClient) -> None:
    """R1, R2, R9: words and meaning, the fixed line, the note's path; the documented shape holds."""
    payload = search(client, "why did we leave Kafka?", limit=3)
    SearchAnswer.model_validate(payload)
    first = payload["results"][0]
    assert first["index_line"] == (
        f"[{first['memory_id']}] Queue decision — "
        "We leave Kafka and use Postgres queues: one system less to run, and our peak of …"
    )
    assert (first["path"], first["namespace"], first["memory_type"]) == ("decisions/queue.md", "global", "semantic")
    assert payload["mode"] == "hybrid"
    assert payload["notes"] == []


def test_fetch_gives_the_whole_content(client: TestClient) -> None:
    """R2: the index line's id leads to the full text."""
    found = ids(search(client, "deploy checklist"))["Deploy checklist"]
    payload = client.get(f"/v1/memories/{found}").json()
    FetchAnswer.model_validate(payload)
    assert payload["memories"][0]["content"].endswith("Watch the error rate for ten minutes.")


def test_rest_and_mcp_give_the_same_payload(client: TestClient) -> None:
    """X1: one payload, whatever the transport; only the trace differs, for each retrieval has its own."""
    question: dict[str, Any] = {"query": "certificate expired deploy", "limit": 4}
    rest, mcp = search(client, **question), call(client, "search_memories", question)["structuredContent"]
    assert {**rest, "trace_id": 0} == {**mcp, "trace_id": 0}
    wanted = [result["memory_id"] for result in rest["results"]] + [str(uuid4())]
    several = client.get("/v1/memories", params={"id": wanted}).json()
    assert several == call(client, "fetch_memory", {"ids": wanted})["structuredContent"]
    assert several["missing"] == wanted[-1:]


def test_retired_foreign_and_unknown_ids_look_the_same(
    client: TestClient,
    start: Callable[..., TestClient],
    installed: Settings,
    ingest: Callable[[Settings], None],
) -> None:
    """S5, S6: a deleted note, another agent's memory and a made-up id answer alike, over REST and MCP."""
    retired = ids(search(client, "Mara Apollo"))["Mara Lindqvist"]
    other = start(None, read_namespaces=("agent:other",))
    foreign = ids(search(other, "swordfish"))["Foreign memory"]
    assert client.get(f"/v1/memories/{retired}").status_code == 200
    assert other.get(f"/v1/memories/{foreign}").status_code == 200
    assert installed.vault is not None
    (installed.vault / "people" / "mara.md").unlink()
    ingest(installed)
    answers = [client.get(f"/v1/memories/{each}") for each in (retired, foreign, uuid4())]
    assert [answer.status_code for answer in answers] == [404, 404, 404]
    assert answers[0].content == answers[1].content == answers[2].content
    results = [call(client, "fetch_memory", {"ids": [str(each)]}) for each in (retired, foreign, uuid4())]
    assert results[0] == results[1] == results[2]
    assert results[0]["isError"] is True
    assert "Foreign memory" not in ids(search(client, "Kafka password swordfish"))
    assert "Mara Lindqvist" not in ids(search(client, "Mara Apollo"))


def test_filters_and_times_reach_the_query(client: TestClient) -> None:
    """R1, S10: types, folder and dates narrow; a date as an upper bound includes its day; no query needs none."""
    assert set(ids(search(client, "", types=["procedural"]))) == {"Deploy checklist"}
    assert set(ids(search(client, "deploy", home="journal"))) == {"2026-05-04"}
    assert set(ids(search(client, "", since="2026-03-02", until="2026-03-02"))) == {"Queue decision"}
    assert search(client, "", until="2026-03-01")["results"] == []
    assert search(client, "", home="journal")["confidence"] == "filtered"


def test_nothing_to_search_for_is_the_callers_mistake(client: TestClient) -> None:
    """R5: no query and no filter is 422, over REST and MCP in the same words."""
    answer = client.post("/v1/search", json={"query": "  "})
    assert answer.status_code == 422
    assert answer.text == call(client, "search_memories", {"query": "  "})["content"][0]["text"]


def test_stored_text_stays_in_its_frame(client: TestClient) -> None:
    """R6: a note that imitates the frame does not leave it."""
    found = ids(search(client, "Innocent heading"))["Innocent heading"]
    text = call(client, "fetch_memory", {"ids": [found]})["content"][0]["text"]
    ours = [line for line in text.splitlines() if line and not line.startswith("| ")]
    assert [line.split(" ")[0] for line in ours] == ["BACKGROUND", "memory", "END"]
    assert "| | memory 1: trusted" in text.splitlines()


def test_without_an_embedder_words_are_searched_and_it_says_so(start: Callable[..., TestClient]) -> None:
    """X5: degraded, not failed."""
    client = start(None)
    payload = search(client, "Kafka queues")
    assert payload["mode"] == "lexical"
    assert "words only" in payload["notes"][0]
    assert payload["results"][0]["heading"] == "Queue decision"
    ready = client.get("/readyz")
    assert (ready.status_code, ready.json()["mode"]) == (200, "lexical")


def test_ready_with_embedder_and_current_schema_and_not_when_behind(client: TestClient, installed: Settings) -> None:
    """X5: each part says how it is; a schema that is behind is not served as if it were current."""
    deadline = time.monotonic() + 20
    while (body := client.get("/readyz").json())["embedder"]["state"] == "loading" and time.monotonic() < deadline:
        time.sleep(0.02)
    assert body["ready"] is True
    assert body["mode"] == "hybrid"
    with testing.connect(installed) as owner:
        owner.execute("delete from kos.migrations where number = (select max(number) from kos.migrations)")
    behind = client.get("/readyz")
    assert behind.status_code == 503
    assert "kos migrate" in behind.json()["schema"]["reason"]
    assert behind.json()["database"]["ok"] is True


def test_a_read_in_the_same_session_marks_the_retrieval_as_used(
    start: Callable[..., TestClient], installed: Settings
) -> None:
    """R7: the trace is written behind the answer; a fetch in the session joins it."""
    client = start(None)
    payload = search(client, "Kafka queues", session="s1")
    client.get(f"/v1/memories/{payload['results'][0]['memory_id']}", params={"session": "s1"})
    deadline = time.monotonic() + 10
    rows: list[Any] = []
    with testing.connect(installed) as owner:
        while not rows and time.monotonic() < deadline:
            rows = owner.execute(
                "select t.principal, t.session from kos.traces as t join kos.trace_reads as r using (trace_id)"
                " where t.trace_id = %s",
                [payload["trace_id"]],
            ).fetchall()
            time.sleep(0.05)
    assert rows == [("owner", "s1")]


def test_many_callers_at_once_all_get_the_same_answer(client: TestClient) -> None:
    """X1: threads share the store; more callers than connections wait, none fails."""
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: search(client, "Kafka queues"), range(48)))
    assert len({tuple(ids(answer).values()) for answer in answers}) == 1


def test_no_text_and_no_query_is_logged(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    """P7: at the default level, over REST and MCP, found and refused."""
    caplog.set_level(logging.INFO)
    found = search(client, "swordfish Kafka queues")["results"][0]["memory_id"]
    call(client, "fetch_memory", {"ids": [found]})
    call(client, "search_memories", {"query": "swordfish", "types": ["swordfish"]})
    call(client, "search_memories", {"query": "swordfish", "namespaces": ["agent:swordfish"]})
    assert "POST /mcp 200" in caplog.text
    assert not any(word in caplog.text for word in ("swordfish", "Kafka", "queues"))


def test_a_database_restart_is_an_outage_that_ends(installed: Settings, start: Callable[..., TestClient]) -> None:
    """X5: broken connections in the pool are replaced; nobody restarts the service."""
    client = start(None)
    search(client, "Kafka queues")
    with testing.connect(installed) as owner:
        owner.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()"
            " and usename = 'kos_reader'"
        )
    assert search(client, "Kafka queues")["results"]


def test_a_database_that_is_stopped_is_503_and_works_again_when_it_is_back(tmp_path: Path) -> None:
    """X5: over a real stop and start of the server, REST, MCP and /readyz say so and recover by themselves."""
    settings = Settings(data_dir=tmp_path / "data")
    server = EmbeddedPostgres(settings.data_dir / "postgres")
    with open_installation(settings) as opened, Store(role_dsn(opened, "reader"), pool_size=5) as store:
        recall = Recall(store, None)
        with TestClient(build_app(recall, opened), base_url="http://127.0.0.1") as client:
            assert search(client, "anything")["confidence"] == "none"
            server.stop()
            down = client.post("/v1/search", json={"query": "anything"})
            assert (down.status_code, down.json()["code"]) == (503, "store_unavailable")
            assert down.headers["Retry-After"]
            assert client.get("/readyz").status_code == 503
            assert client.get("/healthz").status_code == 200
            assert "store_unavailable" in call(client, "search_memories", {"query": "x"})["content"][0]["text"]
            assert server.acquire().dsn.split("@")[1].split("/")[0] in (opened.dsn or "")
            server.release()
            deadline = time.monotonic() + 20
            while client.post("/v1/search", json={"query": "x"}).status_code != 200 and time.monotonic() < deadline:
                time.sleep(0.2)
            assert client.get("/readyz").status_code == 200
            assert search(client, "anything")["confidence"] == "none"
        recall.close()
    server.stop()


def test_opening_refuses_a_schema_that_is_behind(installed: Settings) -> None:
    """X5: the service checks before it serves."""
    with testing.connect(installed) as owner:
        owner.execute("delete from kos.migrations where number = (select max(number) from kos.migrations)")
    with pytest.raises(Exception, match="behind"), open_recall(replace(installed)):
        pass
