"""The ledger of decisions: `.kos/ledger/<machine>/<YYYY-MM>.jsonl`, one writer per file (V6).

Here: appending records so that a crash or a second process loses none, and reading them back. Not here: what they mean
(domain/decisions.py). A record holds ids, codes and keyed hashes, never the text of a memory (S11).
"""

from __future__ import annotations

import fcntl
import hmac
import json
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from kos_assets.domain.decisions import MOST_SEQ, RESERVED, Decision, Op, flaw
from kos_assets.errors import InputError, VaultError
from kos_assets.vault import files
from kos_assets.vault.problems import Problem

LEDGER: Final = ".kos/ledger"
_MACHINE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?\Z")
_MONTH = re.compile(r"(\d{4}-(?:0[1-9]|1[0-2]))\.jsonl\Z")
_TAIL: Final = 1 << 16
_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_UNREADABLE: Final = (ValueError, KeyError, TypeError, OverflowError, RecursionError)


@dataclass(frozen=True)
class LedgerFile:
    """One file of the ledger as it stands; `path` is relative to the vault, size in bytes."""

    machine: str
    month: str
    path: str
    size: int
    mtime_ns: int


@dataclass(frozen=True)
class Entry:
    """A record to append: what, about what, and the op's own fields."""

    op: Op
    subject: str
    body: dict[str, Any]


def machine_name(data_dir: Path) -> str:
    """The stable random name of this installation, such as `m-3f9c2a71`, made at its first use. Two at once agree.

    Raises VaultError when it cannot be read or made.
    """
    path = data_dir / "machine"
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            return _checked_name(path)
        temporary = data_dir / f".machine.{os.getpid()}.{secrets.token_hex(4)}"
        with temporary.open("xb") as file:
            file.write(f"m-{secrets.token_hex(4)}\n".encode())
            file.flush()
            os.fsync(file.fileno())
        try:
            with suppress(FileExistsError):
                os.link(temporary, path)
        finally:
            temporary.unlink()
        return _checked_name(path)
    except OSError as error:
        raise VaultError(
            f"{path} cannot be read or made.",
            why=error.strerror or str(error),
            fix="Give this user the right to write there, or free some space.",
        ) from error


def _checked_name(path: Path) -> str:
    name = path.read_bytes().decode("utf-8", "replace").strip()
    if not _MACHINE.match(name):
        raise VaultError(
            f"{path} does not hold the name of a machine.",
            why="It names the folder of the ledger that this installation writes.",
            fix="Write the name of its folder below .kos/ledger/ into it, or delete it to start a new folder.",
        )
    return name


def keyed_hash(key: bytes, text: str) -> str:
    """HMAC-SHA256 of a text, hex: tells whether a text is the one that was meant, without holding it."""
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), "sha256").hexdigest()


class Ledger:
    """The ledger of one vault, as one machine writes it. Safe between threads and processes of that machine."""

    def __init__(self, root: Path, machine: str) -> None:
        self.root = root
        self.machine = machine
        self._key: bytes | None = None

    def append(self, op: Op, subject: str, *, by: str, at: datetime, **body: Any) -> Decision:
        """Record one decision; it is on disk when this returns. Raises VaultError, and InputError as `append_many`."""
        return self.append_many([Entry(op, subject, body)], by=by, at=at)[0]

    def append_many(self, entries: Sequence[Entry], *, by: str, at: datetime) -> list[Decision]:
        """Record several in one write, all or none. Time never goes backwards: a clock that does is overruled by the
        last record, in whatever month that is.

        Raises VaultError, and InputError for what could not be read back: a time without zone, a body that is no plain
        JSON or holds a name of the record's own.
        """
        if at.tzinfo is None:
            raise InputError("The time of a decision has no zone, so it names no instant (S10).")
        if not entries:
            return []
        with _mapped(LEDGER), self._locked():
            months = [file.month for file in ledger_files(self.root) if file.machine == self.machine]
            month = max([f"{at.astimezone(UTC):%Y-%m}", *months])
            path = f"{LEDGER}/{self.machine}/{month}.jsonl"
            with files.parent_of(self.root, path, create=True) as (folder, name):
                descriptor = os.open(name, _APPEND, 0o644, dir_fd=folder)
                try:
                    last, torn = _last_record(descriptor, self.machine)
                    floor = last or self._last_before(month, months)
                    moment = at.astimezone(UTC) if floor is None else max(at.astimezone(UTC), floor[1])
                    made = self._decisions(entries, month, 0 if last is None else last[0], by=by, at=moment)
                    lines = ("\n" if torn else "") + "".join(_line(decision) for decision in made)
                    _write_whole(descriptor, lines.encode())
                finally:
                    os.close(descriptor)
                if last is None:
                    os.fsync(folder)
        return made

    def key(self) -> bytes:
        """The key of this machine's keyed hashes: in the vault, beside its files, made at its first use."""
        if self._key is None:
            path = f"{LEDGER}/{self.machine}/key"
            with _mapped(path), self._locked():
                found = _read_small(self.root, path)
                if found is None:
                    files.replace_text(self.root, path, f"{secrets.token_hex(32)}\n")
                    found = _read_small(self.root, path)
            self._key = _parsed_key(path, found or b"")
        return self._key

    def _decisions(self, entries: Sequence[Entry], month: str, last: int, *, by: str, at: datetime) -> list[Decision]:
        made = [
            Decision(self.machine, month, number, at, by, entry.op, entry.subject, dict(entry.body))
            for number, entry in enumerate(entries, start=last + 1)
        ]
        for decision in made:
            if found := flaw(decision):
                raise InputError("A decision cannot be recorded.", why=f"In {str(decision.op)[:20]!r}, {found}.")
        return made

    def _last_before(self, month: str, months: Sequence[str]) -> tuple[int, datetime] | None:
        """The last record of the months before."""
        for earlier in sorted((item for item in months if item < month), reverse=True):
            with files.parent_of(self.root, f"{LEDGER}/{self.machine}/{earlier}.jsonl") as (folder, name):
                descriptor = files.open_file(folder, name)
                try:
                    last, _ = _last_record(descriptor, self.machine)
                finally:
                    os.close(descriptor)
            if last is not None:
                return last
        return None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer of this machine at a time, across months."""
        with files.parent_of(self.root, f"{LEDGER}/{self.machine}/key", create=True) as (folder, _):
            fcntl.flock(folder, fcntl.LOCK_EX)  # ends with the descriptor
            yield


def keys(root: Path) -> dict[str, bytes]:
    """The key of every machine whose folder stands in the vault. Raises VaultError for one that is damaged."""
    found = {}
    for machine in _machines(root):
        path = f"{LEDGER}/{machine}/key"
        with _mapped(path):
            data = _read_small(root, path)
        if data is not None:
            found[machine] = _parsed_key(path, data)
    return found


def ledger_files(root: Path) -> list[LedgerFile]:
    """Every file of the ledger, by machine and month: a stat each. Raises VaultError."""
    found = []
    for machine in _machines(root):
        folder = root / LEDGER / machine
        with _mapped(f"{LEDGER}/{machine}"), os.scandir(folder) as entries:
            for entry in entries:
                month = _MONTH.match(entry.name)
                if month and entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    path = f"{LEDGER}/{machine}/{entry.name}"
                    found.append(LedgerFile(machine, month[1], path, status.st_size, status.st_mtime_ns))
    return sorted(found, key=lambda file: (file.machine, file.month))


def read_ledger(root: Path, file: LedgerFile, *, offset: int = 0) -> tuple[list[Decision], int, list[Problem]]:
    """The records of a file from a byte offset on, where its last whole line ends, and what is wrong with its lines.

    A line that is torn, damaged, of a newer version or of another machine is reported and left out; the others count.
    The last record counts when only the end of its line is missing. An offset that no line ends at (the file was
    replaced) means the whole file. Raises VaultError.
    """
    with _mapped(file.path), files.parent_of(root, file.path) as (folder, name):
        descriptor = files.open_file(folder, name)
        try:
            data = files.read_descriptor(descriptor, file.size, 1 << 40)
        finally:
            os.close(descriptor)
    if offset and data[offset - 1 : offset] != b"\n":
        offset = 0
    *lines, tail = data[offset:].split(b"\n")
    found: dict[int, Decision] = {}
    problems: list[Problem] = []
    for number, line in enumerate([*lines, tail], start=data.count(b"\n", 0, offset) + 1):
        record = _parsed(line, file) if line.strip() else None
        if isinstance(record, Decision) and found.setdefault(record.seq, record) != record:
            record = f"another record has its number, {record.seq}"
        if isinstance(record, str):
            fix = "restore the line from git, or update Knowledge OS if a newer version wrote it"
            problems.append(Problem("ledger_damaged", number, record, fix))
    return list(found.values()), len(data) - len(tail), problems


def _machines(root: Path) -> list[str]:
    folder = root / LEDGER
    try:
        with os.scandir(folder) as entries:
            found = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unreadable(LEDGER, error) from error
    return sorted(name for name in found if _MACHINE.match(name))


def _line(decision: Decision) -> str:
    record = {
        "seq": decision.seq,
        "at": decision.at.isoformat(timespec="microseconds"),
        "machine": decision.machine,
        "by": decision.by,
        "op": decision.op,
        "subject": decision.subject,
        **decision.body,
    }
    return json.dumps(record, ensure_ascii=False, separators=(", ", ": ")) + "\n"


def _parsed(line: bytes, file: LedgerFile) -> Decision | str:
    """The record of a line, or what is wrong with it."""
    try:
        record = json.loads(line.decode())
        at = datetime.fromisoformat(record["at"])
        moment = at.astimezone(UTC)
        seq, by, op, subject = record["seq"], record["by"], record["op"], record["subject"]
    except _UNREADABLE:
        return "the line is no whole record"
    if record.get("machine") != file.machine:
        return "the record is of another machine than its folder"
    if at.tzinfo is None:
        return "the record's time has no zone"
    body = {name: value for name, value in record.items() if name not in RESERVED}
    decision = Decision(file.machine, file.month, seq, moment, by, op, subject, body)
    return flaw(decision) or decision


def _last_record(descriptor: int, machine: str) -> tuple[tuple[int, datetime] | None, bool]:
    """Number and time of a machine's last record in an open file, and whether the file's last line lacks its end."""
    size = os.fstat(descriptor).st_size
    reach = _TAIL
    while True:
        start = max(0, size - reach)
        data = os.pread(descriptor, size - start, start)
        lines = data.split(b"\n")
        for line in reversed(lines if start == 0 else lines[1:]):
            record = _place(line, machine)
            if record is not None:
                return record, bool(lines[-1])
        if start == 0:
            return None, bool(lines[-1])
        reach *= 8


def _place(line: bytes, machine: str) -> tuple[int, datetime] | None:
    """Number and time of a line, whatever its op."""
    try:
        record = json.loads(line.decode())
        at, seq = datetime.fromisoformat(record["at"]), int(record["seq"])
        ours = record["machine"] == machine and at.tzinfo is not None and 1 <= seq < MOST_SEQ
        return (seq, at.astimezone(UTC)) if ours else None
    except _UNREADABLE:
        return None


def _read_small(root: Path, path: str) -> bytes | None:
    try:
        with files.parent_of(root, path) as (folder, name):
            descriptor = files.open_file(folder, name)
            try:
                return files.read_descriptor(descriptor, 0, 4096)
            finally:
                os.close(descriptor)
    except FileNotFoundError:
        return None


def _parsed_key(path: str, data: bytes) -> bytes:
    try:
        key = bytes.fromhex(data.decode("ascii").strip())
    except ValueError:
        key = b""
    if len(key) < 16:
        raise VaultError(
            f"{path} in the vault is damaged.",
            why="Without it nobody can tell which files the gate wrote.",
            fix="Restore it from git or a backup.",
        )
    return key


def _write_whole(descriptor: int, data: bytes) -> None:
    """Append and flush, or leave the file as it was: OSError."""
    size = os.fstat(descriptor).st_size
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    except OSError:
        with suppress(OSError):
            os.ftruncate(descriptor, size)
        raise


@contextmanager
def _mapped(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: OSError) -> VaultError:
    return VaultError(
        f"{path} in the vault cannot be read or written.",
        why=error.strerror or str(error),
        fix="Give this user the right to it, free some space, or mend the drive; nothing was changed.",
    )
