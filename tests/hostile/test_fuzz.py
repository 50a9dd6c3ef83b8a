"""Fuzzing finds nothing in the parsers within a few seconds, and does find what is there to be found."""

from __future__ import annotations

import random
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from kos_assets.cli import fuzz as command
from kos_assets.errors import InputError
from kos_assets.operations import fuzz
from kos_assets.operations.fuzz_seeds import SEEDS, TOKENS

SECONDS = 2.0
SEED = 20260304


def _targets() -> list[Any]:
    """Every parser that `kos fuzz` knows."""
    return list(fuzz.targets())


@pytest.mark.parametrize("target", _targets())
def test_nothing_crashes_and_nothing_hangs(target: str, tmp_path: Path) -> None:
    """V1, V4, W3, W7: a bounded run of `kos fuzz`; a longer one is in docs/vault.md."""
    report = fuzz.fuzz(target, seconds=SECONDS, seed=SEED, folder=tmp_path / "found")
    assert report.findings == ()
    assert report.inputs > 100
    assert not (tmp_path / "found").exists()


def test_the_seeds_are_read_as_they_are_meant() -> None:
    """Every seed of notes gives a note; what is mutated is worth mutating."""
    for name in ("frontmatter", "markdown"):
        run = fuzz.targets()[name]()
        for data in SEEDS[name]:
            run(data)


@pytest.mark.parametrize("target", fuzz.targets())
def test_a_seed_repeats_a_run(target: str) -> None:
    """The same seed gives the same inputs, another one others, and none is longer than it may be."""

    def some(seed: int) -> list[bytes]:
        stream = fuzz.mutants(SEEDS[target], TOKENS[target], random.Random(seed))
        return [next(stream) for _ in range(300)]

    assert some(1) == some(1)
    assert some(1) != some(2)
    assert max(map(len, some(1))) <= fuzz.MOST_BYTES
    assert len(set(some(1))) > 250


def _crashing(data: bytes) -> None:
    if b"\0" in data:
        raise IndexError("zero")
    if data.count(b"---") > 4:
        raise RecursionError("rules")


def test_crashes_are_kept_once_a_place(tmp_path: Path) -> None:
    """A planted crash is found, its input crashes again, and its traceback lies beside it."""
    report = fuzz.fuzz("frontmatter", seconds=3, seed=1, folder=tmp_path, run=_crashing)
    assert sorted(item.error for item in report.findings) == ["IndexError: zero", "RecursionError: rules"]
    for finding in report.findings:
        assert finding.kind == "crash"
        with pytest.raises((IndexError, RecursionError)):
            _crashing(finding.input_file.read_bytes())
        text = finding.input_file.with_suffix(".txt").read_text("utf-8")
        assert "seed 1" in text
        assert "_crashing" in text
    assert len(list(tmp_path.glob("*.bin"))) == 2
    assert all(finding.times > 1 for finding in report.findings)


def _hanging(data: bytes) -> None:
    if b"\0" in data:
        try:
            re.match(r"(a+)+\Z", "a" * 40 + "b")
        except Exception:  # what a careless parser does: the limit must get through it
            return


def test_hangs_are_cut_short_and_kept(tmp_path: Path) -> None:
    """An endless regular expression is ended by the limit, and the run goes on; the timer is gone afterwards."""
    before = signal.getsignal(signal.SIGPROF)
    started = time.monotonic()
    report = fuzz.fuzz("frontmatter", seconds=1.5, seed=1, folder=tmp_path, limit_s=0.1, run=_hanging)
    assert time.monotonic() - started < 20
    assert [(item.kind, item.times > 1) for item in report.findings] == [("hang", True)]
    assert report.inputs > 10
    assert signal.getsignal(signal.SIGPROF) == before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_an_unknown_target() -> None:
    """It is refused with the names that there are."""
    with pytest.raises(InputError) as caught:
        fuzz.fuzz("sums", seconds=1, seed=1, folder=Path("nowhere"))
    assert "frontmatter" in (caught.value.fix or "")


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says the seed and the inputs a second; it ends with 1 when something was found."""
    app = typer.Typer()
    app.callback()(lambda: None)
    command.register(app)
    run = CliRunner().invoke
    asked = ["fuzz", "frontmatter", "--seconds", "0.3", "--seed", "5", "--out", str(tmp_path / "out")]
    good = run(app, asked)
    assert good.exit_code == 0
    monkeypatch.setattr(fuzz, "_frontmatter", lambda: _crashing)
    bad = run(app, [*asked[:3], "2", *asked[4:]])
    assert bad.exit_code == 1
    assert list((tmp_path / "out").glob("frontmatter-crash-*.bin"))
