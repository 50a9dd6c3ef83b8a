"""Which repository a checkout belongs to, and that it stays that one when it gains a commit or a remote (W5, V2).

Here: the identity of a repository, and the record of those that were given. Not here: finding checkouts (checkouts.py).
An identity is the remote; else the first commit; else the folder. A repository begins with the last and gains the
others, so that the one that it was given first is kept, for all of its clones on this machine.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from kos_assets.writers.agents import git

_TIMEOUT_S: Final = 20.0
_LARGEST: Final = 4 << 20
_WEAK: Final = ("folder:", "commit:")


class Identities:
    """The identities of one mirror, in a file of the data folder; a missing or broken one is an empty one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._given, self._kept = _read(path)
        self._before = (dict(self._given), dict(self._kept))
        self._found: dict[tuple[str, str], str] = {}
        self._names: dict[str, str] = {}

    def of(self, remote: str, root: str, shared: str) -> str:
        """The repository of a checkout at `root` with its common git folder `shared`."""
        place = shared or root
        known = self._found.get((remote, place))
        if known is None:
            known = self._found[remote, place] = self._resolve(remote, root, place)
        return known

    def name(self, identity: str) -> str:
        """What people call it: `host/owner/name`, or the name of its folder where it has no remote."""
        return self._names.get(identity, identity)

    def save(self) -> None:
        """Remember what was given. Raises OSError."""
        if (self._given, self._kept) == self._before:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(json.dumps({"given": self._given, "kept": self._kept}, indent=1, sort_keys=True), "utf-8")
        temporary.replace(self._path)
        self._before = (dict(self._given), dict(self._kept))

    def _resolve(self, remote: str, root: str, place: str) -> str:
        now = remote or _first_commit(root, place) or _folder(place)
        before = self._given.get(place, "")
        if now.startswith("folder:") and before:
            now = before  # its git folder is gone, or git was too slow: what was known of it counts
        if before.startswith(_WEAK) and before != now and _still(before, root, place):
            self._kept.setdefault(now, self._kept.get(before, before))
        self._given[place] = now
        identity = self._kept.get(now, now)
        called = os.path.basename(place.removesuffix("/.git")) or "repository"  # noqa: PTH119 - a text, not a path
        if remote and not remote.startswith("/"):
            self._names[identity] = remote
        else:
            self._names.setdefault(identity, called)
        return identity


def _still(before: str, root: str, place: str) -> bool:
    """Whether what stands at `place` is what was known as `before`, and not another repository at the same place."""
    return before == _folder(place) or before == f"commit:{_first_commit(root, place).removeprefix('commit:')}"


def _first_commit(root: str, place: str) -> str:
    """`commit:<id>`, asked in the checkout, else in its git folder; empty where there is none that can be told."""
    for folder in (Path(root), Path(place)):
        if not folder.is_dir():
            continue
        with suppress(git.GitError):
            if git.answer(folder, ["rev-parse", "--is-shallow-repository"], timeout_s=_TIMEOUT_S) == "true":
                return ""
            found = git.answer(folder, ["rev-list", "--max-parents=0", "HEAD", "--"], timeout_s=_TIMEOUT_S)
            if found:
                return f"commit:{found.split(chr(10))[-1]}"
    return ""


def _folder(place: str) -> str:
    folder = place.removesuffix("/.git")
    return f"folder:{hashlib.sha256(folder.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}"


def _read(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    with suppress(OSError, ValueError, RecursionError):
        if path.stat().st_size <= _LARGEST:
            found = json.loads(path.read_text("utf-8"))
            parts = (found.get("given"), found.get("kept")) if isinstance(found, dict) else (None, None)
            return _texts(parts[0]), _texts(parts[1])
    return {}, {}


def _texts(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {key: text for key, text in value.items() if isinstance(key, str) and isinstance(text, str)}
