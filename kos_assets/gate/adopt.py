"""A person takes over a file that the gate did not write, or not like this (V9): recorded, then a row like any."""

from __future__ import annotations

from datetime import datetime

from kos_assets.domain.decisions import MemoryState, fold
from kos_assets.domain.principals import Principal
from kos_assets.errors import AuthorityError, InputError, NotFoundError
from kos_assets.gate.accept import judge_file
from kos_assets.gate.context import Gate
from kos_assets.gate.heal import heal
from kos_assets.gate.life import Change
from kos_assets.gate.settle import settle_statements
from kos_assets.store import decisions, memories
from kos_assets.store import notes as store_notes
from kos_assets.store.database import Session
from kos_assets.vault import ledger
from kos_assets.vault.ledger import keyed_hash
from kos_assets.vault.memory_file import StatementFile, digest_text, is_reserved, memory_path, parse
from kos_assets.vault.problems import Problem, Unreadable
from kos_assets.vault.scan import FileStat, read


def adopt_file(gate: Gate, path: str, *, principal: Principal, at: datetime) -> Change:
    """Accept a refused file as it stands, as the owner (V9). Raises AuthorityError, NotFoundError, InputError."""
    if principal.role != "owner":
        raise AuthorityError("Only the owner adopts files.", why="File access to the vault is owner authority (V9).")
    if not is_reserved(path):
        raise InputError(f"{path} is an ordinary note.", why="Only files of statements, below memories/, are adopted.")
    try:
        status = (gate.root / path).lstat()
    except OSError as error:
        raise NotFoundError(f"There is no file {path} in the vault.", why=error.strerror) from error
    stat = FileStat(path, status.st_size, status.st_mtime_ns)
    data = read(gate.root, stat)
    file = data if isinstance(data, Unreadable) else parse(path, data)
    if isinstance(file, Problem | Unreadable):
        raise InputError(f"{path} cannot be read as a memory.", why=file.reason, fix=file.fix)
    if memory_path(file.namespace, file.memory_id) != path:
        raise InputError(
            f"{path} does not lie where its memory belongs.",
            why=f"Its place is {memory_path(file.namespace, file.memory_id)}.",
            fix="Move it there, or mend kos_memory and namespace in it.",
        )
    with gate.store.transaction(pipeline=True) as session:
        memories.lock_namespace(session, file.namespace)
        before = judge_file(stat, file, _states(session, file), keys=ledger.keys(gate.root))
        if before.code == "erased":
            raise InputError("What that file holds was erased for good (S11).", fix="Delete the file.")
        if before.state != "refused":
            raise InputError(f"{path} is {before.state} already.")
        twin = memories.by_key(session, file.key)
        if twin is not None and twin["memory_id"] != file.memory_id:
            raise InputError(
                f"{path} carries the key of another memory, {twin['memory_id']}.",
                why="A key names one write (G5): the file is a copy.",
                fix="Give it a key of its own in its frontmatter, or delete the copy.",
            )
        digest = keyed_hash(gate.ledger.key(), digest_text(file))
        body = {"namespace": file.namespace, "digest": digest}
        cut = before.state_of is not None and before.state_of.written is not None and before.state_of.supersedes is None
        if file.supersedes is not None and not cut:  # a restore has cut the two apart: an edit does not join them again
            body["supersedes"] = str(file.supersedes)
        record = gate.ledger.append("adopt", str(file.memory_id), by=principal.name, at=at, **body)
        decisions.record(session, [record], settled=True)
        judged = judge_file(stat, file, _states(session, file), keys=ledger.keys(gate.root))
        heal(session, [judged], at=record.at)
        decisions.keep_memory_files(session, [judged.entry()])
        store_notes.quarantine(session, [path], [])
        settle_statements(session, [file.memory_id], at=record.at, by=principal.name, note="adopted")
    return Change(file.memory_id, "adopt", "accepted as it stands")


def _states(session: Session, file: StatementFile) -> dict[str, MemoryState]:
    return fold(decisions.of_subjects(session, [str(file.memory_id)]))
