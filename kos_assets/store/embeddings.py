"""Statements on embedding models and vectors (S9): float arrays of the model's dimensions, L2-normalised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from pgvector import HalfVector

from kos_assets.store.database import Row, Session, json
from kos_assets.store.sql import blocks

_SQL = blocks("embeddings")
Vector = Any
"""Anything that HalfVector takes: a numpy array, a list of floats, or a HalfVector."""


def half(vector: Vector) -> HalfVector:
    """A parameter of type halfvec."""
    return vector if isinstance(vector, HalfVector) else HalfVector(vector)


def active(session: Session) -> Row | None:
    """The model that search uses: model_key, model_id, dimensions, recipe, gate_distance (None until calibrated)."""
    return session.one(_SQL["active"])


def register(session: Session, *, model_id: str, dimensions: int, recipe: Mapping[str, Any]) -> int:
    """The key of a model, made known (state `building`) with a partition and an HNSW index of its own if it is new."""
    return int(session.value(_SQL["register"], model_id=model_id, dimensions=dimensions, recipe=json(dict(recipe))))


def set_gate_distance(session: Session, model_id: str, distance: float) -> int:
    """Keep the gate's distance with a model's recipe (G3); 0 when the model is not registered."""
    return session.run(_SQL["set_gate_distance"], model_id=model_id, distance=distance)


def activate(session: Session, model_key: int) -> None:
    """Switch search to this model and drop the old one's vectors, in this transaction."""
    session.run(_SQL["activate"], model_key=model_key)


def of_memories(session: Session, model_key: int, memory_ids: Sequence[UUID]) -> list[Row]:
    """Stored vectors of memories: memory_id, ordinal, content_hash, embedding."""
    return session.rows(_SQL["of_memories"], model_key=model_key, memory_ids=list(memory_ids))


def delete_stale(session: Session, memory_ids: Sequence[UUID]) -> int:
    """Delete vectors that were made from another text than the memories have now (R8); the number deleted."""
    return session.run(_SQL["delete_stale"], memory_ids=list(memory_ids))


def insert(session: Session, model_key: int, vectors: Sequence[tuple[UUID, int, str, Vector]]) -> int:
    """Store (memory_id, ordinal, content_hash, vector) for memories that still have that text; the number stored.

    Locks the memories until the transaction ends, so that retiring them waits, or is seen here.
    """
    session.run(_SQL["lock_memories"], memory_ids=sorted({vector[0] for vector in vectors}))
    return session.run(
        _SQL["insert"],
        model_key=model_key,
        memory_ids=[vector[0] for vector in vectors],
        ordinals=[vector[1] for vector in vectors],
        content_hashes=[vector[2] for vector in vectors],
        embeddings=[half(vector[3]).to_text() for vector in vectors],
    )


def pending(session: Session, model_key: int, limit: int, without: Sequence[str] = ()) -> list[Row]:
    """Texts without a vector under a model: memory_id, ordinal, embed_hash, heading, content, heading_path, body.

    `without`: hashes of texts to leave out, which the model has refused.
    """
    return session.rows(_SQL["pending"], model_key=model_key, limit=limit, without=list(without))


def count_pending(session: Session, model_key: int) -> int:
    """How many texts have no vector under a model."""
    return int(session.value(_SQL["count_pending"], model_key=model_key))


def by_hash(session: Session, model_key: int, hashes: Sequence[str]) -> dict[str, HalfVector]:
    """Vectors that exist already for the same texts, by content hash: no text is embedded twice (E6)."""
    rows = session.rows(_SQL["by_hash"], model_key=model_key, hashes=list(hashes))
    return {row["content_hash"]: row["embedding"] for row in rows}


def unlinked(session: Session, model_key: int, limit: int) -> list[UUID]:
    """Embedded memories whose `similar_to` edges are not up to date."""
    return [row["memory_id"] for row in session.rows(_SQL["unlinked"], model_key=model_key, limit=limit)]


def mark_linked(session: Session, memory_ids: Sequence[UUID]) -> None:
    """Record that the `similar_to` edges of memories are up to date."""
    session.run(_SQL["mark_linked"], memory_ids=list(memory_ids))


def unlink_all(session: Session) -> None:
    """Distances of another model say nothing: every `similar_to` edge is to be made anew."""
    session.run(_SQL["unlink_all"])
