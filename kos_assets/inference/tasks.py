"""E7: the tasks that a model may do: what it is asked, the shape of its answer, and what of the answer is kept.

Here: answer models, the rules by which they are grounded, and one spec a task. Not here: checks of texts (`grounding`),
prompts (`prompts/`), providers, caching, what rules do instead under `embedded`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, Final, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from kos_assets.errors import ItemError
from kos_assets.inference.completion import Completer, Completion, Request, UnusableAnswerError
from kos_assets.inference.grounding import Source, fold, named, sentences
from kos_assets.inference.prompting import Prompt, framed, prompt

_CLASS: Final = re.compile(r"[a-z][a-z_]{1,39}")
_LEAST_QUOTE: Final = 8
_LABEL_CHARS: Final = 60
_NAME_CHARS: Final = 200

# Lengths are bounded by max_tokens: in a schema they make llama.cpp's grammar large and slow, and one long quote would
# cost the whole answer.
Text = Annotated[str, StringConstraints(strip_whitespace=True)]
Share = Annotated[float, Field(ge=0, le=1)]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class NamedThing(_Answer):
    """A name as it stands in the text, and its class (open vocabulary; `unknown` rather than a guess)."""

    name: Text
    entity_class: Text = Field(alias="class")


class EntityExtract(_Answer):
    """`entity_extract`."""

    entities: list[NamedThing]


class GateVerdict(_Answer):
    """Whether one candidate names something, and why (not)."""

    name: Text
    keep: bool
    reason: Literal["name", "code", "path", "hash", "phrase", "heading", "other"]


class EntityGate(_Answer):
    """`entity_gate`. A candidate without a verdict stays undecided."""

    verdicts: list[GateVerdict]


class MergeJudge(_Answer):
    """`merge_judge`. `same` stands only with evidence that is really there."""

    verdict: Literal["same", "different", "unsure"]
    evidence_for: list[Text] = Field(alias="for")
    evidence_against: list[Text] = Field(alias="against")


class Summary(_Answer):
    """`summary`. Empty when nothing could be said."""

    summary: Text


class DocKind(_Answer):
    """`doc_kind`."""

    kind: Literal[
        "meeting", "mail", "chat", "calendar", "todo", "journal", "decision", "report",
        "howto", "reference", "project", "person", "idea", "index", "code", "other",
    ]  # fmt: skip
    confidence: Share


class MemoryTypeAnswer(_Answer):
    """`memory_type` (G7). Never `working`: that is for its writer to say, with a time to expire."""

    memory_type: Literal["episodic", "semantic", "procedural"]
    quote: Text
    confidence: Share


class Relation(_Answer):
    """One typed edge, stated by `quote`."""

    subject: Text
    relation: Text
    object: Text
    quote: Text


class RelationExtract(_Answer):
    """`relation_extract`."""

    relations: list[Relation]


class EventTime(_Answer):
    """`event_time`: YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DDTHH:MM in the note's zone, or None."""

    at: Text | None
    quote: Text


class ImportanceAnswer(_Answer):
    """`importance`: 1 (noise) to 5 (others build on it)."""

    level: Annotated[int, Field(ge=1, le=5)]
    quote: Text


class ConceptLabel(_Answer):
    """`concept_label`. Empty when the proposed one named something that is not there: use the rules' label."""

    label: Text


class Lesson(_Answer):
    """One lesson with the passage of the session that shows it (L1)."""

    statement: Text
    kind: Literal["correction", "preference", "cause", "procedure"]
    quote: Text


class LessonExtract(_Answer):
    """`lesson_extract`."""

    lessons: list[Lesson]


@dataclass(frozen=True)
class Material:
    """What a task is about: labelled texts, and the names that an answer may use where the task is given names."""

    parts: tuple[tuple[str, str], ...]
    names: tuple[str, ...] = ()

    @classmethod
    def of_memory(cls, heading: str, content: str, *, names: tuple[str, ...] = (), written: str = "") -> Material:
        """A memory's heading and text; `written`: its day (ISO), for `event_time`."""
        return cls((("heading", heading), ("text", content), ("written", written)), names)

    @cached_property
    def source(self) -> Source:
        """The texts one after the other, to find names and quotes in."""
        return Source("\n\n".join(text for label, text in self.parts if label != "written"))

    @cached_property
    def with_names(self) -> Source:
        """The texts and the names."""
        return Source("\n\n".join((self.source.text, *self.names)))

    def framed(self) -> str:
        """E7: as the model is given it."""
        names = "\n".join(" ".join(name.split()) for name in self.names)
        return framed((*self.parts, ("names", names)))


A = TypeVar("A", bound=_Answer)


@dataclass(frozen=True)
class Accepted(Generic[A]):
    """A validated answer without what was invented, and how many invented things were taken out (E7)."""

    answer: A
    dropped: int


@dataclass(frozen=True)
class Task(Generic[A]):
    """One task: the shape of its answer and the rule that grounds it."""

    name: str
    answers: type[A]
    max_tokens: int
    ground: Callable[[A, Material], Accepted[A]]

    @property
    def prompt(self) -> Prompt:
        """The newest version; `prompt.name` is part of a cached result's key (E6)."""
        return prompt(self.name)

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the answer, without our own words in it."""
        schema: dict[str, Any] = _bare(self.answers.model_json_schema())
        return schema

    def request(self, material: Material) -> Request:
        """The question about `material`."""
        return Request(
            self.name, self.prompt.text, material.framed(), self.answers.model_json_schema(), self.max_tokens
        )

    def accept(self, material: Material, value: Mapping[str, Any]) -> Accepted[A]:
        """E7: `value` validated and grounded in `material`. Raises `ItemError` for another shape."""
        try:
            answer = self.answers.model_validate(value)
        except ValidationError as error:
            places = sorted({".".join(str(part) for part in one["loc"]) or "the whole" for one in error.errors()})
            raise ItemError(
                f"An answer for {self.name} has the wrong shape.", why=f"Wrong: {', '.join(places[:5])}."
            ) from error
        return self.ground(answer, material)


def _bare(schema: Any) -> Any:
    """A schema without titles and descriptions: pydantic takes those from docstrings, which are for programmers."""
    if isinstance(schema, list):
        return [_bare(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    named_parts = {
        key: {name: _bare(one) for name, one in schema[key].items()} for key in ("properties", "$defs") if key in schema
    }
    rest = {key: _bare(one) for key, one in schema.items() if key not in {"title", "description", *named_parts}}
    return {**rest, **named_parts}


def do(task: Task[A], completer: Completer, material: Material) -> tuple[Accepted[A], Completion]:
    """One task by one model, without a cache. Raises as `Completer.complete` and `Task.accept` do."""
    completion = completer.complete(task.request(material))
    try:
        return task.accept(material, completion.value), completion
    except ItemError as error:
        raise UnusableAnswerError(
            error.what, why=error.why, tokens_in=completion.tokens_in, tokens_out=completion.tokens_out
        ) from error


def _entities(answer: EntityExtract, material: Material) -> Accepted[EntityExtract]:
    kept: dict[str, NamedThing] = {}
    for entity in answer.entities:
        span = material.source.find(entity.name)
        if span is not None and len(entity.name) <= _NAME_CHARS:
            known = entity.entity_class.casefold().replace(" ", "_")
            entity_class = known if _CLASS.fullmatch(known) else "unknown"
            as_written = " ".join(material.source.text[slice(*span)].split())
            as_found = entity.model_copy(update={"name": as_written, "entity_class": entity_class})
            kept.setdefault(fold(entity.name), as_found)
    same = len({fold(entity.name) for entity in answer.entities})
    return Accepted(EntityExtract(entities=list(kept.values())), same - len(kept))


def _gate(answer: EntityGate, material: Material) -> Accepted[EntityGate]:
    names = named(material.names)
    kept = {
        fold(one.name): one.model_copy(
            update={"name": names[fold(one.name)], "keep": one.keep and one.reason == "name"}
        )
        for one in answer.verdicts
        if fold(one.name) in names
    }
    return Accepted(EntityGate(verdicts=list(kept.values())), len(answer.verdicts) - len(kept))


def _merge(answer: MergeJudge, material: Material) -> Accepted[MergeJudge]:
    speaks_for = _quotes(answer.evidence_for, material)
    against = _quotes(answer.evidence_against, material)
    verdict = "unsure" if answer.verdict == "same" and (not speaks_for or against) else answer.verdict
    grounded = answer.model_copy(update={"verdict": verdict, "evidence_for": speaks_for, "evidence_against": against})
    given = len(answer.evidence_for) + len(answer.evidence_against)
    return Accepted(grounded, given - len(speaks_for) - len(against))


def _summary(answer: Summary, material: Material) -> Accepted[Summary]:
    given = sentences(answer.summary)
    kept = [sentence for sentence in given if not material.source.unknown(sentence)]
    return Accepted(Summary(summary=" ".join(kept)), len(given) - len(kept))


def _as_it_is(answer: DocKind, _: Material) -> Accepted[DocKind]:
    return Accepted(answer, 0)


def _memory_type(answer: MemoryTypeAnswer, material: Material) -> Accepted[MemoryTypeAnswer]:
    return _with_quote(answer, material)


def _importance(answer: ImportanceAnswer, material: Material) -> Accepted[ImportanceAnswer]:
    return _with_quote(answer, material)


def _relations(answer: RelationExtract, material: Material) -> Accepted[RelationExtract]:
    names = named(material.names)
    kept = {}
    for one in answer.relations:
        subject, target = names.get(fold(one.subject)), names.get(fold(one.object))
        relation = one.relation.casefold().replace(" ", "_")
        stated = _CLASS.fullmatch(relation) and _is_quote(one.quote, material)
        if subject and target and subject != target and stated:
            kept[subject, relation, target] = Relation(
                subject=subject, relation=relation, object=target, quote=one.quote
            )
    return Accepted(RelationExtract(relations=list(kept.values())), len(answer.relations) - len(kept))


def _event_time(answer: EventTime, material: Material) -> Accepted[EventTime]:
    years = set(re.findall(r"(?<!\d)(?:19|20)\d\d(?!\d)", answer.quote))
    right = answer.at is not None and _is_time(answer.at) and material.source.has(answer.quote)
    if right and answer.at is not None and (not years or answer.at[:4] in years):
        return Accepted(answer, 0)
    return Accepted(EventTime(at=None, quote=""), 0 if answer.at is None else 1)


def _label(answer: ConceptLabel, material: Material) -> Accepted[ConceptLabel]:
    label = " ".join(answer.label.split()).strip("\"'.“”")
    invented = len(label) > _LABEL_CHARS or bool(material.with_names.unknown(f"- {label}"))
    first = label.split(" ", 1)[0]  # `unknown` forgives the first word of a sentence; a label is none
    invented = invented or (bool(first) and first[0].isupper() and not material.with_names.has(first))
    return Accepted(ConceptLabel(label="" if invented else label), int(invented))


def _lessons(answer: LessonExtract, material: Material) -> Accepted[LessonExtract]:
    kept = [
        one
        for one in answer.lessons
        if _is_quote(one.quote, material)
        and not any(material.source.unknown(part) for part in sentences(one.statement))
    ]
    return Accepted(LessonExtract(lessons=kept[:8]), len(answer.lessons) - len(kept))


Q = TypeVar("Q", MemoryTypeAnswer, ImportanceAnswer)


def _with_quote(answer: Q, material: Material) -> Accepted[Q]:
    """The answer; without its quote where the text does not hold it."""
    if not answer.quote or material.source.has(answer.quote):
        return Accepted(answer, 0)
    return Accepted(answer.model_copy(update={"quote": ""}), 1)


def _is_quote(quote: str, material: Material) -> bool:
    return len(quote) >= _LEAST_QUOTE and material.source.has(quote)


def _quotes(given: list[str], material: Material) -> list[str]:
    return [quote for quote in dict.fromkeys(given) if _is_quote(quote, material)]


def _is_time(at: str) -> bool:
    """Whether `at` is a time of one of the four precisions that exists."""
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d", at):
            return datetime.fromisoformat(at).year > 0
        padded = at + "-01-01"[len(at) - 4 :] if re.fullmatch(r"\d{4}(-\d\d)?", at) else at
        return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", padded)) and date.fromisoformat(padded).year > 0
    except ValueError:
        return False


ENTITY_EXTRACT: Final = Task("entity_extract", EntityExtract, 2000, _entities)
ENTITY_GATE: Final = Task("entity_gate", EntityGate, 2000, _gate)
MERGE_JUDGE: Final = Task("merge_judge", MergeJudge, 800, _merge)
SUMMARY: Final = Task("summary", Summary, 400, _summary)
DOC_KIND: Final = Task("doc_kind", DocKind, 100, _as_it_is)
MEMORY_TYPE: Final = Task("memory_type", MemoryTypeAnswer, 300, _memory_type)
RELATION_EXTRACT: Final = Task("relation_extract", RelationExtract, 2000, _relations)
EVENT_TIME: Final = Task("event_time", EventTime, 300, _event_time)
IMPORTANCE: Final = Task("importance", ImportanceAnswer, 300, _importance)
CONCEPT_LABEL: Final = Task("concept_label", ConceptLabel, 100, _label)
LESSON_EXTRACT: Final = Task("lesson_extract", LessonExtract, 2500, _lessons)

BY_NAME: Final[Mapping[str, Task[Any]]] = MappingProxyType(
    {
        task.name: task
        for task in (
            ENTITY_EXTRACT, ENTITY_GATE, MERGE_JUDGE, SUMMARY, DOC_KIND, MEMORY_TYPE,
            RELATION_EXTRACT, EVENT_TIME, IMPORTANCE, CONCEPT_LABEL, LESSON_EXTRACT,
        )
    }
)  # fmt: skip
