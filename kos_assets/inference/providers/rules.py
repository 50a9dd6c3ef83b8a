"""The completer of `embedded`: there is none, and it says so.

Here: the refusal. Not here: the rules themselves (the rooms that do the tasks).
"""

from __future__ import annotations

from kos_assets.errors import ConfigError
from kos_assets.inference.completion import Completion, Request


class Rules:
    """Stands where a task is routed to `embedded`; callers use rules then and never get here."""

    lane = "embedded"
    model = "embedded/rules"

    def complete(self, request: Request) -> Completion:
        """Raises `ConfigError`, always."""
        raise ConfigError(
            f"Task {request.task!r} is routed to embedded: rules do it, and no model is there to ask.",
            fix=f"Route [task.{request.task}] to ollama, claude-cli or anthropic in inference.toml.",
        )
