"""From a routing to the object that does the task; one per routing and process, so that a model is loaded once.

Here: the choice. Not here: reading the file (`routing`), models (`providers`).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kos_assets.errors import ConfigError
from kos_assets.inference.completion import Completer
from kos_assets.inference.embedding import Embedder
from kos_assets.inference.routing import MODEL_TASKS, Route, Routing, load_routing

if TYPE_CHECKING:
    from kos_assets.inference.providers.anthropic import AnthropicCompleter

__all__ = ["Access", "batches", "check_access", "completer", "embedder", "load_routing"]

_embedders: dict[Route, Embedder] = {}
_completers: dict[tuple[str, object, Access], Completer] = {}
_lock = threading.Lock()


@dataclass(frozen=True)
class Access:
    """What a provider needs of the outside, handed in by whoever read the settings. Hashable; never logged."""

    anthropic_api_key: str | None = field(default=None, repr=False)
    environment: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """The process's environment, for the command-line client; the provider keeps only what that client needs of it."""

    @classmethod
    def of(cls, *, anthropic_api_key: str | None = None, environment: Mapping[str, str] | None = None) -> Access:
        """From a key that may be empty, and an environment."""
        return cls(anthropic_api_key or None, tuple(sorted((environment or {}).items())))


NO_ACCESS = Access()


def embedder(routing: Routing) -> Embedder:
    """The embedder of `routing` (E3), always the same object for the same route in one process.

    Costs nothing: the model loads, or the server is asked, at the first use.
    """
    with _lock:
        if routing.embed not in _embedders:
            _embedders[routing.embed] = _build(routing.embed)
        return _embedders[routing.embed]


def completer(routing: Routing, task: str, access: Access = NO_ACCESS) -> Completer:
    """Who does `task` (E1), the same object for the same provider and options in one process. Costs nothing.

    Under `embedded` it is one that refuses every call: rules do the task, ask `is_by_rules` first. Raises `ConfigError`
    for a task that no model does and for a provider that lacks its key.
    """
    if task not in MODEL_TASKS:
        raise ConfigError(f"Task {task!r} has no completer.", fix=f"Tasks that have one: {', '.join(MODEL_TASKS)}.")
    route = routing.tasks[task]
    key = (route.provider, route.options, access)
    with _lock:
        if key not in _completers:
            _completers[key] = _build_completer(route, access)
        return _completers[key]


def is_by_rules(routing: Routing, task: str) -> bool:
    """Whether rules do `task`, so that there is nothing to ask, cache or pause."""
    return routing.tasks[task].provider == "embedded"


def batches(routing: Routing, task: str, access: Access) -> AnthropicCompleter | None:
    """The completer of `task` when it can take a backlog as a batch (`submit`, `poll`), else None."""
    from kos_assets.inference.providers.anthropic import AnthropicCompleter

    found = completer(routing, task, access)
    return found if isinstance(found, AnthropicCompleter) else None


def check_access(routing: Routing, access: Access) -> None:
    """E2: for start-up: raises `ConfigError` when a routed provider lacks its key. No call is made."""
    for task in MODEL_TASKS:
        completer(routing, task, access)


def _build(route: Route) -> Embedder:
    if route.provider == "ollama":
        from kos_assets.inference.providers.ollama import OllamaEmbedder

        return OllamaEmbedder.from_route(route)
    from kos_assets.inference.providers.embedded import EmbeddedEmbedder

    return EmbeddedEmbedder()


def _build_completer(route: Route, access: Access) -> Completer:
    if route.provider == "ollama":
        from kos_assets.inference.providers.ollama_chat import OllamaCompleter

        return OllamaCompleter.from_route(route)
    if route.provider == "anthropic":
        from kos_assets.inference.providers.anthropic import AnthropicCompleter

        return AnthropicCompleter.from_route(route, access.anthropic_api_key)
    if route.provider == "claude-cli":
        from kos_assets.inference.providers.claude_cli import ClaudeCli

        return ClaudeCli.from_route(route, dict(access.environment))
    from kos_assets.inference.providers.rules import Rules

    return Rules()
