"""A file's bytes as meetings: one pure function for every format (W2).

Here: which format the bytes have, and what the formats share. Not here: the formats, or files (places.py).
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Final

from kos_assets.vault import dates
from kos_assets.writers.decoding import decoded
from kos_assets.writers.meetings import cues, markdown, roles
from kos_assets.writers.meetings.clock import duration_of
from kos_assets.writers.meetings.meeting import Flaws, Meeting, UnreadableMeetingError
from kos_assets.writers.meetings.names import is_person, merged
from kos_assets.writers.meetings.records import value_of
from kos_assets.writers.meetings.turns import joined
from kos_assets.writers.meetings.words import Cutter

SUFFIXES: Final = (".json", ".jsonl", ".vtt", ".srt", ".md", ".markdown", ".txt")
MOST_ROWS: Final = 5_000_000
"""Of a text; captions of 64 MB have two to four million."""

_JSON: Final = frozenset((".json", ".jsonl"))


def parse(data: bytes, suffix: str, zone: dt.tzinfo = dt.UTC) -> tuple[Meeting, ...]:
    """The meetings that a file holds, at least one; `suffix` is one of SUFFIXES, `zone` is for times without one.

    The only error is UnreadableMeetingError: no text, no meeting, or more than the bounds allow. Nothing outside the
    bytes is looked at, so that the same bytes give the same meetings.
    """
    read = decoded(data)
    if read is None:
        raise UnreadableMeetingError("binary", "the file is no text", "export it as text, or remove it from there")
    text, encoding = read
    cutter = Cutter()
    suffix = suffix.lower()
    if suffix not in _JSON and text.count("\n") > MOST_ROWS:
        reason = f"the file has more than {MOST_ROWS:,} lines"
        raise UnreadableMeetingError("too_large", reason, "split it")
    if not text.strip():
        raise UnreadableMeetingError("empty", "the file is empty", "delete it, or export it again")
    if suffix in _JSON:
        found = tuple(roles.meetings_of(value_of(text), zone, cutter))
    elif suffix in (".vtt", ".srt") or text.startswith("WEBVTT"):
        found = (_captions(text, zone, cutter),)
    elif suffix in (".md", ".markdown"):
        found = (markdown.meeting_of(text, zone, cutter),)
    else:
        found = (markdown.text_meeting_of(text, zone, cutter),)
    first = replace(found[0], recalled_cut=cutter.pieces, encoding=encoding)
    return (first, *(replace(one, encoding=encoding) for one in found[1:]))


def _captions(text: str, zone: dt.tzinfo, cutter: Cutter) -> Meeting:
    text = cutter.text(text)
    flaws = Flaws()
    said = joined(cues.lines_of(text, flaws), cutter)
    if not said.turns:
        raise UnreadableMeetingError("no_cues", "there is no caption with words in it", "export it again, or delete it")
    facts = cues.facts_of(text) if text.startswith("WEBVTT") else {}
    when = next((when for key in ("date", "start", "created") if (when := dates.written(facts.get(key), zone))), None)
    return Meeting(
        title=cutter.line(facts.get("title", "")),
        when=when,
        duration=duration_of(facts.get("duration"), "duration", said.last) or said.last,
        people=merged(turn.speaker for turn in said.turns if is_person(turn.speaker)),
        turns=tuple(said.turns),
        language=facts.get("language", "")[:20],
        flaws=tuple(flaws.kept),
        flaw_count=flaws.count,
        named=said.named,
        said=said.said,
    )
