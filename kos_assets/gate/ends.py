"""Which notes were forgotten or erased (S11): by id, and by the keyed hash of an equal text in the same namespace.

The ledger holds no text: a record names the note and a hash under the key of the machine that wrote it. The hash keeps
an equal copy, or the same file under a new id, from bringing the text back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from uuid import UUID

from kos_assets.domain.decisions import Decision, fold
from kos_assets.store import decisions, memories, notes
from kos_assets.store.database import Session
from kos_assets.vault import ledger

End = Literal["forgotten", "erased"]


@dataclass(frozen=True)
class Ends:
    """The ends that hold now. `reason` answers for one note."""

    ids: Mapping[UUID, End] = field(default_factory=dict)
    hashes: Mapping[str, Mapping[str, End]] = field(default_factory=dict)
    keys: Mapping[str, bytes] = field(default_factory=dict)

    def reason(self, note_id: UUID | None, namespace: str, body_hash: str | None) -> End | None:
        """Why a note is not to be recalled, or None. `body_hash` is what equal copies share (G6)."""
        found: End | None = self.ids.get(note_id) if note_id is not None else None
        if found == "erased" or body_hash is None:
            return found
        for machine, known in self.hashes.items():
            key = self.keys.get(machine)
            end = known.get(ledger.keyed_hash(key, body_text(namespace, body_hash))) if key is not None else None
            if end == "erased":
                return end
            found = found or end
        return found


def body_text(namespace: str, body_hash: str) -> str:
    """What a keyed hash of a note's text is taken of."""
    return f"{namespace}\n{body_hash}"


def read_ends(session: Session, root: Path) -> Ends:
    """The ends that the ledger's index holds, with the keys of the vault's machines."""
    records = decisions.ends(session)
    if not records:
        return Ends()
    states = fold(records)
    ids: dict[UUID, End] = {}
    hashes: defaultdict[str, dict[str, End]] = defaultdict(dict)
    for record in records:
        state = states[record.subject]
        end: End | None = "erased" if state.erased else "forgotten" if state.forgotten else None
        if end is None or record.op == "restore":
            continue
        _add(record, end, ids, hashes)
    return Ends(ids, dict(hashes), ledger.keys(root))


def _add(record: Decision, end: End, ids: dict[UUID, End], hashes: Mapping[str, dict[str, End]]) -> None:
    if note_id := record.body.get("note_id"):
        ids[UUID(note_id)] = end
    if value := record.body.get("hash"):
        known = hashes[record.machine]
        known[value] = "erased" if "erased" in (known.get(value), end) else end


def notes_of(session: Session, root: Path, records: Sequence[Decision], memory_ids: Sequence[UUID] = ()) -> set[UUID]:
    """The notes that ends are about: by id, and every standing one whose text has the keyed hash of such a record;
    and the notes that given memories follow."""
    found = memories.note_ids(session, memory_ids)
    found |= {UUID(record.body["note_id"]) for record in records if record.body.get("note_id")}
    wanted = {(record.machine, str(record.body["hash"])) for record in records if record.body.get("hash")}
    keys = ledger.keys(root) if wanted else {}
    machines = {machine: keys[machine] for machine, _ in wanted if machine in keys}
    for row in notes.bodies(session) if machines else ():
        text = body_text(row["namespace"], row["body_hash"])
        if any((machine, ledger.keyed_hash(key, text)) in wanted for machine, key in machines.items()):
            found.add(row["note_id"])
    return found
