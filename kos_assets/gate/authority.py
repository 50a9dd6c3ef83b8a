"""G2: who may write where. Pure decisions."""

from __future__ import annotations

from dataclasses import dataclass

from kos_assets.domain.principals import OWNER, Principal, own_namespaces
from kos_assets.domain.vocabulary import check_namespace
from kos_assets.errors import AuthorityError

__all__ = ["OWNER", "Evidence", "Principal", "check_write_authority"]

LESSON_CONFIDENCE = 0.9
LESSON_SESSIONS = 2


@dataclass(frozen=True)
class Evidence:
    """What backs a lesson, as the server counted it: its confidence (0..1) and the distinct sessions (L1). No caller
    can hand this in: an agent cannot certify itself by claiming a number."""

    confidence: float
    sessions: frozenset[str]


def check_write_authority(principal: Principal, namespace: str, *, evidence: Evidence | None = None) -> None:
    """G2: own `agent:` namespace freely; `shared:<group>` as a member; `global` for the owner or an orchestrator, or
    for a lesson with confidence >= 0.9 from at least 2 distinct sessions.

    Raises AuthorityError, which names the rule that refused and the namespaces that would be allowed; InputError for
    what is no namespace.
    """
    check_namespace(namespace)
    if principal.role == "owner" or namespace in own_namespaces(principal):
        return
    kind = namespace.partition(":")[0]
    if kind == "global" and (principal.role == "orchestrator" or _is_proven(evidence)):
        return
    rule = {
        "agent": "an agent: namespace belongs to the agent of that name",
        "shared": "a shared: namespace is written by members of the group",
        "global": "global is written by the owner or an orchestrator, or by a lesson that "
        f"{LESSON_SESSIONS} distinct sessions back with confidence {LESSON_CONFIDENCE} or more",
    }[kind]
    allowed = [*own_namespaces(principal), *(["global"] if principal.role == "orchestrator" else [])]
    raise AuthorityError(
        f"{principal.name} may not write to {namespace}.",
        why=f"Rule G2: {rule}.",
        fix=f"Write to one of: {', '.join(allowed)}.",
    )


def _is_proven(evidence: Evidence | None) -> bool:
    return (
        evidence is not None and evidence.confidence >= LESSON_CONFIDENCE and len(evidence.sessions) >= LESSON_SESSIONS
    )
