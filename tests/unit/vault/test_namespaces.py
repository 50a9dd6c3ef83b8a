"""Where a note may be read: by place, narrowed by wish."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kos_assets.vault.namespaces import folder_namespace, is_namespace, is_narrower, resolve_namespace

FOLDERS = {"work": "shared:team", "work/private": "shared:owner", "Agents/": "agent:bot"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.md", "global"),
        ("work/a.md", "shared:team"),
        ("work/x/a.md", "shared:team"),
        ("works/a.md", "global"),
        ("work.md", "global"),
        ("work/private/a.md", "shared:owner"),
        ("Agents/a.md", "agent:bot"),
        ("agents/a.md", "global"),
    ],
)
def test_the_longest_folder_wins(path: str, expected: str) -> None:
    """V9: the folder map decides by whole folder names."""
    assert folder_namespace(path, FOLDERS, "global") == expected
    assert folder_namespace(path, {"": "shared:all", **FOLDERS}, "global") == expected.replace("global", "shared:all")


@pytest.mark.parametrize(
    ("path", "wish", "expected", "code"),
    [
        ("a.md", None, "global", None),
        ("a.md", "global", "global", None),
        ("a.md", "shared:team", "shared:team", None),
        ("a.md", "agent:bot", "agent:bot", None),
        ("work/a.md", "shared:team", "shared:team", None),
        ("work/a.md", "shared:owner", "shared:owner", None),
        ("work/a.md", "agent:bot", "agent:bot", None),
        ("work/a.md", "agent:stranger", "shared:team", "namespace_widens"),
        ("work/a.md", "shared:other", "shared:team", "namespace_widens"),
        ("work/a.md", "global", "shared:team", "namespace_widens"),
        ("work/private/a.md", "agent:bot", "shared:owner", "namespace_widens"),
        ("Agents/a.md", "global", "agent:bot", "namespace_widens"),
        ("Agents/a.md", "agent:other", "agent:bot", "namespace_widens"),
        ("Agents/a.md", "shared:owner", "shared:owner", None),
        ("a.md", "private", "shared:owner", "namespace_invalid"),
        ("a.md", "Shared:Owner", "shared:owner", "namespace_invalid"),
        ("a.md", "", "shared:owner", "namespace_invalid"),
        ("a.md", "agent:", "shared:owner", "namespace_invalid"),
        ("a.md", "shared:a:b", "shared:owner", "namespace_invalid"),
    ],
)
def test_a_wish_may_narrow_and_never_widen(path: str, wish: str | None, expected: str, code: str | None) -> None:
    """V9: nobody gains a right by a wish; a wish that cannot be read keeps the note to the owner."""
    namespace, problem = resolve_namespace(path, wish, FOLDERS, "global", groups={"team": {"bot"}})
    assert namespace == expected
    assert (problem and problem.code) == code


_NAMES = st.sampled_from(["global", "shared:owner", "shared:a", "shared:b", "agent:x", "agent:y"])


def _readers(namespace: str, groups: dict[str, set[str]]) -> set[str]:
    kind, _, name = namespace.partition(":")
    if kind == "global":
        return {"owner", "x", "y", "z"}
    return {"owner"} | ({name} if kind == "agent" else groups.get(name, set()))


@given(_NAMES, _NAMES, st.dictionaries(st.sampled_from("ab"), st.sets(st.sampled_from("xyz"))))
def test_narrower_never_adds_a_reader(wanted: str, base: str, groups: dict[str, set[str]]) -> None:
    """V9: whoever may read the narrower namespace may read the wider one."""
    if is_narrower(wanted, base, groups):
        assert _readers(wanted, groups) <= _readers(base, groups)


def test_names() -> None:
    """V9: what a namespace looks like."""
    assert all(is_namespace(name) for name in ("global", "agent:claude-code", "shared:team_1", "agent:a.b", "agent:a"))
    assert not any(
        is_namespace(name) for name in ("Global", "agent", "agent: x", "shared:-a", "agent:a\n", "agent:" + "a" * 65)
    )
