"""`kos rebuild` (V6): a second store from the vault alone, beside the live one; compared, then switched.

Here: the order, what is carried over, what a kill leaves (the live store as it was, or the switch done). Not here: SQL
(store/rebuild.py), what is compared (rebuild_compare.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kos_assets.domain.indexing import text_hash
from kos_assets.inference.embedding import Embedder, ModelIdentity
from kos_assets.ingest.pipeline import ingest_vault
from kos_assets.operations.rebuild_compare import Comparison, compare_stores
from kos_assets.settings import Settings
from kos_assets.store import rebuild as store_rebuild
from kos_assets.store.database import Store, parse_dsn, role_dsn, with_database
from kos_assets.store.migrate import create_database, migrate

_DSNS: Final = ("dsn", "writer_dsn", "reader_dsn", "auditor_dsn", "dbt_dsn")
_LOOKS: Final = 3
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Rebuilt:
    """What came of it. `before` is the name that the old store is kept under; None where nothing was switched."""

    comparison: Comparison
    switched: bool
    before: str | None
    reused: int
    embedded: int


class KnownVectors:
    """An embedder that takes a text's vector from the live store where it has one: no model call twice for a text."""

    def __init__(self, embedder: Embedder, live: Store | None) -> None:
        self._embedder, self._live = embedder, live
        self.reused = self.embedded = 0

    @property
    def identity(self) -> ModelIdentity:
        """The model's."""
        return self._embedder.identity

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As the model gives them: stored ones from the live store, the rest from the model."""
        known: dict[str, Any] = {}
        names = [text_hash(text) for text in texts]
        if self._live is not None:
            with self._live.transaction(pipeline=True) as session:
                known = store_rebuild.vectors_by_hash(session, self.identity.model_id, names)
        missing = [text for text, name in zip(texts, names, strict=True) if name not in known]
        fresh = iter(self._embedder.embed_documents(missing) if missing else ())
        self.reused += len(texts) - len(missing)
        self.embedded += len(missing)
        found = [known[name].to_numpy() if name in known else next(fresh) for name in names]
        return np.asarray(found, dtype=np.float32).reshape(len(texts), -1)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The model's."""
        return self._embedder.embed_query(text)

    def count_tokens(self, text: str) -> int:
        """The model's."""
        return self._embedder.count_tokens(text)

    def truncates(self, text: str) -> bool:
        """The model's."""
        return self._embedder.truncates(text)


def in_database(settings: Settings, name: str) -> Settings:
    """The same settings for another database of the server."""
    changed: Any = {field: with_database(getattr(settings, field), name) for field in _DSNS if getattr(settings, field)}
    return replace(settings, **changed)


@contextmanager
def second_store(settings: Settings) -> Iterator[Settings]:
    """An empty, migrated store beside the live one; what an earlier attempt left is dropped first. Dropped afterwards,
    unless it was given another name meanwhile."""
    owner = role_dsn(settings, "owner")
    name = f"{database_name(settings)}_rebuild"
    store_rebuild.drop_database(owner, name)
    create_database(owner, name)
    try:
        found = in_database(settings, name)
        migrate(found)
        yield found
    finally:
        store_rebuild.drop_database(owner, name)


def database_name(settings: Settings) -> str:
    """The live database's name."""
    return str(parse_dsn(role_dsn(settings, "owner")).get("dbname", "kos"))


def rebuild(
    settings: Settings,
    embedder: Embedder,
    *,
    tell: Tell,
    switch: bool = True,
    accept_differences: bool = False,
    drop_old: bool = False,
    from_scratch: bool = False,
) -> Rebuilt:
    """Build a store from the vault's files alone, compare it with the live one, and let it take its place.

    Stores that differ are not switched unless `accept_differences`. The live store is not touched before the switch,
    which is one transaction; writes that come in meanwhile are in files and ledger, and the ingest after the switch
    takes them up. Raises StoreError, VaultError, ProviderUnavailableError.
    """
    settings.require_vault()
    with second_store(settings) as found, Store(role_dsn(settings, "writer")) as live:
        known = KnownVectors(embedder, None if from_scratch else live)
        with Store(role_dsn(found, "writer")) as new:
            comparison = _build((live, settings), (new, found), known, tell)
        wanted = switch and (comparison.equal or accept_differences)
        before = None
        if wanted:
            tell("Carrying over what is in no file")
            store_rebuild.carry_over(role_dsn(settings, "owner"), role_dsn(found, "owner"))
            live.close()
            before = _switch(settings, found, tell)
    if before is not None:
        with Store(role_dsn(settings, "writer")) as switched:
            ingest_vault(switched, embedder, settings)
        if drop_old:
            store_rebuild.drop_database(role_dsn(settings, "owner"), before)
            before = None
    return Rebuilt(comparison, wanted, before, known.reused, known.embedded)


def _build(
    left: tuple[Store, Settings], right: tuple[Store, Settings], embedder: KnownVectors, tell: Tell
) -> Comparison:
    """Both stores brought to the vault as it stands, and compared; a few times where the vault changes meanwhile."""
    tell("Bringing the live store up to date")
    ingest_vault(left[0], embedder, left[1])
    embedder.reused = embedder.embedded = 0
    tell("Building the second store from the vault's files")
    ingest_vault(right[0], embedder, right[1])
    comparison = compare_stores(left[0], right[0])
    for _ in range(_LOOKS):
        if comparison.equal:
            break
        for store, settings in (left, right):
            ingest_vault(store, embedder, settings)
        comparison = compare_stores(left[0], right[0])
    return comparison


def _switch(settings: Settings, found: Settings, tell: Tell) -> str:
    live, new = database_name(settings), database_name(found)
    before = f"{live}_before_{datetime.now(UTC):%Y%m%d_%H%M%S}"
    tell(f"Switching; the old store is kept as {before}")
    store_rebuild.switch(role_dsn(settings, "owner"), live=live, new=new, before=before)
    return before
