"""Statements of recall, as the serving role: live views and named functions only (S5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from kos_assets.store.database import Row, Session, json
from kos_assets.store.embeddings import Vector, half
from kos_assets.store.sql import blocks

_SQL = blocks("search")
_DEPTH = 40


@dataclass(frozen=True)
class Filters:
    """What a row must be to be found at all (R1). Empty means anything."""

    types: tuple[str, ...] = ()
    home: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None

    @property
    def any(self) -> bool:
        """Whether anything is filtered."""
        return bool(self.types or self.home or self.since or self.until or self.as_of)

    def values(self) -> dict[str, Any]:
        """As parameters."""
        return {
            "types": list(self.types) or None,
            "home": self.home or None,
            "since": self.since,
            "until": self.until,
            "as_of": self.as_of,
        }


@dataclass(frozen=True)
class DenseQuery:
    """A query's vector and the model that made it."""

    model_key: int
    vector: Vector


def depth(limit: int) -> int:
    """How many chunks and vectors of each arm are looked at for a page of `limit` memories."""
    return max(_DEPTH, 2 * limit)


def languages(session: Session) -> list[str]:
    """Languages of the scope's documents, most frequent first."""
    return list(session.value(_SQL["languages"]) or [])


def active_model(session: Session) -> Row | None:
    """The model that search uses: model_key, model_id, dimensions, recipe."""
    return session.one(_SQL["active"])


def candidates(
    session: Session,
    *,
    terms: Sequence[tuple[str, int]],
    dense: DenseQuery | None,
    filters: Filters,
    limit: int,
    chunks: Sequence[int] | None = None,
    nearest: Sequence[UUID] | None = None,
) -> list[Row]:
    """Memories found by words or by meaning, each with both scores (bm25, cosine, matched, coverage), which arm found
    it (by_*), and what it is worth (provenance, confidence, importance).

    `terms`: (term, number of the query word that it is a form of). `limit`: the page that must be filled if it can be.
    `chunks`, `nearest`: what `lexical` and `dense` gave for this query and `depth(limit)`, if they were asked before.
    """
    return session.rows(
        _SQL["candidates"],
        terms=[term for term, _ in terms],
        groups=[group for _, group in terms],
        model_key=None if dense is None else dense.model_key,
        query=None if dense is None else half(dense.vector).to_text(),
        chunks=None if chunks is None else list(chunks),
        nearest=None if nearest is None else list(nearest),
        depth=depth(limit),
        limit=limit,
        **filters.values(),
    )


def lexical(session: Session, terms: Sequence[tuple[str, int]], limit: int) -> list[Row]:
    """The first `limit` chunks by BM25: chunk_id, score."""
    return session.rows(
        _SQL["lexical"], terms=[term for term, _ in terms], groups=[group for _, group in terms], limit=limit
    )


def dense(session: Session, query: DenseQuery, limit: int, memory_ids: Sequence[UUID] | None = None) -> list[Row]:
    """The first `limit` vectors by cosine, among `memory_ids` if given: memory_id, ordinal, cosine."""
    return session.rows(
        _SQL["dense"],
        model_key=query.model_key,
        query=half(query.vector).to_text(),
        limit=limit,
        memory_ids=None if memory_ids is None else list(memory_ids),
    )


def filtered(session: Session, filters: Filters, limit: int) -> list[UUID]:
    """Ids of memories that pass the filters, newest event first."""
    return [row["memory_id"] for row in session.rows(_SQL["filtered"], limit=limit, **filters.values())]


def lines(session: Session, memory_ids: Sequence[UUID], *, stale_days: int) -> dict[UUID, Row]:
    """What an index line and its context need; `content` is the first 2,000 of `characters`."""
    return {
        row["memory_id"]: row for row in session.rows(_SQL["lines"], memory_ids=list(memory_ids), stale_days=stale_days)
    }


def whole(session: Session, memory_ids: Sequence[UUID], *, stale_days: int) -> dict[UUID, Row]:
    """Whole memories."""
    return {
        row["memory_id"]: row for row in session.rows(_SQL["whole"], memory_ids=list(memory_ids), stale_days=stale_days)
    }


def similar_pairs(session: Session, memory_ids: Sequence[UUID]) -> list[tuple[UUID, UUID]]:
    """Near-duplicates among the given memories."""
    return [(row["src_id"], row["dst_id"]) for row in session.rows(_SQL["similar"], memory_ids=list(memory_ids))]


def calibration(session: Session) -> Row | None:
    """Thresholds of the active model: model_id, rule, weak, strong, at; None before `kos calibrate`."""
    row = session.one(_SQL["calibration"])
    return row if row and row["model_id"] else None


def corpus(session: Session) -> Row:
    """documents (chunks) and their average length in the scope."""
    return session.one(_SQL["corpus"]) or {"documents": 0, "average_length": 1.0}


def record_traces(session: Session, traces: Sequence[Mapping[str, Any]]) -> int:
    """Store retrievals as one batch (R7)."""
    return int(session.value(_SQL["record_traces"], traces=json(list(traces))) or 0)


def record_reads(session: Session, reads: Sequence[Mapping[str, Any]]) -> int:
    """Mark returned ids as read: memory_id, at, principal, session."""
    return int(session.value(_SQL["record_reads"], reads=json(list(reads))) or 0)
