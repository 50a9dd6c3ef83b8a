"""The parsers of the chats writer take any JSON value, and what they make of odd ones (W6, W8)."""

from __future__ import annotations

import io
import json
import re
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.domain.frame import FRAME_END, FRAME_START, cut_recalled
from kos_assets.writers.chats import chatgpt, claude, logs, records, sessions, shapes, talk
from kos_assets.writers.chats.shapes import Message
from kos_assets.writers.note import note_id_of, render

ZONE = ZoneInfo("Europe/Berlin")
UUID = "0b7c1a52-9c1e-4a53-8f0f-6f4f4c0f8a11"
KEYS = re.findall(
    r"\w+",
    """mapping message author role content content_type parts text metadata parent children create_time current_node id
    conversation_id title recipient name attachments uuid chat_messages sender created_at type thinking files file_name
    parent_message_uuid model parentUuid sessionId timestamp isSidechain isMeta attachment prompt cwd leafUuid summary
    customTitle aiTitle update_time updated_at model_slug default_model_slug logicalParentUuid filename""",
)
WORDS = re.findall(
    r"\S+",
    """user assistant system tool human text multimodal_text code thoughts tool_use tool_result image_asset_pointer a b
    summary attachment file queued_command custom-title 2026-03-04T08:00:00Z 2026-03-04 0001-01-01T00:00:00+14:00""",
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(WORDS)
    | st.just("\ud800")
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.sampled_from(WORDS), inner, max_size=6)
    ),
    max_leaves=10,
)
NODE = st.dictionaries(st.sampled_from(KEYS), JSON, max_size=5)
CHATGPT = st.fixed_dictionaries(
    {"id": st.just("x"), "mapping": st.dictionaries(st.sampled_from("abc"), NODE, max_size=4)},
    optional={"current_node": st.sampled_from("abc") | JSON, "create_time": JSON, "title": JSON},
)
CLAUDE = st.fixed_dictionaries(
    {"uuid": st.just("x"), "chat_messages": st.lists(NODE | JSON, max_size=4)}, optional={"name": JSON, "model": JSON}
)
LINE = st.fixed_dictionaries(
    {"type": st.sampled_from(("user", "assistant", "attachment", "system", "summary")), "uuid": st.sampled_from("abc")},
    optional={"parentUuid": st.sampled_from("abc") | JSON, "message": NODE, "attachment": NODE, "timestamp": JSON},
)


def writable(conversation: shapes.Conversation | None) -> None:
    """Whatever was read becomes files without an error."""
    for item in talk.items(conversation, ZONE) if conversation is not None else ():
        data, _ = render(item, mirror="chats", namespace=None)
        assert data.startswith(b"---\n")
        assert note_id_of("chats", item.external_id)


@settings(max_examples=40)
@given(JSON | CHATGPT)
def test_chatgpt_never_raises(value: Any) -> None:
    """W6: any JSON value is a conversation or none."""
    writable(chatgpt.conversation(value, ZONE))


@settings(max_examples=40)
@given(JSON | CLAUDE)
def test_claude_never_raises(value: Any) -> None:
    """W6: any JSON value is a conversation or none."""
    writable(claude.conversation(value, ZONE))


@settings(max_examples=40)
@given(st.lists(JSON | LINE, max_size=8))
def test_session_lines_never_raise(values: list[Any]) -> None:
    """W6: any JSON values are a log."""
    log = sessions.SessionLog(ZONE)
    for value in values:
        log.take(value)
    writable(log.conversation("s", "s.jsonl"))


@settings(max_examples=40)
@given(SCALARS)
def test_access_never_raises(value: Any) -> None:
    """W6: times, ids and names of any value; a time is aware or none."""
    at = shapes.moment(value, ZONE)
    assert at is None or at.tzinfo is not None
    assert re.fullmatch(r"[A-Za-z0-9._-]*", shapes.sound_id(value))
    assert len(shapes.plain_name(value)) <= 60
    shapes.file_name(value)


@settings(max_examples=40)
@given(st.lists(JSON, max_size=4))
def test_records_are_what_json_says(values: list[Any]) -> None:
    """W6: streamed values equal the values of the standard library, but for what is left unread."""
    try:
        data = json.dumps(values, allow_nan=False).encode()
    except ValueError:
        return
    found = list(records.records(io.BytesIO(data), frozenset()))
    if re.search(rb"\d{19}|\\ud", data):
        return  # numbers beyond 64 bits end the text, halves of characters become question marks
    assert [one.value for one in found if isinstance(one, records.Record)] == values


@settings(max_examples=40)
@given(st.binary(max_size=60) | JSON.map(lambda value: repr(value).encode("utf-8", "replace")))
def test_any_bytes_are_records_or_a_reason(data: bytes) -> None:
    """W6: a text that is no JSON ends with a reason."""
    for one in records.records(io.BytesIO(data)):
        assert isinstance(one, records.Record | records.Unreadable)
    for line in logs.lines(io.BytesIO(data)):
        assert isinstance(line, logs.Line | logs.BadLine)


PIECES = st.sampled_from(
    (
        FRAME_START,
        FRAME_END,
        "| SECRET",
        "BACKGROUND DATA ",
        "from Knowledge OS.",
        f"[{UUID}] SECRET — SECRET",
        "<system-reminder>",
        "</system-reminder>",
        "\n",
        "\n",
        "\r",
        "\u2028",
        "```",
        "> ",
        "my own words",
    )
)


@settings(max_examples=100)
@given(st.lists(PIECES, max_size=14), st.sampled_from(("You", "Assistant")))
def test_no_frame_survives_cleaning(pieces: list[str], speaker: shapes.Speaker) -> None:
    """W8: however frames, index lines and wrappers are cut up and put together, what is left holds none."""
    text, _ = talk.cleaned("".join(pieces), speaker)
    assert cut_recalled(text) == (text, 0)


def test_text_after_a_cut_off_frame_in_another_message_stays() -> None:
    """W8: a frame without its end takes the rest of its message, not the rest of the conversation."""
    messages = (Message("You", f"a\n{FRAME_START}\n| x"), Message("Assistant", "b"))
    (item,) = talk.items(shapes.Conversation("claude", "i", "t", messages), ZONE)
    assert item.body == "**You**\n\na\n\n**Assistant**\n\nb"
    assert item.recalled_cut == 1


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <system-reminder>x</system-reminder> b", "a  b"),
        ("<command-name>/x</command-name><command-args>y</command-args>z", "z"),
        ("<system-reminder>a <system-reminder>b</system-reminder> c</system-reminder>d", "d"),
        ("say `<system-reminder>` and stop", "say `<system-reminder>` and stop"),
        ("words\n<local-command-stdout>cut off", "words"),
        ("in words <system-reminder> stays", "in words <system-reminder> stays"),
        ("<bash-stdout foo=1>x</bash-stdout>", ""),
        ("</system-reminder> alone", "</system-reminder> alone"),
    ],
)
def test_wrappers_are_cut(text: str, left: str) -> None:
    """W6: what programs wrap around what a person wrote."""
    assert talk.cleaned(text, "You")[0] == left


def test_wrappers_do_not_backtrack() -> None:
    """W6: a text of two million brackets takes no more than a blink."""
    started = datetime.now(UTC)
    for text in ("<system-reminder " * 100_000, "<system-reminder>" * 100_000, "\ue200" * 500_000, "\u3010" * 500_000):
        talk.cleaned(text, "You")
        chatgpt._without_markers(text)
    assert (datetime.now(UTC) - started).total_seconds() < 5


def test_citation_marks_are_cut_and_names_stay() -> None:
    """W6: marks that mean nothing outside ChatGPT."""
    text = 'A\ue200cite\ue202turn0search1\ue201 b \ue200entity\ue202["city","Oslo","x"]\ue201 c【4:2†notes.pdf】.'
    assert chatgpt._without_markers(text) == "A b Oslo c."


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1772600010.5, "2026-03-04T04:53:30.500000+00:00"),
        (1772600010500, "2026-03-04T04:53:30.500000+00:00"),
        ("2026-03-04T08:00:00", "2026-03-04T07:00:00+00:00"),
        ("2026-03-04T08:00:00.123456789Z", "2026-03-04T08:00:00.123456+00:00"),
        (None, None),
        (True, None),
        (float("nan"), None),
        (10**400, None),
        (0, None),
        ("yesterday", None),
    ],
)
def test_times(value: Any, expected: str | None) -> None:
    """S10: aware UTC; a naive text is in the given zone; nonsense is no time."""
    at = shapes.moment(value, ZONE)
    assert (at.isoformat() if at else None) == expected


def test_circles_end() -> None:
    """W6: nodes that are their own ancestors."""
    nodes = {name: {"parent": above, "message": None} for name, above in (("a", "b"), ("b", "a"), ("c", "c"))}
    for current in ("a", "c", None):
        assert chatgpt.conversation({"id": "x", "mapping": nodes, "current_node": current}, ZONE) is not None
    both = [
        {"uuid": "a", "parent_message_uuid": "b", "sender": "human", "text": "x"},
        {"uuid": "b", "parent_message_uuid": "a"},
    ]
    assert claude.conversation({"uuid": "x", "chat_messages": both}, ZONE) is not None
    links = [sessions.Link("a", "b", True), sessions.Link("b", "a", True), sessions.Link("c", "c", True)]
    assert sessions.abandoned(links) == (set(), 0)


def test_a_claude_message_whose_parent_is_missing_follows_the_one_before() -> None:
    """W6: a deleted message in the middle does not hide what came before it."""
    written = [
        {"uuid": "a", "sender": "human", "text": "one", "parent_message_uuid": "00000000-0000-4000-8000-000000000000"},
        {"uuid": "b", "sender": "assistant", "text": "two", "parent_message_uuid": "a"},
        {"uuid": "d", "sender": "human", "text": "three", "parent_message_uuid": "gone"},
    ]
    found = claude.conversation({"uuid": "x", "chat_messages": written}, ZONE)
    assert found is not None
    assert [message.text for message in found.messages] == ["one", "two", "three"]


def test_a_queued_prompt_is_the_persons(tmp_path: Any) -> None:
    """W6: what is typed while the agent works stands in an attachment line; notifications of tasks are not it."""
    log = sessions.SessionLog(ZONE)
    for place, mode in enumerate(("prompt", "task-notification")):
        attachment = {"type": "queued_command", "prompt": f"typed as {mode}", "commandMode": mode}
        log.take({"type": "attachment", "uuid": f"u{place}", "attachment": attachment})
    assert [message.text for message in log.conversation("s", "s").messages] == ["typed as prompt"]


def test_titles_of_a_session() -> None:
    """W6: the person's own title wins; a summary of another session is none."""
    log = sessions.SessionLog(ZONE)
    log.take({"type": "user", "uuid": "u", "message": {"content": "# first *line*\nrest"}})
    assert next(talk.items(log.conversation("s", "s"), ZONE)).title == "first *line*"
    log.take({"type": "summary", "summary": "other", "leafUuid": "v"})
    log.take({"type": "summary", "summary": "own", "leafUuid": "u"})
    assert log.conversation("s", "s").title == "own"
    log.take({"type": "ai-title", "aiTitle": "made"})
    log.take({"type": "custom-title", "customTitle": "mine"})
    assert log.conversation("s", "s").title == "mine"


def test_lines_written_twice_count_once() -> None:
    """W6: logs are known to hold a line twice."""
    log = sessions.SessionLog(ZONE)
    for _ in range(2):
        log.take({"type": "user", "uuid": "u", "message": {"content": "once"}})
    assert len(log.conversation("s", "s").messages) == 1


def test_voice_and_pictures_of_chatgpt() -> None:
    """W6: transcripts of speech are text, pictures are counted."""
    parts = [
        {"content_type": "audio_transcription", "text": "spoken"},
        {"content_type": "audio_asset_pointer"},
        {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"},
        "typed",
    ]
    node = {"message": {"author": {"role": "user"}, "content": {"content_type": "multimodal_text", "parts": parts}}}
    found = chatgpt.conversation({"id": "x", "mapping": {"a": node}, "current_node": "a"}, ZONE)
    assert found is not None
    (message,) = found.messages
    assert (message.text, message.folded) == ("spoken\n\ntyped", ("audio", "image"))
