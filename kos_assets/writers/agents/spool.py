"""The hook's spool, read: which versions of which files wait there (W5).

Here: names, bounds and the shape of a spool file; taking files away. Not here: writing them (capture.py) or notes
(notes.py).
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kos_assets.vault import files
from kos_assets.writers.agents import capture
from kos_assets.writers.contract import Skipped

LARGEST: Final = 40 << 20  # bytes of a spool file; 4 MiB of control characters, escaped, take 24
_NAME = re.compile(r"\d{1,20}-\d{1,10}\.json")
_UNFINISHED = re.compile(r"\.\d{1,20}-\d{1,10}\.json\.tmp")
_OLD_S: Final = 3600.0
_LONGEST: Final = 4096
_TEXTS: Final = ("agent", "session", "root", "git", "path", "remote", "branch", "commit")


@dataclass(frozen=True)
class Waiting:
    """What one spool file says, without the content. `at_ns` is since the epoch; `too_large` is a size in bytes."""

    name: str
    at_ns: int
    agent: str
    session: str
    root: str
    git: str
    path: str
    remote: str
    branch: str
    commit: str
    too_large: int = 0


class Spool:
    """The spool below `data_dir`. A missing one is an empty one; links in it are not followed."""

    def __init__(self, data_dir: Path) -> None:
        self._place = data_dir.joinpath(*capture.SPOOL)

    def names(self) -> list[tuple[str, int]]:
        """(name, size in bytes) of what waits, in order of time."""
        found = []
        with suppress(FileNotFoundError), os.scandir(self._place) as entries:
            for entry in entries:
                if _NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    with suppress(FileNotFoundError):
                        found.append((entry.name, entry.stat(follow_symlinks=False).st_size))
        return sorted(found, key=lambda item: (int(item[0].split("-")[0]), item[0]))

    def read(self, name: str) -> Waiting | Skipped:
        """One spool file without its content."""
        record = self._record(name)
        if isinstance(record, Skipped):
            return record
        texts = {key: record.get(key, "") for key in _TEXTS}
        at_ns, size = record.get("at_ns"), record.get("too_large", 0)
        sound = isinstance(at_ns, int) and 0 < at_ns < 1 << 62 and isinstance(size, int)
        sound = sound and all(isinstance(text, str) and len(text) <= _LONGEST for text in texts.values())
        parts = str(texts["path"]).split("/")
        if not sound or not texts["root"] or not all(parts) or {".", ".."} & set(parts):
            return _broken(name, "it is no record of the hook")
        return Waiting(name=name, at_ns=int(str(at_ns)), too_large=size, **{key: str(texts[key]) for key in _TEXTS})

    def content(self, name: str) -> bytes | None:
        """The bytes of the file that the hook saw; None where they cannot be read."""
        record = self._record(name)
        if isinstance(record, Skipped):
            return None
        text, coded = record.get("content"), record.get("content_base64")
        if isinstance(text, str):
            return text.encode("utf-8", "replace")
        with suppress(binascii.Error, ValueError):
            return base64.b64decode(coded, validate=True) if isinstance(coded, str) else None
        return None

    def take_away(self, names: list[str], broken: list[str]) -> None:
        """Delete what became notes, set aside what cannot be read, delete what a killed hook left. Raises OSError."""
        for name in names:
            (self._place / name).unlink(missing_ok=True)
        for name in broken:
            with suppress(FileNotFoundError):
                (self._place / name).rename(self._place / f"{name}.bad")
        with suppress(FileNotFoundError), os.scandir(self._place) as entries:
            for entry in entries:
                if _UNFINISHED.fullmatch(entry.name):
                    with suppress(FileNotFoundError):
                        if entry.stat(follow_symlinks=False).st_mtime < time.time() - _OLD_S:
                            Path(entry.path).unlink()

    def _record(self, name: str) -> dict[str, Any] | Skipped:
        try:
            with files.parent_of(self._place, name) as (folder, inner):
                descriptor = files.open_file(folder, inner)
                try:
                    status = os.fstat(descriptor)
                    if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
                        return _broken(name, "it is larger than the hook writes, or no regular file")
                    data = files.read_descriptor(descriptor, status.st_size, LARGEST)
                finally:
                    os.close(descriptor)
            found = json.loads(data)
        except OSError as error:
            return _broken(name, error.strerror or str(error))
        except (ValueError, RecursionError):
            return _broken(name, "it is no JSON")
        return (
            found if isinstance(found, dict) and found.get("version") == 1 else _broken(name, "its version is unknown")
        )


def _broken(name: str, reason: str) -> Skipped:
    fix = "it is set aside as .bad in the spool; the walker finds the file once it is committed"
    return Skipped(f"spool/{name}", "bad_spool_file", reason, fix, f"spool/{name}")
