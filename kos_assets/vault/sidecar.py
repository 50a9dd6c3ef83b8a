"""The vault's own small records: ids of notes that carry no stamp, and whether stamping was agreed to (V2).

Here: `.kos/ids.jsonl` and `.kos/vault.toml`. Not here: which file gets which id (identity.py); the ledger of decisions.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from uuid import UUID

from kos_assets.errors import VaultError
from kos_assets.vault import files
from kos_assets.vault.problems import Problem

IDS_PATH: Final = ".kos/ids.jsonl"
ADOPTION_PATH: Final = ".kos/vault.toml"
_CONFLICT_MARKS: Final = ("<<<<<<< ", "=======", ">>>>>>> ", "||||||| ")
StampMode = Literal["frontmatter", "never"]


@dataclass(frozen=True, slots=True)
class Adoption:
    """What the person agreed to for this vault. Without one, ids live in the sidecar and no note is touched."""

    vault_id: UUID
    stamp: StampMode


def read_ids(root: Path) -> tuple[dict[str, UUID], list[Problem]]:
    """Path -> note id from the sidecar. A damaged line is reported, the others count; the last of two for a path wins.

    Of a merge that git left to the person, both sides count: each names notes of its own clone. The next write_ids()
    leaves the marks out.

    Raises VaultError when the file is there and cannot be read at all: going on would mint new ids for every note.
    """
    ids: dict[str, UUID] = {}
    problems: list[Problem] = []
    for number, line in enumerate(_read(root, IDS_PATH).decode(errors="replace").split("\n"), start=1):
        if not line.strip() or line.startswith(_CONFLICT_MARKS):
            continue
        try:
            entry = json.loads(line)
            path, note_id = entry["path"], UUID(entry["note_id"])
            if not isinstance(path, str):
                raise TypeError("path is not text")  # noqa: TRY301 - one way out for all that is wrong with a line
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            reason = f"line {number} of {IDS_PATH} is no record of a path and an id"
            problems.append(Problem("sidecar_damaged", number, reason, "delete the line, or restore the file from git"))
            continue
        ids[path] = note_id
    return ids, problems


def write_ids(root: Path, ids: Mapping[str, UUID]) -> bool:
    """Replace the sidecar, sorted by path, whole or not at all. False when it says exactly that already (V5).

    Nothing to say and no file: none is made. Raises VaultError.
    """
    lines = [
        json.dumps({"path": path, "note_id": str(note_id)}, ensure_ascii=False) for path, note_id in sorted(ids.items())
    ]
    if not lines and not (root / IDS_PATH).exists():
        return False
    return _write(root, IDS_PATH, "".join(f"{line}\n" for line in lines))


def read_adoption(root: Path) -> Adoption | None:
    """The record of `kos init`, or None before it. Raises VaultError when it is damaged: guessing could stamp files."""
    data = _read(root, ADOPTION_PATH)
    if not data:
        return None
    try:
        table = tomllib.loads(data.decode())
        stamp = table["stamp"]
        if stamp not in ("frontmatter", "never"):
            raise ValueError(f"stamp is {stamp!r}")  # noqa: TRY301 - one way out for all that is wrong with the file
        return Adoption(UUID(table["vault_id"]), stamp)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise VaultError(
            f"{ADOPTION_PATH} in the vault is damaged.",
            why=str(error),
            fix='It holds vault_id = "<uuid>" and stamp = "frontmatter" or "never". Mend it, or run kos init.',
        ) from error


def write_adoption(root: Path, adoption: Adoption) -> bool:
    """Record what the person agreed to. False when it says that already. Raises VaultError."""
    text = f'# Written by `kos init`.\nvault_id = "{adoption.vault_id}"\nstamp = "{adoption.stamp}"\n'
    return _write(root, ADOPTION_PATH, text)


def _read(root: Path, path: str) -> bytes:
    try:
        with files.parent_of(root, path) as (folder, name):
            for _ in range(3):
                data = files.read_all(folder, name, os.stat(name, dir_fd=folder, follow_symlinks=False).st_size)
                if data is not None:
                    return data
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise VaultError(
            f"{path} in the vault cannot be read.",
            why=error.strerror or str(error),
            fix="Make it a plain file that this user may read (a link is not followed).",
        ) from error
    raise VaultError(f"{path} in the vault keeps changing while it is read.", fix="Try again.")


def _write(root: Path, path: str, text: str) -> bool:
    try:
        return files.replace_text(root, path, text)
    except OSError as error:
        raise VaultError(
            f"{path} in the vault cannot be written.",
            why=error.strerror or str(error),
            fix="Give this user the right to write the folder .kos in the vault, or free some space.",
        ) from error
