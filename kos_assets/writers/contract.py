"""What every writer and the mirror agree on (W1).

Here: the item that a source yields, what it leaves out and why, and the protocol. Not here: how an item becomes a file
(note.py) or when a file is written (mirror.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, runtime_checkable

from kos_assets.errors import KosError

Scalar = str | int | float | bool
Value = Scalar | Sequence[Scalar]


class SourceError(KosError):
    """A source that cannot be read at all: nothing was written and nothing was marked as gone."""


@dataclass(frozen=True)
class Item:
    """One thing of a source, which becomes one note.

    `external_id` is stable in the source and makes the note's id (V2): never a position or a title that may change.
    `body` is Markdown without frontmatter and without the title as heading. `at` is aware, or None where the source
    has no date; `zone` is the IANA name or the offset that it was written in. `people` are names or `Name <address>`.
    `attachments` are names only. `properties` become further frontmatter. `folder` is below the mirror's folder.
    `origin` says where in the source it stands (a file), so that what cannot be read there is not taken for gone.
    `started` is when something that grows began (a thread, say): it names the file, which so is the same one whenever
    the source is first mirrored. `recalled_cut` counts recalled pieces that the source cut itself (W8).
    """

    external_id: str
    title: str
    body: str
    at: datetime | None = None
    zone: str | None = None
    people: Sequence[str] = ()
    attachments: Sequence[str] = ()
    tags: Sequence[str] = ()
    properties: Mapping[str, Value] = field(default_factory=dict)
    folder: str = ""
    origin: str = ""
    started: datetime | None = None
    recalled_cut: int = 0


@dataclass(frozen=True)
class Skipped:
    """Something in a source that gives no note. `where` is a file, with `:line` or a message's number where known;
    `origin` as in Item: notes that came from there are not marked as gone in this run, from everywhere where it is
    empty. `counts` False: it was left out on purpose (a thread without a reply) and is only counted; nothing is unsure
    then but what `origin` names."""

    where: str
    code: str
    reason: str
    fix: str
    origin: str = ""
    counts: bool = True


Entry = Item | Skipped


class Source(Protocol):
    """A source of items. Deterministic: the same bytes give the same entries in the same order, whatever the clock."""

    @property
    def complete(self) -> bool:
        """Whether `entries` yields everything that there is, so that what is missing is gone from the source."""
        ...

    def fingerprint(self) -> str | None:
        """A cheap digest (names, sizes, times) that changes whenever `entries` may yield something else; None where
        there is no such thing. The same one as at the last whole run lets the mirror stop at once."""
        ...

    def entries(self) -> Iterator[Entry]:
        """Everything, one by one, in bounded memory. Raises SourceError when the source cannot be read at all."""
        ...


@runtime_checkable
class Settling(Protocol):
    """A source that keeps something until it is sure that the notes stand (a spool, say)."""

    def settle(self) -> None:
        """Called once, after every note of the run was written: let go of what was read."""
        ...
