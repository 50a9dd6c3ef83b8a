"""What extraction reads of a memory, and what it gives: candidates (N1).

Here: the frozen types. Not here: the rules that fill them (declared.py, candidates.py, running_text.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

from kos_assets.domain.entities.names import EntityName

Rule = Literal[
    "note_heading",
    "people",
    "mail_address",
    "wikilink",
    "tag",
    "mention_sign",
    "repository",
    "known_name",
    "first_name",
    "organisation_form",
    "title_of_person",
    "mixed_case",
    "capitalised_run",
    "capitalised_word",
    "model",
]

STRUCTURAL: frozenset[Rule] = frozenset(
    ("note_heading", "people", "mail_address", "wikilink", "tag", "mention_sign", "repository")
)
"""Rules that read what an author marked; the rest read running text."""


@dataclass(frozen=True, slots=True)
class MemoryText:
    """The columns of a memory that extraction reads.

    `links` are targets of wikilinks as written (without heading, block and alias), `people` as in the note's
    frontmatter
    (`Name`, `Name <mail>`, `Name (organisation)`), `kind` the frontmatter's kind or type, `lang` a code or `und`.
    """

    memory_id: UUID
    heading: str
    content: str
    note_path: str = ""
    kind: str | None = None
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    lang: str = "und"
    event_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class KnownEntity:
    """An entity with all its names. `own_note` says that an author gave it a note: its aliases are then
    the author's word. `rule` is set for a name that only running text gave: its later mentions stand on that rule
    alone."""

    entity: EntityName
    aliases: tuple[str, ...] = ()
    mails: tuple[str, ...] = ()
    own_note: bool = False
    rule: Rule | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A mention that a rule found in one memory. `span` is the text as it stands there, `confidence` is 0..1.

    `options` holds the entities that an ambiguous mention may mean (N5): then `entity` is a placeholder of the span,
    and
    nothing may count it for any of them.
    """

    memory_id: UUID
    entity: EntityName
    span: str
    rule: Rule
    confidence: float
    options: tuple[EntityName, ...] = field(default=())

    @property
    def ambiguous(self) -> bool:
        """N5: whether it stays unresolved."""
        return len(self.options) > 1
