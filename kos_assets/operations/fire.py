"""What the fire commands share: a throw-away installation, its writer processes, and the books that must add up.

Here: the ground that is fired at and one line of the books. Not here: the two drills (fire_writers.py, fire_kills.py),
the processes that write (fire_child.py). Nothing here touches the user's own database or vault.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from kos_assets.domain.decisions import Decision
from kos_assets.ingest.pipeline import IngestReport, ingest_vault
from kos_assets.operations.fire_embedder import FireEmbedder
from kos_assets.operations.postgres import EmbeddedPostgres
from kos_assets.operations.rebuild import second_store
from kos_assets.operations.rebuild_compare import Comparison, compare_stores
from kos_assets.settings import Settings
from kos_assets.store.database import Row, Store, role_dsn, with_database
from kos_assets.store.migrate import create_database, migrate
from kos_assets.store.rebuild import facts
from kos_assets.vault.ledger import ledger_files, read_ledger
from kos_assets.vault.memory_file import FOLDER

_DATABASE: Final = "fire"
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Line:
    """One line of the books: what was counted, what it has to be, what it is."""

    what: str
    expected: int
    found: int

    @property
    def holds(self) -> bool:
        """The two are equal."""
        return self.expected == self.found


@dataclass(frozen=True)
class Place:
    """Where a writer process finds the installation; unlike Settings it can be handed to another process."""

    data_dir: Path
    vault: Path
    dsn: str = field(repr=False)

    @property
    def settings(self) -> Settings:
        """The same as settings."""
        return Settings(data_dir=self.data_dir, vault=self.vault, dsn=self.dsn, stamp_quiet_s=0)


@dataclass
class Ground:
    """A throw-away installation: a server of its own, an empty vault, the deterministic embedder."""

    root: Path
    server: EmbeddedPostgres
    settings: Settings
    embedder: FireEmbedder

    @property
    def vault(self) -> Path:
        """Its vault."""
        return self.settings.require_vault()

    @property
    def place(self) -> Place:
        """What its writer processes are told."""
        return Place(self.settings.data_dir, self.vault, role_dsn(self.settings, "owner"))

    def connect(self) -> None:
        """Start the server if it does not answer; its port may have changed."""
        dsn = self.server.acquire().dsn
        self.settings = replace(self.settings, dsn=with_database(dsn, _DATABASE))

    def ingest(self) -> IngestReport:
        """One scan of the vault."""
        with Store(role_dsn(self.settings, "writer")) as store:
            return ingest_vault(store, self.embedder, self.settings)

    def rows(self) -> dict[str, Row]:
        """Every memory by id as the pipeline sees it; `retired` says why, or is None."""
        with Store(role_dsn(self.settings, "writer")) as store:
            return {str(row["memory_id"]): row for row in facts(store)["memories"]}

    def compare(self) -> Comparison:
        """The store against a second one that is built from the vault's files alone (V6)."""
        with (
            second_store(self.settings) as second,
            Store(role_dsn(second.settings, "writer")) as new,
            Store(role_dsn(self.settings, "writer")) as live,
        ):
            ingest_vault(new, self.embedder, second.settings)
            return compare_stores(live, new)

    def records(self) -> tuple[list[Decision], int]:
        """Every record of the ledger, and how many lines of it are damaged."""
        found: list[Decision] = []
        damaged = 0
        for file in ledger_files(self.vault):
            records, _, problems = read_ledger(self.vault, file)
            found += records
            damaged += len(problems)
        return found, damaged

    def files(self) -> set[str]:
        """The ids of the statements' files that stand."""
        return {path.stem for path in (self.vault / FOLDER).rglob("*.md")}


@contextmanager
def ground(settings: Settings) -> Iterator[Ground]:
    """A ground to fire at, gone afterwards. Of `settings` only the folder of PostgreSQL's programs is used.

    Raises OperationError when the server does not start.
    """
    with tempfile.TemporaryDirectory(prefix="kos-fire-") as folder:
        root = Path(folder)
        (root / "vault").mkdir()
        server = EmbeddedPostgres(root / "postgres", bindir=settings.pg_bindir)
        try:
            found = Settings(
                data_dir=root / "data", vault=root / "vault", stamp_quiet_s=0, pg_bindir=settings.pg_bindir
            )
            made = Ground(root, server, found, FireEmbedder())
            dsn = server.acquire().dsn
            create_database(dsn, _DATABASE)
            made.settings = replace(found, dsn=with_database(dsn, _DATABASE))
            migrate(made.settings)
            made.ingest()  # an empty scan: the embedder becomes the active model
            yield made
        finally:
            server.stop()


class Told:
    """What one writer process tells, a JSON object a line in a file of its own: it outlives the process's death."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def say(self, **told: Any) -> None:
        """Append one line; it is out when this returns."""
        with self.path.open("ab", buffering=0) as file:
            file.write(json.dumps(told, separators=(",", ":")).encode() + b"\n")

    def lines(self) -> list[dict[str, Any]]:
        """The whole lines so far."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in data[: data.rfind(b"\n") + 1].splitlines()]


def torn_temporaries(vault: Path) -> int:
    """Files that a killed writer left before their rename: no scan reads them."""
    return sum(name.endswith(".tmp") for _, _, names in os.walk(vault) for name in names)
