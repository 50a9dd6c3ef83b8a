"""Where every note went: the proof that none was lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from kos_assets.gate.notes import folded, tally
from kos_assets.store import decisions, embeddings, notes, review
from kos_assets.store.database import Store


@dataclass(frozen=True)
class Accounting:
    """Counts of one store. `balanced`: notes = live + folded + expired + forgotten: none is lost between."""

    notes: int
    live: int
    folded_copies: int
    expired: int
    forgotten: int
    blocked_files: int
    files_with_problems: int
    retired: int
    statements: int
    retired_statements: int
    held_files: int
    pending_files: int
    open_reviews: int
    pending_vectors: int
    model: str | None
    folded: tuple[tuple[str, str], ...]

    @property
    def balanced(self) -> bool:
        """Whether every standing note is live, folded into an equal one, expired, or forgotten."""
        return self.notes == self.live + self.folded_copies + self.expired + self.forgotten

    def rows(self) -> Iterator[tuple[str, str]]:
        """For a table."""
        yield "notes standing in the vault", str(self.notes)
        yield "  live memories", str(self.live)
        yield "  folded as equal copies", str(self.folded_copies)
        yield "  expired", str(self.expired)
        yield "  forgotten", str(self.forgotten)
        yield "  balance", "exact" if self.balanced else "NOT EXACT: run `kos ingest`"
        yield "files blocked (see kos quarantine)", str(self.blocked_files)
        yield "files read in spite of a problem", str(self.files_with_problems)
        yield "memories retired with their files", str(self.retired)
        yield "statements (kos write), live", str(self.statements)
        yield "  retired: superseded, forgotten, ended", str(self.retired_statements)
        yield "  waiting for the embedder", str(self.pending_files)
        yield "  files held back (see kos review)", str(self.held_files)
        yield "contradictions and stale memories to review", str(self.open_reviews)
        yield "texts waiting for a vector", str(self.pending_vectors)
        yield "embedding model", self.model or "none yet"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "balanced": self.balanced}


def account(store: Store) -> Accounting:
    """Count everything in one transaction, as the pipeline."""
    with store.transaction(pipeline=True) as session:
        files = notes.accounting(session)
        memories = tally(session)
        copies = folded(session)
        model = embeddings.active(session)
        pending = embeddings.count_pending(session, model["model_key"]) if model else 0
        held = decisions.file_counts(session)
        waiting = sum(review.counts(session).values())
    return Accounting(
        notes=files["notes"],
        live=memories["live"],
        folded_copies=memories["folded"],
        expired=memories["expired"],
        blocked_files=files["blocked"],
        files_with_problems=files["with_problems"],
        retired=memories["retired"],
        forgotten=memories["forgotten"],
        statements=memories["statements"],
        retired_statements=memories["retired_statements"],
        held_files=held.get("refused", 0),
        pending_files=held.get("pending", 0),
        open_reviews=waiting,
        pending_vectors=pending,
        model=model["model_id"] if model else None,
        folded=tuple((row["path"], row["canonical_path"]) for row in copies),
    )
