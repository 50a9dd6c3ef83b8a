"""What of a memory is indexed: the fields of a chunk for words, the text of a vector for meaning. Pure.

Changing anything here means re-indexing every installation: raise `INDEX_RECIPE` with it, and the next ingest does so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime

from kos_assets.domain.chunking import embeddable, embedding_text
from kos_assets.domain.tokens import TOKENIZER_VERSION

INDEX_RECIPE = 1000 * TOKENIZER_VERSION + 1

CHUNK_TOKENS = 240
"""Most tokens of a chunk, title and heading path included; the embedded model sees 256 with its two marks."""

_TITLE, _KEYWORDS, _PATH, _DATE, _BODY = 2.0, 2.0, 1.0, 1.0, 1.0
_MEMORY_CHARACTERS = 4000
_UNDATED = {"none", "mtime"}


def chunk_fields(
    *,
    heading: str,
    keywords: Sequence[str],
    heading_path: Sequence[str],
    event_at: datetime | None,
    event_rule: str,
    body: str,
) -> list[tuple[str, float]]:
    """(text, weight) of each field of a chunk, headings first. The date is words too: a question can name it."""
    fields = [(heading, _TITLE), (" \n".join(keywords), _KEYWORDS), (" \n".join(heading_path), _PATH)]
    if event_at is not None and event_rule not in _UNDATED:
        fields.append((f"{event_at:%Y-%m-%d %B %Y}", _DATE))
    fields.append((body, _BODY))
    return [(text, weight) for text, weight in fields if text]


def memory_text(heading: str, content: str) -> str:
    """The text of a memory's own vector: heading and the beginning of the content, code of templates left out.

    Cut at 4,000 characters, far beyond any model window here, so that an edit at the end of a long note costs nothing.
    """
    return embedding_text(heading, (), embeddable(content)[:_MEMORY_CHARACTERS])


def chunk_text(heading: str, heading_path: Sequence[str], body: str) -> str:
    """The text of a chunk's vector."""
    return embedding_text(heading, tuple(heading_path), embeddable(body))


def text_hash(text: str) -> str:
    """sha256 of a text, hex: the name under which a vector of it is found again."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
