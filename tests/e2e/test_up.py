"""`kos up` as a person has it: everything starts, a saved note is recalled, Ctrl-C leaves nobody behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from kos_assets.operations.postgres import free_port

NOTES = {
    "queue.md": "# Queue decision\n\nWe leave Kafka and use Postgres queues.\n",
    "ada.md": "# Ada\n\nAda knows the gateways.\n",
    "index.md": "# Index\n\n- [[Queue decision]]\n- [[Ada]]\n",
}
LOCATIONS = (
    "{ workspaceOrError { ... on Workspace { locationEntries { name locationOrLoadError "
    "{ __typename ... on PythonError { message } } } } } }"
)


@dataclass
class Up:
    """A running `kos up`."""

    process: subprocess.Popen[str]
    vault: Path
    service: str
    dagster: str
    output: Path

    def family(self) -> list[psutil.Process]:
        """Itself and everything below it now; the database is nobody's child."""
        return [psutil.Process(self.process.pid), *psutil.Process(self.process.pid).children(recursive=True)]

    def found_by_words(self, text: str) -> list[str]:
        """Headings of what the running service finds because the words stand in it."""
        answer = httpx.post(f"{self.service}/v1/search", json={"query": text}, timeout=10)
        answer.raise_for_status()
        return [hit["heading"] for hit in answer.json()["results"] if "words" in hit["matched_by"]]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """`kos up` on a vault of three notes with an embedded database of its own."""
    root = tmp_path_factory.mktemp("up")
    vault = root / "vault"
    vault.mkdir()
    for name, text in NOTES.items():
        (vault / name).write_text(text, "utf-8")
    ports = free_port(None), free_port(None)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KOS_", "DAGSTER_"))}
    environment = kept | {
        "KOS_DATA_DIR": str(root / "data"),
        "KOS_VAULT": str(vault),
        "KOS_PORT": str(ports[0]),
        "KOS_DAGSTER_PORT": str(ports[1]),
    }
    output = root / "output"
    with output.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "kos_assets.cli", "up"], env=environment, stdout=file, stderr=file, text=True
        )
        running = Up(process, vault, f"http://127.0.0.1:{ports[0]}", f"http://127.0.0.1:{ports[1]}", output)
        began = time.monotonic()
        try:
            until(lambda: "Ready: service" in output.read_text("utf-8"), process, output, seconds=180)
            print(f"kos up: ready after {time.monotonic() - began:.1f} s")
            yield running
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(timeout=60)


def until(condition: Callable[[], Any], process: subprocess.Popen[str], output: Path, *, seconds: float) -> None:
    """Wait for something that must come while `kos up` runs."""
    deadline = time.monotonic() + seconds
    while not condition():
        said = output.read_text("utf-8")[-3000:]
        assert process.poll() is None, f"kos up ended with {process.returncode}:\n{said}"
        assert time.monotonic() < deadline, f"it did not happen within {seconds} s:\n{said}"
        time.sleep(0.2)


def test_both_locations_are_in_the_ui(up: Up) -> None:
    """P2, D1: the UI answers, and shows the live and the nightly location loaded."""
    assert "Dagster" in httpx.get(up.dagster, timeout=10, follow_redirects=True).text
    entries = httpx.post(f"{up.dagster}/graphql", json={"query": LOCATIONS}, timeout=30).json()
    found = entries["data"]["workspaceOrError"]["locationEntries"]
    assert {entry["name"]: entry["locationOrLoadError"]["__typename"] for entry in found} == {
        "live": "RepositoryLocation",
        "nightly": "RepositoryLocation",
    }


def test_the_vault_is_taken_in_and_an_edit_is_recalled(up: Up) -> None:
    """D2, D4: nobody asks for the first ingest, nor for that of an edit; the new text is found within seconds."""
    until(lambda: "Queue decision" in up.found_by_words("why did we leave Kafka?"), up.process, up.output, seconds=120)
    saved = time.monotonic()
    (up.vault / "ada.md").write_text(NOTES["ada.md"] + "\nShe keeps the axolotl in the server room.\n", "utf-8")
    assert up.found_by_words("axolotl") == []
    until(lambda: "Ada" in up.found_by_words("axolotl"), up.process, up.output, seconds=90)
    print(f"from saving to recallable: {time.monotonic() - saved:.1f} s")


def test_a_second_one_is_refused(up: Up) -> None:
    """P2: two supervisors on one data directory would end each other's runs."""
    environment = {**os.environ, "KOS_DATA_DIR": str(up.output.parent / "data"), "KOS_VAULT": str(up.vault)}
    command = [sys.executable, "-m", "kos_assets.cli", "up"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "running already" in done.stderr + done.stdout


def test_a_crashed_child_starts_again(up: Up) -> None:
    """P2: the service is killed, comes back by itself, and the restart is said."""
    service = next(item for item in up.family() if "serve" in item.cmdline())
    service.kill()
    until(lambda: "starting it again" in up.output.read_text("utf-8"), up.process, up.output, seconds=30)
    until(lambda: answers(f"{up.service}/healthz"), up.process, up.output, seconds=60)
    assert "Queue decision" in up.found_by_words("why did we leave Kafka?")


def test_ctrl_c_leaves_nobody(up: Up) -> None:
    """P2: one Ctrl-C, and every process is gone: run workers, code servers, the database."""
    family = up.family()
    assert len(family) >= 6
    data = str(up.output.parent / "data")
    began = time.monotonic()
    up.process.send_signal(signal.SIGINT)
    assert up.process.wait(timeout=60) == 0
    print(f"kos up: stopped after {time.monotonic() - began:.1f} s")
    assert [process for process in family if process.pid != up.process.pid and alive(process)] == []
    assert [process for process in psutil.process_iter() if data in mentions(process)] == []
    for address in (up.service, up.dagster):
        assert not answers(address)


def answers(address: str) -> bool:
    """Whether anybody answers there."""
    try:
        return httpx.get(address, timeout=5).is_success
    except httpx.HTTPError:
        return False


def alive(process: psutil.Process) -> bool:
    """Whether it still runs; a dead one that a container's first process has not reaped does not count."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def mentions(process: psutil.Process) -> str:
    """What a process says of itself: arguments and working directory."""
    try:
        return f"{process.cmdline()} {process.cwd()}"
    except (psutil.Error, OSError):
        return ""
