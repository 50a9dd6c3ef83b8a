"""Tasks done through `claude -p`, against a program that stands for it."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest

from kos_assets.errors import ItemError, ProviderUnavailableError
from kos_assets.inference.completion import UnusableAnswerError
from kos_assets.inference.providers.claude_cli import ClaudeCli, cleaned
from kos_assets.inference.tasks import BY_NAME, Material

REQUEST = BY_NAME["summary"].request(Material.of_memory("Murmel", "Murmel runs on Kafka. --help"))
VALUE = {"summary": "Murmel runs on Kafka."}
USAGE = {"input_tokens": 3, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 5, "output_tokens": 9}


def result(**more: Any) -> dict[str, Any]:
    """The client's last message."""
    usual = {
        "type": "result", "subtype": "success", "is_error": False, "duration_ms": 5, "num_turns": 2, "result": "",
        "structured_output": VALUE, "session_id": "s", "total_cost_usd": 0.001, "usage": USAGE,
    }  # fmt: skip
    return {**usual, **more}


def said(**more: Any) -> dict[str, Any]:
    return {"out": json.dumps(result(**more))}


def failed(text: str, **more: Any) -> dict[str, Any]:
    return {"out": json.dumps(result(is_error=True, result=text, structured_output=None, **more)), "status": 1}


def client(double: Any, *, timeout_s: float = 20, environment: dict[str, str] | None = None) -> ClaudeCli:
    return ClaudeCli("sonnet", command=double.command, timeout_s=timeout_s, environment=environment or dict(os.environ))


def test_the_client_is_a_pipe(client_double: Any) -> None:
    """E1, E8: data by standard input only, tools, servers, settings and sessions off, an empty folder."""
    client_double.say(said())
    completion = client(client_double).complete(REQUEST)
    assert completion.value == VALUE
    assert (completion.tokens_in, completion.tokens_out, completion.model) == (28, 9, "claude-cli/sonnet")
    call = client_double.calls[0]
    assert call["stdin"] == REQUEST.user
    assert call["cwd"] == []
    argv = call["argv"]
    assert "Kafka" not in " ".join(argv)
    assert argv[:3] == ["--print", "--output-format=json", "--model=sonnet"]
    assert argv[argv.index("--tools") + 1] == ""
    assert argv[argv.index("--system-prompt") + 1] == REQUEST.system
    assert json.loads(argv[argv.index("--json-schema") + 1]) == REQUEST.schema
    for flag in ("--strict-mcp-config", "--setting-sources=", "--disable-slash-commands", "--no-session-persistence"):
        assert flag in argv
    assert "--bare" not in argv


def test_the_environment_is_cleaned(client_double: Any) -> None:
    """E8: what the client does not need stays here: keys that would be billed, another address, a parent's session."""
    secrets = {
        "ANTHROPIC_API_KEY": "x", "ANTHROPIC_BASE_URL": "x", "ANTHROPIC_AUTH_TOKEN": "x", "CLAUDECODE": "1",
        "CLAUDE_CODE_USE_BEDROCK": "1", "KOS_DSN": "x", "AWS_SECRET_ACCESS_KEY": "x", "HTTP_PROXY": "x",
        "NODE_OPTIONS": "--require x", "LD_PRELOAD": "",
    }  # fmt: skip
    kept = {
        "HOME": "/h",
        "PATH": os.environ["PATH"],
        "CLAUDE_CONFIG_DIR": "/c",
        "LC_ALL": "C.UTF-8",
        "https_proxy": "p",
    }
    client_double.say(said())
    client(client_double, environment={**secrets, **kept}).complete(REQUEST)
    seen = client_double.calls[0]["env"]
    assert not set(secrets) & set(seen)
    assert {name: seen[name] for name in kept} == kept
    assert seen["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == "1"
    assert cleaned({}).keys() == cleaned({"SOMETHING_NEW_KEY": "x"}).keys()


@pytest.mark.parametrize(
    "out",
    [
        json.dumps([{"type": "system", "subtype": "init"}, result()]),
        '{"type":"system","subtype":"init"}\n' + json.dumps(result()) + "\n",
        "Warning: an update is available\n" + json.dumps(result()),
        json.dumps(result(structured_output=None, result=json.dumps(VALUE))),
        json.dumps(result(structured_output=None, result=f"```json\n{json.dumps(VALUE)}\n```")),
    ],
)
def test_outputs_of_other_versions(client_double: Any, out: str) -> None:
    """E1: a list of messages, lines, a notice before them, and an answer in `result` are understood."""
    client_double.say({"out": out})
    assert client(client_double).complete(REQUEST).value == VALUE


LIMITS = [
    "Claude AI usage limit reached|{epoch}",
    "You've hit your session limit · resets {clock} (UTC)",
    "Claude usage limit reached. Your limit will reset at {clock} (UTC).",
    "5-hour limit reached ∙ resets {clock} (UTC)",
    "You've hit your limit · resets {day}, {clock} (UTC)",
]


@pytest.mark.parametrize("text", LIMITS)
@pytest.mark.parametrize("where", ["error", "result", "stdout", "stderr"])
def test_quota_texts_pause_until_their_time(client_double: Any, text: str, where: str) -> None:
    """E5: the notice of a limit, wherever a version prints it, is an outage with the time that it names."""
    at = (datetime.now(UTC) + timedelta(hours=3)).replace(second=0, microsecond=0)
    notice = text.format(
        epoch=int(at.timestamp()), clock=at.strftime("%I:%M%p").lower().lstrip("0"), day=at.strftime("%b %d")
    )
    client_double.say(
        {
            "error": failed(notice),
            "result": {"out": json.dumps(result(result=notice, structured_output=None))},
            "stdout": {"out": notice, "status": 1},
            "stderr": {"err": notice, "status": 1},
        }[where]
    )
    with pytest.raises(ProviderUnavailableError) as outage:
        client(client_double).complete(REQUEST)
    assert outage.value.retry_after_s == pytest.approx((at - datetime.now(UTC)).total_seconds(), abs=30)
    assert len(client_double.calls) == 1


@pytest.mark.parametrize(
    "entry",
    [
        failed('API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'),
        failed("API Error: Connection error."),
        failed("something new went wrong"),
        failed("busy", api_error_status=503),
        failed("Invalid API key · Please run /login"),
        failed("", subtype="error_during_execution", errors=["boom"]),
        {"err": "Segmentation fault", "status": 139},
        {"status": 1},
        {"out": json.dumps(result())[:60], "status": 1},
        {"err": "error: unknown option '--json-schema'", "status": 1},
    ],
)
def test_outages_of_the_client(client_double: Any, entry: dict[str, Any]) -> None:
    """E5: what is not known to be the item's fault is an outage, and the next call works by itself."""
    client_double.say(entry, said())
    with pytest.raises(ProviderUnavailableError):
        client(client_double).complete(REQUEST)
    assert len(client_double.calls) == 1
    assert client(client_double).complete(REQUEST).value == VALUE


@pytest.mark.parametrize(
    "entry",
    [
        failed("Prompt is too long"),
        failed("API Error: 400 prompt is too long: 9 tokens > 8 maximum"),
        failed("too large", api_error_status=413),
        failed("", subtype="error_max_structured_output_retries"),
        failed("", subtype="error_max_turns"),
        said(stop_reason="refusal", structured_output=None),
    ],
)
def test_faults_of_the_item(client_double: Any, entry: dict[str, Any]) -> None:
    """E5: a text too long, a refusal, no answer of the shape: one attempt, no pause."""
    client_double.say(entry)
    with pytest.raises(ItemError):
        client(client_double).complete(REQUEST)
    assert len(client_double.calls) == 1


def test_malformed_once_is_asked_again_twice_is_the_items_fault(client_double: Any) -> None:
    """E5: one retry for an answer that is not JSON."""
    prose = said(structured_output=None, result="Here is a summary of Murmel.")
    client_double.say(prose, said())
    completion = client(client_double).complete(REQUEST)
    assert (completion.value, completion.tokens_out) == (VALUE, 18)
    client_double.say(prose)
    with pytest.raises(UnusableAnswerError, match="twice"):
        client(client_double).complete(REQUEST)


def test_the_time_limit_ends_the_client_and_its_children(client_double: Any) -> None:
    """E5: no answer in time is an outage, and nothing of it stays behind."""
    client_double.say({"sleep": 30, "child": True})
    before = time.monotonic()
    with pytest.raises(ProviderUnavailableError, match="No answer within"):
        client(client_double, timeout_s=1.5).complete(REQUEST)
    assert time.monotonic() - before < 12
    for name in ("pid", "child"):
        pid = int((client_double.folder / name).read_text())
        for _ in range(40):
            if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                break
            time.sleep(0.05)
        else:
            pytest.fail(f"{name} still runs")


def test_a_client_that_is_not_there_is_an_outage(tmp_path: Path) -> None:
    """E5: an uninstalled or unstartable client fails no item, and the message says what to do."""
    with pytest.raises(ProviderUnavailableError, match="log in, or correct command"):
        ClaudeCli("sonnet", environment={"PATH": str(tmp_path)}).complete(REQUEST)
    broken = tmp_path / "claude"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    with pytest.raises(ProviderUnavailableError, match="does not start"):
        ClaudeCli("sonnet", environment={"PATH": str(tmp_path)}).complete(REQUEST)


def test_a_client_that_does_not_read_its_input(client_double: Any, tmp_path: Path) -> None:
    """E5: a client that ends before it has read a long text is judged by what it said."""
    program = client_double.folder / "claude"
    program.write_text("#!/bin/sh\necho 'You have hit your limit' >&2\nexec 0<&-\nexit 1\n")
    long = BY_NAME["summary"].request(Material.of_memory("h", "word " * 200_000))
    with pytest.raises(ProviderUnavailableError, match="hit your limit"):
        client(client_double).complete(long)
