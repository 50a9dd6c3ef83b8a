"""Who asks: a caller's name, role and groups, and which namespaces follow from them. Pure.

Here: what a principal is and may read. Not here: what it may write (gate/authority.py), how it proved who it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from kos_assets.errors import InputError

Role = Literal["agent", "orchestrator", "owner"]
ROLES: tuple[Role, ...] = get_args(Role)
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?\Z")


@dataclass(frozen=True)
class Principal:
    """An authenticated caller. Raises InputError for a name or group that no namespace can be made of."""

    name: str
    role: Role
    groups: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for text in (self.name, *self.groups):
            if not _NAME.match(text):
                raise InputError(
                    f"{text[:70]!r} is no name of a principal or group.",
                    why="Names are 1 to 64 letters, digits, ., - and _, with a letter or digit at both ends.",
                )
        if self.role not in ROLES:
            raise InputError(f"{self.role!r} is no role.", why=f"Roles are {', '.join(ROLES)}.")


OWNER = Principal("owner", "owner", frozenset({"owner"}))
"""Whoever may edit the vault's files holds the owner's authority (V9)."""


def own_namespaces(principal: Principal) -> tuple[str, ...]:
    """The namespaces that a principal belongs to beside `global`: an agent's own (`shared:owner` for the owner), and
    one per group; sorted."""
    if principal.role == "owner":
        return tuple(sorted(f"shared:{group}" for group in {*principal.groups, "owner"}))
    return (f"agent:{principal.name}", *sorted(f"shared:{group}" for group in principal.groups))


def readable_namespaces(principal: Principal) -> tuple[str, ...]:
    """What a principal reads when nobody says otherwise: `global`, its own namespace, those of its groups."""
    return ("global", *own_namespaces(principal))


def auditable_namespaces(principal: Principal, used: Iterable[str]) -> tuple[str, ...]:
    """Where a principal may see what was retired: the owner everywhere, an author within its own namespace."""
    if principal.role == "owner":
        return tuple(sorted({*used, *readable_namespaces(principal)}))
    return (f"agent:{principal.name}",)
