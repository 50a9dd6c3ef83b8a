"""Whatever bytes come: meetings, or the one named error."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kos_assets.writers.meetings import page
from kos_assets.writers.meetings.meeting import Meeting, UnreadableMeetingError
from kos_assets.writers.meetings.parsing import SUFFIXES, parse


def outcome(data: bytes, suffix: str) -> tuple[Meeting, ...] | tuple[str, str, str]:
    """The meetings, or what the error says."""
    try:
        return parse(data, suffix)
    except UnreadableMeetingError as error:
        return error.code, error.reason, error.fix


scraps = st.sampled_from(
    [
        "WEBVTT",
        "\n",
        "\n\n",
        "00:01.000 --> 00:02.000",
        "<v Ana>",
        "</v>",
        "NOTE",
        "-->",
        "{",
        "}",
        "[",
        "]",
        '"',
        ":",
        ",",
        "Ana Ruiz",
        "0:05",
        '"text":',
        '"speaker":',
        '"start":',
        '"words":',
        '"segments":',
        '"summary":',
        '"date":',
        '"transcript":',
        "1e999",
        "-1",
        "null",
        "true",
        "---",
        "title: x",
        "# H",
        "- ",
        "**",
        "\ufeff",
        "\0",
        "\ud800",
        "漢",
        "a" * 90,
        "&#x110000;",
        "&lt;",
        "{\\an8}",
        "%%",
        "<!--",
        "```",
    ]
)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.one_of(
        st.binary(max_size=300),
        st.lists(scraps, max_size=40).map(lambda parts: "".join(parts).encode("utf-8", "surrogatepass")),
    ),
    st.sampled_from(SUFFIXES),
)
def test_reading_raises_its_one_error_only(data: bytes, suffix: str) -> None:
    """W2, V4: whatever the bytes are, there are meetings, or the named error with its code; twice the same."""
    first, second = outcome(data, suffix), outcome(data, suffix)
    assert first
    assert all(isinstance(one, Meeting) for one in first) or all(first)
    assert first == second
    assert all(list(page.bodies(one)) for one in first if isinstance(one, Meeting))


values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**16), 10**16),
        st.floats(allow_nan=False),
        st.text(max_size=12),
        st.sampled_from(["2026-03-04T10:00:00Z", "00:01:02", "Ana Ruiz", "SPEAKER_00"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(
                [
                    "text",
                    "speaker",
                    "start",
                    "end",
                    "words",
                    "segments",
                    "transcript",
                    "summary",
                    "title",
                    "date",
                    "duration",
                    "attendees",
                    "name",
                    "email",
                    "id",
                    "action_items",
                    "data",
                    "items",
                    "start_time",
                    "timestamp",
                    "speakers",
                    "tags",
                    "timeline",
                    "users",
                ]
            ),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=20,
)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(values)
def test_any_json_under_known_names(value: object) -> None:
    """W2: fields of any kind under the names that count never break the reader."""
    found = outcome(json.dumps(value).encode(), ".json")
    assert isinstance(found[0], Meeting) or found[0] in {"not_a_meeting", "broken_json", "empty"}
    assert all(list(page.bodies(one)) and page.properties(one, []) for one in found if isinstance(one, Meeting))


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"{", "broken_json"),
        (b'{"a": ' * 100_000, "broken_json"),
        (b"[" * 1_000_000 + b"]" * 1_000_000, "not_a_meeting"),
        (b'{"segments": [{"text": "x", "start": 1}', "broken_json"),
        (b"  \n", "empty"),
        (b"{}", "not_a_meeting"),
        (b"12", "not_a_meeting"),
        (b'{"name": "package", "version": "1.0", "scripts": {"text": "x"}, "tags": ["a"]}', "not_a_meeting"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "binary"),
    ],
)
def test_what_is_no_meeting_is_said_so(data: bytes, code: str) -> None:
    """W2, V4: whatever stands in a .json, the one error says what is wrong."""
    with pytest.raises(UnreadableMeetingError) as error:
        parse(data, ".json")
    assert error.value.code == code
    assert error.value.fix


def test_odd_values_in_known_fields() -> None:
    """W2: fields of the wrong kind are passed over, the rest counts."""
    (meeting,) = parse(
        json.dumps(
            {
                "title": 7,
                "date": {"x": []},
                "duration": "soon",
                "attendees": {"a": 1},
                "summary": ["one", {"text": "two"}, None, 3],
                "action_items": [None, 5, {"text": None}, "Call Bo", {"title": "Pay", "due_date": "2026-03-11"}],
                "tags": ["a b", 3, {"name": "c"}],
                "segments": [
                    {"text": "Hello.", "start": "NaN", "speaker": ["Ana Ruiz"]},
                    {"text": None},
                    7,
                    {"text": "Hi.", "start": -5, "speaker": None},
                ],
            }
        ).encode(),
        ".json",
    )
    assert meeting.title == ""
    assert meeting.summary == "- one\n- two"
    assert [(action.text, action.due) for action in meeting.actions] == [("Call Bo", ""), ("Pay", "2026-03-11")]
    assert meeting.tags == ("a-b", "c")
    assert [(turn.speaker, turn.paragraphs) for turn in meeting.turns] == [("Ana Ruiz", ("Hello.",)), ("", ("Hi.",))]


@pytest.mark.parametrize("suffix", [".vtt", ".md", ".txt", ".json"])
@pytest.mark.parametrize(
    "part",
    [
        "<v ",
        "&<{",
        "A: ",
        " ",
        "1",
        "*",
        "- [",
        "00:",
        "[00:00:01] ",
        "\n",
        "a\n",
        "**A** ",
        "<!--",
        "`",
        "名：",
        "{",
        '"',
        "a, ",
    ],
)
def test_much_of_anything_is_read_at_once(part: str, suffix: str) -> None:
    """V4: no pattern takes long on what repeats; 256 KiB takes under three seconds, mostly a tenth of one."""
    began = time.monotonic()
    outcome((part * (2**18 // len(part.encode()))).encode() + b"x", suffix)
    outcome(b"WEBVTT\n\n00:01.000 --> 00:02.000\n" + (part * (2**18 // len(part.encode()))).encode(), suffix)
    assert time.monotonic() - began < 3


def test_bounds_are_told() -> None:
    """V4: more lines or notes than a meeting has are refused with what to do, before they cost memory."""
    assert outcome(b"a\n" * 5_000_002, ".vtt")[0] == "too_large"
    assert outcome(b"word " * 1_000_000, ".md")[0] == "too_large"
    assert outcome(b"[" + b'{"text":"a"},' * 1_000_000 + b"1]", ".json")[0] == "too_large"
