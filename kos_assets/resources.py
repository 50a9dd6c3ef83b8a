"""Dagster resources: each yields a plain object that the rest of the house knows, so that assets see no Dagster type.

    settings   Settings of this process's environment
    store      Store as kos_writer: the pipeline
    facts      Store as kos_dbt: ids, dates, lengths and flags for checks, never text
    embedder   the embedding model, one session per process

Here: making and closing them. Not here: what they do. Heavy libraries load when a run asks for one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import dagster as dg

from kos_assets.inference.embedding import Embedder
from kos_assets.settings import Settings, load
from kos_assets.store.database import Store, role_dsn


class SettingsResource(dg.ConfigurableResource[Settings]):
    """The settings of this process's environment and kos.toml."""

    def create_resource(self, context: dg.InitResourceContext) -> Settings:
        """Read them; ConfigError fails the run with what to mend."""
        del context
        return load()


class StoreResource(dg.ConfigurableResource[Store]):
    """A pool of connections as one role, open for as long as the run."""

    role: str

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Generator[Store, None, None]:
        """The store; its connections close with the run."""
        del context
        with Store(role_dsn(load(), self.role)) as store:
            yield store


class EmbedderResource(dg.ConfigurableResource[Embedder]):
    """The embedding model that inference.toml routes `embed` to."""

    def create_resource(self, context: dg.InitResourceContext) -> Embedder:
        """The process's one embedder."""
        del context
        return process_embedder(load().inference_file)


@cache
def process_embedder(inference_file: Path | None) -> Embedder:
    """One session per process and routing file: loading the model costs 0.6 CPU-seconds. Raises ConfigError."""
    from kos_assets.inference.router import embedder, load_routing

    return embedder(load_routing(inference_file))


def from_environment() -> dict[str, Any]:
    """Resources for definitions: read from the environment when a run starts."""
    return {
        "settings": SettingsResource(),
        "store": StoreResource(role="writer"),
        "facts": StoreResource(role="dbt"),
        "embedder": EmbedderResource(),
    }


@contextmanager
def from_settings(settings: Settings) -> Iterator[Mapping[str, Any]]:
    """The same, bound to settings at hand, for a job that is executed inside this process."""
    with Store(role_dsn(settings, "writer")) as store, Store(role_dsn(settings, "dbt")) as facts:
        embedder = process_embedder(settings.inference_file)
        yield {"settings": settings, "store": store, "facts": facts, "embedder": embedder}
