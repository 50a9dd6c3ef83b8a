"""Reading what people wrote for the evaluations: text and JSON Lines files, with file and line of whatever is wrong.

Not here: what the fields mean (gold.py, retrieval.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kos_assets.errors import InputError


def read_bytes(path: Path) -> bytes:
    """A file's bytes. Raises InputError when it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read.", why=error.strerror) from error


def lines(data: bytes, path: Path) -> Iterator[tuple[int, str]]:
    """(number from 1, text) of every line that is not blank. Raises InputError naming the line that is not UTF-8."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"Line {number} of {path} is not UTF-8.", why=error.reason, fix="Save the file as UTF-8."
        ) from error
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line


def parse(line: str, path: Path, number: int, *, what: str, fix: str) -> dict[str, Any]:
    """The JSON object of one line. Raises InputError with file and line: "Line 3 of q.jsonl is not `what`."."""
    try:
        value = json.loads(line)
    except ValueError as error:
        raise not_a(what, path, number, why=f"{type(error).__name__}: {error}", fix=fix) from error
    if not isinstance(value, dict):
        raise not_a(what, path, number, why="It is not a JSON object.", fix=fix)
    return value


def not_a(what: str, path: Path, number: int, *, why: str, fix: str) -> InputError:
    """The error of a line that is not what the file should hold."""
    return InputError(f"Line {number} of {path} is not {what}.", why=why, fix=fix)
