"""V3: where a link leads, as Obsidian would have it."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kos_assets.domain.links import LinkIndex, Named

_NOTES = {
    "Home.md": (),
    "projects/Plan.md": ("The Plan",),
    "projects/old/Plan.md": (),
    "projects/index.md": (),
    "people/Ada Byron.md": ("Ada", "Countess of Lovelace"),
    "日記/メモ.md": (),
    "notes/v1.2.md": (),
    "a.markdown": (),
    "Case.md": (),
    "CASE.md": (),
}
_TITLES = {"notes/v1.2.md": "Release notes"}


def _index() -> LinkIndex:
    return LinkIndex(
        Named(UUID(int=number), path, _TITLES.get(path, path.rpartition("/")[2].rpartition(".")[0]), aliases)
        for number, (path, aliases) in enumerate(_NOTES.items())
    )


def _path(found: UUID | None) -> str | None:
    return None if found is None else list(_NOTES)[found.int]


@pytest.mark.parametrize(
    ("target", "source", "expected"),
    [
        ("Home", "projects/Plan.md", "Home.md"),
        ("home", "x.md", "Home.md"),
        ("Home.md", "x.md", "Home.md"),
        ("/Home", "projects/Plan.md", "Home.md"),
        ("Plan", "x.md", "projects/Plan.md"),
        ("Plan", "projects/old/x.md", "projects/old/Plan.md"),
        ("old/Plan", "x.md", "projects/old/Plan.md"),
        ("projects/old/Plan", "x.md", "projects/old/Plan.md"),
        ("../Plan.md", "projects/old/Plan.md", "projects/Plan.md"),
        ("./Plan.md", "projects/old/x.md", "projects/old/Plan.md"),
        ("../../Home", "projects/old/x.md", "Home.md"),
        ("Ada", "x.md", "people/Ada Byron.md"),
        ("countess of lovelace", "x.md", "people/Ada Byron.md"),
        ("people/Ada%20Byron.md", "x.md", "people/Ada Byron.md"),
        ("Release notes", "x.md", "notes/v1.2.md"),
        ("v1.2", "x.md", "notes/v1.2.md"),
        ("メモ", "x.md", "日記/メモ.md"),
        ("a", "x.md", "a.markdown"),
        ("", "projects/Plan.md", "projects/Plan.md"),
        ("  ", "projects/Plan.md", "projects/Plan.md"),
        ("Case", "x.md", "Case.md"),
        ("CASE", "x.md", "CASE.md"),
        ("case.MD", "x.md", "CASE.md"),
        ("Nowhere", "x.md", None),
        ("new/Plan", "x.md", None),
        ("../outside", "x.md", None),
        ("image.png", "x.md", None),
        ("https://example.org/Home", "x.md", None),
    ],
)
def test_a_target_leads_where_a_reader_expects(target: str, source: str, expected: str | None) -> None:
    """V3: path, then name (nearest first), then alias or title; case, extension and escapes do not matter."""
    assert _path(_index().resolve(target, source_path=source)) == expected


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", "x/a", "y/a", "x/y/b", "A"]), st.sampled_from(["", "a", "b", "c"])),
        unique_by=lambda pair: pair[0],
        max_size=6,
    ),
    st.sampled_from(["a", "b", "c", "x/a", "y/b", "../a"]),
    st.randoms(use_true_random=False),
)
def test_the_order_of_notes_never_matters(notes: Any, target: str, chance: Any) -> None:
    """V3: the same vault gives the same links, in whatever order it was read."""
    named = [
        Named(UUID(int=number), f"{path}.md", path.rpartition("/")[2], (alias,) if alias else ())
        for number, (path, alias) in enumerate(notes)
    ]
    found = LinkIndex(named).resolve(target, source_path="x/s.md")
    chance.shuffle(named)
    assert LinkIndex(named).resolve(target, source_path="x/s.md") == found


def test_composed_and_decomposed_names_are_one() -> None:
    """V4: macOS writes names decomposed, people type them composed; either finds the other, two files stay two."""
    composed, decomposed = "Caf\u00e9", "Cafe\u0301"
    for standing, target in ((composed, decomposed), (decomposed, composed)):
        index = LinkIndex([Named(UUID(int=1), f"a/{standing}.md", standing, (f"{standing} bar",))])
        for form in (target, f"a/{target}", f"{target}.md", f"{target} bar"):
            assert index.resolve(form, source_path="x.md") == UUID(int=1)
    both = LinkIndex(Named(UUID(int=n), f"{name}.md", name, ()) for n, name in enumerate((composed, decomposed)))
    assert {both.resolve(name, source_path="x.md") for name in (composed, decomposed)} <= {UUID(int=0), UUID(int=1)}


@pytest.mark.parametrize(
    "name", ["עברית", "مرحبا \u202eب", "👩\u200d🚀 plan", "日記", "a\u00a0b", "İstanbul", "STRASSE"]
)
def test_names_of_every_script_are_found(name: str) -> None:
    """V4: right-to-left, emoji and CJK names, whatever the case."""
    index = LinkIndex([Named(UUID(int=1), f"x/{name}.md", name, ())])
    for form in (name, f"x/{name}", f"../x/{name}.md", name.upper()):
        assert index.resolve(form, source_path="y/z.md") == UUID(int=1)


def test_many_notes_of_one_name_cost_little() -> None:
    """V4: 20,000 links to 20,000 notes called `index`, each by the end of its path."""
    index = LinkIndex(Named(UUID(int=n), f"a/topic{n}/index.md", f"Topic {n}", ()) for n in range(20_000))
    start = time.process_time()
    for number in range(20_000):
        assert index.resolve(f"topic{number}/index", source_path="b/c.md") == UUID(int=number)
    assert time.process_time() - start < 4


def test_a_canvas_is_linked_by_its_file() -> None:
    """V3: with its extension, and by its title where no note has the name."""
    index = LinkIndex([Named(UUID(int=1), "b/Board.canvas", "Board", ()), Named(UUID(int=2), "x/Plan.md", "Plan", ()),
                       Named(UUID(int=3), "b/Plan.canvas", "Plan", ())])  # fmt: skip
    assert index.resolve("Board.canvas", source_path="y.md") == UUID(int=1)
    assert index.resolve("Board", source_path="y.md") == UUID(int=1)
    assert index.resolve("Plan", source_path="y.md") == UUID(int=2)
    assert index.resolve("b/Plan.canvas", source_path="y.md") == UUID(int=3)
