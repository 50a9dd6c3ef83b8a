"""What a comparison of two stores finds, and what it lets pass."""

from __future__ import annotations

import copy
from typing import Any
from uuid import UUID

import pytest

from kos_assets.operations.rebuild_compare import Comparison, compare_facts

NOTE, OLD, NEW, GONE = (UUID(int=number) for number in range(1, 5))


def memory(memory_id: UUID, **values: Any) -> dict[str, Any]:
    """One row of the facts."""
    return {
        "memory_id": memory_id, "namespace": "global", "memory_type": "semantic", "heading": "Secret heading",
        "content": "md5", "provenance": "raw", "confidence": 0.9, "supersedes": None, "note_path": None, "author": "o",
        "event_at": None, "verified_at": None, "verified_by": None, "verified_how": None, "boost": 1,
        "expires_at": None, "retired": None, "is_statement": True, "stands": True, **values,
    }  # fmt: skip


def facts() -> dict[str, Any]:
    """A note, a correction and what it superseded, a statement whose file is gone."""
    return {
        "memories": [
            memory(NOTE, is_statement=False, note_path="a.md"),
            memory(OLD, retired="superseded"),
            memory(NEW, supersedes=OLD),
            memory(GONE, retired="file_deleted", stands=False),
        ],
        "indexed": [
            {"memory_id": key, "home_path": "memories", "event_zone": None, "passages": 2, "vectors": 3}
            for key in (NOTE, NEW)
        ],
        "edges": [{"src_id": NEW, "kind": "contradicts", "dst_id": NOTE, "veto": None, "code": "distance"}],
        "blocked": [{"path": "b.md", "code": "not_written_by_gate"}],
        "reviews": [{"memory_id": NEW, "other_id": NOTE, "code": "distance"}],
    }


def differing(comparison: Comparison) -> dict[str, list[str]]:
    """What was found, by name."""
    return {item.what: list(item.differing) for item in comparison.findings if not item.equal}


def test_equal_stores_are_equal() -> None:
    """Promise 1: nothing is found; a statement that no file stands for is not expected in a rebuilt store."""
    rebuilt = facts()
    rebuilt["memories"].pop()
    found = compare_facts(facts(), rebuilt)
    assert found.equal
    assert differing(found) == {}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("namespace", "shared:crew"), ("memory_type", "episodic"), ("heading", "Another"), ("content", "other md5"),
        ("provenance", "derived"), ("confidence", 0.5), ("note_path", "b.md"), ("author", "p"), ("event_at", 1),
        ("verified_at", 1), ("verified_by", "o"), ("verified_how", "test"), ("boost", 2), ("expires_at", 1),
        ("retired", "expired"),
    ],
)  # fmt: skip
def test_every_field_of_a_live_memory_counts(field: str, value: Any) -> None:
    """V6: verifications, boosts and all that a file or the ledger says; the id is named, no text."""
    rebuilt = facts()
    rebuilt["memories"][0][field] = value
    found = compare_facts(facts(), rebuilt)
    assert differing(found)["live memories"] == [str(NOTE)]
    assert "Secret" not in str(found.rows())


@pytest.mark.parametrize("field", ["home_path", "event_zone"])
def test_the_place_and_the_zone_count(field: str) -> None:
    """S8, S10."""
    rebuilt = facts()
    rebuilt["indexed"][0][field] = "elsewhere"
    assert differing(compare_facts(facts(), rebuilt)) == {"live memories": [str(NOTE)]}


def test_ends_and_outcomes_count() -> None:
    """V6: what was superseded by what, and how what is not live ended, notes that were forgotten among them."""
    rebuilt = facts()
    rebuilt["memories"][1]["retired"] = "forgotten"
    assert differing(compare_facts(facts(), rebuilt)) == {"retired statements": [str(OLD)]}
    rebuilt = facts()
    rebuilt["memories"][2]["supersedes"] = None
    assert differing(compare_facts(facts(), rebuilt))["superseded by"] == [str(NEW)]
    left, right = facts(), facts()
    left["memories"][0]["retired"], right["memories"][0]["retired"] = "forgotten", "folded"
    assert differing(compare_facts(left, right))["forgotten notes"] == [str(NOTE)]


@pytest.mark.parametrize(
    ("rows", "what"), [("edges", "edges"), ("blocked", "blocked files"), ("reviews", "open contradictions")]
)
def test_lists_count(rows: str, what: str) -> None:
    """V6: whichever side has one more."""
    rebuilt = facts()
    rebuilt[rows] = []
    assert [*differing(compare_facts(facts(), rebuilt))] == [what]
    assert [*differing(compare_facts(rebuilt, facts()))] == [what]


def test_fewer_vectors_count_and_more_do_not() -> None:
    """R8, E5: a store whose provider was away does not take the place of one that has its vectors; passages are cut
    from the text alone, so any other number counts."""
    poorer = copy.deepcopy(facts())
    poorer["indexed"][1]["vectors"] = 2
    assert differing(compare_facts(facts(), poorer)) == {"vectors": [str(NEW)]}
    assert compare_facts(poorer, facts()).equal
    poorer = facts()
    poorer["indexed"][1]["passages"] = 3
    assert differing(compare_facts(facts(), poorer)) == {"passages": [str(NEW)]}
