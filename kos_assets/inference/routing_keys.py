"""The keys of `inference.toml`: what each provider takes, of which kind, and where.

Here: the table. Not here: reading the file (`routing`), defaults (`providers`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal
from urllib.parse import urlsplit

OptionValue = str | int | float
Use = Literal["embed", "complete"]

_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Key:
    """One key: the kind of its value, and which tasks it is for (none: only the provider's block may have it)."""

    kind: type[str] | type[int] | type[float]
    uses: tuple[Use, ...] = ("embed", "complete")
    empty_allowed: bool = False
    secure_url: bool = False

    @property
    def wanted(self) -> str:
        """What a message says that the value must be."""
        if self.secure_url:
            return "an https:// address (http:// on this machine only)"
        if self.kind is str:
            return "a string" if self.empty_allowed else "a string that is not empty"
        return "a whole number above 0" if self.kind is int else "a number above 0"

    def accepts(self, value: object) -> bool:
        """Whether `value` is one."""
        if isinstance(value, bool):
            return False
        if self.secure_url:
            return isinstance(value, str) and _is_secure(value)
        if self.kind is str:
            return isinstance(value, str) and (self.empty_allowed or bool(value.strip()))
        if self.kind is int:
            return isinstance(value, int) and value > 0
        return isinstance(value, int | float) and value > 0


def _is_secure(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return bool(parts.hostname) and (
            parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
        )
    except ValueError:
        return False


_EMBED: Final[tuple[Use, ...]] = ("embed",)
_COMPLETE: Final[tuple[Use, ...]] = ("complete",)
_MODEL: Final = Key(str)
_TIMEOUT: Final = Key(float)
_DAILY_TOKENS: Final = Key(int, uses=())

PROVIDER_KEYS: Final[Mapping[str, Mapping[str, Key]]] = MappingProxyType(
    {
        "embedded": {},
        "ollama": {
            "host": Key(str),
            "timeout_s": _TIMEOUT,
            "model": _MODEL,
            "window_tokens": Key(int),
            "batch": Key(int, _EMBED),
            "query_prefix": Key(str, _EMBED, empty_allowed=True),
            "document_prefix": Key(str, _EMBED, empty_allowed=True),
            "dimensions": Key(int, _EMBED),
            "daily_tokens": _DAILY_TOKENS,
        },
        "claude-cli": {
            "command": Key(str),
            "model": _MODEL,
            "timeout_s": _TIMEOUT,
            "daily_tokens": _DAILY_TOKENS,
        },
        "anthropic": {
            "base_url": Key(str, secure_url=True),
            "model": _MODEL,
            "timeout_s": _TIMEOUT,
            "batch_from": Key(int, _COMPLETE),
            "daily_tokens": _DAILY_TOKENS,
        },
    }
)
REQUIRED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"ollama": ("model",), "claude-cli": ("model",), "anthropic": ("model",)}
)


def keys_for(provider: str, use: Use | None) -> Mapping[str, Key]:
    """The keys that a task of that use may set for `provider`; for None those of the provider's own block."""
    keys = PROVIDER_KEYS[provider]
    return keys if use is None else {name: key for name, key in keys.items() if use in key.uses}
