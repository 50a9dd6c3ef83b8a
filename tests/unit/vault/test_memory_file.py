"""A statement's file: what is written is what is read, whatever git and editors do in passing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.errors import VaultError
from kos_assets.vault.memory_file import (
    StatementFile,
    delete_file,
    digest_text,
    is_reserved,
    memory_path,
    namespace_of_path,
    parse,
    render,
    write_file,
)
from kos_assets.vault.problems import Problem

AT = datetime(2026, 11, 3, 9, 30, 0, 123456, tzinfo=UTC)
PLAIN = StatementFile(
    memory_id=UUID(int=7),
    namespace="agent:robin",
    memory_type="semantic",
    type_reason="explicit",
    type_confidence=1.0,
    provenance="output",
    confidence=0.7,
    author="robin",
    key="run-1",
    written_at=AT,
    event_at=None,
    event_zone=None,
    expires_at=None,
    supersedes=None,
    heading="The build needs libxml",
    content="Install it first.\n\n- then build\n",
)
PATH = memory_path(PLAIN.namespace, PLAIN.memory_id)
_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
_HEADING = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40).map(str.strip).filter(bool)
_MOMENT = st.builds(
    lambda microseconds, zone: (AT + timedelta(microseconds=microseconds)).astimezone(zone),
    st.integers(-(10**16), 5 * 10**15),
    st.sampled_from((UTC, timezone(timedelta(hours=5)))),
)
_CONTENT = st.lists(st.sampled_from(("\r", "\n", "\r\n", "---", "# x", "+++", " ")) | _TEXT, max_size=6).map("".join)
STATEMENTS = st.builds(
    StatementFile,
    memory_id=st.uuids(),
    namespace=st.sampled_from(("global", "agent:robin", "shared:team.a")),
    memory_type=st.sampled_from(("semantic", "episodic", "procedural")),
    type_reason=_TEXT,
    type_confidence=st.floats(0, 1),
    provenance=st.sampled_from(("raw", "derived", "output")),
    confidence=st.floats(0, 1),
    author=_TEXT,
    key=_TEXT,
    written_at=_MOMENT,
    event_at=st.none() | _MOMENT,
    event_zone=st.none() | st.sampled_from(("Europe/Berlin", "+05:30")),
    expires_at=st.none() | _MOMENT,
    supersedes=st.none() | st.uuids(),
    heading=_HEADING,
    content=_CONTENT,
)
PASSING: dict[str, Callable[[bytes], bytes]] = {
    "crlf": lambda data: data.replace(b"\n", b"\r\n"),
    "bom": lambda data: b"\xef\xbb\xbf" + data,
    "extra keys": lambda data: data.replace(b"---\n", b"---\ntags: [a, b]\nstatus: read\n", 1),
    "no final newline": lambda data: data.removesuffix(b"\n"),
    "blank lines at the end": lambda data: data + b"\n\n",
    "white space in the heading": lambda data: data.replace(b"\n---\n# ", b"\n---\n#  ", 1),
}


def read(data: bytes) -> StatementFile:
    found = parse(PATH, data)
    assert isinstance(found, StatementFile), found
    return found


@settings(max_examples=150, deadline=None)
@given(STATEMENTS)
def test_what_is_written_is_read_back_whole(statement: StatementFile) -> None:
    """V6: no character of a memory is lost in its file, carriage returns and trailing newlines included."""
    found = read(render(statement).encode())
    assert found == statement
    assert digest_text(found) == digest_text(statement)


@pytest.mark.parametrize("change", PASSING.values(), ids=PASSING)
@settings(max_examples=30, deadline=None)
@given(statement=STATEMENTS)
def test_harmless_changes_keep_the_digest(statement: StatementFile, change: Callable[[bytes], bytes]) -> None:
    """V9: what git, an editor or Obsidian does in passing does not make a file look forged."""
    assert digest_text(read(change(render(statement).encode()))) == digest_text(statement)


def test_a_file_converted_to_crlf_gives_the_same_memory() -> None:
    """V6: a checkout with other line ends rebuilds the same rows."""
    assert read(render(PLAIN).replace("\n", "\r\n").encode()) == PLAIN


@pytest.mark.parametrize(
    "change",
    [
        {"memory_id": UUID(int=8)},
        {"namespace": "global"},
        {"memory_type": "episodic"},
        {"type_reason": "rule"},
        {"type_confidence": 0.9},
        {"provenance": "raw"},
        {"confidence": 0.71},
        {"author": "maria"},
        {"key": "run-2"},
        {"written_at": AT + timedelta(microseconds=1)},
        {"event_at": AT},
        {"event_zone": "UTC"},
        {"expires_at": AT},
        {"supersedes": UUID(int=9)},
        {"heading": "The build needs libxml2"},
        {"content": "Install it first.\n\n- then  build\n"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_field_that_a_row_is_made_from_is_in_the_digest(change: dict[str, Any]) -> None:
    """V9: a change of any of them after the write is seen."""
    assert digest_text(replace(PLAIN, **change)) != digest_text(PLAIN)


def test_times_are_compared_as_instants() -> None:
    """S10: the digest does not hang on the zone that a time is written in."""
    there = replace(PLAIN, written_at=AT.astimezone(timezone(timedelta(hours=5))))
    assert digest_text(there) == digest_text(PLAIN)


def _edited(old: str, new: str) -> bytes:
    text = render(PLAIN)
    assert old in text
    return text.replace(old, new, 1).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"# only text\n",
        b"\xff\xfe",
        render(PLAIN).encode() + b"\0",
        _edited("---\n", ""),
        _edited('author: "robin"\n', ""),
        _edited("confidence: 0.7", "confidence: 1.7"),
        _edited("confidence: 0.7", "confidence: .nan"),
        _edited("confidence: 0.7", "confidence: [1]"),
        _edited('"agent:robin"', '"agent:../x"'),
        _edited('"semantic"', '"wisdom"'),
        _edited('"semantic"', "[semantic]"),
        _edited('"semantic"', '"working"'),
        _edited('"output"', '"hearsay"'),
        _edited("+00:00", ""),
        _edited("2026-11-03T09:30:00.123456+00:00", "0001-01-01T00:00:00+14:00"),
        _edited(str(PLAIN.memory_id), "seven"),
        _edited("# The build", "The build"),
        _edited("# The build needs libxml", "# "),
        _edited('author: "robin"', 'author: "robin'),
        _edited("key:", "author: x\nkey:"),
    ],
)
def test_a_damaged_file_is_a_problem_and_never_an_error(data: bytes) -> None:
    """V4, V9: one bad file is held back with a reason."""
    found = parse(PATH, data)
    assert isinstance(found, Problem)
    assert found.code.startswith("statement_")
    assert found.reason
    assert found.fix


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=60), st.integers(0, 500), st.integers(0, 60))
def test_no_bytes_whatsoever_raise(noise: bytes, at: int, cut: int) -> None:
    """V4: a file that something wrote over is read or refused."""
    data = render(PLAIN).encode()
    assert isinstance(parse(PATH, data[:at] + noise + data[at + cut :]), StatementFile | Problem)


@pytest.mark.parametrize(
    ("path", "namespace"),
    [
        (PATH, "agent:robin"),
        ("memories/global/00000000-0000-0000-0000-000000000007.md", "global"),
        ("memories/shared/team.a/x.md", "shared:team.a"),
        ("memories/agent/robin/deeper/x.md", "agent:robin"),
        ("memories/agent/robin.md", None),
        ("memories/global.md", None),
        ("memories/2026/trip.md", None),
        ("notes/memories/global/x.md", None),
        ("Memories/global/x.md", None),
    ],
)
def test_only_the_gates_folders_are_reserved(path: str, namespace: str | None) -> None:
    """V9: anything else below memories/ is an ordinary note; a wrong name in a reserved folder stays reserved."""
    assert namespace_of_path(path) == namespace
    assert is_reserved(path) == (namespace is not None)


def test_the_path_holds_no_text() -> None:
    """S11: where a memory lies may be told anywhere."""
    assert PATH == "memories/agent/robin/00000000-0000-0000-0000-000000000007.md"
    assert memory_path("global", UUID(int=7)) == "memories/global/00000000-0000-0000-0000-000000000007.md"


def test_an_equal_file_is_not_written_again(tmp_path: Path) -> None:
    """V5: size and time tell a scan that nothing changed."""
    first = write_file(tmp_path, PATH, PLAIN)
    status = (tmp_path / PATH).stat()
    assert first == (status.st_size, status.st_mtime_ns)
    assert write_file(tmp_path, PATH, PLAIN) == first
    assert (tmp_path / PATH).stat().st_ino == status.st_ino
    changed = replace(PLAIN, content="Other text")
    assert write_file(tmp_path, PATH, changed)[0] != first[0]
    assert read((tmp_path / PATH).read_bytes()) == changed
    assert [item.name for item in (tmp_path / PATH).parent.iterdir()] == [Path(PATH).name]


def test_deleting_tells_whether_it_stood(tmp_path: Path) -> None:
    """S11: an erasure that runs twice is no error."""
    write_file(tmp_path, PATH, PLAIN)
    assert delete_file(tmp_path, PATH)
    assert not (tmp_path / PATH).exists()
    assert not delete_file(tmp_path, PATH)
    assert not delete_file(tmp_path, "memories/global/x.md")


def test_no_link_leads_a_write_or_a_delete_out_of_the_vault(tmp_path: Path) -> None:
    """V4, V7: a folder that is a link is refused."""
    outside = tmp_path / "outside"
    (outside / "robin").mkdir(parents=True)
    vault = tmp_path / "vault"
    (vault / "memories").mkdir(parents=True)
    (vault / "memories/agent").symlink_to(outside, target_is_directory=True)
    (outside / "robin" / Path(PATH).name).write_text("mine", "utf-8")
    with pytest.raises(VaultError):
        write_file(vault, PATH, PLAIN)
    with pytest.raises(VaultError):
        delete_file(vault, PATH)
    assert (outside / "robin" / Path(PATH).name).read_text("utf-8") == "mine"
