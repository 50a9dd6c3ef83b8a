"""Mutation fuzzing of what reads bytes that nobody here wrote: frontmatter, Markdown, mail, calendars (V1, V4, W3, W7).

Here: mutating seeds, running one input under a time limit, keeping what crashed or hung. Not here: how a run is shown.
One input has a limit of CPU time, by the process's own timer, so a run belongs in the main thread.
"""

from __future__ import annotations

import hashlib
import random
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final
from uuid import UUID

from kos_assets.errors import InputError, KosError
from kos_assets.operations.fuzz_seeds import SEEDS, TOKENS

LIMIT_S: Final = 2.0
MOST_BYTES: Final = 48 * 1024
_KEPT = 24  # mutants of one seed that are mutated further
_REPEATS = (2, 8, 64, 512)
_ID = UUID(int=0x0123456789ABCDEF0123456789ABCDEF)

Run = Callable[[bytes], object]


class _Hang(BaseException):
    """The time limit; no parser's own `except Exception` may swallow it."""


class _NotHeldError(Exception):
    """A rule that must hold for every input does not."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An input that crashed or hung a parser: where its bytes are kept (the traceback lies beside them, as .txt)."""

    target: str
    kind: str
    error: str
    input_file: Path
    times: int


@dataclass(frozen=True, slots=True)
class FuzzReport:
    """What one target's run did. `slowest_s` is the CPU time of its slowest input."""

    target: str
    seed: int
    inputs: int
    seconds: float
    slowest_s: float
    findings: tuple[Finding, ...]

    @property
    def per_second(self) -> float:
        """Inputs a second."""
        return self.inputs / self.seconds if self.seconds else 0.0


def targets() -> Mapping[str, Callable[[], Run]]:
    """What can be fuzzed, by name; each value imports its parser and gives what runs one input."""
    return {
        "frontmatter": _frontmatter,
        "markdown": _markdown,
        "canvas": _canvas,
        "mail": _mail,
        "calendar": _calendar,
    }


def fuzz(
    name: str,
    *,
    seconds: float,
    seed: int,
    folder: Path,
    limit_s: float = LIMIT_S,
    run: Run | None = None,
    tell: Callable[[int], None] | None = None,
) -> FuzzReport:
    """Feed mutants of the built-in seeds to one parser for `seconds`; the same `seed` gives the same inputs.

    An expected refusal (KosError) is no finding. Of findings at one place in the code the first is kept in `folder`,
    the others are counted. `run` replaces the parser. Raises InputError for an unknown name.
    """
    known = targets()
    if name not in known:
        raise InputError(f"There is no fuzz target {name!r}.", fix=f"Use one of {', '.join(known)}, or all.")
    run = run or known[name]()
    keeper = _Keeper(name, seed, folder)
    inputs, slowest = 0, 0.0
    started = time.monotonic()
    with _alarm():
        for data in mutants(SEEDS[name], TOKENS[name], random.Random(f"{name}:{seed}")):  # noqa: S311 - repeatable on purpose
            spent = time.process_time()
            try:
                with _limit(limit_s):
                    run(data)
            except KosError:
                pass
            except _Hang as hang:
                keeper.keep("hang", data, inputs, hang)
            except Exception as error:  # a crash of any kind is what is looked for, and is kept
                keeper.keep("crash", data, inputs, error)
            slowest = max(slowest, time.process_time() - spent)
            inputs += 1
            if tell is not None and inputs % 1000 == 0:
                tell(inputs)
            if time.monotonic() - started >= seconds:
                break
    return FuzzReport(name, seed, inputs, time.monotonic() - started, slowest, keeper.findings())


def mutants(seeds: tuple[bytes, ...], tokens: tuple[bytes, ...], dice: random.Random) -> Iterator[bytes]:
    """The seeds themselves, then mutants of them and of earlier mutants, for ever; each at most MOST_BYTES long."""
    yield from seeds
    pool = list(seeds)
    while True:
        data = dice.choice(pool)
        for _ in range(1 + min(int(dice.expovariate(0.5)), 12)):
            data = dice.choice(_MUTATIONS)(data, pool, tokens, dice)[:MOST_BYTES]
        yield data
        if dice.random() < 0.02:
            if len(pool) < len(seeds) + _KEPT:
                pool.append(data)
            else:
                pool[len(seeds) + dice.randrange(_KEPT)] = data


Mutation = Callable[[bytes, list[bytes], tuple[bytes, ...], random.Random], bytes]


def _flip(data: bytes, _pool: list[bytes], _tokens: tuple[bytes, ...], dice: random.Random) -> bytes:
    at = dice.randrange(len(data) + 1)
    return data[:at] + bytes([dice.randrange(256)]) + data[at + 1 :]


def _insert(data: bytes, _pool: list[bytes], tokens: tuple[bytes, ...], dice: random.Random) -> bytes:
    at = dice.randrange(len(data) + 1)
    return data[:at] + dice.choice(tokens) + data[at:]


def _repeat(data: bytes, _pool: list[bytes], tokens: tuple[bytes, ...], dice: random.Random) -> bytes:
    at = dice.randrange(len(data) + 1)
    return data[:at] + dice.choice(tokens) * dice.choice(_REPEATS) + data[at:]


def _double(data: bytes, _pool: list[bytes], _tokens: tuple[bytes, ...], dice: random.Random) -> bytes:
    start, end = sorted((dice.randrange(len(data) + 1), dice.randrange(len(data) + 1)))
    return data[:end] + data[start : min(end, start + 400)] * dice.choice(_REPEATS[:3]) + data[end:]


def _cut(data: bytes, _pool: list[bytes], _tokens: tuple[bytes, ...], dice: random.Random) -> bytes:
    at = dice.randrange(len(data) + 1)
    return data[:at] + data[at + dice.choice((1, 2, 7, 40, 300)) :]


def _truncate(data: bytes, _pool: list[bytes], _tokens: tuple[bytes, ...], dice: random.Random) -> bytes:
    return data[: dice.randrange(len(data) + 1)]


def _splice(data: bytes, pool: list[bytes], _tokens: tuple[bytes, ...], dice: random.Random) -> bytes:
    other = dice.choice(pool)
    return data[: dice.randrange(len(data) + 1)] + other[dice.randrange(len(other) + 1) :]


def _lines(data: bytes, _pool: list[bytes], _tokens: tuple[bytes, ...], dice: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    if len(lines) > 1:
        one, two = dice.randrange(len(lines)), dice.randrange(len(lines))
        lines[one], lines[two] = lines[two], lines[one]
    return b"".join(lines)


_MUTATIONS: Final[tuple[Mutation, ...]] = (_flip, _insert, _insert, _repeat, _double, _cut, _truncate, _splice, _lines)


class _Keeper:
    """One file per distinct place of failure."""

    def __init__(self, target: str, seed: int, folder: Path) -> None:
        self.target = target
        self.seed = seed
        self.folder = folder
        self.places: dict[tuple[str, ...], tuple[Finding, int]] = {}

    def keep(self, kind: str, data: bytes, number: int, error: BaseException) -> None:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
        last = frames[-1] if frames else None
        place = (kind, type(error).__name__, *([last.filename, last.name] if last else []))
        if kind == "hang":  # where the timer struck is chance: the parser's outermost function names it
            place = (kind, frames[0].name if frames else "")
        if place in self.places:
            finding, times = self.places[place]
            self.places[place] = (finding, times + 1)
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / f"{self.target}-{kind}-{hashlib.sha256(data).hexdigest()[:12]}.bin"
        file.write_bytes(data)
        text = "".join(traceback.format_exception(error))
        file.with_suffix(".txt").write_text(f"target {self.target}, seed {self.seed}, input {number}\n{text}", "utf-8")
        said = f"{type(error).__name__}: {error}" if kind == "crash" else "no end within the time limit"
        self.places[place] = (Finding(self.target, kind, said[:200], file, 1), 1)

    def findings(self) -> tuple[Finding, ...]:
        return tuple(
            Finding(item.target, item.kind, item.error, item.input_file, times) for item, times in self.places.values()
        )


@contextmanager
def _alarm() -> Iterator[None]:
    def strike(_number: int, _frame: FrameType | None) -> None:
        raise _Hang

    before = signal.signal(signal.SIGPROF, strike)
    try:
        yield
    finally:
        signal.signal(signal.SIGPROF, before)


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _frontmatter() -> Run:
    """Parsing, and the stamp: in and out again gives the bytes back, and says the same beside the id (V2)."""
    from kos_assets.vault import frontmatter
    from kos_assets.vault.stamp import stamped, unstamped
    from kos_assets.vault.textcode import to_utf8

    def run(data: bytes) -> None:
        clean = to_utf8(data).data
        head = frontmatter.parse(clean)
        new = stamped(data, _ID)
        if new is None:
            return
        if unstamped(new) != unstamped(data):
            raise _NotHeldError("the stamp does not come out again")
        if frontmatter.parse(new).properties != {**head.properties, "kos_id": str(_ID)}:
            raise _NotHeldError("the stamp changed what the properties say")

    return run


def _markdown() -> Run:
    """A whole note: encodings, frontmatter, structure, dates."""
    from kos_assets.vault.note import ParsedNote, parse_note

    def run(data: bytes) -> None:
        note = parse_note("Notes/2026-03-04 fuzz.md", data)
        lines = data.count(b"\n") + data.count(b"\r") + 1
        if isinstance(note, ParsedNote) and any(heading.line > lines for heading in note.headings):
            raise _NotHeldError("a heading lies below the end of the file")

    return run


def _canvas() -> Run:
    """A whole board."""
    from kos_assets.vault.note import parse_note

    return lambda data: parse_note("Boards/fuzz.canvas", data)


def _mail() -> Run:
    from kos_assets.writers.mail import parse_message

    return parse_message


def _calendar() -> Run:
    from kos_assets.writers.calendar import parse_event

    return parse_event
