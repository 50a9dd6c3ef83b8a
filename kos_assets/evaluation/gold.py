"""Gold questions and off-corpus probes from JSON Lines files (T1)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kos_assets.errors import InputError
from kos_assets.evaluation import records

_WHAT = "a question"
_FIX = 'Write {"id": "q1", "query": "...", "gold": ["path.md"]} on one line.'


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
    data = records.read_bytes(path)
    questions = [_question(line, path, number) for number, line in records.lines(data, path)]
    ids = [question.id for question in questions]
    if len(set(ids)) != len(ids):
        raise InputError(f"{path} uses an id twice.")
    return QuestionSet(path.name, hashlib.sha256(data).hexdigest(), tuple(questions))


def _question(line: str, path: Path, number: int) -> Question:
    entry = records.parse(line, path, number, what=_WHAT, fix=_FIX)
    try:
        return Question(
            id=str(entry["id"]),
            query=str(entry["query"]),
            gold=tuple(map(str, entry.get("gold", ()))),
            lang=str(entry.get("lang", "und")),
            split=str(entry.get("split", "fit")),
            near=bool(entry.get("near", False)),
        )
    except KeyError as error:
        raise records.not_a(_WHAT, path, number, why=f"It has no {error}.", fix=_FIX) from error
    except TypeError as error:
        raise records.not_a(_WHAT, path, number, why=f"gold is not a list: {error}", fix=_FIX) from error


def digest(sets: Sequence[QuestionSet]) -> str:
    """One hash over several sets."""
    return hashlib.sha256("\n".join(item.sha256 for item in sets).encode()).hexdigest()
