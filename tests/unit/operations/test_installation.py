"""Which installations start the embedded server, and which are left as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kos_assets.operations import installation
from kos_assets.settings import Settings


class StartedError(Exception):
    """The embedded server was asked for."""


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(settings: Settings) -> None:
        raise StartedError(settings)

    monkeypatch.setattr(installation, "embedded", refuse)


@pytest.mark.parametrize("role", ["writer", "reader", "auditor", "dbt"])
def test_any_role_dsn_alone_starts_no_server(tmp_path: Path, role: str) -> None:
    """S5: a process that was given one role's DSN and nothing else works on that server, never on a new empty one."""
    given: dict[str, Any] = {f"{role}_dsn": f"postgresql://kos_{role}:x@db/kos"}
    settings = Settings(data_dir=tmp_path, **given)
    with installation.open_installation(settings) as found:
        assert found is settings
    assert list(tmp_path.iterdir()) == []


def test_without_any_dsn_the_embedded_server_is_used(tmp_path: Path) -> None:
    """S1: nothing set means the embedded server; Dagster's own DSN does not change that."""
    settings = Settings(data_dir=tmp_path, dagster_dsn="postgresql://d:x@db/dagster")
    with pytest.raises(StartedError), installation.open_installation(settings):
        pass
