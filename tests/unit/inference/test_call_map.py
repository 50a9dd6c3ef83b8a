"""docs/llm-call-map.md against the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROVIDERS = "kos_assets/inference/providers/"
RUNTIMES = {"onnxruntime", "ollama", "anthropic", "xllamacpp"}
MODEL_CALLS = {"run", "run_with_iobinding", "embed", "embeddings", "chat", "generate", "create", "parse", "stream"}
PROCESSES = {"Popen", "run", "call", "check_call", "check_output"}
ROW = re.compile(
    r"^\| `(?P<file>[^`]+)` \| `(?P<function>[^`]+)` \| `(?P<call>[^`]+)` \| (?P<task>[^|`]+|`[^`]+`) \|", re.MULTILINE
)


def imports_a_runtime(tree: ast.AST) -> bool:
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.split(".")[0] in RUNTIMES for name in names):
            return True
    return False


def calls(node: ast.AST, wanted: set[str], inside: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """(qualified function, call) for each call of a method that asks a model."""
    for child in ast.iter_child_nodes(node):
        scope = inside
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            scope = (*inside, child.name)
        if isinstance(child, ast.Call) and isinstance(child.func, ast.Attribute) and child.func.attr in wanted:
            yield ".".join(inside), ast.unparse(child.func)
        yield from calls(child, wanted, scope)


def code_sites() -> set[tuple[str, str, str]]:
    """Calls of models, and processes that a provider starts: a command-line client is a model too."""
    found = set()
    for path in sorted((ROOT / "kos_assets").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        wanted = MODEL_CALLS if imports_a_runtime(tree) else set()
        if name.startswith(PROVIDERS):
            wanted = wanted | PROCESSES
        found |= {(name, function, call) for function, call in calls(tree, wanted)}
    return found


def test_call_map_lists_each_call_site() -> None:
    """E4: the map and the code name the same calls."""
    text = (ROOT / "docs" / "llm-call-map.md").read_text(encoding="utf-8")
    rows = {(row["file"], row["function"], row["call"]) for row in ROW.finditer(text)}
    assert rows == code_sites()


def test_runtimes_are_imported_by_providers_only() -> None:
    """E4: a model can be called nowhere else, so the map is complete."""
    outside = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "kos_assets").rglob("*.py")
        if "inference/providers" not in path.as_posix()
        and imports_a_runtime(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert outside == []


def test_tasks_of_the_map_are_routed() -> None:
    """E4: the map covers each task that inference.toml knows, and no other."""
    from kos_assets.inference.routing import MODEL_TASKS, TASKS

    text = (ROOT / "docs" / "llm-call-map.md").read_text(encoding="utf-8")
    assert {row["task"].strip("`") for row in ROW.finditer(text)} == {"embed", "all others"}
    listed = re.findall(r"^\| `(\w+)` \| .+ \| .+ \|$", text, re.MULTILINE)
    assert sorted(listed) == sorted(MODEL_TASKS)
    assert set(TASKS) == {"embed", *MODEL_TASKS}
