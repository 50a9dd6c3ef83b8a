"""Values through the real columns: homes as ltree (S8), time with its zone (S10), what a memory has (S2)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from kos_assets import testing
from kos_assets.domain.vocabulary import decode_label, home_tree
from kos_assets.store.database import Store

COLUMNS = {
    "memory_id", "namespace", "memory_type", "heading", "content", "summary", "provenance", "confidence", "supersedes",
    "note_id", "author", "home", "event_at", "created_at", "updated_at", "verified_at", "expires_at", "deleted_at",
    "deleted_reason", "content_hash",
}  # fmt: skip
HOMES = [
    "projects/Hütte",
    "日本語/メモ",
    "a b/c-d/e_f",
    "Ärger & Öl",
    "عربي",
    "🚲/Tyre",
    "",
    "x" * 60 + "/y",
    "_000000",
]


@pytest.mark.parametrize("path", HOMES)
def test_a_home_comes_back_from_its_column(shared_desk: Any, path: str) -> None:
    """S8: names with spaces, umlauts or CJK go into an ltree and come out as they were, the readable path beside it."""
    memory = shared_desk.memory(home_path=path)
    statement = "select home::text as home, home_path from kos.live_memories where memory_id = %(id)s"
    with (
        testing.store(shared_desk.settings, "reader") as reader,
        reader.transaction(namespaces=("global",)) as session,
    ):
        row = session.one(statement, id=memory)
    assert row is not None
    assert "/".join(decode_label(label) for label in row["home"].split(".")) == path == row["home_path"]


def test_any_home_is_an_ltree_and_reversible(shared_desk: Any) -> None:
    """S8: any folder name at all is accepted by the column's type, with its order and depth, and comes back."""
    names = st.text(st.characters(exclude_characters="/\x00", exclude_categories=["Cs"]), min_size=1, max_size=30)

    @examples(max_examples=60)
    @given(st.lists(names, min_size=1, max_size=4))
    def always(parts: list[str]) -> None:
        path = "/".join(parts)
        [(home, depth, below)] = shared_desk.owner(
            "select %s::ltree::text, nlevel(%s::text::ltree), %s::text::ltree <@ %s::text::ltree",
            home_tree(path), home_tree(path), home_tree(f"{path}/below"), home_tree(path),
        )  # fmt: skip
        assert [decode_label(label) for label in home.split(".")] == parts
        assert (depth, below) == (len(parts), True)

    always()


def test_time_is_aware_and_its_zone_is_kept(desk: Any, reader: Store) -> None:
    """S10: the instant is stored in UTC, the source's zone beside it, and both come back."""
    zones = ["Asia/Kolkata", "America/St_Johns", "Europe/Vienna", "UTC"]
    local = datetime(2026, 3, 29, 2, 30)  # noqa: DTZ001 - the wall clock, put into each zone below
    made = {desk.memory(event_at=local.replace(tzinfo=ZoneInfo(zone)), event_zone=zone): zone for zone in zones}
    fixed = desk.memory(event_at=local.replace(tzinfo=timezone(timedelta(hours=-9, minutes=-30))), event_zone="-09:30")
    with reader.transaction(namespaces=("global",)) as session:
        rows = {
            row["memory_id"]: row
            for row in session.rows("select memory_id, event_at, event_zone from kos.live_memories")
        }
    for memory, zone in made.items():
        assert rows[memory]["event_at"].tzinfo is not None
        assert rows[memory]["event_at"] == local.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
        assert rows[memory]["event_zone"] == zone
    assert rows[fixed]["event_at"].astimezone(UTC) == datetime(2026, 3, 29, 12, 0, tzinfo=UTC)


def test_no_time_column_is_naive(shared_desk: Any) -> None:
    """S10: every column of time in the schema is timestamptz."""
    statement = """
    select table_name, column_name from information_schema.columns
    where table_schema in ('kos', 'kos_marts') and data_type like 'time%% without time zone'
    """
    assert shared_desk.owner(statement) == []


def test_memories_have_what_the_contract_names(shared_desk: Any) -> None:
    """S2: the columns of the table, and `embedding` by that name in the live view, which has none of the retired."""
    statement = "select column_name from information_schema.columns where table_schema = 'kos' and table_name = %s"
    assert {row[0] for row in shared_desk.owner(statement, "memories")} >= COLUMNS
    live = {row[0] for row in shared_desk.owner(statement, "live_memories")}
    assert live >= COLUMNS - {"deleted_at", "deleted_reason"} | {"embedding"}
    assert not live & {"deleted_at", "deleted_reason"}


def test_a_deletion_has_a_reason(shared_desk: Any) -> None:
    """S7: no row is retired without saying why."""
    memory = shared_desk.memory()
    with pytest.raises(Exception, match="deletion_has_reason"):
        shared_desk.owner("update kos.memories set deleted_at = now() where memory_id = %s", memory)
