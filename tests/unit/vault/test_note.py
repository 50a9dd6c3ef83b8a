"""From bytes to a note: titles, properties, hashes, encodings."""

from __future__ import annotations

import datetime as dt
import json
import time
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.vault.note import ParsedNote, parse_note
from kos_assets.vault.problems import Unreadable
from kos_assets.vault.stamp import stamped

ID = UUID("12345678-1234-5678-9234-56789abcdef0")


def _note(text: str | bytes, path: str = "dir/note.md", zone: dt.tzinfo = dt.UTC) -> ParsedNote:
    note = parse_note(path, text.encode() if isinstance(text, str) else text, zone=zone)
    assert isinstance(note, ParsedNote)
    return note


def _utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def test_everything_at_once() -> None:
    """V3, V9, S3, S4, S10: each property of a note arrives where it belongs."""
    note = _note(
        "---\ntitle: Launch\naliases: [Start, '[[Go]]']\ntags: [work/a, '#b']\n"
        "attendees: ['[[people/Ada|Ada B]]', Ben]\nfrom: Cy <cy@example.org>, Di <di@example.org>\n"
        f"kos_id: {ID}\nkos_namespace: shared:owner\nhome: projects\n"
        "memory_type: episodic\nconfidence: 0.90\ndate: 2026-03-04 10:15\nupdated: 2026-03-05\ncreated: 1646388000000\n"
        "verified_at: 2026-03-06\nexpires_at: 2027-01-01T00:00Z\n---\n# Launch\n\nWith [[Eve]] #c\n- [ ] go\n",
        zone=ZoneInfo("Europe/Berlin"),
    )
    assert (note.title, note.title_rule) == ("Launch", "frontmatter")
    assert note.aliases == ("Start", "Go")
    assert note.tags == ("work/a", "b", "c")
    assert note.people == ("Ada B", "Ben", "Cy <cy@example.org>", "Di <di@example.org>")
    assert (note.kos_id, note.kos_namespace, note.home) == (ID, "shared:owner", "projects")
    assert (note.memory_type, note.confidence) == ("episodic", 0.9)
    assert (note.event_at, note.event_zone) == (_utc("2026-03-04T09:15"), "Europe/Berlin")
    assert note.event_rule == "frontmatter:date"
    assert note.created_at == _utc("2022-03-04T10:00")
    assert note.updated_at == _utc("2026-03-04T23:00")
    assert note.verified_at == _utc("2026-03-05T23:00")
    assert note.expires_at == _utc("2027-01-01")
    assert [(link.target, link.line) for link in note.links] == [("Go", 1), ("people/Ada", 1), ("Eve", 20)]
    assert [(task.text, task.line) for task in note.tasks] == [("go", 21)]
    assert note.body == "# Launch\n\nWith [[Eve]] #c\n- [ ] go\n"
    assert note.content == "\nWith [[Eve]] #c\n- [ ] go\n"
    assert note.body_line == 18
    assert note.stampable
    assert note.problems == ()
    json.dumps(note.properties, allow_nan=False)


@pytest.mark.parametrize(
    ("path", "text", "title", "rule"),
    [
        ("a.md", "---\ntitle: 1.10\n---\n# H", "1.10", "frontmatter"),
        ("a.md", "---\ntitle: 1984\n---\n", "1984", "frontmatter"),
        ("a.md", "---\ntitle: 2026-03-04\n---\n", "2026-03-04", "frontmatter"),
        ("a.md", "---\ntitle: |\n  two\n  lines\n---\n", "two lines", "frontmatter"),
        ("a.md", "---\ntitle:\n---\n# H", "H", "h1"),
        ("a.md", "---\ntitle: '{{title}}'\n---\n", "a", "filename"),
        ("a.md", "---\ntitle: A: b\n---\n", "A: b", "frontmatter"),
        ("a.md", "+++\ntitle = 'T'\n+++\n", "T", "frontmatter"),
        ("a.md", "\n<!-- c -->\n# The [[x|H]] #\ntext", "The H", "h1"),
        ("a.md", "Set\n===\ntext", "Set", "h1"),
        ("a.md", "```\n# no\n```\ntext", "a", "filename"),
        ("a.md", "# <% tp.file.title %>\n", "a", "filename"),
        ("a.md", "A text.\n\n# Other resources\n", "a", "filename"),
        ("a.md", "## Sub\n# H\n", "a", "filename"),
        ("topics/Go/index.md", "text", "Go", "folder"),
        ("topics/Go/README.md", "# Go lang", "Go lang", "h1"),
        ("topics/3d/index.md", "---\ndisplay_name: 3D\ntopic: 3d\n---\n", "3D", "display_name"),
        ("topics/3d/_Index.md", "---\ntopic: 3d!\n---\n", "3d!", "topic"),
        ("index.md", "text", "index", "filename"),
        ("dev.design.engine.md", "", "engine", "filename"),
        ("dev.design.md", "---\nid: x\n---\n", "design", "filename"),
        ("node.js.md", "", "node.js", "filename"),
        ("daily.journal.2026.03.04.md", "", "daily.journal.2026.03.04", "filename"),
        ("v1.2.3.md", "", "v1.2.3", "filename"),
        ("日本/東京 😀.md", "", "東京 😀", "filename"),
    ],
)
def test_titles(path: str, text: str, title: str, rule: str) -> None:
    """R2, V3: frontmatter, then a heading that opens the note, then the folder of an index note, then the file name."""
    note = _note(text, path)
    assert (note.title, note.title_rule) == (title, rule)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("# note\ntext", "text"),
        ("---\ntitle: A B\n---\n\n#  A  **B** \ntext\n", "\ntext\n"),
        ("---\ntitle: Set\n---\nSet\n===\ntext", "text"),
        ("---\ntitle: other\n---\n# note\ntext", "# note\ntext"),
        ("text", "text"),
        ("---\ntitle: x\n---\ntext\n# x\n# x\n", "text\n# x\n"),
    ],
)
def test_content_leaves_out_the_title(text: str, content: str) -> None:
    """R2: content excludes frontmatter and one H1 equal to the heading."""
    assert _note(text).content == content


@pytest.mark.parametrize(
    ("path", "text", "event", "rule"),
    [
        ("2020-01-01.md", "---\ndate: 2026-03-04\n---\n# 2021-01-01", "2026-03-04", "frontmatter:date"),
        (
            "2020-01-01.md",
            "---\ndate: '{{x}}'\ndateCreated: 2026-03-04\n---\n",
            "2026-03-04",
            "frontmatter:dateCreated",
        ),
        ("2020-01-01.md", "# 2021-01-01", "2020-01-01", "filename"),
        ("a.md", "# Call of March 4, 2026", "2026-03-04", "heading"),
        ("a.md", "# A\n## One\n## Call of March 4, 2026\n", "2026-03-04", "heading"),
        ("a.md", "# A\n## 2026-03-04\n## 2026-03-05\n", None, "none"),
        ("a.md", "# Call of March 4, 2026\n2020-01-01", "2026-03-04", "heading"),
        ("a.md", "text 2026-03-04", "2026-03-04", "text"),
        ("a.md", "text", None, "none"),
    ],
)
def test_event_order(path: str, text: str, event: str | None, rule: str) -> None:
    """S10: frontmatter before file name before headings before text; nothing is made up."""
    note = _note(text, path)
    assert (note.event_at, note.event_rule) == (event and _utc(event), rule)
    assert (note.event_zone is None) == (event is None)


def test_aware_times_keep_their_zone() -> None:
    """S10: an offset or a named zone in the note wins over the default."""
    assert _note("---\ndate: 2026-03-04T10:00:00+02:00\n---\n").event_zone == "+02:00"
    note = _note("---\ndate: 2026-03-04 10:00\ntimezone: Asia/Tokyo\n---\n")
    assert (note.event_at, note.event_zone) == (_utc("2026-03-04T01:00"), "Asia/Tokyo")


def test_lists_in_every_spelling() -> None:
    """V3: comma strings, lists, unquoted wikilinks, dictionaries, dates and links among people."""
    note = _note(
        "---\naliases: a, b c ,a\ntags: x, y z\n"
        "author: Ada, Ben; Cy\nattendees: [[Di]]\nto:\n- name: Eve\n- 7\n- null\n"
        "from: 2026-01-01\nparticipants: [https://example.org/u, '@fay']\n---\n"
    )
    assert note.aliases == ("a", "b c")
    assert note.tags == ("x", "y", "z")
    assert note.people == ("Di", "fay", "Ada", "Ben", "Cy", "Eve")


@pytest.mark.parametrize(
    ("line", "code", "stampable"),
    [
        ("confidence: high", "confidence_invalid", True),
        ("confidence: 1.5", "confidence_invalid", True),
        ("confidence: .nan", "confidence_invalid", True),
        ("memory_type: fact", "memory_type_unknown", True),
        ("expires_at: soon", "date_invalid", True),
        ("kos_id: mine", "kos_id_invalid", False),
        ("kos_id: [1]", "kos_id_invalid", False),
    ],
)
def test_bad_values_are_reported(line: str, code: str, stampable: bool) -> None:
    """V1: a value that cannot be used is a problem of the note, which is indexed without it."""
    note = _note(f"---\n{line}\n---\nbody")
    assert [problem.code for problem in note.problems] == [code]
    assert (note.confidence, note.memory_type, note.expires_at, note.kos_id) == (None, None, None, None)
    assert note.stampable is stampable
    assert note.body == "body"


def test_plain_types_are_no_memory_types() -> None:
    """S3: `type: person` is the person's own property; `type: semantic` is taken."""
    assert _note("---\ntype: person\n---\n").memory_type is None
    assert _note("---\ntype: Semantic\n---\n").memory_type == "semantic"
    assert _note("---\ntype: person\n---\n").problems == ()


def test_a_namespace_that_is_no_text_is_kept_to_be_refused() -> None:
    """V9: a malformed wish to narrow is not dropped."""
    assert _note("---\nkos_namespace: [shared:a]\n---\n").kos_namespace == "['shared:a']"


@pytest.mark.parametrize(
    ("data", "body", "codes"),
    [
        (b"\xef\xbb\xbfcaf\xc3\xa9\r\nb\rc", "café\nb\nc", []),
        ("\ufeffcafé\r\n".encode("utf-16-le"), "café\n", ["utf16"]),
        ("\ufeffcafé\n".encode("utf-16-be"), "café\n", ["utf16"]),
        (b"a\ncaf\xe9 \x80 \x81", "a\ncafé € \ufffd", ["not_utf8"]),
        (b"a\nb\0c", "a\nb\ufffdc", ["nul_byte"]),
        (b"", "", []),
    ],
)
def test_encodings(data: bytes, body: str, codes: list[str]) -> None:
    """V4: every encoding gives text; what was done is reported, and only clean UTF-8 may be stamped."""
    note = _note(data)
    assert note.body == body
    assert [problem.code for problem in note.problems] == codes
    assert note.stampable is (not codes)
    assert "\0" not in json.dumps(note.properties) + note.body + note.title


@pytest.mark.parametrize(
    "data",
    [b"\x89PNG\r\n\x1a\n" + b"x" * 50, bytes(range(256)) * 20, b"\0" * 100, "text no mark".encode("utf-16-le") * 3],
)
def test_binary_is_unreadable(data: bytes) -> None:
    """V4: binary content is quarantined with a reason."""
    result = parse_note("a.md", data)
    assert isinstance(result, Unreadable)
    assert result.code == "binary"


def test_hashes() -> None:
    """V2, G6: the stamp changes the file's hash alone; body equality ignores whitespace, line ends and frontmatter."""
    plain = b"---\na: 1\n---\nOne  two\r\n\r\nthree"
    with_stamp = stamped(plain, ID)
    assert with_stamp is not None
    before, after = _note(plain), _note(with_stamp)
    assert (after.kos_id, before.kos_id) == (ID, None)
    assert after.file_hash != before.file_hash
    assert after.content_hash == before.content_hash
    assert after.body_hash == before.body_hash == _note("One two three\n").body_hash
    assert _note("One two four").body_hash != before.body_hash
    assert _note(plain, "elsewhere.md").content_hash == before.content_hash
    assert _note("---\na: 2\n---\nOne two three").content_hash != before.content_hash
    assert _note("---\na: 1\n---\n \n").body_hash is None


def test_a_broken_block_hides_nothing() -> None:
    """V1, V2: the body is indexed, the id is still known, the note is not to be stamped."""
    note = _note(f"---\ntitle: A: b\nkos_id: {ID}\n---\nbody [[X]]\n")
    assert note.body == "body [[X]]\n"
    assert note.kos_id == ID
    assert not note.stampable
    assert [link.line for link in note.links] == [5]
    assert note.content_hash == _note("---\ntitle: A: b\n---\nbody [[X]]\n").content_hash


def test_large_notes_are_quick() -> None:
    """V4: 100,000 lines of dense Markdown (4 MB) take seconds at most on a busy machine (1.5 s measured)."""
    data = b"word [[Link]] and #tag `code` - [x](y.md)\n" * 100_000
    started = time.process_time()
    note = _note(data)
    assert time.process_time() - started < 6
    assert len(note.links) == 200_000


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=80),
        st.lists(
            st.sampled_from(
                [
                    b"---\n",
                    b"+++\n",
                    b"a: ",
                    b"kos_id: ",
                    b"\xef\xbb\xbf",
                    b"\r\n",
                    b"# ",
                    b"x",
                    b"\xe9",
                    b"\0",
                    b"[[",
                    b"]]",
                    b"date: 2026-03-04\n",
                    b"title: t\n",
                    b"\xff\xfe",
                ]
            ),
            max_size=12,
        ).map(b"".join),
    )
)
def test_any_bytes_give_a_note_or_a_reason(data: bytes) -> None:
    """V4: no content makes parse_note raise, and all text that it returns can be stored."""
    note = parse_note("a b/ü.md", data)
    if isinstance(note, ParsedNote):
        text = f"{note.title}{note.body}{note.content}{json.dumps(dict(note.properties), allow_nan=False)}"
        assert "\0" not in text
        text.encode()
        assert note.title


def test_conflicts_left_by_a_merge_are_named() -> None:
    """V4: a note with both sides of a conflict is read, and the line says where to begin."""
    text = "a\n<<<<<<< HEAD\nmine\n=======\ntheirs\n>>>>>>> other\n\n```\n<<<<<<< x\n>>>>>>> y\n```\n"
    note = _note(f"---\ntitle: x\n---\n{text}")
    assert [(problem.code, problem.line) for problem in note.problems] == [("merge_conflict", 5)]
    assert "theirs" in note.content
