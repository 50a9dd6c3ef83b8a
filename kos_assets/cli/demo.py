"""`kos demo`: the product on an invented vault, from an empty directory to answered questions (P1)."""

from __future__ import annotations

import shlex
import shutil
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from kos_assets.cli.context import embedder_of, installation, store
from kos_assets.cli.measure import DEMO, PROBES
from kos_assets.cli.output import err, out, print_line, table
from kos_assets.cli.serve import SERVICE
from kos_assets.errors import OperationError
from kos_assets.settings import Settings
from kos_assets.store.health import Measure

STEPS = 7
SHOWN = 3


def run_demo(settings: Settings, *, keep: bool) -> None:
    """Run the demo below the data directory, in `demo/`; an earlier demo there is replaced. Raises OperationError."""
    began = time.monotonic()
    home = settings.data_dir / "demo"
    _fresh(home, settings)
    demo = _demo_settings(settings, home)
    with ExitStack() as stack:
        with _step(1, "Starting an embedded PostgreSQL and applying the schema"):
            found = stack.enter_context(installation(demo))
        _mirror(found)
        _materialise(found)
        _calibrate(found)
        _health(found)
        _questions(found)
        out.print(f"\nDone in {time.monotonic() - began:.0f} s. Nothing left this machine.")
        if keep:
            _keep_running(found)
        else:
            _what_next(home)


def _fresh(home: Path, settings: Settings) -> None:
    from kos_assets.operations.demo_home import MARK
    from kos_assets.operations.installation import embedded

    if embedded(replace(settings, data_dir=home)).running() is not None:
        raise OperationError("A demo is running already.", fix=f"Use it, or stop it with: kos --data-dir {home} stop")
    if home.exists():
        if any(home.iterdir()) and not _is_demo(home):
            raise OperationError(f"{home} exists and is not a demo.", fix="Pass another --data-dir, or move it away.")
        shutil.rmtree(home)
    home.mkdir(mode=0o700, parents=True)
    (home / "kos.toml").write_text(MARK, "utf-8")


def _is_demo(home: Path) -> bool:
    """Whether `kos demo` made this folder; nothing else is ever replaced."""
    from kos_assets.operations.demo_home import MARK

    mark = home / "kos.toml"
    return mark.is_file() and mark.read_text("utf-8").startswith(MARK)


def _demo_settings(settings: Settings, home: Path) -> Settings:
    """The demo's home laid out, with the ports and programs that the caller chose."""
    from kos_assets.operations.demo_home import lay_out
    from kos_assets.vault.scan import walk

    found = lay_out(home)
    notes = len(walk(found.require_vault())[0])
    out.print(f"[bold]Knowledge OS demo[/] · {notes} invented notes of Ilka Tannwald, an engineer of mountain huts")
    out.print(f"Scratch directory: {home}\n", markup=False)
    return replace(
        found,
        port=settings.port,
        dagster_port=settings.dagster_port,
        pg_bindir=settings.pg_bindir,
        inference_file=settings.inference_file,
    )


@contextmanager
def _step(number: int, what: str) -> Iterator[None]:
    began = time.monotonic()
    out.print(f"[bold][{number}/{STEPS}][/] {what} …", markup=True)
    yield
    out.print(f"      {time.monotonic() - began:.1f} s")


def _run_job(settings: Settings, job: str) -> Any:
    from kos_assets.definitions.in_process import materialize_in_process

    def tell(step: Any) -> None:
        if step.state == "done":
            out.print(f"      {step.name} ({step.seconds:.1f} s)", markup=False)
        elif step.state == "failed":
            out.print(f"      {step.name} FAILED: {step.text}", markup=False)

    outcome = materialize_in_process(settings, job, on_step=tell)
    if not outcome.success:
        raise OperationError(f"The job {job} failed.", why="; ".join(outcome.failures))
    return outcome


def _mirror(settings: Settings) -> None:
    with _step(2, "Mirrors: raw mail, meetings, todos and what an agent wrote, as notes of the vault"):
        outcome = _run_job(settings, "mirror")
        for asset, values in outcome.metadata.items():
            if values.get("mirrors"):
                left = f", {values['left_out']} left out on purpose" if values["left_out"] else ""
                kind = asset.rpartition("/")[2]
                out.print(f"      {kind}: {values['items']} items, {values['written']} notes written{left}")


def _materialise(settings: Settings) -> None:
    with _step(3, "Vault to recallable memories, as Dagster assets: notes → memories → chunks → vectors"):
        outcome = _run_job(settings, "ingest")
        figures = {asset.rpartition("/")[2]: values for asset, values in outcome.metadata.items()}
        out.print(
            f"      {figures['notes']['files']} notes, {figures['memories']['live']} live memories, "
            f"{figures['chunks']['chunks']} chunks, {figures['embeddings']['embedded']} texts embedded, "
            f"{figures['memories']['folded']} equal copies folded, {figures['notes']['blocked']} file(s) blocked"
        )


def _calibrate(settings: Settings) -> None:
    from kos_assets.evaluation.calibrate import calibrate
    from kos_assets.evaluation.gold import load_questions
    from kos_assets.recall import Recall

    with (
        _step(4, "Calibrating what counts as an answer"),
        store(settings, "reader") as reader,
        store(settings, "writer") as writer,
    ):
        recall = Recall(reader, embedder_of(settings))
        result = calibrate(
            recall,
            writer,
            gold=load_questions(DEMO / "gold" / "flat.jsonl"),
            probes=load_questions(PROBES),
            namespaces=settings.reading_namespaces,
        )
        recall.close()
        report = result.report
        out.print(
            f"      {result.questions} gold questions, {result.probes} off-corpus probes; rule `{report.rule}`: "
            f"none up to {report.weak:.3f}, strong from {report.strong_from:.3f}\n"
            f"      on questions not used for that: AUROC {report.auroc:.3f}, "
            f"{report.answered:.0%} of gold and {report.false_answered:.0%} of probes above none, "
            f"{report.false_strong:.0%} of probes strong"
        )


def _health(settings: Settings) -> None:
    with _step(5, "The nightly job now: expiry, dbt health models, Great Expectations, snapshot"):
        outcome = _run_job(settings, "nightly")
        out.print(f"      {outcome.passed_checks} checks passed, {len(outcome.failed_checks)} did not")
        for name in outcome.failed_checks:
            out.print(f"      not passed: {name}", markup=False)
    with _step(6, "Health"):
        _health_table(settings)


def _health_table(settings: Settings) -> None:
    from kos_assets.operations.accounting import account
    from kos_assets.store import health

    with store(settings, "writer") as writer, store(settings, "reader") as reader:
        figures = account(writer)
        measures = [item for item in health.summary(reader) if item.namespace == health.EVERYWHERE]
    rows: list[Sequence[object]] = [*figures.rows()]
    rows += [(item.metric.replace("_", " "), _shown(item)) for item in measures]
    table("Store and health", ("what", "value"), rows, right=(1,))
    table("Equal copies, folded into their canonical notes", ("copy", "canonical note"), figures.folded)


def _shown(item: Measure) -> str:
    """A count as it is; a share with what it is a share of."""
    if item.whole == 0:
        return "nothing to measure yet"
    return str(item.part) if item.value == item.part else f"{item.value:.3g}  ({item.part} of {item.whole})"


def _questions(settings: Settings) -> None:
    from kos_assets.recall import Query, Recall

    asked = tomllib.loads((DEMO / "questions.toml").read_text("utf-8"))["question"]
    with _step(7, "Questions, and the index lines that an agent gets"), store(settings, "reader") as reader:
        recall = Recall(reader, embedder_of(settings))
        try:
            for question in asked:
                answer = recall.search(Query(question["text"], settings.reading_namespaces, limit=SHOWN))
                out.print(f"\n[bold cyan]{question['text']}[/]  [dim]({question['why']})[/]")
                out.print(f"  [bold]{answer.confidence}[/] · {answer.advice}")
                for hit in answer.hits:
                    print_line(f"  {hit.index_line}")
        finally:
            recall.close()


def _keep_running(settings: Settings) -> None:
    from kos_assets.operations.supervision import run_up

    out.print("\nLeaving it running; edit a note in the scratch vault and search for it. Ctrl-C stops everything.")
    run_up(settings, service_argv=SERVICE, on_event=lambda text: err.print(text, markup=False))


def _program() -> str:
    """This command as it can be typed here: from a checkout, the one in its .venv."""
    found = Path(sys.argv[0]).absolute()
    near = found.name == "kos" and found.is_relative_to(Path.cwd())
    return shlex.quote(found.relative_to(Path.cwd()).as_posix()) if near else "kos"


def _what_next(home: Path) -> None:
    out.print("\n[bold]Try next[/]")
    program = _program()
    kos = f"{program} --data-dir {shlex.quote(str(home))}"
    for command, what in (
        (f'{kos} search "who is on call for the gateways?"', "ask it something"),
        (f"{kos} up", "the Dagster UI with the lineage, REST and MCP, and a watched vault"),
        (f"{kos} quarantine", "what was wrong with the nasty files, and how to mend it"),
        (f"{program} --vault ~/notes up", "your own vault (no file is touched before `kos init`)"),
    ):
        out.print(f"  {command}\n      {what}", markup=False)
