"""WebVTT and SRT as lines, also as programs really write them (W2).

Here: cues, their times, tags and voices; what stands beside them (NOTE, STYLE, REGION, the header). Not here: folding
captions that repeat (turns.py).

webvtt-py 0.6 reads what is well-formed, and the tests compare with it. It is not used here because it drops without a
word what it cannot read (a comma for a dot, negative times, 70 seconds, text below a blank line), refuses files without
their header, gives one voice per cue, and keeps all cues in memory.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kos_assets.writers.meetings.clock import CLOCK, seconds_of
from kos_assets.writers.meetings.labels import Labels
from kos_assets.writers.meetings.meeting import Flaw, Flaws, Line

_TIMING = re.compile(rf"\s*({CLOCK})\s*(?:-{{1,3}}|\u2013|\u2014)>\s*({CLOCK})(?!\S)")
_LIKE_TIMING = re.compile(r"\s*-?\d[^\n]{0,40}-->")
_BLOCK = re.compile(r"(?:NOTE|STYLE|REGION)(?=[ \t]|\Z)")
_TAG = re.compile(
    r"</?(?:c|i|b|u|s|v|em|strong|font|span|p|br|ruby|rt|lang|div|a)(?:[.\s/][^<>]{0,300})?/?>|<[\d:.]{5,16}>",
    re.IGNORECASE,
)
_VOICE = re.compile(r"<v(?:\.[^\s<>]{0,100})?(?:[ \t]+([^<>\n]{0,300}))?>", re.IGNORECASE)
_POSITION = re.compile(r"\{\\an?\d{1,2}\}|\{\\[a-z0-9&().,]{1,60}\}", re.IGNORECASE)
_FACT = re.compile(r"([A-Za-z][A-Za-z _-]{0,30})\s*[:=]\s*(.{1,300})")
_NOTE_FACT = re.compile(r"NOTE[ \t]+([A-Za-z][A-Za-z _-]{0,30}):\s*\"?([^\"\n]{1,200})\"?")
_MARKS: Final = "<&{"
_LONGEST_METADATA: Final = 200_000
_MOST_ROWS: Final = 5_000
_LONGEST_NUMBER: Final = 9
_FIX: Final = "look at the line in the file; its text was kept without a time"


@dataclass
class _Cue:
    """A cue while it is read. `waiting` are rows after a blank: more text, or the next cue's identifier. `gap`: the row
    just read was blank. `timed` False: text that stands above any cue."""

    start: float | None = None
    end: float | None = None
    timed: bool = False
    rows: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    blank: bool = False
    gap: bool = False

    def add(self, row: str) -> None:
        (self.waiting if self.blank else self.rows).append(row)
        self.gap = False


def facts_of(text: str) -> dict[str, str]:
    """What the header and the notes before the first cue say of the whole: language, title, date, duration."""
    facts: dict[str, str] = {}
    for number, line in enumerate(text[:20_000].split("\n")):
        if "-->" in line or number > 200:
            break
        found = _NOTE_FACT.match(line) or (_FACT.fullmatch(line.strip()) if not line.startswith("NOTE") else None)
        if found is not None:
            facts.setdefault(found[1].strip().casefold(), found[2].strip())
    return facts


def lines_of(text: str, flaws: Flaws) -> Iterator[Line]:
    """What is said, cue by cue, in the order of the file. Text is never lost: what has no readable time is kept without
    one and told in `flaws`."""
    labels = None if _VOICE.search(text) else Labels(_plain_rows(text))
    speaker = ""
    for cue in _cues(text, flaws):
        for line in _spoken(cue, labels):
            if labels is not None and line.rolling:  # who has a name once speaks until the next name
                speaker = line.speaker or speaker
                yield replace(line, speaker=speaker)
            else:
                yield line


def _rows(text: str) -> Iterator[str]:
    """The lines of a text of any size, one at a time."""
    place = 0
    while place < len(text):
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        yield text[place:end]
        place = end + 1


def _plain_rows(text: str) -> Iterator[str]:
    for row in _rows(text):
        if row and "-->" not in row and not row.isdecimal():
            yield _without_tags(row)


def _cues(text: str, flaws: Flaws) -> Iterator[_Cue]:
    cue = _Cue()
    vtt = text.startswith("WEBVTT")
    aside = vtt  # a block that is not spoken: the header, a note, a style
    for number, row in enumerate(_rows(text), 1):
        timing = _TIMING.match(row) if ">" in row else None
        if timing is not None or (not aside and "-->" in row and _LIKE_TIMING.match(row)):
            yield _finished(cue, begins=True)
            cue, aside = _begun(number, timing, flaws), False
        elif not row.strip():
            aside, cue.gap = False, True
            cue.blank = cue.blank or bool(cue.rows) or cue.timed
        elif aside:
            continue
        elif vtt and cue.gap and _BLOCK.match(row):
            aside = True
        else:
            cue.add(row)
            if len(cue.rows) + len(cue.waiting) > _MOST_ROWS:
                yield _finished(cue, begins=False)
                cue = _Cue()
    yield _finished(cue, begins=False)


def _begun(number: int, timing: re.Match[str] | None, flaws: Flaws) -> _Cue:
    start, end = (None, None) if timing is None else (seconds_of(timing[1]), seconds_of(timing[2]))
    if start is None or end is None:
        flaws.add(Flaw(number, "bad_cue_time", "the times of a cue cannot be read", _FIX))
        return _Cue(timed=True)
    return _Cue(start, max(start, end), timed=True)


def _finished(cue: _Cue, *, begins: bool) -> _Cue:
    """The cue with all its rows but the one that names the next cue, which `begins`: the last one after a blank, a
    number right above the times, or what stands alone above the first."""
    rows = cue.waiting or cue.rows
    last = rows[-1].strip() if rows else ""
    number = last.isdecimal() and len(last) <= _LONGEST_NUMBER
    if begins and rows and (number or (not cue.gap and (bool(cue.waiting) or (not cue.timed and len(rows) == 1)))):
        rows.pop()
    cue.rows += cue.waiting
    cue.waiting = []
    return cue


def _spoken(cue: _Cue, labels: Labels | None) -> Iterator[Line]:
    text = "\n".join(cue.rows)
    said = _metadata(text) if text.lstrip().startswith("{") else None
    if said is not None:
        yield Line(said[1], said[0], cue.start, cue.end)
    elif labels is None:
        for speaker, words in _voices(text):
            yield Line(_without_tags(words), html.unescape(speaker), cue.start, cue.end, rolling=True)
    else:
        speaker = ""
        said_rows: list[str] = []
        for row in _without_tags(text).split("\n"):
            name, rest = labels.split(row)
            if name and said_rows:
                yield Line("\n".join(said_rows), speaker, cue.start, cue.end, rolling=True)
                said_rows = []
            speaker = name or speaker
            said_rows.append(rest)
        yield Line("\n".join(said_rows), speaker, cue.start, cue.end, rolling=True)


def _voices(text: str) -> Iterator[tuple[str, str]]:
    """(speaker, words) of a cue with `<v Name>` spans; words before the first one have no speaker."""
    speaker, place = "", 0
    for found in _VOICE.finditer(text):
        if text[place : found.start()].strip():
            yield speaker, text[place : found.start()]
        speaker, place = (found[1] or "").strip(), found.end()
    if text[place:].strip():
        yield speaker, text[place:]


def _without_tags(text: str) -> str:
    if not any(mark in text for mark in _MARKS):
        return text
    return html.unescape(_TAG.sub("", _POSITION.sub("", text)))


def _metadata(text: str) -> tuple[str, str] | None:
    """Speaker and words of a cue that is JSON, as Teams' metadata transcripts have them."""
    if "spokenText" not in text or len(text) > _LONGEST_METADATA:
        return None
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("spokenText"), str):
        return None
    speaker = value.get("speakerName")
    return speaker if isinstance(speaker, str) else "", value["spokenText"]
