"""The vault sensor's decision, as a pure function of what it saw, what the index holds and what the time is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kos_assets.store.database import Row
from kos_assets.vault.problems import Unreadable
from kos_assets.vault.scan import FileStat
from sensors.vault_changes import (
    Cursor,
    Index,
    Look,
    decide,
    differences,
    fingerprint,
    needs_index,
    pauses,
    resting_until,
    retry_pause,
    waiting_for_stamp,
)

NOW = 1_000_000.0
LONG_AGO = 900_000 * 10**9


def look(files: dict[str, tuple[int, int]], *, stamps: bool = True, unreadable: tuple[Unreadable, ...] = ()) -> Look:
    stats = [FileStat(path, size, mtime) for path, (size, mtime) in sorted(files.items())]
    return Look(stats, fingerprint(stats, unreadable), stamps, 10.0)


def rows(files: dict[str, tuple[int, int]], *, stamped: bool = True) -> dict[str, Row]:
    return {path: {"size_bytes": size, "mtime_ns": mtime, "stamped": stamped} for path, (size, mtime) in files.items()}


def index(files: dict[str, tuple[int, int]], *, stamped: bool = True, blocked: tuple[str, ...] = ()) -> Index:
    return Index(rows(files, stamped=stamped), blocked)


def test_a_new_file_asks_for_one_run() -> None:
    """D2: a change asks for a run; the same sight again does not."""
    files = {"a.md": (3, LONG_AGO)}
    first = decide(Cursor(), look(files), index({}), NOW)
    assert first.run
    assert first.cursor.sequence == 1
    again = decide(first.cursor, look(files), index(files), NOW + 5)
    assert not again.run
    assert again.cursor.settled


def test_there_and_back_and_there_again_runs_three_times() -> None:
    """D2: a run key is unique for ever, so A -> B -> A has three of them."""
    a, b = {"n.md": (1, LONG_AGO)}, {"n.md": (2, LONG_AGO)}
    cursor, keys, known = Cursor(), [], index({})
    for files in (a, b, a):
        decision = decide(cursor, look(files), known, NOW)
        assert decision.run
        keys.append(decision.cursor.run_key)
        cursor, known = decision.cursor, index(files)
    assert len(set(keys)) == 3
    assert keys[0].endswith(keys[2].rpartition("-")[2])


def test_an_index_that_is_up_to_date_asks_for_nothing() -> None:
    """D2: after `kos demo` or a run that stamped ids, the files are new to the sensor and not to the index."""
    files = {"a.md": (3, LONG_AGO), "b.md": (4, LONG_AGO)}
    assert not decide(Cursor(), look(files), index(files), NOW).run


def test_a_stamp_does_not_ask_for_another_run() -> None:
    """V2, D2: save, run, rest, run that stamps; then quiet for ever, although the stamp changed size and time."""
    saved = {"a.md": (3, int((NOW - 1) * 10**9))}
    first = decide(Cursor(), look(saved), index({}), NOW)
    resting = decide(first.cursor, look(saved), index(saved, stamped=False), NOW + 5)
    rested = decide(resting.cursor, look(saved), index(saved, stamped=False), NOW + 12)
    assert [first.run, resting.run, rested.run] == [True, False, True]
    stamped = {"a.md": (52, int((NOW + 14) * 10**9))}
    after = decide(rested.cursor, look(stamped), index(stamped), NOW + 17)
    late = decide(after.cursor, look(stamped), index(stamped), NOW + 40)
    assert [after.run, late.run] == [False, False]
    assert late.cursor.settled


def test_a_note_that_cannot_be_stamped_does_not_ask_for_ever() -> None:
    """V2, D2: a read-only file stays without a stamp; one more scan looks at it, then none."""
    files = {"template.md": (3, int((NOW - 1) * 10**9))}
    cursor = decide(Cursor(), look(files), index({}), NOW).cursor
    runs = []
    for second in range(5, 120, 5):
        decision = decide(cursor, look(files), index(files, stamped=False), NOW + second)
        cursor = decision.cursor
        runs.append(decision.run)
    assert sum(runs) == 1


def test_without_consent_nobody_waits_for_a_stamp() -> None:
    """V2: until `kos init` ids are in the sidecar, and no scan is asked for their sake."""
    files = {"a.md": (3, LONG_AGO)}
    assert not decide(Cursor(), look(files, stamps=False), index(files, stamped=False), NOW).run


def test_a_blocked_file_does_not_ask_for_ever() -> None:
    """V4: a file that never gets into the index is asked for once per change of the vault."""
    files = {"binary.md": (9, LONG_AGO), "a.md": (3, LONG_AGO)}
    known = index({"a.md": (3, LONG_AGO)}, blocked=("binary.md",))
    first = decide(Cursor(), look(files), known, NOW)
    assert first.run
    for second in (5, 60, 120):
        assert not decide(first.cursor, look(files), known, NOW + second).run


def test_a_lost_database_is_filled_again() -> None:
    """S1, D3: the vault is unchanged, the index is empty: within a minute somebody notices."""
    files = {"a.md": (3, LONG_AGO)}
    cursor = decide(Cursor(), look(files), index(files), NOW).cursor
    assert not needs_index(cursor, look(files), NOW + 5)
    assert needs_index(cursor, look(files), NOW + 61)
    assert decide(cursor, look(files), index({}), NOW + 61).run


def test_what_becomes_unreadable_changes_the_fingerprint() -> None:
    """V4: a folder that can no longer be listed is news, even when no file's size or time changed."""
    closed = Unreadable("secret", "folder_unreadable", "the folder cannot be listed", "give the right to read it")
    assert look({}).fingerprint != look({}, unreadable=(closed,)).fingerprint


def test_a_deleted_file_is_a_difference() -> None:
    """V5: what is gone counts as much as what is new."""
    assert differences([], rows({"a.md": (1, 1)})) == 1
    assert differences([FileStat("a.md", 1, 2)], rows({"a.md": (1, 1)})) == 1
    assert differences([FileStat("a.md", 1, 1)], rows({"a.md": (1, 1)})) == 0


def test_the_cursor_is_small_and_survives_rubbish() -> None:
    """D2: a small cursor; another version's starts afresh instead of failing every tick."""
    cursor = Cursor("f" * 64, 1234567, NOW, NOW, True)
    assert Cursor.read(cursor.write()) == cursor
    assert len(cursor.write()) < 250
    for text in (None, "", "nonsense", "[]", '{"sequence": "x"}', "null"):
        assert Cursor.read(text) == Cursor()
    assert json.loads(cursor.write()).keys() == {"fingerprint", "sequence", "requested_at", "looked_at", "settled"}


@pytest.mark.parametrize(("failures", "seconds"), [(1, 60), (2, 120), (5, 960), (40, 21_600)])
def test_a_failed_run_is_asked_for_again_after_a_growing_pause(failures: int, seconds: float) -> None:
    """D3: work stays pending through an outage and is taken up again by itself."""
    assert retry_pause(failures) == seconds


def test_a_failed_run_is_not_repeated_before_its_pause_is_over() -> None:
    """D3: after three failures the index still differs, and nothing is asked for in 240 s unless the vault changes."""
    seen, changed = look({"a.md": (3, LONG_AGO)}), look({"a.md": (4, LONG_AGO)})
    cursor = decide(Cursor(), seen, index({}), NOW).cursor
    assert needs_index(cursor, seen, NOW + 100)  # on its own the look once a minute would ask again
    assert decide(cursor, seen, index({}), NOW + 100).run
    for after in (1, 61, 239):
        assert pauses(cursor, seen, NOW + after, failures=3, ended_at=NOW)
        assert not pauses(cursor, changed, NOW + after, failures=3, ended_at=NOW)
    assert not pauses(cursor, seen, NOW + 240, failures=3, ended_at=NOW)
    assert not pauses(cursor, seen, NOW + 1, failures=0, ended_at=NOW)


def test_only_fresh_notes_wait_for_a_stamp() -> None:
    """V2: the notes that the last scan found too fresh, and not those that are never stamped."""
    known = rows({"fresh.md": (1, 100 * 10**9), "old.md": (1, 10 * 10**9)}, stamped=False)
    assert waiting_for_stamp(known, since=50, until=150) == 1
    assert resting_until([FileStat("fresh.md", 1, 100 * 10**9)], 10) == 110


vaults = st.dictionaries(
    st.sampled_from(["a.md", "b.md", "c/d.md"]), st.tuples(st.integers(1, 3), st.integers(1, 3)), max_size=3
)


@given(st.lists(vaults, min_size=1, max_size=8))
def test_every_state_of_the_vault_reaches_the_index(states: list[dict[str, tuple[int, int]]]) -> None:
    """D2: whatever sequence of states is seen, after each tick and its run the index is what the vault is, no run is
    asked for without a difference, and no run key comes twice."""
    cursor, known, keys = Cursor(), index({}), []
    for files in states:
        decision = decide(cursor, look(files), known, NOW)
        assert decision.run == (known != index(files))
        cursor = decision.cursor
        if decision.run:
            keys.append(cursor.run_key)
            known = index(files)
        assert known == index(files)
        assert not decide(cursor, look(files), known, NOW + 60).run
    assert len(keys) == len(set(keys))
