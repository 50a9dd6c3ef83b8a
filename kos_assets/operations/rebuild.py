"""`kos rebuild` (V6): a second store from the vault alone, beside the live one; compared, then switched.

Here: the order, what is carried over, what a kill leaves (the live store as it was, or the switch done). Not here: SQL
(store/rebuild.py), what is compared (rebuild_compare.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kos_assets.domain.indexing import text_hash
from kos_assets.errors import StoreError, StoreUnavailableError
from kos_assets.inference.embedding import Embedder, ModelIdentity
from kos_assets.ingest.pipeline import ingest_vault
from kos_assets.operations.rebuild_compare import Comparison, compare_stores
from kos_assets.settings import Settings
from kos_assets.store import embeddings
from kos_assets.store import rebuild as store_rebuild
from kos_assets.store.database import Store, parse_dsn, role_dsn, with_database
from kos_assets.store.migrate import create_database, migrate
from kos_assets.store.rebuild import Turn

_DSNS: Final = ("dsn", "writer_dsn", "reader_dsn", "auditor_dsn", "dbt_dsn")
_ROLES: Final = ("writer", "reader", "auditor", "dbt")
_LOOKS: Final = 3
_INGEST: Final = ("ingest:notes", "ingest:memories", "ingest:chunks", "ingest:embeddings")
"""In the order of the steps; an erasure holds the first one for as long as it lasts."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Second:
    """A store beside the live one, and the turn that nobody else has meanwhile."""

    settings: Settings
    turn: Turn


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
def second_store(settings: Settings) -> Iterator[Second]:
    """An empty, migrated store beside the live one; what killed attempts left is dropped first. Dropped afterwards,
    unless it was given another name meanwhile. Raises StoreError while another one is at work."""
    owner = role_dsn(settings, "owner")
    with store_rebuild.turn(owner, database_name(settings)) as turn:
        store_rebuild.drop_leftovers(turn)
        name = store_rebuild.second_name(turn)
        create_database(owner, name)
        try:
            found = in_database(settings, name)
            _migrate_second(found)
            yield Second(found, turn)
        finally:
            store_rebuild.drop_database(owner, name)


def _migrate_second(found: Settings) -> None:
    try:
        migrate(found)
    except StoreUnavailableError:
        raise
    except StoreError as error:
        raise StoreError(
            "A second store cannot be set up beside the live one.",
            why=f"{error.what} {error.why or ''}".strip(),
            fix="KOS_DSN's account has to be able to create the extensions vector, ltree and pg_trgm in a new database:"
            " as a superuser, as a managed server's administrator, or with `trusted = true` in vector.control.",
        ) from error


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
    with second_store(settings) as second, Store(role_dsn(settings, "writer")) as live:
        if switch:
            store_rebuild.check_may_switch(second.turn)
        _check_model(live, embedder)
        known = KnownVectors(embedder, None if from_scratch else live)
        with Store(role_dsn(second.settings, "writer")) as new:
            comparison, erasures = _build((live, settings), (new, second.settings), known, tell)
        wanted = switch and (comparison.equal or accept_differences)
        before = None
        if wanted:
            _check_model(live, embedder)
            before, moment = _take_over(settings, second, live, erasures, tell)
    if before is not None:
        tell("Taking up what came in meanwhile")
        owner = role_dsn(settings, "owner")
        store_rebuild.carry_late(with_database(owner, before), owner, moment)
        with Store(role_dsn(settings, "writer")) as switched:
            ingest_vault(switched, embedder, settings)
        if drop_old:
            store_rebuild.drop_database(owner, before)
            before = None
    return Rebuilt(comparison, wanted, before, known.reused, known.embedded)


def _check_model(live: Store, embedder: Embedder) -> None:
    """S9: a change of the model is `kos reembed`'s; a rebuild would make it by the way, with every text embedded."""
    with live.transaction(pipeline=True) as session:
        active = embeddings.active(session)
    if active is not None and active["model_id"] != embedder.identity.model_id:
        raise StoreError(
            "The live store's vectors are another model's than the one that a rebuild would use.",
            why=f"Search uses {active['model_id']}, inference.toml routes to {embedder.identity.model_id}.",
            fix="Run `kos reembed` first, or route `embed` back.",
        )


def _build(
    left: tuple[Store, Settings], right: tuple[Store, Settings], embedder: KnownVectors, tell: Tell
) -> tuple[Comparison, int]:
    """Both stores brought to the vault as it stands, and compared; a few times where the vault changes meanwhile. Also
    how many erasures there were before the second store read anything."""
    tell("Bringing the live store up to date")
    ingest_vault(left[0], embedder, left[1])
    embedder.reused = embedder.embedded = 0
    erasures = store_rebuild.erasures(left[0])
    tell("Building the second store from the vault's files")
    ingest_vault(right[0], embedder, right[1])
    _carry_distance(left[0], right[0])
    comparison = compare_stores(left[0], right[0])
    for _ in range(_LOOKS):
        if comparison.equal:
            break
        for store, settings in (left, right):
            ingest_vault(store, embedder, settings)
        comparison = compare_stores(left[0], right[0])
    return comparison, erasures


def _carry_distance(live: Store, new: Store) -> None:
    """The calibrated distance of the gate: what waits may pass the gate in the new store as in the old one (G3)."""
    with live.transaction(pipeline=True) as session:
        model = embeddings.active(session)
    if model is not None and model["gate_distance"] is not None:
        with new.transaction(pipeline=True) as session:
            embeddings.set_gate_distance(session, model["model_id"], model["gate_distance"])


def _take_over(settings: Settings, second: Second, live: Store, erasures: int, tell: Tell) -> tuple[str, datetime]:
    """Carry over and switch, with scans and erasures held off; the name that the old store is kept under, and the
    instant that was carried over."""
    before = f"{second.turn.live}_before_{datetime.now(UTC):%Y%m%d_%H%M%S}"
    with ExitStack() as held:
        for name in _INGEST:
            held.enter_context(live.exclusive(name))
        if store_rebuild.erasures(live) != erasures:
            raise StoreError(
                "A memory was erased during the rebuild, so the second store may still hold it.",
                why="It was built from files that stood before the erasure (S11); it is dropped now.",
                fix="Run `kos rebuild` again.",
            )
        tell("Carrying over what is in no file")
        moment = store_rebuild.carry_over(role_dsn(settings, "owner"), role_dsn(second.settings, "owner"))
        tell(f"Switching; the old store is kept as {before}")
        live.close()
        accounts = [role_dsn(settings, role) for role in _ROLES]
        store_rebuild.switch(second.turn, new=database_name(second.settings), before=before, accounts=accounts)
    return before, moment
