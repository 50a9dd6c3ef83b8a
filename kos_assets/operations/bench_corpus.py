"""Generated rows for the benchmark: texts by the demo vault's vocabulary, vectors as real ones plus noise.

Real text of this size does not come with the product; the benchmark's table says so, and no figure of quality uses
these rows.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid5

from kos_assets.domain.indexing import INDEX_RECIPE, chunk_fields
from kos_assets.domain.tokens import document_terms
from kos_assets.domain.vocabulary import KOS_NAMESPACE
from kos_assets.store import bulk, embeddings
from kos_assets.store.database import Session, Store

if TYPE_CHECKING:
    from numpy.typing import NDArray

RARE = "shared:rare"
RARE_SHARE = 10_000
"""One generated memory in this many is in the rare namespace (at least three are)."""

_WORDS_PER_CHUNK = 90
_NOISE = 0.7  # of one standard deviation of the real vectors: neighbours in a cluster have a cosine of about 0.8
_BATCH = 2000
_EVENT = "2026-06-01T00:00:00Z"


@dataclass(frozen=True)
class Vocabulary:
    """Words of real notes with their cumulated frequencies, and real vectors to start from."""

    words: tuple[str, ...]
    weights: tuple[int, ...]
    vectors: NDArray[Any]


def read_vocabulary(vault: Path, vectors: NDArray[Any]) -> Vocabulary:
    """Words and frequencies of a vault's notes."""
    counts: Counter[str] = Counter()
    for path in sorted(vault.rglob("*.md")):
        counts.update(path.read_text("utf-8", errors="replace").replace("\x00", " ").split())
    words, frequencies = zip(*counts.most_common(), strict=True)
    return Vocabulary(words, tuple(accumulate(frequencies)), vectors)


def load_generated(store: Store, model_key: int, vocabulary: Vocabulary, *, memories: int, chunks: int) -> None:
    """Load `memories` generated memories of `chunks` chunks each by COPY; the vector index is built once, at the end.

    `store` is the owner's: COPY does not work under row-level security.
    """
    dice = random.Random(20260601)  # noqa: S311 - a fixed seed, so that two runs measure the same rows
    with store.transaction() as session:
        bulk.drop_vector_index(session)
        _load_memories(session, vocabulary, dice, memories, chunks)
        bulk.copy(session, "embeddings", _vector_rows(model_key, vocabulary, memories, chunks))
        bulk.build_vector_index(session)


def memory_id(number: int) -> UUID:
    """The id of a generated memory."""
    return uuid5(KOS_NAMESPACE, f"bench:{number}")


def rare_step(memories: int) -> int:
    """Every how-many-th of so many memories is in the rare namespace: RARE_SHARE, or less so that three are."""
    return max(1, min(RARE_SHARE, memories // 3))


def rare_memories(memories: int) -> int:
    """How many of so many memories are in the rare namespace; the first one always is."""
    return -(-memories // rare_step(memories))


def namespace_of(number: int, memories: int) -> str:
    """Its namespace: mostly global."""
    return RARE if number % rare_step(memories) == 0 else "global"


def memory_type_of(number: int) -> str:
    """One in a hundred is procedural, the others semantic."""
    return "procedural" if number % 100 == 7 else "semantic"


def home_of(number: int) -> str:
    """A tenth of the memories in each of ten folders."""
    return f"bench/h{number % 10}"


def vectors(vocabulary: Vocabulary, memories: int, chunks: int) -> Iterator[tuple[int, int, NDArray[Any]]]:
    """(number, ordinal, vector) of every generated vector: real ones plus noise, the same in each run.

    The noise has the covariance of the real ones: noise that is equal in all 384 directions makes islands that no
    real corpus has. A memory of one chunk has one vector, as in the product.
    """
    import numpy as np

    generator = np.random.default_rng(20260601)
    ordinals = (-1,) if chunks == 1 else tuple(range(-1, chunks))
    centred = (vocabulary.vectors - vocabulary.vectors.mean(axis=0)) / len(vocabulary.vectors) ** 0.5
    for number in range(memories):
        bases = vocabulary.vectors[generator.integers(len(vocabulary.vectors), size=len(ordinals))]
        noisy = bases + _NOISE * (generator.standard_normal((len(ordinals), len(centred))) @ centred)
        noisy /= np.linalg.norm(noisy, axis=1, keepdims=True)
        yield from ((number, ordinal, vector) for ordinal, vector in zip(ordinals, noisy, strict=True))


def _load_memories(session: Session, vocabulary: Vocabulary, dice: random.Random, memories: int, chunks: int) -> None:
    last = bulk.last_chunk(session)
    for start in range(0, memories, _BATCH):
        numbers = range(start, min(start + _BATCH, memories))
        generated = [_Generated(number, memories, vocabulary, dice, chunks) for number in numbers]
        bulk.copy(session, "memories", (item.memory_row() for item in generated))
        bulk.copy(session, "state", (item.state_row() for item in generated))
        pieces = [piece for item in generated for piece in item.pieces()]
        ids = range(last + 1, last + 1 + len(pieces))
        last += len(pieces)
        bulk.copy(
            session, "chunks", ((chunk_id, *piece.chunk_row()) for chunk_id, piece in zip(ids, pieces, strict=True))
        )
        bulk.copy(
            session,
            "postings",
            (row for chunk_id, piece in zip(ids, pieces, strict=True) for row in piece.posting_rows(chunk_id)),
        )
    bulk.set_last_chunk(session, last)


class _Generated:
    """One memory of random words in the vocabulary's proportions."""

    def __init__(
        self, number: int, memories: int, vocabulary: Vocabulary, dice: random.Random, chunks: int
    ) -> None:  # fmt: skip
        self.number = number
        self.namespace = namespace_of(number, memories)
        self.texts = [
            " ".join(dice.choices(vocabulary.words, cum_weights=vocabulary.weights, k=_WORDS_PER_CHUNK))
            for _ in range(chunks)
        ]
        self.heading = " ".join(self.texts[0].split()[:6])

    def memory_row(self) -> tuple[Any, ...]:
        return (
            memory_id(self.number), self.namespace, memory_type_of(self.number), self.heading,
            "\n\n".join(self.texts), "raw", 0.95, f"bench.h{self.number % 10}", home_of(self.number), _EVENT,
            "frontmatter:date", _hash(self.texts[0]),
        )  # fmt: skip

    def state_row(self) -> tuple[Any, ...]:
        return memory_id(self.number), _hash(self.texts[0]), INDEX_RECIPE, _hash(f"m{self.number}"), True

    def pieces(self) -> Iterator[_Piece]:
        for ordinal, text in enumerate(self.texts):
            yield _Piece(self, ordinal, text)


class _Piece:
    """One chunk of a generated memory."""

    def __init__(self, memory: _Generated, ordinal: int, text: str) -> None:
        self.memory, self.ordinal, self.text = memory, ordinal, text
        fields = chunk_fields(
            heading=memory.heading, keywords=(), heading_path=(), event_at=None, event_rule="none", body=text
        )
        self.terms = document_terms(fields, "en")

    def chunk_row(self) -> tuple[Any, ...]:
        memory, ordinal = self.memory, self.ordinal
        embed_hash = _hash(f"c{memory.number}:{ordinal}") if len(memory.texts) > 1 else None
        return (
            memory_id(memory.number), ordinal, memory.namespace, True, [], self.text, 1, 1, embed_hash, "en",
            self.terms.length,
        )  # fmt: skip

    def posting_rows(self, chunk_id: int) -> Iterator[tuple[Any, ...]]:
        length = self.terms.length
        for term, weight in self.terms.weights.items():
            frequency = round(weight)
            impact = frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * length / 100.0))
            yield chunk_id, impact, length, frequency, True, self.memory.namespace, term


def _vector_rows(model_key: int, vocabulary: Vocabulary, memories: int, chunks: int) -> Iterator[tuple[Any, ...]]:
    for number, ordinal, vector in vectors(vocabulary, memories, chunks):
        name = _hash(f"m{number}") if ordinal < 0 else _hash(f"c{number}:{ordinal}")
        yield (
            model_key, memory_id(number), ordinal, namespace_of(number, memories), True, name,
            embeddings.half(vector).to_text(),
        )  # fmt: skip


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
