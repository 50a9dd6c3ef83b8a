"""A conversation of a Claude account export: a list of messages, in newer exports with their parents.

Here: what one element of conversations.json means. Not here: reading the file (records.py), the look of a note
(talk.py), Claude Code's logs (sessions.py). The shape has no published contract; it is as observed from 2024 to 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

from kos_assets.writers.chats.shapes import (
    Conversation,
    Message,
    file_name,
    listing,
    mapping,
    moment,
    path_up,
    plain_name,
    sound_id,
    text,
)

SOURCE: Final = "claude"
_TOLD: Final = frozenset(("text", "voice_note"))
_THINKING: Final = frozenset(("thinking", "redacted_thinking"))
_ROOT: Final = "00000000-0000-4000-8000-"
"""How the parent of a first message begins: nobody's id."""
_SILENT: Final = frozenset(("tool_result", "token_budget", "flag"))
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def chat_id(value: Mapping[str, Any]) -> str:
    """The conversation's id; empty where there is none."""
    return sound_id(value.get("uuid")) or sound_id(value.get("id"))


def conversation(value: object, zone: tzinfo) -> Conversation | None:
    """What a JSON value says as a conversation of Claude; None where it is none or has no id. Never raises."""
    record = mapping(value)
    found = chat_id(record)
    if not found or not isinstance(record.get("chat_messages"), list):
        return None
    written = [mapping(one) for one in listing(record.get("chat_messages"))]
    kept, others = _branch(written, record.get("current_leaf_message_uuid"), zone)
    messages = (_message(written[place], zone) for place in kept)
    model = plain_name(record.get("model"))
    return Conversation(
        source=SOURCE,
        chat_id=found,
        title=text(record.get("name")),
        messages=tuple(message for message in messages if message is not None),
        models=(model,) if model else (),
        started=moment(record.get("created_at"), zone),
        updated=moment(record.get("updated_at"), zone),
        other_branches=others,
        url=f"https://claude.ai/chat/{found}" if found == record.get("uuid") else "",
        origin=SOURCE,
    )


def _branch(written: list[Mapping[str, Any]], current: object, zone: tzinfo) -> tuple[list[int], int]:
    """Positions of the messages on the current branch, and how many others there are.

    Without parents the list is the branch. A message that names none, or one that is not there, follows the one before
    it. Where the export does not say which leaf is current, it is the one that was written last.
    """
    ids = [sound_id(one.get("uuid")) or f"#{place}" for place, one in enumerate(written)]
    places = {name: place for place, name in reversed(list(enumerate(ids)))}
    if not any(sound_id(one.get("parent_message_uuid")) in places for one in written):
        return list(range(len(written))), 0
    parents: dict[str, str | None] = {}
    for place, one in enumerate(written):
        named = sound_id(one.get("parent_message_uuid"))
        before = ids[place - 1] if place else None
        above = named if named in places else None if named.startswith(_ROOT) else before
        parents.setdefault(ids[place], above)
    inner = set(parents.values())
    leaves = [name for name in parents if name not in inner]
    leaf = sound_id(current)
    if leaf not in places:
        leaf = max(leaves or ids, key=lambda name: (_time(written[places[name]], zone), places[name]))
    path = path_up(parents, leaf)
    on_path = set(path)
    return [places[name] for name in path], sum(1 for name in leaves if name not in on_path)


def _time(message: Mapping[str, Any], zone: tzinfo) -> datetime:
    return moment(message.get("created_at"), zone) or _EPOCH


def _message(message: Mapping[str, Any], zone: tzinfo) -> Message | None:
    speaker = {"human": "You", "user": "You", "assistant": "Assistant"}.get(text(message.get("sender")))
    if speaker is None:
        return None
    words: list[str] = []
    folded: list[str] = []
    for block in listing(message.get("content")):
        kind = text(mapping(block).get("type"))
        if kind in _TOLD:
            words.append(text(mapping(block).get("text")))
        elif kind in _THINKING:
            folded.append("thinking")
        elif kind == "tool_use":
            folded.append(plain_name(mapping(block).get("name"), "tool"))
        elif kind and kind not in _SILENT:
            folded.append(plain_name(kind, "other"))
    told = "\n\n".join(word for word in words if word.strip()) or ("" if folded else text(message.get("text")))
    names, unnamed = _attachments(message)
    return Message(
        "You" if speaker == "You" else "Assistant",
        told,
        moment(message.get("created_at"), zone),
        tuple(folded + ["attachment"] * unnamed),
        names,
    )


def _attachments(message: Mapping[str, Any]) -> tuple[tuple[str, ...], int]:
    """Names of what was attached, and how many had none (a long text that was pasted). Their contents are not read."""
    every = [mapping(one) for key in ("attachments", "files", "files_v2") for one in listing(message.get(key))]
    names = [file_name(one.get("file_name")) for one in every]
    return tuple(dict.fromkeys(name for name in names if name)), sum(1 for name in names if not name)
