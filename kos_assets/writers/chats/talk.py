"""A conversation as notes: turns with names and times, what is folded, what is cut, and where a long one is divided.

Here: text of notes, pure. Not here: where conversations come from (chatgpt.py, claude.py, sessions.py), files.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from kos_assets.domain.frame import cut_recalled
from kos_assets.domain.markdown_lines import open_fence
from kos_assets.writers.chats.shapes import Conversation, Message, Speaker
from kos_assets.writers.contract import Item, Value

LARGEST_PART: Final = 8_000_000
"""Bytes of text in one note; a longer conversation goes on in `<id>#2`, `#3`, ..."""
_LONGEST_TITLE: Final = 100
_MOST_FOLDED: Final = 12
_MOST_ATTACHMENTS: Final = 200
_PASSES: Final = 4
_WRAPPERS: Final = (
    "system-reminder|command-name|command-message|command-args|command-contents|local-command-stdout|"
    "local-command-stderr|local-command-caveat|user-prompt-submit-hook|session-start-hook|task-notification|"
    "bash-input|bash-stdout|bash-stderr|ide_opened_file|ide_selection|ide_diagnostics|user-memory-input"
)
_TAG = {
    "You": re.compile(rf"(?<!`)<(/?)({_WRAPPERS})(?:\s[^<>]*)?>"),
    "Assistant": re.compile(r"(?<!`)<(/?)(antThinking)(?:\s[^<>]*)?>"),
}
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")


@dataclass
class _Turn:
    """What one side said until the other spoke."""

    speaker: str
    first: datetime | None = None
    last: datetime | None = None
    words: list[str] = field(default_factory=list)
    messages: int = 0
    folded: Counter[str] = field(default_factory=Counter)
    attachments: list[str] = field(default_factory=list)


@dataclass
class _Part:
    """A note in the making."""

    blocks: list[str] = field(default_factory=list)
    size: int = 0
    messages: int = 0
    last: datetime | None = None
    attachments: list[str] = field(default_factory=list)


def cleaned(words: str, speaker: Speaker) -> tuple[str, int]:
    """W8: the text without what was recalled in it and without what a program wrapped around it, and how many recalled
    pieces were cut. Recalled text goes first, since it may itself hold the closing mark of a wrapper."""
    pieces = 0
    for _ in range(_PASSES):
        bare, cut = cut_recalled(words)
        bare = _unwrapped(bare, _TAG[speaker])
        pieces += cut
        if bare == words:
            break
        words = bare
    return words.strip("\n \t\r"), pieces


def items(conversation: Conversation, zone: ZoneInfo, *, largest: int = LARGEST_PART) -> Iterator[Item]:
    """The notes of a conversation: none where nothing was said, else one, or several of at most `largest` bytes.

    A note's date is that of the last message in it (S10: only then is all of it true of that time); `started` says
    when the conversation began. What is said later moves no text from one part to another.
    """
    turns, recalled = _turns(conversation.messages)
    if not any(turn.words for turn in turns):
        return
    title = _title(conversation, turns)
    started = next((turn.first for turn in turns if turn.first is not None), conversation.started)
    facts: dict[str, Value] = {"kind": "chat", "provenance": "output", "source": conversation.source}
    facts |= {"models": list(conversation.models)} if conversation.models else {}
    facts |= {"url": conversation.url} if conversation.url else {}
    facts |= dict(conversation.properties)
    facts |= {"other_branches": conversation.other_branches} if conversation.other_branches else {}
    base = f"{conversation.source}:{conversation.chat_id}"
    for number, part in enumerate(_parts(turns, zone, largest), start=1):
        at = part.last or conversation.updated or started
        yield Item(
            external_id=base if number == 1 else f"{base}#{number}",
            title=title if number == 1 else f"{title} (part {number})",
            body="\n\n".join(part.blocks),
            at=at.astimezone(zone) if at is not None else None,
            zone=zone.key or None,
            attachments=list(dict.fromkeys(part.attachments))[:_MOST_ATTACHMENTS],
            properties={**facts, "messages": part.messages} | ({"part": number} if number > 1 else {}),
            origin=conversation.origin,
            started=started.astimezone(zone) if started is not None else None,
            recalled_cut=recalled if number == 1 else 0,
        )


def _turns(messages: Sequence[Message]) -> tuple[list[_Turn], int]:
    """Messages of one side in a row are one turn."""
    turns: list[_Turn] = []
    recalled = 0
    for message in messages:
        words, cut = cleaned(message.text, message.speaker)
        recalled += cut
        names = [name for name in (cut_recalled(one)[0] for one in message.attachments) if name]
        if not (words or message.folded or names):
            continue
        silent = not (words or message.folded)
        if not turns or (turns[-1].speaker != message.speaker and not silent):
            turns.append(_Turn(message.speaker))
        turn = turns[-1]
        turn.first = turn.first or message.at
        turn.last = max((at for at in (turn.last, message.at) if at is not None), default=None)
        turn.words += [_closed(words)] if words else []
        turn.messages += bool(words)
        turn.folded.update(message.folded)
        turn.attachments += names
    return turns, recalled


def _parts(turns: Sequence[_Turn], zone: ZoneInfo, largest: int) -> Iterator[_Part]:
    """Filled one after the other, so that what is added at the end moves nothing before it."""
    part = _Part()
    for turn in turns:
        if not (turn.words or turn.folded):
            part.attachments += turn.attachments
            continue
        for place, block in enumerate(_divided(_written(turn, zone), largest)):
            size = len(block.encode("utf-8", "replace")) + 2
            if part.blocks and part.size + size > largest:
                yield part
                part = _Part()
            part.blocks.append(block)
            part.size += size
            part.messages += turn.messages if place == 0 else 0
            part.last = max((at for at in (part.last, turn.last) if at is not None), default=None)
            part.attachments += turn.attachments if place == 0 else []
    if part.blocks:
        yield part


def _written(turn: _Turn, zone: ZoneInfo) -> str:
    time = f" · {turn.first.astimezone(zone):%Y-%m-%d %H:%M}" if turn.first is not None else ""
    folded = [f"*Folded: {_counted(turn.folded)}*"] if turn.folded else []
    return "\n\n".join([f"**{turn.speaker}**{time}", *turn.words, *folded])


def _counted(folded: Counter[str]) -> str:
    named = list(folded.items())
    shown = ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in named[:_MOST_FOLDED])
    others = sum(count for _, count in named[_MOST_FOLDED:])
    return f"{shown}, {others} others" if others else shown


def _divided(block: str, largest: int) -> Iterator[str]:
    """A block as it is, or in pieces of at most `largest` bytes, cut after a line where there is one."""
    data = block.encode("utf-8", "replace")
    if len(data) <= largest:
        yield block
        return
    start = 0
    while len(data) - start > largest:
        end = data.rfind(b"\n", start + largest // 2, start + largest)
        if end < 0:
            end = start + largest
            while data[end] & 0xC0 == 0x80:
                end -= 1
        yield _closed(data[start:end].decode())
        start = end
    yield _closed(data[start:].decode().lstrip("\n"))


def _title(conversation: Conversation, turns: Sequence[_Turn]) -> str:
    """The conversation's own title, else the first line that the person wrote."""
    own = " ".join(cleaned(conversation.title[:1000], "You")[0].split())
    if own:
        return own
    asked = (words for turn in turns if turn.speaker == "You" for words in turn.words)
    words = next((" ".join(line.split()).lstrip("#>*-` ") for text in asked for line in text.splitlines()[:20]), "")
    if len(words) <= _LONGEST_TITLE:
        return words
    return words[:_LONGEST_TITLE].rsplit(" ", 1)[0] + "…"


def _unwrapped(words: str, tags: re.Pattern[str]) -> str:
    """Without what stands between the tags that programs write around it; one that is never closed goes to the end
    where it opens a line, and else stays as it is."""
    kept: list[str] = []
    done, depth, opened = 0, 0, ""
    for tag in tags.finditer(words):
        if not opened and not tag[1]:
            kept.append(words[done : tag.start()])
            done, opened, depth = tag.start(), tag[2], 1
        elif tag[2] == opened:
            depth += -1 if tag[1] else 1
            if depth == 0:
                done, opened = tag.end(), ""
    rest = words[done:]
    if opened and words[:done].rpartition("\n")[2].strip() == "":
        rest = ""
    return "".join(kept) + rest


def _closed(words: str) -> str:
    """With every code fence closed, so that it does not swallow the turns after it."""
    fence = open_fence(words)
    return f"{words}\n{fence}" if fence else words
