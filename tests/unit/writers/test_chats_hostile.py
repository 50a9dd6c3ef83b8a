"""Files that mean harm, or came to harm, given to the chats writer (W6, V4)."""

from __future__ import annotations

import io
import json
import os
import struct
import tracemalloc
import zipfile
from datetime import date
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.domain.mirrors import mirror_settings
from kos_assets.writers.chats import archive, logs, open_source, records, sessions
from kos_assets.writers.contract import Entry, Item, Skipped
from kos_assets.writers.mirror import mirror


def entries(*paths: Path) -> list[Entry]:
    table = mirror_settings("chats", {"path": [str(path) for path in paths]})
    return list(open_source(table, vault=Path("v"), data_dir=Path("d"), zone=ZoneInfo("UTC")).entries())


def codes(*paths: Path) -> list[str]:
    """What is reported; `item` for a note."""
    return ["item" if isinstance(entry, Item) else entry.code for entry in entries(*paths)]


def chat(text: str = "hello", chat_id: str = "c") -> dict[str, Any]:
    return {"uuid": chat_id, "name": "t", "chat_messages": [{"uuid": "m", "sender": "human", "text": text}]}


def zipped(path: Path, data: bytes, name: str = "conversations.json", method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as out:
        out.writestr(name, data)
    return path


GOOD = json.dumps([chat()]).encode()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", ["broken_json"]),
        (b"[]", []),
        (b"null", ["unknown_shape"]),
        (b"[null, 1, [], {}]", ["unknown_shape"] * 4),
        (GOOD, ["item"]),
        (b"\xef\xbb\xbf" + GOOD, ["item"]),
        (GOOD[1:-1], ["item"]),
        (b'{"conversations":' + GOOD + b"}", ["item"]),
        (GOOD[:-1] + b"," + GOOD[1:40], ["item", "broken_json"]),
        (GOOD[:-1] + b',{"a":\xff\xfe}]', ["item", "broken_json"]),
        (GOOD.decode().encode("utf-16"), ["broken_json"]),
        (GOOD[:-1] + b',{"a":' + b"1" * 5000 + b"}]", ["item", "broken_json"]),
        (b'[{"name":"no id","chat_messages":[]}]', ["unknown_shape"]),
        (b'[{"uuid":"e","chat_messages":[]}]', ["empty"]),
        (b"<html>", ["broken_json"]),
    ],
)
def test_texts_that_are_not_whole(tmp_path: Path, data: bytes, expected: list[str]) -> None:
    """W6: what comes before the harm counts, and the harm is named."""
    (tmp_path / "conversations.json").write_bytes(data)
    assert codes(tmp_path) == expected


def test_depth_costs_nothing(tmp_path: Path) -> None:
    """W6: a hundred thousand brackets, in lists and in objects, neither end the run nor take its memory."""
    deep = b'[{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}," + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b","
    (tmp_path / "conversations.json").write_bytes(deep + GOOD[1:])
    (tmp_path / "x.jsonl").write_bytes(b"[" * 200_000 + b"\n")
    tracemalloc.start()
    found = codes(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == ["unknown_shape", "unknown_shape", "item", "bad_line", "not_a_session"]
    assert peak < 40_000_000


def test_limits_of_one_conversation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W6: a conversation beyond the limit is left out alone; a text beyond its own ends the file."""
    monkeypatch.setattr(records, "LARGEST_RECORD", 5000)
    monkeypatch.setattr(records, "LONGEST_TEXT", 200_000)
    data = json.dumps([chat("x" * 6000, "a"), chat(), chat("y" * 500_000, "b"), chat("z", "d")]).encode()
    (tmp_path / "conversations.json").write_bytes(data)
    assert codes(tmp_path) == ["too_large", "item", "text_too_long"]


def test_memory_does_not_grow_with_the_export(tmp_path: Path) -> None:
    """W6: huge exports stream: 8 MB of conversations take less than 1 MB, in a zip file as well."""
    data = json.dumps([chat("some words " * 2000, f"c{number}") for number in range(360)]).encode()
    table = mirror_settings("chats", {"path": str(zipped(tmp_path / "a.zip", data))})
    source = open_source(table, vault=tmp_path, data_dir=tmp_path, zone=ZoneInfo("UTC"))
    tracemalloc.start()
    count = sum(1 for _ in source.entries())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (count, len(data) > 7_900_000, peak < 1_000_000) == (360, True, True), peak


def test_limit_of_one_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W6: what goes beyond the limit is left out and said so; the rest is a note."""
    monkeypatch.setattr(sessions, "LARGEST_SESSION", 10)
    rows = [{"type": "user", "uuid": f"u{n}", "message": {"content": "abcdefgh"}} for n in range(3)]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert codes(tmp_path) == ["too_large", "item"]


def test_session_lines_that_are_not_whole(tmp_path: Path) -> None:
    """W6: a bad line is named by its number; a last one still being written is only counted."""
    row = json.dumps({"type": "user", "uuid": "u", "message": {"content": "hi"}})
    (tmp_path / "s.jsonl").write_bytes(b"\xff\xfe\n\n{\n" + row.encode() + b'\n{"type":"assis')
    found = entries(tmp_path)
    assert [(one.where, one.code, one.counts) for one in found if isinstance(one, Skipped)] == [
        ("s.jsonl:1", "bad_line", True),
        ("s.jsonl:3", "bad_line", True),
        ("s.jsonl:5", "unfinished_line", False),
    ]
    assert sum(isinstance(one, Item) for one in found) == 1


def test_lines_too_long_are_passed_over() -> None:
    """W6: memory holds no more than the limit; the next line is read."""
    data = b'"' + b"x" * 5_000_000 + b'"\n{"a":1}\n' + b"y" * 2000
    found = list(logs.lines(io.BytesIO(data), longest=1000))
    assert [type(one).__name__ for one in found] == ["BadLine", "Line", "BadLine"]


def test_zip_bombs_are_refused_or_bounded(tmp_path: Path) -> None:
    """W6: by what is declared, and by what comes out."""
    zipped(tmp_path / "a.zip", b" " * 100_000_000)
    assert codes(tmp_path) == ["zip_bomb"]
    lying = bytearray(zipped(tmp_path / "a.zip", GOOD + b" " * 70_000_000).read_bytes())
    place = lying.rfind(b"PK\x01\x02")
    struct.pack_into("<L", lying, place + 24, 1000)
    struct.pack_into("<L", lying, 22, 1000)
    (tmp_path / "a.zip").write_bytes(lying)
    tracemalloc.start()
    assert codes(tmp_path) == ["unreadable"]
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


def test_encrypted_and_strange_zips_are_named(tmp_path: Path) -> None:
    """W6: each with a reason that a person can act on."""
    data = bytearray(zipped(tmp_path / "a.zip", GOOD).read_bytes())
    data[6] |= 1
    data[data.rfind(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "a.zip").write_bytes(data)
    zipped(tmp_path / "b.zip", GOOD, method=zipfile.ZIP_LZMA)
    (tmp_path / "c.zip").write_bytes(b"PK no zip")
    zipped(tmp_path / "d.zip", b"{}", name="holiday.json")
    zipped(tmp_path / "e.zip", GOOD, name="../../etc/conversations.json")
    zipped(tmp_path / "f.zip", GOOD, name="__MACOSX/conversations.json")
    found = entries(tmp_path)
    assert [entry.code if isinstance(entry, Skipped) else "item" for entry in found] == [
        "encrypted_zip",
        "zip_method",
        "broken_zip",
        "not_an_export",
        "item",
        "not_an_export",
    ]
    assert all(entry.reason and entry.fix for entry in found if isinstance(entry, Skipped))
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{letter}.zip" for letter in "abcdef"]


def test_a_table_of_contents_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W6: a zip file of millions of empty members is refused before its table is read into memory."""
    path = zipped(tmp_path / "a.zip", GOOD)
    with path.open("rb") as file:
        size = archive.directory_size(file)
    assert size == 46 + len("conversations.json")
    monkeypatch.setattr(archive, "LARGEST_DIRECTORY", 10)
    assert codes(tmp_path) == ["zip_directory_too_large"]


@settings(max_examples=60)
@given(st.data())
def test_damaged_zips_never_raise(data: st.DataObject) -> None:
    """W6: any bytes of a zip file changed, cut or doubled."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("conversations.json", GOOD)
        out.writestr("conversations-001.json", GOOD * 3)
    whole = bytearray(buffer.getvalue())
    for _ in range(data.draw(st.integers(0, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(whole)[: data.draw(st.integers(0, len(whole)))] if data.draw(st.booleans()) else bytes(whole)
    for one in archive.members(io.BytesIO(damaged), "a.zip"):
        if not isinstance(one, Skipped):
            assert all(isinstance(record, records.Record | records.Unreadable) for record in records.records(one[1]))


def test_links_pipes_and_hidden_files_are_not_opened(tmp_path: Path) -> None:
    """V4: nothing outside the named folder is read, and nothing that could block."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "conversations.json").write_bytes(GOOD)
    folder = tmp_path / "in"
    (folder / ".hidden").mkdir(parents=True)
    (folder / ".hidden" / "conversations.json").write_bytes(GOOD)
    (folder / "conversations.json").symlink_to(outside / "conversations.json")
    (folder / "linked").symlink_to(outside)
    os.mkfifo(folder / "conversations-000.json")
    (folder / "s.jsonl").write_text(json.dumps({"type": "user", "uuid": "u", "message": {"content": "hi"}}) + "\n")
    assert codes(folder) == ["not_a_file", "link", "item"]


def test_deep_folders_end(tmp_path: Path) -> None:
    """V4: folders deeper than any export are not walked, and that is told."""
    deep = tmp_path / "/".join(["d"] * 70)
    deep.mkdir(parents=True)
    (deep / "conversations.json").write_bytes(GOOD)
    (tmp_path / "conversations.json").write_bytes(GOOD)
    assert codes(tmp_path) == ["too_deep", "item"]


def test_names_that_are_no_text(tmp_path: Path) -> None:
    """V4: file names of any bytes are read, and can be printed and written."""
    vault = tmp_path / "vault"
    vault.mkdir()
    folder = tmp_path / "in"
    folder.mkdir()
    row = json.dumps({"type": "user", "uuid": "u", "message": {"content": "hi \ud800"}})
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.jsonl")).write_text(row + "\n{bad}\n")
    table = mirror_settings("chats", {"path": str(folder)})
    source = open_source(table, vault=vault, data_dir=vault, zone=ZoneInfo("UTC"))
    report = mirror(source, vault, name="chats", folder="chats", namespace=None, today=date(2026, 12, 1))
    assert report.written == 1
    assert [one.where.encode() for one in report.skipped]
    assert source.fingerprint()
