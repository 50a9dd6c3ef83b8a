"""The processes that write under fire: each acknowledges a result only when the gate has given it.

Here: what one process does, from its plan and its seed alone. Not here: starting, killing and judging it.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from kos_assets.domain.principals import OWNER
from kos_assets.errors import InputError, KosError, NotFoundError, StoreUnavailableError
from kos_assets.gate.context import Gate, open_gate
from kos_assets.gate.life import forget, restore
from kos_assets.gate.marks import HOWS, annotate, verify
from kos_assets.gate.statement import Statement, memory_row, statement_file
from kos_assets.gate.write import Result, write_memory
from kos_assets.operations.fire import Place, Told
from kos_assets.operations.fire_embedder import FireEmbedder
from kos_assets.store.database import Store, role_dsn

_SYLLABLES: Final = ("ba", "de", "ki", "lo", "mu", "na", "po", "ri", "su", "ta", "vo", "ze", "fi", "ga", "hu", "je")
_BOOSTS: Final = (0.5, 1.0, 2.0)
_VERBS: Final = ("write",) * 6 + ("verify", "boost", "forget", "forget", "restore", "restore")


@dataclass(frozen=True)
class Wish:
    """One statement to write: `number` names the wish, `subject` what it is about, `value` what it says of it."""

    number: int
    namespace: str
    subject: int
    value: int
    key: str

    def statement(self) -> Statement:
        """As the gate takes it: two wishes of one subject lie near each other, all others far."""
        name = name_of(self.subject)
        text = f"The service {name} listens on port {self.value}."
        return Statement(f"Port of {name}", text, self.namespace, key=self.key, memory_type="semantic")


def name_of(subject: int) -> str:
    """A word for a number, another one for each."""
    word = ""
    while True:
        subject, digit = divmod(subject, len(_SYLLABLES))
        word += _SYLLABLES[digit]
        if not subject:
            return word.capitalize()


def open_child_gate(store: Store, place: Place) -> Gate:
    """The gate, connected, with all loaded that a first write loads, as a process has it that has worked a while."""
    logging.getLogger("psycopg").setLevel(logging.CRITICAL)  # a server killed under it is what the drill is about
    logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)
    gate = open_gate(store, place.settings, FireEmbedder())
    gate.ledger.key()
    memory_row(statement_file(Wish(0, "global", 0, 0, "").statement(), OWNER, datetime.now(UTC)))
    with store.transaction():
        return gate


def write_wishes(place: Place, wishes: Sequence[Wish], told: Path, start: Any) -> None:
    """Write them in their order, all writers together from the moment that `start` (an event) is set."""
    out = Told(told)
    with Store(role_dsn(place.settings, "writer"), pool_size=2) as store:
        gate = open_child_gate(store, place)
        out.say(ready=True)
        start.wait()
        for wish in wishes:
            began = time.perf_counter()
            try:
                result = write_memory(gate, wish.statement(), principal=OWNER, at=datetime.now(UTC))
            except KosError as error:
                out.say(number=wish.number, error=f"{type(error).__name__}: {error.what} {error.why or ''}")
            else:
                out.say(number=wish.number, ms=(time.perf_counter() - began) * 1000, at=time.time(), **plain(result))


def plain(result: Result) -> dict[str, Any]:
    """What is told of a result."""
    superseded = None if result.superseded is None else str(result.superseded)
    return {"id": str(result.memory_id), "action": result.action, "superseded": superseded}


@dataclass
class Life:
    """What a process under kill knows: its dice, the memories of the store, and the wish that was cut off before."""

    seed: int
    first: int
    """Number of its first new subject."""
    live: list[str]
    retired: list[str]
    """Forgotten, superseded or undone ones."""
    again: Wish | None = None
    namespaces: Sequence[str] = field(default=("global",))


def live_on(place: Place, life: Life, told: Path) -> None:
    """Write, verify, weigh, forget and restore at random until killed; a server that is gone ends it too.

    Before each operation it tells what it tries, after it what came of it.
    """
    out = Told(told)
    dice = random.Random(life.seed)  # noqa: S311 - the seed makes a round repeatable
    with Store(role_dsn(place.settings, "writer"), pool_size=2) as store:
        gate = open_child_gate(store, place)
        out.say(ready=True)
        number = 0
        while True:
            number += 1
            trying = _next(dice, life, number)
            out.say(number=number, trying=trying)
            try:
                done = _do(gate, life, trying)
            except (InputError, NotFoundError) as error:
                out.say(number=number, refused=type(error).__name__)
            except StoreUnavailableError:
                out.say(number=number, lost=True)
                return
            else:
                out.say(number=number, done=done)


def _next(dice: random.Random, life: Life, number: int) -> dict[str, Any]:
    if number == 1 and life.again is not None:
        return {"op": "write", "wish": vars(life.again)}
    op = dice.choice(_VERBS)
    known = {"forget": life.live, "verify": life.live, "boost": life.live, "restore": life.retired}.get(op)
    if not known:
        subject = dice.randrange(life.first) if life.first and dice.random() < 0.3 else life.first + number
        namespace = life.namespaces[subject % len(life.namespaces)]
        key = f"{life.seed}:{number}"
        return {"op": "write", "wish": vars(Wish(number, namespace, subject, dice.randrange(1000, 9999), key))}
    trying: dict[str, Any] = {"op": op, "id": dice.choice(known)}
    if op == "boost":
        trying["boost"] = dice.choice(_BOOSTS)
    elif op == "verify":
        trying["how"] = dice.choice(HOWS)
    elif op == "restore":
        trying["instead"] = dice.random() < 0.5
    return trying


def _do(gate: Gate, life: Life, trying: dict[str, Any]) -> dict[str, Any]:
    """One operation, and what it did as the ledger calls it."""
    at = datetime.now(UTC)
    if trying["op"] == "write":
        result = write_memory(gate, Wish(**trying["wish"]).statement(), principal=OWNER, at=at)
        life.live.append(str(result.memory_id))
        if result.superseded is not None:
            life.retired.append(str(result.superseded))
        return {"op": "write", **plain(result)}
    memory_id = UUID(trying["id"])
    if trying["op"] == "verify":
        verify(gate, memory_id, how=trying["how"], principal=OWNER, at=at)
        return {"op": "verify", "id": trying["id"]}
    if trying["op"] == "boost":
        annotate(gate, memory_id, boost=trying["boost"], principal=OWNER, at=at)
        return {"op": "annotate", "id": trying["id"]}
    if trying["op"] == "forget":
        forget(gate, memory_id, principal=OWNER, at=at)
        life.retired.append(trying["id"])
        return {"op": "forget", "id": trying["id"]}
    restore(gate, memory_id, principal=OWNER, at=at, instead=trying["instead"])
    life.live.append(trying["id"])
    return {"op": "restore", "id": trying["id"]}
