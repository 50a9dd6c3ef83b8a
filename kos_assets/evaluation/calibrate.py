"""R5: thresholds of confidence for this installation and embedding model, derived from questions, kept as data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from kos_assets.domain.confidence import RULES, Rule, Signals, Thresholds, auroc, derive
from kos_assets.domain.indexing import memory_text
from kos_assets.errors import InputError
from kos_assets.evaluation.gold import Question, QuestionSet, digest
from kos_assets.inference.embedding import Embedder
from kos_assets.recall import Recall
from kos_assets.store import calibrations
from kos_assets.store.database import Store

LEAST = 20
"""Fewest questions and fewest probes that thresholds may rest on."""


@dataclass(frozen=True)
class RuleReport:
    """One rule's thresholds, and how it does on questions that were not used to derive them (None without such).

    Of gold: `answered` (above WEAK), `strong`. Of off-corpus probes: `false_answered`, `false_strong`. Of probes near
    the corpus in topic: `near_answered`, `near_strong`. All shares, 0..1.
    """

    rule: Rule
    weak: float
    strong_from: float
    separable: bool
    auroc: float | None
    answered: float | None
    strong: float | None
    false_answered: float | None
    false_strong: float | None
    near_answered: float | None
    near_strong: float | None


@dataclass(frozen=True)
class Calibration:
    """What was stored: the shipped rule, both reports, and what they came from."""

    model_id: str
    shipped: Rule
    kind: str
    questions: int
    probes: int
    rules: tuple[RuleReport, ...]

    @property
    def report(self) -> RuleReport:
        """The shipped rule's."""
        return next(item for item in self.rules if item.rule == self.shipped)


@dataclass(frozen=True)
class _Measured:
    """Signals of the questions, by use."""

    gold: Sequence[Signals]
    probes: Sequence[Signals]
    held_gold: Sequence[Signals]
    held_probes: Sequence[Signals]
    near: Sequence[Signals]


def calibrate(
    recall: Recall, writer: Store, *, gold: QuestionSet | None, probes: QuestionSet, namespaces: tuple[str, ...]
) -> Calibration:
    """Derive WEAK and STRONG for both rules from the `fit` split; ship the rule with the better AUROC on `held_out`.

    Probes that are marked `near` (plausible for this corpus, and not answered by it) are reported, never fitted on.
    Without a gold set, known-item questions are cut from the vault's own headings, each compared with its own content
    with the heading masked. Raises InputError with fewer than 20 questions or probes, or without vectors.
    """
    if recall.embedder is None:
        raise InputError("There is no embedder to calibrate.", fix="Check inference.toml.")
    far = [question for question in probes.questions if not question.near]
    if gold is None:
        measured = _Measured(
            _known_items(recall, recall.embedder, namespaces), _asked(recall, far, namespaces), (), (), ()
        )
    else:
        measured = _Measured(
            gold=_asked(recall, gold.split("fit"), namespaces),
            probes=_asked(recall, [question for question in far if question.split == "fit"], namespaces),
            held_gold=_asked(recall, gold.split("held_out"), namespaces),
            held_probes=_asked(recall, [question for question in far if question.split == "held_out"], namespaces),
            near=_asked(recall, [question for question in probes.questions if question.near], namespaces),
        )
    if len(measured.gold) < LEAST or len(measured.probes) < LEAST:
        raise InputError(
            f"{len(measured.gold)} questions and {len(measured.probes)} probes are too few.",
            why=f"Thresholds need {LEAST} of each.",
            fix="Add notes, or pass --gold with a larger set.",
        )
    result = Calibration(
        model_id=recall.embedder.identity.model_id,
        shipped=_shipped(rules := tuple(_report(rule, measured) for rule in _rules(measured)), measured),
        kind="known-item" if gold is None else "gold",
        questions=len(measured.gold),
        probes=len(measured.probes),
        rules=rules,
    )
    if gold is None and not result.report.separable:
        raise InputError(
            "The vault's own headings do not tell answers from probes with this model; nothing was stored.",
            why=f"WEAK would be {result.report.weak:.3f} and STRONG {result.report.strong_from:.3f}.",
            fix="The thresholds in use stay. Write 20 or more questions with their notes and pass --gold.",
        )
    _store(writer, result, digest([*([gold] if gold else []), probes]), namespaces)
    return result


def _rules(measured: _Measured) -> tuple[Rule, ...]:
    """Known items have no words in common with their masked target by design: only the cosine can be judged there."""
    return RULES if all(item.evidence is not None for item in measured.gold) else ("cosine",)


def _shipped(rules: Sequence[RuleReport], measured: _Measured) -> Rule:
    if not measured.held_gold:
        return rules[0].rule
    return max(rules, key=lambda item: (item.auroc or 0.0, item.rule)).rule


def _report(rule: Rule, measured: _Measured) -> RuleReport:
    thresholds = derive(_values(measured.gold, rule), _values(measured.probes, rule), rule)
    on, off, near = (_values(item, rule) for item in (measured.held_gold, measured.held_probes, measured.near))
    strong = thresholds.strong if thresholds.separable else float("inf")
    return RuleReport(
        rule=rule,
        weak=round(thresholds.weak, 4),
        strong_from=round(thresholds.strong, 4),
        separable=thresholds.separable,
        auroc=round(auroc(on, off), 4) if on and off else None,
        answered=_share(value > thresholds.weak for value in on),
        strong=_share(value >= strong for value in on),
        false_answered=_share(value > thresholds.weak for value in off),
        false_strong=_share(value >= strong for value in off),
        near_answered=_share(value > thresholds.weak for value in near),
        near_strong=_share(value >= strong for value in near),
    )


def _share(holds: Iterable[bool]) -> float | None:
    found = list(holds)
    return round(sum(found) / len(found), 4) if found else None


def _values(found: Sequence[Signals], rule: Rule) -> list[float]:
    return [found_signals.by(rule) or 0.0 for found_signals in found]


def _asked(recall: Recall, questions: Sequence[Question], namespaces: tuple[str, ...]) -> list[Signals]:
    return [recall.signals(question.query, namespaces) for question in questions]


def _known_items(recall: Recall, embedder: Embedder, namespaces: tuple[str, ...], most: int = 60) -> list[Signals]:
    """Headings as questions, each against its own content without the heading: what a true hit looks like here."""
    with recall.store.transaction(namespaces=namespaces) as session:
        rows = calibrations.known_items(session, most)
    if not rows:
        return []
    masked = [memory_text("", row["content"].replace(row["heading"], " ")) for row in rows]
    documents = embedder.embed_documents(masked)
    return [
        Signals(cosine=float(embedder.embed_query(row["heading"]) @ document), evidence=None)
        for row, document in zip(rows, documents, strict=True)
    ]


def _store(writer: Store, result: Calibration, inputs: str, namespaces: tuple[str, ...]) -> None:
    thresholds = Thresholds(result.report.weak, result.report.strong_from, result.shipped)
    with writer.transaction(pipeline=True) as session:
        calibrations.record(
            session,
            model_id=result.model_id,
            rule=thresholds.rule,
            weak=thresholds.weak,
            strong=thresholds.strong,
            inputs_hash=hashlib.sha256(f"{inputs}:{','.join(namespaces)}".encode()).hexdigest(),
            report=asdict(result),
        )
