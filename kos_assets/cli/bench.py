"""`kos bench`: the figures of operations/bench.py as a table with the machine's facts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from kos_assets import testing
from kos_assets.cli.context import embedder_of
from kos_assets.cli.measure import DEMO, PROBES
from kos_assets.cli.output import err, out, table
from kos_assets.cli.serve import SERVICE
from kos_assets.inference.embedding import Embedder
from kos_assets.operations import bench, bench_corpus
from kos_assets.operations.bench import Figure
from kos_assets.operations.postgres import free_port
from kos_assets.settings import Settings

_QUICK_SIZES = ((1_000, 1), (10_000, 1))
_SIZES = (*_QUICK_SIZES, (5_000, 4), (100_000, 1))
"""Memories, and chunks of each."""


def run_bench(settings: Settings, *, quick: bool, output: Path | None) -> None:
    """Measure everything; print as it goes, then the table."""
    out.print(f"Machine: {bench.machine()}")
    embedder = embedder_of(settings)
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="kos-bench-") as folder, testing.server(Path(folder)) as server:
        scratch = Path(folder)
        err.print("Ingest of the demo vault …")
        with server.database() as found:
            figures += bench.ingest_figures(found, embedder, DEMO / "vault", scratch)
        vocabulary = _vocabulary(embedder)
        err.print("Scan of 10,000 generated notes …")
        with server.database() as found:
            figures += bench.scan_figures(found, vocabulary, embedder.count_tokens, scratch)
        for memories, chunks in _QUICK_SIZES if quick else _SIZES:
            err.print(f"Search over {memories * chunks:,} chunks …")
            with server.database() as found:
                figures += bench.search_figures(
                    found, embedder, vocabulary, _questions(), memories=memories, chunks=chunks
                )
        err.print("Freshness through the running sensor …")
        with server.database() as found:
            figures += _freshness(found, scratch)
    figures += [bench.import_figure("kos_assets.definitions.live"), bench.memory_figure()]
    _show(figures)
    if output is not None:
        record = {"machine": bench.machine(), "figures": [asdict(figure) for figure in figures]}
        output.write_text(json.dumps(record, indent=2) + "\n", "utf-8")


def _vocabulary(embedder: Embedder) -> bench_corpus.Vocabulary:
    texts = [path.read_text("utf-8", errors="replace")[:1500] for path in sorted((DEMO / "vault").rglob("*.md"))]
    return bench_corpus.read_vocabulary(DEMO / "vault", embedder.embed_documents(texts))


def _questions() -> list[str]:
    """The demo's gold questions and probes: real sentences in the vocabulary's language."""
    lines = [*(DEMO / "gold" / "flat.jsonl").read_text("utf-8").splitlines(), *PROBES.read_text("utf-8").splitlines()]
    return [str(json.loads(line)["query"]) for line in lines if line.strip()]


def _freshness(settings: Settings, scratch: Path) -> list[Figure]:
    import httpx

    from kos_assets.operations.supervision import start
    from kos_assets.store.migrate import create_database

    vault = scratch / "fresh"
    vault.mkdir()
    (vault / "first.md").write_text("# First\n\nThe vault of the freshness run.\n", "utf-8")
    create_database(settings.dsn or "", f"{(settings.dsn or '').rpartition('/')[2]}_dagster")
    found = replace(settings, vault=vault, port=free_port(None), dagster_port=free_port(None))
    running = start(found, service_argv=SERVICE, on_event=lambda text: err.print(text, markup=False))
    try:
        with httpx.Client(base_url=f"http://{found.host}:{found.port}", timeout=30) as client:

            def ask(word: str) -> list[dict[str, Any]]:
                reply = client.post("/v1/search", json={"query": word, "limit": 3})
                results: list[dict[str, Any]] = reply.json()["results"] if reply.status_code == 200 else []
                return results

            return bench.freshness_figures(vault, ask, 3)
    finally:
        running.stop()


def _show(figures: Sequence[Figure]) -> None:
    rows = [
        (figure.group, figure.what, f"{figure.value:,.{3 if figure.value < 10 else 0}f}", figure.unit, figure.expected,
         {True: "met", False: "MISSED", None: ""}[figure.met])
        for figure in figures
    ]  # fmt: skip
    table("Benchmark", ("group", "what", "value", "unit", "expected", ""), rows, right=(2,))
    out.print(
        "Rows of the search groups are generated: words by the demo vault's frequencies, vectors = real ones plus"
        " noise, loaded by COPY. Search times include the query's embedding. Quality figures never use generated rows."
    )
