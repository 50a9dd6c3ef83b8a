"""What each step of ingest did, in counts, ids and seconds; never text (house rule 14)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Protocol

Progress = Callable[[str, int, int], None]
"""Called with a step's name, how many items are done, and how many there are."""

Figure = int | float | str | list[str]
SAMPLE = 10


class Report(Protocol):
    """Any step's report."""

    seconds: float

    def metadata(self) -> dict[str, Figure]:
        """Figures by name, ready to show."""
        ...


@dataclass(frozen=True)
class _Figures:
    def metadata(self) -> dict[str, Figure]:
        """Figures by name, ready to show; lists are samples of ids or paths."""
        return {
            name: list(value)[:SAMPLE] if isinstance(value, tuple) else value for name, value in asdict(self).items()
        }


@dataclass(frozen=True)
class NotesReport(_Figures):
    """One scan: files standing, files read, and what changed in the index."""

    files: int = 0
    read: int = 0
    new: int = 0
    changed: int = 0
    moved: int = 0
    deleted: int = 0
    stamped: int = 0
    waiting: int = 0
    blocked: int = 0
    problems: int = 0
    seconds: float = 0.0
    changed_ids: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class MemoriesReport(_Figures):
    """What the gate did for changed notes."""

    notes: int = 0
    inserted: int = 0
    updated: int = 0
    folded: int = 0
    retired: int = 0
    restored: int = 0
    links: int = 0
    live: int = 0
    seconds: float = 0.0
    memory_ids: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class ChunksReport(_Figures):
    """What was cut and counted."""

    memories: int = 0
    chunks: int = 0
    postings: int = 0
    vectors_kept: int = 0
    seconds: float = 0.0
    memory_ids: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class EmbeddingsReport(_Figures):
    """What was embedded; `reused` vectors were copied from the same text elsewhere, without a model call."""

    model_id: str = ""
    state: str = "current"
    pending: int = 0
    embedded: int = 0
    reused: int = 0
    refused: int = 0
    similar_pairs: int = 0
    seconds: float = 0.0
    reason: str = ""


@dataclass(frozen=True)
class StatementsReport(_Figures):
    """Files of statements: standing, read, and by state; rows healed, settled by decisions, passed after a wait."""

    files: int = 0
    read: int = 0
    healed: int = 0
    settled: int = 0
    passed: int = 0
    accepted: int = 0
    pending: int = 0
    refused: int = 0
    seconds: float = 0.0
    memory_ids: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class HistoryReport(_Figures):
    """The vault's own commit: its id and how many files it changed, or why there is none. Empty where it is off."""

    commit: str = ""
    committed_files: int = 0
    commit_told: str = ""
    seconds: float = 0.0

    def metadata(self) -> dict[str, Figure]:
        """Nothing at all where it is off."""
        return (
            {name: value for name, value in super().metadata().items() if name != "seconds"} if self.commit_told else {}
        )
