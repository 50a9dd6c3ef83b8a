"""The fences of docs/architecture.md that an import linter cannot see, and docs that must agree with the code."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest
import typer

from kos_assets.cli.app import app
from kos_assets.settings import Settings

ROOT = Path(__file__).parent.parent
SOURCES = sorted(path for room in ("kos_assets", "sensors") for path in (ROOT / room).rglob("*.py"))
MOST_LINES = 400
MOST_FUNCTION_LINES = 50
LAZY = {"great_expectations", "igraph", "leidenalg", "anthropic", "ollama", "onnxruntime"}
_SQL = re.compile(r"\b(select\s.+\sfrom|insert\s+into|update\s+\w+(\.\w+)?\s+set|delete\s+from)\s", re.I | re.S)


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_files_and_functions_are_short_and_explained(path: Path) -> None:
    """House rules 10 and 12: under 400 lines, functions under 50, a docstring that says what belongs in the file."""
    text = path.read_text("utf-8")
    assert text.count("\n") <= MOST_LINES
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "no module docstring"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= MOST_FUNCTION_LINES, f"{node.name} has {length} lines"


def _outside_the_store() -> list[Path]:
    allowed = {"kos_assets/testing.py", "kos_assets/checks.py"}
    return [p for p in SOURCES if "kos_assets/store/" not in _name(p) and _name(p) not in allowed]


@pytest.mark.parametrize("path", _outside_the_store(), ids=_name)
def test_sql_lives_in_the_store(path: Path) -> None:
    """House rule 3: no statement in a string outside the store (Great Expectations' queries aside)."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "kos" in node.value:
            assert not _SQL.search(node.value), node.value[:80]


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_sql_is_never_built_from_text(path: Path) -> None:
    """House rule 3: no f-string holds a statement."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.JoinedStr):
            text = "".join(
                part.value for part in node.values if isinstance(part, ast.Constant) and isinstance(part.value, str)
            )
            assert not _SQL.search(text), text[:80]


def test_memories_are_named_by_the_gate_s_file_only() -> None:
    """One way in, one way out: `kos.memories` stands in memories.sql and in migrations."""
    naming = [
        _name(path)
        for path in (ROOT / "kos_assets").rglob("*.sql")
        if re.search(r"\bkos\.memories\b", re.sub(r"--[^\n]*", "", path.read_text("utf-8")))
    ]
    assert [name for name in naming if "/migrations/" not in name] == ["kos_assets/store/memories.sql"]
    users = [
        _name(p) for p in SOURCES if re.search(r"store import .*\bmemories\b|store\.memories", p.read_text("utf-8"))
    ]
    assert all(name.startswith(("kos_assets/gate/", "kos_assets/store/")) for name in users), users


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_heavy_libraries_load_where_they_work(path: Path) -> None:
    """House rule 7: imported inside functions, never at module level."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            assert not LAZY.intersection(name.split(".")[0] for name in names), ast.unparse(node)


def test_the_domain_has_no_clock_no_chance_and_no_io() -> None:
    """House rule 2: time, randomness and identity are arguments."""
    forbidden = re.compile(
        r"datetime\.now|time\.time\(|uuid4|\brandom\.|(?<![.\w])(?<!def )open\(|\bPath\(|os\.environ"
    )
    for path in (ROOT / "kos_assets" / "domain").glob("*.py"):
        assert not forbidden.search(path.read_text("utf-8")), path.name


def test_only_settings_reads_the_environment() -> None:
    """ARCHITECTURE: one reader of the environment; processes that start others pass theirs on."""
    readers = [_name(p) for p in SOURCES if re.search(r"os\.environ|os\.getenv", p.read_text("utf-8"))]
    allowed = (
        "kos_assets/settings.py",
        "kos_assets/operations/",
        "kos_assets/vault/git.py",  # keeps GIT_* from the git that it starts
        "kos_assets/vault/commit.py",  # the same
        "kos_assets/assets/dbt",  # hands a login to the dbt that it starts
        "kos_assets/checks.py",  # switches off a library's statistics
    )
    assert [name for name in readers if not name.startswith(allowed)] == []


def test_every_setting_is_documented() -> None:
    """House rule 15: docs/settings.md has one row per setting, with its variable and default."""
    text = (ROOT / "docs" / "settings.md").read_text("utf-8")
    missing = [item.name for item in fields(Settings) if f"| `{item.name}` |" not in text]
    assert missing == []
    for item in fields(Settings):
        if "env" in item.metadata:
            assert f"`{item.metadata['env']}`" in text, item.name


def test_every_command_is_documented() -> None:
    """House rule 15: the README's table and the command line name the same commands."""
    group = typer.main.get_command(app)
    commands = set(getattr(group, "commands"))  # noqa: B009 - typer's own group class is not exported
    documented = set(re.findall(r"^\| `kos ([a-z-]+)` \|", (ROOT / "README.md").read_text("utf-8"), re.M))
    assert documented == commands


def test_rules_named_by_tests_exist() -> None:
    """An id in a test's docstring is a rule of docs/spec.md."""
    rules = set(re.findall(r"\*\*([A-Z]\d+)\*\*", (ROOT / "docs" / "spec.md").read_text("utf-8")))
    assert len(rules) > 80
    named = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        named |= set(re.findall(r'"""((?:[A-Z]\d+(?:, | and )?)+):', path.read_text("utf-8")))
    ids = {rule for names in named for rule in re.findall(r"[A-Z]\d+", names)}
    assert ids <= rules, ids - rules


def test_docs_are_finished() -> None:
    """House rule 15: no figure is left to be filled in."""
    for path in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"]:
        assert not re.search(r"@[A-Z]{3,}@", path.read_text("utf-8")), _name(path)


def test_the_project_speaks_of_itself_only() -> None:
    """No path of a machine, and no data of a workplace, in what is committed."""
    suspects = re.compile(r"/(?:home|Users)/(?!me\b)\w+")
    for path in [*SOURCES, *(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "Makefile"]:
        assert not suspects.search(path.read_text("utf-8")), _name(path)
