"""What commands begin with: settings from flags and environment, an open installation, the embedder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from kos_assets import settings as settings_module
from kos_assets.inference.embedding import Embedder
from kos_assets.settings import Settings
from kos_assets.store.database import Store, role_dsn


def settings_of(context: typer.Context, **overrides: Any) -> Settings:
    """Settings with the root options and a command's own flags on top."""
    given = {**(context.obj or {}), **{name: value for name, value in overrides.items() if value is not None}}
    return settings_module.load(**given)


@contextmanager
def installation(settings: Settings, *, apply_migrations: bool = True) -> Iterator[Settings]:
    """The open installation: the embedded server started if none is set."""
    from kos_assets.operations.installation import open_installation

    with open_installation(settings, apply_migrations=apply_migrations) as found:
        yield found


@contextmanager
def store(settings: Settings, role: str) -> Iterator[Store]:
    """A store as one role."""
    with Store(role_dsn(settings, role)) as opened:
        yield opened


def embedder_of(settings: Settings) -> Embedder:
    """The routed embedder."""
    from kos_assets.inference import router

    return router.embedder(router.load_routing(settings.inference_file))
