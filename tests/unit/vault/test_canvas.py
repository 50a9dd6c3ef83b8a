"""Canvases: cards as text, files as links, lines as connections."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.vault.canvas import Canvas, Connection, NotACanvas, read_canvas
from kos_assets.vault.markdown import Heading, Link, Task
from kos_assets.vault.note import ParsedNote, parse_note
from kos_assets.vault.problems import Unreadable


def _card(name: str, kind: str, x: Any = 0, y: Any = 0, **values: Any) -> dict[str, Any]:
    return {"id": name, "type": kind, "x": x, "y": y, "width": 100, "height": 50, **values}


def _board(nodes: list[Any], edges: list[Any] | None = None) -> str:
    """As Obsidian writes it: a card and a line each on a line of its own."""
    cards = ",\n".join(f"\t\t{json.dumps(node, ensure_ascii=False)}" for node in nodes)
    lines = ",\n".join(f"\t\t{json.dumps(edge, ensure_ascii=False)}" for edge in edges or [])
    return f'{{\n\t"nodes":[\n{cards}\n\t],\n\t"edges":[\n{lines}\n\t]\n}}'


def _read(text: str) -> Canvas:
    canvas = read_canvas(text)
    assert isinstance(canvas, Canvas)
    return canvas


WHOLE = _board(
    [
        _card("t2", "text", 0, 300, text="Second, see [[Plan#Aim|the plan]] #later"),
        _card("t1", "text", 0, 0, text="# First\n- [x] done\n- [ ] open"),
        _card("g", "group", 500, 0, label="Ovens", width=400, height=400),
        _card("f1", "file", 510, 200, file="kitchen/Oven.md", subpath="#Heat"),
        _card("f2", "file", 510, 20, file="kitchen/Rye.md", subpath="#^abc"),
        _card("u", "link", 0, 400, url="https://example.org/x"),
        _card("i", "file", 0, 500, file="attic/photo.png"),
    ],
    [
        {"id": "e1", "fromNode": "f1", "toNode": "f2", "label": "bakes"},
        {"id": "e2", "fromNode": "t1", "toNode": "t2"},
        {"id": "e3", "fromNode": "t1", "toNode": "g", "label": "leads\nto"},
        {"id": "e4", "fromNode": "f2", "toNode": "f1", "fromEnd": "arrow", "toEnd": "none"},
    ],
)


def test_a_board_reads_as_the_eye_does() -> None:
    """V3: loose cards from top to bottom, then each group under its label; lines last, where they say something."""
    assert _read(WHOLE).body == (
        "# First\n- [x] done\n- [ ] open\n\nSecond, see [[Plan#Aim|the plan]] #later\n\n<https://example.org/x>\n\n"
        "![[attic/photo.png]]\n\n## Ovens\n\n![[kitchen/Rye.md#^abc]]\n\n![[kitchen/Oven.md#Heat]]\n\n"
        "- Oven → Rye: bakes\n- First → Ovens: leads to\n- Oven → Rye"
    )


def test_cards_give_links_headings_tags_and_tasks_with_the_lines_of_the_file() -> None:
    """V3: what a card links, heads, tags and ticks counts; connections run between files, in the arrow's direction."""
    canvas = _read(WHOLE)
    assert canvas.found.links == [
        Link("wikilink", "Plan", "Aim", None, "the plan", 3),
        Link("embed", "attic/photo.png", None, None, None, 9),
        Link("embed", "kitchen/Rye.md", None, "abc", None, 7),
        Link("embed", "kitchen/Oven.md", "Heat", None, None, 6),
    ]
    assert canvas.found.headings == [Heading(1, "First", 4), Heading(2, "Ovens", 5)]
    assert canvas.found.tasks == [Task("x", "done", 4), Task(" ", "open", 4)]
    assert canvas.found.tags == ["later"]
    assert canvas.connections == [
        Connection("kitchen/Oven.md", "kitchen/Rye.md", "bakes"), Connection("kitchen/Oven.md", "kitchen/Rye.md", ""),
    ]  # fmt: skip
    assert canvas.problems == []


def test_the_order_of_drawing_changes_nothing() -> None:
    """V2: a card that was only touched moves to the end of the file, which is no new text to embed."""
    nodes = json.loads(WHOLE)["nodes"]
    assert _read(_board(nodes[::-1])).body == _read(_board(nodes)).body


def test_a_canvas_is_a_note_that_is_never_stamped() -> None:
    """V2, V3: title from the file's name; its id is for the sidecar; its name may date it, its cards do not."""
    note = parse_note("b/2026-03-04 Board.canvas", WHOLE.encode())
    assert isinstance(note, ParsedNote)
    assert (note.title, note.title_rule, note.stampable) == ("2026-03-04 Board", "filename", False)
    assert (note.event_rule, note.content, note.body_line) == ("filename", note.body, 1)
    undated = parse_note("b/Board.canvas", _board([_card("a", "text", text="Date: 2026-03-04")]).encode())
    assert isinstance(undated, ParsedNote)
    assert (undated.event_at, undated.event_rule) == (None, "none")


@pytest.mark.parametrize("data", [b"", b" \n", b"{}", b'{"nodes":[],"edges":[]}', b'\xef\xbb\xbf{"nodes": []}'])
def test_an_empty_board_is_an_empty_note(data: bytes) -> None:
    """V3: as a new canvas is; nothing to fold with other empty notes."""
    note = parse_note("Board.canvas", data)
    assert isinstance(note, ParsedNote)
    assert (note.title, note.content, note.body_hash, note.problems) == ("Board", "", None, ())


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{\n"nodes": [\n{"id": "a",}\n]}', 3),
        ('{"nodes": [', 1),
        ("[]", 1),
        ("# Not a canvas\n", 1),
        ("[" * 200_000, 1),
        ('{"nodes":[{"x":' + "9" * 5000 + "}]}", 1),
        ("<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> x\n", 1),
    ],
)
def test_broken_json_is_quarantined_with_its_line(text: str, line: int) -> None:
    """V1, V4: the reason names the line, the fix says what to do; the file gives no note."""
    found = read_canvas(text)
    assert isinstance(found, NotACanvas)
    assert found.line == line
    unreadable = parse_note("b.canvas", text.encode())
    assert isinstance(unreadable, Unreadable)
    assert unreadable.code == "canvas_broken"
    assert f"line {line}" in unreadable.reason
    assert f"line {line}" in unreadable.fix


def test_odd_cards_and_lines_are_reported_and_the_rest_counts() -> None:
    """V4: unknown kinds, missing ends, values of the wrong type: each has its line and hides nothing else."""
    canvas = _read(
        _board(
            [7, _card("w", "portal"), _card("a", "text", text=5), _card("b", "text", "x", None, text="said"),
             _card("c", "file", file=None), _card("d", "text", 10**400, text="also"), {"type": "text", "text": "no id"},
             _card("b", "text", text="same id")],
            [{"id": "e", "fromNode": "b", "toNode": "gone"}, "x", {"id": "f"}],
        )
    )  # fmt: skip
    assert set(canvas.body.split("\n\n")) == {"said", "also", "no id"}
    assert [(problem.code, problem.line) for problem in canvas.problems] == [
        ("canvas_card_unknown", 1), ("canvas_card_unknown", 4), ("canvas_edge_dangling", 13),
        ("canvas_edge_dangling", 1), ("canvas_edge_dangling", 15),
    ]  # fmt: skip


def test_marks_that_a_card_leaves_open_end_with_it() -> None:
    """V3: a fence that is not closed in one card does not swallow the next."""
    canvas = _read(_board([_card("a", "text", text="```dataview\nLIST"), _card("b", "text", 0, 9, text="said [[X]]")]))
    assert canvas.body == "```dataview\nLIST\n```\n\nsaid [[X]]"
    assert [link.target for link in canvas.found.links] == ["X"]


@settings(max_examples=60, deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=5), lambda inner: st.lists(inner) | (
    st.dictionaries(st.sampled_from(["nodes", "edges", "id", "type", "text", "file", "x", "width", "fromNode"]), inner)
), max_leaves=12))  # fmt: skip
def test_any_json_gives_a_board_or_a_reason(value: Any) -> None:
    """V4: nothing in a canvas raises."""
    read_canvas(json.dumps(value))
    read_canvas(json.dumps({"nodes": value, "edges": value}))
    read_canvas(json.dumps({"nodes": [value], "edges": [value]}))


def test_large_boards_take_linear_time() -> None:
    """V4: 20,000 cards in 5,000 groups with 20,000 lines."""
    nodes = [_card(f"n{number}", "text", number, number, text="x") for number in range(20_000)]
    groups = [_card(f"g{number}", "group", number, number, label="g") for number in range(5_000)]
    edges = [{"id": f"e{number}", "fromNode": "n1", "toNode": f"n{number}"} for number in range(20_000)]
    text = _board(nodes + groups, edges)
    start = time.process_time()
    _read(text)
    assert time.process_time() - start < 4
