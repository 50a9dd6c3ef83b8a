"""The REST surface around a recall: statuses, problems, limits, guards."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any

import pytest
from fastapi.testclient import TestClient

from kos_assets.errors import SchemaError, StoreUnavailableError
from kos_assets.serving import service
from kos_assets.serving.service import Limits

PROBLEM = {"code", "what", "why", "next"}


def test_search_passes_the_question_on_and_the_payload_back(client: TestClient, recall: Any, samples: Any) -> None:
    """X1: thin; principal and namespaces come from the settings, times from the person's zone."""
    body = {
        "query": "kafka",
        "limit": 3,
        "types": ["semantic"],
        "home": "/decisions/",
        "until": "2026-05-31",
        "session": "s1",
    }
    answer = client.post("/v1/search", json=body)
    assert (answer.status_code, answer.json()) == (200, samples.found())
    query = recall.queries[0]
    assert (query.text, query.limit, query.types, query.home) == ("kafka", 3, ("semantic",), "decisions")
    assert (query.namespaces, query.principal, query.session) == (("global", "shared:owner"), "owner", "s1")
    assert query.until.isoformat() == "2026-05-31T21:59:59.999999+00:00"
    assert query.since is None


def test_namespaces_narrow_and_never_widen(client: TestClient, recall: Any) -> None:
    """V9: a caller may ask for fewer namespaces than the service reads, not for others."""
    assert client.post("/v1/search", json={"query": "x", "namespaces": ["global"]}).status_code == 200
    assert recall.queries[0].namespaces == ("global",)
    refused = client.post("/v1/search", json={"query": "x", "namespaces": ["global", "agent:other"]})
    assert refused.status_code == 403
    assert refused.json()["code"] == "forbidden"
    assert len(recall.queries) == 1


def test_fetch_one_and_several(client: TestClient, recall: Any, samples: Any) -> None:
    """R2: full content by id, in order, missing ids named; asked twice is read once."""
    one = client.get(f"/v1/memories/{samples.known}", params={"session": "s1"})
    assert one.json() == {"memories": [samples.memory()], "missing": []}
    assert recall.reads[0]["session"] == "s1"
    several = client.get("/v1/memories", params={"id": [str(samples.unknown), str(samples.known), str(samples.known)]})
    assert several.json() == {"memories": [samples.memory()], "missing": [str(samples.unknown)]}
    assert recall.reads[1]["ids"] == (samples.unknown, samples.known)


def test_nothing_found_is_404_with_what_why_and_next(client: TestClient, samples: Any) -> None:
    """S5: an id that cannot be read is an id that does not exist."""
    one = client.get(f"/v1/memories/{samples.unknown}")
    several = client.get("/v1/memories", params={"id": [str(samples.unknown)]})
    assert (one.status_code, several.status_code) == (404, 404)
    assert one.json() == several.json()
    assert one.json()["code"] == "not_found"
    assert all(one.json()[key] for key in PROBLEM)


@pytest.mark.parametrize(
    ("method", "path", "content", "status", "code"),
    [
        ("POST", "/v1/search", b"{nope", 422, "invalid_input"),
        ("POST", "/v1/search", b'{"query": "\xff"}', 422, "invalid_input"),
        ("POST", "/v1/search", b"[1]", 422, "invalid_input"),
        ("POST", "/v1/search", b'{"query": "\\ud800"}', 422, "invalid_input"),
        ("POST", "/v1/search", b'{"limit": 1000}', 422, "invalid_input"),
        ("POST", "/v1/search", b'{"query": "' + b"x" * 5000 + b'"}', 422, "invalid_input"),
        ("POST", "/v1/search", b"x" * 2_000_000, 413, "too_large"),
        ("POST", "/mcp", b"x" * 2_000_000, 413, "too_large"),
        ("GET", "/v1/memories/nope", None, 422, "invalid_input"),
        ("GET", "/v1/memories", None, 422, "invalid_input"),
        (
            "GET",
            "/v1/memories?" + "&".join("id=00000000-0000-4000-8000-000000000000" for _ in range(101)),
            None,
            422,
            "invalid_input",
        ),
        ("GET", "/v1/search", None, 405, "method_not_allowed"),
        ("GET", "/mcp", None, 405, "method_not_allowed"),
        ("GET", "/elsewhere", None, 404, "not_found"),
    ],
)
def test_wrong_requests_get_a_problem(
    client: TestClient, *, method: str, path: str, content: bytes | None, status: int, code: str
) -> None:
    """X1: each refusal is JSON with code, what, why and next."""
    answer = client.request(method, path, content=content, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert set(answer.json()) == PROBLEM


def test_a_streamed_body_is_limited_too(client: TestClient) -> None:
    """X4: the size counts, not the declared size."""
    answer = client.post("/v1/search", content=(b"x" * 10_000 for _ in range(200)))
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Host": "localhost@evil.example"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "localhost:9"}, 200),
        ({"Host": "[::1]:8321"}, 200),
        ({"Host": "LOCALHOST", "Origin": "http://localhost:3321"}, 200),
    ],
)
@pytest.mark.parametrize("path", ["/v1/search", "/mcp", "/healthz"])
def test_only_loopback_hosts_and_pages_are_served(
    client: TestClient, path: str, headers: dict[str, str], status: int
) -> None:
    """X3: DNS rebinding reaches neither REST nor MCP nor health."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    body = call if path == "/mcp" else {"query": "x"}
    given = {"Accept": "application/json, text/event-stream", **headers}
    answer = client.get(path, headers=given) if path == "/healthz" else client.post(path, json=body, headers=given)
    assert answer.status_code == status


@pytest.mark.parametrize("failure", [StoreUnavailableError("The database does not answer."), SchemaError("Behind.")])
def test_an_outage_is_503_and_says_when_to_retry(
    client: TestClient, recall: Any, failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X5: an outage is told apart from an empty answer, and ends by itself."""
    monkeypatch.setattr(service, "check_current", lambda dsn: None)
    recall.failure = failure
    down = client.post("/v1/search", json={"query": "x"})
    assert down.status_code == 503
    assert int(down.headers["Retry-After"]) >= 1
    recall.failure = None
    assert client.post("/v1/search", json={"query": "x"}).status_code == 200


def test_during_an_outage_the_database_is_asked_first(client: TestClient, recall: Any) -> None:
    """X5: the first call waits for the pool, the next ones fail at once; nothing is asked of recall meanwhile."""
    recall.failure = StoreUnavailableError("The database does not answer.")
    client.post("/v1/search", json={"query": "x"})
    recall.failure = None
    again = client.post("/v1/search", json={"query": "x"})
    assert (again.status_code, again.json()["code"]) == (503, "store_unavailable")
    assert "refused" in again.json()["why"]
    assert len(recall.queries) == 1


def test_a_defect_is_500_and_its_message_is_in_neither_answer_nor_log(
    client: TestClient, recall: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """P7: an exception may quote stored text; the log has its place, not its words."""
    recall.failure = KeyError("a secret sentence of a note")
    answer = client.post("/v1/search", json={"query": "x"})
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert "builtins.KeyError" in answer.json()["why"]
    assert "conftest.py" in caplog.text
    assert "secret" not in answer.text + caplog.text


def test_the_log_has_a_line_per_request_without_queries_or_texts(
    client: TestClient, caplog: pytest.LogCaptureFixture, samples: Any
) -> None:
    """P7: method, path, status, milliseconds."""
    caplog.set_level(logging.WARNING, logger="httpx2")  # the client's own log, which names the whole URL
    caplog.set_level(logging.INFO)
    client.post("/v1/search", json={"query": "my private question"})
    client.get(f"/v1/memories/{samples.known}?session=private")
    lines = [record.getMessage() for record in caplog.records if record.name == "kos.serving"]
    assert [line.rsplit(" ", 2)[0] for line in lines] == [
        "POST /v1/search 200",
        f"GET /v1/memories/{samples.known} 200",
    ]
    assert "private" not in caplog.text
    assert "Kafka" not in caplog.text


def test_a_slow_call_times_out_and_the_next_one_works(started: Callable[..., TestClient], recall: Any) -> None:
    """X5: a call has a time limit; what waits in a thread does not hold the caller."""
    client = started(limits=Limits(workers=2, timeout_s=0.2))
    recall.gate = threading.Event()
    answer = client.post("/v1/search", json={"query": "x"})
    assert (answer.status_code, answer.json()["code"]) == (504, "timeout")
    recall.gate.set()
    assert client.post("/v1/search", json={"query": "x"}).status_code == 200


def test_concurrency_is_bounded_and_the_rest_is_told_to_come_back(
    started: Callable[..., TestClient], recall: Any
) -> None:
    """X4: at most `workers` run and `waiting` wait; one more is `busy`; afterwards there is room again."""
    client = started(limits=Limits(workers=1, waiting=1, timeout_s=30))
    recall.gate = threading.Event()
    with ThreadPoolExecutor(3) as pool:
        running = pool.submit(client.post, "/v1/search", json={"query": "x"})
        while not recall.queries and not running.done():
            time.sleep(0.002)
        later = [pool.submit(client.post, "/v1/search", json={"query": "x"}) for _ in range(2)]
        refused, waiting = wait(later, return_when=FIRST_COMPLETED)
        answer = refused.pop().result()
        assert (answer.status_code, answer.json()["code"]) == (503, "busy")
        assert len(recall.queries) == 1
        recall.gate.set()
        assert [each.result().status_code for each in (running, *waiting)] == [200, 200]
    assert client.post("/v1/search", json={"query": "x"}).status_code == 200


def test_health_lives_without_a_database_and_readiness_says_why_not(client: TestClient) -> None:
    """X5: alive is not ready; each check has its reason."""
    assert client.get("/healthz").json()["status"] == "alive"
    ready = client.get("/readyz")
    body: dict[str, Any] = ready.json()
    assert (ready.status_code, body["ready"], body["mode"]) == (503, False, "lexical")
    assert body["database"]["ok"] is False
    assert "refused" in body["database"]["reason"]
    assert body["embedder"] == {"ok": False, "state": "off", "reason": "No embedder is configured."}


def test_the_page_says_where_things_are_and_loads_nothing(client: TestClient) -> None:
    """X1: text for curl, HTML for a browser."""
    text = client.get("/").text
    page = client.get("/", headers={"Accept": "text/html"})
    assert page.headers["content-type"].startswith("text/html")
    assert "http" not in page.text.replace("streamable HTTP", "")
    for place in ("/v1/search", "/v1/memories", "/mcp", "/readyz", "/healthz", "/openapi.json"):
        assert place in text
        assert place in page.text


def test_openapi_documents_every_route_its_failures_and_an_example(client: TestClient) -> None:
    """X1: descriptions and problems for each route; no page that loads from elsewhere."""
    api = client.get("/openapi.json").json()
    memory = "/v1/memories/{memory_id}"
    assert set(api["paths"]) == {
        "/v1/search", "/v1/memories", memory, f"{memory}/history", f"{memory}/restore", f"{memory}/verify",
        f"{memory}/boost", f"{memory}/forget", "/v1/review", "/v1/review/resolve", "/healthz", "/readyz",
    }  # fmt: skip
    assert "kos forget --erase" in api["info"]["description"]
    for path, methods in api["paths"].items():
        for operation in methods.values():
            assert operation["summary"]
            assert operation["description"]
            if path.startswith("/v1"):
                for status in ("422", "503", "504"):
                    schema = operation["responses"][status]["content"]["application/json"]["schema"]
                    assert schema == {"$ref": "#/components/schemas/Problem"}
    assert api["components"]["schemas"]["SearchRequest"]["examples"]
    assert client.get("/docs").status_code == 404
