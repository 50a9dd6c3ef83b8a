"""The agents' files as one source: which version of each counts, and what may be taken for gone (W1, W5).

Here: spool against commits against the standing note. Not here: the spool (spool.py), repositories (checkouts.py,
history.py), the look of a note (notes.py).

The newest version wins. A version whose text the note has already keeps the note's facts (commit, session), so that two
clones of one repository, or the hook and the commit that follows, do not write it anew in turns. A version older than
the note's is left out. A file is gone only when a commit deleted it and no searched checkout has it.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from kos_assets.writers.agents import capture, checkouts, git, history, notes
from kos_assets.writers.agents.checkouts import Checkout
from kos_assets.writers.agents.history import History
from kos_assets.writers.agents.identities import Identities
from kos_assets.writers.agents.notes import Facts, Place, Standing
from kos_assets.writers.agents.spool import Spool, Waiting
from kos_assets.writers.contract import Entry, Skipped

_MADE_AS: Final = "1"
_NOTHING: Final = "nothing to do"


@dataclass
class _Known:
    """What one run has learned before it yields notes: newest versions by external id, and who stands behind them."""

    standing: dict[str, Standing]
    waiting: dict[str, tuple[Place, Waiting]] = field(default_factory=dict)
    walked: dict[str, list[tuple[Checkout, History]]] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)


class AgentSource:
    """What the hook left in the spool, and what commits say of the repositories below some folders."""

    def __init__(
        self, *, agent: str, name: str, folder: str, repositories: tuple[Path, ...], vault: Path, data_dir: Path,
        zone: ZoneInfo,
    ) -> None:  # fmt: skip
        self._agent, self._name, self._folder, self._zone = agent, name, folder, zone
        self._vault, self._repositories = vault, repositories
        self._own = (vault.resolve(), data_dir.resolve())
        self._spool = Spool(data_dir)
        self._used: list[str] = []
        self._broken: list[str] = []
        self._identities = Identities(data_dir / "mirrors" / f"{name}.repositories.json")

    @property
    def complete(self) -> bool:
        """With a walker, what it does not find may be gone; the spool alone never says so."""
        return bool(self._repositories)

    def fingerprint(self) -> str | None:
        """What waits, and every checkout's branch and commit; None where only git can tell those."""
        digest = hashlib.sha256(_MADE_AS.encode())
        for name, size in self._spool.names():
            digest.update(f"\0{name}\0{size}".encode())
        for checkout in self._checkouts():
            if isinstance(checkout, Checkout) and not checkout.told:
                return None
            digest.update(f"\0{checkout}".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    def entries(self) -> Iterator[Entry]:
        """W5: every file once, in its newest version."""
        self._used, self._broken = [], []
        names = [name for name, _ in self._spool.names()]
        if not names and not self._repositories:
            return
        known = _Known(notes.standing_notes(self._vault, self._folder, self._name))
        yield from self._look_at_spool(known, names)
        yield from self._look_at_repositories(known)
        yield from self._notes(known)
        if self.complete:
            yield from _not_gone(known)

    def settle(self) -> None:
        """Every note is written: the spool lets go of what was read, but for notes that a person changed."""
        self._identities.save()
        self._spool.take_away(self._used, self._broken)

    def _look_at_spool(self, known: _Known, names: list[str]) -> Iterator[Skipped]:
        for name in names:
            found = self._spool.read(name)
            if isinstance(found, Skipped):
                self._broken.append(name)
                yield found
                continue
            if found.agent != self._agent:
                reason, fix = f"agent {found.agent} wrote it", f'set up a mirror with agent = "{found.agent}"'
                yield Skipped(f"spool/{name}", "other_agent", reason, fix, f"spool/{name}", counts=False)
                continue
            place = Place(self._identities.of(found.remote, found.root, found.git), found.path)
            before = known.waiting.get(place.external_id)
            if before is not None:  # names are in order of time
                self._used.append(before[1].name)
            known.waiting[place.external_id] = (place, found)

    def _look_at_repositories(self, known: _Known) -> Iterator[Skipped]:
        for checkout in self._checkouts():
            if isinstance(checkout, Skipped):
                yield checkout
                continue
            if checkout.told and not checkout.commit:
                continue  # nothing is committed yet
            shared = capture.common_folder(capture.git_folder(str(checkout.root)) or str(checkout.root))
            identity = self._identities.of(checkout.remote, str(checkout.root), shared)
            try:
                past = history.read(checkout.root, checkout.commit or "HEAD", self._agent)
            except git.GitError as error:
                known.failed.add(identity)
                fix = "mend the repository (`git -C ... log` shows it), or leave it out of repositories"
                yield Skipped(str(checkout.root), "git_failed", f"git: {error}", fix, str(checkout.root))
                continue
            known.walked.setdefault(identity, []).append((checkout, past.without(self._own)))

    def _notes(self, known: _Known) -> Iterator[Entry]:
        for identity in sorted(known.walked):
            newest = _newest(known, identity)
            for number in range(len(known.walked[identity])):
                paths = sorted(path for path, chosen in newest.items() if chosen == number)
                if paths:
                    yield from self._committed(known, identity, number, paths)
        for external_id, (place, waiting) in sorted(known.waiting.items()):
            if external_id not in known.told:
                yield from self._waited(known, place, waiting)

    def _committed(self, known: _Known, identity: str, number: int, paths: list[str]) -> Iterator[Entry]:
        """The files of one checkout whose committed version is the newest."""
        checkout, past = known.walked[identity][number]
        repository = self._identities.name(identity)
        try:
            contents = history.blobs(checkout.root, [past.blobs[path] for path in paths])
            for path, data in zip(paths, contents, strict=True):
                place, event = Place(identity, path), past.events.get(path)
                waiting = known.waiting.get(place.external_id, (place, None))[1]
                at = event.at if event is not None else datetime.fromtimestamp(0, UTC)
                if waiting is not None and (_moment(waiting) > at or not isinstance(data, bytes)):
                    continue
                known.told.add(place.external_id)
                if waiting is not None:
                    self._settles(known, place, waiting)
                    if isinstance(data, bytes) and self._same(waiting, data):
                        yield from self._version(known, place, repository, data, self._facts_of(waiting))
                        continue
                facts = Facts(at, at.isoformat()[-6:], checkout.branch, "" if event is None else event.commit,
                              self._agent, "" if event is None else event.session)  # fmt: skip
                yield from self._version(known, place, repository, data, facts)
        except git.GitError as error:
            known.failed.add(identity)
            yield Skipped(str(checkout.root), "git_failed", f"git: {error}", "run it again", str(checkout.root))

    def _waited(self, known: _Known, place: Place, waiting: Waiting) -> Iterator[Entry]:
        data = waiting.too_large or self._spool.content(waiting.name)
        self._settles(known, place, waiting)
        repository = self._identities.name(place.identity)
        yield from self._version(known, place, repository, data, self._facts_of(waiting))

    def _version(
        self, known: _Known, place: Place, repository: str, data: bytes | int | None, facts: Facts
    ) -> Iterator[Entry]:
        """One version of a file against the note that stands."""
        standing = known.standing.pop(place.external_id, None)
        if not isinstance(data, bytes):
            yield _unread(place, data)
            return
        if standing is not None and standing.facts is not None:
            if standing.digest == notes.digest_of(data):
                facts = standing.facts
            elif facts.at < standing.facts.at:
                reason = "the note is of a later version"
                yield Skipped(place.origin, "older_version", reason, _NOTHING, standing.origin, counts=False)
                return
        yield notes.item_of(place, repository, data, facts)

    def _settles(self, known: _Known, place: Place, waiting: Waiting) -> None:
        standing = known.standing.get(place.external_id)
        if standing is None or not standing.edited:
            self._used.append(waiting.name)

    def _same(self, waiting: Waiting, data: bytes) -> bool:
        content = self._spool.content(waiting.name)
        return content is not None and notes.digest_of(content) == notes.digest_of(data)

    def _facts_of(self, waiting: Waiting) -> Facts:
        at = _moment(waiting).astimezone(self._zone)
        return Facts(at, self._zone.key, waiting.branch, waiting.commit, waiting.agent, waiting.session)

    def _checkouts(self) -> Iterator[Checkout | Skipped]:
        return checkouts.found(self._repositories, without=self._own)


def _newest(known: _Known, identity: str) -> dict[str, int]:
    """Which checkout of a repository has the newest version of each of the agent's paths."""
    newest: dict[str, int] = {}
    times: dict[str, datetime] = defaultdict(lambda: datetime.fromtimestamp(0, UTC))
    for number, (_, past) in enumerate(known.walked[identity]):
        for path in past.blobs:
            if not past.of_agent(path) and Place(identity, path).external_id not in known.standing:
                continue
            event = past.events.get(path)
            if path not in newest or (event is not None and event.at > times[path]):
                newest[path] = number
                times[path] = event.at if event is not None else times[path]
    return newest


def _not_gone(known: _Known) -> Iterator[Skipped]:
    """The notes that gave no item and yet are not gone: said one by one, so that the mirror leaves them as they are."""
    for standing in known.standing.values():
        past = known.walked.get(standing.identity, [])
        if not past or standing.identity in known.failed:
            code, reason = "not_walked", "its repository is not among those that were searched"
        elif any(os.path.lexists(checkout.root / standing.path) for checkout, _ in past):
            code, reason = "not_committed", "the file is there, and not in the last commit"
        elif not any(one.says_deleted(standing.path) for _, one in past):
            code, reason = "other_branch", "no commit of the searched branches deleted it"
        else:
            continue
        yield Skipped(standing.origin, code, reason, _NOTHING, standing.origin, counts=False)


def _moment(waiting: Waiting) -> datetime:
    """When the hook saw it, in whole seconds."""
    return datetime.fromtimestamp(waiting.at_ns // 1_000_000_000, UTC)


def _unread(place: Place, data: int | None) -> Skipped:
    if data is None:
        return Skipped(place.origin, "unreadable_file", "its content is not there", "run it again", place.origin)
    reason = f"it has {data} bytes; the limit is {capture.LARGEST_FILE}"
    return Skipped(place.origin, "too_large", reason, "split the file", place.origin)
