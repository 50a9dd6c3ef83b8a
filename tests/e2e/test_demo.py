"""`kos demo` as a person has it: one command from an empty directory to answers, then the commands that it names."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import kos_assets.demo

QUESTIONS = Path(kos_assets.demo.__file__).parent / "questions.toml"
LEAVE = "What is our policy on parental leave?"
DECISION = "Why did we choose TimescaleDB and not InfluxDB?"


def kos(home: Path, *arguments: str, seconds: float) -> str:
    """What a `kos` process says on stdout, with nothing of this process's settings; it must end well."""
    dropped = ("KOS_", "DAGSTER_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    done = subprocess.run(
        [sys.executable, "-m", "kos_assets.cli", *arguments],
        env=kept | {"KOS_DATA_DIR": str(home / "data")},
        cwd=home,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, f"{arguments} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout


def answers(said: str, questions: list[str]) -> dict[str, tuple[str, list[str]]]:
    """Confidence and index lines by question, as the demo printed them."""
    lines = said.splitlines()
    found = {}
    for question in questions:
        [start] = [number for number, line in enumerate(lines) if line.startswith(question)]
        block = lines[start + 1 :]
        confidence = block[0].strip().partition(" · ")[0]
        rows = [line.strip() for line in block[1:4] if line.startswith("  [")]
        found[question] = (confidence, rows)
    return found


def test_the_demo_answers_its_questions_and_stays_usable(tmp_path: Path) -> None:
    """P1: one command, exit 0, every check passes, eight answers of which one is an honest none; then kos works on it.

    The code it runs is compiled afresh where a checkout has no bytecode: PYTHONDONTWRITEBYTECODE is not set.
    """
    questions = [str(entry["text"]) for entry in tomllib.loads(QUESTIONS.read_text("utf-8"))["question"]]
    assert len(questions) == 8
    said = kos(tmp_path, "demo", seconds=400)
    assert "FAILED" not in said
    checks = re.search(r"(\d+) checks passed, (\d+) did not", said)
    assert checks, said
    assert int(checks[1]) > 50
    assert checks[2] == "0", said
    found = answers(said, questions)
    assert {confidence for confidence, _ in found.values()} <= {"strong", "weak", "none"}
    assert [question for question, (confidence, _) in found.items() if confidence == "none"] == [LEAVE]
    assert all(rows for question, (_, rows) in found.items() if question != LEAVE), found
    assert "TimescaleDB rather than InfluxDB" in found[DECISION][1][0]

    demo = ["--data-dir", str(tmp_path / "data" / "demo")]
    hits = [line for line in kos(tmp_path, *demo, "search", DECISION, seconds=60).splitlines() if line.startswith("[")]
    assert hits
    assert "TimescaleDB rather than InfluxDB" in hits[0]
    accounting = json.loads(kos(tmp_path, *demo, "status", "--json", seconds=60))
    assert accounting["balanced"] is True
    left = [path.name for path in tmp_path.iterdir()]
    assert left == ["data"], "the demo wrote beside its data directory"
