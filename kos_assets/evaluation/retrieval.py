"""T5: BEIR-style folders through the product's own ingest and search: corpus.jsonl, queries.jsonl, qrels.tsv.

Each record becomes a note in a scratch vault, `group` its namespace; nothing here scores in memory what the product
would score in the store.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kos_assets.errors import InputError
from kos_assets.evaluation import records
from kos_assets.inference.embedding import Embedder
from kos_assets.ingest.pipeline import ingest_vault
from kos_assets.ingest.reports import Progress
from kos_assets.recall import Query, Recall
from kos_assets.settings import Settings
from kos_assets.store.database import Store

CUTS = (5, 10, 20)
_RECORD = 'Write {"_id": "d1", "text": "..."} on one line.'


@dataclass(frozen=True)
class Benchmark:
    """One folder's records. `qrels`: query id -> ids of the documents that answer it."""

    name: str
    corpus: tuple[dict[str, Any], ...]
    queries: tuple[dict[str, Any], ...]
    qrels: dict[str, frozenset[str]]


@dataclass(frozen=True)
class Scores:
    """Share of gold found at each cut, mean reciprocal rank, and milliseconds a query (median, 95th percentile)."""

    name: str
    documents: int
    queries: int
    recall: dict[int, float]
    mrr: float
    p50_ms: float
    p95_ms: float
    ingest_s: float
    words_weight: float | None


def load_benchmark(folder: Path) -> Benchmark:
    """Read a folder. Raises InputError: a file is missing, a line is wrong (which), or no query has an answer."""
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"):
        if not (folder / name).is_file():
            raise InputError(f"{folder} has no {name}.", fix="Pass a folder in the BEIR layout.")
    corpus = _records(folder / "corpus.jsonl", "a document")
    if not corpus:
        raise InputError(f"{folder / 'corpus.jsonl'} has no document.", fix=_RECORD)
    qrels = _qrels(folder / "qrels.tsv")
    queries = tuple(record for record in _records(folder / "queries.jsonl", "a query") if record["_id"] in qrels)
    if not queries:
        raise InputError(
            f"No query of {folder / 'queries.jsonl'} has a relevant document in {folder / 'qrels.tsv'}.",
            why=f"{len(qrels)} query ids have a score above 0 there; none is the _id of a query.",
            fix="Write query id, document id and score, separated by tabs, on each line of qrels.tsv.",
        )
    return Benchmark(folder.name, corpus, queries, qrels)


def _qrels(path: Path) -> dict[str, frozenset[str]]:
    """Documents with a score above 0 by query; BEIR's head line has no score and drops out."""
    qrels: defaultdict[str, set[str]] = defaultdict(set)
    for _, line in records.lines(records.read_bytes(path), path):
        parts = [part.strip() for part in line.split("\t")]
        if len(parts) >= 3 and parts[-1].isdecimal() and int(parts[-1]) > 0:
            qrels[parts[0]].add(parts[-2])
    return {query: frozenset(documents) for query, documents in qrels.items()}


def _records(path: Path, what: str) -> tuple[dict[str, Any], ...]:
    """The file's records, `_id` as text."""
    found = []
    for number, line in records.lines(records.read_bytes(path), path):
        record = records.parse(line, path, number, what=what, fix=_RECORD)
        missing = [field for field in ("_id", "text") if record.get(field) is None]
        if missing:
            raise records.not_a(what, path, number, why=f"It has no {' and no '.join(missing)}.", fix=_RECORD)
        found.append({**record, "_id": str(record["_id"])})
    return tuple(found)


def run_benchmark(
    benchmark: Benchmark,
    settings: Settings,
    embedder: Embedder,
    *,
    vault: Path,
    stores: tuple[Store, Store],
    words_weights: Sequence[float | None] = (None,),
    progress: Progress | None = None,
) -> list[Scores]:
    """Ingest the corpus into an empty store (writer, reader) through a scratch vault, ask every query, score.

    Once for each weight of words in ranking; None is the shipped choice.
    """
    writer, reader = stores
    paths = _write_vault(benchmark.corpus, vault)
    folders = {f"g{number}": f"shared:g{number}" for number in range(len(_groups(benchmark.corpus)))}
    started = time.monotonic()
    ingest_vault(writer, embedder, replace(settings, vault=vault, namespace_folders=folders), progress=progress)
    ingest_s = time.monotonic() - started
    scores = []
    for weight in words_weights:
        recall = Recall(reader, embedder, words_weight=weight)
        try:
            found = _scored(benchmark, paths, recall.search, ingest_s)
        finally:
            recall.close()
        scores.append(replace(found, words_weight=weight))
    return scores


def _groups(corpus: Sequence[dict[str, Any]]) -> dict[str, int]:
    groups: dict[str, int] = {}
    for record in corpus:
        groups.setdefault(str(record.get("group", "")), len(groups))
    return groups


def _write_vault(corpus: Sequence[dict[str, Any]], vault: Path) -> dict[str, str]:
    """Write one note per record; document id by path."""
    groups = _groups(corpus)
    paths: dict[str, str] = {}
    for number, record in enumerate(corpus):
        path = f"g{groups[str(record.get('group', ''))]}/n{number:07d}.md"
        title = str(record.get("title") or "").replace("\n", " ").strip()
        front = {"title": title or f"n{number:07d}", **({"said": str(record["ts"])} if record.get("ts") else {})}
        head = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in front.items())
        target = vault / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"---\n{head}---\n{record['text']}\n", "utf-8")
        paths[path] = str(record["_id"])
    return paths


def _scored(benchmark: Benchmark, paths: dict[str, str], search: Callable[[Query], Any], ingest_s: float) -> Scores:
    groups = _groups(benchmark.corpus)
    found: dict[int, list[float]] = {cut: [] for cut in CUTS}
    reciprocal, times = [], []
    for record in benchmark.queries:
        gold = benchmark.qrels[record["_id"]]
        namespace = f"shared:g{groups.get(str(record.get('group', '')), 0)}"
        began = time.perf_counter()
        answer = search(Query(str(record["text"]), (namespace,), limit=max(CUTS)))
        times.append((time.perf_counter() - began) * 1000)
        ranked = [paths.get(hit.path or "", "") for hit in answer.hits]
        for cut in CUTS:
            found[cut].append(len(gold.intersection(ranked[:cut])) / len(gold))
        first = next((rank for rank, document in enumerate(ranked, start=1) if document in gold), None)
        reciprocal.append(1 / first if first else 0.0)
    times.sort()
    return Scores(
        name=benchmark.name,
        documents=len(benchmark.corpus),
        queries=len(benchmark.queries),
        recall={cut: sum(values) / len(values) for cut, values in found.items()},
        mrr=sum(reciprocal) / len(reciprocal),
        p50_ms=times[len(times) // 2],
        p95_ms=times[int(len(times) * 0.95)],
        ingest_s=ingest_s,
        words_weight=None,
    )
