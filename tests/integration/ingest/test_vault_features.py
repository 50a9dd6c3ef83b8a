"""What a vault holds beside plain notes, from the file to what is stored: canvases, code of plugins, dates, anchors."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

BOARD = json.dumps(
    {
        "nodes": [
            {
                "id": "a",
                "type": "text",
                "x": 0,
                "y": 0,
                "width": 9,
                "height": 9,
                "text": "Marzipan cools slowly [[b#Aim]]",
            },
            {"id": "b", "type": "file", "x": 0, "y": 50, "width": 9, "height": 9, "file": "notes/a.md"},
        ],
        "edges": [{"id": "e", "fromNode": "a", "toNode": "b", "label": "then"}],
    }
)


def _git(root: Path, *arguments: str, at: int = 1_500_000_000) -> None:
    stamp = f"@{at} +0000"
    environment = {
        "PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp,
    }  # fmt: skip
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True, env=environment)


def test_a_canvas_is_a_note_with_edges(either: Any) -> None:
    """V2, V3, V5: its cards are content, its files and links are edges, its id is in the sidecar, its bytes stay."""
    either.write("notes/a.md", "About a.\n")
    either.write("notes/b.md", "# B\n\n## Aim\n\nAbout b.\n")
    board = either.write("Board.canvas", BOARD)
    either.ingest()
    assert either.rows("select title, stamped, event_rule from kos.notes where path = 'Board.canvas'") == [
        ("Board", False, "mtime")
    ]
    assert either.rows("""
        select e.kind, t.note_path, e.detail ->> 'anchor' from kos.edges as e join kos.memories as s
        on e.src_id = s.memory_id join kos.memories as t on e.dst_id = t.memory_id
        where s.note_path = 'Board.canvas' order by 1
    """) == [("embeds", "notes/a.md", None), ("links_to", "notes/b.md", "Aim")]  # fmt: skip
    assert any("Marzipan" in text for text in either.embedder.texts)
    assert board.read_text() == BOARD
    assert '"Board.canvas"' in (either.root / ".kos/ids.jsonl").read_text()
    calls = len(either.embedder.calls)
    assert either.ingest().notes.read == 0
    board.rename(either.root / "notes/Plan.canvas")
    assert either.ingest().notes.moved == 1
    texts = [text for call in either.embedder.calls[calls:] for text in call]
    assert all(text.startswith("Plan") for text in texts)


def test_a_canvas_that_broke_keeps_what_it_said(place: Any) -> None:
    """V1, V4: the reason names the line; the other notes go on; mended, it is a note again with the same id."""
    place.write("Board.canvas", BOARD)
    place.ingest()
    before = place.rows("select note_id, content from kos.notes")
    place.write("Board.canvas", BOARD[:-1], at=1_780_000_060)
    place.write("new.md", "New.\n")
    assert place.ingest().notes.blocked == 1
    assert place.rows("select note_id, content from kos.notes where path = 'Board.canvas'") == before
    (reason, fix), = place.rows("select reason, fix from kos.quarantine where path = 'Board.canvas'")  # fmt: skip
    assert "line 1" in reason
    assert "line 1" in fix
    place.write("Board.canvas", BOARD, at=1_780_000_120)
    assert place.ingest().notes.blocked == 0
    assert place.rows("select count(*) from kos.notes where deleted_at is null") == [(2,)]
    assert place.rows("select note_id, content from kos.notes where path = 'Board.canvas'") == before


def test_code_of_plugins_is_stored_but_neither_embedded_nor_found(place: Any) -> None:
    """V3: Dataview, Templater, comments, queries and block ids are in the content; no vector or posting has them."""
    code = "\n".join(f"LIST zanzibar{number}" for number in range(400))
    place.write(
        "a.md",
        f"Bread rises ^zanzid\n\n```dataview\n{code}\n```\n\n## Next\n\n%%\nzanzibar comment\n\nmore zanzibar\n%%\n\n"
        "<%* zanzibar\nzanzibar %>It cools. `= this.zanzibar`\n\n> [!zanzibar]- Mind the crust\n> It breaks.\n\n"
        "> ```tasks\n> zanzibar\n> ```\n",
    )
    place.ingest()
    content = place.rows("select content from kos.memories")[0][0]
    assert content.count("zanzibar") == 407
    bodies = " ".join(row[0] for row in place.rows("select body from kos.chunks order by ordinal"))
    assert " ".join(bodies.split()) == "Bread rises ## Next It cools. > Mind the crust > It breaks."
    assert not any("zanzi" in text for text in place.embedder.texts)
    assert place.rows("select count(*) from kos.postings where term like 'zanz%%'") == [(0,)]
    assert place.rows("select count(*) from kos.postings where term like 'crust%%'") != [(0,)]


def test_undated_notes_are_dated_by_git_then_by_their_file(place: Any) -> None:
    """S10: frontmatter, text, git, file: the rule is recorded, and only what the note says is made words."""
    place.write("told.md", "Berlin, 4 March 2026\n\nDear Ada\n")
    place.write("old.md", "Undated.\n")
    _git(place.root, "init")
    _git(place.root, "add", "-A")
    _git(place.root, "commit", "-m", "x")
    place.write("old.md", "Undated, edited.\n")
    _git(place.root, "commit", "-am", "y", at=1_600_000_000)
    place.write("new.md", "Not committed.\n")
    place.ingest()
    assert place.rows("select path, event_rule, event_at from kos.notes order by path") == [
        ("new.md", "mtime", datetime.fromtimestamp(1_780_000_000, UTC)),
        ("old.md", "git", datetime.fromtimestamp(1_500_000_000, UTC)),
        ("told.md", "text", datetime(2026, 3, 4, tzinfo=UTC)),
    ]
    assert place.rows("select count(*) from kos.postings where term = '2017'") == [(0,)]
    assert place.rows("select count(*) from kos.postings where term = '2026'") == [(1,)]
    assert place.ingest().notes.changed == 0


def test_links_keep_the_anchor_that_they_name(place: Any) -> None:
    """V3: `#heading` and `#^block` lead to the note; the edge keeps where in it."""
    place.write("a.md", "[[b#Aim|the aim]], ![[c#^id-1]], [d](d.md#My%20Part)\n")
    for name in "bcd":
        place.write(f"{name}.md", f"About {name}.\n\n## Aim\n\nx ^id-1\n")
    place.ingest()
    assert place.rows("""
        select e.kind, t.note_path, e.detail ->> 'anchor' from kos.edges as e join kos.memories as t
        on e.dst_id = t.memory_id order by t.note_path
    """) == [("links_to", "b.md", "Aim"), ("embeds", "c.md", "^id-1"), ("links_to", "d.md", "My Part")]  # fmt: skip


def test_a_note_that_is_only_in_the_cloud_stays(place: Any) -> None:
    """V4, promise 4: iCloud takes the file away and leaves a placeholder; the note is not deleted for it."""
    place.write("a.md", "About a.\n")
    place.write("b.md", "About b.\n")
    place.ingest()
    (place.root / "a.md").unlink()
    place.write(".a.md.icloud", b"bplist00")
    assert place.ingest().notes.deleted == 0
    assert place.rows("select count(*) from kos.memories where deleted_at is null") == [(2,)]
    assert place.rows("select path, code from kos.quarantine") == [("a.md", "not_downloaded")]
    (place.root / ".a.md.icloud").unlink()
    assert place.ingest().notes.deleted == 1


def test_lines_of_a_canvas_connect_notes(place: Any) -> None:
    """S8, V3: a line from one file to another is an edge between their notes, with what is written on it."""
    for name in "ab":
        place.write(f"{name}.md", f"About {name}.\n")
    nodes = [{"id": name, "type": "file", "file": f"{name}.md"} for name in ("a", "b", "gone")]
    lines = [("a", "b", "bakes"), ("a", "gone", ""), ("b", "b", "")]
    edges = [{"fromNode": first, "toNode": last, "label": label} for first, last, label in lines]
    place.write("Board.canvas", json.dumps({"nodes": nodes, "edges": edges}))
    query = """
        select s.note_path, t.note_path, e.detail ->> 'label' from kos.edges as e join kos.memories as s
        on e.src_id = s.memory_id join kos.memories as t on e.dst_id = t.memory_id where e.kind = 'connects'
    """
    place.ingest()
    assert place.rows(query) == [("a.md", "b.md", "bakes")]
    place.write("a.md", "About a, edited.\n", at=1_780_000_060)
    place.ingest()
    assert place.rows(query) == [("a.md", "b.md", "bakes")]
    place.write("Board.canvas", json.dumps({"nodes": nodes, "edges": []}), at=1_780_000_060)
    place.ingest()
    assert place.rows(query) == []


def test_a_line_shows_no_more_than_its_canvas(fresh: Any, tmp_path: Path) -> None:
    """S12: a private board over two public notes gives no edge that others could see."""
    with fresh(tmp_path / "v", namespace_folders={"mine": "agent:ada"}) as place:
        for name in "ab":
            place.write(f"{name}.md", f"About {name}.\n")
        nodes = [{"id": name, "type": "file", "file": f"{name}.md"} for name in "ab"]
        board = json.dumps({"nodes": nodes, "edges": [{"fromNode": "a", "toNode": "b"}]})
        place.write("mine/Board.canvas", board)
        place.ingest()
        assert place.rows("select count(*) from kos.edges where kind = 'connects'") == [(0,)]


def test_a_note_that_is_committed_later_is_dated_as_a_rebuild_would(place: Any) -> None:
    """S10, promise 1: until it is in git its file's time counts; afterwards the commit does, without an edit."""
    place.write("a.md", "Undated.\n")
    place.ingest()
    _git(place.root, "init")
    assert place.ingest().notes.changed == 0
    _git(place.root, "add", "-A")
    assert place.ingest().notes.changed == 0
    _git(place.root, "commit", "-m", "x")
    assert place.ingest().notes.changed == 1
    rows = [place.rows(f"select event_rule, event_at from kos.{table}")[0] for table in ("notes", "memories")]
    assert rows == [("git", datetime.fromtimestamp(1_500_000_000, UTC))] * 2
    assert place.ingest().notes.read == 0


def test_a_file_that_cannot_be_read_is_told_to_its_folders_readers_alone(fresh: Any, tmp_path: Path) -> None:
    """S12: its path may say what it is about; a note that was narrower before stays the owner's."""
    with fresh(tmp_path / "v", namespace_folders={"mail": "shared:family"}) as place:
        place.write("mail/a.md", b"\x00\x01\x02\xff\xfe" * 400)
        place.write("b.md", "---\nkos_namespace: agent:ada\n---\nSecret.\n")
        place.write("c.md", b"\x00\x01\x02\xff\xfe" * 400)
        place.ingest()
        place.write("b.md", b"\x00\x01\x02\xff\xfe" * 400, at=1_780_000_060)
        place.ingest()
        held = place.rows("select path, namespace from kos.quarantine where severity = 'blocked' order by path")
        assert held == [("b.md", "shared:owner"), ("c.md", "global"), ("mail/a.md", "shared:family")]
