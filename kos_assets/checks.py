"""Great Expectations over the live memories, each expectation an asset check of `kos/memories` (M2).

Here: what must hold for every live memory, and the run of the suite in an ephemeral context as role kos_dbt, which sees
facts and no text (S12). Not here: invariants that block ingest (assets/), thresholds of health metrics
(assets/health.py). Great Expectations is imported inside functions: it costs seconds.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dagster import (
    AssetCheckExecutionContext,
    AssetCheckResult,
    AssetChecksDefinition,
    AssetCheckSeverity,
    AssetCheckSpec,
    AssetKey,
    MetadataValue,
    ResourceParam,
    multi_asset_check,
)

from kos_assets.alarms import Alarm, raise_alarm
from kos_assets.errors import StoreError
from kos_assets.jobs import MEMORIES, permanent_failures
from kos_assets.settings import Settings
from kos_assets.store.database import parse_dsn, role_dsn, with_database

_SAMPLE: Final = 10

# One row per live memory. No percent sign: SQLAlchemy would double it. Casts: the suite knows no uuid.
QUERY: Final = """
select
    m.memory_id::text as memory_id,
    m.note_id::text as note_id,
    m.namespace,
    m.memory_type,
    m.provenance,
    m.confidence::double precision as confidence,
    m.heading_characters,
    m.folded_into::text as folded_into,
    m.memory_type <> 'working' or m.expires_at is not null as expires_if_working,
    coalesce(m.event_at, now()) < now() + interval '10 years' as event_is_near,
    m.created_at <= now() + interval '5 minutes' as created_is_past,
    m.is_indexed or m.updated_at > now() - interval '1 hour' as indexed_or_recent,
    coalesce(v.state = 'current', false) or m.updated_at > now() - interval '1 hour' as vector_or_recent,
    not m.is_indexed or m.content_characters = 0 or m.chunks > 0 as indexed_has_chunks,
    exists (
        select 1 from kos.memory_facts as s where s.supersedes = m.memory_id and s.is_live
    ) as superseded_by_live
from kos.memory_facts as m
left join kos.vector_facts as v on m.memory_id = v.memory_id and v.ordinal = -1
where m.is_live
"""


@dataclass(frozen=True)
class Expectation:
    """One check: `kind` is the class of Great Expectations, `arguments` its own."""

    name: str
    description: str
    kind: str
    arguments: Mapping[str, Any]
    severity: AssetCheckSeverity = AssetCheckSeverity.ERROR


@dataclass(frozen=True)
class Outcome:
    """What the suite found for one expectation: rows looked at, rows that break it, ids of some of them."""

    name: str
    passed: bool
    rows: int
    broken: int
    sample: tuple[str, ...]


def _holds(name: str, column: str, description: str, severity: AssetCheckSeverity) -> Expectation:
    return Expectation(
        name, description, "ExpectColumnValuesToBeInSet", {"column": column, "value_set": [True]}, severity
    )


_ERROR, _WARN = AssetCheckSeverity.ERROR, AssetCheckSeverity.WARN

SUITE: Final[tuple[Expectation, ...]] = (
    Expectation("id_is_present", "Every memory has an id.", "ExpectColumnValuesToNotBeNull", {"column": "memory_id"}),
    Expectation("id_is_unique", "No id is live twice.", "ExpectColumnValuesToBeUnique", {"column": "memory_id"}),
    Expectation("note_has_one_memory", "One memory per note.", "ExpectColumnValuesToBeUnique", {"column": "note_id"}),
    Expectation(
        "namespace_is_known",
        "A namespace is global, an agent's or a group's.",
        "ExpectColumnValuesToMatchRegex",
        {"column": "namespace", "regex": "^(global|(agent|shared):[A-Za-z0-9._-]+)$"},
    ),
    Expectation(
        "type_is_known",
        "The memory's type is one of the four.",
        "ExpectColumnValuesToBeInSet",
        {"column": "memory_type", "value_set": ["episodic", "semantic", "procedural", "working"]},
    ),
    Expectation(
        "provenance_is_known",
        "The provenance is one of the three.",
        "ExpectColumnValuesToBeInSet",
        {"column": "provenance", "value_set": ["raw", "derived", "output"]},
    ),
    Expectation(
        "confidence_is_a_share",
        "Confidence lies between 0 and 1.",
        "ExpectColumnValuesToBeBetween",
        {"column": "confidence", "min_value": 0, "max_value": 1},
    ),
    Expectation(
        "heading_is_not_empty",
        "Every memory has a heading to be listed by.",
        "ExpectColumnValuesToBeBetween",
        {"column": "heading_characters", "min_value": 1},
    ),
    Expectation(
        "folded_is_not_live",
        "What was folded into an equal memory is not live beside it.",
        "ExpectColumnValuesToBeNull",
        {"column": "folded_into"},
    ),
    Expectation(
        "superseded_is_not_live",
        "What a live memory supersedes is retired.",
        "ExpectColumnValuesToBeInSet",
        {"column": "superseded_by_live", "value_set": [False]},
    ),
    _holds("working_expires", "expires_if_working", "Scratch memories expire.", _ERROR),
    _holds("created_in_the_past", "created_is_past", "No memory was born in the future.", _ERROR),
    _holds("event_is_near", "event_is_near", "No event lies more than ten years ahead.", _WARN),
    _holds("is_indexed", "indexed_or_recent", "Search sees the present text, an hour after a change at most.", _WARN),
    _holds("has_vector", "vector_or_recent", "The active model has its vector, an hour after a change at most.", _WARN),
    _holds("has_chunks", "indexed_has_chunks", "An indexed memory with content has passages.", _ERROR),
)


def run_suite(dsn: str, suite: Sequence[Expectation] = SUITE) -> list[Outcome]:
    """Validate the live memories as the role in `dsn`; one outcome per expectation, in order.

    Raises StoreError when an expectation could not be evaluated (a missing column, no right to read).
    """
    expectations, context = _load_great_expectations()
    source = context.data_sources.add_postgres(
        "kos", connection_string=with_database(dsn, str(parse_dsn(dsn).get("dbname", "kos")), driver="+psycopg")
    )
    batch = source.add_query_asset("live_memories", query=QUERY).add_batch_definition_whole_table("all").get_batch()
    suite_of = expectations.ExpectationSuite(name="live_memories")
    for item in suite:
        kind = getattr(expectations.expectations, item.kind)
        suite_of.add_expectation(kind(**item.arguments, meta={"check": item.name}))
    form = {
        "result_format": "SUMMARY",
        "unexpected_index_column_names": ["memory_id"],
        "partial_unexpected_count": _SAMPLE,
    }
    try:
        results = batch.validate(suite_of, result_format=form).results
    finally:
        source.get_engine().dispose()
    found = {result.expectation_config.meta["check"]: _outcome(result) for result in results}
    return [found[item.name] for item in suite]


def memory_checks() -> AssetChecksDefinition:
    """The suite as asset checks of `kos/memories`, run after the night's hygiene; a breach raises the alarm."""
    specs = [
        AssetCheckSpec(
            item.name, asset=MEMORIES, description=item.description, additional_deps=[AssetKey(["kos", "compacted"])]
        )
        for item in SUITE
    ]

    @multi_asset_check(name="live_memories_suite", specs=specs)
    def live_memories_suite(settings: ResourceParam[Settings]) -> Iterator[AssetCheckResult]:
        """Run the suite once; one result per expectation."""
        with permanent_failures():
            outcomes = run_suite(role_dsn(settings, "dbt"))
        broken = [outcome for outcome in outcomes if not outcome.passed]
        if broken:
            facts: dict[str, int | float | str] = {outcome.name: outcome.broken for outcome in broken}
            message = f"{len(broken)} expectation(s) on the live memories do not hold: " + ", ".join(facts)
            delivery = raise_alarm(Alarm("great_expectations", "kos/memories", message, facts=facts), settings)
            AssetCheckExecutionContext.get().log.warning("alarm %s: %s", delivery.alarm_id, message)
        for item, outcome in zip(SUITE, outcomes, strict=True):
            yield AssetCheckResult(
                asset_key=MEMORIES,
                check_name=item.name,
                passed=outcome.passed,
                severity=item.severity,
                metadata={
                    "rows": outcome.rows,
                    "broken": outcome.broken,
                    "memory_ids": MetadataValue.json(list(outcome.sample)),
                    "expectation": item.kind,
                },
            )

    return live_memories_suite


def _load_great_expectations() -> tuple[Any, Any]:
    """The module and a silent ephemeral context: no files, no progress bars, no analytics."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it imports modules that Python itself deprecates
        import great_expectations
        import great_expectations.expectations
    context = great_expectations.get_context(mode="ephemeral")
    silent: Any = {"globally": False}
    context.variables.progress_bars = silent
    return great_expectations, context


def _outcome(result: Any) -> Outcome:
    name = str(result.expectation_config.meta["check"])
    details = dict(result.result or {})
    if "element_count" not in details:
        message = _first_message(result.exception_info)
        raise StoreError(f"The expectation {name} could not be evaluated.", why=message)
    sample = [str(row["memory_id"]) for row in details.get("partial_unexpected_index_list") or []]
    return Outcome(
        name, bool(result.success), int(details["element_count"]), int(details["unexpected_count"] or 0), tuple(sample)
    )


def _first_message(exceptions: Mapping[str, Any]) -> str:
    """The first line of what went wrong; keyed by metric when a metric failed, flat when the expectation did."""
    entries = [exceptions, *(entry for entry in exceptions.values() if isinstance(entry, dict))]
    for entry in entries:
        if entry.get("exception_message"):
            return str(entry["exception_message"]).split("\n", 1)[0]
    return "no reason given"
