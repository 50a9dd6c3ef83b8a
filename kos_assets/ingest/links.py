"""Links of notes as edges between memories (S8): resolved again for everything when any name changed, else for the
changed notes only."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from uuid import UUID

from kos_assets.domain.links import LinkIndex, Named
from kos_assets.domain.vocabulary import memory_id_of_note
from kos_assets.gate.notes import fold_targets
from kos_assets.store import edges, notes
from kos_assets.store.database import Row, Session

_KINDS = ("links_to", "embeds")


def sync_links(session: Session, changed: Sequence[UUID]) -> int:
    """Bring `links_to` and `embeds` edges to what the notes say; the number of edges written."""
    names = notes.names(session)
    targets = fold_targets(session)
    state = _state(names, targets)
    installation = notes.installation(session)
    everything = installation is None or installation["links_hash"] != state
    if not everything and not changed:
        return 0
    rows = notes.links(session, None if everything else changed)
    index = LinkIndex(Named(row["note_id"], row["path"], row["title"], tuple(row["aliases"] or ())) for row in names)
    found: dict[tuple[UUID, str, UUID], str | None] = {}
    for row in rows:
        target = index.resolve(row["target"], source_path=row["path"])
        source = targets.get(memory_id_of_note(row["note_id"]))
        destination = None if target is None else targets.get(memory_id_of_note(target))
        if source is not None and destination is not None and source != destination:
            found.setdefault((source, row["kind"], destination), row["anchor"])
    sources = None if everything else [memory_id_of_note(note_id) for note_id in changed]
    edges.replace_outgoing(session, sources, _KINDS, found)
    notes.set_links_hash(session, state)
    return len(found)


def _state(names: Sequence[Row], targets: Mapping[UUID, UUID]) -> str:
    """A digest of everything that resolution depends on, beside the links themselves."""
    digest = hashlib.sha256()
    for row in sorted(names, key=lambda row: str(row["path"])):
        memory_id = memory_id_of_note(row["note_id"])
        digest.update(repr((row["path"], row["title"], row["aliases"], targets.get(memory_id))).encode())
    return digest.hexdigest()
