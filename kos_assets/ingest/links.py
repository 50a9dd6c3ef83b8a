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
_CONNECTS = "connects"


def sync_links(session: Session, changed: Sequence[UUID]) -> int:
    """Bring `links_to` and `embeds` edges to what the notes say; the number of edges written."""
    names = notes.names(session)
    targets = fold_targets(session)
    state = _state(names, targets)
    installation = notes.installation(session)
    everything = installation is None or installation["links_hash"] != state
    if not everything and not changed:
        return 0
    sources = (
        None if everything else {targets.get(memory_id, memory_id) for memory_id in map(memory_id_of_note, changed)}
    )
    rows = notes.links(session, None if sources is None else _members(sources, targets, names))
    index = LinkIndex(Named(row["note_id"], row["path"], row["title"], tuple(row["aliases"] or ())) for row in names)
    found: dict[tuple[UUID, str, UUID], str | None] = {}
    for row in sorted(rows, key=lambda row: (row["path"], row["ordinal"])):
        target = index.resolve(row["target"], source_path=row["path"])
        source = targets.get(memory_id_of_note(row["note_id"]))
        destination = None if target is None else targets.get(memory_id_of_note(target))
        if source is not None and destination is not None and source != destination:
            found.setdefault((source, row["kind"], destination), row["anchor"])
    edges.replace_outgoing(session, None if sources is None else sorted(sources), _KINDS, found)
    _sync_connections(session, index, {row["note_id"]: row["namespace"] for row in names}, targets)
    notes.set_links_hash(session, state)
    return len(found)


def _sync_connections(
    session: Session, index: LinkIndex, namespaces: Mapping[UUID, str], targets: Mapping[UUID, UUID]
) -> None:
    """Edges between the notes that a canvas connects, all of them anew: there are few.

    S12: only where one of the two lies in the canvas's own namespace, so that whoever reads both may read the canvas.
    """
    edges.replace_outgoing(session, None, (_CONNECTS,), {})
    for row in notes.connections(session):
        for source, target, label in row["connections"]:
            ends = [index.resolve(path, source_path="") for path in (source, target)]
            memories = [targets.get(memory_id_of_note(end)) for end in ends if end is not None]
            seen = row["namespace"] in {namespaces[end] for end in ends if end is not None}
            first, last = memories if len(memories) == len(ends) else (None, None)
            if seen and first is not None and last is not None and first != last:
                edges.add(session, first, _CONNECTS, last, detail={"label": label} if label else {})


def _members(sources: set[UUID], targets: Mapping[UUID, UUID], names: Sequence[Row]) -> list[UUID]:
    """Every note whose links leave one of `sources`: a canonical memory speaks for its folded copies too."""
    by_memory = {memory_id_of_note(row["note_id"]): row["note_id"] for row in names}
    return [note_id for memory_id, note_id in by_memory.items() if targets.get(memory_id, memory_id) in sources]


def _state(names: Sequence[Row], targets: Mapping[UUID, UUID]) -> str:
    """A digest of everything that resolution depends on, beside the links themselves."""
    digest = hashlib.sha256()
    for row in sorted(names, key=lambda row: str(row["path"])):
        memory_id = memory_id_of_note(row["note_id"])
        digest.update(repr((row["path"], row["title"], row["aliases"], targets.get(memory_id))).encode())
    return digest.hexdigest()
