"""BM25 in the database equals BM25 written out in Python, whatever was cut, and its statistics equal a recount.

Nothing here reads the statistics that it checks: totals and document frequencies are counted from the rows.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from kos_assets import testing
from kos_assets.domain.chunking import chunk
from kos_assets.domain.indexing import chunk_fields
from kos_assets.domain.tokens import document_terms, query_terms
from kos_assets.store import chunks, search
from kos_assets.store.database import Session, Store

LIMIT = 20
NAMESPACES = ("global", "agent:one", "agent:two")
Terms = Sequence[tuple[str, int]]

RECOUNT_TERMS = """
select term, namespace, count(*) as documents from kos.postings where live and expires_at is null group by 1, 2
"""
RECOUNT_TOTALS = """
select namespace, lang, count(*), sum(length) from kos.chunks where live and expires_at is null group by 1, 2
"""


def exhaustive(session: Session, owner: Any, terms: Terms, namespaces: Sequence[str]) -> list[tuple[float, int]]:
    """The score of every chunk that has a term, best first, from the rows that the scope shows."""
    scope = list(namespaces)
    documents, average = owner(
        """select count(*), greatest(coalesce(avg(length)::float8, 1), 1) from kos.chunks
        where live and expires_at is null and namespace = any(%s)""", scope,
    )[0]  # fmt: skip
    counted = dict(
        owner(
            """select term, count(*) from kos.postings
            where live and expires_at is null and namespace = any(%s) and term = any(%s) group by term""",
            scope, [term for term, _ in terms],
        )
    )  # fmt: skip
    groups: Counter[int] = Counter()
    for term, group in set(terms):
        groups[group] += counted.get(term, 0)
    weights: defaultdict[str, float] = defaultdict(float)
    for term, group in set(terms):
        found = min(groups[group], documents)
        weights[term] += math.log(1 + (documents - found + 0.5) / (found + 0.5))
    scores: defaultdict[int, float] = defaultdict(float)
    rows = session.rows(
        "select chunk_id, term, frequency, length from kos.live_postings where term = any(%(terms)s)",
        terms=list(weights),
    )
    for row in rows:
        frequency = row["frequency"]
        norm = 1.2 * (0.25 + 0.75 * row["length"] / float(average))
        scores[row["chunk_id"]] += weights[row["term"]] * frequency * 2.2 / (frequency + norm)
    return sorted(((score, chunk_id) for chunk_id, score in scores.items()), reverse=True)


def assert_exact(
    reader: Store, owner: Any, terms: Terms, namespaces: Sequence[str], budget: tuple[int, int] | None
) -> None:
    """The first 20 of the arm are the first 20 of exhaustive scoring, score by score."""
    with reader.transaction(namespaces=namespaces) as session:
        if budget is not None:
            session.run("select set_config('kos.lexical_budget', %(b)s, true)", b=str(budget[0]))
            session.run("select set_config('kos.lexical_cut', %(c)s, true)", c=str(budget[1]))
        found = search.lexical(session, terms, LIMIT)
        everything = exhaustive(session, owner, terms, namespaces)
    wanted = [score for score, _ in everything[:LIMIT]]
    assert [row["score"] for row in found] == pytest.approx(wanted, abs=1e-9, rel=0)
    truth = {chunk_id: score for score, chunk_id in everything}
    assert len({row["chunk_id"] for row in found}) == len(found)
    for row in found:
        assert truth[row["chunk_id"]] == pytest.approx(row["score"], abs=1e-9, rel=0)


def assert_recount(owner: Any) -> None:
    """The sums of all deltas are what a recount gives, term by term and namespace by namespace."""
    terms = "select term, namespace, sum(documents) from kos.lexical_terms group by 1, 2 having sum(documents) <> 0"
    totals = """select namespace, lang, sum(documents), sum(tokens) from kos.lexical_totals group by 1, 2
    having sum(documents) <> 0 or sum(tokens) <> 0"""
    assert sorted(owner(terms)) == sorted(owner(RECOUNT_TERMS))
    assert sorted(owner(totals)) == sorted(owner(RECOUNT_TOTALS))


def fold(desk: Any) -> None:
    """As hygiene does."""
    with desk.writer.transaction(pipeline=True) as session:
        chunks.fold_statistics(session, 20_000)


BUDGETS: tuple[tuple[int, int] | None, ...] = (None, (50, 5), (400, 1), (1, 20))


@pytest.mark.parametrize("lengths", [(2, 12), (80, 120), (600, 5000)], ids=["short", "reference", "long"])
def test_the_first_twenty_equal_exhaustive_scoring(desk: Any, reader: Store, lengths: tuple[int, int]) -> None:
    """R1: with the budget of the product and with tiny ones that force the cut; average lengths far from 100 too."""
    dice = random.Random(lengths[0])
    words = [f"t{number}" for number in range(12)]
    for number in range(90):
        bags = [_bag(dice, words) for _ in range(4)]
        expires = datetime.now(UTC) + timedelta(days=1) if number % 7 == 0 else None
        desk.memory(
            namespace=dice.choice(NAMESPACES),
            terms=bags,
            lengths=[dice.randint(*lengths) for _ in bags],
            expires_at=expires,
        )
    for memory_id in desk.ids[::9]:
        desk.retire(memory_id)
    desk.restore(desk.ids[9])
    queries: list[Terms] = [
        [("t0", 1)],
        [("t0", 1), ("t1", 2), ("t11", 3)],
        [("t0", 1), ("t1", 1), ("t2", 2), ("t3", 2), ("t9", 3)],
        [("t0", 1), ("t1", 2), ("t0", 2), ("nowhere", 3)],
        [(word, number) for number, word in enumerate(words)],
        [("nowhere", 1)],
        [],
    ]
    scopes = (("global",), NAMESPACES, ("agent:one", "agent:nobody"), ("agent:nobody",))
    for terms in queries:
        for scope in scopes:
            for budget in BUDGETS:
                assert_exact(reader, desk.owner, terms, scope, budget)


def _bag(dice: random.Random, words: Sequence[str]) -> dict[str, int]:
    """Few words in most bags, many in none: word 0 is nearly everywhere."""
    return {
        word: dice.choice((1, 1, 1, 2, 3, 9))
        for rank, word in enumerate(words)
        if dice.random() < 0.95 / (1 + rank / 2)
    }


def test_many_expiring_rows_do_not_hide_behind_the_cut(desk: Any, reader: Store) -> None:
    """R1: rows that will expire are not in the statistics: a list may be longer than they say, yet is exact."""
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    for _ in range(4):
        desk.memory(terms=[{"common": 1, "rare": 1}], lengths=[400])
    for number in range(12):
        desk.memory(terms=[{"common": 1}] * 4, lengths=[50 + number] * 4, expires_at=tomorrow)
    for budget in ((1, 6), (5, 6), (50, 5), None):
        assert_exact(reader, desk.owner, [("common", 1), ("rare", 2)], ("global",), budget)
        assert_exact(reader, desk.owner, [("common", 1)], ("global",), budget)


def test_twenty_thousand_rows_are_exact(corpus: Any) -> None:
    """R1: common and rare words over 20,000 chunks, in a scope of one namespace and of three, cut and whole."""
    dice = random.Random(7)

    with testing.store(corpus.settings, "reader") as reader, testing.connect(corpus.settings) as connection:

        def owner(statement: str, *values: Any) -> list[tuple[Any, ...]]:
            return connection.execute(statement, values).fetchall()

        for number in range(6):
            words = [f"w{dice.choice((0, 1, 2, 5, 30, 400, 2000))}" for _ in range(1 + number)]
            terms = [(word, 1 + place // 2) for place, word in enumerate(dict.fromkeys(words))]
            for budget in (None, (2000, 50), (50, 5)):
                assert_exact(reader, owner, terms, corpus.scope if number % 2 else ("agent:busy",), budget)


def test_real_text_is_exact(desk: Any, reader: Store, demo_vault: Any) -> None:
    """R1, R10: the demo vault's own notes and questions cut from them, through the product's tokenizer."""
    texts = [path.read_text("utf-8", errors="replace") for path in sorted(demo_vault.rglob("*.md"))[:40]]
    questions = []
    for text in texts:
        bags, lengths = [], []
        for piece in chunk(text, title="Note", max_tokens=120, count_tokens=lambda part: len(part.split()))[:4]:
            fields = chunk_fields(
                heading="Note", keywords=(), heading_path=piece.heading_path, event_at=None, event_zone=None,
                event_rule="none",
                body=piece.text,
            )  # fmt: skip
            found = document_terms(fields, "en")
            bags.append({term: max(1, round(weight)) for term, weight in found.weights.items()})
            lengths.append(found.length)
            questions.append(" ".join(piece.text.split()[3:10]))
        desk.memory(terms=bags, lengths=lengths, namespace=random.Random(text).choice(NAMESPACES))
    for question in questions[::12]:
        words = query_terms(question, ["en", "de"])
        terms = [(term, number) for number, word in enumerate(words, 1) for term in word.alternatives]
        for budget in (None, (50, 5)):
            assert_exact(reader, desk.owner, terms, NAMESPACES, budget)


STEP = st.tuples(
    st.sampled_from(["insert", "insert", "reindex", "retire", "restore", "move", "expire", "keep", "erase", "fold"]),
    st.integers(0, 10_000),
)


@pytest.fixture
def walk(desk: Any, reader: Store) -> Callable[[Sequence[tuple[str, int]]], None]:
    """A function that empties the store, takes steps and checks after each."""

    def take(steps: Sequence[tuple[str, int]]) -> None:
        desk.owner("truncate kos.memories, kos.lexical_terms, kos.lexical_totals cascade")
        desk.ids.clear()
        for action, seed in steps:
            _step(desk, action, random.Random(seed))
            assert_recount(desk.owner)
        for budget in (None, (6, 2)):
            assert_exact(reader, desk.owner, [("t0", 1), ("t1", 2), ("t2", 2), ("t3", 3)], NAMESPACES, budget)
        fold(desk)
        assert_recount(desk.owner)
        assert desk.owner("select count(*) from kos.lexical_terms") == desk.owner(
            f"select count(*) from ({RECOUNT_TERMS}) as r"
        )

    return take


def _step(desk: Any, action: str, dice: random.Random) -> None:
    words = ["t0", "t1", "t2", "t3", "t4"]
    bags = [_bag(dice, words) for _ in range(dice.randint(1, 3))]
    lengths = [dice.choice((1, 7, 300)) for _ in bags]
    expires = dice.choice((None, None, datetime.now(UTC) + timedelta(days=1), datetime.now(UTC) - timedelta(days=1)))
    if action == "insert" or not desk.ids:
        desk.memory(namespace=dice.choice(NAMESPACES), terms=bags, lengths=lengths, expires_at=expires)
        return
    chosen: UUID = dice.choice(desk.ids)
    if action == "reindex":
        with desk.writer.transaction(pipeline=True) as session:
            desk.index(session, chosen, bags, lengths=lengths)
    elif action == "retire":
        desk.retire(chosen)
    elif action == "restore":
        desk.restore(chosen)
    elif action == "move":
        desk.change(chosen, namespace=dice.choice(NAMESPACES))
    elif action in ("expire", "keep"):
        desk.change(chosen, expires_at=expires if action == "expire" else None)
    elif action == "erase":
        desk.owner("delete from kos.memories where memory_id = %s", chosen)
        desk.ids.remove(chosen)
    else:
        fold(desk)


def test_statistics_equal_a_recount_after_any_steps(walk: Any) -> None:
    """R1: inserts, edits, retirements, restores, moves, dates, erasures and folds in any order; no delta is lost."""

    @examples(max_examples=12)
    @given(st.lists(STEP, min_size=3, max_size=10))
    def always(steps: list[tuple[str, int]]) -> None:
        walk(steps)

    always()
