"""What a change costs: nothing for an unchanged vault, one passage for an edited passage, no vector for a move."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kos_assets.vault.stamp import unstamped

_PARTS = {name: f"Paragraph {name} says what only {name} says. " * 30 for name in "abcdef"}


def _long(**changed: str) -> str:
    return "\n\n".join(f"## Part {name}\n\n{text}" for name, text in {**_PARTS, **changed}.items()) + "\n"


def _versions(place: Any) -> list[Any]:
    """Every row of every table with the transaction that wrote it."""
    tables = place.rows("select tablename from pg_tables where schemaname = 'kos' order by 1")
    return [
        (name, place.rows(f"select t.xmin::text, t.ctid::text, t::text from kos.{name} as t order by 2"))
        for (name,) in tables
    ]


def _files(root: Path) -> dict[str, tuple[bytes, int, int]]:
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino)
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def _hostile(place: Any) -> None:
    place.write("a.md", "First [[b]].\n")
    place.write("copy.md", "First [[b]].\n")
    place.write("b.md", f"---\naliases: [Bee]\n---\n{_long()}")
    place.write("broken.md", "---\nx: [1\n---\nBody.\n")
    place.write("binary.md", b"\x89PNG\r\n\x1a\n\x00")
    place.write("templates/t.md", "Template.\n")
    place.write("locked.md", "Read only.\n").chmod(0o444)
    (place.root / "link.md").symlink_to("a.md")


def test_an_unchanged_vault_writes_nothing(either: Any) -> None:
    """V5: no row, no file, in either stamp mode, with bad files in the vault; and no file is read but the bad one."""
    _hostile(either)
    either.ingest()
    first = either.ingest()
    rows, files, calls = _versions(either), _files(either.root), len(either.embedder.calls)
    report = either.ingest()
    assert _versions(either) == rows
    assert _files(either.root) == files
    assert len(either.embedder.calls) == calls
    assert (report.notes.read, report.notes.new, report.notes.changed, report.notes.blocked) == (0, 0, 0, 2)
    assert (report.memories.notes, report.chunks.memories, report.embeddings.embedded) == (0, 0, 0)
    assert first.notes.stamped == 0


def test_a_touched_file_changes_nothing_but_its_time(place: Any) -> None:
    """V5: the same bytes with a newer time: no memory, chunk or vector is written; an undated note's date follows."""
    place.write("dated.md", "---\ndate: 2026-01-05\n---\nText.\n", at=1_780_000_000)
    place.write("undated.md", "Other text.\n", at=1_780_000_000)
    place.ingest()
    before = place.state()
    calls = len(place.embedder.calls)
    for name in ("dated.md", "undated.md"):
        os.utime(place.root / name, (1_790_000_000, 1_790_000_000))
    report = place.ingest()
    after = place.state()
    assert (report.notes.read, report.memories.updated, report.chunks.memories) == (2, 1, 0)
    assert len(place.embedder.calls) == calls
    for name in before.keys() - {"notes", "memories"}:
        assert before[name] == after[name]
    dates = place.rows("select heading, event_at at time zone 'UTC' from kos.memories order by 1")
    assert dates == [("dated", datetime(2026, 1, 5)), ("undated", datetime.fromtimestamp(1_790_000_000, UTC).replace(tzinfo=None))]  # noqa: DTZ001, E501  # fmt: skip


def test_one_edited_passage_is_embedded_again_and_no_other(place: Any) -> None:
    """E6: the vectors of unchanged passages move with them, even when their numbers shift."""
    place.write("long.md", _long())
    place.ingest()
    chunks = place.rows("select count(*) from kos.chunks where embed_hash is not null")[0][0]
    assert chunks >= 6
    place.embedder.calls.clear()
    place.write("long.md", _long(f="An edited end of the note. " * 30), at=1_780_000_100)
    report = place.ingest()
    assert len(place.embedder.texts) <= 2, "the passage, and the memory if its vector sees that far"
    assert report.chunks.vectors_kept == 0
    place.embedder.calls.clear()
    place.write("long.md", "## New part\n\n" + "Something new stands first. " * 40 + "\n\n" + _long(), at=1_780_000_200)
    report = place.ingest()
    assert len(place.embedder.texts) <= 3
    assert report.chunks.vectors_kept >= 5


def test_the_same_text_elsewhere_is_not_embedded_again(place: Any) -> None:
    """E6: a copied long note costs no model call for its passages."""
    place.write("one/long.md", _long())
    place.ingest()
    place.embedder.calls.clear()
    place.write("two/long.md", _long() + "\n## More\n\nAnother closing line here.\n")
    report = place.ingest()
    assert len(place.embedder.texts) <= 3
    assert report.embeddings.reused >= 5


def test_moves_and_renames_keep_ids_and_embed_nothing(either: Any) -> None:
    """V2: with a stamp or without, ids stay; a new name costs no more than the texts that its title is part of."""
    either.write("a.md", "---\ntitle: Fixed\n---\n" + _long())
    either.write("b.md", "Plain text that says a little.\n")
    either.ingest()
    before = either.rows("select note_id from kos.notes order by note_id")
    either.embedder.calls.clear()
    (either.root / "deep/er").mkdir(parents=True)
    (either.root / "a.md").rename(either.root / "deep/er/z.md")
    (either.root / "b.md").rename(either.root / "deep/b.md")
    report = either.ingest()
    assert either.embedder.texts == []
    assert (report.notes.moved, report.notes.new, report.notes.deleted) == (2, 0, 0)
    assert report.chunks.memories == 0
    assert either.rows("select note_id from kos.notes order by note_id") == before
    homes = either.rows("select note_path, home::text, home_path from kos.memories order by 1")
    assert homes == [("deep/b.md", "deep", "deep"), ("deep/er/z.md", "deep.er", "deep/er")]


def test_a_move_with_an_edit_keeps_its_id_where_the_stamp_says_so(adopted: Any) -> None:
    """V2: the stamp decides, not the likeness."""
    adopted.write("a.md", "Text one.\n")
    adopted.ingest()
    [(note_id,)] = adopted.rows("select note_id from kos.notes")
    data = (adopted.root / "a.md").read_text()
    (adopted.root / "a.md").unlink()
    adopted.write("other/name.md", data.replace("Text one.", "Something else."), at=1_780_000_100)
    adopted.write("a.md", "A new note at the old path.\n", at=1_780_000_100)
    adopted.ingest()
    rows = dict(adopted.rows("select path, note_id from kos.notes where deleted_at is null"))
    assert rows["other/name.md"] == note_id
    assert rows["a.md"] != note_id


def test_a_note_moved_over_another_ends_that_one(adopted: Any) -> None:
    """V2, G6: a file put in another's place keeps its own id; the other note is gone, not stuck at its path."""
    adopted.write("a.md", "Text a.\n")
    adopted.write("b.md", "Text b.\n", at=1_780_000_100)
    adopted.ingest()
    ids = dict(adopted.rows("select path, note_id from kos.notes"))
    (adopted.root / "b.md").replace(adopted.root / "a.md")
    report = adopted.ingest()
    assert (report.notes.moved, report.notes.deleted) == (1, 1)
    live = adopted.rows("select path, note_id from kos.notes where deleted_at is null")
    assert live == [("a.md", ids["b.md"])]
    assert adopted.rows("select content from kos.memories where deleted_at is null") == [("Text b.",)]


def test_an_id_that_came_with_a_copy_loses_no_note(place: Any) -> None:
    """V2: a file stamped elsewhere claims the id of an unchanged, unstamped one: both stand after the same scan."""
    place.write("a.md", "Text a.\n")
    place.ingest()
    [(note_id,)] = place.rows("select note_id from kos.notes")
    place.write("b.md", f"---\nkos_id: {note_id}\n---\nText b.\n")
    place.ingest()
    live = place.rows("select path, m.content from kos.memories as m join kos.notes as n using (note_id)"
                      " where m.deleted_at is null order by 1")  # fmt: skip
    assert [row[0] for row in live] == ["a.md", "b.md"]
    assert dict(place.rows("select path, note_id from kos.notes"))["b.md"] == note_id


def test_the_stamp_is_the_only_change_of_a_file(adopted: Any) -> None:
    """V2, V7: through the real scan, each file afterwards is the file before and one key, times and modes kept."""
    bodies = {
        "plain.md": b"No frontmatter.\n",
        "crlf.md": b"---\r\ntitle: Win\r\n---\r\nText.\r\n",
        "bom.md": b"\xef\xbb\xbf---\nb: 1\na: 2 # kept\n---\nText without an end",
        "toml.md": b"+++\ntitle = 'T'\n+++\nText.\n",
        "empty.md": b"",
        "broken.md": b"---\nx: [1\n---\nBody.\n",
        "binary.md": b"\x89PNG\r\n\x1a\n\x00",
        "templates/t.md": b"Template.\n",
    }
    for path, data in bodies.items():
        adopted.write(path, data).chmod(0o640)
    report = adopted.ingest()
    after = _files(adopted.root)
    untouched = {"broken.md", "binary.md", "templates/t.md"}
    assert report.notes.stamped == len(bodies) - len(untouched)
    for path, data in bodies.items():
        new, mtime_ns, _ = after[path]
        assert (adopted.root / path).stat().st_mode & 0o777 == 0o640
        assert mtime_ns == 1_780_000_000 * 10**9
        if path in untouched:
            assert new == data
        else:
            [(note_id,)] = adopted.rows("select note_id::text from kos.notes where path = %s", path)
            assert unstamped(new) == data
            assert new.count(b"kos_id") == 1
            assert note_id.encode() in new
    sidecar = (adopted.root / ".kos/ids.jsonl").read_text()
    assert sorted(line.split('"')[3] for line in sidecar.splitlines()) == ["broken.md", "templates/t.md"]


def test_a_file_that_is_being_worked_on_is_ingested_now_and_stamped_later(adopted: Any) -> None:
    """V2: a change within the last 10 s waits for its stamp, not for its recall."""
    from dataclasses import replace

    adopted.settings = replace(adopted.settings, stamp_quiet_s=10)
    moment = 1_780_000_000
    file = adopted.write("a.md", "Text.\n", at=moment)
    report = adopted.scan(now=datetime.fromtimestamp(moment + 5, UTC))
    assert (report.waiting, report.stamped, report.new) == (1, 0, 1)
    assert file.read_text() == "Text.\n"
    assert "a.md" in (adopted.root / ".kos/ids.jsonl").read_text()
    adopted.ingest(allow_mass_deletion=False)  # the clock is far beyond by now
    assert file.read_text().startswith("---\nkos_id: ")
    assert "a.md" not in (adopted.root / ".kos/ids.jsonl").read_text()
    assert adopted.rows("select stamped, count(*) over () from kos.notes") == [(True, 1)]


def test_a_contested_stamp_has_one_owner_for_ever(place: Any, fresh: Any, tmp_path: Path) -> None:
    """V2: where stamps may not be replaced, the sidecar remembers whose it is, so that a rebuild gives the same ids."""
    stamp = "---\nkos_id: 11111111-1111-4111-8111-111111111111\n---\n"
    place.write("b.md", f"{stamp}Text b.\n")
    place.ingest()
    place.write("a.md", f"{stamp}Text a.\n")
    for _ in range(2):
        place.ingest()
        ids = dict(place.rows("select path, note_id::text from kos.notes"))
        assert ids["b.md"] == "11111111-1111-4111-8111-111111111111" != ids["a.md"]
    shutil.copytree(place.root, tmp_path / "copy")
    with fresh(tmp_path / "copy") as rebuilt:
        rebuilt.ingest()
        assert rebuilt.state() == place.state()
