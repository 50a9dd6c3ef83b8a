"""Tasks done by a model of an Ollama server, through its official client: chat, with the schema as the answer's format.

Here: one call at a time, the stream put together, and the mapping of the server's failures (E5). Not here: embeddings
(`ollama`), prompts, lanes.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NoReturn

from kos_assets.errors import ItemError
from kos_assets.inference import outages
from kos_assets.inference.completion import Answer, Completion, Request, UnusableAnswerError, answered
from kos_assets.inference.providers.ollama import DEFAULT_HOST, estimated_tokens
from kos_assets.inference.routing import Route

if TYPE_CHECKING:
    import ollama

DEFAULT_TIMEOUT_S: Final = 300.0
DEFAULT_WINDOW_TOKENS: Final = 8192
_MID_STREAM: Final = 0

_flights: dict[str, threading.Lock] = {}
_flights_lock = threading.Lock()


def _flight(host: str) -> threading.Lock:
    """One lock a server: a second chat beside the first makes both slower, or makes the server load a model twice."""
    with _flights_lock:
        return _flights.setdefault(host, threading.Lock())


class OllamaCompleter:
    """One model of one server. One call at a time in a process; the server's own queue orders processes."""

    lane = "ollama"

    def __init__(
        self,
        model: str,
        *,
        host: str = DEFAULT_HOST,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        window_tokens: int = DEFAULT_WINDOW_TOKENS,
    ) -> None:
        """`timeout_s` without a sign of life: the time to load the model and read the prompt, then between tokens."""
        self._name = model
        self._host = host
        self._timeout_s = timeout_s
        self._window_tokens = window_tokens

    @classmethod
    def from_route(cls, route: Route) -> OllamaCompleter:
        """The completer that a checked route describes."""
        return cls(
            route.option("model"),
            host=route.option("host") or DEFAULT_HOST,
            timeout_s=route.option("timeout_s") or DEFAULT_TIMEOUT_S,
            window_tokens=route.option("window_tokens") or DEFAULT_WINDOW_TOKENS,
        )

    @property
    def model(self) -> str:
        """`ollama/<name>`."""
        return f"ollama/{self._name}"

    @cached_property
    def _client(self) -> ollama.Client:
        import ollama

        # No proxy of the environment: notes go to the host that the routing names and nowhere else (E8).
        client = ollama.Client(host=self._host, timeout=self._timeout_s, trust_env=False)
        weakref.finalize(self, client.close)
        return client

    def complete(self, request: Request) -> Completion:
        """E5: see `Completer`. A text beyond the window is the item's fault: Ollama would cut it without a word."""
        needed = estimated_tokens(request.system + request.user) + request.max_tokens
        if needed > self._window_tokens:
            raise ItemError(
                f"The text is longer than {self._name} reads.",
                why=f"Prompt and answer need about {needed} tokens; window_tokens is {self._window_tokens}.",
                fix="Raise window_tokens for this task, if the model has a longer window.",
            )
        with _flight(self._host):
            return answered(lambda: self._ask(request), request.task)

    def _ask(self, request: Request) -> Answer:
        text: list[str] = []
        last: Any = None
        for part in self._parts(request):
            text.append(part.message.content or "")
            last = part
        if last is None or not last.done:
            self._raise(outages.Outage("The stream of the answer broke off."))
        tokens_in, tokens_out = last.prompt_eval_count or 0, last.eval_count or 0
        if last.done_reason == "length":
            raise UnusableAnswerError(
                f"The answer of {self._name} is longer than {request.max_tokens} tokens.",
                tokens_in=tokens_in,
                tokens_out=tokens_out,
            )
        return Answer("".join(text), tokens_in, tokens_out, str(last.model or self._name))

    def _parts(self, request: Request) -> Iterator[ollama.ChatResponse]:
        """The stream's parts, with the client's errors as ours. Streamed, so that the time limit is one of silence."""
        import httpx
        import ollama

        try:
            yield from self._client.chat(
                model=self._name,
                messages=[
                    {"role": "system", "content": request.system},
                    {"role": "user", "content": request.user.encode("utf-8", "replace").decode("utf-8")},
                ],
                format=dict(request.schema),
                stream=True,
                options={
                    "temperature": 0,
                    "seed": 0,
                    "num_ctx": self._window_tokens,
                    "num_predict": request.max_tokens,
                },
            )
        except ollama.ResponseError as error:
            self._raise(self._fault(error), error)
        except (ConnectionError, httpx.HTTPError) as error:
            said = str(error) or type(error).__name__
            fix = "Start it (ollama serve), or correct host in inference.toml."
            self._raise(outages.Outage(f"It does not answer: {said}"), error, fix=fix)
        except (ValueError, AttributeError, TypeError) as error:  # half a line, or another server's answer
            self._raise(outages.Outage(f"It does not answer as Ollama does: {outages.short(str(error))}"), error)

    def _fault(self, error: ollama.ResponseError) -> outages.Fault:
        answer = getattr(error.__context__, "response", None)  # the client keeps neither status nor headers of a stream
        headers = {name.lower(): value for name, value in answer.headers.items()} if answer is not None else {}
        status = error.status_code if error.status_code > 0 else _MID_STREAM
        return outages.from_status(status, str(error.error), headers, datetime.now(UTC))

    def _raise(self, fault: outages.Fault, cause: Exception | None = None, *, fix: str | None = None) -> NoReturn:
        if isinstance(fault, outages.Outage) and f"model '{self._name}' not found" in fault.reason:
            fix = f"ollama pull {self._name}"
        raise outages.as_error(fault, f"Ollama at {self._host}", fix=fix) from cause
