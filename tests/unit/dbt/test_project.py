"""The dbt project as files: its manifest, and that every model is described, keyed and tested."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kos_assets.assets import dbt_manifest
from kos_assets.assets.dbt_manifest import dbt_environment, prepare_manifest, project_dir, project_hash
from kos_assets.errors import OperationError

TEXT = {"heading", "content", "summary", "query", "body", "title", "path", "reason", "fix", "term", "author"}


@pytest.fixture(scope="module")
def manifest(work_dir: Path) -> Mapping[str, Any]:
    """The project's manifest."""
    loaded: Mapping[str, Any] = json.loads(prepare_manifest(work_dir).read_text("utf-8"))
    return loaded


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the project that a test may spoil."""
    return Path(shutil.copytree(project_dir(), tmp_path / "project"))


def _models(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {node["name"]: node for node in manifest["nodes"].values() if node["resource_type"] == "model"}


def test_every_model_and_column_is_described(manifest: Mapping[str, Any]) -> None:
    """D6: docs for every model, column and source."""
    for node in (*_models(manifest).values(), *manifest["sources"].values()):
        assert node["description"].strip(), node["name"]
        assert node["columns"], node["name"]
        for column in node["columns"].values():
            assert column["description"].strip(), (node["name"], column["name"])


def test_every_model_has_a_unit_test(manifest: Mapping[str, Any]) -> None:
    """D6: one unit test per model at least."""
    assert {test["model"] for test in manifest["unit_tests"].values()} == set(_models(manifest))


def test_every_mart_has_a_tested_key(manifest: Mapping[str, Any]) -> None:
    """D6: a mart's rows are told apart by a tested key."""
    keyed = set()
    for node in manifest["nodes"].values():
        if node["resource_type"] == "test" and node["test_metadata"]["name"] in {"unique", "unique_together"}:
            keyed.add(node["attached_node"])
    marts = {node["unique_id"] for node in _models(manifest).values() if "marts" in node["fqn"]}
    assert marts
    assert marts <= keyed


def test_no_model_has_a_column_of_text(manifest: Mapping[str, Any]) -> None:
    """S12: marts hold ids, namespaces and numbers."""
    for node in _models(manifest).values():
        assert not TEXT & set(node["columns"]), node["name"]


def test_only_aggregates_are_granted(manifest: Mapping[str, Any]) -> None:
    """S12: the serving role reads aggregates; a model with ids of memories is granted to nobody."""
    for name, node in _models(manifest).items():
        grants = node["config"]["grants"]
        has_ids = any(column.endswith("_id") for column in node["columns"])
        assert not (grants and has_ids), name
        assert grants in ({}, {"select": ["kos_reader"]}), name


def test_nothing_is_downloaded(manifest: Mapping[str, Any]) -> None:
    """E8: no packages, no anonymous statistics."""
    assert not (project_dir() / "packages.yml").exists()
    assert not (project_dir() / "dependencies.yml").exists()
    assert manifest["metadata"]["send_anonymous_usage_stats"] is False


def test_manifest_is_parsed_once(work_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """D6: the same project is not parsed again."""

    def refuse(project: Path, target: Path) -> None:
        raise AssertionError("parsed again")

    monkeypatch.setattr(dbt_manifest, "_parse", refuse)
    assert prepare_manifest(work_dir).is_file()


def test_hash_follows_content_and_not_leftovers(copy: Path) -> None:
    """D6: any file of the project changes the hash; what dbt leaves behind does not."""
    before = project_hash(copy)
    (copy / "target").mkdir()
    (copy / "target" / "manifest.json").write_text("{}")
    (copy / ".user.yml").write_text("id: x")
    assert project_hash(copy) == before
    model = copy / "models" / "marts" / "staleness.sql"
    model.write_text(model.read_text() + "\n-- changed\n")
    assert project_hash(copy) != before


def test_parsing_writes_nothing_into_the_project(work_dir: Path) -> None:
    """D6: a read-only checkout works."""
    assert work_dir.is_dir()
    assert not {"target", "logs", ".user.yml"} & {path.name for path in project_dir().iterdir()}


def test_broken_project_says_where(copy: Path, tmp_path: Path) -> None:
    """House rule 8: dbt's own last lines are in the error, and no half manifest is left."""
    (copy / "models" / "marts" / "staleness.sql").write_text("select {{ ref('no_such_model') }}")
    with pytest.raises(OperationError) as failure:
        prepare_manifest(tmp_path / "work", copy)
    assert "no_such_model" in str(failure.value)
    assert list((tmp_path / "work" / "manifests").iterdir()) == []


def test_two_at_once_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """D3: the first rename wins, the other takes what it finds."""
    barrier = threading.Barrier(2, timeout=10)

    def parse(project: Path, target: Path) -> None:
        (target / "manifest.json").write_text("{}")
        barrier.wait()

    monkeypatch.setattr(dbt_manifest, "_parse", parse)
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(prepare_manifest(tmp_path))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2
    assert found[0] == found[1]
    assert [path.name for path in (tmp_path / "manifests").iterdir()] == [found[0].parent.name]


def test_password_is_a_secret_to_dbt() -> None:
    """P7: dbt masks a variable of that prefix in its logs and keeps it out of its files."""
    environment = dbt_environment({"host": "h", "port": 1, "user": "u", "password": "pw", "dbname": "d"})
    assert [name for name, value in environment.items() if value == "pw"] == ["DBT_ENV_SECRET_KOS_PASSWORD"]
