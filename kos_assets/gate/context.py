"""What every verb of the gate works with: the store as kos_writer, the vault, this machine's ledger, the embedder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kos_assets.inference.embedding import Embedder
from kos_assets.settings import Settings
from kos_assets.store.database import Store
from kos_assets.vault.ledger import Ledger, machine_name


@dataclass(frozen=True)
class Gate:
    """The open gate of one installation. `embedder` None: what is written stays pending until there is one."""

    store: Store
    root: Path
    ledger: Ledger
    embedder: Embedder | None
    distance: float = 0.08
    """Used until a calibration has kept a distance with the active model's recipe."""


def open_gate(store: Store, settings: Settings, embedder: Embedder | None) -> Gate:
    """The gate of an installation. Raises ConfigError without a vault, VaultError when it cannot be written."""
    root = settings.require_vault()
    ledger = Ledger(root, machine_name(settings.data_dir))
    return Gate(store, root, ledger, embedder, settings.gate_distance)
