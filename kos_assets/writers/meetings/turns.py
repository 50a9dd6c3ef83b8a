"""From lines to turns: captions that repeat are folded, lines of one speaker joined (W2).

Here: what belongs together. Not here: formats, or the look of a turn (page.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from kos_assets.writers.meetings.meeting import Line, Turn
from kos_assets.writers.meetings.names import is_person, tidy
from kos_assets.writers.meetings.words import LONGEST_LINE, Cutter

LONGEST_MARK: Final = 300.0
"""Seconds after which a turn that goes on is marked with the time again."""

_PARAGRAPH: Final = 700
_LONGEST_PARAGRAPH: Final = 1_400
_SENTENCE_ENDS: Final = (".", "!", "?", "…", "。", "！", "？", "।", "؟", "۔", '."', '!"', '?"', ".”", "?”", "!”")
_UNSPACED: Final = (
    ("\u2e80", "\u9fff"), ("\uf900", "\ufaff"), ("\uff00", "\uffef"), ("\u0e00", "\u0eff"),
    ("\U00020000", "\U0003ffff"),
)  # fmt: skip
_TOUCHING: Final = 0.05
_FLASH: Final = 0.06
"""Seconds; captions that scroll have cues of 10 ms between the others."""


@dataclass
class Said:
    """Turns and their measures: `named` and `said` in characters, `last` the latest time."""

    turns: list[Turn]
    named: int = 0
    said: int = 0
    last: float | None = None


def joined(lines: Iterable[Line], cutter: Cutter) -> Said:
    """The turns of a transcript, in the order of its lines. A line without a speaker stands apart from those with one;
    a turn that goes on is begun anew, with its time, every five minutes."""
    said = Said([])
    speaker, start, words = "", None, _Paragraphs()
    for line in _cleaned(_folded(lines), cutter):
        late = line.start is not None and start is not None and line.start - start >= LONGEST_MARK
        if words.any and (line.speaker != speaker or (late and words.sentence_ended)):
            said.turns.append(Turn(speaker, start, words.done()))
        if not words.any:
            speaker, start = line.speaker, line.start
        start = line.start if start is None else start
        words.add(line.text)
        said.said += len(line.text)
        said.named += len(line.text) if is_person(line.speaker) else 0
        times = (said.last, line.start, line.end)
        said.last = max((time for time in times if time is not None), default=None)
    if words.any:
        said.turns.append(Turn(speaker, start, words.done()))
    return said


class _Paragraphs:
    """Words of one turn, in paragraphs that end with a sentence."""

    def __init__(self) -> None:
        self._done: list[str] = []
        self._parts: list[str] = []
        self._size = 0

    @property
    def any(self) -> bool:
        return bool(self._done or self._parts)

    @property
    def sentence_ended(self) -> bool:
        return not self._parts or self._parts[-1].endswith(_SENTENCE_ENDS) or self._size >= _PARAGRAPH

    def add(self, text: str) -> None:
        long = self._size >= _PARAGRAPH and self.sentence_ended and self._parts[-1].endswith(_SENTENCE_ENDS)
        if self._parts and (long or self._size + len(text) > _LONGEST_PARAGRAPH):
            self._end()
        if self._parts and not _unspaced(self._parts[-1][-1], text[0]):
            self._parts.append(" ")
        self._parts.append(text)
        self._size += len(text) + 1

    def done(self) -> tuple[str, ...]:
        self._end()
        found, self._done = tuple(self._done), []
        return found

    def _end(self) -> None:
        if self._parts:
            self._done.append("".join(self._parts))
        self._parts, self._size = [], 0


def _unspaced(before: str, after: str) -> bool:
    """Whether two characters stand together without a space, as in Chinese, Japanese and Thai."""
    return any(low <= before <= high for low, high in _UNSPACED) and any(
        low <= after <= high for low, high in _UNSPACED
    )


def _cleaned(lines: Iterable[Line], cutter: Cutter) -> Iterator[Line]:
    tidied: dict[str, str] = {}
    for line in lines:
        text = cutter.line(line.text)
        if not text:
            continue
        if line.speaker not in tidied:
            if len(tidied) > 10_000:
                tidied.clear()
            tidied[line.speaker] = cutter.line(tidy(line.speaker))
        for place in range(0, len(text), LONGEST_LINE):
            part = text[place : place + LONGEST_LINE].strip()
            if part:
                yield replace(line, text=part, speaker=tidied[line.speaker])


def _folded(lines: Iterable[Line]) -> Iterator[Line]:
    """Without what captions show again: the same cue twice, rows that scroll up, a caption that grows while it is
    spoken. Only neighbours of one speaker that touch in time are compared, so that who says `Yes.` twice does."""
    before: Line | None = None
    rows: list[str] = []
    for line in lines:
        if not line.rolling:
            if before is not None:
                yield before
            before, rows = None, []
            yield line
            continue
        now = [row for row in (row.strip() for row in line.text.split("\n")) if row]
        if before is None or before.speaker != line.speaker or not _touch(before, line):
            if before is not None:
                yield before
            before, rows = line, now
            continue
        new = _beyond(rows, now, before, line)
        if new is None:  # it says the same and more
            before, rows = replace(line, start=before.start), now
        elif not new:
            before, rows = replace(before, end=_later(before.end, line.end)), now
        else:
            yield before
            before, rows = replace(line, text="\n".join(new)), now
    if before is not None:
        yield before


def _beyond(rows: list[str], now: list[str], before: Line, line: Line) -> list[str] | None:
    """The rows that are new. None: the caption before grew into this one, which counts instead of it."""
    overlaps = before.end is not None and line.start is not None and line.start < before.end - 1e-6
    whole = before.text.strip() == "\n".join(rows)
    if overlaps and whole and rows != now and " ".join(now).startswith(" ".join(rows)):
        return None
    if rows == now and len(now) == 1 and not (overlaps or _flashes(before) or _flashes(line)):
        return now
    for count in range(min(len(rows), len(now)), 0, -1):
        if rows[-count:] == now[:count]:
            return now[count:]
    return now


def _touch(before: Line, line: Line) -> bool:
    if before.end is None or line.start is None or before.start is None:
        return False
    return before.start - _TOUCHING <= line.start <= before.end + _TOUCHING


def _flashes(line: Line) -> bool:
    return line.start is not None and line.end is not None and line.end - line.start <= _FLASH


def _later(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else max(one, other)
