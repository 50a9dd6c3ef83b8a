"""Tasks done over Anthropic's API, through its real SDK, against a strict loopback double."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from kos_assets.errors import ConfigError, ItemError, NotFoundError, ProviderUnavailableError
from kos_assets.inference.completion import Completion, Request, UnusableAnswerError
from kos_assets.inference.outages import ItemFault, Outage
from kos_assets.inference.providers.anthropic import AnthropicCompleter
from kos_assets.inference.routing import Route
from kos_assets.inference.tasks import BY_NAME, Material

KEY = "test-key"
FIELDS = {"model", "max_tokens", "system", "messages", "output_config"}
REFUSED_KEYWORDS = {"minimum", "maximum", "minLength", "maxLength", "maxItems", "multipleOf"}
SUMMARY = BY_NAME["summary"].request(Material.of_memory("Murmel", "Murmel runs on Kafka."))
VALUE = {"summary": "Murmel runs on Kafka."}


def message(text: str, *, stop: str = "end_turn", **more: Any) -> dict[str, Any]:
    """A message as the API answers it."""
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-4-5-20251001",
        "content": [{"type": "text", "text": text}], "stop_reason": stop, "stop_sequence": None,
        "usage": {
            "input_tokens": 30, "cache_creation_input_tokens": 500, "cache_read_input_tokens": 7, "output_tokens": 11,
        },
        **more,
    }  # fmt: skip


def wrong(body: dict[str, Any]) -> str | None:
    """What the API of 2026-10-21 refuses in a message's parameters."""
    for name in ("temperature", "top_p", "top_k"):
        if name in body:
            return f"{name}: Extra inputs are not permitted"
    if set(body) != FIELDS:
        return f"unknown or missing fields: {set(body) ^ FIELDS}"
    if set(body["output_config"]) != {"format"} or body["output_config"]["format"]["type"] != "json_schema":
        return "output_config.format: wrong"
    schema = body["output_config"]["format"]["schema"]
    if schema.get("additionalProperties") is not False or REFUSED_KEYWORDS & set(
        json.dumps(schema).replace('"', " ").split()
    ):
        return "output_config.format.schema: unsupported keyword"
    if not body["messages"] or body["messages"][-1]["role"] != "user" or not body["messages"][-1]["content"]:
        return "messages.0.content: text content blocks must be non-empty"
    return None


@pytest.fixture
def server(double: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The double as the API. The SDK finds no account of the machine's owner: it must use what it is given."""
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path / "none"))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "somebody-else")

    def usual(method: str, path: str, body: dict[str, Any], headers: dict[str, str]) -> Any:
        if headers.get("authorization") != f"Bearer {KEY}":
            return double.refusal(401, "invalid bearer token", "authentication_error")
        if headers.get("anthropic-version") != "2026-10-21":
            return double.refusal(400, "anthropic-version: unknown", "invalid_request_error")
        if (method, path) == ("POST", "/v1/messages"):
            said = wrong(body)
            if said:
                return double.refusal(400, said, "invalid_request_error")
            return double.Reply(body=json.dumps(message(json.dumps(VALUE))).encode())
        return batch(double, method, path, body)

    double.usual = usual
    return double


def batch(double: Any, method: str, path: str, body: dict[str, Any]) -> Any:
    if (method, path) == ("POST", "/v1/messages/batches"):
        for one in body["requests"]:
            assert wrong(one["params"]) is None, wrong(one["params"])
        double.batches["msgbatch_1"] = {one["custom_id"]: None for one in body["requests"]}
        return double.Reply(body=json.dumps(state("in_progress")).encode())
    if path.startswith("/v1/messages/batches/msgbatch_1"):
        results = double.batches["msgbatch_1"]
        if path.endswith("/results"):
            lines = [json.dumps({"custom_id": key, "result": result}) for key, result in results.items()]
            return double.Reply(body="\n".join(lines).encode(), headers={"Content-Type": "application/binary"})
        ended = all(results.values())
        found = state("ended" if ended else "in_progress")
        if ended:
            found["results_url"] = f"{double.url}/v1/messages/batches/msgbatch_1/results"
        return double.Reply(body=json.dumps(found).encode())
    return double.refusal(404, "Not found", "not_found_error")


def state(status: str) -> dict[str, Any]:
    counts = {"processing": 1, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
    return {
        "id": "msgbatch_1", "type": "message_batch", "processing_status": status, "request_counts": counts,
        "created_at": "2026-12-01T00:00:00Z", "expires_at": "2026-12-02T00:00:00Z", "ended_at": None,
        "archived_at": None, "cancel_initiated_at": None, "results_url": None,
    }  # fmt: skip


def completer(server: Any, *, api_key: str = KEY, timeout_s: float = 5) -> AnthropicCompleter:
    return AnthropicCompleter("claude-haiku-4-5", api_key=api_key, base_url=server.url, timeout_s=timeout_s)


def test_a_structured_answer(server: Any) -> None:
    """E1, E7: structured output by schema, the prompt marked for the cache, no temperature, all tokens counted."""
    completion = completer(server).complete(SUMMARY)
    assert completion == Completion(VALUE, 537, 11, "claude-haiku-4-5-20251001")
    body = server.requests[0]
    assert body["system"] == [{"type": "text", "text": SUMMARY.system, "cache_control": {"type": "ephemeral"}}]
    assert body["messages"] == [{"role": "user", "content": SUMMARY.user}]
    assert server.refused == []
    assert completer(server).model == "anthropic/claude-haiku-4-5"


@pytest.mark.parametrize("task", sorted(BY_NAME))
def test_every_tasks_schema_is_one_that_the_api_takes(server: Any, task: str) -> None:
    """E7: no task's schema has a keyword that the API refuses."""
    completer(server).complete(BY_NAME[task].request(Material.of_memory("Murmel", "Murmel runs on Kafka.")))
    assert server.refused == []


@pytest.mark.parametrize(
    ("status", "kind", "headers", "wait"),
    [
        (429, "rate_limit_error", {"retry_after": "17"}, 17.0),
        (529, "overloaded_error", {}, None),
        (529, "overloaded_error", {"retry_after": "3"}, 3.0),
        (500, "api_error", {}, None),
        (504, "timeout_error", {}, None),
        (402, "billing_error", {}, None),
        (403, "permission_error", {}, None),
        (404, "not_found_error", {}, None),
    ],
)
def test_outages(server: Any, status: int, kind: str, headers: dict[str, str], wait: float | None) -> None:
    """E5: the lane pauses until the stated time; the SDK itself waits for nothing and asks once."""
    server.replies.append(server.refusal(status, "not now", kind, **headers))
    before = time.monotonic()
    with pytest.raises(ProviderUnavailableError, match="not now") as outage:
        completer(server).complete(SUMMARY)
    assert outage.value.retry_after_s == wait
    assert time.monotonic() - before < 3
    assert len(server.requests) == 1
    assert completer(server).complete(SUMMARY).value == VALUE


def test_a_wrong_key_is_an_outage_that_names_the_setting(server: Any) -> None:
    """E5: a key that was revoked fails no item; the key itself is in no message."""
    with pytest.raises(ProviderUnavailableError, match="KOS_ANTHROPIC_API_KEY") as outage:
        completer(server, api_key="wrong-secret").complete(SUMMARY)
    assert "wrong-secret" not in str(outage.value)


@pytest.mark.parametrize("how", ["half", "reset", "html", "not-json", "list", "another-shape", "odd-blocks"])
def test_half_answers_are_outages(server: Any, how: str) -> None:
    """E5: a body that breaks off, or is not the API's, blames no item."""
    whole = json.dumps(message(json.dumps(VALUE))).encode()
    reply = {
        "half": server.Reply(body=whole, cut=len(whole) // 2),
        "reset": server.Reply(body=whole, cut=20, reset=True),
        "html": server.Reply(body=b"<html>Sign in to the Wi-Fi</html>", headers={"Content-Type": "text/html"}),
        "not-json": server.Reply(body=whole[:40]),
        "list": server.Reply(body=b"[1]"),
        "odd-blocks": server.Reply(body=b'{"type": "message", "content": [{"kind": 1}, null], "model": null}'),
        "another-shape": server.Reply(body=b'{"ok": true}'),
    }[how]
    server.replies.append(reply)
    with pytest.raises(ProviderUnavailableError):
        completer(server).complete(SUMMARY)
    assert completer(server).complete(SUMMARY).value == VALUE


def test_down_and_silent_servers_are_outages(server: Any, closed_port: int) -> None:
    """E5: connection refused and a time-out."""
    down = AnthropicCompleter("m", api_key=KEY, base_url=f"http://127.0.0.1:{closed_port}")
    with pytest.raises(ProviderUnavailableError, match="does not answer"):
        down.complete(SUMMARY)
    server.replies.append(server.Reply(silent_s=10))
    with pytest.raises(ProviderUnavailableError, match=r"Time"):
        completer(server, timeout_s=0.2).complete(SUMMARY)


@pytest.mark.parametrize(
    ("stop", "said"),
    [
        ("refusal", "refused"),
        ("max_tokens", "longer than max_tokens"),
        ("model_context_window_exceeded", "longer than the model reads"),
    ],
)
def test_answers_that_are_none_are_the_items_fault(server: Any, stop: str, said: str) -> None:
    """E5: a refusal and an answer or text that is too long count as an attempt, and their tokens are known (E6)."""
    server.replies.append(server.Reply(body=json.dumps(message("", stop=stop)).encode()))
    with pytest.raises(UnusableAnswerError, match=said) as fault:
        completer(server).complete(SUMMARY)
    assert (fault.value.tokens_in, fault.value.tokens_out) == (537, 11)


def test_a_request_that_the_api_refuses(server: Any) -> None:
    """E5: a prompt too long is the item's fault; a parameter that the API no longer takes is not."""
    too_long = "prompt is too long: 250000 tokens > 200000 maximum"
    server.replies.append(server.refusal(400, too_long, "invalid_request_error"))
    with pytest.raises(ItemError, match="longer than the model reads"):
        completer(server).complete(SUMMARY)
    server.replies.append(server.refusal(400, "output_config: gone", "invalid_request_error"))
    with pytest.raises(ProviderUnavailableError, match="output_config: gone"):
        completer(server).complete(SUMMARY)


def test_malformed_once_is_asked_again_twice_is_the_items_fault(server: Any) -> None:
    """E5: one retry for an answer that is not JSON."""
    broken = server.Reply(body=json.dumps(message('{"summary": ')).encode())
    server.replies.append(broken)
    completion = completer(server).complete(SUMMARY)
    assert (completion.value, completion.tokens_out) == (VALUE, 22)
    silent = message("")
    silent["content"] = []  # the model ended without a word
    server.replies += [broken, server.Reply(body=json.dumps(silent).encode())]
    with pytest.raises(UnusableAnswerError, match="twice"):
        completer(server).complete(SUMMARY)


def test_thinking_is_no_part_of_the_answer(server: Any) -> None:
    """E7: only text blocks are the answer."""
    found = message(json.dumps(VALUE))
    found["content"].insert(0, {"type": "thinking", "thinking": "{", "signature": "x"})
    server.replies.append(server.Reply(body=json.dumps(found).encode()))
    assert completer(server).complete(SUMMARY).value == VALUE


def test_no_key_no_completer() -> None:
    """E2: without a key nothing is sent anywhere, whatever the environment holds."""
    with pytest.raises(ConfigError, match="KOS_ANTHROPIC_API_KEY"):
        AnthropicCompleter.from_route(Route("summary", "anthropic", (("model", "m"),)), None)


def test_a_batch_is_handed_in_and_fetched(server: Any) -> None:
    """E1, E5: a backlog as one batch: each item's result by its id, each failure with its verdict."""
    model = completer(server)
    ids = ["good", "broken", "refused", "long", "down", "expired", "canceled", "unknown"]
    batch_id = model.submit(dict.fromkeys(ids, SUMMARY))
    assert model.poll(batch_id) is None
    inner = {
        "long": {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"},
        "down": {"type": "overloaded_error", "message": "Overloaded"},
        "unknown": {"type": "brand_new_error", "message": "?"},
    }
    server.batches[batch_id] = {
        "good": {"type": "succeeded", "message": message(json.dumps(VALUE))},
        "broken": {"type": "succeeded", "message": message("{")},
        "refused": {"type": "succeeded", "message": message("", stop="refusal")},
        "expired": {"type": "expired"},
        "canceled": {"type": "canceled"},
        **{key: {"type": "errored", "error": {"type": "error", "error": error}} for key, error in inner.items()},
    }
    results = model.poll(batch_id)
    assert results is not None
    assert set(results) == set(ids)
    assert results["good"] == Completion(VALUE, 537, 11, "claude-haiku-4-5-20251001")
    outages = {key for key, result in results.items() if isinstance(result, Outage)}
    faults = {key for key, result in results.items() if isinstance(result, ItemFault)}
    assert outages == {"down", "expired", "canceled", "unknown"}
    assert faults == {"broken", "refused", "long"}


def test_batches_meet_outages_too(server: Any) -> None:
    """E5: handing in and fetching pause the lane like a call; a batch that is gone is said."""
    model = completer(server)
    server.replies.append(server.refusal(529, "Overloaded", "overloaded_error"))
    with pytest.raises(ProviderUnavailableError):
        model.submit({"a": SUMMARY})
    batch_id = model.submit({"a": SUMMARY})
    server.batches[batch_id] = {"a": {"type": "succeeded", "message": message(json.dumps(VALUE))}}
    server.replies += [server.refusal(429, "slow", "rate_limit_error", retry_after="2")]
    with pytest.raises(ProviderUnavailableError) as outage:
        model.poll(batch_id)
    assert outage.value.retry_after_s == 2.0
    with pytest.raises(NotFoundError, match="no longer knows batch msgbatch_9"):
        model.poll("msgbatch_9")
    assert model.poll(batch_id) is not None


def test_half_a_file_of_results_is_an_outage(server: Any) -> None:
    """E5: results that break off are fetched again as a whole; none counts twice."""
    model = completer(server)
    batch_id = model.submit({"a": SUMMARY, "b": SUMMARY})
    done = {"type": "succeeded", "message": message(json.dumps(VALUE))}
    server.batches[batch_id] = {"a": done, "b": done}
    usual = server.usual

    def cut_once(method: str, path: str, body: dict[str, Any], headers: dict[str, str]) -> Any:
        reply = usual(method, path, body, headers)
        if path.endswith("/results"):
            server.usual = usual
            reply.cut = len(reply.body) // 2 + 40
        return reply

    server.usual = cut_once
    with pytest.raises(ProviderUnavailableError):
        model.poll(batch_id)
    results = model.poll(batch_id)
    assert results is not None
    assert set(results) == {"a", "b"}


def test_a_proxy_reads_nothing_that_goes_in_the_clear(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """E8: a gateway on this machine is asked directly."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert completer(server).complete(Request("summary", "s", "a\udc80", SUMMARY.schema, 50)).value == VALUE
