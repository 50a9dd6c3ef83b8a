"""Whether two stores of one vault say the same (promise 1). Pure on rows without text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from kos_assets.store import rebuild
from kos_assets.store.database import Row, Store

_SAMPLE: Final = 5
Facts = Mapping[str, Sequence[Row]]
_LIVE: Final = (
    "namespace", "memory_type", "heading", "content", "provenance", "confidence", "supersedes", "note_path", "author",
    "event_at", "verified_at", "verified_by", "verified_how", "boost", "expires_at",
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """One thing that was compared: how many on each side, and a sample of what differs."""

    what: str
    live: int
    rebuilt: int
    differing: Sequence[str]

    @property
    def equal(self) -> bool:
        """Nothing differs."""
        return not self.differing


@dataclass(frozen=True)
class Comparison:
    """Everything that was compared."""

    findings: Sequence[Finding]

    @property
    def equal(self) -> bool:
        """Nothing differs anywhere."""
        return all(finding.equal for finding in self.findings)

    def rows(self) -> list[tuple[str, int, int, int, str]]:
        """(what, in the live store, rebuilt, how many differ, a sample) for a table."""
        return [
            (item.what, item.live, item.rebuilt, len(item.differing), ", ".join(item.differing[:_SAMPLE]))
            for item in self.findings
        ]


def compare_stores(live: Store, rebuilt: Store) -> Comparison:
    """Two stores, read as kos_writer, by what they say; see `compare_facts`."""
    return compare_facts(rebuild.facts(live), rebuild.facts(rebuilt))


def compare_facts(left: Facts, right: Facts) -> Comparison:
    """Live memories, their passages and vectors, what was superseded by what, ends, blocks, edges and contradictions,
    each by name as `store.rebuild.facts` gives them: the live store's, then the rebuilt one's.

    Of vectors only those count that the rebuilt store lacks. When a row was touched is not compared: it is in no file.
    """
    memories, others = _by_id(left["memories"]), _by_id(right["memories"])
    return Comparison(
        [
            _mappings("live memories", _live(memories, left["indexed"]), _live(others, right["indexed"])),
            _mappings("retired statements", _retired(memories), _retired(others)),
            _mappings("superseded by", _superseded(memories), _superseded(others)),
            _mappings("forgotten notes", _forgotten(memories), _forgotten(others)),
            _mappings("passages", _counts(left["indexed"], "passages"), _counts(right["indexed"], "passages")),
            _missing("vectors", _counts(left["indexed"], "vectors"), _counts(right["indexed"], "vectors")),
            _sets("edges", _edges(left["edges"], memories), _edges(right["edges"], others)),
            _sets("blocked files", _tuples(left["blocked"]), _tuples(right["blocked"])),
            _sets("open contradictions", _tuples(left["reviews"]), _tuples(right["reviews"])),
        ]
    )


def _by_id(rows: Iterable[Row]) -> dict[UUID, Row]:
    return {row["memory_id"]: row for row in rows}


def _live(rows: Mapping[UUID, Row], indexed: Iterable[Row]) -> dict[str, Any]:
    places = {row["memory_id"]: (row["home_path"], row["event_zone"]) for row in indexed}
    return {
        str(memory_id): (*(row[name] for name in _LIVE), places.get(memory_id))
        for memory_id, row in rows.items()
        if row["retired"] is None
    }


def _forgotten(rows: Mapping[UUID, Row]) -> dict[str, Any]:
    """Notes that stand and were forgotten."""
    return {
        str(memory_id): row["retired"]
        for memory_id, row in rows.items()
        if not row["is_statement"] and row["retired"] == "forgotten"
    }


def _counts(rows: Iterable[Row], name: str) -> dict[str, int]:
    return {str(row["memory_id"]): row[name] for row in rows}


def _retired(rows: Mapping[UUID, Row]) -> dict[str, Any]:
    """Statements that are not live although their file stands as the gate wrote it: else a rebuild has no row."""
    return {
        str(memory_id): row["retired"]
        for memory_id, row in rows.items()
        if row["is_statement"] and row["stands"] and row["retired"] is not None
    }


def _superseded(rows: Mapping[UUID, Row]) -> dict[str, Any]:
    return {
        str(memory_id): row["supersedes"]
        for memory_id, row in rows.items()
        if row["supersedes"] is not None and row["stands"]
    }


def _edges(rows: Iterable[Row], memories: Mapping[UUID, Row]) -> set[str]:
    """Edges between live memories; similar ones only where a veto keeps them (the rest follows from the vectors)."""
    return {
        " ".join(str(value) for value in row.values() if value is not None)
        for row in rows
        if all(memories.get(row[end], _NOWHERE)["retired"] is None for end in ("src_id", "dst_id"))
    }


_NOWHERE: Final[Mapping[str, Any]] = {"retired": "nowhere"}


def _tuples(rows: Iterable[Row]) -> set[str]:
    return {" ".join(str(value) for value in row.values()) for row in rows}


def _mappings(what: str, left: Mapping[str, Any], right: Mapping[str, Any]) -> Finding:
    differing = [
        key for key in sorted({*left, *right}) if left.get(key) != right.get(key) or (key in left) != (key in right)
    ]
    return Finding(what, len(left), len(right), differing)


def _missing(what: str, left: Mapping[str, int], right: Mapping[str, int]) -> Finding:
    """What the rebuilt store has less of; more of it is no loss (the live store's provider was away, say)."""
    lacking = [key for key in sorted(left) if right.get(key, 0) < left[key]]
    return Finding(what, sum(left.values()), sum(right.values()), lacking)


def _sets(what: str, left: set[str], right: set[str]) -> Finding:
    return Finding(what, len(left), len(right), sorted(left ^ right))
