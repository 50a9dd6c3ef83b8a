"""Reading `inference.toml` (E1-E3): which provider does which task, checked in full at start-up.

Here: the file, its blocks, and refusals that say file, block and what is allowed. Not here: the keys of each provider
(`routing_keys`), building a provider (`router`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from kos_assets.errors import ConfigError
from kos_assets.inference.routing_keys import PROVIDER_KEYS, REQUIRED, OptionValue, Use, keys_for

SHIPPED_ROUTING: Final = Path(__file__).parent / "inference.toml"
EXAMPLES: Final = Path(__file__).parent / "examples"
MODEL_TASKS: Final = (
    "entity_extract",
    "entity_gate",
    "merge_judge",
    "summary",
    "doc_kind",
    "memory_type",
    "relation_extract",
    "event_time",
    "importance",
    "concept_label",
    "lesson_extract",
)
"""E2: tasks that rules do under `embedded` and that a model may do."""
TASKS: Final = (*MODEL_TASKS, "embed")
PROVIDERS: Final = tuple(PROVIDER_KEYS)
EMBED_PROVIDERS: Final = ("embedded", "ollama")


@dataclass(frozen=True)
class Route:
    """Who does one task, with the provider's options after `[task.Y]` overrode `[provider.X]`. Hashable."""

    task: str
    provider: str
    options: tuple[tuple[str, OptionValue], ...] = ()

    def option(self, key: str) -> Any:
        """The value of `key`, None when the file does not set it."""
        return dict(self.options).get(key)


@dataclass(frozen=True)
class Routing:
    """The whole file, checked."""

    tasks: Mapping[str, Route]
    """A route for each of `TASKS`."""
    budgets: Mapping[str, int]
    """E6: tokens a day of each provider that has `daily_tokens`."""
    source: str
    """Path of the file, for messages."""

    @property
    def embed(self) -> Route:
        """E3: the embedder's route."""
        return self.tasks["embed"]

    @property
    def lanes(self) -> tuple[str, ...]:
        """E5: the providers that do at least one task, without `embedded`, which is never out."""
        used = {route.provider for route in self.tasks.values()}
        return tuple(name for name in PROVIDERS if name in used and name != "embedded")


def load_routing(path: Path | None) -> Routing:
    """E1, E2: the routing in `path`; for None the shipped default.

    Raises `ConfigError` for a file that cannot be read, a missing or unknown task, provider or key, a value of the
    wrong kind, and for `embed` routed anywhere that is not local (E3).
    """
    source = path or SHIPPED_ROUTING
    document = _read(source)
    _refuse_unknown(source, "", document, ("task", "provider"))
    tasks = _table(source, document, "task")
    providers = _table(source, document, "provider")
    _refuse_unknown(source, "task", tasks, TASKS)
    _refuse_unknown(source, "provider", providers, PROVIDERS)
    for name in providers:
        block = _table(source, providers, name, f"provider.{name}")
        _check_keys(source, f"provider.{name}", block, name, None)
    _refuse_missing(source, tasks)
    budgets = {name: block["daily_tokens"] for name, block in providers.items() if "daily_tokens" in block}
    routes = {task: _route(source, task, tasks, providers) for task in TASKS}
    return Routing(MappingProxyType(routes), MappingProxyType(budgets), str(source))


def _read(source: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(source.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(
            f"{source}: no such file.",
            fix="Correct KOS_INFERENCE, or unset it to use the shipped routing.",
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{source}: cannot be read.", why=str(error)) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{source}: is not valid TOML.", why=str(error)) from error


def _table(source: Path, parent: Mapping[str, Any], key: str, name: str | None = None) -> dict[str, Any]:
    value = parent.get(key, {})
    if not isinstance(value, dict):
        raise ConfigError(f"{source}: [{name or key}] must be a table.", why=f"It is {value!r}.")
    return value


def _refuse_unknown(source: Path, parent: str, table: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    for key in table:
        if key not in allowed:
            name = f"{parent}.{key}" if parent else key
            raise ConfigError(f"{source}: unknown block [{name}].", fix=f"Allowed here: {_listed(allowed)}.")


def _refuse_missing(source: Path, tasks: Mapping[str, Any]) -> None:
    """E2: all missing blocks at once, as text to paste: a file from before the other tasks has only `[task.embed]`."""
    missing = [task for task in TASKS if task not in tasks]
    if not missing:
        return
    names = _listed(tuple(f"[task.{task}]" for task in missing))
    raise ConfigError(
        f"{source}: {names} {'is' if len(missing) == 1 else 'are'} missing.",
        why="Each task must say which provider does it.",
        fix="Add what follows; embedded means the rules and the model that come with the installation.\n\n"
        + "\n".join(f'[task.{task}]\nprovider = "embedded"' for task in missing),
    )


def _check_keys(source: Path, block: str, values: Mapping[str, Any], provider: str, use: Use | None) -> None:
    known = keys_for(provider, use)
    for key, value in values.items():
        if key not in known:
            allowed = _listed(tuple(known)) if known else "no keys"
            raise ConfigError(f"{source}: unknown key {key!r} in [{block}].", fix=f"Allowed here: {allowed}.")
        if not known[key].accepts(value):
            raise ConfigError(f"{source}: {key} in [{block}] must be {known[key].wanted}.", why=f"It is {value!r}.")


def _route(source: Path, task: str, tasks: Mapping[str, Any], providers: Mapping[str, Any]) -> Route:
    block = dict(_table(source, tasks, task, f"task.{task}"))
    provider = block.pop("provider", None)
    use: Use = "embed" if task == "embed" else "complete"
    _check_provider(source, task, provider)
    _check_keys(source, f"task.{task}", block, provider, use)
    merged = {**providers.get(provider, {}), **block}
    options = {key: value for key, value in merged.items() if key in keys_for(provider, use)}
    for key in REQUIRED.get(provider, ()):
        if key not in options:
            raise ConfigError(
                f"{source}: {key} is missing for provider {provider!r}.",
                fix=f"Set {key} in [task.{task}] or [provider.{provider}].",
            )
    if use == "embed" and str(options.get("model", "")).casefold().endswith(("-cloud", ":cloud")):
        raise ConfigError(
            f"{source}: model in [task.embed] may not be {options['model']!r}.",
            why="Ollama sends texts for its cloud models to another machine; the embedder must run on this one (E3).",
            fix="Name a model that this server runs itself.",
        )
    return Route(task, provider, tuple(sorted(options.items())))


def _check_provider(source: Path, task: str, provider: object) -> None:
    allowed = EMBED_PROVIDERS if task == "embed" else PROVIDERS
    if provider is None:
        raise ConfigError(f"{source}: provider is missing in [task.{task}].", fix=f"Allowed: {_listed(allowed)}.")
    if provider not in allowed:
        local = "Every note passes through the embedder, so it must run on this machine (E3)."
        raise ConfigError(
            f"{source}: provider in [task.{task}] may not be {provider!r}.",
            why=local if task == "embed" else "No such provider.",
            fix=f"Allowed: {_listed(allowed)}.",
        )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names)
