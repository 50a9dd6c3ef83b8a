"""G2 for the principals of today: the vault's owner, and agents in their own namespace. Pure decisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kos_assets.domain.vocabulary import check_namespace
from kos_assets.errors import AuthorityError


@dataclass(frozen=True)
class Principal:
    """An authenticated caller."""

    name: str
    role: Literal["agent", "orchestrator", "owner"]
    groups: frozenset[str] = frozenset()


OWNER = Principal("owner", "owner")
"""Whoever may edit the vault's files holds the owner's authority (V9)."""


def check_write_authority(principal: Principal, namespace: str) -> None:
    """G2: own `agent:` namespace freely; `shared:<group>` as a member; `global` for the owner or an orchestrator.

    Raises AuthorityError, which names the rule that refused and what would be allowed.
    """
    check_namespace(namespace)
    if principal.role == "owner":
        return
    kind, _, name = namespace.partition(":")
    if kind == "agent" and name == principal.name:
        return
    if kind == "shared" and name in principal.groups:
        return
    if kind == "global" and principal.role == "orchestrator":
        return
    rule = {
        "agent": "an agent: namespace belongs to the agent of that name",
        "shared": "a shared: namespace is written by members of the group",
        "global": "global is written by the owner or an orchestrator",
    }[kind]
    allowed = [f"agent:{principal.name}", *sorted(f"shared:{group}" for group in principal.groups)]
    raise AuthorityError(
        f"{principal.name} may not write to {namespace}.",
        why=f"Rule: {rule}.",
        fix=f"Write to one of: {', '.join(allowed)}.",
    )
