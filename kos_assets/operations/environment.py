"""What a child process is told: settings by environment, and of the secrets only those that it needs.

Here: the variables of one child. Not here: starting it (supervision.py), reading settings (settings.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Final

from kos_assets.settings import Settings
from kos_assets.store.database import role_dsn

MARK: Final = "KOS_SUPERVISED_BY"  # in every process below `kos up`, so that none of them can be overlooked
# What must not reach a child: other settings, other secrets, libpq's defaults, and the switch that makes each start
# compile every module again (import dagster: 7.3 s instead of 2.2 s).
_DROPPED_PREFIXES: Final = ("KOS_", "DAGSTER_", "PG")
_DROPPED: Final = frozenset({"PYTHONDONTWRITEBYTECODE"})
_KEPT: Final = frozenset({"KOS_CONFIG"})


def child_environment(
    settings: Settings,
    *,
    roles: Iterable[str] = (),
    secrets: Mapping[str, str | None] | None = None,
    inherited: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The environment of one child: what it inherits without ours, the plain settings, DSNs of `roles`, `secrets`.

    Settings that are secret are passed only when named. Raises ConfigError when a role has no DSN.
    """
    base = os.environ if inherited is None else inherited
    result = {name: value for name, value in base.items() if _passes(name)}
    for item in fields(Settings):
        variable, value = item.metadata.get("env"), getattr(settings, item.name)
        if variable and not item.metadata.get("secret") and value not in (None, ()):
            result[str(variable)] = _text(value)
    for role in roles:
        result[f"KOS_{role.upper()}_DSN"] = role_dsn(settings, role)
    result |= {name: value for name, value in (secrets or {}).items() if value}
    # Two threads per process on two busy cores cost two to three times the CPU; parallelism is processes.
    return {"OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"} | result


def _passes(name: str) -> bool:
    return name in _KEPT or not (name in _DROPPED or name.startswith(_DROPPED_PREFIXES))


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(str(part) for part in value)
    return str(value.absolute()) if isinstance(value, Path) else str(value)
