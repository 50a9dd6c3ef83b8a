"""One hard erasure from end to end (S11): the gate's part, what only the administrator may do, and the proof.

Here: the order. Not here: who may erase and what goes (gate/erase.py), statements (store/erasure.py), the search
(probe.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from kos_assets.domain.needles import Fingerprint
from kos_assets.domain.principals import Principal
from kos_assets.gate import erase as gate_erase
from kos_assets.gate.context import Gate
from kos_assets.gate.erase import Erased
from kos_assets.hygiene.probe import Proof, probe
from kos_assets.hygiene.probe_files import search_file, walk
from kos_assets.settings import Settings
from kos_assets.store import erasure
from kos_assets.store.database import role_dsn
from kos_assets.store.erasure import Settled, Watch

RESULTS: Final = "results"
"""Folder of the data directory whose files are derived and may go as a whole."""


@dataclass(frozen=True)
class Erasure:
    """What was erased, what followed from it, and the proof."""

    erased: Erased
    marts: dict[str, int]
    results: tuple[str, ...]
    settled: Settled
    proof: Proof

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON-safe values: counts, ids and paths, never text."""
        return {
            "memory_ids": [str(item) for item in self.erased.memory_ids],
            "copies": [str(item) for item in self.erased.copies],
            "relatives": [str(item) for item in self.erased.relatives],
            "rows": {**self.erased.counts, **self.marts},
            "files_deleted": list(self.erased.deleted),
            "files_kept": list(self.erased.kept),
            "results_deleted": list(self.results),
            "vacuumed_tables": self.settled.tables,
            "rebuilt_indexes": list(self.settled.indexes),
            "rows_not_yet_removable": self.settled.pinned,
            "proof": self.proof.as_dict(),
        }


def erase_memories(
    gate: Gate,
    settings: Settings,
    memory_ids: Sequence[UUID],
    *,
    principal: Principal,
    at: datetime,
    delete_file: bool = False,
    watch: Watch | None = None,
) -> Erasure:
    """S11: erase, scrub, vacuum, prove. `settings` carry the administrator's DSN. Safe to repeat after a crash.

    A scan or a folding of statistics that is under way ends first. Errors as `gate.erase.erase`; StoreUnavailableError
    when another session holds a table for more than a minute: the rows are gone then, the same call goes on.
    """
    dsn = role_dsn(settings, "owner")
    with gate.store.exclusive("ingest:notes"), gate.store.exclusive("hygiene:statistics"):
        erased = gate_erase.erase(gate, memory_ids, principal=principal, at=at, delete_file=delete_file)
        marts = erasure.scrub_marts(dsn, erased.fingerprint)
        results = _delete_results(settings.data_dir / RESULTS, erased.fingerprint)
        gate_erase.sweep(gate, erased, principal=principal, at=at)
        settled = erasure.settle(dsn, watch=watch)
    return Erasure(erased, marts, tuple(results), settled, probe(settings, erased.fingerprint, watch=watch))


def _delete_results(folder: Path, fingerprint: Fingerprint) -> list[str]:
    """Result files that hold the text, or name the memory: a new run makes them again."""
    gone = []
    for path in list(walk(folder)):
        if any(search_file(path, fingerprint.runs, fingerprint.id_runs, name=path.name)):
            path.unlink(missing_ok=True)
            gone.append(path.relative_to(folder).as_posix())
    return gone
