"""Calibration and public-set scoring, through the product's own pipeline."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kos_assets.demo
from kos_assets import testing
from kos_assets.errors import InputError
from kos_assets.evaluation.calibrate import calibrate
from kos_assets.evaluation.gold import load_questions
from kos_assets.evaluation.retrieval import load_benchmark, run_benchmark
from kos_assets.inference.embedding import Embedder
from kos_assets.ingest.pipeline import ingest_vault
from kos_assets.operations import bench, bench_corpus
from kos_assets.operations.demo_home import lay_out, run_mirrors
from kos_assets.recall import Query, Recall
from kos_assets.settings import Settings

DEMO = Path(kos_assets.demo.__file__).parent
EVERYTHING = ("global", "shared:owner", "agent:scribe")


def test_calibration_ships_the_better_rule_and_keeps_it_as_data(
    database: Settings, embedder: Embedder, tmp_path: Path
) -> None:
    """R5: thresholds from 30 questions and 20 probes, reported on others, stored for the model, used by search."""
    from dataclasses import replace

    laid = lay_out(tmp_path / "demo")
    run_mirrors(laid)
    settings = replace(database, vault=laid.vault)
    gold, probes = load_questions(DEMO / "gold" / "flat.jsonl"), load_questions(DEMO / "gold" / "probes.jsonl")
    with testing.store(settings, "writer") as writer, testing.store(settings, "reader") as reader:
        ingest_vault(writer, embedder, settings)
        recall = Recall(reader, embedder)
        before = recall.search(Query("What is our policy on parental leave?", EVERYTHING))
        result = calibrate(recall, writer, gold=gold, probes=probes, namespaces=EVERYTHING)
        after = recall.search(Query("What is our policy on parental leave?", EVERYTHING))
        known = recall.search(Query("Why did we choose TimescaleDB and not InfluxDB?", EVERYTHING))
        with pytest.raises(InputError, match="do not tell answers from probes"):
            calibrate(recall, writer, gold=None, probes=probes, namespaces=EVERYTHING)
        kept = recall.search(Query("Why did we choose TimescaleDB and not InfluxDB?", EVERYTHING))
        recall.close()
    assert kept.confidence == "strong", "what could not be told apart replaced nothing"
    assert not before.calibrated
    assert after.calibrated
    assert after.confidence == "none"
    assert known.confidence == "strong"
    assert {item.rule for item in result.rules} == {"cosine", "evidence"}
    assert result.report.auroc == max(item.auroc or 0 for item in result.rules)
    assert (result.report.auroc or 0) > 0.85
    assert result.report.false_strong == 0
    assert (result.questions, result.probes) == (30, 20)


def test_too_few_questions_are_refused(database: Settings, embedder: Embedder, tmp_path: Path) -> None:
    """R5: thresholds rest on at least 20 of each; without vectors there is nothing to measure."""
    few = tmp_path / "few.jsonl"
    few.write_text('{"id": "a", "query": "one?", "gold": ["a.md"]}\n')
    probes = load_questions(DEMO / "gold" / "probes.jsonl")
    with testing.store(database, "writer") as writer, testing.store(database, "reader") as reader:
        recall = Recall(reader, embedder)
        with pytest.raises(InputError, match="no vectors"):
            calibrate(recall, writer, gold=load_questions(few), probes=probes, namespaces=("global",))
        recall.close()


@pytest.mark.parametrize("line", ["{", '{"id": "a"}', "[1]", '{"id": "a", "query": "x"}\n{"id": "a", "query": "y"}'])
def test_a_question_file_that_is_wrong_says_where(tmp_path: Path, line: str) -> None:
    """T1: the file and the line are named."""
    path = tmp_path / "q.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=r"q\.jsonl"):
        load_questions(path)


def test_a_public_set_runs_through_ingest_and_search(database: Settings, embedder: Embedder, tmp_path: Path) -> None:
    """T5: documents become notes in their group's namespace; another group's are never found."""
    folder = tmp_path / "set"
    folder.mkdir()
    corpus = [
        {"_id": "d1", "text": "The pump is a Grundmann P7.", "group": "a", "ts": "1:56 pm on 8 May, 2023"},
        {"_id": "d2", "text": "The stove burns pellets.", "group": "a"},
        {"_id": "d3", "title": "Pump", "text": "The pump of another house.", "group": "b"},
    ]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus))
    queries = [{"_id": "q1", "text": "which pump?", "group": "a"}, {"_id": "q2", "text": "pellets", "group": "b"}]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    (folder / "qrels.tsv").write_text("q1\td1\t1\nq2\td2\t1\n")
    with testing.store(database, "writer") as writer, testing.store(database, "reader") as reader:
        [scores, words_only] = run_benchmark(
            load_benchmark(folder),
            database,
            embedder,
            vault=tmp_path / "v",
            stores=(writer, reader),
            words_weights=(None, 1.0),
        )
    assert words_only.words_weight == 1.0
    assert (scores.documents, scores.queries) == (3, 2)
    assert scores.recall[5] == 0.5, "q1 finds d1; q2's gold is in another group and must not be found"
    assert scores.mrr == 0.5
    with pytest.raises(InputError, match=r"corpus\.jsonl"):
        load_benchmark(tmp_path)


def test_the_benchmark_measures_what_it_loads(database: Settings, embedder: Embedder) -> None:
    """R1: over generated rows the dense arm equals brute force in every class of filter, and pages are filled."""
    texts = [path.read_text("utf-8")[:300] for path in sorted((DEMO / "vault" / "daily").glob("*.md"))[:12]]
    vocabulary = bench_corpus.read_vocabulary(DEMO / "vault" / "daily", embedder.embed_documents(texts))
    questions = ["when was the outage?", "who owns the gateway?", "water at the hut"]
    figures = bench.search_figures(database, embedder, vocabulary, questions, memories=600, chunks=2)
    assert {figure.group for figure in figures} == {"1,200 chunks (600 memories)"}
    assert [figure.what for figure in figures if "p50, rare" in figure.what] == [
        "search p50, rare namespace, 3 of 600 memories"
    ]
    recalls = [figure for figure in figures if "brute force" in figure.what]
    assert len(recalls) == 4
    assert all(figure.met for figure in recalls), recalls
    with testing.store(database, "reader") as reader:
        recall = Recall(reader, None)
        page = recall.search(Query("hut water gateway", (bench_corpus.RARE,))).hits
        recall.close()
    assert page
    assert {hit.namespace for hit in page} == {bench_corpus.RARE}
