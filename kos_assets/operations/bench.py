"""What the product costs on this machine: ingest, search, freshness, memory, imports. On throw-away databases.

Times are wall-clock milliseconds or seconds of the product's own functions; medians over the stated number of runs.
"""

from __future__ import annotations

import os
import platform
import random
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kos_assets.hygiene.statistics import fold_statistics
from kos_assets.inference.embedding import Embedder
from kos_assets.ingest.chunks import sync_chunks
from kos_assets.ingest.memories import sync_memories
from kos_assets.ingest.notes import sync_notes
from kos_assets.ingest.pipeline import ingest_vault
from kos_assets.operations import bench_corpus
from kos_assets.operations.bench_corpus import RARE, Vocabulary
from kos_assets.recall import Query, Recall
from kos_assets.settings import Settings
from kos_assets.store import bulk, embeddings
from kos_assets.store import search as store_search
from kos_assets.store.database import Store, role_dsn
from kos_assets.store.search import DenseQuery, Filters

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GENERATED_NOTES = 10_000
_PAGE = 20
_RECALL_QUERIES = 40
_TIE = 2e-4
"""Cosines this close are equal: rows and questions are rounded to half precision in the store."""


@dataclass(frozen=True)
class Figure:
    """One row of the table."""

    group: str
    what: str
    value: float
    unit: str
    expected: str = ""
    met: bool | None = None


def machine() -> str:
    """Facts that a reader needs to compare."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text("utf-8").split("\n")
            if line.startswith("model name")
        ),
        platform.processor() or platform.machine(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()}, Python {platform.python_version()}"


def ingest_figures(settings: Settings, embedder: Embedder, vault: Path, scratch: Path) -> list[Figure]:
    """First ingest of a real vault with vectors, its unchanged rescan, and one edit; an empty database."""
    copy = scratch / "real"
    shutil.copytree(vault, copy)
    found = replace(settings, vault=copy)
    with Store(role_dsn(settings, "writer")) as store:
        embedder.embed_query("warm")
        began = time.perf_counter()
        report = ingest_vault(store, embedder, found)
        first = time.perf_counter() - began
        edits = [_timed_edit(store, embedder, found, copy, number) for number in range(5)]
    return [
        Figure(
            "ingest", f"first ingest with vectors, {report.notes.files} notes", report.notes.files / first, "notes/s"
        ),
        Figure("ingest", "one edited note, all four steps (median of 5)", statistics.median(edits) * 1000, "ms"),
    ]


def _timed_edit(store: Store, embedder: Embedder, settings: Settings, vault: Path, number: int) -> float:
    note = sorted(path for path in vault.rglob("*.md") if path.stat().st_size > 500)[number]
    note.write_bytes(note.read_bytes() + f"\nA remark of the benchmark, number {number}.\n".encode())
    began = time.perf_counter()
    ingest_vault(store, embedder, settings)
    return time.perf_counter() - began


def scan_figures(
    settings: Settings, vocabulary: Vocabulary, count_tokens: Callable[[str], int], scratch: Path
) -> list[Figure]:
    """First scan and unchanged rescan of 10,000 generated notes, vectors left out; an empty database."""
    vault = scratch / "generated"
    _write_notes(vault, vocabulary, _GENERATED_NOTES)
    found = replace(settings, vault=vault)
    with Store(role_dsn(settings, "writer")) as store:
        began = time.perf_counter()
        sync_notes(store, found)
        sync_memories(store, settings)
        notes = time.perf_counter() - began
        sync_chunks(store, count_tokens=count_tokens)
        indexed = time.perf_counter() - began
        rescans = [_timed(lambda: _rescan(store, found, count_tokens)) for _ in range(5)]
    rescan = statistics.median(rescans)
    files = f"{_GENERATED_NOTES:,} generated notes"
    return [
        Figure("ingest", f"first scan to memories, {files}", _GENERATED_NOTES / notes, "notes/s"),
        Figure("ingest", f"first scan to searchable words, {files}", _GENERATED_NOTES / indexed, "notes/s"),
        Figure("ingest", f"unchanged rescan, {files} (median of 5)", rescan, "s", "< 1 s", rescan < 1),
    ]


def _rescan(store: Store, settings: Settings, count_tokens: Callable[[str], int]) -> None:
    sync_notes(store, settings)
    sync_memories(store, settings)
    sync_chunks(store, count_tokens=count_tokens)


def _timed(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def _write_notes(vault: Path, vocabulary: Vocabulary, count: int) -> None:
    dice = random.Random(7)  # noqa: S311 - a fixed seed
    for number in range(count):
        words = dice.choices(vocabulary.words, cum_weights=vocabulary.weights, k=120)
        path = vault / f"f{number % 100:02d}" / f"n{number:05d}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Note {number} {' '.join(words[:4])}\n\n{' '.join(words)}\n", "utf-8")


def search_figures(
    settings: Settings,
    embedder: Embedder,
    vocabulary: Vocabulary,
    questions: Sequence[str],
    *,
    memories: int,
    chunks: int = 1,
) -> list[Figure]:
    """Latency of search and recall of its dense arm over generated rows; an empty database, filled here."""
    with Store(role_dsn(settings, "writer")) as writer, writer.transaction(pipeline=True) as session:
        identity = embedder.identity
        key = embeddings.register(session, model_id=identity.model_id, dimensions=identity.dims, recipe={})
        embeddings.activate(session, key)
    with Store(role_dsn(settings, "owner")) as owner:
        began = time.perf_counter()
        bench_corpus.load_generated(owner, key, vocabulary, memories=memories, chunks=chunks)
        with Store(role_dsn(settings, "writer")) as writer:
            fold_statistics(writer)  # as the nightly job does
        bulk.settle(role_dsn(settings, "owner"))
        loaded = time.perf_counter() - began
        with owner.transaction() as session:
            size = bulk.sizes(session)["database_bytes"] / 2**20
    group = f"{memories * chunks:,} chunks ({memories:,} memories)"
    figures = [Figure(group, "load and index", loaded, "s"), Figure(group, "database", size, "MiB")]
    with Store(role_dsn(settings, "reader")) as reader:
        figures += _latencies(reader, embedder, questions, group, memories=memories, large=memories * chunks >= 100_000)
        figures += _dense_recall(
            reader, embedder, vocabulary, questions, key=key, memories=memories, chunks=chunks, group=group
        )
    return figures


def _latencies(
    reader: Store, embedder: Embedder, questions: Sequence[str], group: str, *, memories: int, large: bool
) -> list[Figure]:
    recall = Recall(reader, embedder)
    rare = f"rare namespace, {bench_corpus.rare_memories(memories):,} of {memories:,} memories"
    figures = []
    try:
        for name, namespaces in (("no filter", ("global",)), (rare, (RARE,))):
            for question in questions[:10]:
                recall.search(Query(question, namespaces))
            times = sorted(_timed(partial(recall.search, Query(question, namespaces))) for question in questions)
            p50, p95 = times[len(times) // 2] * 1000, times[int(len(times) * 0.95)] * 1000
            figures.append(Figure(group, f"search p50, {name}", p50, "ms"))
            expected = "< 50 ms" if large else ""
            figures.append(Figure(group, f"search p95, {name}", p95, "ms", expected, p95 < 50 if large else None))
    finally:
        recall.close()
    return figures


def _dense_recall(
    reader: Store,
    embedder: Embedder,
    vocabulary: Vocabulary,
    questions: Sequence[str],
    *,
    key: int,
    memories: int,
    chunks: int,
    group: str,
) -> list[Figure]:
    """Share of the true nearest 20 vectors that the dense arm returns, by id, per class of filter.

    Truth compares the question with every generated vector in float32, the vectors rounded to half precision as the
    store holds them. A returned row is a hit if its id is among the nearest 20 of its class, or if its true cosine is
    at most 2e-4 below the 20th's: half rounding may order such a tie either way.
    """
    import numpy as np

    ids, numbers, matrix = [], [], []
    for number, ordinal, vector in bench_corpus.vectors(vocabulary, memories, chunks):
        ids.append((bench_corpus.memory_id(number), ordinal))
        numbers.append(number)
        matrix.append(vector.astype(np.float16))
    rows = np.array(matrix, dtype=np.float32)
    places = {found: place for place, found in enumerate(ids)}
    classes: list[tuple[str, tuple[str, ...], Filters, Callable[[int], bool]]] = [
        ("no filter", ("global",), Filters(), lambda n: bench_corpus.namespace_of(n, memories) == "global"),
        ("rare namespace", (RARE,), Filters(), lambda n: bench_corpus.namespace_of(n, memories) == RARE),
        (
            "memory type, 1 %",
            ("global", RARE),
            Filters(types=("procedural",)),
            lambda n: bench_corpus.memory_type_of(n) == "procedural",
        ),
        ("folder, 10 %", ("global", RARE), Filters(home="bench/h3"), lambda n: n % 10 == 3),
    ]
    figures = []
    for name, namespaces, filters, keeps in classes:
        allowed = np.array([keeps(number) for number in numbers])
        shares = []
        for question in questions[:_RECALL_QUERIES]:
            vector = embedder.embed_query(question)
            found = [places[row] for row in _dense_page(reader, DenseQuery(key, vector), namespaces, filters)]
            shares.append(share_of_nearest(found, rows @ vector, allowed))
        share = statistics.mean(shares)
        figures.append(
            Figure(group, f"dense recall@20 against brute force, {name}", share, "", ">= 0.99", share >= 0.99)
        )
    return figures


def share_of_nearest(found: Sequence[int], cosines: NDArray[Any], allowed: NDArray[Any]) -> float:
    """Share of the nearest 20 that `found` holds, 0 to 1. `found`: places of rows; both arrays: one entry a row.

    The nearest are those of the highest cosine among the allowed rows (at least one is). A row within 2e-4 of the
    last of them counts as one of them; a row that is not allowed never counts.
    """
    import numpy as np

    nearest = np.sort(cosines[allowed])[::-1][:_PAGE]
    hits = {place for place in found if allowed[place] and cosines[place] >= nearest[-1] - _TIE}
    return len(hits) / len(nearest)


def _dense_page(
    reader: Store, query: DenseQuery, namespaces: tuple[str, ...], filters: Filters
) -> list[tuple[UUID, int]]:
    """Memory id and ordinal of the first 20 vectors."""
    with reader.transaction(namespaces=namespaces) as session:
        kept: list[UUID] | None = store_search.filtered(session, filters, 10_000_000) if filters.any else None
        return [(row["memory_id"], row["ordinal"]) for row in store_search.dense(session, query, _PAGE, kept)]


def import_figure(module: str) -> Figure:
    """Seconds that a fresh interpreter takes to import a module (median of 3)."""
    code = f"import time; began = time.perf_counter(); import {module}; print(time.perf_counter() - began)"
    times = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout)
        for _ in range(3)
    ]
    return Figure("imports", f"import {module} (median of 3)", statistics.median(times), "s")


def memory_figure() -> Figure:
    """Peak resident memory of this process, which also holds the matrix that recall is measured against."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Figure("memory", "peak of the benchmark's process (with its brute-force matrix)", peak, "MiB")


def freshness_figures(vault: Path, ask: Callable[[str], list[dict[str, Any]]], runs: int) -> list[Figure]:
    """Seconds from saving a note to finding its new words through the running sensor and service."""
    times = []
    for number in range(runs):
        word = f"zanzibarium{number}{int(time.time())}"
        note = vault / f"bench-fresh-{number}.md"
        began = time.perf_counter()
        note.write_text(f"# Freshness {number}\n\nThe word of this run is {word}.\n", "utf-8")
        while not any(word in str(result["index_line"]) for result in ask(word)):
            if time.perf_counter() - began > 120:
                break
            time.sleep(0.25)
        times.append(time.perf_counter() - began)
    worst = max(times)
    return [
        Figure(
            "freshness", f"saved to recallable (median of {runs})", statistics.median(times), "s", "< 20 s", worst < 20
        ),
        Figure("freshness", "saved to recallable (slowest)", worst, "s"),
    ]
