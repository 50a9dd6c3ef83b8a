"""Tasks done by Ollama, through its real client, against a strict loopback double."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

from kos_assets.errors import ItemError, ProviderUnavailableError
from kos_assets.inference.completion import Request, UnusableAnswerError
from kos_assets.inference.providers.ollama_chat import OllamaCompleter

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
REQUEST = Request("summary", "Be brief.", "Murmel runs on Kafka.", SCHEMA, 100)
FIELDS = {"model", "messages", "tools", "stream", "format", "options", "think", "keep_alive"}


def lines(text: str, *, done: bool = True, reason: str = "stop", count: int = 12) -> bytes:
    """A stream as the server sends it: a line a piece of text, and a last one with the counts."""
    usual = {"model": "small", "created_at": "2026-12-01T00:00:00Z"}
    pieces = [text[at : at + 5] for at in range(0, len(text), 5)]
    parts: list[dict[str, Any]] = [
        {**usual, "message": {"role": "assistant", "content": piece}, "done": False} for piece in pieces
    ]
    if done:
        counts = {"total_duration": 5, "load_duration": 1, "prompt_eval_count": 40, "eval_count": count}
        parts.append(
            {**usual, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": reason, **counts}
        )
    return "".join(json.dumps(part) + "\n" for part in parts).encode()


@pytest.fixture
def server(double: Any) -> Any:
    """The double as Ollama: refuses unknown fields, unknown models, a format that is no schema."""

    def usual(method: str, path: str, body: dict[str, Any], _: dict[str, str]) -> Any:
        assert (method, path) == ("POST", "/api/chat")
        assert set(body) <= FIELDS, f"unknown fields {set(body) - FIELDS}"
        assert body["format"]["type"] == "object"
        assert body["stream"] is True
        if body["model"] != "small":
            error = json.dumps({"error": f"model '{body['model']}' not found"}).encode()
            return double.Reply(404, error)
        return double.Reply(body=lines('{"a": 1}'), headers={"Content-Type": "application/x-ndjson"})

    double.usual = usual
    return double


def completer(server: Any, **options: Any) -> OllamaCompleter:
    return OllamaCompleter("small", host=server.url, timeout_s=options.pop("timeout_s", 5), **options)


def test_a_chat_with_the_schema_as_format(server: Any) -> None:
    """E1: the official client's chat, prompt and data apart, the schema as format, counts from the last line."""
    completion = completer(server).complete(REQUEST)
    assert completion.value == {"a": 1}
    assert (completion.tokens_in, completion.tokens_out, completion.model) == (40, 12, "small")
    body = server.requests[0]
    assert body["format"] == SCHEMA
    assert [(one["role"], one["content"]) for one in body["messages"]] == [
        ("system", "Be brief."), ("user", "Murmel runs on Kafka."),
    ]  # fmt: skip
    assert body["options"] == {"temperature": 0, "seed": 0, "num_ctx": 8192, "num_predict": 100}
    assert completer(server).model == "ollama/small"


def test_one_chat_at_a_time(server: Any) -> None:
    """E1: single-flight: eight threads and two completers of one server never have two calls open."""
    for _ in range(8):
        server.replies.append(server.Reply(body=lines('{"a": 1}'), silent_s=0.02))
    both = [completer(server), completer(server)]
    threads = [threading.Thread(target=both[number % 2].complete, args=(REQUEST,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(server.requests) == 8
    assert server.most_at_once == 1


@pytest.mark.parametrize(
    ("status", "headers", "said", "wait"),
    [
        (429, {"Retry-After": "17"}, "too many requests", 17.0),
        (503, {}, "server busy, please try again. maximum pending requests exceeded", None),
        (500, {}, "llama runner process has terminated: signal: killed", None),
        (404, {}, "model 'small' not found", None),
    ],
)
def test_outages(server: Any, status: int, headers: dict[str, str], said: str, wait: float | None) -> None:
    """E5: 429, 5xx and a model that is not there pause the lane; the next call works by itself."""
    server.replies.append(server.Reply(status, json.dumps({"error": said}).encode(), headers))
    with pytest.raises(ProviderUnavailableError) as outage:
        completer(server).complete(REQUEST)
    assert outage.value.retry_after_s == wait
    assert said in str(outage.value)
    assert ("ollama pull small" in str(outage.value)) == (status == 404)
    assert completer(server).complete(REQUEST).value == {"a": 1}


@pytest.mark.parametrize("how", ["no-end", "half-line", "reset", "nothing", "html", "list", "error"])
def test_half_streams_are_outages(server: Any, how: str) -> None:
    """E5: an answer that breaks off, at a line's end or inside it, or turns into an error, blames no item."""
    whole = lines('{"a": 1}')
    reply = {
        "no-end": server.Reply(body=lines('{"a": 1}', done=False)),
        "half-line": server.Reply(body=whole, cut=len(whole) - 30),
        "reset": server.Reply(body=whole, cut=150, reset=True),
        "nothing": server.Reply(body=b""),
        "list": server.Reply(body=b"[1]\n"),
        "html": server.Reply(body=b"<html>hello</html>"),
        "error": server.Reply(body=lines('{"a"', done=False) + b'{"error": "an unknown error was encountered"}\n'),
    }[how]
    server.replies.append(reply)
    with pytest.raises(ProviderUnavailableError):
        completer(server).complete(REQUEST)
    assert len(server.requests) == 1
    assert completer(server).complete(REQUEST).value == {"a": 1}


def test_a_server_that_is_down_is_an_outage(closed_port: int) -> None:
    """E5: connection refused, with what to do."""
    with pytest.raises(ProviderUnavailableError, match="ollama serve"):
        OllamaCompleter("small", host=f"http://127.0.0.1:{closed_port}").complete(REQUEST)


def test_silence_is_an_outage(server: Any) -> None:
    """E5: a server that says nothing within the time limit."""
    server.replies.append(server.Reply(silent_s=10))
    before = time.monotonic()
    with pytest.raises(ProviderUnavailableError, match="does not answer"):
        completer(server, timeout_s=0.2).complete(REQUEST)
    assert time.monotonic() - before < 5


def test_malformed_once_is_asked_again_twice_is_the_items_fault(server: Any) -> None:
    """E5: one retry for an answer that is not JSON; the tokens of both are counted."""
    server.replies.append(server.Reply(body=lines('{"a": 1')))
    completion = completer(server).complete(REQUEST)
    assert (completion.value, completion.tokens_in, completion.tokens_out) == ({"a": 1}, 80, 24)
    server.replies += [server.Reply(body=lines("I cannot")), server.Reply(body=lines("[1, 2]"))]
    with pytest.raises(UnusableAnswerError) as fault:
        completer(server).complete(REQUEST)
    assert fault.value.tokens_in == 80
    assert len(server.requests) == 4


def test_too_long_is_the_items_fault(server: Any) -> None:
    """E5: Ollama would cut a long text without a word: it is refused before, and where the server says so."""
    long = Request("summary", "", "word " * 9000, SCHEMA, 100)
    with pytest.raises(ItemError, match="Raise window_tokens"):
        completer(server).complete(long)
    assert server.requests == []
    server.replies.append(server.Reply(500, b'{"error": "input (9000 tokens) is too large to process"}'))
    with pytest.raises(ItemError, match="longer than the model reads"):
        completer(server).complete(REQUEST)
    server.replies.append(server.Reply(body=lines('{"a": ', reason="length")))
    with pytest.raises(UnusableAnswerError, match="longer than 100 tokens"):
        completer(server).complete(REQUEST)


def test_proxies_of_the_environment_are_not_used(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """E8: notes go to the host that the routing names, not through a proxy."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert completer(server).complete(REQUEST).value == {"a": 1}


def test_lone_surrogates_do_not_break_a_call(server: Any) -> None:
    """E5: what cannot be sent as UTF-8 is replaced, not raised."""
    assert completer(server).complete(Request("summary", "", "a\udc80b", SCHEMA, 100)).value == {"a": 1}
    assert server.requests[0]["messages"][1]["content"] == "a?b"
