"""The vault's ledger to kos.decisions (V6): what other machines decided, and what this one wrote before a crash.

Here: reading what is new. Not here: what the decisions mean for rows (ingest/statements.py, gate/settle.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kos_assets.domain.decisions import Decision
from kos_assets.ingest.quarantine import problem_entry
from kos_assets.store import decisions
from kos_assets.store import notes as store_notes
from kos_assets.store.database import Row, Session
from kos_assets.vault import ledger
from kos_assets.vault.problems import Problem

LEDGER_FOLDER: Final = ".kos/ledger/"


def sync_ledger(session: Session, root: Path, *, namespace: str) -> int:
    """Index the ledger's records that are not known yet, as not settled; their number. A stat per file (V5).

    A damaged line is held in quarantine (under `namespace`) and the others count. Records that vanished from a file
    stay known: it is reported, since git or a backup has them.
    """
    known = decisions.ledger_files(session)
    found, states = 0, []
    problems: list[tuple[str, bool, list[Problem]]] = []
    for file in ledger.ledger_files(root):
        before = known.get((file.machine, file.month))
        if before is not None and (before["size_bytes"], before["mtime_ns"]) == (file.size, file.mtime_ns):
            continue
        read, read_to, damaged = _read(root, file, before)
        found += len(decisions.record(session, read, settled=False))
        anew = before is None or file.size < before["read_to"]
        problems.append((file.path, anew, damaged))
        states.append(
            {
                "machine": file.machine,
                "month": file.month,
                "size_bytes": file.size,
                "mtime_ns": file.mtime_ns,
                "read_to": read_to,
            }
        )
    decisions.keep_ledger_files(session, states)
    for path, anew, damaged in problems:  # what was read before keeps what was found then
        entries = [problem_entry(path, namespace, problem) for problem in damaged]
        store_notes.quarantine(session, [path] if anew else [], entries)
    return found


def _read(root: Path, file: ledger.LedgerFile, before: Row | None) -> tuple[list[Decision], int, list[Problem]]:
    offset = int(before["read_to"]) if before is not None else 0
    if file.size >= offset:
        return ledger.read_ledger(root, file, offset=offset)
    read, read_to, damaged = ledger.read_ledger(root, file)
    lost = Problem(
        "ledger_shortened",
        None,
        "the file is shorter than it was: decisions recorded in it are missing",
        "restore it from git or a backup",
    )
    return read, read_to, [*damaged, lost]
