"""What a hygiene step tells."""

from __future__ import annotations

from uuid import UUID

from kos_assets.hygiene.report import Report
from kos_assets.hygiene.sweep import STEPS

IDS = tuple(UUID(int=number) for number in range(12))


def test_an_asset_shows_counts_and_samples() -> None:
    """H3: counts as asset metadata, at most ten ids of a kind, and none where nothing happened."""
    shown = Report({"opened": 12, "closed": 0}, {"opened": IDS, "closed": ()}).metadata()
    assert shown == {"opened": 12, "closed": 0, "opened_ids": [str(one) for one in IDS[:10]]}


def test_the_command_gets_every_id() -> None:
    """H1: nothing is left out of what a run would do."""
    told = Report({"opened": 12}, {"opened": IDS, "closed": ()}).as_dict()
    assert told == {"counts": {"opened": 12}, "ids": {"opened": [str(one) for one in IDS], "closed": []}}


def test_the_order_is_fixed() -> None:
    """H1-H3: expired before superseded before stale."""
    assert STEPS == ("expire", "compact", "stale")
