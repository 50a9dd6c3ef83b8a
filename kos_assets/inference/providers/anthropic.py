"""Tasks done by Claude over Anthropic's metered API, through its official SDK: single answers, batches for backlogs.

Here: the request in the API's terms, and the mapping of its failures (E5). Not here: prompts, lanes, prices.

The key and the address are always passed: without them the SDK looks in the environment and in profiles on disk, and
would send notes under whatever account it finds there (E8). The SDK's own retries are off: the lane waits instead.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NoReturn

from kos_assets.errors import ConfigError, KosError, NotFoundError
from kos_assets.inference import outages
from kos_assets.inference.completion import Answer, Completion, Request, UnusableAnswerError, answered, json_object
from kos_assets.inference.routing import Route

if TYPE_CHECKING:
    import anthropic
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

DEFAULT_BASE_URL: Final = "https://api.anthropic.com"
DEFAULT_TIMEOUT_S: Final = 120.0
BATCH_ITEMS: Final = 10_000
"""Of one batch; the API takes 100,000 of 256 MB together, and a smaller batch comes back sooner."""
_WHO: Final = "Anthropic's API"
_STATUS_OF: Final[Mapping[str, int]] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class AnthropicCompleter:
    """One model of the API. Safe from several threads."""

    lane = "anthropic"

    def __init__(
        self,
        model: str,
        *,
        api_key: str,
        base_url: str = DEFAULT_BASE_URL,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        batch_from: int | None = None,
    ) -> None:
        """`timeout_s` of a whole answer. `batch_from`: the backlog's size from which callers use `submit`."""
        self._name = model
        self._api_key = api_key
        self._base_url = base_url
        self._timeout_s = timeout_s
        self.batch_from = batch_from

    @classmethod
    def from_route(cls, route: Route, api_key: str | None) -> AnthropicCompleter:
        """The completer that a checked route describes. Raises `ConfigError` without a key."""
        if not api_key:
            raise ConfigError(
                f"[task.{route.task}] is routed to anthropic, and there is no API key.",
                fix="Set KOS_ANTHROPIC_API_KEY, or route the task elsewhere.",
            )
        return cls(
            route.option("model"),
            api_key=api_key,
            base_url=route.option("base_url") or DEFAULT_BASE_URL,
            timeout_s=route.option("timeout_s") or DEFAULT_TIMEOUT_S,
            batch_from=route.option("batch_from"),
        )

    @property
    def model(self) -> str:
        """`anthropic/<name>`."""
        return f"anthropic/{self._name}"

    @cached_property
    def _client(self) -> anthropic.Anthropic:
        import anthropic

        # A proxy of the environment carries TLS unread; it would read what goes in the clear to a gateway on this host.
        client = anthropic.Anthropic(
            api_key=self._api_key,
            base_url=self._base_url,
            max_retries=0,
            timeout=self._timeout_s,
            open_telemetry=False,
            http_client=anthropic.DefaultHttpxClient(trust_env=self._base_url.startswith("https:")),
        )
        weakref.finalize(self, client.close)
        return client

    def complete(self, request: Request) -> Completion:
        """E5: see `Completer`."""
        return answered(lambda: self._ask(request), request.task)

    def submit(self, requests: Mapping[str, Request]) -> str:
        """Hands in a batch of 1 to `BATCH_ITEMS` requests and returns its id; answered within 24 hours, at half price.

        Keys are the caller's ids, 1 to 64 of A-Z a-z 0-9 _ -. Raises as `complete` does.
        """
        wanted = [{"custom_id": key, "params": self._params(request)} for key, request in requests.items()]
        batch = self._asked(lambda client: client.messages.batches.create(requests=wanted))
        if not getattr(batch, "id", None):
            self._raise(outages.Outage("It does not answer as the API does."))
        return str(batch.id)

    def poll(self, batch_id: str) -> Mapping[str, Completion | outages.Fault] | None:
        """The results of a batch by the caller's ids; None while it is at work.

        An item that expired, was cancelled or met an error of the server is an `Outage`: hand it in again, no attempt
        was consumed. Raises `NotFoundError` for a batch that the API no longer knows (hand all in again).
        """
        batch = self._asked(lambda client: client.messages.batches.retrieve(batch_id), gone=batch_id)
        if getattr(batch, "processing_status", None) != "ended":
            return None
        lines = self._asked(lambda client: list(client.messages.batches.results(batch_id)), gone=batch_id)
        return {line.custom_id: self._result(line.result) for line in lines}

    def _params(self, request: Request) -> MessageCreateParamsNonStreaming:
        """No temperature: the API of 2026-10-21 refuses it. The prompt is cached: it is the same for every item."""
        import anthropic

        return {
            "model": self._name,
            "max_tokens": request.max_tokens,
            "system": [{"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": request.user.encode("utf-8", "replace").decode("utf-8")}],
            "output_config": {
                "format": {"type": "json_schema", "schema": anthropic.transform_schema(dict(request.schema))}
            },
        }

    def _ask(self, request: Request) -> Answer:
        return self._answer(self._asked(lambda client: client.messages.create(**self._params(request))))

    def _answer(self, message: Any) -> Answer:
        """The text of a message, or the reason why it has none. The SDK does not validate: any field may be missing."""
        import anthropic

        if not isinstance(message, anthropic.types.Message) or not isinstance(message.content, list):
            self._raise(outages.Outage("It does not answer as the API does."))
        usage = message.usage
        parts_in = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        tokens_in = sum(getattr(usage, part, None) or 0 for part in parts_in)
        tokens_out = getattr(usage, "output_tokens", None) or 0
        if why := _unusable(message):
            raise UnusableAnswerError(
                f"{self._name} gave no answer.", why=why, tokens_in=tokens_in, tokens_out=tokens_out
            )
        blocks = [block for block in message.content if getattr(block, "type", None)]
        if message.content and not blocks:
            self._raise(outages.Outage("It does not answer as the API does."))
        text = "".join(getattr(block, "text", "") for block in blocks if block.type == "text")
        return Answer(text, tokens_in, tokens_out, message.model or self._name)

    def _result(self, result: Any) -> Completion | outages.Fault:
        """One line of a batch. A batch cannot ask again at once, so an answer that is not JSON is the item's fault."""
        if result.type == "succeeded":
            try:
                answer = self._answer(result.message)
            except KosError as error:
                return outages.fault_of(error) or outages.ItemFault(str(error))
            value = json_object(answer.text)
            if value is None:
                return outages.ItemFault(f"{self._name} gave no JSON object.")
            return Completion(value, answer.tokens_in, answer.tokens_out, answer.model)
        if result.type == "errored":
            inner = getattr(result.error, "error", None)
            said = str(getattr(inner, "message", None) or "an error without a message")
            return outages.from_status(_STATUS_OF.get(getattr(inner, "type", ""), 500), said, {}, datetime.now(UTC))
        return outages.Outage(f"The batch ended before this item was done ({result.type}).")

    def _asked(self, call: Any, *, gone: str | None = None) -> Any:
        """`call(client)`, with the SDK's errors as ours."""
        import anthropic
        import httpx2

        try:
            return call(self._client)
        except anthropic.APIStatusError as error:
            if gone and error.status_code == 404:
                raise NotFoundError(
                    f"{_WHO} no longer knows batch {gone}.", fix="Its items are handed in again."
                ) from error
            headers = {name.lower(): value for name, value in error.response.headers.items()}
            said = error.api_message or outages.short(error.response.text) or error.message
            self._raise(outages.from_status(error.status_code, said, headers, datetime.now(UTC)), error)
        except (anthropic.AnthropicError, httpx2.HTTPError, json.JSONDecodeError) as error:
            said = f"{type(error).__name__}: {error} {error.__cause__ or ''}"
            self._raise(outages.Outage(f"It does not answer: {outages.short(said)}"), error)

    def _raise(self, fault: outages.Fault, cause: Exception | None = None) -> NoReturn:
        fix = None
        if isinstance(fault, outages.Outage) and fault.reason.startswith(("401", "403")):
            fix = "Check the API key in KOS_ANTHROPIC_API_KEY."
        raise outages.as_error(fault, _WHO, fix=fix) from cause


def _unusable(message: anthropic.types.Message) -> str | None:
    """Why a message that came back whole is no answer."""
    if message.stop_reason == "refusal":
        details = message.stop_details
        return f"The model refused ({details.category or 'no category'})." if details else "The model refused."
    if message.stop_reason == "max_tokens":
        return "The answer is longer than max_tokens."
    if message.stop_reason == "model_context_window_exceeded":
        return "The text is longer than the model reads."
    return None
