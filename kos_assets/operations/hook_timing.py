"""How long an agent waits for its hook (W5: well under 100 ms).

Here: the hook's program, run as an agent runs it, on an invented repository. Not here: the program itself.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from kos_assets.operations.agent_hooks import hook_program

_TEXT: Final = "# A plan\n\n" + "One sentence of the plan, as long as sentences are. " * 200
_LARGE: Final = 1 << 20


def hook_times(runs: int) -> dict[str, dict[str, float]]:
    """Wall times in milliseconds (median, p95, most) of `runs` calls each: for a file of 10 kB, one of 1 MB, a file
    that is not mirrored, and of Python starting with nothing to do."""
    with tempfile.TemporaryDirectory(prefix="kos-hook-") as base:
        root, data = Path(base, "repository"), Path(base, "data")
        (root / ".git" / "refs" / "heads").mkdir(parents=True)
        (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (root / ".git" / "refs" / "heads" / "main").write_text("0" * 40 + "\n")
        data.mkdir()
        python = [sys.executable, "-I", "-S", "-X", "utf8"]
        command = [*python, str(hook_program()), "--data-dir", str(data)]
        figures = {"python alone": _times([*python, "-c", "pass"], b"", runs)}
        for label, name, size in (("10 kB", "a.md", len(_TEXT)), ("1 MB", "b.md", _LARGE), ("other", "c.py", 100)):
            text = (_TEXT * (size // len(_TEXT) + 1))[:size]
            (root / name).write_text(text)
            figures[label] = _times(command, _call(root / name, text), runs)
        return figures


def _times(command: list[str], data: bytes, runs: int) -> dict[str, float]:
    taken = []
    for _ in range(runs):
        began = time.perf_counter()
        subprocess.run(command, input=data, capture_output=True, check=True, timeout=60)
        taken.append((time.perf_counter() - began) * 1000)
    taken.sort()
    p95 = taken[min(len(taken) - 1, int(len(taken) * 0.95))]
    return {"median_ms": round(statistics.median(taken), 1), "p95_ms": round(p95, 1), "most_ms": round(taken[-1], 1)}


def _call(path: Path, text: str) -> bytes:
    """As the agent calls: the text stands in the call twice."""
    told = {"filePath": str(path), "content": text, "type": "create"}
    asked = {"file_path": str(path), "content": text}
    call = {"session_id": "measure", "cwd": str(path.parent), "tool_name": "Write", "tool_input": asked}
    return json.dumps(call | {"hook_event_name": "PostToolUse", "tool_response": told}).encode()
