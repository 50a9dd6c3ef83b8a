"""A mirror's run on one installation: settings in, lock held, what was seen remembered (W1, V9).

Here: one run at a time, the namespace, and stopping at once when the source is what it was. Not here: what is written
(mirror.py), schedules (sensors).
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any, Final

from kos_assets.domain.mirrors import KINDS, MirrorSettings, settled_namespace
from kos_assets.errors import ConfigError, VaultError
from kos_assets.settings import Settings
from kos_assets.writers.contract import Settling
from kos_assets.writers.listing import UNREADABLE
from kos_assets.writers.mirror import MirrorReport, Progress, mirror
from kos_assets.writers.registry import open_source
from kos_assets.writers.standing import count_notes

RECIPE: Final = 1
"""Raise it with any change of what the same source gives: the next run of every mirror reads its source anew."""

_WAIT_S: Final = 600.0
_NOT_REMEMBERED: Final = UNREADABLE | {"edited_by_hand", "mass_gone", "moved_out", "no_place", "empty_source"}


def mirror_of(settings: Settings, name: str) -> MirrorSettings:
    """The mirror of that name. Raises ConfigError that says which there are and how one is set up."""
    found = settings.mirrors.get(name)
    if found is not None:
        return found
    there = ", ".join(settings.mirrors) or "none"
    raise ConfigError(
        f"No mirror {name!r} is set up.",
        why=f"Set up: {there}. Kinds: {', '.join(KINDS)}.",
        fix=f"Write [mirror.{name}] into kos.toml, with its kind, or name one of the kinds and pass --path.",
    )


def run_mirror(
    settings: Settings,
    chosen: MirrorSettings,
    *,
    today: date,
    progress: Progress | None = None,
    allow_mass_gone: bool = False,
    again: bool = False,
    partial: bool = False,
) -> MirrorReport:
    """Bring the mirror's folder to what its source says. Two runs of one mirror never overlap: the second waits.

    A source whose fingerprint is that of the last whole run is not read, unless `again`. `today`, in the person's
    zone, marks what is gone; `partial`: another source than the mirror's own is read, so that nothing is.
    Raises ConfigError, SourceError, VaultError.
    """
    vault = _standing_vault(settings)
    with _turn(settings.data_dir / "locks" / f"mirror-{_place(vault, chosen.folder)}.lock", chosen.name):
        source = open_source(chosen, vault=vault, data_dir=settings.data_dir, zone=settings.zone)
        namespace = _namespace(settings, chosen)
        memory = settings.data_dir / "mirrors" / f"{chosen.name}.json"
        fingerprint = source.fingerprint()
        seen = {"fingerprint": fingerprint, "made_from": _made_from(vault, chosen, namespace, settings)}
        if (
            fingerprint is not None
            and not again
            and _remembered(memory)
            == {
                **seen,
                "notes": count_notes(vault, chosen.folder),
            }
        ):
            return MirrorReport(chosen.name, same_source=True)
        report = mirror(
            source,
            vault,
            name=chosen.name,
            folder=chosen.folder,
            namespace=namespace,
            today=today,
            progress=progress,
            allow_mass_gone=allow_mass_gone,
            partial=partial,
        )
        if isinstance(source, Settling):
            source.settle()
        whole = fingerprint is not None and _is_settled(report)
        _remember(memory, {**seen, "notes": count_notes(vault, chosen.folder)} if whole else {})
        return report


def _standing_vault(settings: Settings) -> Path:
    vault = settings.require_vault()
    if not vault.is_dir():
        raise VaultError(f"The vault {vault} is not there.", fix="Check the path, or mount the drive that it is on.")
    return vault


def _is_settled(report: MirrorReport) -> bool:
    """Whether the same source would give the same again: not where a person, or a right to read, has to come first."""
    return not _NOT_REMEMBERED & {*report.codes, *report.left_out}


def _place(vault: Path, folder: str) -> str:
    """Mirrors that write into one folder take turns, whatever their names."""
    return hashlib.sha256(f"{vault.resolve()}\0{folder.casefold()}".encode()).hexdigest()[:16]


def _namespace(settings: Settings, chosen: MirrorSettings) -> str | None:
    """What is written into the notes (V9). Settings have settled it for mirrors of kos.toml; here for others."""
    return settled_namespace(chosen, settings.namespace_folders).namespace


def _made_from(vault: Path, chosen: MirrorSettings, namespace: str | None, settings: Settings) -> str:
    facts = {**_plain(chosen), "vault": str(vault.resolve()), "written": namespace, "zone": settings.time_zone}
    return hashlib.sha256(json.dumps([RECIPE, facts], sort_keys=True, default=str).encode()).hexdigest()


def _plain(chosen: MirrorSettings) -> dict[str, Any]:
    """The settings as plain values."""
    return asdict(MirrorSettings(**{**vars(chosen), "options": {}})) | {"options": dict(chosen.options)}


@contextmanager
def _turn(path: Path, name: str) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + _WAIT_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise ConfigError(
                        f"Another run of mirror {name} has not ended for {_WAIT_S / 60:.0f} minutes.",
                        fix="Look at the run in the Dagster UI, or at processes named kos; then run it again.",
                    ) from None
                time.sleep(0.2)
        yield
    finally:
        os.close(descriptor)


def _remembered(path: Path) -> Mapping[str, Any]:
    with suppress(OSError, ValueError):
        found = json.loads(path.read_text("utf-8"))
        if isinstance(found, dict):
            return found
    return {}


def _remember(path: Path, seen: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(seen), "utf-8")
    temporary.replace(path)
