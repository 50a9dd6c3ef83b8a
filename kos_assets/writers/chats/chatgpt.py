"""A conversation of a ChatGPT account export: a tree of messages, of which one branch is the current one.

Here: what one element of conversations.json means. Not here: reading the file (records.py), the look of a note
(talk.py). The shape has no published contract; it is as observed in exports of 2023 to 2026.
"""

from __future__ import annotations

import json
import re
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

SOURCE: Final = "chatgpt"
_LEFT_OUT: Final = frozenset(("user_editable_context", "model_editable_context"))
_THINKING: Final = frozenset(("thoughts", "reasoning_recap"))
_TOLD: Final = frozenset(("text", "multimodal_text", "code", ""))
_MEDIA: Final = (("image", "image"), ("audio", "audio"), ("video", "video"))
_MARKER = re.compile("\ue200([^\ue200\ue201]*)\ue201")
_CITATION = re.compile("\u3010[^\u3010\u3011\\n]{0,120}\u2020[^\u3010\u3011\\n]{0,120}\u3011")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def chat_id(value: Mapping[str, Any]) -> str:
    """The conversation's id; exports without one are known by their start and root. Empty where there is neither."""
    found = sound_id(value.get("conversation_id")) or sound_id(value.get("id"))
    started = value.get("create_time")
    if found or not isinstance(started, int | float) or moment(started, UTC) is None:
        return found
    nodes = mapping(value.get("mapping"))
    roots = sorted(key for key, node in nodes.items() if text(mapping(node).get("parent")) not in nodes)
    return sound_id(f"{started!r} {roots[0]}") if roots else ""


def conversation(value: object, zone: tzinfo) -> Conversation | None:
    """What a JSON value says as a conversation of ChatGPT; None where it is none or has no id. Never raises."""
    record = mapping(value)
    nodes = mapping(record.get("mapping"))
    found = chat_id(record)
    if not found or not isinstance(record.get("mapping"), dict):
        return None
    path, others = _branch(nodes, record.get("current_node"), zone)
    messages: list[Message] = []
    models: list[str] = [plain_name(record.get("default_model_slug"))]
    called: set[str] = set()
    for node in path:
        message = mapping(mapping(nodes[node]).get("message"))
        models.append(plain_name(mapping(message.get("metadata")).get("model_slug")))
        told = _message(message, called, zone)
        if told is not None:
            messages.append(told)
    return Conversation(
        source=SOURCE,
        chat_id=found,
        title=text(record.get("title")),
        messages=tuple(messages),
        models=tuple(dict.fromkeys(model for model in models if model and model != "auto")),
        started=moment(record.get("create_time"), zone),
        updated=moment(record.get("update_time"), zone),
        other_branches=others,
        url=f"https://chatgpt.com/c/{found}" if found in (record.get("conversation_id"), record.get("id")) else "",
        origin=SOURCE,
    )


def _branch(nodes: Mapping[str, Any], current: object, zone: tzinfo) -> tuple[list[str], int]:
    """The node ids of the current branch, root first, and how many other branches end elsewhere."""
    parents = {key: text(mapping(node).get("parent")) or None for key, node in nodes.items()}
    inner = set(parents.values())
    leaves = [key for key in nodes if key not in inner and mapping(mapping(nodes[key]).get("message"))]
    leaf = text(current) if text(current) in nodes else ""
    if not leaf and leaves:
        times = [
            moment(mapping(mapping(nodes[key]).get("message")).get("create_time"), zone) or _EPOCH for key in leaves
        ]
        leaf = leaves[max(range(len(leaves)), key=lambda place: (times[place], place))]
    path = path_up(parents, leaf)
    on_path = set(path)
    return path, sum(1 for key in leaves if key not in on_path)


def _message(message: Mapping[str, Any], called: set[str], zone: tzinfo) -> Message | None:
    """One node's message; `called` gathers the tools that were called, so that their results are not counted again."""
    metadata, content = mapping(message.get("metadata")), mapping(message.get("content"))
    role = text(mapping(message.get("author")).get("role"))
    kind = text(content.get("content_type"))
    at = moment(message.get("create_time"), zone)
    if role == "tool":
        tool = plain_name(mapping(message.get("author")).get("name"), "tool")
        return None if tool in called or tool.split(".")[0] in called else Message("Assistant", folded=(tool,))
    if role not in ("user", "assistant") or kind in _LEFT_OUT:
        return None
    if metadata.get("is_visually_hidden_from_conversation") is True or metadata.get("is_user_system_message") is True:
        return None
    recipient = text(message.get("recipient"))
    if role == "assistant" and recipient not in ("", "all"):
        tool = plain_name(recipient, "tool")
        called.update((tool, tool.split(".")[0]))
        return Message("Assistant", folded=(tool,))
    if kind in _THINKING:
        return Message("Assistant", folded=("thinking",))
    if kind not in _TOLD:
        return Message("Assistant", folded=(plain_name(kind, "other"),)) if role == "assistant" else None
    told, media = _told(content)
    names = _attachments(metadata)
    if media and names:
        media = ()
    return Message("You" if role == "user" else "Assistant", told, at, media, names)


def _told(content: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The words of a message, and what else was in it (pictures, sounds)."""
    words: list[str] = []
    media: list[str] = []
    for part in listing(content.get("parts")):
        if isinstance(part, str):
            words.append(part)
            continue
        kind = text(mapping(part).get("content_type"))
        if text(mapping(part).get("text")):
            words.append(text(mapping(part).get("text")))
        elif kind:
            media.append(next((name for word, name in _MEDIA if word in kind), plain_name(kind, "other")))
    if not words and text(content.get("text")):
        words = [text(content.get("text"))]
        if content.get("content_type") == "code":
            words = [f"```\n{words[0]}\n```"]
    return _without_markers("\n\n".join(word for word in words if word.strip())), tuple(media)


def _attachments(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    names = (file_name(mapping(one).get("name")) for one in listing(metadata.get("attachments")))
    return tuple(name for name in names if name)


def _without_markers(words: str) -> str:
    """Without citation marks, which mean nothing outside the service; the name of an entity stays."""
    return _CITATION.sub("", _MARKER.sub(_spoken, words))


def _spoken(match: re.Match[str]) -> str:
    kind, _, rest = match[1].partition("\ue202")
    if kind != "entity" or len(rest) > 2000:
        return ""
    try:
        parts = json.loads(rest)
    except (ValueError, RecursionError):
        return ""
    return text(parts[1]) if isinstance(parts, list) and len(parts) > 1 else ""
