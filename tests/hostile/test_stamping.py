"""V2: the stamp is byte-exact, on every file of public vaults and on every shape of block that people write."""

from __future__ import annotations

import datetime as dt
import hashlib
import tarfile
from collections import Counter
from pathlib import Path
from uuid import UUID

import pytest

from kos_assets.vault import frontmatter
from kos_assets.vault.check import IdPlace, check
from kos_assets.vault.note import ParsedNote, parse_note
from kos_assets.vault.scan import read, walk
from kos_assets.vault.stamp import Stamped, Unsafe, foresee, stamped, unstamped, write_stamp

ID = UUID("12345678-1234-5678-9234-56789abcdef0")
OTHER = UUID("abcdefab-1234-5678-9234-56789abcdef0")
LINE = b"kos_id: " + str(ID).encode()

SHAPES = {
    "a mark and CRLF": b"\xef\xbb\xbf---\r\ntitle: A\r\n---\r\nText.\r\n",
    "CRLF without a block": b"# A\r\n\r\nText.\r\n",
    "CR alone": b"---\rtitle: A\r---\rText.\r",
    "CR alone without a block": b"# A\rText.\r",
    "block in LF, text in CRLF": b"---\ntitle: A\n---\nText.\r\nMore.\r\n",
    "tabs after values and in the text": b"---\ntitle:\tA\t\ntags: [a,\tb]\n---\n\tcode\n",
    "comments everywhere": b"---\n# first\ntitle: A # why\n\n# last\n---\nText.\n",
    "a comment and nothing else": b"---\n# nothing\n---\nText.\n",
    "single, double, plain quotes": b'---\na: \'it\'\'s\'\nb: "q\\"q"\nc: plain\nd: "[[Home]]"\n---\n',
    "key order and odd keys": b"---\nzeta: 1\nalpha: 2\n\"quoted key\": 3\n'10': 4\nnull: 5\n---\n",
    "literal and folded blocks": b"---\na: |+\n  x\n\n  y\n\nb: >-\n  folded\n  text\n---\nText.\n",
    "a literal block at the end": b"---\na: |\n  x\n  ---\n  y\n---\nText.\n",
    "a kept literal at the end": b"---\na: |+\n  x\n\n\n---\nText.\n",
    "a list at the end": b"---\ntags:\n- a\n- b\n---\nText.\n",
    "an empty value at the end": b"---\ntitle: A\nup:\n---\nText.\n",
    "an anchor and an alias": b"---\na: &x [1]\nb: *x\n---\nText.\n",
    "dots close the block": b"---\ntitle: A\n...\nText.\n",
    "spaces behind the marks": b"---   \ntitle: A\n---\t \nText.\n",
    "empty block": b"---\n---\nText.\n",
    "empty block in CRLF": b"---\r\n---\r\nText.\r\n",
    "block of blank lines": b"---\n\n\n---\nText.\n",
    "no final newline": b"---\ntitle: A\n---",
    "no final newline, no block": b"Text",
    "nothing at all": b"",
    "a mark alone": b"\xef\xbb\xbf",
    "text that looks like a block below": b"---\ntitle: A\n---\n---\nb: 1\n---\n",
    "a rule in the text": b"Text.\n\n---\n\nMore.\n",
    "toml": b'+++\ntitle = "A" # why\n[extra]\nx = 1\n+++\nText.\n',
    "toml in CRLF with a mark": b'\xef\xbb\xbf+++\r\ntitle = "A"\r\n+++\r\nText.\r\n',
    "empty toml": b"+++\n+++\n",
    "values of every type": b"---\na: 1\nb: 1.50\nc: true\nd: 2026-03-04\ne: ~\nf: [1, {g: h}]\ni: 0x1f\n---\n",
    "letters of every script": "---\nタイトル: 値\nключ: значение\n👩: 🏳️‍🌈\n---\nעברית\n".encode(),
    "very long lines": b"---\na: " + b"x" * 30_000 + b"\n---\n" + b"y" * 300_000,
}
MARKED = {
    "its own": b"---\n" + LINE + b"\n---\nText.\n",
    "another's": b"---\nkos_id: " + str(OTHER).encode() + b"\n---\nText.\n",
    "another's beside a title": b"---\ntitle: A\nkos_id: " + str(OTHER).encode() + b"\n---\nText.\n",
}
GAINS = {"nothing": (0,), "id": (0,), "line": range(45, 50), "block": (53, 56)}
"""Bytes that a file gains: the key and value are 44, quotes and line ends come on top."""
REFUSED = {
    "a key twice": (b"---\na: 1\na: 2\n---\n", "frontmatter_duplicate_key"),
    "tabs indent": (b"---\na:\n\t- x\n---\n", "frontmatter_tabs"),
    "broken": (b"---\na: b: c\n---\n", "frontmatter_broken"),
    "never closed": (b"---\na: 1\n", "frontmatter_not_closed"),
    "not first": (b"\n---\na: 1\n---\n", "frontmatter_not_first"),
    "flow mapping": (b"---\n{a: 1}\n---\n", "frontmatter"),
    "UTF-16": (b"\xff\xfe" + "Text.\n".encode("utf-16-le"), "utf16"),
    "Windows-1252": (b"caf\xe9\n", "not_utf8"),
    "NUL": (b"a\0b and some more text\n", "nul_byte"),
    "an id that is none": (b"---\nkos_id: mine\n---\n", "kos_id_invalid"),
    "an id without value": (b"---\nkos_id:\n---\n", "frontmatter"),
}


@pytest.mark.parametrize("before", SHAPES.values(), ids=SHAPES)
def test_every_shape_of_block(before: bytes) -> None:
    """V2: one key (or one block) more, everything else the same bytes; the key out again, the same file; another id in
    its place, the same but for the id."""
    after = stamped(before, ID)
    assert after is not None
    assert unstamped(after) == before
    assert unstamped(before) == before
    old, new = frontmatter.parse(before), frontmatter.parse(after)
    assert new.properties == {**old.properties, "kos_id": str(ID)}
    assert list(new.properties)[1:] == list(old.properties) or list(new.properties)[:-1] == list(old.properties)
    assert after[new.body_start :] == before[old.body_start :]
    assert len(_added(before, after).strip(b"\r\n-")) in (len(LINE), len(LINE) + 2, len(LINE) + 3)
    assert stamped(after, OTHER) == after.replace(str(ID).encode(), str(OTHER).encode())


def _added(before: bytes, after: bytes) -> bytes:
    """The one run of bytes that `after` has more."""
    start = next(
        (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )
    added = len(after) - len(before)
    assert any(after[:at] + after[at + added :] == before for at in range(start, max(-1, start - added), -1))
    return after[start : start + added]


@pytest.mark.parametrize(("data", "code"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_safe_stays_as_it_is(data: bytes, code: str, tmp_path: Path) -> None:
    """V1, V2: such a file is not touched, keeps its id in the sidecar, and the reason is told."""
    (tmp_path / "note.md").write_bytes(data)
    assert stamped(data, ID) is None
    assert [(item.keeps, item.code) for item in check(tmp_path).ids] == [("sidecar", code)]


def test_what_is_foreseen_is_what_is_done(tmp_path: Path) -> None:
    """V2, V7: the preview and the stamp agree for every shape, and a refused file is not written."""
    shapes = {**SHAPES, **{name: data for name, (data, _) in REFUSED.items()}, **MARKED}
    for number, data in enumerate(shapes.values()):
        path = f"{number}.md"
        (tmp_path / path).write_bytes(data)
        said = foresee(tmp_path, path, data, ID)
        digest = hashlib.sha256(data).hexdigest()
        done = write_stamp(tmp_path, path, digest, ID, now=dt.datetime.now(dt.UTC), quiet_s=0)
        now = (tmp_path / path).read_bytes()
        if isinstance(said, Unsafe):
            assert isinstance(done, Unsafe)
            assert (done.code, now) == (said.code, data)
        else:
            assert isinstance(done, Stamped)
            assert done.written == (said != "nothing")
            assert unstamped(now) == unstamped(data)
            assert len(now) - len(data) in GAINS[said]


def test_every_file_of_the_public_vaults(real_inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """V2: for each file: stamped and unstamped again gives the same bytes; the stamped one says the same properties
    plus the id and the same text. Files that cannot be stamped are listed with their reasons."""
    totals: Counter[str] = Counter()
    refused: list[IdPlace] = []
    for archive in sorted((real_inputs / "vaults").glob("*.tar.gz")):
        root = tmp_path / archive.name
        with tarfile.open(archive) as packed:
            packed.extractall(root, filter="data")
        places = {item.path: item for item in check(root).ids}
        for stat in walk(root)[0]:
            data = read(root, stat)
            assert isinstance(data, bytes)
            note = parse_note(stat.path, data)
            if not isinstance(note, ParsedNote) or stat.path.casefold().endswith(".canvas"):
                continue
            totals["files"] += 1
            place = places[stat.path]
            new = stamped(data, ID) if note.kos_id is None else None
            totals[place.keeps] += 1
            if place.keeps == "sidecar":
                refused.append(place)
            if new is None:
                assert place.keeps in ("sidecar", "carried")
                continue
            totals["stamped"] += 1
            _same_but_the_stamp(stat.path, data, new, note)
    reasons = Counter(item.code for item in refused)
    with capsys.disabled():
        print(f"\n{dict(totals)}; not stamped, by reason: {dict(reasons)}")
        for item in refused:
            if item.code != "template":
                print(f"  {item.path}: {item.code}: {item.reason}")
    assert totals["files"] > 6000
    assert totals["stamped"] > 0.99 * totals["files"]
    assert all(item.code and item.reason for item in refused)


def _same_but_the_stamp(path: str, data: bytes, new: bytes, note: ParsedNote) -> None:
    assert unstamped(new) == data, path
    after = parse_note(path, new)
    assert isinstance(after, ParsedNote)
    assert after.properties == {**note.properties, "kos_id": str(ID)}, path
    assert (after.kos_id, after.body, after.content_hash) == (ID, note.body, note.content_hash), path
    gained = len(new) - len(data)
    assert gained <= len(LINE) + 14, path
    assert new.count(b"\r\n") - data.count(b"\r\n") in (0, 1, 3), path
