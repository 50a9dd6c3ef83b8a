"""What of a model's answer is kept: validated, and grounded in the text that it was given."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from kos_assets.errors import ItemError
from kos_assets.inference import tasks
from kos_assets.inference.completion import Answer as Said
from kos_assets.inference.completion import Completion, Request, UnusableAnswerError, answered, json_object
from kos_assets.inference.grounding import Source, sentences
from kos_assets.inference.tasks import Material

NOTE = Material.of_memory(
    "Kick-off of Murmel",
    "Jane O’Neill and Zoë met on 12 January 2026 in Zürich.\nMurmel runs on Kafka 3.7; 低温电量固件 stays.\n"
    "Jane maintains the ingest service.",
    names=("Jane O'Neill", "Murmel", "Kafka"),
    written="2026-01-13",
)


def test_invented_names_are_dropped() -> None:
    """E7: only names that stand in the text are kept, as the text writes them, once each."""
    given = [
        {"name": "jane o'neill", "class": "Person"},
        {"name": "Jane O'Neill", "class": "person"},
        {"name": "Kafka", "class": "tool"},
        {"name": "固件", "class": "product"},
        {"name": "Zoe", "class": "person"},
        {"name": "RabbitMQ", "class": "tool"},
        {"name": "Murm", "class": "project"},
        {"name": "Zürich", "class": "IT'S A PLACE!"},
        {"name": "", "class": "person"},
    ]
    accepted = tasks.ENTITY_EXTRACT.accept(NOTE, {"entities": given})
    assert [(one.name, one.entity_class) for one in accepted.answer.entities] == [
        ("Jane O’Neill", "person"),
        ("Kafka", "tool"),
        ("固件", "product"),
        ("Zürich", "unknown"),
    ]
    assert accepted.dropped == 4
    start, end = NOTE.source.find("jane o'neill") or (0, 0)
    assert NOTE.source.text[start:end] == "Jane O’Neill"


def test_verdicts_on_what_was_not_asked_are_dropped() -> None:
    """E7: the gate speaks of the candidates only, and keeps only what it calls a name."""
    given = [
        {"name": "KAFKA", "keep": True, "reason": "name"},
        {"name": "Murmel", "keep": True, "reason": "code"},
        {"name": "Pulsar", "keep": True, "reason": "name"},
    ]
    accepted = tasks.ENTITY_GATE.accept(NOTE, {"verdicts": given})
    assert [(one.name, one.keep) for one in accepted.answer.verdicts] == [("Kafka", True), ("Murmel", False)]
    assert accepted.dropped == 1


@pytest.mark.parametrize(
    ("speaks_for", "against", "verdict"),
    [
        (["gh is short for GitHub"], [], "same"),
        (["gh was renamed to GitHub last year"], [], "unsure"),
        ([], [], "unsure"),
        (["gh is short for GitHub"], ["we compared gh with GitHub Desktop"], "unsure"),
    ],
)
def test_same_needs_evidence_that_is_there(speaks_for: list[str], against: list[str], verdict: str) -> None:
    """E7, N3: when unsure, reject: `same` falls without a quote for it that is there, or with one against."""
    material = Material((("first", "gh is short for GitHub"), ("second", "we compared gh with GitHub Desktop")))
    accepted = tasks.MERGE_JUDGE.accept(material, {"verdict": "same", "for": speaks_for, "against": against})
    assert accepted.answer.verdict == verdict


def test_sentences_with_invented_names_or_numbers_are_dropped() -> None:
    """E7: what is left of a summary says nothing that the text does not name."""
    given = "Jane and Zoë met in Zürich. Murmel runs on Kafka 3.7. Google pays 400 CHF. It moves to Kafka 3.8."
    accepted = tasks.SUMMARY.accept(NOTE, {"summary": given})
    assert accepted.answer.summary == "Jane and Zoë met in Zürich. Murmel runs on Kafka 3.7."
    assert accepted.dropped == 2
    assert tasks.SUMMARY.accept(NOTE, {"summary": "Elon Musk called."}).answer.summary == ""
    assert NOTE.source.unknown("It is a Kafka-based service, and I like it.") == []
    assert NOTE.source.unknown("It is a Pulsar-based service.") == ["Pulsar-based"]


def test_german_nouns_are_no_invented_names() -> None:
    """E7: where every noun has a capital, a capital alone makes no name; two together, and numbers, still do."""
    text = (
        "Die neue Batterie hält die Kälte im Winter besser aus, wenn das Gehäuse mit einer Lage Schaum gefüllt ist. "
        "Der Versuch auf dem Berg hat drei Wochen gedauert, und die Messung der Spannung war jede Stunde im Archiv."
    )
    source = Source(text)
    assert source.unknown("Die Akkus überstehen den Frost ohne Verlust.") == []
    assert source.unknown("Der Test hat 5 Wochen gedauert.") == ["5"]
    assert {"Anna", "Schmidt"} <= set(source.unknown("Laut Anna Schmidt hält die Batterie."))


def test_relations_need_known_ends_and_a_quote() -> None:
    """E7: both ends are names that were given, the passage stands in the text, the relation is a word."""
    quote = "Murmel runs on Kafka 3.7"
    given = [
        {"subject": "murmel", "relation": "runs on", "object": "Kafka", "quote": quote},
        {"subject": "Murmel", "relation": "runs_on", "object": "Pulsar", "quote": quote},
        {"subject": "Murmel", "relation": "uses", "object": "Kafka", "quote": "Murmel uses Kafka"},
        {"subject": "Murmel", "relation": "is", "object": "Murmel", "quote": quote},
        {"subject": "Murmel", "relation": "<script>", "object": "Kafka", "quote": quote},
    ]
    accepted = tasks.RELATION_EXTRACT.accept(NOTE, {"relations": given})
    assert [(one.subject, one.relation, one.object) for one in accepted.answer.relations] == [
        ("Murmel", "runs_on", "Kafka")
    ]
    assert accepted.dropped == 4


@pytest.mark.parametrize(
    ("at", "quote", "kept"),
    [
        ("2026-01-12", "12 January 2026", "2026-01-12"),
        ("2026-01", "12 January 2026", "2026-01"),
        ("2026", "January 2026", "2026"),
        ("2026-01-12T09:30", "12 January 2026", "2026-01-12T09:30"),
        ("2025-01-12", "12 January 2026", None),
        ("2026-02-31", "12 January 2026", None),
        ("2026-01-12", "yesterday", None),
        ("next week", "12 January 2026", None),
        ("2026-1-2", "12 January 2026", None),
        ("2026-01-13", "2026-01-13", None),
        (None, "", None),
    ],
)
def test_times_need_a_quote_that_agrees(at: str | None, quote: str, kept: str | None) -> None:
    """E7: a time stands only if it exists, its quote is in the text (not the day of writing) and agrees on the year."""
    accepted = tasks.EVENT_TIME.accept(NOTE, {"at": at, "quote": quote})
    assert accepted.answer.at == kept
    assert accepted.dropped == int(at is not None and kept is None)


def test_quotes_that_are_not_there_are_cut_off() -> None:
    """E7, G7: a type or level stands without a quote, never with an invented one."""
    value = {"memory_type": "episodic", "quote": "Zoë met on  12 January", "confidence": 0.8}
    assert tasks.MEMORY_TYPE.accept(NOTE, value).answer.quote
    value["quote"] = "they had lunch"
    assert tasks.MEMORY_TYPE.accept(NOTE, value) == tasks.Accepted(
        tasks.MemoryTypeAnswer(memory_type="episodic", quote="", confidence=0.8), 1
    )
    assert tasks.IMPORTANCE.accept(NOTE, {"level": 5, "quote": "remember this"}).answer.quote == ""


@pytest.mark.parametrize(
    ("label", "kept"),
    [
        ("Murmel kick-off", "Murmel kick-off"),
        ("“Kafka ingest”", "Kafka ingest"),
        ("Apollo programme", ""),
        ("Kick-off with Google", ""),
        ("x" * 61, ""),
    ],
)
def test_labels_name_only_what_is_there(label: str, kept: str) -> None:
    """E7, C2: a label with a name from elsewhere is dropped, and the rules' label stands."""
    assert tasks.CONCEPT_LABEL.accept(NOTE, {"label": label}).answer.label == kept


def test_lessons_need_their_passage() -> None:
    """E7, L1: a lesson without evidence in the session, or about names from elsewhere, is dropped."""
    session = Material((("session", "user: no, deploy with make release, never by hand\nagent: understood, sorry"),))
    good = {"statement": "Deploy with make release.", "kind": "correction", "quote": "deploy with make release"}
    given = [good, {**good, "quote": "always trust the web page"}, {**good, "statement": "Deploy with Ansible."}]
    accepted = tasks.LESSON_EXTRACT.accept(session, {"lessons": given})
    assert [one.statement for one in accepted.answer.lessons] == ["Deploy with make release."]
    assert accepted.dropped == 2


@pytest.mark.parametrize(
    ("task", "value"),
    [
        ("entity_extract", {}),
        ("entity_extract", {"entities": [{"name": "Kafka"}]}),
        ("entity_extract", {"entities": [], "more": 1}),
        ("doc_kind", {"kind": "poem", "confidence": 0.5}),
        ("doc_kind", {"kind": "mail", "confidence": 1.5}),
        ("memory_type", {"memory_type": "working", "quote": "", "confidence": 1}),
        ("importance", {"level": 0, "quote": ""}),
        ("merge_judge", {"verdict": "maybe", "for": [], "against": []}),
    ],
)
def test_another_shape_is_the_items_fault(task: str, value: dict[str, Any]) -> None:
    """E5, E7: an answer is validated before it is used; the message says where it is wrong and quotes nothing."""
    with pytest.raises(ItemError, match=f"answer for {task} has the wrong shape") as refused:
        tasks.BY_NAME[task].accept(NOTE, value)
    assert "Kafka" not in str(refused.value)


def test_schemas_are_closed_and_hold_no_prose() -> None:
    """E7: every object says all its keys and allows no other; providers that need that get it."""

    def objects(schema: Any) -> list[dict[str, Any]]:
        if isinstance(schema, list):
            return [found for one in schema for found in objects(one)]
        if not isinstance(schema, dict):
            return []
        here = [schema] if schema.get("type") == "object" else []
        return here + [found for one in schema.values() for found in objects(one)]

    for task in tasks.BY_NAME.values():
        found = objects(task.schema)
        assert found
        for one in found:
            assert one["additionalProperties"] is False
            assert set(one["required"]) == set(one["properties"])
        assert not {"title", "description", "maxLength"} & set(str(task.schema).replace("'", " ").split())


def test_a_task_is_asked_with_its_prompt_and_framed_data() -> None:
    """E6, E7: the request holds the newest prompt; equal data have equal hashes, other data another."""
    request = tasks.SUMMARY.request(NOTE)
    assert request.system == tasks.SUMMARY.prompt.text
    assert "Murmel runs on Kafka" in request.user
    assert "Murmel runs" not in request.system
    assert "\nJane O'Neill\nMurmel\nKafka\n" in request.user
    assert request.input_hash == tasks.SUMMARY.request(NOTE).input_hash
    assert request.input_hash != tasks.SUMMARY.request(Material.of_memory("a", "b")).input_hash


class Scripted:
    """Answers what it is told to."""

    lane = "scripted"
    model = "scripted/one"

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    def complete(self, request: Request) -> Completion:
        return answered(lambda: Said(self.texts.pop(0), 10, 3, self.model), request.task)


def test_an_answer_that_is_not_json_is_asked_for_once_more() -> None:
    """E5: malformed once is retried, malformed twice is the item's fault; tokens of both calls are counted (E6)."""
    accepted, completion = tasks.do(tasks.SUMMARY, Scripted("{", '{"summary": "Murmel runs on Kafka."}'), NOTE)
    assert accepted.answer.summary == "Murmel runs on Kafka."
    assert (completion.tokens_in, completion.tokens_out) == (20, 6)
    with pytest.raises(UnusableAnswerError, match="no JSON object for summary, twice") as refused:
        tasks.do(tasks.SUMMARY, Scripted("[1]", "Sure! Here it is:"), NOTE)
    assert (refused.value.tokens_in, refused.value.tokens_out) == (20, 6)
    with pytest.raises(UnusableAnswerError, match="wrong shape") as refused:
        tasks.do(tasks.SUMMARY, Scripted('{"sum": 1}'), NOTE)
    assert refused.value.tokens_in == 10


def test_one_object_is_read_also_from_a_fence() -> None:
    """E7: a code fence around the object is forgiven, anything else is not."""
    assert json_object('```json\n{"a": 1}\n```') == {"a": 1}
    assert json_object(' {"a": 1} ') == {"a": 1}
    for other in ('{"a": 1} and more', "[]", "1", "", "[" * 100_000):
        assert json_object(other) is None


@given(name=st.text(min_size=1, max_size=12), text=st.text(max_size=40))
@hypothesis_settings(max_examples=150)
def test_kept_names_are_always_in_the_text(name: str, text: str) -> None:
    """E7: whatever the name and the text, a name that is kept stands in the text at the span that is given."""
    material = Material((("text", text),))
    accepted = tasks.ENTITY_EXTRACT.accept(material, {"entities": [{"name": name, "class": "topic"}]})
    for entity in accepted.answer.entities:
        assert entity.name in " ".join(text.split())
    span = Source(text).find(name)
    assert span is None or 0 <= span[0] < span[1] <= len(text)


@given(st.text(max_size=80))
@hypothesis_settings(max_examples=100)
def test_sentences_lose_no_words(text: str) -> None:
    """E7: cutting into sentences drops nothing but space."""
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())
