"""Generated rows for the benchmark: texts by the demo vault's vocabulary, vectors as real ones plus noise.

Real text of this size does not come with the product; the benchmark's table says so, and no figure of quality uses
these rows.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid5

from kos_assets.domain.indexing import INDEX_RECIPE, chunk_fields
from kos_assets.domain.tokens import document_terms
from kos_assets.domain.vocabulary import KOS_NAMESPACE
from kos_assets.store.database import Session, Store

if TYPE_CHECKING:
    from numpy.typing import NDArray

RARE = "shared:rare"
RARE_SHARE = 10_000
"""One generated memory in this many is in the rare namespace (at least three are)."""

_WORDS_PER_CHUNK = 90
_NOISE = 0.035
_BATCH = 2000


@dataclass(frozen=True)
class Vocabulary:
    """Words of real notes with their frequencies, and real vectors to start from."""

    words: tuple[str, ...]
    weights: tuple[int, ...]
    vectors: NDArray[Any]


def read_vocabulary(vault: Path, vectors: NDArray[Any]) -> Vocabulary:
    """Words and frequencies of a vault's notes."""
    counts: Counter[str] = Counter()
    for path in sorted(vault.rglob("*.md")):
        counts.update(path.read_text("utf-8", errors="replace").split())
    words, weights = zip(*counts.most_common(), strict=True)
    return Vocabulary(words, weights, vectors)


def load_generated(store: Store, model_key: int, vocabulary: Vocabulary, *, memories: int, chunks: int) -> None:
    """Load `memories` generated memories of `chunks` chunks each by COPY, then build what COPY does not maintain.

    `store` is the owner's: COPY does not work under row-level security, and the triggers would count row by row.
    """
    dice = random.Random(20260601)  # noqa: S311 - a fixed seed, so that two runs measure the same rows
    with store.transaction() as session:
        _load_memories(session, vocabulary, dice, memories, chunks)
        _load_vectors(session, model_key, vocabulary, memories, chunks)
    with store.transaction() as session:
        session.run("analyze kos.memories, kos.chunks, kos.postings, kos.embeddings, kos.lexical_terms")


def memory_id(number: int) -> UUID:
    """The id of a generated memory."""
    return uuid5(KOS_NAMESPACE, f"bench:{number}")


def namespace_of(number: int, memories: int) -> str:
    """Its namespace: mostly global."""
    step = max(1, min(RARE_SHARE, memories // 3))
    return RARE if number % step == 0 else "global"


def _load_memories(
    session: Session, vocabulary: Vocabulary, dice: random.Random, memories: int, chunks: int
) -> None:
    chunk_id = int(session.value("select coalesce(max(chunk_id), 0) from kos.chunks") or 0)
    for start in range(0, memories, _BATCH):
        numbers = range(start, min(start + _BATCH, memories))
        texts = {number: [_text(vocabulary, dice) for _ in range(chunks)] for number in numbers}
        _copy_memories(session, texts, memories)
        chunk_id = _copy_chunks(session, texts, memories, chunk_id)
    session.run("select setval(pg_get_serial_sequence('kos.chunks', 'chunk_id'), %(last)s)", last=chunk_id)


def _text(vocabulary: Vocabulary, dice: random.Random) -> str:
    return " ".join(dice.choices(vocabulary.words, vocabulary.weights, k=_WORDS_PER_CHUNK))


def _copy_memories(session: Session, texts: dict[int, list[str]], memories: int) -> None:
    session.copy(
        "copy kos.memories (memory_id, namespace, memory_type, heading, content, provenance, confidence, home, home_path,"
        " event_at, event_rule, content_hash) from stdin",
        (),
        (
            (memory_id(number), namespace_of(number, memories), "semantic", " ".join(parts[0].split()[:6]),
             "\n\n".join(parts), "raw", 0.95, "bench", "bench", "2026-06-01T00:00:00Z", "frontmatter:date",
             _hash(parts[0]))
            for number, parts in texts.items()
        ),
    )  # fmt: skip
    session.copy(
        "copy kos.index_state (memory_id, indexed_hash, recipe, embed_hash, linked) from stdin",
        (),
        (
            (memory_id(number), _hash(parts[0]), INDEX_RECIPE, _hash(f"m{number}"), True)
            for number, parts in texts.items()
        ),
    )


def _copy_chunks(session: Session, texts: dict[int, list[str]], memories: int, last: int) -> int:
    rows, postings = [], []
    for number, parts in texts.items():
        namespace = namespace_of(number, memories)
        for ordinal, text in enumerate(parts):
            last += 1
            fields = chunk_fields(
                heading=" ".join(parts[0].split()[:6]), keywords=(), heading_path=(), event_at=None, event_rule="none",
                body=text,
            )  # fmt: skip
            terms = document_terms(fields, "en")
            embed_hash = _hash(f"c{number}:{ordinal}") if len(parts) > 1 else None
            rows.append(
                (last, memory_id(number), ordinal, namespace, True, [], text, 1, 1, embed_hash, "en", terms.length)
            )
            postings += [
                (last, _impact(round(weight), terms.length), terms.length, round(weight), True, namespace, term)
                for term, weight in terms.weights.items()
            ]
    session.copy(
        "copy kos.chunks (chunk_id, memory_id, ordinal, namespace, live, heading_path, body, start_line, end_line,"
        " embed_hash, lang, length) from stdin",
        (),
        rows,
    )
    session.copy(
        "copy kos.postings (chunk_id, impact, length, frequency, live, namespace, term) from stdin", (), postings
    )
    return last


def _impact(frequency: int, length: int) -> float:
    return frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * length / 100.0))


def _load_vectors(session: Session, model_key: int, vocabulary: Vocabulary, memories: int, chunks: int) -> None:
    import numpy as np
    from pgvector import HalfVector

    generator = np.random.default_rng(20260601)

    def rows() -> Iterator[Sequence[Any]]:
        for number in range(memories):
            ordinals = (-1,) if chunks == 1 else tuple(range(-1, chunks))
            bases = vocabulary.vectors[generator.integers(len(vocabulary.vectors), size=len(ordinals))]
            noisy = bases + generator.normal(0, _NOISE, bases.shape)
            noisy /= np.linalg.norm(noisy, axis=1, keepdims=True)
            for ordinal, vector in zip(ordinals, noisy, strict=True):
                name = _hash(f"m{number}") if ordinal < 0 else _hash(f"c{number}:{ordinal}")
                yield (
                    model_key, memory_id(number), ordinal, namespace_of(number, memories), True, name,
                    HalfVector(vector.astype(np.float16)).to_text(),
                )  # fmt: skip

    session.copy(
        "copy kos.embeddings (model_key, memory_id, ordinal, namespace, live, content_hash, embedding) from stdin",
        (),
        rows(),
    )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
