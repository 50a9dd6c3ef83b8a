"""The demo vault, ingested once for the module's tests with the real embedder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from kos_assets import testing
from kos_assets.inference.embedding import Embedder
from kos_assets.ingest.pipeline import ingest_vault
from kos_assets.operations.demo_home import lay_out, run_mirrors
from kos_assets.recall import Recall
from kos_assets.settings import Settings
from kos_assets.store.database import Store

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
    laid = lay_out(tmp_path_factory.mktemp("demo") / "home")
    run_mirrors(laid)
    base = replace(laid, read_namespaces=EVERYTHING)
    with (
        postgres.database(base) as settings,
        testing.store(settings, "writer") as writer,
        testing.store(settings, "reader") as reader,
    ):
        ingest_vault(writer, embedder, replace(settings))
        recall = Recall(reader, embedder)
        yield Ingested(settings, writer, reader, recall)
        recall.close()
