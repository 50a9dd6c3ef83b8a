"""A meeting as the body of a note: summary first, tasks, notes, then the transcript (W2).

Here: what the note of a meeting looks like. Not here: what is known of the meeting (merging.py) or the file
(writers/note.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kos_assets.writers.contract import Value
from kos_assets.writers.meetings.actions import task
from kos_assets.writers.meetings.clock import mark
from kos_assets.writers.meetings.meeting import Meeting, Turn
from kos_assets.writers.meetings.words import below, paragraph, whole

LARGEST_BODY: Final = 8 * 2**20
"""Bytes of one note; a longer meeting goes on in the next one. The vault reads notes up to 16 MiB."""

_LONGEST_TOP: Final = 12 * 2**20
_MINUTE: Final = 60


def bodies(meeting: Meeting, largest: int = LARGEST_BODY) -> Iterator[str]:
    """The Markdown of the meeting's notes, mostly one; each of at most about `largest` bytes."""
    top = _top(meeting)
    if not meeting.turns:
        yield top
        return
    parts = [f"{top}\n\n## Transcript" if top else "## Transcript"]
    size = len(parts[0].encode("utf-8", "replace"))
    for turn in meeting.turns:
        for block in _turn(turn):
            length = len(block.encode("utf-8", "replace")) + 2
            if size + length > largest and len(parts) > 1:
                yield "\n\n".join(parts)
                parts, size = ["## Transcript"], 0
            parts.append(block)
            size += length
    yield "\n\n".join(parts)


def properties(meeting: Meeting, files: list[str]) -> dict[str, Value]:
    """Further frontmatter: `duration_minutes`, where it is on the web, which files it was read from."""
    found: dict[str, Value] = {"kind": "meeting"}
    found |= {"duration_minutes": max(1, round(meeting.duration / _MINUTE))} if meeting.duration else {}
    found |= {"meeting_id": meeting.meeting_id} if meeting.meeting_id else {}
    found |= {"url": meeting.url} if meeting.url else {}
    found |= {"language": meeting.language} if meeting.language else {}
    found |= {"files": files}
    return found | ({"encoding": meeting.encoding} if meeting.encoding else {})


def _top(meeting: Meeting) -> str:
    """Everything above the transcript. Notes alone stand as they are; beside a summary they are a section."""
    tasks = "\n".join(task(action) for action in meeting.actions)
    sections = [(heading, text) for heading, text in meeting.sections]
    parts = [("Summary", meeting.summary)] if meeting.summary else []
    alone = not meeting.summary and not sections
    if meeting.notes and alone:
        parts.append(("", meeting.notes))
    parts += [("Action items", tasks)] if tasks else []
    if meeting.notes and not alone:
        notes = below(meeting.notes, 3)
        own = next((number for number, (heading, _) in enumerate(sections) if heading == "Notes"), None)
        if own is None:
            sections.append(("Notes", notes))
        else:
            sections[own] = ("Notes", f"{sections[own][1]}\n\n{notes}")
    shown = [(f"## {heading}\n\n" if heading else "") + whole(text) for heading, text in [*parts, *sections] if text]
    return whole("\n\n".join(shown).encode("utf-8", "replace")[:_LONGEST_TOP].decode("utf-8", "ignore"))


def _turn(turn: Turn) -> Iterator[str]:
    """Blocks: the speaker and time with the first paragraph below, then the other paragraphs."""
    time = mark(turn.start) if turn.start is not None else ""
    head = f"**{turn.speaker}**" if turn.speaker else ""
    head = f"{head} · {time}" if head and time else head or (f"**{time}**" if time else "")
    first, *rest = turn.paragraphs
    yield f"{head}\n\n{paragraph(first)}" if head else paragraph(first)
    yield from (paragraph(text) for text in rest)
