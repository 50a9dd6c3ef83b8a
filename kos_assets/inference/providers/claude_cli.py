"""Tasks done through `claude -p`, the command-line client of Claude Code, under the person's own login.

Here: its flags, its environment, a time limit, and reading what it prints (E5). Not here: prompts, lanes, logging in.

The client is an agent; here it is a pipe. It gets no tools, no MCP servers, no settings files (so no hooks: a hook that
mirrors sessions would feed the vault with its own enrichment, W8), keeps no session, and starts in an empty folder (so
it reads no CLAUDE.md). `--bare` would say most of that at once, but it ignores the person's login. Data goes in by
standard input: arguments can be read by every user of the machine.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, NoReturn

from kos_assets.inference import outages
from kos_assets.inference.completion import Answer, Completion, Request, UnusableAnswerError, answered, json_object
from kos_assets.inference.routing import Route

DEFAULT_COMMAND: Final = "claude"
DEFAULT_TIMEOUT_S: Final = 180.0
_END_S: Final = 5.0
_WHO: Final = "Claude Code"
_LOG_IN: Final = "Run claude once in a terminal and log in, or correct command in inference.toml."

# What the client needs to start, to find its login, and to reach its server. Everything else stays here: a key in
# ANTHROPIC_API_KEY would be billed instead of the person's plan, ANTHROPIC_BASE_URL would send notes elsewhere.
_KEPT: Final = frozenset({
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP",
    "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "DBUS_SESSION_BUS_ADDRESS", "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC",
    "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "WINDIR",
})  # fmt: skip
_KEPT_PREFIXES: Final = ("LC_", "XDG_")
_ADDED: Final[Mapping[str, str]] = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",  # updates, telemetry, error reports
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "NO_COLOR": "1",
}
# A run that ended so did not fail: it found no answer of the wanted shape.
_NO_ANSWER: Final = frozenset({"error_max_turns", "error_max_structured_output_retries", "error_max_budget_usd"})


class ClaudeCli:
    """One model of the person's plan. Safe from several threads; each call is a process of its own."""

    lane = "claude-cli"

    def __init__(
        self,
        model: str,
        *,
        command: str = DEFAULT_COMMAND,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        environment: Mapping[str, str],
    ) -> None:
        """`environment` is the caller's own; only what the client needs of it is passed on."""
        self._name = model
        self._command = command
        self._timeout_s = timeout_s
        self._environment = cleaned(environment)

    @classmethod
    def from_route(cls, route: Route, environment: Mapping[str, str]) -> ClaudeCli:
        """The completer that a checked route describes."""
        return cls(
            route.option("model"),
            command=route.option("command") or DEFAULT_COMMAND,
            timeout_s=route.option("timeout_s") or DEFAULT_TIMEOUT_S,
            environment=environment,
        )

    @property
    def model(self) -> str:
        """`claude-cli/<name>`."""
        return f"claude-cli/{self._name}"

    def complete(self, request: Request) -> Completion:
        """E5: see `Completer`."""
        return answered(lambda: self._ask(request), request.task)

    def _arguments(self, program: str, request: Request) -> list[str]:
        return [
            program,
            "--print",
            "--output-format=json",
            f"--model={self._name}",
            "--system-prompt",
            request.system,
            "--json-schema",
            json.dumps(request.schema),
            "--tools",
            "",
            "--strict-mcp-config",
            "--setting-sources=",
            "--disable-slash-commands",
            "--no-session-persistence",
        ]

    def _ask(self, request: Request) -> Answer:
        program = shutil.which(self._command, path=self._environment.get("PATH"))
        if program is None:
            self._raise(outages.Outage(f"There is no program {self._command!r} in PATH."))
        status, out, err = self._run(self._arguments(program, request), request.user)
        said = _result_of(out)
        if said is None:
            text = f"{out}\n{err}".strip()
            known = outages.from_text(text, _now())
            if known is not None or status != 0:
                self._raise(known or outages.Outage(f"It ended with status {status}: {outages.short(text)}"))
            return Answer(out, 0, 0, self.model)
        return self._answer(said, status)

    def _run(self, arguments: list[str], data: str) -> tuple[int, str, str]:
        """Exit status, standard output and error of one run. It and its children end with the time limit."""
        with tempfile.TemporaryDirectory(prefix="kos-claude-", ignore_cleanup_errors=True) as empty:
            try:
                process = subprocess.Popen(  # noqa: S603 - the person's own program, arguments as a list, no shell
                    arguments,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=empty,
                    env=self._environment,
                    start_new_session=True,
                )
            except OSError as error:
                self._raise(outages.Outage(f"It does not start: {error}"), error)
            with process:
                try:
                    out, err = process.communicate(data.encode("utf-8", "replace"), timeout=self._timeout_s)
                except subprocess.TimeoutExpired as error:
                    _end(process)
                    self._raise(outages.Outage(f"No answer within {self._timeout_s:g} s."), error)
                except BaseException:
                    _end(process)
                    raise
            return process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")

    def _answer(self, said: Mapping[str, Any], status: int) -> Answer:
        usage = said.get("usage") or {}
        parts_in = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        tokens_in = sum(int(usage.get(part) or 0) for part in parts_in)
        tokens_out = int(usage.get("output_tokens") or 0)
        text = str(said.get("result") or "")
        subtype = str(said.get("subtype") or "success")
        if said.get("stop_reason") == "refusal" or subtype in _NO_ANSWER:
            why = "The model refused." if subtype not in _NO_ANSWER else f"No answer of the wanted shape ({subtype})."
            raise UnusableAnswerError(
                f"{self._name} gave no answer.", why=why, tokens_in=tokens_in, tokens_out=tokens_out
            )
        if said.get("is_error") or subtype != "success" or status != 0:
            errors = said.get("errors") or []
            self._raise(_fault(said, text or "; ".join(str(error) for error in errors) or subtype))
        value = said.get("structured_output")
        if not isinstance(value, dict) and json_object(text) is None:
            # Some versions print the notice of a limit as if it were the model's answer.
            fault = outages.from_text(text[:500], _now())
            if isinstance(fault, outages.Outage):
                self._raise(fault)
        return Answer(text, tokens_in, tokens_out, self.model, value if isinstance(value, dict) else None)

    def _raise(self, fault: outages.Fault, cause: BaseException | None = None) -> NoReturn:
        raise outages.as_error(
            fault, _WHO, fix=_LOG_IN if "PATH" in fault.reason or "login" in fault.reason else None
        ) from cause


def cleaned(environment: Mapping[str, str]) -> dict[str, str]:
    """What the client is given of an environment: by a list of names, so that a new secret is left out by itself."""
    kept = {
        name: value for name, value in environment.items() if name.upper() in _KEPT or name.startswith(_KEPT_PREFIXES)
    }
    return {**kept, **_ADDED}


def _fault(said: Mapping[str, Any], text: str) -> outages.Fault:
    status = said.get("api_error_status")
    if isinstance(status, int) and status >= 400:
        return outages.from_status(status, text, {}, _now())
    return outages.from_text(text, _now()) or outages.Outage(outages.short(text))


def _result_of(out: str) -> Mapping[str, Any] | None:
    """The `result` object of the client's output: alone, last in a list of messages, or last of the lines."""
    for candidate in (out, *reversed(out.strip().splitlines()[-5:])):
        try:
            parsed = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        for message in reversed(parsed if isinstance(parsed, list) else [parsed]):
            if isinstance(message, dict) and message.get("type") == "result":
                return message
    return None


def _now() -> datetime:
    """Now, in the machine's zone: the client names times without a zone in it."""
    return datetime.now(UTC).astimezone()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and its children; the group has no other member."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGTERM)
        else:
            process.terminate()
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        pass
    except ProcessLookupError:
        return
    if hasattr(os, "killpg"):
        try:
            os.killpg(process.pid, signal.SIGKILL)  # also a child that outlived the client
        except ProcessLookupError:
            return
    else:
        process.kill()
