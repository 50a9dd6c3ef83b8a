"""R5: thresholds of confidence for this installation and embedding model, derived from questions, kept as data."""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from kos_assets.domain.confidence import Thresholds, auroc, derive
from kos_assets.domain.indexing import memory_text
from kos_assets.errors import InputError
from kos_assets.evaluation.gold import Question, QuestionSet, digest
from kos_assets.inference.embedding import Embedder
from kos_assets.store import calibrations
from kos_assets.store import search as store_search
from kos_assets.store.database import Store
from kos_assets.store.search import DenseQuery

LEAST = 20
"""Fewest questions and fewest probes that thresholds may rest on."""


@dataclass(frozen=True)
class Calibration:
    """Thresholds, what they came from, and how well the top-1 cosine separates questions that were not used."""

    model_id: str
    weak: float
    strong: float
    separable: bool
    gold_questions: int
    probes: int
    gold_median: float
    probes_highest: float
    held_out_auroc: float | None
    held_out_answered: float | None
    held_out_false_strong: float | None
    kind: str


def calibrate(
    reader: Store,
    writer: Store,
    embedder: Embedder,
    *,
    gold: QuestionSet | None,
    probes: QuestionSet,
    namespaces: tuple[str, ...],
) -> Calibration:
    """Derive WEAK and STRONG from the `fit` split, report on `held_out`, and store the result for the active model.

    Without a gold set, known-item questions are cut from the vault's own headings, each compared with its own content
    with the heading masked. Raises InputError with fewer than 20 questions or probes, or without vectors.
    """
    asker = _Asker(reader, embedder, namespaces)
    off = asker.top_cosines(probes.split("fit") or probes.questions)
    if gold is None:
        on, kind, inputs = asker.known_items(), "known-item", probes.sha256
    else:
        on, kind, inputs = asker.top_cosines(gold.split("fit") or gold.questions), "gold", digest([gold, probes])
    if len(on) < LEAST or len(off) < LEAST:
        raise InputError(
            f"{len(on)} questions and {len(off)} probes are too few.", why=f"Thresholds need {LEAST} of each.",
            fix="Add notes, or pass --gold with a larger set.",
        )  # fmt: skip
    thresholds = derive(on, off)
    held = _held_out(asker, gold, probes, thresholds) if gold else (None, None, None)
    result = Calibration(
        model_id=embedder.identity.model_id,
        weak=round(thresholds.weak, 4),
        strong=round(thresholds.strong, 4),
        separable=thresholds.separable,
        gold_questions=len(on),
        probes=len(off),
        gold_median=round(statistics.median(on), 4),
        probes_highest=round(max(off), 4),
        held_out_auroc=held[0],
        held_out_answered=held[1],
        held_out_false_strong=held[2],
        kind=kind,
    )
    with writer.transaction(pipeline=True) as session:
        calibrations.record(
            session,
            model_id=result.model_id,
            weak=result.weak,
            strong=result.strong,
            inputs_hash=hashlib.sha256(f"{inputs}:{','.join(namespaces)}".encode()).hexdigest(),
            report=asdict(result),
        )
    return result


class _Asker:
    """Asks the store under one model and scope."""

    def __init__(self, reader: Store, embedder: Embedder, namespaces: tuple[str, ...]) -> None:
        self.reader, self.embedder, self.namespaces = reader, embedder, namespaces
        with reader.transaction(namespaces=namespaces) as session:
            model = store_search.active_model(session)
        if model is None or model["model_id"] != embedder.identity.model_id:
            raise InputError(
                "The store has no vectors of the routed model.", fix="Run `kos ingest` (or `kos reembed`)."
            )
        self.model_key = int(model["model_key"])

    def top_cosines(self, questions: Sequence[Question]) -> list[float]:
        """The highest cosine that each question meets; 0 in an empty store."""
        found = []
        for question in questions:
            vector = self.embedder.embed_query(question.query)
            with self.reader.transaction(namespaces=self.namespaces) as session:
                rows = store_search.dense(session, DenseQuery(self.model_key, vector), 1)
            found.append(float(rows[0]["cosine"]) if rows else 0.0)
        return found

    def known_items(self, most: int = 60) -> list[float]:
        """Headings as questions, each against its own content without the heading: what a true hit looks like here."""
        with self.reader.transaction(namespaces=self.namespaces) as session:
            rows = calibrations.known_items(session, most)
        if not rows:
            return []
        masked = [memory_text("", row["content"].replace(row["heading"], " ")) for row in rows]
        documents = self.embedder.embed_documents(masked)
        return [
            float(self.embedder.embed_query(row["heading"]) @ document)
            for row, document in zip(rows, documents, strict=True)
        ]


def _held_out(
    asker: _Asker, gold: QuestionSet, probes: QuestionSet, thresholds: Thresholds
) -> tuple[float | None, float | None, float | None]:
    """AUROC, share of gold above WEAK, and share of probes called strong, on the questions not used above."""
    on = asker.top_cosines(gold.split("held_out"))
    off = asker.top_cosines(probes.split("held_out"))
    if not on or not off:
        return None, None, None
    answered = sum(1 for value in on if value > thresholds.weak) / len(on)
    strong = thresholds.strong if thresholds.separable else 2.0
    false_strong = sum(1 for value in off if value >= strong) / len(off)
    return round(auroc(on, off), 4), round(answered, 4), round(false_strong, 4)
