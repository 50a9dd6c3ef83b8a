"""Whose id a file has: decisions that may never fork, merge or shuffle notes."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.vault.identity import Assignment, Known, Rank, Reason, Seen, assign, mint

A, B, C = UUID(int=1), UUID(int=2), UUID(int=3)


def _known(*entries: tuple[str, UUID, str | None]) -> dict[str, Known]:
    return {path: Known(path, note_id, content) for path, note_id, content in entries}


def _assign(
    known: Mapping[str, Known],
    seen: Sequence[tuple[str, UUID | None, str | None]],
    sidecar: Mapping[str, UUID] | None = None,
    rank: Rank | None = None,
) -> dict[str, tuple[UUID, Reason, bool]]:
    result = assign(known, [Seen(*file) for file in seen], sidecar or {}, "vault", rank)
    return {item.path: (item.note_id, item.reason, item.restamp) for item in result}


def _minted(path: str, *taken: UUID) -> UUID:
    return mint("vault", path, set(taken))


def test_new_and_unchanged_files() -> None:
    """V2: a new file gets an id from source and path, the same on every machine; a known one keeps its own."""
    assert _assign({}, [("a.md", None, "h")]) == {"a.md": (_minted("a.md"), "minted", False)}
    assert _assign(_known(("a.md", A, "h")), [("a.md", A, "h2")]) == {"a.md": (A, "known", False)}
    assert _assign(_known(("a.md", A, "h")), [("a.md", None, "h2")]) == {"a.md": (A, "known", False)}
    assert mint("vault", "a.md", set()) != mint("mail", "a.md", set())
    assert str(mint("vault", "a.md", set())) == "1a64f4bb-0ddf-5bc0-a85a-e6579638ad77"


def test_moves() -> None:
    """V2: a stamp moves with its file; without one the content does, if there is one candidate."""
    known = _known(("a.md", A, "h"), ("b.md", B, "i"))
    assert _assign(known, [("c.md", A, "edited"), ("b.md", None, "i")])["c.md"] == (A, "moved", False)
    assert _assign(known, [("c.md", None, "h"), ("b.md", None, "i")])["c.md"] == (A, "moved", False)
    assert _assign(known, [("c.md", None, "edited"), ("b.md", None, "i")])["c.md"] == (_minted("c.md"), "minted", False)
    assert _assign(known, [("a.md", B, "i"), ("b.md", A, "h")]) == {
        "a.md": (B, "stamped", False),
        "b.md": (A, "stamped", False),
    }


def test_moves_of_equal_contents() -> None:
    """V2: several equal files moved together are told apart by name; where that fails, nobody's id is guessed."""
    known = _known(("x/a.md", A, "h"), ("x/b.md", B, "h"))
    moved = _assign(known, [("y/a.md", None, "h"), ("y/b.md", None, "h")])
    assert moved == {"y/a.md": (A, "moved", False), "y/b.md": (B, "moved", False)}
    unclear = _assign(known, [("y/c.md", None, "h"), ("y/d.md", None, "h")])
    assert {reason for _, reason, _ in unclear.values()} == {"minted"}


def test_copies() -> None:
    """V2: of two files with one stamp the path on record keeps it, else the earlier in git, else the smaller path."""
    known = _known(("z.md", A, "h"))
    pair = [("copy.md", A, "h"), ("z.md", A, "h")]
    assert _assign(known, pair) == {"z.md": (A, "known", False), "copy.md": (_minted("copy.md"), "copied", True)}
    assert _assign({}, pair, {"z.md": A})["copy.md"] == (_minted("copy.md"), "copied", True)
    assert _assign({}, pair, rank=lambda paths: {"z.md": 1.0, "copy.md": 2.0})["copy.md"][1] == "copied"
    assert _assign({}, pair, rank=lambda paths: {})["z.md"] == (_minted("z.md"), "copied", True)
    assert _assign({}, pair)["copy.md"] == (A, "stamped", False)


def test_git_is_asked_once_and_only_in_doubt() -> None:
    """V2, V5: no conflict, or one that the record settles, costs no git call."""
    calls: list[list[str]] = []

    def rank(paths: Sequence[str]) -> Mapping[str, float]:
        calls.append(list(paths))
        return {}

    _assign(_known(("a.md", A, "h")), [("a.md", A, "h"), ("b.md", A, "h"), ("c.md", C, "h")], rank=rank)
    assert calls == []
    _assign({}, [("b.md", A, "h"), ("a.md", A, "h"), ("d.md", B, "h"), ("c.md", B, "h"), ("e.md", C, "h")], rank=rank)
    assert calls == [["a.md", "b.md", "c.md", "d.md"]]


def test_a_copy_over_a_known_file_keeps_that_files_id() -> None:
    """V2: a note overwritten by a copy of another is still itself."""
    known = _known(("a.md", A, "h"), ("b.md", B, "i"))
    assert _assign(known, [("a.md", A, "h"), ("b.md", A, "h")])["b.md"] == (B, "known", True)


def test_a_copy_cannot_steal_from_a_file_that_cannot_be_read() -> None:
    """V2, V4: an unreadable file stands and keeps its id."""
    known = _known(("a.md", A, "h"))
    assert _assign(known, [("a.md", None, None), ("b.md", A, "h")]) == {
        "a.md": (A, "known", False),
        "b.md": (_minted("b.md"), "copied", True),
    }


def test_sidecar() -> None:
    """V2: after a rebuild ids come back from the sidecar; the index goes before it, a stamp before both."""
    assert _assign({}, [("a.md", None, "h")], {"a.md": A})["a.md"] == (A, "sidecar", False)
    assert _assign(_known(("a.md", B, "h")), [("a.md", None, "h")], {"a.md": A})["a.md"] == (B, "known", False)
    assert _assign({}, [("a.md", C, "h")], {"a.md": A})["a.md"] == (C, "stamped", False)
    twice = _assign({}, [("b.md", None, "h"), ("a.md", None, "i")], {"a.md": A, "b.md": A})
    assert twice["a.md"] == (A, "sidecar", False)
    assert twice["b.md"] == (_minted("b.md"), "minted", False)


def test_a_new_file_where_another_moved_away() -> None:
    """V2: the path's first id went with its note; the newcomer gets the next one."""
    first = _minted("a.md")
    known = _known(("a.md", first, "h"))
    result = _assign(known, [("a.md", None, "new"), ("b.md", first, "h")])
    assert result == {"a.md": (_minted("a.md", first), "minted", False), "b.md": (first, "stamped", False)}
    assert result["a.md"][0] != first


_IDS = [UUID(int=n) for n in range(1, 6)] + [mint("vault", f"{n}.md", set()) for n in range(3)]
_PATHS = st.sampled_from([f"{folder}{n}.md" for folder in ("", "x/") for n in range(4)])
_HASHES = st.sampled_from(["h", "i", "j"])
_KNOWN = st.lists(
    st.tuples(_PATHS, st.sampled_from(_IDS), _HASHES), unique_by=(lambda entry: entry[0], lambda entry: entry[1])
)
_SEEN = st.lists(
    st.one_of(
        st.tuples(_PATHS, st.one_of(st.none(), st.sampled_from(_IDS)), _HASHES),
        st.tuples(_PATHS, st.none(), st.none()),
    ),
    unique_by=lambda entry: entry[0],
)
_SIDECAR = st.dictionaries(_PATHS, st.sampled_from(_IDS), max_size=4)


def _run(
    known: list[tuple[str, UUID, str]],
    seen: list[tuple[str, UUID | None, str | None]],
    sidecar: dict[str, UUID],
) -> list[Assignment]:
    return assign(_known(*known), [Seen(*file) for file in seen], sidecar, "vault", None)


@settings(max_examples=400, deadline=None)
@given(_KNOWN, _SEEN, _SIDECAR, st.randoms(use_true_random=False))
def test_no_id_twice_whatever_the_order(
    known: list[tuple[str, UUID, str]],
    seen: list[tuple[str, UUID | None, str | None]],
    sidecar: dict[str, UUID],
    shuffler: random.Random,
) -> None:
    """V2: every file gets one id, no id goes to two files, and the order of the input decides nothing."""
    result = _run(known, seen, sidecar)
    assert [item.path for item in result] == sorted(path for path, _, _ in seen)
    assert len({item.note_id for item in result}) == len(seen)
    shuffled_known, shuffled_seen = known[:], seen[:]
    shuffler.shuffle(shuffled_known)
    shuffler.shuffle(shuffled_seen)
    assert _run(shuffled_known, shuffled_seen, dict(reversed(sidecar.items()))) == result


@settings(max_examples=400, deadline=None)
@given(_KNOWN, _SEEN, _SIDECAR)
def test_stamps_and_standing_ids_hold(
    known: list[tuple[str, UUID, str]], seen: list[tuple[str, UUID | None, str | None]], sidecar: dict[str, UUID]
) -> None:
    """V2: a stamp of one file decides; a standing file loses its id only to a stamp; a wrong stamp is replaced."""
    result = {item.path: item for item in _run(known, seen, sidecar)}
    stamps = {path: note_id for path, note_id, _ in seen}
    claims = [note_id for note_id in stamps.values() if note_id is not None]
    standing = {path: note_id for path, note_id, _ in known if path in stamps}
    for path, stamp in stamps.items():
        item = result[path]
        unread_owner = any(note_id == stamp and stamps[other] is None for other, note_id in standing.items())
        if stamp is not None and claims.count(stamp) == 1 and not unread_owner:
            assert item.note_id == stamp
        assert item.restamp == (stamp is not None and stamp != item.note_id)
        if path in standing and stamp is None and item.note_id != standing[path]:
            assert standing[path] in claims
        if item.reason == "known":
            assert item.note_id == standing[path]


@settings(max_examples=200, deadline=None)
@given(_KNOWN, _SEEN, _SIDECAR)
def test_a_second_scan_changes_nothing(
    known: list[tuple[str, UUID, str]], seen: list[tuple[str, UUID | None, str | None]], sidecar: dict[str, UUID]
) -> None:
    """V2, V5: once the stamps are written, or the ids recorded, another scan gives the same ids to the same files."""
    result = _run(known, seen, sidecar)
    hashes = {path: content for path, _, content in seen}
    recorded = [(item.path, item.note_id, hashes[item.path] or "h") for item in result]
    stamped = [(item.path, item.note_id, hashes[item.path]) for item in result]
    for again in (_run(recorded, list(stamped), {}), _run([], list(stamped), {}), _run(recorded, list(seen), sidecar)):
        assert {item.path: item.note_id for item in again} == {item.path: item.note_id for item in result}
