"""V2, V4, S3, S4, V9: from a parsed note to the row that is stored."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kos_assets.ingest.note_rows import home_problem, note_links, note_row
from kos_assets.settings import Settings
from kos_assets.vault.note import ParsedNote, parse_note
from kos_assets.vault.scan import FileStat

_ID = UUID(int=7)
_SETTINGS = Settings(data_dir=Path("/nowhere"))


def _row(
    text: str | bytes, path: str = "folder/note.md", namespace: str = "global", mtime: int = 10**18
) -> dict[str, Any]:
    data = text.encode() if isinstance(text, str) else text
    note = parse_note(path, data)
    assert isinstance(note, ParsedNote)
    return note_row(note, _ID, namespace, FileStat(path, len(data), mtime), _SETTINGS)


def test_the_stamp_changes_nothing_of_the_row() -> None:
    """V2: neither the hash that memories follow, nor any property."""
    plain = _row("---\ntitle: T\n---\nText.\n")
    stamped = _row(f"---\ntitle: T\nkos_id: {_ID}\n---\nText.\n")
    assert plain == stamped


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"path": "folder/other.md"}, True), ({"path": "elsewhere/note.md"}, True), ({"namespace": "shared:x"}, True),
        ({"mtime": 2 * 10**18}, True), ({}, False),
    ],
)  # fmt: skip
def test_the_row_hash_covers_what_a_memory_is_made_from(change: dict[str, Any], differs: bool) -> None:
    """V5: a move, another namespace and another time are changes; the same file is none."""
    assert (_row("Text.\n", **change)["row_hash"] != _row("Text.\n")["row_hash"]) == differs


@pytest.mark.parametrize(
    ("head", "namespace", "expected"),
    [
        ("", "global", ("raw", 0.95)), ("", "shared:crew", ("raw", 0.95)), ("", "agent:robo", ("output", 0.7)),
        ("provenance: derived", "global", ("derived", 0.7)), ("provenance: hearsay", "global", ("raw", 0.95)),
        ("confidence: 0.3", "global", ("raw", 0.3)), ("confidence: 0", "global", ("raw", 0.0)),
    ],
)  # fmt: skip
def test_provenance_and_confidence(head: str, namespace: str, expected: tuple[str, float]) -> None:
    """S4, V9: what an agent wrote is output; frontmatter may say otherwise."""
    row = _row(f"---\nx: 1\n{head}\n---\nText.\n", namespace=namespace)
    assert (row["provenance"], row["confidence"]) == expected


def test_scratch_without_an_end_is_an_ordinary_note() -> None:
    """S3: the database would refuse it, and one note must not stop the others."""
    assert _row("---\nmemory_type: working\n---\nText.\n")["memory_type"] == "semantic"
    row = _row("---\nmemory_type: working\nexpires_at: 2150-01-01\n---\nText.\n")
    assert (row["memory_type"], row["expires_at"]) == ("working", datetime(2150, 1, 1, tzinfo=UTC))


def test_an_undated_note_has_the_time_of_its_file() -> None:
    """S10: and says so."""
    row = _row("Text.\n", mtime=1_750_000_000 * 10**9)
    assert (row["event_at"], row["event_rule"], row["event_zone"]) == (
        datetime.fromtimestamp(1_750_000_000, UTC), "mtime", "UTC",
    )  # fmt: skip
    assert _row("---\ndate: 2026-03-04\n---\n")["event_rule"] == "frontmatter:date"


@pytest.mark.parametrize(
    ("head", "home"),
    [("", "folder"), ("home: a/b/", "a/b"), (f"home: {'x/' * 1500}", "folder"), ("home: ''", "folder")],
)
def test_the_home_of_a_note(head: str, home: str) -> None:
    """S8: its folder, or its own wish where that fits into an index."""
    assert _row(f"---\nx: 1\n{head}\n---\nText.\n")["home_path"] == home
    note = parse_note("n.md", f"---\n{head}\n---\n".encode())
    assert isinstance(note, ParsedNote)
    assert (home_problem(note) is not None) == (len(head) > 2000)


_ESCAPES = st.lists(st.sampled_from(['"\\0"', '"\\ud800"', '"a"', "1", '"\\u00e9"']), min_size=1, max_size=6)


@given(_ESCAPES)
def test_no_text_is_what_postgres_refuses(values: list[str]) -> None:
    """V4: no NUL and no half of a surrogate pair in any column, nested or not, nor in a link."""
    items = ", ".join(values)
    text = (
        f"---\ntitle: {values[0]}\naliases: [{items}]\nx: {{y: [{items}]}}\nauthor: {values[-1]}\n"
        f'up: "[[a\\0b#c\\0]]"\n---\nText.\n'
    )
    row = _row(text)
    shown = json.dumps(row, default=str, ensure_ascii=False)
    shown.encode()
    assert "\\u0000" not in json.dumps(row, default=str)
    note = parse_note("n.md", text.encode())
    assert isinstance(note, ParsedNote)
    assert all("\0" not in str(value) for link in note_links(note, _ID) for value in link.values())


def test_links_in_their_order() -> None:
    """V3: embeds and links, with their anchors and lines."""
    note = parse_note("n.md", b"A [[one#Part|x]], ![[two]]\n[three](t%20h.md), [[four#^ref]].\n")
    assert isinstance(note, ParsedNote)
    assert [tuple(link.values())[1:] for link in note_links(note, _ID)] == [
        (0, "links_to", "one", "Part", 1), (1, "embeds", "two", None, 1), (2, "links_to", "four", "^ref", 2),
        (3, "links_to", "t h.md", None, 2),
    ]  # fmt: skip


def test_dates_of_undated_notes() -> None:
    """S10: what the note says, else when git first saw the file, else the file's own time; the rule is recorded."""
    committed = datetime(2020, 1, 2, tzinfo=UTC)

    def dated(text: str, commit: datetime | None) -> tuple[Any, Any]:
        note = parse_note("note.md", text.encode())
        assert isinstance(note, ParsedNote)
        row = note_row(note, _ID, "global", FileStat("note.md", 1, 10**18), _SETTINGS, committed=commit)
        return row["event_at"], row["event_rule"]

    assert dated("Berlin, 4 March 2026\n", committed) == (datetime(2026, 3, 4, tzinfo=UTC), "text")
    assert dated("Text.\n", committed) == (committed, "git")
    assert dated("Text.\n", None) == (datetime.fromtimestamp(10**9, UTC), "mtime")


def test_tasks_blocks_and_states_are_countable() -> None:
    """V3: tasks by state and by the mark in their box; block ids; frontmatter's status and tags stay where they are."""
    text = "---\nstatus: active\ntags: [a/b]\n---\n- [ ] a\n- [x] b\n- [X] c\n- [-] d\n- [/] e ^id1\n"
    row = _row(text)
    structure = row["structure"]
    assert (structure["tasks_open"], structure["tasks_done"], structure["tasks_cancelled"]) == (2, 2, 1)
    assert structure["tasks"] == {" ": 1, "-": 1, "/": 1, "x": 2}
    assert (structure["blocks"], structure["tags"]) == (["id1"], ["a/b"])
    assert row["properties"] == {"status": "active", "tags": ["a/b"]}


def test_code_of_plugins_stays_in_the_stored_content() -> None:
    """V3: what is not embedded is not lost: the row's content is the note's."""
    body = "Said.\n\n```dataview\nLIST\n```\n\n%% hidden %% <% tp.date.now() %> ^id\n> [!note]- T\n"
    assert _row(f"---\nx: 1\n---\n{body}")["content"] == body.strip("\n")
