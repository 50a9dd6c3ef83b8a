"""Transcripts in plain text, as note takers export or people copy them (W2).

Here: lines and headers that name a speaker or a time, and telling a transcript from other text. Not here: captions
(cues.py), Markdown notes (markdown.py).

What is known: `Ana: words`, `[00:01:02] Ana: words`, `Ana (00:01:02): words`, `**Ana** 00:01`; a header of its own,
`Ana Ruiz  0:05`, `0:05 - Ana Ruiz`, `[Ana Ruiz] 10:03:12`, `00:05:00`, above words; and facts above all that
(`Date: 2026-03-04`, `Attendees`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from kos_assets.writers.meetings.clock import CLOCK, seconds_of
from kos_assets.writers.meetings.labels import Labels
from kos_assets.writers.meetings.meeting import Line
from kos_assets.writers.meetings.names import is_label

_HOUR = r"(?:\s?[AaPp]\.?[Mm]\.?)?"
_TIME = rf"[\[(<{{]?(?P<time>{CLOCK}){_HOUR}(?:\s*(?:-->?|–|—|to)\s*{CLOCK})?[\])>}}]?"
_NAME = r"(?P<name>[^\s:：|\[\]()<>*_][^:：|\[\]<>*\n]{0,79}?)"
_BOLD = r"(?:\*\*|__)?"
_EMPH = re.compile(r"\*\*|__")
_SEP = r"\s*[-–—|·,:]?\s*"
_STAMPED = re.compile(rf"\s*[-*]?\s*{_BOLD}{_TIME}{_BOLD}(?:\s*[-–—|·]\s*|\s+){_BOLD}(?P<rest>\S.*)", re.DOTALL)
_NAME_THEN_TIME = re.compile(
    rf"\s*\[?{_NAME}\]?{_SEP}{_TIME}\s*(?P<colon>[:：]?)\s*(?P<rest>.*)",
    re.DOTALL,
)
_TIME_ONLY = re.compile(rf"\s*(?:#{{1,6}}\s+)?{_BOLD}{_TIME}{_BOLD}\s*[:：]?\s*")
_BOLD_NAME = re.compile(rf"\s*(?:\*\*|__){_NAME}[:：]?(?:\*\*|__)\s*[:：]?\s*(?P<rest>.*)", re.DOTALL)
_ZOOM_CHAT = re.compile(
    rf"\s*(?P<time>{CLOCK}){_HOUR}\s+From\s+{_NAME}\s+to\s+[^:\n]{{1,80}}:\s*(?P<rest>.*)", re.DOTALL | re.IGNORECASE
)
_FACT = re.compile(r"\s*(?:[-*]\s+)?([A-Za-zÀ-ÿ][A-Za-zÀ-ÿ _-]{1,30}?)\s*[:：]\s*(.{0,2000})", re.DOTALL)
_ENDED = re.compile(
    r"\W{0,5}(?:(?:meeting|transcription) ended after \d|this editable transcript was computer generated|"
    r"transcribed by https://otter\.ai|(?:unknown|automatic) transcription (?:started|stopped))", re.IGNORECASE,
)  # fmt: skip
_FACT_KEYS: Final = frozenset(
    (
        "title", "meeting title", "topic", "subject", "meeting", "date", "time", "date and time", "start", "start time",
        "started", "recorded", "recorded on", "when", "duration", "length", "attendees", "participants", "invitees",
        "present", "people", "speakers", "titel", "thema", "datum", "beginn", "dauer", "teilnehmer", "anwesend", "url",
        "link", "meeting id", "language",
    )
)  # fmt: skip
PEOPLE_KEYS: Final = ("attendees", "participants", "invitees", "present", "people", "teilnehmer", "anwesend")
_TRANSCRIPT: Final = frozenset(("transcript", "transcription", "transkript", "mitschrift", "verbatim"))
_HEAD_ROWS: Final = 40
_LEAST_LINES: Final = 2
_SHARE: Final = 0.2
_HALF: Final = 0.5
_DAY_SECONDS: Final = 24 * 3600.0
_WORDY: Final = 200
_LONGEST_ROW: Final = 4_000


@dataclass
class Head:
    """What stands above a transcript: facts by their key in lower case, other rows as they are."""

    facts: dict[str, str] = field(default_factory=dict)
    rows: list[str] = field(default_factory=list)
    end: int = 0


@dataclass
class _Marked:
    """What a row begins: a speaker, a time, or both, and the words behind them."""

    speaker: str
    time: float | None
    words: str


def transcript_of(text: str, *, sure: bool = False, strict: bool = False) -> tuple[Head, Iterator[Line]] | None:
    """The head and lines of a text; None for what is no transcript.

    In one at least every fifth row names a speaker or time; without times somebody speaks twice, so that a list of
    `Topic: words` is none. `sure`: it stands under a heading that says so, so that one such row is enough. `strict`,
    for notes: half of the rows, no code, and names as Labels says.
    """
    rows = text.split("\n")
    if strict and any(row.lstrip().startswith(("```", "~~~")) for row in rows):
        return None
    labels = Labels((_stripped(row) for row in rows if row.strip()), strict=strict)
    head = _head(rows, labels)
    body = rows[head.end :]
    filled = marked = timed = 0
    speakers: Counter[str] = Counter()
    for row in body:
        filled += bool(row.strip())
        found = _marked(row, labels) if row.strip() and len(row) < _LONGEST_ROW else None
        marked += found is not None
        timed += found is not None and found.time is not None
        if found is not None and found.speaker:
            speakers[found.speaker] += 1
    often = sum(count for count in speakers.values() if count > 1)
    likely = marked >= max(_LEAST_LINES, (_HALF if strict else _SHARE) * filled) and (timed + often) * 2 >= marked
    return (head, _lines(body, labels)) if marked and (sure or likely) else None


def _head(rows: Sequence[str], labels: Labels) -> Head:
    """Facts and other rows above the first row that is said; `Attendees` may have its list below."""
    head = Head()
    waiting = ""
    for number, row in enumerate(rows[:_HEAD_ROWS]):
        row = row[:_LONGEST_ROW]  # noqa: PLW2901
        plain = _stripped(row).strip().lstrip("#").strip()
        key = plain.rstrip(":").casefold()
        found = _FACT.fullmatch(_stripped(row).lstrip("#"))
        if not plain:
            waiting = "" if head.facts.get(waiting) else waiting
            continue
        if key in _TRANSCRIPT:
            head.end = number + 1
            return head
        if found is not None and found[1].casefold() in _FACT_KEYS:
            waiting = "" if found[2].strip() else found[1].casefold()
            head.facts.setdefault(found[1].casefold(), found[2].strip())
        elif key in PEOPLE_KEYS:
            waiting = key
        elif waiting and (plain.startswith(("-", "*", "•")) or not _begins(row, labels)):
            head.facts[waiting] = f"{head.facts.get(waiting, '')}; {plain.lstrip('-*• ')}".strip("; ")
            waiting = waiting if plain.startswith(("-", "*", "•")) else ""
        elif _begins(row, labels):
            head.end = number
            return head
        else:
            head.rows.append(row)
            head.end = number + 1
            if len(plain) > _WORDY:
                break
    if not head.facts:
        return Head()
    return head


def _begins(row: str, labels: Labels) -> bool:
    """Whether something is said from this row on."""
    if _TIME_ONLY.fullmatch(row) or _STAMPED.match(row) or _BOLD_NAME.match(row):
        return True
    plain = _stripped(row)
    before, colon, after = plain.partition(":")
    if labels.split(plain)[0] or (colon and after[:1] in ("", " ") and is_label(before)):
        return True
    found = _NAME_THEN_TIME.fullmatch(plain[:_LONGEST_ROW])
    return found is not None and is_label(found["name"]) and bool(found["colon"] or not found["rest"])


def _lines(rows: Sequence[str], labels: Labels) -> Iterator[Line]:
    speaker, start = "", None
    base: float | None = None
    for row in rows:
        if not row.strip():
            continue
        start_of_row = row.strip()[:_WORDY]
        if _ENDED.match(start_of_row):
            continue
        marked = _marked(row, labels) if len(row) < _LONGEST_ROW else None
        words = row
        if marked is not None:
            words = marked.words
            speaker = marked.speaker or speaker
            if marked.time is not None:
                base = _base(marked.time) if base is None else base
                start = marked.time - base if marked.time >= base else marked.time - base + _DAY_SECONDS
                start = start if start <= _DAY_SECONDS else None
        if words.strip():
            yield Line(words, speaker, start)


def _base(first: float) -> float:
    """What the clock showed at the start, where times are those of the day (10:03:12) and not of the recording."""
    return first if first >= 6 * 3600 else 0.0


def _marked(row: str, labels: Labels) -> _Marked | None:
    chat = _ZOOM_CHAT.fullmatch(row)
    if chat is not None:
        return _Marked(chat["name"].strip(), seconds_of(chat["time"]), chat["rest"])
    only = _TIME_ONLY.fullmatch(row)
    if only is not None:
        return _Marked("", seconds_of(only["time"]), "")
    stamped = _STAMPED.fullmatch(row)
    if stamped is not None:
        return _after_time(stamped["rest"], seconds_of(stamped["time"]), labels)
    plain = _stripped(row)
    named = _NAME_THEN_TIME.fullmatch(plain)
    if named is not None and is_label(named["name"]) and (named["colon"] or not named["rest"] or "**" in row):
        return _Marked(named["name"].strip(), seconds_of(named["time"]), named["rest"])
    bold = _BOLD_NAME.fullmatch(row)
    if bold is not None and labels.allows(bold["name"]):
        return _Marked(bold["name"].strip(), None, bold["rest"])
    speaker, words = labels.split(plain)
    return _Marked(speaker, None, words) if speaker else None


def _after_time(rest: str, time: float | None, labels: Labels) -> _Marked:
    """What follows a time: `Ana: words`, a name alone (a header), or words."""
    plain = _EMPH.sub("", rest)
    before, colon, after = plain.partition(":")
    if colon and after[:1] in ("", " ") and is_label(before):
        return _Marked(before.strip(), time, after.strip())
    speaker, words = labels.split(plain)
    if speaker:
        return _Marked(speaker, time, words)
    if is_label(plain) and not plain.rstrip().endswith((".", "!", "?", ",")) and len(plain.split()) > 1:
        return _Marked(plain.strip(), time, "")
    return _Marked("", time, rest)


def _stripped(row: str) -> str:
    return _EMPH.sub("", row) if "*" in row or "_" in row else row
