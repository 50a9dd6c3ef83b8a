"""A meeting as every format gives it: what was said, agreed, and who was there (W2).

Here: the values that the formats fill and the note is made of. Not here: reading a format (cues.py, plain.py,
markdown.py, roles.py) or the look of a note (page.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kos_assets.vault.dates import When


class UnreadableMeetingError(Exception):
    """A file gives no meeting: the only error that reading one raises. `counts` False: nothing is wrong with it."""

    def __init__(self, code: str, reason: str, fix: str, *, counts: bool = True) -> None:
        super().__init__(reason)
        self.code, self.reason, self.fix, self.counts = code, reason, fix, counts


@dataclass(frozen=True, slots=True)
class Line:
    """Something said at once. Times are seconds from the recording's start, None where none is given. `rolling`: it
    is a caption, which may repeat what the one before still showed; its line breaks count."""

    text: str
    speaker: str = ""
    start: float | None = None
    end: float | None = None
    rolling: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker said without being interrupted, in paragraphs of one line each."""

    speaker: str
    start: float | None
    paragraphs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """Something that somebody is to do. `due` is `2026-03-04` or empty."""

    text: str
    assignee: str = ""
    due: str = ""
    done: bool = False


@dataclass(frozen=True, slots=True)
class Flaw:
    """A part that could not be read as it should; `line` from 1. What is not lost is kept as text."""

    line: int
    code: str
    reason: str
    fix: str


@dataclass(frozen=True)
class Meeting:
    """One meeting as one file tells it. `sections` are further (heading, Markdown); `notes` is Markdown that a person
    or program wrote, as it stands. `people` are `Name` or `Name <address>`, speakers included, placeholders not.
    `duration` in seconds. `named` counts characters said by speakers with a name, `said` all of them."""

    title: str = ""
    meeting_id: str = ""
    when: When | None = None
    duration: float | None = None
    summary: str = ""
    actions: tuple[Action, ...] = ()
    sections: tuple[tuple[str, str], ...] = ()
    notes: str = ""
    people: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    turns: tuple[Turn, ...] = ()
    url: str = ""
    language: str = ""
    encoding: str = ""
    flaws: tuple[Flaw, ...] = ()
    flaw_count: int = 0
    recalled_cut: int = 0
    named: int = 0
    said: int = 0


@dataclass
class Flaws:
    """Collects flaws; of many only the first ones are kept, all are counted."""

    most: int = 20
    kept: list[Flaw] = field(default_factory=list)
    count: int = 0

    def add(self, flaw: Flaw) -> None:
        """Count it, and keep it while there is room."""
        self.count += 1
        if len(self.kept) < self.most:
            self.kept.append(flaw)
