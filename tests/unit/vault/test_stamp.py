"""The stamp: one line in, the same line out, nothing else touched."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kos_assets.vault import files, frontmatter, stamp
from kos_assets.vault.note import ParsedNote, parse_note
from kos_assets.vault.stamp import Stamped, Unsafe, Waiting, stamped, unstamped, write_stamp

ID = UUID("12345678-1234-5678-9234-56789abcdef0")
OTHER = UUID("abcdefab-1234-5678-9234-56789abcdef0")
I, O = str(ID).encode(), str(OTHER).encode()  # noqa: E741 - as short as the lines they stand in
NOW = dt.datetime(2026, 3, 4, tzinfo=dt.UTC)
OLD_NS = 1_700_000_000_123_456_789

_PIECES = [
    b"---",
    b"+++",
    b"...",
    b"\n",
    b"\r\n",
    b"\r",
    b"\t",
    b" ",
    b"\xef\xbb\xbf",
    b"title: A",
    b"tags: [a, b]",
    b"- x",
    b"# c",
    b"a = 1",
    b"[table]",
    b"text",
    b"\xc3\xa9",
    b"'q",
    b'"',
    b"|",
    b"kos_id: " + O,
    b'kos_id = "' + O + b'"',
    b"kos_id:",
    b"{a: 1}",
    b"key: |+",
    b"  lit",
    b"---\n",
    b"---\r\n",
    b"+++\n",
    b"\n---\n",
    b"\r\n---\r\n",
    b"\n+++\n",
]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"text\n", b"---\nkos_id: " + I + b"\n---\ntext\n"),
        (b"", b"---\nkos_id: " + I + b"\n---\n"),
        (b"a\r\nb\n", b"---\r\nkos_id: " + I + b"\r\n---\r\na\r\nb\n"),
        (b"a\rb", b"---\rkos_id: " + I + b"\r---\ra\rb"),
        (b"\xef\xbb\xbftext", b"\xef\xbb\xbf---\nkos_id: " + I + b"\n---\ntext"),
        (b"---\nb: 1\na: 2 # c\n---\ntext", b"---\nb: 1\na: 2 # c\nkos_id: " + I + b"\n---\ntext"),
        (b"\xef\xbb\xbf---\r\na: 1\r\n---\r\n", b"\xef\xbb\xbf---\r\na: 1\r\nkos_id: " + I + b"\r\n---\r\n"),
        (b"---\na: 1\n---", b"---\na: 1\nkos_id: " + I + b"\n---"),
        (b"---\na: |+\n  x\n\n---\n", b"---\na: |+\n  x\n\nkos_id: " + I + b"\n---\n"),
        (b"---\n---\ntext", b'---\nkos_id: "' + I + b'"\n---\ntext'),
        (b"---\n---", b"---\nkos_id: " + I + b"\n---"),
        (b"---\n\n---\n", b"---\n\nkos_id: " + I + b"\n---\n"),
        (b"+++\na = 1\n[t]\nb = 2\n+++\ntext", b'+++\nkos_id = "' + I + b'"\na = 1\n[t]\nb = 2\n+++\ntext'),
        (b"+++\r\n+++\r\n", b'+++\r\nkos_id = "' + I + b'"\r\n+++\r\n'),
    ],
)
def test_one_key_is_added(before: bytes, after: bytes) -> None:
    """V2: one key, in the file's own line ending, at the top level; everything else byte-identical; and back."""
    assert stamped(before, ID) == after
    assert unstamped(after) == before
    assert frontmatter.parse(after).properties["kos_id"] == str(ID)
    assert stamped(after, ID) == after
    again = stamped(after, OTHER)
    assert again == after.replace(I, O)
    assert unstamped(again) == before


@pytest.mark.parametrize(
    "data",
    [
        b"---\ntitle: A: b\n---\ntext",
        b"---\na: 1\na: 2\n---\ntext",
        b"---\nnever closed",
        b"\n---\na: 1\n---\n",
        b"---\n{a: 1}\n---\ntext",
        b"---\nA text.\n---\nmore",
        b"---\n- a\n---\n",
        b"---\nkos_id: mine\n---\n",
        b"---\nkos_id:\n---\n",
        b"---\nkos_id: " + O + b"\nkos_id: " + O + b"\n---\n",
        b"---\na: 'x\nkos_id: " + O + b"\n'\n---\n",
        b"+++\na = \n+++\n",
        b'+++\ntext = """\nkos_id = "' + O + b'"\n"""\n+++\n',
        "\ufefftext".encode("utf-16-le"),
        b"caf\xe9",
        b"a\0b",
    ],
)
def test_what_cannot_be_edited_safely_is_left_alone(data: bytes) -> None:
    """V1, V2: a file whose head has a problem stays byte-identical."""
    assert stamped(data, ID) is None


def test_the_id_in_quotes_or_with_a_comment_is_replaced_in_place() -> None:
    """V2: an editor may rewrite the line; the id is still found, replaced, and left out of the content hash."""
    for line in (b'kos_id: "%s"', b"kos_id:  '%s' # mine", b"kos_id: %s \t"):
        data = b"---\na: 1\n" + line % O + b"\nb: 2\n---\ntext"
        assert stamped(data, ID) == data.replace(O, I)
        assert unstamped(data) == b"---\na: 1\nb: 2\n---\ntext"


def _hash(data: bytes) -> str:
    note = parse_note("a.md", data)
    assert isinstance(note, ParsedNote)
    return note.content_hash


@settings(max_examples=600, deadline=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=14).map(b"".join))
@example(b"---\n---\n")
@example(b"---\r\n---\n---\n")
@example(b"---\n...\n")
def test_round_trip(data: bytes) -> None:
    """V2: for any bytes, taking the stamp out gives the bytes back, and the stamp changes neither text nor hash."""
    new = stamped(data, ID)
    if new is None:
        return
    bare = unstamped(data)
    assert unstamped(new) == bare
    assert _hash(new) == _hash(data) == hashlib.sha256(bare).hexdigest()
    head, old_head = frontmatter.parse(new), frontmatter.parse(data)
    if "kos_id" not in old_head.properties:
        assert bare == data
        assert len(new) > len(data)
    assert {**old_head.properties, "kos_id": str(ID)} == head.properties
    assert new[head.body_start :] == data[old_head.body_start :]
    assert new.startswith(frontmatter.BOM) == data.startswith(frontmatter.BOM)
    assert stamped(new, OTHER) == new.replace(I, O)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("abcdef"), st.sampled_from(["1", "'x'", "[a, b]", "", "# c", '"[[L]]"'])),
        unique_by=lambda p: p[0],
    ),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.booleans(),
    st.sampled_from([b"", b"text", b"text\n", b"---\n", b"\tx\r\n"]),
)
def test_sound_notes_are_always_stampable(lines: list[tuple[str, str]], eol: bytes, marked: bool, body: bytes) -> None:
    """V2: an ordinary block can always be stamped, and loses nothing when it is."""
    block = b"".join(f"{key}: {value}".encode() + eol for key, value in lines)
    data = (frontmatter.BOM if marked else b"") + b"---" + eol + block + b"---" + eol + body
    new = stamped(data, ID)
    assert new is not None
    assert unstamped(new) == data


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_unstamped_takes_any_bytes(data: bytes) -> None:
    """V4: the content hash exists for every file; where there is no stamp it is the file's own."""
    assert unstamped(data) == data or b"kos_id" in data


def _vault(root: Path, path: str = "a.md", data: bytes = b"text\n", mode: int = 0o640) -> str:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    target.chmod(mode)
    os.utime(target, ns=(OLD_NS, OLD_NS))
    return hashlib.sha256(data).hexdigest()


def test_write_stamp(tmp_path: Path) -> None:
    """V2: the file is replaced as a whole; mode and time are kept; a second time nothing is written."""
    expected = _vault(tmp_path, "sub/a.md")
    result = write_stamp(tmp_path, "sub/a.md", expected, ID, now=NOW)
    data = (tmp_path / "sub/a.md").read_bytes()
    status = (tmp_path / "sub/a.md").stat()
    assert data == stamped(b"text\n", ID)
    assert isinstance(result, Stamped)
    assert result == Stamped("sub/a.md", hashlib.sha256(data).hexdigest(), status.st_size, status.st_mtime_ns, True)
    assert (status.st_mode & 0o777, status.st_mtime_ns) == (0o640, OLD_NS)
    assert [item.name for item in (tmp_path / "sub").iterdir()] == ["a.md"]
    again = write_stamp(tmp_path, "sub/a.md", result.file_hash, ID, now=NOW)
    assert isinstance(again, Stamped)
    assert not again.written
    assert (tmp_path / "sub/a.md").stat().st_ino == status.st_ino
    changed = write_stamp(tmp_path, "sub/a.md", result.file_hash, OTHER, now=NOW)
    assert isinstance(changed, Stamped)
    assert changed.mtime_ns == OLD_NS + 10**9 == (tmp_path / "sub/a.md").stat().st_mtime_ns


def test_write_stamp_waits(tmp_path: Path) -> None:
    """V2: compare-and-swap: other content, recent changes and vanished files wait, untouched."""
    expected = _vault(tmp_path)
    fresh = dt.datetime.fromtimestamp(OLD_NS / 1e9 + 9, dt.UTC)
    assert isinstance(write_stamp(tmp_path, "a.md", expected, ID, now=fresh), Waiting)
    assert isinstance(write_stamp(tmp_path, "a.md", "0" * 64, ID, now=NOW), Waiting)
    assert isinstance(write_stamp(tmp_path, "b.md", expected, ID, now=NOW), Waiting)
    assert isinstance(write_stamp(tmp_path, "no/b.md", expected, ID, now=NOW), Waiting)
    assert (tmp_path / "a.md").read_bytes() == b"text\n"
    assert isinstance(write_stamp(tmp_path, "a.md", expected, ID, now=fresh, quiet_s=8), Stamped)


def test_a_time_in_the_future_does_not_wait_for_ever(tmp_path: Path) -> None:
    """V2: a file dated years ahead by a wrong clock is not a file in use."""
    expected = _vault(tmp_path)
    before = dt.datetime.fromtimestamp(OLD_NS / 1e9 - 3600, dt.UTC)
    assert isinstance(write_stamp(tmp_path, "a.md", expected, ID, now=before), Stamped)


def test_an_edit_in_the_last_moment_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """V2: an edit made while the new file is written wins, and no temporary file stays behind."""
    expected = _vault(tmp_path)
    real = files.write_beside

    def edited_meanwhile(*args: object, **named: object) -> bool:
        done = real(*args, **named)  # type: ignore[arg-type]
        (tmp_path / "a.md").write_bytes(b"edit\n")
        return done

    monkeypatch.setattr(files, "write_beside", edited_meanwhile)
    assert isinstance(write_stamp(tmp_path, "a.md", expected, ID, now=NOW), Waiting)
    assert (tmp_path / "a.md").read_bytes() == b"edit\n"
    assert [item.name for item in tmp_path.iterdir()] == ["a.md"]


@pytest.mark.parametrize("path", ["Templates/a.md", "x/templates/y/a.md", "_templates/a.md"])
def test_templates_are_not_stamped(tmp_path: Path, path: str) -> None:
    """V2: a template's id would be copied into every note made from it."""
    result = write_stamp(tmp_path, path, _vault(tmp_path, path), ID, now=NOW)
    assert isinstance(result, Unsafe)
    assert result.code == "template"
    assert (tmp_path / path).read_bytes() == b"text\n"


def test_unsafe_files_are_left_alone(tmp_path: Path) -> None:
    """V2, V4: read-only, hard-linked, linked and broken files go to the sidecar, byte-identical."""
    vault, outside = tmp_path / "vault", tmp_path / "outside"
    hashes = {
        "locked.md": _vault(vault, "locked.md", mode=0o440),
        "twin.md": _vault(vault, "twin.md"),
        "broken.md": _vault(vault, "broken.md", b"---\na: b: c\n---\n"),
        "link.md": _vault(outside, "target.md"),
        "linked/inner.md": _vault(outside, "inner.md"),
    }
    (vault / "twin2.md").hardlink_to(vault / "twin.md")
    (vault / "link.md").symlink_to(outside / "target.md")
    (vault / "linked").symlink_to(outside)
    before = {path: (vault / path).read_bytes() for path in hashes}
    codes = {}
    for path, expected in hashes.items():
        result = write_stamp(vault, path, expected, ID, now=NOW)
        assert isinstance(result, Unsafe)
        codes[path] = result.code
    assert codes == {
        "locked.md": "read_only",
        "twin.md": "hard_link",
        "broken.md": "frontmatter",
        "link.md": "not_a_file",
        "linked/inner.md": "not_writable",
    }
    assert {path: (vault / path).read_bytes() for path in hashes} == before


def test_a_crash_leaves_nothing_that_blocks(tmp_path: Path) -> None:
    """V2: a temporary file of another process is respected; one left by a crash is replaced."""
    expected = _vault(tmp_path)
    left = tmp_path / f".kos-{ID.hex}.tmp"
    left.write_bytes(b"half")
    assert isinstance(write_stamp(tmp_path, "a.md", expected, ID, now=NOW), Waiting)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stamp, "_STALE_TEMP_S", -1.0)
        assert isinstance(write_stamp(tmp_path, "a.md", expected, ID, now=NOW), Stamped)
    assert [item.name for item in tmp_path.iterdir()] == ["a.md"]


def test_paths_that_leave_the_vault_are_refused(tmp_path: Path) -> None:
    """V7: nothing outside the vault is ever opened."""
    for path in ("../a.md", "/etc/passwd", "a/../../b.md", ""):
        with pytest.raises(ValueError, match="not a path inside"):
            write_stamp(tmp_path, path, "0" * 64, ID, now=NOW)
