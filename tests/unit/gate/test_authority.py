"""G2 as a pure decision."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kos_assets.errors import AuthorityError, InputError
from kos_assets.gate.authority import OWNER, Evidence, Principal, check_write_authority

_NAMES = st.sampled_from(["ada", "bob", "owner", "global"])
_NAMESPACES = st.one_of(
    st.just("global"), _NAMES.map(lambda name: f"agent:{name}"), _NAMES.map(lambda name: f"shared:{name}")
)
_ROLES = st.sampled_from(["agent", "orchestrator", "owner"])


@given(_NAMES, _ROLES, st.frozensets(_NAMES), _NAMESPACES)
def test_exactly_these_may_write(name: str, role: str, groups: frozenset[str], namespace: str) -> None:
    """G2: the whole matrix, said a second time; a refusal names what would be allowed, and that is allowed."""
    kind, _, target = namespace.partition(":")
    allowed = (
        role == "owner"
        or (kind == "agent" and target == name)
        or (kind == "shared" and target in groups)
        or (kind == "global" and role == "orchestrator")
    )
    principal = Principal(name, role, groups)  # type: ignore[arg-type]
    if allowed:
        check_write_authority(principal, namespace)
        return
    with pytest.raises(AuthorityError) as refused:
        check_write_authority(principal, namespace)
    assert str(refused.value.why).startswith("Rule G2: ")
    for offered in str(refused.value.fix).removeprefix("Write to one of: ").rstrip(".").split(", "):
        check_write_authority(principal, offered)


@pytest.mark.parametrize("namespace", ["", "nowhere", "global\n", "agent:", "shared:a,global", "agent:*"])
def test_what_is_no_namespace_is_nobodys(namespace: str) -> None:
    """G2, V9: not even the owner's."""
    with pytest.raises(InputError):
        check_write_authority(OWNER, namespace)


def test_a_name_is_not_a_role() -> None:
    """G2: an agent that calls itself owner is an agent."""
    with pytest.raises(AuthorityError):
        check_write_authority(Principal("owner", "agent"), "global")
    with pytest.raises(AuthorityError):
        check_write_authority(Principal("owner", "agent"), "shared:owner")


def test_a_lesson_reaches_global_by_its_sessions_not_by_its_claim() -> None:
    """G2, L1: confidence 0.9 or more, counted by the server, from at least two distinct sessions; nothing less."""
    agent = Principal("robo", "agent")
    check_write_authority(agent, "global", evidence=Evidence(0.9, frozenset({"s1", "s2"})))
    for evidence in (None, Evidence(0.89, frozenset({"s1", "s2"})), Evidence(1.0, frozenset({"s1"}))):
        with pytest.raises(AuthorityError, match="may not write to global"):
            check_write_authority(agent, "global", evidence=evidence)
    with pytest.raises(AuthorityError):
        check_write_authority(agent, "shared:crew", evidence=Evidence(1.0, frozenset({"s1", "s2"})))
