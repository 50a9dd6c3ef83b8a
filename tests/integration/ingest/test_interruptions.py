"""House rule 5: kill ingest at any line, run it again, same store; run two at once, same store."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kos_assets.gate import index as gate_index
from kos_assets.ingest import chunks, embeddings, memories, notes
from kos_assets.store import chunks as store_chunks
from kos_assets.store import edges as store_edges
from kos_assets.store import embeddings as store_embeddings
from kos_assets.store import memories as store_memories
from kos_assets.store import notes as store_notes
from kos_assets.store.database import role_dsn

_FOX = "The quick brown fox jumps over the lazy dog every single day of the whole long year. " * 3


class CutError(Exception):
    """The plug is pulled here."""


def _fill(place: Any) -> None:
    for number in range(7):
        place.write(f"f{number % 3}/n{number}.md", f"Note {number} links [[n{(number + 1) % 7}]] and [[Otter]].\n")
    place.write("same.md", "Note 1 links [[n2]] and [[Otter]].\n")
    place.write("fox.md", f"{_FOX}Port 8080.\n")
    place.write("ox.md", f"---\naliases: [Otter]\n---\n{_FOX}Port 9090.\n")
    place.write("broken.md", "---\nx: [1\n---\nBody.\n")
    place.write("long.md", "\n\n".join(f"## P{part}\n\n" + f"Words of {part} here. " * 60 for part in range(5)))


def _change(place: Any) -> None:
    place.write("f0/n0.md", "Note 1 links [[n2]]   and [[Otter]].\n", at=1_780_000_100)
    (place.root / "same.md").unlink()
    (place.root / "fox.md").rename(place.root / "f1/fox.md")
    place.write("broken.md", "Mended [[fox]].\n", at=1_780_000_100)
    place.write("new.md", "A new one [[long]].\n", at=1_780_000_100)


_STEPS = [
    (notes, "_read"), (notes, "write_stamp"), (store_notes, "upsert"), (store_notes, "replace_links"),
    (store_notes, "mark_deleted"), (store_notes, "quarantine"), (notes, "_write_sidecar"), (memories, "write_notes"),
    (store_memories, "insert"), (store_memories, "record_history"), (store_notes, "mark_synced"),
    (store_edges, "replace_outgoing"), (store_notes, "set_links_hash"), (gate_index, "_chunk_rows"),
    (store_chunks, "replace"), (store_chunks, "record_state"), (store_embeddings, "delete_stale"),
    (store_embeddings, "insert"), (store_edges, "relink_similar"), (store_embeddings, "mark_linked"),
]  # fmt: skip


def test_a_failure_at_any_step_changes_no_outcome(
    adopted: Any, fresh: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """House rule 5, V2: each step fails before and after its work, on a first scan and on changes; then a rerun."""
    for module in (memories, chunks, embeddings):
        for name in ("_BATCH", "_LINK_BATCH"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, 3)
    _fill(adopted)
    shutil.copytree(adopted.root, tmp_path / "first")
    adopted.ingest()
    _change(adopted)
    adopted.ingest()
    expected = adopted.state()
    with fresh(None) as cut:
        for number, (module, name) in enumerate(_STEPS):
            root = tmp_path / f"cut{number}"
            shutil.copytree(tmp_path / "first", root)
            place = cut.at(root)
            reached = [_ingest_cut_at(place, module, name, calls, after=False) for calls in (1, 2)]
            place.ingest()
            _change(place)
            reached.append(_ingest_cut_at(place, module, name, 1, after=True))
            place.ingest()
            assert any(reached), name
            assert place.state() == expected, name


def _ingest_cut_at(place: Any, module: Any, name: str, calls: int, *, after: bool) -> bool:
    """Ingest with one call of a function cut off; whether it came to that."""
    real, seen = getattr(module, name), []

    def cut(*values: Any, **named: Any) -> Any:
        seen.append(1)
        if len(seen) != calls:
            return real(*values, **named)
        if after:
            real(*values, **named)
        raise CutError(name)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, name, cut)
        try:
            place.ingest()
        except CutError:
            return True
    return False


_PROGRAM = """
import sys
from dataclasses import replace
from pathlib import Path
from kos_assets.inference import router
from kos_assets.ingest import embeddings
from kos_assets.ingest.pipeline import ingest_vault
from kos_assets.settings import Settings
from kos_assets.store.database import Store
embeddings._BATCH = 4
settings = Settings(data_dir=Path(sys.argv[3]), vault=Path(sys.argv[1]), writer_dsn=sys.argv[2], stamp_quiet_s=0)
with Store(settings.writer_dsn) as store:
    print("ready", flush=True)
    ingest_vault(store, router.embedder(router.load_routing(None)), settings)
print("done", flush=True)
"""


def _process(place: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _PROGRAM, str(place.root), role_dsn(place.settings, "writer"), str(place.root)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONWARNINGS": "default"})


def _without_time(state: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: rows for name, rows in state.items() if name != "embeddings"} | {
        "embeddings": [row[:-1] for row in state["embeddings"]]  # a model's last bits depend on the batch
    }


def test_kill_9_at_any_moment_changes_no_outcome(adopted: Any, fresh: Callable[..., Any], tmp_path: Path) -> None:
    """House rule 5: a real process with the real model, killed four times on its way, then left to finish."""
    _fill(adopted)
    shutil.copytree(adopted.root, tmp_path / "killed")
    first = _process(adopted)
    assert first.stdout is not None
    assert first.stdout.readline() == "ready\n"
    started = time.monotonic()
    assert first.wait(60) == 0
    took = time.monotonic() - started
    with fresh(tmp_path / "killed") as killed:
        chance, died = random.Random(7), 0
        for share in (0.1, 0.3, 0.6, 0.9):
            process = _process(killed)
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(took * share * chance.uniform(0.7, 1.1))
            process.send_signal(signal.SIGKILL)
            died += process.wait(30) == -signal.SIGKILL
            process.stdout.close()
        last = _process(killed)
        assert last.wait(60) == 0
        assert _without_time(killed.state()) == _without_time(adopted.state())
    for process in (first, last):
        assert process.stdout is not None
        process.stdout.close()
    assert died >= 2
    assert not list(adopted.root.rglob("*.tmp"))


def test_two_at_once_change_no_outcome(adopted: Any, fresh: Callable[..., Any], tmp_path: Path) -> None:
    """House rule 5: two runs on one vault and one store, started together, first on a new vault and then on changes."""
    _fill(adopted)
    shutil.copytree(adopted.root, tmp_path / "both")
    adopted.ingest()
    _change(adopted)
    adopted.ingest()
    failures: list[Exception] = []
    with fresh(tmp_path / "both") as both:

        def run(start: threading.Barrier) -> None:
            start.wait()
            try:
                both.ingest()
            except Exception as error:
                failures.append(error)

        for change in (None, _change):
            if change:
                change(both)
            start = threading.Barrier(3)
            threads = [threading.Thread(target=run, args=(start,)) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert failures == []
        assert both.state() == adopted.state()
