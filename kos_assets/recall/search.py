"""R1, R2, R5, R7, R9: search gives index lines and a confidence; fetch gives whole memories.

One transaction a call, with the caller's namespaces set in it. Without an embedder (or with another model than the
store's) search goes on by words alone and says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import BoundedSemaphore
from typing import Any
from uuid import UUID, uuid4

from kos_assets.domain import confidence
from kos_assets.domain.confidence import DEFAULT_THRESHOLDS, Signals, Thresholds
from kos_assets.domain.index_line import clean_inline, index_line
from kos_assets.domain.language import detect
from kos_assets.domain.ranking import FOREIGN_WORDS_WEIGHT, WORDS_WEIGHT, Candidate, Ranked, Standing, fuse
from kos_assets.domain.tokens import query_terms
from kos_assets.domain.vocabulary import MEMORY_TYPES, ConfidenceLevel, check_namespace
from kos_assets.errors import ConfigError, InputError, ItemError, ProviderUnavailableError
from kos_assets.inference.embedding import Embedder
from kos_assets.recall.traces import TraceWriter
from kos_assets.store import search as store_search
from kos_assets.store.database import Row, Session, Store
from kos_assets.store.search import DenseQuery, Filters

MAX_LIMIT = 100
MAX_QUERY_CHARACTERS = 4000
MAX_FETCH = 50
_MOST_LANGUAGES = 4
_PREVIEW_SOURCE = 400


@dataclass(frozen=True)
class Query:
    """One question. `namespaces`: what the caller may read, never empty. `limit`: 1 to 100 results."""

    text: str
    namespaces: tuple[str, ...]
    limit: int = 10
    types: tuple[str, ...] = ()
    home: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    principal: str = "owner"
    session: str | None = None

    @property
    def filters(self) -> Filters:
        """The filters as the store takes them."""
        return Filters(self.types, self.home, self.since, self.until, self.as_of)


@dataclass(frozen=True)
class Hit:
    """One result: the fixed index line (R2) and where it comes from (R9).

    `stale`: semantic and long unverified. `index_behind`: its text is newer than its index (R8). `similar_to`:
    near-duplicates in the page.
    """

    memory_id: UUID
    index_line: str
    heading: str
    namespace: str
    memory_type: str
    provenance: str
    confidence: float
    event_at: datetime | None
    verified_at: datetime | None
    stale: bool
    index_behind: bool
    path: str | None
    score: float
    bm25: float | None
    cosine: float | None
    matched_by: tuple[str, ...]
    similar_to: tuple[UUID, ...] = ()


@dataclass(frozen=True)
class Answer:
    """The page, and how far it can be trusted (R5)."""

    query: str
    confidence: ConfidenceLevel
    advice: str
    mode: str
    calibrated: bool
    trace_id: UUID
    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fetched:
    """Whole memories in the order asked for, and the ids that no live row of the scope has."""

    memories: tuple[Row, ...]
    missing: tuple[UUID, ...]


class Recall:
    """Search and fetch over one store, as the serving role. Safe to share between threads."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder | None,
        *,
        stale_after_days: int = 180,
        words_weight: float | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`stale_after_days`: when an unverified semantic memory is called stale. `words_weight` overrides the shipped
        weight of words in ranking: for measuring only."""
        self._stale_days = stale_after_days
        self.store = store
        self.embedder = embedder
        self.traces = TraceWriter(store)
        self._words_weight = words_weight
        self._beside = ThreadPoolExecutor(max_workers=8, thread_name_prefix="kos-meaning")
        self._turns = BoundedSemaphore(max(1, store.pool_size // 2))  # a search holds two connections
        self._clock = clock

    def close(self) -> None:
        """Store what traces are left; the store itself belongs to whoever made it."""
        self.traces.close()
        self._beside.shutdown()

    def search(self, query: Query) -> Answer:
        """R1: the best memories for a question, as index lines. Raises InputError, StoreError."""
        _check(query)
        started = time.perf_counter()
        with self._turns, self.store.transaction(namespaces=query.namespaces) as session:
            thresholds, calibrated = self._thresholds(session)
            found = self._ranked(session, query) if query.text.strip() else _chosen_by_filters(session, query)
            page = found.ranked[: query.limit]
            rows = store_search.lines(session, [item.candidate.memory_id for item in page], stale_days=self._stale_days)
            page = [item for item in page if item.candidate.memory_id in rows]  # retired between two statements
            _complete_previews(session, list(rows.values()))
            similar = store_search.similar_pairs(session, list(rows))
        hits = tuple(_hit(item, rows[item.candidate.memory_id], similar) for item in page)
        level = _level(query, found, thresholds)
        answer = Answer(
            query=query.text,
            confidence=level,
            advice=confidence.ADVICE[level],
            mode="hybrid" if found.by_meaning else "lexical",
            calibrated=calibrated,
            trace_id=uuid4(),
            hits=hits,
            notes=tuple(found.notes),
        )
        self.traces.trace(self._trace(query, answer, (time.perf_counter() - started) * 1000))
        return answer

    def signals(self, text: str, namespaces: tuple[str, ...]) -> Signals:
        """What a question meets, without a page or a trace: for calibration. Raises InputError without vectors."""
        query = Query(text, namespaces)
        _check(query)
        with self._turns, self.store.transaction(namespaces=namespaces) as session:
            found = self._ranked(session, query)
        if not found.by_meaning:
            raise InputError(
                "There are no vectors to calibrate with.", why=" ".join(found.notes), fix="Run `kos ingest`."
            )
        return found.signals

    def fetch(
        self,
        memory_ids: Sequence[UUID],
        *,
        namespaces: tuple[str, ...],
        principal: str = "owner",
        session: str | None = None,
    ) -> Fetched:
        """R2: whole memories by id. An id that is unknown, retired or of another namespace is `missing`, all alike."""
        wanted = tuple(dict.fromkeys(memory_ids))
        if not 1 <= len(wanted) <= MAX_FETCH:
            raise InputError(f"Fetch takes 1 to {MAX_FETCH} ids, not {len(wanted)}.")
        _check_scope(namespaces)
        with self.store.transaction(namespaces=namespaces) as open_session:
            rows = store_search.whole(open_session, wanted, stale_days=self._stale_days)
        at = self._clock().isoformat()
        for memory_id in rows:
            self.traces.read({"memory_id": str(memory_id), "at": at, "principal": principal, "session": session})
        return Fetched(
            memories=tuple(rows[memory_id] for memory_id in wanted if memory_id in rows),
            missing=tuple(memory_id for memory_id in wanted if memory_id not in rows),
        )

    def _meaning(self, query: Query) -> _Meaning:
        """The dense arm on a connection of its own, beside the lexical arm: the query's vector and what it is near to.

        With filters the arm is left to `search_candidates`, which knows the rows that pass them.
        """
        if self.embedder is None:
            return _Meaning(note="No embedder is available: searched by words only.")
        try:
            vector = self.embedder.embed_query(query.text)
            model_id = self.embedder.identity.model_id
        except (ProviderUnavailableError, ItemError, ConfigError) as error:
            return _Meaning(note=f"The embedder cannot be used ({error.code}): searched by words only.")
        with self.store.transaction(namespaces=query.namespaces) as session:
            model = store_search.active_model(session)
            if model is None:
                return _Meaning(note="Nothing is embedded yet: searched by words only.")
            if model["model_id"] != model_id:
                return _Meaning(
                    note="The store's vectors come from another model: searched by words only. Run `kos reembed`."
                )
            dense = DenseQuery(model["model_key"], vector)
            if query.filters.any:
                return _Meaning(dense)
            rows = store_search.dense(session, dense, store_search.depth(query.limit))
        return _Meaning(dense, [row["memory_id"] for row in rows])

    def _thresholds(self, session: Session) -> tuple[Thresholds, bool]:
        row = store_search.calibration(session)
        if row is None:
            return DEFAULT_THRESHOLDS, False
        return Thresholds(row["weak"], row["strong"], row["rule"]), True

    def _ranked(self, session: Session, query: Query) -> _Found:
        """Both arms beside each other, then every candidate with both scores, ranked."""
        beside = self._beside.submit(self._meaning, query) if self.store.pool_size > 1 else None
        own = detect(query.text)
        spoken = store_search.languages(session)[:_MOST_LANGUAGES]
        words = query_terms(query.text, list(dict.fromkeys([own, *spoken])))
        terms = [(term, number) for number, word in enumerate(words, start=1) for term in word.alternatives]
        chunks = None
        if terms and not query.filters.any:
            found = store_search.lexical(session, terms, store_search.depth(query.limit))
            chunks = [row["chunk_id"] for row in found]
        meaning = beside.result() if beside is not None else self._meaning(query)
        dense, notes = meaning.dense, [meaning.note] if meaning.note else []
        rows = store_search.candidates(
            session,
            terms=terms,
            dense=dense,
            filters=query.filters,
            limit=query.limit,
            chunks=chunks,
            nearest=meaning.nearest,
        )
        standings = {
            row["memory_id"]: Standing(row.pop("provenance"), row.pop("confidence"), row.pop("importance"))
            for row in rows
        }
        speaks = self.embedder is None or dense is None or self.embedder.identity.speaks(own)
        shipped = WORDS_WEIGHT if speaks else FOREIGN_WORDS_WEIGHT
        weight = shipped if self._words_weight is None else self._words_weight
        ranked = fuse([Candidate(**row) for row in rows], standings, words_weight=weight)
        return _Found(ranked, len(words), by_meaning=dense is not None, model_speaks=speaks, notes=notes)

    def _trace(self, query: Query, answer: Answer, latency_ms: float) -> dict[str, Any]:
        filters = {name: value for name, value in query.filters.values().items() if value is not None}
        return {
            "trace_id": str(answer.trace_id),
            "at": self._clock().isoformat(),
            "principal": query.principal,
            "session": None if query.session is None else _storable(query.session),
            "namespaces": list(query.namespaces),
            "kind": "search",
            "query": _storable(query.text),
            "filters": {
                name: value.isoformat() if isinstance(value, datetime) else value for name, value in filters.items()
            },
            "model_id": self.embedder.identity.model_id if self.embedder and answer.mode == "hybrid" else None,
            "confidence": answer.confidence,
            "results": [
                {
                    "memory_id": str(hit.memory_id),
                    "score": round(hit.score, 4),
                    "bm25": hit.bm25,
                    "cosine": hit.cosine,
                    "index_behind": hit.index_behind,
                }
                for hit in answer.hits
            ],
            "latency_ms": round(latency_ms, 2),
        }


def _check(query: Query) -> None:
    _check_scope(query.namespaces)
    if not 1 <= query.limit <= MAX_LIMIT:
        raise InputError(f"limit must lie between 1 and {MAX_LIMIT}, not {query.limit}.")
    if len(query.text) > MAX_QUERY_CHARACTERS:
        raise InputError(
            f"The query has {len(query.text)} characters.", why=f"At most {MAX_QUERY_CHARACTERS} are searched."
        )
    unknown = set(query.types) - set(MEMORY_TYPES)
    if unknown:
        raise InputError(f"Unknown memory type: {sorted(unknown)[0]}.", why=f"Types are {', '.join(MEMORY_TYPES)}.")
    for name, moment in (("since", query.since), ("until", query.until), ("as_of", query.as_of)):
        if moment is not None and moment.tzinfo is None:
            raise InputError(f"{name} has no time zone.", fix="Write it like 2026-03-04T00:00:00+01:00.")
    if not query.text.strip() and not query.filters.any:
        raise InputError("Nothing to search for.", fix="Give a query, or at least one filter.")


def _check_scope(namespaces: Sequence[str]) -> None:
    if not namespaces:
        raise InputError("No namespace is given.", why="A search without a scope finds nothing, never everything.")
    for name in namespaces:
        check_namespace(name)


@dataclass(frozen=True)
class _Meaning:
    """The query's vector under the active model and what is near it (None: not asked yet), or why there is none."""

    dense: DenseQuery | None = None
    nearest: Sequence[UUID] | None = None
    note: str = ""


@dataclass(frozen=True)
class _Found:
    """Ranked candidates, how many words of the query count, whether vectors were searched, whether the model speaks the
    query's language, and what the caller should know."""

    ranked: list[Ranked]
    words: int
    by_meaning: bool
    model_speaks: bool = True
    notes: Sequence[str] = ()

    @property
    def signals(self) -> Signals:
        rows = ((item.candidate.cosine, item.candidate.coverage) for item in self.ranked)
        return confidence.signals(rows, model_speaks=self.model_speaks)


def _chosen_by_filters(session: Session, query: Query) -> _Found:
    memory_ids = store_search.filtered(session, query.filters, query.limit)
    ranked = [
        Ranked(Candidate(memory_id, None, None, 0, 0.0, by_words=False, by_meaning=False), 1.0, 1.0)
        for memory_id in memory_ids
    ]
    return _Found(ranked, 0, by_meaning=False)


def _complete_previews(session: Session, rows: Sequence[Row]) -> None:
    """A content that begins with pages of white space needs more than its beginning for 80 characters of preview."""
    short = {
        row["memory_id"]: row
        for row in rows
        if row["characters"] > len(row["content"]) and len(" ".join(row["content"].split())) < _PREVIEW_SOURCE
    }
    for memory_id, whole in store_search.whole(session, list(short), stale_days=0).items() if short else ():
        short[memory_id]["content"] = whole["content"]


def _level(query: Query, found: _Found, thresholds: Thresholds) -> ConfidenceLevel:
    if not query.text.strip():
        return "filtered"
    if not found.ranked:
        return "none"
    literal = found.words > 0 and any(item.candidate.matched >= found.words for item in found.ranked[:3])
    return confidence.level(found.signals, thresholds, every_word_matched=literal)


def _hit(item: Ranked, row: Row, similar: Sequence[tuple[UUID, UUID]]) -> Hit:
    candidate = item.candidate
    twins = {other for pair in similar if candidate.memory_id in pair for other in pair} - {candidate.memory_id}
    return Hit(
        memory_id=candidate.memory_id,
        index_line=index_line(candidate.memory_id, row["heading"], row["content"]),
        heading=clean_inline(row["heading"]),
        namespace=row["namespace"],
        memory_type=row["memory_type"],
        provenance=row["provenance"],
        confidence=round(float(row["confidence"]), 3),
        event_at=row["event_at"],
        verified_at=row["verified_at"],
        stale=bool(row["stale"]),
        index_behind=bool(row["index_behind"]),
        path=row["note_path"],
        score=item.score,
        bm25=candidate.bm25,
        cosine=candidate.cosine,
        matched_by=tuple(
            name for name, found in (("words", candidate.by_words), ("meaning", candidate.by_meaning)) if found
        ),
        similar_to=tuple(sorted(twins)),
    )


def _storable(text: str) -> str:
    """The text as the database can hold it: without NUL and half surrogates."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()
