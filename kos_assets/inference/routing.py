"""Reading `inference.toml` (E1-E3): which provider does which task, checked in full at start-up.

Here: the file, its keys, and refusals that say file, key and what is allowed. Not here: building a provider (`router`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from kos_assets.errors import ConfigError

SHIPPED_ROUTING: Final = Path(__file__).parent / "inference.toml"
TASKS: Final = ("embed",)
EMBED_PROVIDERS: Final = ("embedded", "ollama")

OptionValue = str | int | float


@dataclass(frozen=True)
class _Key:
    kind: type[str] | type[int] | type[float]
    empty_allowed: bool = False

    @property
    def wanted(self) -> str:
        if self.kind is str:
            return "a string" if self.empty_allowed else "a string that is not empty"
        return "a whole number above 0" if self.kind is int else "a number above 0"

    def accepts(self, value: object) -> bool:
        if isinstance(value, bool):
            return False
        if self.kind is str:
            return isinstance(value, str) and (self.empty_allowed or bool(value.strip()))
        if self.kind is int:
            return isinstance(value, int) and value > 0
        return isinstance(value, int | float) and value > 0


_PROVIDER_KEYS: Final[Mapping[str, Mapping[str, _Key]]] = MappingProxyType(
    {
        "embedded": {},
        "ollama": {
            "host": _Key(str),
            "timeout_s": _Key(float),
            "batch": _Key(int),
            "model": _Key(str),
            "query_prefix": _Key(str, empty_allowed=True),
            "document_prefix": _Key(str, empty_allowed=True),
            "window_tokens": _Key(int),
            "dimensions": _Key(int),
        },
    }
)
_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({"ollama": ("model",)})


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

    embed: Route
    source: str
    """Path of the file, for messages."""


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
    _refuse_unknown(source, "provider", providers, tuple(_PROVIDER_KEYS))
    for name in providers:
        block = _table(source, providers, name, f"provider.{name}")
        _check_keys(source, f"provider.{name}", block, _PROVIDER_KEYS[name])
    for task in TASKS:
        if task not in tasks:
            raise ConfigError(
                f"{source}: [task.{task}] is missing.",
                why="Each task must say which provider does it.",
                fix=f'Add [task.{task}] with provider = "embedded".',
            )
    return Routing(embed=_route(source, "embed", tasks, providers), source=str(source))


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


def _check_keys(source: Path, block: str, values: Mapping[str, Any], known: Mapping[str, _Key]) -> None:
    for key, value in values.items():
        if key not in known:
            allowed = _listed(tuple(known)) if known else "no keys"
            raise ConfigError(f"{source}: unknown key {key!r} in [{block}].", fix=f"Allowed here: {allowed}.")
        if not known[key].accepts(value):
            raise ConfigError(f"{source}: {key} in [{block}] must be {known[key].wanted}.", why=f"It is {value!r}.")


def _route(source: Path, task: str, tasks: Mapping[str, Any], providers: Mapping[str, Any]) -> Route:
    block = dict(_table(source, tasks, task, f"task.{task}"))
    provider = block.pop("provider", None)
    allowed = _listed(EMBED_PROVIDERS)
    if provider is None:
        raise ConfigError(f"{source}: provider is missing in [task.{task}].", fix=f"Allowed: {allowed}.")
    if provider not in EMBED_PROVIDERS:
        raise ConfigError(
            f"{source}: provider in [task.{task}] may not be {provider!r}.",
            why="Every note passes through the embedder, so it must run on this machine (E3).",
            fix=f"Allowed: {allowed}.",
        )
    _check_keys(source, f"task.{task}", block, _PROVIDER_KEYS[provider])
    options = {**providers.get(provider, {}), **block}
    for key in _REQUIRED.get(provider, ()):
        if key not in options:
            raise ConfigError(
                f"{source}: {key} is missing for provider {provider!r}.",
                fix=f"Set {key} in [task.{task}] or [provider.{provider}].",
            )
    return Route(task, provider, tuple(sorted(options.items())))


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names)
