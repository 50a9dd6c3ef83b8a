"""V1, V4: hostile files, each with what must happen written beside it. Made here, so that nothing is taken on trust.

A case is one file in a vault of its own, or beside all the others in one vault with a database. `kept` means that the
file gives a note, with exactly these problems (`code:line`); `blocked` that it is quarantined with that code; `ignored`
that nobody hears of it.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kos_assets.vault.note import ParsedNote, parse_note
from kos_assets.vault.problems import Unreadable
from kos_assets.vault.scan import read, walk

SECONDS = 5.0  # no single file may take longer, on a slow machine
UUIDS = "12345678-1234-5678-9234-56789abcdef0"


@dataclass(frozen=True)
class Case:
    """A file and what must happen. `what` is `kept`, `blocked`, `ignored`; `facts` are attributes of the note."""

    name: str
    path: str
    make: bytes | Callable[[Path], object]
    what: str
    codes: tuple[str, ...] = ()
    facts: dict[str, object] = field(default_factory=dict)


def kept(name: str, data: bytes | str, *codes: str, path: str = "note.md", **facts: object) -> Case:
    """The file gives a note."""
    return Case(name, path, data.encode() if isinstance(data, str) else data, "kept", codes, facts)


def blocked(name: str, make: bytes | Callable[[Path], object], code: str, path: str = "note.md") -> Case:
    """The file is quarantined."""
    return Case(name, path, make, "blocked", (code,))


def ignored(name: str, path: str) -> Case:
    """The file is no note and no trouble."""
    return Case(name, path, b"Not a note.\n", "ignored")


def head(block: str, mark: str = "---") -> str:
    """A note with this frontmatter."""
    return f"{mark}\n{block}\n{mark}\nBody.\n"


def _socket(path: Path) -> None:
    here = os.getcwd()  # noqa: PTH109 - a socket's path has at most 108 bytes
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def _folder(path: Path) -> None:
    path.mkdir()
    (path / "inner.txt").write_text("no note")


def _conflict(path: Path) -> None:
    """A conflict copy, and the note that it is a copy of."""
    path.write_text("Newer text.\n")
    (path.parent / "plan.md").write_text("Text.\n")


BOMB = head("a: &a [x, x]\n" + "\n".join(f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]" for a, b in pairwise("abcdefghijkl")))

FRONTMATTER = [
    kept("no block", "# Title\n\nText.\n", title="Title", title_rule="h1", stampable=True),
    kept("plain block", head("title: A\ntags: [x, y]"), title="A", tags=("x", "y"), body="Body.\n"),
    kept("toml", head('title = "A"\ntags = ["x"]', "+++"), title="A", tags=("x",)),
    kept("toml with dates", head("date = 2026-03-04\nat = 1979-05-27T07:32:00Z", "+++"), event_rule="frontmatter:date"),
    kept("toml broken", head("title = \nb = 1", "+++"), "frontmatter_broken:2", body="Body.\n", stampable=False),
    kept("toml key of 70 parts", head(".".join("a" * 70) + " = 1", "+++"), "frontmatter_broken", body="Body.\n"),
    kept("yaml broken", head("title: A: b"), "frontmatter_broken:2", title="A: b", body="Body.\n", stampable=False),
    kept("an at sign begins a value", head("a: 1\nby: @me"), "frontmatter_broken:3", body="Body.\n"),
    kept("a quote is never closed", head("a: 'x\nb: 1"), "frontmatter_broken:4", body="Body.\n"),
    kept("an alias without anchor", head("a: *b"), "frontmatter_broken:2", body="Body.\n"),
    kept("never closed", "---\ntitle: A\n\nText.\n", "frontmatter_not_closed:1", title="A", stampable=False),
    kept("not on the first line", "\n---\ntitle: A\n---\nText.\n", "frontmatter_not_first:1", title="A"),
    kept("empty block", "---\n---\nBody.\n", body="Body.\n", stampable=True),
    kept("comments only", head("# nothing\n# here"), body="Body.\n", stampable=True),
    kept("closed by dots", "---\ntitle: A\n...\nBody.\n", title="A", body="Body.\n"),
    kept("spaces after the marks", "---  \ntitle: A\n---\t\nBody.\n", title="A", body="Body.\n"),
    kept("no final newline", "---\ntitle: A\n---", title="A", body=""),
    kept("a key twice", head("a: 1\nb: 2\na: 3"), "frontmatter_duplicate_key:4", stampable=False),
    kept("tabs indent a list", head("tags:\n\t- x\n\t- y"), "frontmatter_tabs:3", tags=("x", "y"), stampable=False),
    kept("a list instead of properties", head("- a\n- b"), "frontmatter_not_properties:2", stampable=False),
    kept("prose between two rules", "---\nA sentence.\n---\nMore.\n", "frontmatter_not_properties:2", title="note"),
    kept("larger than 64 KiB", head("a: " + "x" * 70_000), "frontmatter_too_large:1", stampable=False),
    kept("an alias bomb", BOMB, "frontmatter_broken:9", body="Body.\n", stampable=False),
    kept("nested 500 deep", head("a: " + "[" * 500 + "]" * 500), "frontmatter_broken:2", stampable=False),
    kept("a tag that would run code", head("a: !!python/object/apply:os.system ['true']\ntitle: A"), title="A"),
    kept("keys that are no text", head("1: a\n[x, y]: b\n? {z: 1}\n: c\ntitle: A"), title="A"),
    kept("a merge key", head("base: &b {x: 1}\n<<: *b\ntitle: A"), title="A"),
    kept("infinite and huge numbers", head(f"a: .inf\nb: .nan\nc: 1e999\nd: {'9' * 400}\ntitle: A"), title="A"),
    kept("NUL and half a pair as escapes", head('title: "A\\0B"'), title="A\ufffdB"),
    kept("a title that is a number", head("title: 1.10"), title="1.10"),
    kept("a title that is a list", head("title: [a, b]"), title="note"),
    kept("a wikilink without quotes", head("up: [[Home]]\naliases: [[A]]"), aliases=("A",)),
    kept("no such day", head("date: 2026-02-31"), event_rule="none"),
    kept("no such month in the name", "Text.\n", path="2026-13-45.md", event_rule="none"),
    kept("an id that is none", head("kos_id: mine"), "kos_id_invalid", kos_id=None, stampable=False),
    kept("an id that is a list", head(f"kos_id: [{UUIDS}]"), "kos_id_invalid", kos_id=None, stampable=False),
    kept("confidence 7", head("confidence: 7"), "confidence_invalid", confidence=None),
    kept("an unknown type", head("memory_type: mood"), "memory_type_unknown", memory_type=None),
    kept("an end that is no date", head("expires_at: soon"), "date_invalid", expires_at=None),
    kept("the id survives a broken block", head(f"kos_id: {UUIDS}\nx: [1"), "frontmatter_broken:4", stampable=False),
    kept("the border survives", head("kos_namespace: agent:a\nx: 'q"), "frontmatter_broken:4", kos_namespace="agent:a"),
]  # fmt: skip

ENCODINGS = [
    kept(
        "a mark at the beginning", b"\xef\xbb\xbf---\ntitle: A\n---\nBody.\n", title="A", body="Body.\n", stampable=True
    ),
    kept("a mark in the middle", "Text \ufeff and more.\n", body="Text \ufeff and more.\n"),
    kept("a mark alone", b"\xef\xbb\xbf", title="note", body="", stampable=True),
    kept("CRLF", "---\r\ntitle: A\r\n---\r\nOne.\r\nTwo.\r\n", title="A", body="One.\nTwo.\n"),
    kept("CR alone", "---\rtitle: A\r---\rOne.\rTwo.\r", title="A", body="One.\nTwo.\n"),
    kept("all line ends at once", "# T\r\nOne.\nTwo.\rThree.\r\n", title="T", body="# T\nOne.\nTwo.\nThree.\n"),
    kept("UTF-16 little end", b"\xff\xfe" + "# Größe\n".encode("utf-16-le"), "utf16", title="Größe", stampable=False),
    kept("UTF-16 big end", b"\xfe\xff" + "# Größe\n".encode("utf-16-be"), "utf16", title="Größe", stampable=False),
    kept("UTF-32, which is read as UTF-16", b"\xff\xfe\0\0" + "# A\n".encode("utf-32-le"), "nul_byte:1", "utf16"),
    kept("UTF-16 cut in the middle", b"\xff\xfe" + "# Größe".encode("utf-16-le")[:-1], "utf16", stampable=False),
    kept("Windows-1252", b"# A\n\nGr\xf6\xdfe\n", "not_utf8:3", body="# A\n\nGröße\n", stampable=False),
    kept("UTF-8 cut in the middle", "Größe ß".encode()[:-1], "not_utf8:1", stampable=False),
    kept("surrogates as UTF-8", b"A \xed\xa0\x80 B\n", "not_utf8:1", stampable=False),
    kept("an overlong slash", b"A \xc0\xaf B\n", "not_utf8:1", stampable=False),
    kept("NUL bytes in a text", b"One.\nTw\0o.\n" + b"Text. " * 50, "nul_byte:2", stampable=False),
    kept("line separators", "# A\u2028B\n\nOne\u0085two\x0cthree\x0bfour\n\n[[x]]\n", title="A B"),
    kept("colours of a terminal", "# A\n\x1b[31mred\x1b[0m and \x9b2J\n", title="A"),
    kept("right to left and overrides", "# שלום \u202egnp.exe\n\nمرحبا\n"),
    kept("empty", b"", title="note", body="", stampable=True),
    kept("blank", b" \n\t\n\r\n", title="note"),
    kept("noncharacters and private use", "# A\ufffe\uffff\ue000\U0010ffff\n"),
    blocked("a picture", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)), "binary"),
    blocked("a PDF", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", "binary"),
    blocked("an archive", b"PK\x03\x04\x14\0\0\0\x08\0" + b"\0" * 40, "binary"),
    blocked("a database", b"SQLite format 3\0" + b"\0" * 100, "binary"),
    blocked("a program", b"\x7fELF\x02\x01\x01" + b"\0" * 60, "binary"),
    blocked("noise", bytes(range(256)) * 300, "binary"),
    blocked("NUL bytes alone", b"\0" * 5000, "binary"),
]

STRUCTURE = [
    kept("a fence never closed", "# A\n```\n[[x]] #no\n# no\n", title="A", links=(), tags=()),
    kept("a comment never closed", "%% open [[x]]\n\n[[y]]\n<!-- [[z]]\n", title="note"),
    kept("empty links", "[[]] [[ ]] [[#]] [[|]] [](  ) []() [x](<>) ![[]] ![]()\n", links=()),
    kept(
        "links out of the vault", "[[../../../etc/passwd]] [a](/etc/passwd) [b](file:///etc/passwd) [c](\\\\host\\x)\n"
    ),
    kept("broken escapes in a link", "[a](%ff%00%zz.md) [[%ff]] [b](%)\n"),
    kept("a note that embeds itself", "![[note]] ![[note#A]]\n# A\n", title="A"),
    kept("a task without text", "- [ ]\n- [x] \n- []\n- [xx] no\n* [/] half\n1. [ ] one\n"),
    kept("a template's title", "---\ntitle: <% tp.file.title %>\n---\n# {{title}}\n\nText.\n", title="note"),
    kept("only marks", "#\n##\n- \n>\n***\n===\n---\n```\n"),
    kept("one line of 2 MB", "word " * 400_000),
    kept("100,000 lines", "# A\n" + "- [ ] a [[b]] #c\n" * 100_000, title="A"),
    kept("more than 1 MB", "# A\n\n" + ("Sentence of a long note. " * 40 + "\n\n") * 1500, title="A"),
    kept("100,000 open brackets", "[" * 100_000 + "\n"),
    kept("50,000 open links", "[[a " * 50_000 + "\n"),
    kept("50,000 link beginnings", "[a](" * 50_000 + "\n"),
    kept("50,000 runs of backticks", "".join("`" * (1 + i % 300) + " " for i in range(2000)) + "\n"),
    kept("50,000 comment marks", "%% <!-- " * 50_000 + "\n"),
    kept("20,000 quotes in quotes", "> " * 20_000 + "x\n"),
    kept("lists 2,000 deep", "".join(" " * i + "- a\n" for i in range(2000))),
    kept("20,000 headings", "".join(f"# H{i}\n" for i in range(20_000)), title="H0"),
    kept("a table of 5,000 columns", "|" + "a|" * 5000 + "\n|" + "-|" * 5000 + "\n"),
    kept("a tag of 100,000 letters", "#" + "a" * 100_000 + "\n"),
    kept("a link of 100,000 letters", "[[" + "a" * 100_000 + "]] [x](" + "b" * 100_000 + ".md)\n"),
    kept("a heading of 1 MB", "# " + "a" * 1_000_000 + "\n"),
    kept("100,000 angle brackets", "<" * 100_000 + "\n" + "</a" * 20_000 + "\n"),
    kept("emphasis without end", "*a **b _c __d ~~e ==f " * 5000 + "\n"),
    kept("an H1 underlined for ever", "A\n" + "=" * 200_000 + "\n", title="A"),
]

NAMES = [
    kept("Chinese", "Text.\n", path="笔记/概念 图.md", title="概念 图"),
    kept("right to left", "Text.\n", path="עברית.md", title="עברית"),
    kept("emoji with joiners", "Text.\n", path="👩‍👩‍👧 family 🏳️‍🌈.md", title="👩‍👩‍👧 family 🏳️‍🌈"),
    kept("a decomposed accent", "Text.\n", path="Cafe\u0301.md"),
    kept("spaces all over", "Text.\n", path=" a  b .md", title="a b"),
    kept("a newline and a tab", "Text.\n", path="a\nb\tc.md", title="a b c"),
    kept("terminal codes", "Text.\n", path="a\x1b[2Jb.md"),
    kept("255 bytes", "Text.\n", path="n" * 252 + ".md"),
    kept("marks of links", "Text.\n", path="a#b^c[d]|e.md"),
    kept("a backslash and a percent", "Text.\n", path="a\\b%2F..%2Fc.md"),
    kept("capital suffix", "Text.\n", path="README.MD"),
    kept("long suffix", "Text.\n", path="x.markdown", title="x"),
    kept("a name of Windows devices", "Text.\n", path="CON.md", title="CON"),
    kept("quotes and a semicolon", "Text.\n", path='a\'; drop table "x" --.md'),
    kept("a conflict copy without its note", "Text.\n", path="plan.sync-conflict-20260101-101010-ABCDEFG.md"),
    blocked("a copy of Syncthing", _conflict, "sync_conflict", "plan.sync-conflict-20260101-101010-ABCDEFG.md"),
    blocked("a copy of Dropbox", _conflict, "sync_conflict", "plan (Ada's conflicted copy 2026-01-01).md"),
    blocked("a copy of Nextcloud", _conflict, "sync_conflict", "plan_conflict-20260101-101010.md"),
    blocked("a copy of Obsidian Sync", _conflict, "sync_conflict", "plan (Conflicted copy laptop 202601011010).md"),
    blocked("a copy of Google Drive", _conflict, "sync_conflict", "plan [conflict].md"),
    blocked("a file that iCloud keeps", b"bplist00", "not_downloaded", ".note.md.icloud"),
    kept("a second note by a person", "Text.\n", path="plan (1).md", title="plan (1)"),
    ignored("a swap file of Vim", ".note.md.swp"),
    ignored("a backup of Emacs", "note.md~"),
    ignored("an autosave of Emacs", "#note.md#"),
    ignored("a lock of Emacs", ".#note.md"),
    ignored("a lock of an office", "~$note.md"),
    ignored("a resource fork of macOS", "._note.md"),
    ignored("a temporary file", "note.md.tmp"),
    ignored("only a suffix", ".md"),
    ignored("Obsidian's trash", ".trash/gone.md"),
    ignored("Obsidian's settings", ".obsidian/plugins/x/README.md"),
    ignored("git's own", ".git/description.md"),
    ignored("packages", "node_modules/x/README.md"),
]

CARD = '{"nodes": [{"id": "a", "type": "%s", "x": 0, "y": 0, "width": 9, "height": 9, %s}], "edges": []}'
CANVASES = [
    kept("a canvas", CARD % ("text", '"text": "Hello [[x]] #tag"'), path="b.canvas", title="b", stampable=False),
    kept("an empty canvas", b"", path="b.canvas", title="b", body=""),
    kept("a canvas with a mark", b"\xef\xbb\xbf{}", path="b.canvas", title="b"),
    kept("a canvas of numbers too large", CARD % ("text", '"text": "A", "x": 1e999, "y": -1e999'), path="b.canvas"),
    kept("a canvas that shows a file outside", CARD % ("file", '"file": "../../etc/passwd"'), path="b.canvas"),
    kept("a canvas with half a pair", CARD % ("text", '"text": "\\ud800 \\u0000 x"'), path="b.canvas"),
    kept("a canvas card of no kind", CARD % ("poem", '"text": "x"'), "canvas_card_unknown:1", path="b.canvas"),
    blocked("a canvas cut short", b'{"nodes": [{"id": "a"', "canvas_broken", "b.canvas"),
    blocked("a canvas that is a list", b"[]", "canvas_broken", "b.canvas"),
    blocked("a canvas nested 100,000 deep", b"[" * 100_000, "canvas_broken", "b.canvas"),
    blocked("a canvas with a number of 5,000 digits", b'{"x": ' + b"9" * 5000 + b"}", "canvas_broken", "b.canvas"),
    blocked("a canvas that is a picture", b"\x89PNG\r\n\x1a\n\0\0", "binary", "b.canvas"),
]

PLACES = [
    blocked("a pipe", os.mkfifo, "not_a_file"),
    blocked("a socket", _socket, "not_a_file"),
    blocked("1 TiB of nothing", _sparse, "too_large"),
    blocked("17 MiB", lambda path: path.write_bytes(b"word " * 3_600_000), "too_large"),
    blocked("a link out", lambda path: path.symlink_to("/etc/hostname"), "symlink_outside"),
    blocked("a link to a device", lambda path: path.symlink_to("/dev/zero"), "symlink_outside"),
    blocked("a link out by dots", lambda path: path.symlink_to("../" * 40 + "etc/hostname"), "symlink_outside"),
    blocked("a folder link out", lambda path: path.symlink_to("/usr"), "symlink_outside", "elsewhere"),
    blocked("a link to nowhere", lambda path: path.symlink_to("nowhere.md"), "symlink_broken"),
    blocked("a link to itself", lambda path: path.symlink_to(path.name), "symlink_broken"),
    blocked("a folder link to its folder", lambda path: path.symlink_to("."), "symlink_folder", "again"),
    blocked("65 folders down", lambda path: path.write_text("deep"), "too_deep", "/".join(["d"] * 70) + "/note.md"),
    Case("a folder named like a note", "folder.md", _folder, "ignored"),
]

CASES = [*FRONTMATTER, *ENCODINGS, *STRUCTURE, *NAMES, *CANVASES, *PLACES]


def build(case: Case, root: Path) -> None:
    """The case's file below `root`."""
    path = root / case.path
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(case.make, bytes):
        path.write_bytes(case.make)
    else:
        case.make(path)


def _named(problems: Any) -> list[str]:
    return sorted(f"{item.code}:{item.line}" if item.line else item.code for item in problems)


def test_the_corpus_is_large_and_named() -> None:
    """V4: at least 80 cases, each with a name of its own."""
    assert len(CASES) >= 80
    assert len({case.name for case in CASES}) == len(CASES)


def _parameters() -> list[Any]:
    return [pytest.param(case, id=case.name) for case in CASES]


@pytest.mark.parametrize("case", _parameters())
def test_alone(case: Case, tmp_path: Path) -> None:
    """V1, V4: each file does what is written beside it, in bounded time, and the notes around it are read."""
    for name in ("aaa.md", "zzz/zzz.md"):
        build(kept(name, "A good note.\n", path=name), tmp_path)
    build(case, tmp_path)
    started = time.process_time()
    found, unreadable = walk(tmp_path)
    results = {stat.path: read(tmp_path, stat) for stat in found}
    notes = {path: data if isinstance(data, Unreadable) else parse_note(path, data) for path, data in results.items()}
    assert time.process_time() - started < SECONDS
    refused = {item.path: item for item in [*unreadable, *(n for n in notes.values() if isinstance(n, Unreadable))]}
    assert all(isinstance(notes[name], ParsedNote) for name in ("aaa.md", "zzz/zzz.md"))
    if case.what == "ignored":
        assert set(notes) == {"aaa.md", "zzz/zzz.md"}
        assert refused == {}
    elif case.what == "blocked":
        item = next(item for path, item in refused.items() if case.path.lstrip(".").startswith(path))
        assert item.code == case.codes[0]
        assert item.reason
        assert item.fix
    else:
        note = notes[case.path]
        assert isinstance(note, ParsedNote)
        assert _named(note.problems) == sorted(case.codes)
        assert all(item.reason and item.fix for item in note.problems)
        assert {name: getattr(note, name) for name in case.facts} == case.facts


def test_keys_in_keys(tmp_path: Path) -> None:
    """V1, V4: 160 bytes of `? ? ? …` must not become gigabytes; here 16 levels, so that a failure stays small."""
    note = parse_note("note.md", ("---\n" + "? " * 16 + "\na: 1\n---\nText.\n").encode())
    assert isinstance(note, ParsedNote)
    assert sum(len(key) for key in note.properties) < 10_000


def _heavy(case: Case) -> bool:
    """Large texts: up to 18 s each until every passage is indexed, which this file has no time for."""
    return isinstance(case.make, bytes) and case.what == "kept" and len(case.make) > 110_000


def test_the_heavy_ones_with_a_database(unadopted: Any) -> None:
    """V4: megabytes of text become notes of the store within seconds, and keep nobody waiting."""
    heavy = [case for case in CASES if _heavy(case)]
    assert len(heavy) >= 5
    for number, case in enumerate(heavy):
        build(case, unadopted.root / f"h{number}")
    build(kept("beside", "A good note.\n", path="good.md"), unadopted.root)
    started = time.process_time()
    report = unadopted.scan()
    assert time.process_time() - started < len(heavy) * SECONDS
    assert (report.new, report.blocked, report.problems) == (len(heavy) + 1, 0, 0)
    assert unadopted.scan().read == 0


def _quarantined(place: Any) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path, code, line in place.rows("select path, code, line from kos.quarantine"):
        found.setdefault(path, set()).add(f"{code}:{line}" if line else code)
    return found


def test_all_together_with_a_database(unadopted: Any) -> None:
    """V1, V4, V5: every case in one vault, through the real ingest: each does what it does alone, the good notes are
    live, and a second run writes nothing at all. The large ones have a test of their own."""
    names = {f"c{number:03}": case for number, case in enumerate(CASES) if not _heavy(case)}
    for folder, case in names.items():
        build(case, unadopted.root / folder)
        build(kept("beside", f"A good note of {folder}.\n", path=f"good-{folder}.md"), unadopted.root / folder)
    unadopted.ingest()
    live, held = unadopted.live(), _quarantined(unadopted)
    for folder, case in names.items():
        path = f"{folder}/{case.path.lstrip('.') if case.what == 'blocked' else case.path}"
        assert f"{folder}/good-{folder}.md" in live
        if case.what == "kept":
            assert path in live, case.name
            assert held.get(path, set()) == set(case.codes), case.name
        else:
            assert path not in live, case.name
            codes = {code for place, found in held.items() if path.startswith(place) for code in found}
            assert codes == set(case.codes), case.name
    owed = unadopted.rows("""
        select n.path from kos.notes as n left join kos.memories as m using (note_id)
        where n.deleted_at is null and m.memory_id is null
    """)
    assert owed == []
    unadopted.ingest()
    rows, files, asked = unadopted.versions(), unadopted.files(), len(unadopted.embedder.texts)
    unadopted.ingest()
    assert unadopted.versions() == rows
    assert unadopted.files() == files
    assert len(unadopted.embedder.texts) == asked
