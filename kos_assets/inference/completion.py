"""What callers know about a model that answers in JSON: a request, an answer, one call.

Here: the types, and reading an answer's text as one JSON object with one retry. Not here: models (`providers`), what a
failure means for a lane (`outages`), prompts and what an answer must hold (`tasks`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from kos_assets.errors import ItemError

_FENCE: Final = re.compile(r"\A\s*```(?:json)?\s*\n(?P<inside>.*)\n\s*```\s*\Z", re.DOTALL)


@dataclass(frozen=True)
class Request:
    """One question to a model. `system` is the versioned prompt, `user` the framed data (E7)."""

    task: str
    system: str
    user: str
    schema: Mapping[str, Any]
    """JSON schema of the answer: an object whose objects all say `additionalProperties: false`."""
    max_tokens: int
    """Of the answer. A longer one is refused, not cut."""

    @property
    def input_hash(self) -> str:
        """E6: sha256 of the data, in hex; with task, model and prompt version it names a cached result."""
        return hashlib.sha256(self.user.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Completion:
    """A model's answer, one JSON object, not yet validated against a task's rules (`tasks.accept`)."""

    value: dict[str, Any]
    tokens_in: int
    """Of all calls that this answer took, cached ones included."""
    tokens_out: int
    model: str
    """The model that answered, as the provider names it."""


@dataclass(frozen=True)
class Answer:
    """What a provider's one call gave: text that should be JSON, or JSON that the provider parsed already."""

    text: str
    tokens_in: int
    tokens_out: int
    model: str
    value: dict[str, Any] | None = None


class Completer(Protocol):
    """A model that answers in JSON. Safe to use from several threads."""

    @property
    def lane(self) -> str:
        """The provider's name in `inference.toml`; outages and budgets count per lane (E5, E6)."""
        ...

    @property
    def model(self) -> str:
        """`<provider>/<model>`, known without a call: part of a cached result's key (E6)."""
        ...

    def complete(self, request: Request) -> Completion:
        """The answer to `request`.

        Raises `ProviderUnavailableError` when the provider cannot be used now (work stays pending, no attempt is
        consumed), `ItemError` (`UnusableAnswerError` when tokens were spent) when this item is at fault (E5), and
        `ConfigError` when the task is not a model's.
        """
        ...


class UnusableAnswerError(ItemError):
    """The model answered and was paid, but the answer is no use; its tokens still count (E6)."""

    def __init__(self, what: str, *, why: str | None = None, tokens_in: int = 0, tokens_out: int = 0) -> None:
        super().__init__(what, why=why)
        self.tokens_in = tokens_in
        self.tokens_out = tokens_out


def json_object(text: str) -> dict[str, Any] | None:
    """The one JSON object that `text` is, also inside a code fence; None for anything else."""
    fenced = _FENCE.match(text)
    try:
        value = json.loads(fenced["inside"] if fenced else text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def answered(ask: Callable[[], Answer], task: str) -> Completion:
    """E5: the object that `ask()` gives; an answer that is not JSON is asked for once more, then is the item's fault.

    Tokens of both calls are counted. Raises what `ask` raises, and `UnusableAnswerError`.
    """
    tokens_in = tokens_out = 0
    for _ in range(2):
        answer = ask()
        tokens_in += answer.tokens_in
        tokens_out += answer.tokens_out
        value = answer.value if answer.value is not None else json_object(answer.text)
        if value is not None:
            return Completion(value, tokens_in, tokens_out, answer.model)
    raise UnusableAnswerError(
        f"{answer.model} gave no JSON object for {task}, twice.",
        why=f"Its last answer has {len(answer.text)} characters.",
        tokens_in=tokens_in,
        tokens_out=tokens_out,
    )
