"""What of a memory is indexed: the fields of a chunk for words, the text of a vector for meaning. Pure.

Changing anything here means re-indexing every installation: raise `INDEX_RECIPE` with it, and the next ingest does so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, date, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kos_assets.domain.chunking import embedding_text
from kos_assets.domain.prose import spoken
from kos_assets.domain.tokens import TOKENIZER_VERSION

INDEX_RECIPE = 1000 * TOKENIZER_VERSION + 2

CHUNK_TOKENS = 240
"""Most tokens of a chunk, title and heading path included; the embedded model sees 256 with its two marks."""

_TITLE, _KEYWORDS, _PATH, _DATE, _BODY = 2.0, 2.0, 1.0, 1.0, 1.0
_MEMORY_CHARACTERS = 4000
_UNDATED = {"none", "git", "mtime"}


def chunk_fields(
    *,
    heading: str,
    keywords: Sequence[str],
    heading_path: Sequence[str],
    event_at: datetime | None,
    event_zone: str | None = None,
    event_rule: str,
    body: str,
) -> list[tuple[str, float]]:
    """(text, weight) of each field of a chunk, headings first. The date is words too: a question can name it."""
    fields = [(heading, _TITLE), (" \n".join(keywords), _KEYWORDS), (" \n".join(heading_path), _PATH)]
    day = written_day(event_at, event_zone, event_rule)
    if day is not None:
        fields.append((f"{day:%Y-%m-%d %B %Y}", _DATE))
    fields.append((body, _BODY))
    return [(text, weight) for text, weight in fields if text]


def written_day(event_at: datetime | None, event_zone: str | None, event_rule: str) -> date | None:
    """S10: the day that the source names, on its own calendar; None where the date is only a file's or a commit's time.

    `event_zone` is `Europe/Berlin`, `UTC` or `+02:00`; one that is not known here reads as UTC.
    """
    if event_at is None or event_rule in _UNDATED:
        return None
    zone: tzinfo = UTC
    try:
        if event_zone and event_zone[0] in "+-":
            zone = datetime.strptime(event_zone, "%z").tzinfo or UTC
        elif event_zone:
            zone = ZoneInfo(event_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        zone = UTC
    try:
        return event_at.astimezone(zone).date()
    except OverflowError:
        return event_at.astimezone(UTC).date()


def memory_text(heading: str, content: str) -> str:
    """The text of a memory's own vector: heading and the beginning of the content, what is not said left out.

    Cut at 4,000 characters, far beyond any model window here, so that an edit at the end of a long note costs nothing.
    """
    return embedding_text(heading, (), spoken(content)[:_MEMORY_CHARACTERS])


def chunk_text(heading: str, heading_path: Sequence[str], body: str) -> str:
    """The text of a chunk's vector."""
    return embedding_text(heading, tuple(heading_path), body)


def text_hash(text: str) -> str:
    """sha256 of a text, hex: the name under which a vector of it is found again."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
