"""G6 and S7 on a real store: equal bodies fold, nothing else does, and history says what happened."""

from __future__ import annotations

from collections import Counter
from typing import Any

_BODY = "The harbour opens at dawn.\n"


def _live(place: Any) -> list[str]:
    return [row[0] for row in place.rows("select note_path from kos.memories where deleted_at is null order by 1")]


def _folded(place: Any) -> list[tuple[str, str]]:
    return place.rows(  # type: ignore[no-any-return]
        "select m.note_path, c.note_path from kos.memories as m join kos.memories as c on m.folded_into = c.memory_id"
        " where m.deleted_reason = 'folded' order by 1"
    )


def _history(place: Any, path: str) -> list[Any]:
    return place.rows(  # type: ignore[no-any-return]
        "select h.action, h.reason, h.before, h.after from kos.memory_history as h join kos.memories as m"
        " using (memory_id) where m.note_path = %s order by history_id",
        path,
    )


def test_equal_bodies_fold_into_the_one_that_was_changed_last(place: Any) -> None:
    """G6: equality after whitespace folding; canonical by frontmatter updated/created, then the smallest path."""
    place.write("b.md", _BODY)
    place.write("c.md", "The   harbour\n\nopens at dawn.")
    place.write("a.md", f"---\ntags: [x]\n---\n{_BODY}")
    place.write("other.md", "The harbour opens at dusk.\n")
    place.ingest()
    assert _live(place) == ["a.md", "other.md"]
    assert _folded(place) == [("b.md", "a.md"), ("c.md", "a.md")]
    place.write("c.md", f"---\nupdated: 2026-02-01\n---\n{_BODY}", at=1_780_000_100)
    place.ingest()
    assert _folded(place) == [("a.md", "c.md"), ("b.md", "c.md")]
    place.write("b.md", f"---\ncreated: 2026-02-02\n---\n{_BODY}", at=1_780_000_200)
    place.ingest()
    assert _folded(place) == [("a.md", "b.md"), ("c.md", "b.md")]


def test_deleting_the_canonical_brings_the_next_back(place: Any) -> None:
    """G6: and editing a copy splits it off; neither needs its vector or chunks made again when the text is known."""
    for name in "abc":
        place.write(f"{name}.md", _BODY)
    place.ingest()
    assert _folded(place) == [("b.md", "a.md"), ("c.md", "a.md")]
    (place.root / "a.md").unlink()
    place.ingest()
    assert _live(place) == ["b.md"]
    assert _folded(place) == [("c.md", "b.md")]
    place.write("b.md", "Something else entirely.\n", at=1_780_000_100)
    place.ingest()
    assert _live(place) == ["b.md", "c.md"]
    assert _folded(place) == []
    place.write("a.md", _BODY, at=1_780_000_200)
    place.ingest()
    assert _live(place) == ["a.md", "b.md"]


def test_the_border_of_a_namespace_is_a_border_of_folding(place: Any) -> None:
    """G6, V9: equal bodies in two namespaces are two memories; moving one over the border folds or splits."""
    place.write("a.md", _BODY)
    place.write("b.md", f"---\nkos_namespace: shared:owner\n---\n{_BODY}")
    place.ingest()
    assert _live(place) == ["a.md", "b.md"]
    place.write("a.md", f"---\nkos_namespace: shared:owner\n---\n{_BODY}", at=1_780_000_100)
    place.ingest()
    assert _folded(place) == [("b.md", "a.md")]
    place.write("b.md", _BODY, at=1_780_000_200)
    place.ingest()
    assert _live(place) == ["a.md", "b.md"]


def test_a_copy_that_ends_does_not_take_the_others_with_it(place: Any) -> None:
    """G6, promise 4: folding into a note that expires would lose the copy that does not; equal ends fold."""
    place.write("a.md", f"---\nexpires_at: 2026-01-01\nupdated: 2026-02-02\n---\n{_BODY}")
    place.write("b.md", _BODY)
    place.write("c.md", f"---\nexpires_at: 2150-01-01\n---\n{_BODY}")
    place.write("d.md", f"---\nexpires_at: 2150-01-01\n---\n{_BODY}")
    place.ingest()
    assert _folded(place) == [("d.md", "c.md")]
    seen = place.rows("select note_path from kos.memories where deleted_at is null and"
                      " (expires_at is null or expires_at > now()) order by 1")  # fmt: skip
    assert seen == [("b.md",), ("c.md",)]
    place.write("c.md", _BODY, at=1_780_000_100)
    place.ingest()
    assert _folded(place) == [("c.md", "b.md")]


def test_empty_notes_never_fold(place: Any) -> None:
    """G6: two notes that say nothing are not the same note."""
    place.write("a.md", "")
    place.write("b.md", "\n\n")
    place.write("c.md", "---\ntags: [x]\n---\n")
    place.ingest()
    assert _live(place) == ["a.md", "b.md", "c.md"]


def test_near_matches_stay_beside_each_other(place: Any) -> None:
    """G6: whatever is not equal gets a `similar_to` edge; both stay live, and the edge goes when the likeness goes."""
    text = "The quick brown fox jumps over the lazy dog every single day of the whole long year. " * 3 + "Port {}.\n"
    place.write("a.md", text.format(8080))
    place.write("b.md", text.format(9090))
    place.write("far.md", "Nothing of the kind.\n")
    place.ingest()
    edge = "select kind, provenance, weight >= 0.92, (detail ->> 'distance')::float8 < 0.08 from kos.edges"
    assert _live(place) == ["a.md", "b.md", "far.md"]
    assert place.rows(edge) == [("similar_to", "derived", True, True)]
    place.write("b.md", "---\nkos_namespace: shared:owner\n---\n" + text.format(9090), at=1_780_000_100)
    place.ingest()
    assert place.rows(edge) == []
    place.write("b.md", text.format(9090), at=1_780_000_200)
    place.ingest()
    assert len(place.rows(edge)) == 1


def test_links_of_a_folded_copy_are_the_canonicals(place: Any) -> None:
    """G6, S8: a copy's own links (in its frontmatter) leave the canonical memory, and go when the copy drops them."""
    place.write("x.md", "Target x.\n")
    place.write("y.md", "Target y, see [[b]].\n")
    place.write("a.md", f"---\nup: '[[x]]'\n---\n{_BODY}")
    place.write("b.md", f"---\nup: '[[y#Top]]'\n---\n{_BODY}")
    place.ingest()
    links = (
        "select s.note_path, d.note_path, e.detail ->> 'anchor' from kos.edges as e"
        " join kos.memories as s on e.src_id = s.memory_id join kos.memories as d on e.dst_id = d.memory_id"
        " where e.kind = 'links_to' order by 1, 2"
    )
    assert place.rows(links) == [("a.md", "x.md", None), ("a.md", "y.md", "Top"), ("y.md", "a.md", None)]
    place.write("a.md", f"---\nup: '[[x]]'\nstatus: new\n---\n{_BODY}", at=1_780_000_050)
    place.ingest()
    assert place.rows(links) == [("a.md", "x.md", None), ("a.md", "y.md", "Top"), ("y.md", "a.md", None)]
    place.write("b.md", f"---\nup: '[[nowhere]]'\n---\n{_BODY}", at=1_780_000_100)
    place.ingest()
    assert place.rows(links) == [("a.md", "x.md", None), ("y.md", "a.md", None)]
    place.write("a.md", _BODY, at=1_780_000_200)
    place.ingest()
    assert place.rows(links) == [("y.md", "a.md", None)]


def test_history_tells_every_change(place: Any) -> None:
    """S7: insert, update, fold, restore and retire, each with who, why, and what was and became of it."""
    place.write("a.md", "First.\n")
    place.ingest()
    place.write("a.md", "Second.\n", at=1_780_000_100)
    place.ingest()
    place.write("Z.md", "Second.\n", at=1_780_000_100)
    place.ingest()
    (place.root / "Z.md").unlink()
    place.ingest()
    (place.root / "a.md").unlink()
    place.ingest()
    found = _history(place, "a.md")
    assert [row[0] for row in found] == ["insert", "update", "fold", "restore", "retire"]
    assert [row[1] for row in found] == ["note", "note changed", "equal body", "was folded", "note_deleted"]
    assert (found[1][2]["content"], found[1][3]["content"]) == ("First.", "Second.")
    assert found[2][2] == {"deleted_at": None, "deleted_reason": None, "folded_into": None}
    assert (found[2][3]["deleted_reason"], found[3][2]["deleted_reason"]) == ("folded", "folded")
    assert (found[3][3]["deleted_at"], found[4][3]["deleted_reason"]) == (None, "note_deleted")
    assert found[0][2:] == (None, None)
    whole = place.rows("select distinct principal, namespace from kos.memory_history")
    assert whole == [("owner", "global")]


def test_history_of_a_copy_that_is_born_folded_says_into_what(place: Any) -> None:
    """S7: a copy never was live; an edit of its frontmatter is an update, not another fold."""
    place.write("a.md", _BODY)
    place.write("b.md", _BODY)
    place.ingest()
    [(canonical,)] = place.rows("select memory_id from kos.memories where note_path = 'a.md'")
    assert _history(place, "b.md") == [
        ("fold", "folded", None, {"deleted_reason": "folded", "folded_into": str(canonical)})
    ]
    place.write("b.md", f"---\ntags: [x]\n---\n{_BODY}", at=1_780_000_100)
    place.ingest()
    assert [row[0] for row in _history(place, "b.md")] == ["fold", "update"]


def test_the_past_can_be_read_back_from_history(place: Any) -> None:
    """S7: undoing the changes one by one, newest first, arrives at what was inserted."""
    texts = ["One.\n", "---\ntags: [x]\n---\nTwo.\n", "---\nmemory_type: procedural\n---\nTwo.\n", "Three.\n"]
    states = []
    for number, text in enumerate(texts):
        place.write("a.md", text, at=1_780_000_000 + number)
        place.ingest()
        states.append(place.rows("select content, keywords, memory_type from kos.memories")[0])
    now = dict(zip(("content", "keywords", "memory_type"), states.pop(), strict=True))
    for _, _, before, after in reversed(_history(place, "a.md")[1:]):
        for name in now.keys() & before.keys():
            assert now[name] == after[name]
            now[name] = before[name]
        assert tuple(now.values()) == states.pop()
    assert states == []


def test_what_a_memory_says_of_its_note(place: Any) -> None:
    """S2, S4, S8, S10, G7: type with reason, provenance, confidence, home, time with its zone, path, author."""
    place.write(
        "Büro/2026-03-04 call.md",
        "---\nauthor: Ada\nconfidence: 0.4\nprovenance: derived\nmemory_type: procedural\n"
        "date: 2026-03-04T09:00+05:30\n---\nText.\n",
    )
    place.write("daily/note.md", "Undated.\n", at=1_750_000_000)
    place.ingest()
    rows = place.rows(
        "select heading, memory_type, type_reason, type_confidence, provenance, round(confidence::numeric, 2)::float8,"
        " home::text, home_path, event_at at time zone 'UTC', event_zone, event_rule, author"
        " from kos.memories order by 1"
    )
    assert [tuple(map(str, row)) for row in rows] == [
        ("2026-03-04 call", "procedural", "explicit", "1.0", "derived", "0.4", "B_0000fcro", "Büro",
         "2026-03-04 03:30:00", "+05:30", "frontmatter:date", "Ada"),
        ("note", "episodic", "folder", "0.9", "raw", "0.95", "daily", "daily", "2025-06-15 15:06:40", "UTC", "mtime",
         "None"),
    ]  # fmt: skip


def test_a_date_is_indexed_as_the_source_wrote_it(place: Any) -> None:
    """S10: a day written east of Greenwich is that day, not the UTC day before."""
    place.write("a.md", "---\ndate: 2026-03-04\ntz: Asia/Tokyo\n---\nText.\n")
    place.ingest()
    terms = Counter(row[0] for row in place.rows("select term from kos.postings"))
    assert {"2026-03-04", "text"} <= set(terms)
    assert "2026-03-03" not in terms
