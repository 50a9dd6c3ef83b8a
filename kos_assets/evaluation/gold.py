"""Gold questions and off-corpus probes from JSON Lines files (T1)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kos_assets.errors import InputError


@dataclass(frozen=True)
class Question:
    """One question. `gold`: paths of notes that answer it; empty for an off-corpus probe. `split`: fit or held_out.

    `near`: a probe that this corpus might well answer, and does not.
    """

    id: str
    query: str
    gold: tuple[str, ...]
    lang: str
    split: str
    near: bool = False


@dataclass(frozen=True)
class QuestionSet:
    """Questions and the hash of the file that they came from."""

    name: str
    sha256: str
    questions: tuple[Question, ...]

    def split(self, name: str) -> tuple[Question, ...]:
        """The questions of one split."""
        return tuple(question for question in self.questions if question.split == name)


def load_questions(path: Path) -> QuestionSet:
    """Read a .jsonl file: id, query, and gold, lang, split if it has them. Raises InputError with the line."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"The question file {path} cannot be read.", why=error.strerror) from error
    questions = []
    for number, line in enumerate(data.decode("utf-8").split("\n"), start=1):
        if line.strip():
            questions.append(_question(line, path, number))
    ids = [question.id for question in questions]
    if len(set(ids)) != len(ids):
        raise InputError(f"{path} uses an id twice.")
    return QuestionSet(path.name, hashlib.sha256(data).hexdigest(), tuple(questions))


def _question(line: str, path: Path, number: int) -> Question:
    try:
        entry: dict[str, Any] = json.loads(line)
        return Question(
            id=str(entry["id"]),
            query=str(entry["query"]),
            gold=tuple(map(str, entry.get("gold", ()))),
            lang=str(entry.get("lang", "und")),
            split=str(entry.get("split", "fit")),
            near=bool(entry.get("near", False)),
        )
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"Line {number} of {path} is not a question.", why=f"{type(error).__name__}: {error}",
            fix='Write {"id": "q1", "query": "...", "gold": ["path.md"]} on one line.',
        ) from error  # fmt: skip


def digest(sets: Sequence[QuestionSet]) -> str:
    """One hash over several sets."""
    return hashlib.sha256("\n".join(item.sha256 for item in sets).encode()).hexdigest()
