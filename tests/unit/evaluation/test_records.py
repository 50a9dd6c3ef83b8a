"""Question files and BEIR folders that people got wrong: the file and the line are named, nothing is a traceback."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kos_assets.errors import InputError
from kos_assets.evaluation.gold import load_questions
from kos_assets.evaluation.retrieval import load_benchmark

DOCUMENT = b'{"_id": "d1", "text": "one"}\n'
QUERY = b'{"_id": "q1", "text": "which?"}\n'
QRELS = b"query-id\tcorpus-id\tscore\nq1\td1\t1\n"


def beir(folder: Path, **files: bytes) -> Path:
    """A folder in the BEIR layout, with some files replaced."""
    contents = {"corpus": DOCUMENT, "queries": QUERY, "qrels": QRELS} | files
    for name, data in contents.items():
        (folder / f"{name}.{'tsv' if name == 'qrels' else 'jsonl'}").write_bytes(data)
    return folder


def test_a_folder_in_the_layout_is_read(tmp_path: Path) -> None:
    """T5: the head line of qrels is no judgement, a score of 0 neither; ids are text whatever JSON made of them."""
    queries = QUERY + b'\n{"_id": 2, "text": "a number"}\n{"_id": "q3", "text": "not judged"}\n'
    qrels = QRELS + b"2\td1\t2\r\nq1\td0\t0\nq1\td9\t\xc2\xb2\n"
    found = load_benchmark(beir(tmp_path, queries=queries, qrels=qrels))
    assert [record["_id"] for record in found.queries] == ["q1", "2"]
    assert found.qrels == {"q1": frozenset({"d1"}), "2": frozenset({"d1"})}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"corpus": DOCUMENT + b"{\n"}, r"Line 2 of .*corpus\.jsonl is not a document"),
        ({"corpus": DOCUMENT + b"\n[1]\n"}, r"Line 3 of .*corpus\.jsonl is not a document"),
        ({"corpus": DOCUMENT + b'{"_id": "d2"}\n'}, r"Line 2 of .*corpus\.jsonl(.|\n)*no text"),
        ({"corpus": b'{"text": "x"}\n'}, r"Line 1 of .*corpus\.jsonl(.|\n)*no _id"),
        ({"corpus": DOCUMENT + b'{"_id": "d2", "text": null}\n'}, r"Line 2 of .*corpus\.jsonl(.|\n)*no text"),
        ({"corpus": b"\n"}, r"corpus\.jsonl has no document"),
        ({"queries": QUERY + b'{"_id": "q2"}\n'}, r"Line 2 of .*queries\.jsonl is not a query"),
        ({"queries": QUERY + b'{"_id": "q2", "text": "caf\xe9"}\n'}, r"Line 2 of .*queries\.jsonl is not UTF-8"),
        ({"qrels": QRELS + b"q1\td\xe9\t1\n"}, r"Line 3 of .*qrels\.tsv is not UTF-8"),
        ({"qrels": b"other\td1\t1\n"}, r"No query of .*queries\.jsonl has a relevant document in .*qrels\.tsv"),
        ({"qrels": b"q1 d1 1\n"}, r"No query of .*queries\.jsonl"),
    ],
)
def test_a_folder_that_is_wrong_says_where(tmp_path: Path, files: dict[str, bytes], said: str) -> None:
    """T5: a file with a wrong line is refused with its name and the line's number, before anything is ingested."""
    with pytest.raises(InputError) as error:
        load_benchmark(beir(tmp_path, **files))
    assert re.search(said, str(error.value)), error.value


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"id": "a", "query": "x"}\n{"id": "b", "query": "caf\xe9"}\n', r"Line 2 of .*q\.jsonl is not UTF-8"),
        (b'{"id": "a", "query": "x"}\n\n{"id": "b"\n', r"Line 3 of .*q\.jsonl is not a question"),
        (b'{"id": "a"}\n', r"Line 1 of .*q\.jsonl(.|\n)*no 'query'"),
        (b'"id"\n', r"Line 1 of .*q\.jsonl is not a question"),
        (b'{"id": "a", "query": "x", "gold": 3}\n', r"Line 1 of .*q\.jsonl(.|\n)*gold is not a list"),
    ],
)
def test_a_question_file_that_is_wrong_says_where(tmp_path: Path, data: bytes, said: str) -> None:
    """T1: the file and the line are named."""
    path = tmp_path / "q.jsonl"
    path.write_bytes(data)
    with pytest.raises(InputError) as error:
        load_questions(path)
    assert re.search(said, str(error.value)), error.value


def test_a_question_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    """T1: also a folder in a file's place."""
    for path in (tmp_path / "missing.jsonl", tmp_path):
        with pytest.raises(InputError, match="cannot be read"):
            load_questions(path)


def test_questions_are_read(tmp_path: Path) -> None:
    """T1: blank lines do not count."""
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps({"id": 1, "query": "où?", "gold": ["a.md"]}, ensure_ascii=False) + "\n\n", "utf-8")
    [question] = load_questions(path).questions
    assert (question.id, question.query, question.gold, question.split) == ("1", "où?", ("a.md",), "fit")
