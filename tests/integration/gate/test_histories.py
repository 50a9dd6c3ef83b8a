"""Promise 1 over random histories: whatever happened to notes, statements and decisions, in whatever order it was
scanned, the vault's files alone give the same store. `KOS_HISTORIES=200` runs more of them."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import numpy as np
from hypothesis import Phase, event, example, given, settings
from hypothesis import strategies as st

from kos_assets import testing
from kos_assets.errors import InputError, NotFoundError, ProviderUnavailableError
from kos_assets.gate.authority import OWNER
from kos_assets.gate.context import open_gate
from kos_assets.gate.life import forget, note_marks, restore
from kos_assets.gate.marks import HOWS, annotate, resolve, verify
from kos_assets.gate.statement import Statement, statement_file
from kos_assets.gate.verdict import Verdict
from kos_assets.gate.write import outcome, write_memory
from kos_assets.ingest.pipeline import ingest_vault
from kos_assets.operations.fire_embedder import FireEmbedder
from kos_assets.operations.rebuild_compare import compare_stores
from kos_assets.settings import Settings
from kos_assets.store import memories
from kos_assets.store.database import Store
from kos_assets.store.rebuild import facts
from kos_assets.vault.ledger import Ledger
from kos_assets.vault.memory_file import memory_path, write_file

START = datetime(2026, 3, 4, 12, tzinfo=UTC)
PATHS = ("oven.md", "door.md", "house/roof.md", "house/oven.md", "house/cellar door.md")
BODIES = (
    "# Oven\n\nIt heats to 240 degrees. See [[door]].\n",
    "# Door\n\nThe code is 4711.\n",
    "# Door\n\nThe code is 4712 now, says the keeper of the house.\n",
    "# Roof\n\nIt leaks above the stairs.\n",
)
SPACES = ("global", "shared:crew", "agent:robo")
SUBJECTS = ("Port of the gateway", "Host of the shop", "Rate limit of the queue", "Owner of the build")
TEXTS = ("It is 8080.", "It is 9090.", "It is 9090. Ask the keeper before it changes.", "Nobody knows it yet.")


class Vectors(FireEmbedder):
    """One subject lies within the gate's distance of itself; "Rate limit" only within reach of a contradiction."""

    away = False

    def embed_documents(self, texts: Sequence[str]) -> Any:
        """Unless the provider is away."""
        if self.away:
            raise ProviderUnavailableError("The test's provider is away.")
        return np.asarray([self.embed_query(text) for text in texts], dtype=np.float32).reshape(len(texts), 128)

    def embed_query(self, text: str) -> Any:
        """The drill's vector; of "Rate limit" one that hangs more on the text."""
        near = super().embed_query(text)
        if not text.startswith("Rate limit"):
            return near
        wide = near + 0.5 * super().embed_query("apart " + " ".join(text.split()))  # one line: all of it counts
        return wide / np.linalg.norm(wide)


class World:
    """A vault, its store, and a second clone that decides without seeing ours."""

    def __init__(self, settings: Settings, store: Store) -> None:
        assert settings.vault is not None
        self.settings, self.store, self.root = settings, store, settings.vault
        self.embedder = Vectors()
        self.gate = open_gate(store, settings, self.embedder)
        self.clone = replace(self.gate, ledger=Ledger(self.root, "m-other"))
        self.statements: list[UUID] = []
        self.aside: list[tuple[Path, bytes]] = []
        self.ticks = itertools.count(1)

    def ingest(self) -> Any:
        """One scan."""
        return ingest_vault(self.store, self.embedder, self.settings)

    def now(self) -> datetime:
        """A minute later."""
        return START + timedelta(minutes=next(self.ticks))

    def rows(self, statement: str) -> list[Any]:
        """What an administrator sees."""
        with testing.connect(self.settings) as connection:
            return connection.execute(statement).fetchall()

    def put(self, path: Path, data: bytes) -> None:
        """A file with a time of its own."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        stamp = 1_750_000_000 + 1000 * next(self.ticks)
        os.utime(path, (stamp, stamp))

    def notes(self) -> list[Path]:
        """Notes that stand."""
        return sorted(path for path in self.root.rglob("*.md") if path.relative_to(self.root).parts[0] != "memories")

    def files(self) -> list[Path]:
        """Files of statements that stand."""
        return sorted((self.root / "memories").rglob("*.md"))

    def memory(self, number: int) -> UUID | None:
        """A statement in the order of writing, or a note's memory in the order of paths."""
        ours = [row[0] for row in self.rows("select memory_id from kos.memories where note_id is not null"
                                            " order by note_path, memory_id")]  # fmt: skip
        found = [*self.statements, *ours]
        return found[number % len(found)] if found else None


def picked(items: Sequence[Any], number: int) -> Any:
    """One of them, or None."""
    return items[number % len(items)] if items else None


def note(world: World, i: int, j: int) -> None:
    """Create or edit."""
    world.put(world.root / PATHS[i % len(PATHS)], BODIES[j % len(BODIES)].encode())


def edit(world: World, i: int, j: int) -> None:
    """Change the text below the frontmatter."""
    path = picked(world.notes(), i)
    if path is not None:
        world.put(path, path.read_bytes() + f"\nLine {j}. See [[door]].\n".encode())


def move(world: World, i: int, j: int) -> None:
    """Rename, where nothing stands."""
    path, target = picked(world.notes(), i), world.root / PATHS[j % len(PATHS)]
    if path is not None and not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)


def copy(world: World, i: int, j: int) -> None:
    """Copy, id and all."""
    path, target = picked(world.notes(), i), world.root / PATHS[j % len(PATHS)]
    if path is not None and not target.exists():
        world.put(target, path.read_bytes())


def drop(world: World, i: int, _: int) -> None:
    """Delete a note."""
    path = picked(world.notes(), i)
    if path is not None:
        path.unlink()


def write(world: World, i: int, j: int, supersedes: UUID | None = None) -> None:
    """A statement, often a near twin."""
    space = SPACES[(i // len(SUBJECTS)) % len(SPACES)]
    said = Statement(
        SUBJECTS[i % len(SUBJECTS)], TEXTS[j % len(TEXTS)], space, key=f"key {next(world.ticks)}",
        memory_type="semantic", supersedes=supersedes,
        expires_at=datetime(2150, 1, 1, tzinfo=UTC) if j % 7 == 6 else None,
        confidence=0.5 if j % 5 == 4 else None,
    )  # fmt: skip
    result = write_memory(world.gate, said, principal=OWNER, at=world.now())
    if result.memory_id not in world.statements:
        world.statements.append(result.memory_id)


def named(world: World, i: int, j: int) -> None:
    """A statement that says itself what it corrects."""
    write(world, i, j, picked(world.statements, j))


def checked(world: World, i: int, j: int) -> None:
    """Verify."""
    if memory_id := world.memory(i):
        verify(world.gate, memory_id, how=HOWS[j % len(HOWS)], principal=OWNER, at=world.now())


def weighed(world: World, i: int, j: int) -> None:
    """Boost."""
    if memory_id := world.memory(i):
        annotate(world.gate, memory_id, boost=(0.5, 1.0, 2.0)[j % 3], principal=OWNER, at=world.now())


def forgot(world: World, i: int, _: int) -> None:
    """Forget."""
    if memory_id := world.memory(i):
        forget(world.gate, memory_id, principal=OWNER, at=world.now())


def restored(world: World, i: int, j: int) -> None:
    """Restore, beside or instead."""
    if memory_id := world.memory(i):
        restore(world.gate, memory_id, principal=OWNER, at=world.now(), instead=bool(j % 2))


def resolved(world: World, i: int, j: int) -> None:
    """Close a contradiction."""
    pairs = world.rows("select memory_id, other_id from kos.review_items"
                       " where closed_at is null and kind = 'contradiction' order by 1, 2")  # fmt: skip
    if pair := picked(pairs, i):
        outcomes: Any = ("both", "left", "right")
        resolve(world.gate, *pair, outcome=outcomes[j % 3], principal=OWNER, at=world.now())


def taken(world: World, i: int, _: int) -> None:
    """A statement's file leaves the vault."""
    path = picked(world.files(), i)
    if path is not None:
        world.aside.append((path, path.read_bytes()))
        path.unlink()


def brought(world: World, i: int, _: int) -> None:
    """And comes back."""
    if world.aside:
        path, data = world.aside.pop(i % len(world.aside))
        if not path.exists():
            world.put(path, data)


def forged(world: World, i: int, j: int) -> None:
    """A file that the gate did not write, or a changed one."""
    path = picked(world.files(), i)
    if path is not None and j % 2:
        world.put(path, path.read_bytes() + b"And more.\n")
    elif path is not None:
        target = path.with_name(f"{UUID(int=i)}.md")
        world.put(target, path.read_bytes().replace(path.stem.encode(), target.stem.encode()))


def away(world: World, i: int, _: int) -> None:
    """The embedder goes or comes."""
    world.embedder.away = bool(i % 2)


def scan(world: World, _: int, __: int) -> None:
    """An ingest in between; without the embedder all but vectors."""
    with suppress(ProviderUnavailableError):
        world.ingest()


def elsewhere(op: str) -> Callable[[World, int, int], None]:
    """The other clone's decision arrives as a line of its own ledger, dated up to five minutes off."""

    def decide(world: World, i: int, j: int) -> None:
        memory_id = world.memory(i)
        if memory_id is None:
            return
        with world.store.transaction(pipeline=True) as session:
            row = memories.by_id(session, [memory_id]).get(memory_id)
        if row is None:
            return
        body: dict[str, Any] = {"namespace": row["namespace"]}
        if op == "verify":
            body["how"] = HOWS[j % len(HOWS)]
        elif op == "annotate":
            body["boost"] = (0.5, 1.0, 2.0)[j % 3]
        elif op == "forget":
            body |= note_marks(world.clone, row)
        elif op == "restore" and j % 3 == 2 and row["note_id"] is None:
            body["instead_of"] = str(picked(world.statements, j))
        known: Any = op
        at = world.now() + timedelta(minutes=j % 11 - 5)
        world.clone.ledger.append(known, str(memory_id), by="maria", at=at, **body)

    return decide


def written_elsewhere(world: World, i: int, j: int) -> None:
    """The other clone's statement, with its file, perhaps correcting one of ours."""
    at = world.now() + timedelta(minutes=j % 11 - 5)
    space = SPACES[i % len(SPACES)]
    said = Statement(SUBJECTS[i % len(SUBJECTS)], TEXTS[j % len(TEXTS)], space, key=f"other {next(world.ticks)}",
                     memory_type="semantic")  # fmt: skip
    file = statement_file(said, OWNER, at)
    old = picked(world.statements, j) if j % 2 else None
    if old is not None:
        with world.store.transaction(pipeline=True) as session:
            row = memories.by_id(session, [old]).get(old)
        old = old if row is not None and row["namespace"] == space else None
    file = replace(file, supersedes=old)
    verdict = Verdict("insert" if old is None else "supersede", "", old)
    write_file(world.root, memory_path(space, file.memory_id), file)
    body = outcome(world.clone, file, verdict)
    world.clone.ledger.append("write", str(file.memory_id), by="maria", at=at, **body)
    world.statements.append(file.memory_id)


OPS: dict[str, Callable[[World, int, int], None]] = {
    "note": note, "edit": edit, "move": move, "copy": copy, "drop": drop, "write": write, "named": named,
    "verify": checked, "boost": weighed, "forget": forgot, "restore": restored, "resolve": resolved, "taken": taken,
    "brought": brought, "forged": forged, "away": away, "scan": scan, "other verify": elsewhere("verify"),
    "other boost": elsewhere("annotate"), "other forget": elsewhere("forget"),
    "other restore": elsewhere("restore"), "other write": written_elsewhere,
}  # fmt: skip
OFTEN = ("write", "write", "scan", "note", "forget", "restore", *OPS)
STEPS = st.lists(st.tuples(st.sampled_from(OFTEN), st.integers(0, 23), st.integers(0, 23)), min_size=15, max_size=45)


def play(world: World, steps: Sequence[tuple[str, int, int]], tell: Callable[[str], object] = event) -> None:
    """The history; what the gate refuses (nothing to restore, say) is no step. `tell` hears how each went."""
    world.ingest()
    for name, i, j in steps:
        try:
            OPS[name](world, i, j)
            tell(name)
        except (InputError, NotFoundError):
            tell(f"{name} refused")
    world.embedder.away = False
    world.ingest()


def told(world: World) -> Any:
    """All that a scan might change: facts, and how much history there is."""
    return facts(world.store), world.rows("select count(*) from kos.memory_history")


TOUR: list[tuple[str, int, int]] = [
    ("note", 0, 0), ("note", 1, 1), ("note", 2, 3), ("note", 3, 2), ("scan", 0, 0),
    ("write", 0, 0), ("write", 0, 1),  # 1 supersedes 0
    ("write", 2, 0), ("write", 2, 1),  # 3 contradicts 2
    ("write", 6, 0), ("write", 6, 1), ("resolve", 0, 0),  # 5 contradicts 4 in the group
    ("write", 3, 0), ("write", 1, 0), ("write", 7, 0),
    # Statements 0 to 8; notes from 9 on: door.md, house/oven.md, house/roof.md, oven.md.
    ("boost", 9, 2), ("verify", 10, 1), ("forget", 11, 0), ("verify", 1, 0), ("boost", 7, 0), ("forget", 6, 0),
    ("scan", 0, 0), ("other boost", 10, 2), ("other verify", 12, 2), ("other verify", 8, 1), ("other forget", 12, 5),
    ("write", 1, 1), ("restore", 7, 0), ("write", 0, 2), ("restore", 1, 1), ("named", 7, 8),
    ("forget", 11, 0), ("restore", 11, 0), ("other write", 3, 2), ("other restore", 6, 9), ("forget", 5, 0),
    ("taken", 0, 0), ("scan", 0, 0), ("brought", 0, 0), ("taken", 4, 0), ("forged", 1, 0), ("forged", 2, 1),
    ("write", 10, 0), ("write", 10, 1), ("verify", 13, 1), ("boost", 13, 2), ("verify", 14, 0),  # 14 contradicts 13
    ("edit", 0, 1), ("move", 0, 0), ("copy", 0, 4), ("scan", 0, 0), ("drop", 3, 0), ("note", 0, 0), ("note", 1, 1),
    ("edit", 1, 7),  # a link from one note that stands to another
]  # fmt: skip
"""A history in which every kind of decision takes effect, on notes and on statements; random ones may miss some."""


@settings(max_examples=int(os.environ.get("KOS_HISTORIES", "10")), phases=set(Phase) - {Phase.explain})
@given(steps=STEPS)
@example(
    steps=[("write", 2, 0), ("write", 2, 1), ("resolve", 0, 1), ("write", 0, 0), ("write", 0, 1), ("restore", 2, 1)]
)
@example(steps=TOUR)
@example(steps=[("note", 1, 1), ("note", 0, 1), ("scan", 0, 0), ("other forget", 0, 0), ("scan", 0, 0), ("edit", 0, 3)])
def test_the_files_alone_give_the_same_store(opened: Any, steps: list[tuple[str, int, int]]) -> None:
    """V6: live memories, ends, blocks, edges, verifications and boosts of a rebuild are those of the store that lived
    through it all; and one more scan changes nothing."""
    with TemporaryDirectory() as folder:
        vault = Path(folder) / "vault"
        vault.mkdir()
        with opened(vault) as (found, store):
            world = World(found, store)
            play(world, steps)
            before = told(world)
            report = world.ingest()
            assert (report.statements.settled, report.statements.healed, report.statements.passed) == (0, 0, 0)
            assert told(world) == before
            with opened(vault) as (second, empty):
                ingest_vault(empty, Vectors(), second)
                comparison = compare_stores(store, empty)
                assert [item for item in comparison.findings if item.differing] == []
        shutil.rmtree(vault)


def test_the_tour_leaves_something_to_compare(opened: Any, tmp_path: Path) -> None:
    """The property can fail: the store that is compared holds each kind of thing that a rebuild could lose."""
    vault = tmp_path / "vault"
    vault.mkdir()
    with opened(vault) as (found, store):
        world = World(found, store)
        heard: list[str] = []
        play(world, TOUR, heard.append)
        assert [item for item in heard if item.endswith("refused")] == []
        told = facts(store)
        rows, edges = told["memories"], told["edges"]
        live = [row for row in rows if row["retired"] is None]
        ends = {(row["is_statement"], row["retired"]) for row in rows}
        for is_statement in (False, True):
            kind = [row for row in live if row["is_statement"] is is_statement]
            assert [row for row in kind if row["boost"] != 1], is_statement
            assert [row for row in kind if row["verified_how"] is not None], is_statement
            assert (is_statement, "forgotten") in ends
        assert {"superseded", "undone", "file_deleted"} <= {retired for _, retired in ends}
        assert {row["kind"] for row in edges} >= {"supersedes", "contradicts", "similar_to", "links_to"}
        ids = {row["memory_id"] for row in live}
        assert [row for row in edges if row["kind"] == "contradicts" and {row["src_id"], row["dst_id"]} <= ids]
        assert [row for row in edges if row["veto"] == "restored" and {row["src_id"], row["dst_id"]} <= ids]
        assert {row["code"] for row in told["blocked"]} >= {"not_written_by_gate", "changed_after_write"}
        assert told["reviews"]
