"""Commands that measure: calibrate, bench, eval."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kos_assets.cli.context import embedder_of, installation, settings_of, store
from kos_assets.cli.output import err, out, progress, table
from kos_assets.evaluation.retrieval import Scores
from kos_assets.recall import Recall

DEMO = Path(__file__).parent.parent / "demo"
PROBES = DEMO / "gold" / "probes.jsonl"


def register(app: typer.Typer) -> None:
    """Add this family's commands."""
    app.command("calibrate")(calibrate)
    app.command("bench")(bench)
    app.command("eval")(evaluate)


def calibrate(
    context: typer.Context,
    gold: Annotated[Path | None, typer.Option(help="Questions with their notes, .jsonl. Default: known items.")] = None,
    probes: Annotated[Path, typer.Option(help="Off-corpus questions, .jsonl.")] = PROBES,
) -> None:
    """Derive the thresholds behind `strong`, `weak` and `none` for this vault and model."""
    from kos_assets.evaluation.calibrate import calibrate as run
    from kos_assets.evaluation.gold import load_questions

    with (
        installation(settings_of(context)) as found,
        store(found, "reader") as reader,
        store(found, "writer") as writer,
    ):
        recall = Recall(reader, embedder_of(found))
        result = run(
            recall,
            writer,
            gold=load_questions(gold) if gold else None,
            probes=load_questions(probes),
            namespaces=found.reading_namespaces,
        )
        recall.close()
    table(
        f"Calibration of {result.model_id}: {result.questions} {result.kind} questions, {result.probes} probes",
        ("", *(item.rule for item in result.rules)),
        [
            (name.replace("_", " "), *(vars(item)[name] for item in result.rules))
            for name in vars(result.report)
            if name != "rule"
        ],
    )
    out.print(f"Shipped rule: {result.shipped}. From auroc down: shares of questions that the thresholds never saw.")
    if not result.report.separable:
        err.print("[yellow]WEAK >= STRONG: `strong` is not issued with this model and vault.[/]")


def bench(
    context: typer.Context,
    quick: Annotated[bool, typer.Option(help="1k and 10k chunks only.")] = False,
    output: Annotated[Path | None, typer.Option(help="Also write the figures as JSON.")] = None,
) -> None:
    """Measure ingest, search and freshness on this machine, on throw-away databases; prints a table with medians."""
    from kos_assets.cli.bench import run_bench

    run_bench(settings_of(context), quick=quick, output=output)


def evaluate(
    context: typer.Context,
    folders: Annotated[list[Path], typer.Argument(help="Folders with corpus.jsonl, queries.jsonl and qrels.tsv.")],
    words_weight: Annotated[
        list[float] | None, typer.Option(help="Also score with this weight of words in ranking, 0 to 1; repeatable.")
    ] = None,
) -> None:
    """Score retrieval on public sets in the BEIR layout, through the product's own ingest and search."""
    import tempfile

    from kos_assets import testing
    from kos_assets.evaluation.retrieval import load_benchmark, run_benchmark

    settings = settings_of(context)
    embedder = embedder_of(settings)
    rows = []
    with tempfile.TemporaryDirectory(prefix="kos-eval-") as scratch, testing.server(Path(scratch)) as server:
        for number, folder in enumerate(folders):
            benchmark = load_benchmark(folder)
            err.print(f"{benchmark.name}: {len(benchmark.corpus)} documents, {len(benchmark.queries)} queries …")
            with (
                server.database() as found,
                store(found, "writer") as writer,
                store(found, "reader") as reader,
                progress() as tell,
            ):
                found_scores = run_benchmark(
                    benchmark,
                    found,
                    embedder,
                    vault=Path(scratch) / f"vault{number}",
                    stores=(writer, reader),
                    words_weights=(None, *(words_weight or ())),
                    progress=tell,
                )
            rows += [_score_row(scores) for scores in found_scores]
    table(
        f"Retrieval, {embedder.identity.model_id}",
        ("set", "words", "documents", "queries", "R@5", "R@10", "R@20", "MRR", "p50 ms", "p95 ms", "ingest s"),
        rows,
        right=range(2, 11),
    )
    out.print("R@k: share of the gold documents among the first k. MRR: mean reciprocal rank of the first one.")


def _score_row(scores: Scores) -> tuple[object, ...]:
    words = "shipped" if scores.words_weight is None else f"{scores.words_weight:.2f}"
    shares = [f"{value:.3f}" for value in (*scores.recall.values(), scores.mrr)]
    times = (f"{scores.p50_ms:.1f}", f"{scores.p95_ms:.1f}", f"{scores.ingest_s:.0f}")
    return (scores.name, words, scores.documents, scores.queries, *shares, *times)
