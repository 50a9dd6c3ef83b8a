"""The demo vault, ingested once for the module's tests with the real embedder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import kos_assets.demo
from kos_assets import testing
from kos_assets.inference.embedding import Embedder
from kos_assets.ingest.pipeline import ingest_vault
from kos_assets.recall import Recall
from kos_assets.settings import Settings
from kos_assets.store.database import Store

DEMO = Path(kos_assets.demo.__file__).parent
EVERYTHING = ("global", "shared:owner", "agent:scribe")


@dataclass(frozen=True)
class Ingested:
    """A store that holds the demo vault."""

    settings: Settings
    writer: Store
    reader: Store
    recall: Recall


@pytest.fixture(scope="session")
def demo(
    postgres: testing.TestServer, embedder: Embedder, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ingested]:
    """Read it, do not change it: the whole session shares it."""
    vault = tmp_path_factory.mktemp("demo") / "vault"
    shutil.copytree(DEMO / "vault", vault)
    folders = {"agents": "agent:scribe", "mail": "shared:owner"}
    base = Settings(data_dir=vault.parent / "data", vault=vault, namespace_folders=folders, read_namespaces=EVERYTHING)
    with (
        postgres.database(base) as settings,
        testing.store(settings, "writer") as writer,
        testing.store(settings, "reader") as reader,
    ):
        ingest_vault(writer, embedder, replace(settings))
        recall = Recall(reader, embedder)
        yield Ingested(settings, writer, reader, recall)
        recall.close()
