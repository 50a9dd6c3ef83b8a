"""S8, V9, G6: namespaces, homes as trees, ids that follow from ids."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kos_assets.domain.vocabulary import check_namespace, decode_label, encode_label, home_tree, memory_id_of_note
from kos_assets.errors import InputError

_NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), max_size=255)


@given(_NAMES)
def test_a_label_is_ascii_and_short_and_reads_back(name: str) -> None:
    """S8: letters and digits as they are, the rest reversible; at most 250 characters."""
    label = encode_label(name)
    assert re.fullmatch(r"[A-Za-z0-9_]{1,250}", label)
    if "__" not in label:
        assert decode_label(label) == name


@given(_NAMES, _NAMES)
def test_two_names_never_share_a_label(one: str, other: str) -> None:
    """S8: no two folders fall together, cut labels included."""
    assert (encode_label(one) == encode_label(other)) == (one == other)


@pytest.mark.parametrize(
    ("home", "tree"),
    [
        ("", "_000000"),
        ("projects/Hütte", "projects.H_0000fctte"),
        ("a-b/c d", "a_00002db.c_000020d"),
        ("日記", "_0065e5_008a18"),
        ("a_b", "a_00005fb"),
        ("a//b", "a._000000.b"),
    ],
)
def test_homes_as_trees(home: str, tree: str) -> None:
    """S8: byte for byte; the vault's root has a label too."""
    assert home_tree(home) == tree


@given(st.lists(_NAMES.filter(bool), min_size=1, max_size=80), st.lists(_NAMES.filter(bool), min_size=1, max_size=3))
def test_a_tree_is_bounded_and_its_own(parts: list[str], others: list[str]) -> None:
    """S8: no tree is too long for an index, and none is another folder's."""
    tree, other = home_tree("/".join(parts)), home_tree("/".join(others))
    assert len(tree) <= 4000
    assert (tree == other) == (parts == others)


@given(st.text(max_size=12))
def test_what_is_a_namespace(name: str) -> None:
    """V9: exactly three shapes; nothing after, not even a line end."""
    good = re.fullmatch(r"global|(agent|shared):[A-Za-z0-9._-]+", name) is not None
    try:
        assert check_namespace(name) == name
        assert good
    except InputError:
        assert not good


@pytest.mark.parametrize(
    "name", ["global\n", "agent:", "shared:a b", "agent:a,global", "Global", "", "team:x", "agent:ä"]
)
def test_what_is_no_namespace(name: str) -> None:
    """V9, S6: a comma or a line end would forge the list of a transaction's namespaces."""
    with pytest.raises(InputError):
        check_namespace(name)


@given(st.uuids(), st.uuids())
def test_a_memory_id_follows_from_its_note(one: UUID, other: UUID) -> None:
    """G6: the same for the same note, never the note's own, another for another."""
    assert memory_id_of_note(one) == memory_id_of_note(one) != one
    assert (memory_id_of_note(one) == memory_id_of_note(other)) == (one == other)
