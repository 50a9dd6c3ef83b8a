"""Which mirrors are due."""

from __future__ import annotations

from kos_assets.domain.mirrors import MirrorSettings
from sensors.mirrors import Cursor, asked, due

MIRRORS = {
    "mail": MirrorSettings("mail", "mail", every_minutes=15),
    "agents": MirrorSettings("agents", "agents", every_minutes=60),
}
NOW = 1_780_000_000.0


def names(cursor: Cursor, now: float, *, spooled_at: float = 0.0) -> list[str]:
    """Due mirrors by name."""
    return [item.name for item in due(MIRRORS, cursor, now, spooled_at=spooled_at)]


def test_each_mirror_has_its_own_interval() -> None:
    """D2: at once when never asked for, then every so many minutes."""
    assert names(Cursor(0, {}), NOW) == ["mail", "agents"]
    cursor = asked(Cursor(0, {}), list(MIRRORS.values()), NOW, MIRRORS)
    assert names(cursor, NOW + 899) == []
    assert names(cursor, NOW + 900) == ["mail"]
    assert names(cursor, NOW + 3600) == ["mail", "agents"]


def test_what_a_hook_left_does_not_wait() -> None:
    """W5: the spool makes the agents' mirror due."""
    cursor = asked(Cursor(0, {}), list(MIRRORS.values()), NOW, MIRRORS)
    assert names(cursor, NOW + 15, spooled_at=NOW + 10) == ["agents"]
    again = asked(cursor, [MIRRORS["agents"]], NOW + 15, MIRRORS)
    assert names(again, NOW + 30, spooled_at=NOW + 10) == [], "what a run left there is no reason for another"


def test_a_clock_that_went_back_stops_nothing() -> None:
    """Promise 4."""
    cursor = asked(Cursor(0, {}), list(MIRRORS.values()), NOW, MIRRORS)
    assert names(cursor, NOW - 10) == ["mail", "agents"]


def test_the_cursor_is_small_and_survives_nonsense() -> None:
    """House rule 6: what is not set up any more leaves it; text of another version is a fresh start."""
    cursor = asked(Cursor(6, {"gone": NOW}), [MIRRORS["mail"]], NOW, MIRRORS)
    assert cursor == Cursor(7, {"mail": NOW})
    assert Cursor.read(cursor.write()) == cursor
    assert [Cursor.read(text) for text in (None, "x", "[]", '{"sequence": 1}')] == [Cursor(0, {})] * 4
