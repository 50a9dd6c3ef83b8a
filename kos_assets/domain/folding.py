"""G6: which of several notes with the same body is the canonical one. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID


@dataclass(frozen=True)
class Copy:
    """One live note of a group whose bodies are equal. `changed_at`: frontmatter updated, else created, else None."""

    note_id: UUID
    path: str
    changed_at: datetime | None


def canonical(copies: Iterable[Copy]) -> Copy:
    """The greatest by (updated/created, then smallest path): depends on the files alone, not on the order of reading.

    Raises ValueError for an empty group.
    """
    oldest = datetime.min.replace(tzinfo=UTC)
    ranked = sorted(copies, key=lambda copy: copy.path)
    if not ranked:
        raise ValueError("a group of copies has at least one member")
    return max(ranked, key=lambda copy: copy.changed_at or oldest)
