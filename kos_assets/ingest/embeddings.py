"""Step 4: texts without a vector to vectors, and near pairs to `similar_to` edges. A model change is planned (S9).

The same text is never embedded twice: a vector that exists under the same hash is copied. A provider that is out of
reach pauses its lane; the texts stay pending and are searched by their words meanwhile (E5, R8).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from uuid import UUID

from kos_assets.domain.indexing import chunk_text, memory_text
from kos_assets.errors import ItemError, ProviderUnavailableError
from kos_assets.inference.embedding import Embedder
from kos_assets.ingest.reports import EmbeddingsReport, Progress
from kos_assets.settings import Settings
from kos_assets.store import edges, embeddings, lanes
from kos_assets.store.database import Row, Store

_BATCH = 128
_LINK_BATCH = 500
_FIRST_PAUSE_S = 30.0
_LONGEST_PAUSE_S = 3600.0


def sync_embeddings(
    store: Store, embedder: Embedder, settings: Settings, *, progress: Progress | None = None
) -> EmbeddingsReport:
    """Embed what has no vector under the active model. Idempotent; resumable after each batch of 128 texts.

    The report's `state` is `current`, `paused` (the provider's lane is closed) or `model_changed` (inference.toml
    routes to another model than the one in use: `reembed` plans the switch).
    """
    started = time.monotonic()
    model_id = embedder.identity.model_id
    with store.exclusive("ingest:embeddings"):
        with store.transaction(pipeline=True) as session:
            active = embeddings.active(session)
            if active is None:
                _register(store, embedder, activate=True)
                active = {"model_id": model_id}
            paused = lanes.paused(session, embedder.identity.provider)
        if active["model_id"] != model_id:
            reason = f"inference.toml routes to {model_id}; search uses {active['model_id']}: run `kos reembed`"
            return EmbeddingsReport(model_id=model_id, state="model_changed", reason=reason)
        if paused is not None:
            return EmbeddingsReport(model_id=model_id, state="paused", pending=_pending(store), reason=paused)
        key = _key(store)
        counts = _embed_all(store, embedder, key, progress)
        similar = _link_all(store, key, settings.gate_distance)
    return EmbeddingsReport(
        model_id=model_id,
        state="paused" if counts.reason else "current",
        pending=_pending(store),
        embedded=counts.embedded,
        reused=counts.reused,
        refused=len(counts.refused),
        similar_pairs=similar,
        seconds=round(time.monotonic() - started, 3),
        reason=counts.reason or next(iter(counts.refused.values()), ""),
    )


def reembed(
    store: Store, embedder: Embedder, settings: Settings, *, progress: Progress | None = None
) -> EmbeddingsReport:
    """Build the routed model's vectors beside the active ones, then switch in one transaction (S9). Resumable.

    Search keeps using the old model until the switch. Raises ProviderUnavailableError when the provider goes away;
    what was built stays.
    """
    started = time.monotonic()
    with store.exclusive("ingest:embeddings"):
        key = _register(store, embedder, activate=False)
        counts = _embed_all(store, embedder, key, progress)
        if counts.reason:
            raise ProviderUnavailableError(
                "Re-embedding stopped: the provider went away.",
                why=counts.reason,
                fix="Run `kos reembed` again; it goes on where it stopped.",
            )
        if counts.refused:
            raise ItemError(
                f"The model refuses {len(counts.refused)} text(s); search keeps the old one.",
                why=next(iter(counts.refused.values())),
                fix="Route `embed` to a model with a longer window, or shorten those notes.",
            )
        with store.transaction(pipeline=True) as session:
            embeddings.activate(session, key)
            embeddings.unlink_all(session)
        similar = _link_all(store, key, settings.gate_distance)
    return EmbeddingsReport(
        model_id=embedder.identity.model_id,
        embedded=counts.embedded,
        reused=counts.reused,
        similar_pairs=similar,
        seconds=round(time.monotonic() - started, 3),
    )


class _Counts:
    def __init__(self) -> None:
        self.embedded = 0
        self.reused = 0
        self.reason = ""
        self.refused: dict[str, str] = {}  # embed_hash -> what the provider said of that one text


def _register(store: Store, embedder: Embedder, *, activate: bool) -> int:
    identity = embedder.identity
    with store.transaction(pipeline=True) as session:
        key = embeddings.register(
            session, model_id=identity.model_id, dimensions=identity.dims, recipe=asdict(identity)
        )
        if activate:
            embeddings.activate(session, key)
    return key


def _key(store: Store) -> int:
    with store.transaction(pipeline=True) as session:
        active = embeddings.active(session)
    return int(active["model_key"]) if active else 0


def _pending(store: Store) -> int:
    key = _key(store)
    with store.transaction(pipeline=True) as session:
        return embeddings.count_pending(session, key)


def _embed_all(store: Store, embedder: Embedder, key: int, progress: Progress | None) -> _Counts:
    counts = _Counts()
    with store.transaction(pipeline=True) as session:
        total = embeddings.count_pending(session, key)
    done = 0
    while total:
        with store.transaction(pipeline=True) as session:
            rows = embeddings.pending(session, key, _BATCH, list(counts.refused))
            if not rows:
                break
            known = embeddings.by_hash(session, key, sorted({row["embed_hash"] for row in rows}))
        texts = {row["embed_hash"]: _text(row) for row in rows if row["embed_hash"] not in known}
        try:
            fresh = _embed(embedder, texts, counts)
        except ProviderUnavailableError as error:
            counts.reason = _pause(store, embedder.identity.provider, error)
            break
        vectors = {**known, **fresh}
        ready = [_stored(row, vectors) for row in rows if row["embed_hash"] in vectors]
        with store.transaction(pipeline=True) as session:
            embeddings.insert(session, key, ready)
            if fresh:
                lanes.reopen(session, embedder.identity.provider)
        counts.embedded += len(fresh)
        counts.reused += len(ready) - len(fresh)
        done += len(rows)
        if progress:
            progress("embeddings", done, max(total, done))
    return counts


def _embed(embedder: Embedder, texts: Mapping[str, str], counts: _Counts) -> dict[str, embeddings.Vector]:
    """Vectors by hash. A text that the provider refuses stays pending and stops no other one (promise 4)."""
    if not texts:
        return {}
    try:
        return dict(zip(texts, embedder.embed_documents(list(texts.values())), strict=True))
    except ItemError as error:
        if len(texts) == 1:
            counts.refused[next(iter(texts))] = str(error).split("\n", 1)[0]
            return {}
    halves = list(texts.items())
    middle = len(halves) // 2
    return {
        **_embed(embedder, dict(halves[:middle]), counts),
        **_embed(embedder, dict(halves[middle:]), counts),
    }


def _text(row: Row) -> str:
    if row["ordinal"] < 0:
        return memory_text(row["heading"], row["content"])
    return chunk_text(row["heading"], row["heading_path"] or (), row["body"])


def _stored(row: Row, vectors: dict[str, embeddings.Vector]) -> tuple[UUID, int, str, embeddings.Vector]:
    return row["memory_id"], row["ordinal"], row["embed_hash"], vectors[row["embed_hash"]]


def _pause(store: Store, provider: str, error: ProviderUnavailableError) -> str:
    """Close the provider's lane until the time that it named, or twice as long as the last time (E5)."""
    reason = str(error).split("\n", 1)[0]
    with store.transaction(pipeline=True) as session:
        lanes.pause(
            session,
            provider,
            reason=reason,
            seconds=error.retry_after_s,
            first_s=_FIRST_PAUSE_S,
            longest_s=_LONGEST_PAUSE_S,
        )
    return reason


def _link_all(store: Store, key: int, distance: float) -> int:
    pairs = 0
    while True:
        with store.transaction(pipeline=True) as session:
            memory_ids: Sequence[UUID] = embeddings.unlinked(session, key, _LINK_BATCH)
            if not memory_ids:
                return pairs
            pairs += edges.relink_similar(session, memory_ids, distance)
            embeddings.mark_linked(session, memory_ids)
