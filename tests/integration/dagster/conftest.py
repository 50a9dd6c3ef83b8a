"""Dagster 1.13 reads pydantic's old attribute when a resource is made; that warning is theirs to mend."""

from __future__ import annotations

import pytest

THEIRS = "ignore:The `__fields__` attribute is deprecated:DeprecationWarning"


def pytest_configure(config: pytest.Config) -> None:
    """Before this folder's modules are imported, which is when resources are made."""
    config.addinivalue_line("filterwarnings", THEIRS)
