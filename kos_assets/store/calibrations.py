"""Statements on the thresholds of confidence (R5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kos_assets.store.database import Row, Session, json
from kos_assets.store.sql import blocks

_SQL = blocks("calibrations")


def record(
    session: Session,
    *,
    model_id: str,
    rule: str,
    weak: float,
    strong: float,
    inputs_hash: str,
    report: Mapping[str, Any],
) -> None:
    """Keep thresholds for a model, with the hash of what they came from and the size of the corpus."""
    session.run(
        _SQL["record"],
        model_id=model_id,
        rule=rule,
        weak=weak,
        strong=strong,
        inputs_hash=inputs_hash,
        report=json(dict(report)),
    )


def known_items(session: Session, limit: int) -> list[Row]:
    """heading and content of a fixed pseudo-random sample of live memories with telling headings."""
    return session.rows(_SQL["known_items"], limit=limit)
