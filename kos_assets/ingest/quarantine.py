"""What is held against files: those that cannot be read, and the problems of those that were read in spite of one.

Not here: finding problems (vault/), showing them (cli/).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from typing import Any

from kos_assets.ingest.note_rows import LONGEST_PATH
from kos_assets.store import notes as store_notes
from kos_assets.store.database import Session
from kos_assets.vault.memory_file import is_reserved
from kos_assets.vault.problems import Problem, Unreadable


def update_quarantine(
    session: Session,
    unreadable: Iterable[Unreadable],
    problems: Sequence[Mapping[str, Any]],
    *,
    looked_at: Set[str],
    standing: Container[str],
    namespace_of: Callable[[str], str],
) -> int:
    """Bring what is held against every path that was looked at up to date; the number of blocked paths.

    What is held already is not written again (V5), so it keeps the time when it was first seen.
    """
    blocked = [
        {
            "path": _shown(item.path),
            "code": item.code,
            "line": 0,
            "severity": "blocked",
            "namespace": namespace_of(item.path),
            "reason": item.reason,
            "fix": item.fix,
        }
        for item in unreadable
    ]
    held = {_entry_key(row): row for row in store_notes.quarantined(session) if _is_of_notes(row["path"])}
    was_blocked = {row["path"] for row in held.values() if row["severity"] == "blocked"}
    seen = {
        *looked_at,
        *(str(entry["path"]) for entry in blocked),
        *(path for path in was_blocked if path not in standing),
    }
    wanted = {_entry_key(entry): entry for entry in [*blocked, *problems]}
    released = {key[0] for key in held if key[0] in seen and key not in wanted}
    fresh = [entry for key, entry in wanted.items() if key[0] in released or held.get(key) != entry]
    if released or fresh:
        store_notes.quarantine(session, sorted(released), fresh)
    return len({entry["path"] for entry in blocked})


def _is_of_notes(path: str) -> bool:
    """Whether a scan for notes answers for it: files of statements and the ledger have their own."""
    return not is_reserved(path) and not path.startswith(".kos/")


def _shown(path: str) -> str:
    """The path, or its beginning with a digest where an index could not hold it."""
    if len(path.encode()) <= LONGEST_PATH:
        return path
    return f"{path[:400]}… {hashlib.sha256(path.encode()).hexdigest()[:12]}"


def _entry_key(entry: Mapping[str, Any]) -> tuple[str, str, int]:
    return entry["path"], entry["code"], entry["line"]


def problem_entry(path: str, namespace: str, problem: Problem) -> dict[str, Any]:
    """A problem of a note that is indexed in spite of it."""
    return {
        "path": path,
        "code": problem.code,
        "line": problem.line or 0,
        "severity": "problem",
        "namespace": namespace,
        "reason": problem.reason,
        "fix": problem.fix,
    }
