"""A session log of Claude Code: one JSON value a line, of which few are what was said.

Here: what the lines mean, which branch is current, and the session as a conversation. Not here: reading the file
(logs.py), the look of a note (talk.py). The shape is as observed in versions 1.0 to 2.1; unknown lines are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any, Final, NamedTuple

from kos_assets.writers.chats.shapes import (
    Conversation,
    Message,
    file_name,
    listing,
    mapping,
    moment,
    plain_name,
    sound_id,
    text,
)

SOURCE: Final = "claude-code"
LARGEST_SESSION: Final = 64_000_000
"""Characters of what was said in one session; what comes after is left out and reported."""
_LONGEST_LINE_NAME: Final = 400
_MADE_BY_THE_PROGRAM: Final = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")
_SYNTHETIC: Final = "<synthetic>"


class Link(NamedTuple):
    """Where a line hangs: its id, its parent's (empty where there is none), and whether a person wrote it."""

    uuid: str
    parent: str
    prompt: bool


@dataclass
class SessionLog:
    """Takes a log line by line. `recognised`: lines of a session seen so far; `full`: the text went over the limit."""

    zone: tzinfo
    recognised: int = 0
    full: bool = False
    session_id: str = ""
    project: str = ""
    branch: str = ""
    models: dict[str, None] = field(default_factory=dict)
    _size: int = 0
    _seen: set[str] = field(default_factory=set)
    _links: list[Link] = field(default_factory=list)
    _said: list[tuple[int, Message]] = field(default_factory=list)
    _titles: dict[str, str] = field(default_factory=dict)
    _summaries: list[tuple[str, str]] = field(default_factory=list)

    def take(self, value: object) -> None:
        """One line. Never raises, whatever the JSON value is."""
        line = mapping(value)
        kind = text(line.get("type"))
        if kind in ("custom-title", "ai-title"):
            self._titles[kind] = text(line.get("customTitle")) or text(line.get("aiTitle"))
        elif kind == "summary":
            self._summaries.append((text(line.get("summary"))[:_LONGEST_LINE_NAME], sound_id(line.get("leafUuid"))))
        if kind not in ("user", "assistant", "system", "attachment", "progress", "summary", "custom-title", "ai-title"):
            return
        self.recognised += 1
        uuid = sound_id(line.get("uuid"))
        if line.get("isSidechain") is True or not uuid or uuid in self._seen:
            return
        self._seen.add(uuid)
        self._place(line)
        message = self._message(kind, line)
        parent = sound_id(line.get("parentUuid")) or sound_id(line.get("logicalParentUuid"))
        prompt = message is not None and message.speaker == "You" and bool(message.text)
        self._links.append(Link(uuid, parent, prompt))
        if message is None:
            return
        self._size += len(message.text)
        if self._size > LARGEST_SESSION:
            self.full = True
            return
        self._said.append((len(self._links) - 1, message))

    def conversation(self, chat_id: str, origin: str) -> Conversation:
        """What was said on the branch that is current."""
        dropped, others = abandoned(self._links)
        facts = {"project": self.project, "branch": self.branch}
        return Conversation(
            source=SOURCE,
            chat_id=chat_id,
            title=self._title(),
            messages=tuple(message for place, message in self._said if place not in dropped),
            models=tuple(self.models),
            other_branches=others,
            origin=origin,
            properties={key: value for key, value in facts.items() if value},
        )

    def _title(self) -> str:
        """The person's own, the program's, or the summary of this very session (logs hold others' summaries too)."""
        summaries = [summary for summary, leaf in self._summaries if leaf in self._seen]
        return self._titles.get("custom-title") or self._titles.get("ai-title") or (summaries[-1] if summaries else "")

    def _place(self, line: Mapping[str, Any]) -> None:
        self.session_id = self.session_id or sound_id(line.get("sessionId"))
        self.project = self.project or " ".join(text(line.get("cwd"))[:_LONGEST_LINE_NAME].split())
        self.branch = " ".join(text(line.get("gitBranch"))[:_LONGEST_LINE_NAME].split()) or self.branch

    def _message(self, kind: str, line: Mapping[str, Any]) -> Message | None:
        if any(line.get(flag) is True for flag in _MADE_BY_THE_PROGRAM):
            return None
        at = moment(line.get("timestamp"), self.zone)
        if kind == "attachment":
            return _attached(mapping(line.get("attachment")), at)
        message = mapping(line.get("message"))
        if kind == "user":
            return _told("You", message, at)
        if kind == "assistant" and message.get("model") != _SYNTHETIC:
            model = plain_name(message.get("model"))
            if model:
                self.models.setdefault(model)
            return _told("Assistant", message, at)
        return None


def abandoned(links: Sequence[Link]) -> tuple[set[int], int]:
    """Places of the lines on branches that the person went back from, and how many such branches there are.

    Lines hang together by their parents, but not in one chain: calls of tools in parallel, compaction and lost lines
    break it. So only this counts as abandoned: a prompt that hangs on the chain of the last line without being of it,
    while a later prompt is; and everything that hangs on such a prompt.
    """
    places = {link.uuid: place for place, link in reversed(list(enumerate(links)))}
    chain = _chain(links, places)
    last_prompt = max((place for place in chain if links[place].prompt), default=-1)
    dropped: set[int] = set()
    anchored = set(chain)
    branches = 0
    for place, link in enumerate(links):
        above = places.get(link.parent, -1)
        if place in chain or above not in anchored or above >= place:
            continue
        anchored.add(place)
        if above in dropped:
            dropped.add(place)
        elif link.prompt and place < last_prompt:
            dropped.add(place)
            branches += 1
    return dropped, branches


def _chain(links: Sequence[Link], places: Mapping[str, int]) -> set[int]:
    chain: set[int] = set()
    place = len(links) - 1
    while place >= 0 and place not in chain:
        chain.add(place)
        place = places.get(links[place].parent, -1)
    return chain


def _told(speaker: str, message: Mapping[str, Any], at: Any) -> Message | None:
    """A line's words; thinking and calls are folded, results of tools and contents of files are not read."""
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else listing(content)
    words: list[str] = []
    folded: list[str] = []
    for block in (mapping(one) for one in blocks):
        kind = text(block.get("type"))
        if kind == "text":
            words.append(text(block.get("text")))
        elif kind in ("thinking", "redacted_thinking"):
            folded.append("thinking")
        elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
            folded.append(plain_name(block.get("name"), "tool"))
        elif kind in ("image", "document"):
            folded.append(kind)
    told = "\n\n".join(word for word in words if word.strip())
    if not told and not folded:
        return None
    return Message("You" if speaker == "You" else "Assistant", told, at, tuple(folded))


def _attached(attachment: Mapping[str, Any], at: Any) -> Message | None:
    """A file that the person named, or what they typed while the agent worked. Output of hooks and the like is not."""
    kind = text(attachment.get("type"))
    if kind == "queued_command" and text(attachment.get("commandMode")) in ("", "prompt"):
        prompt = attachment.get("prompt")
        return _told("You", {"content": prompt}, at)
    name = file_name(attachment.get("filename")) if kind == "file" else ""
    return Message("You", at=at, attachments=(name,)) if name else None
