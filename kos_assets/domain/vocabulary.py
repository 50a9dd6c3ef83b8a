"""The words of the product as types: memory types, provenance, namespaces, homes. Pure; no I/O, clock or randomness."""

from __future__ import annotations

import re
from typing import Literal, get_args
from uuid import UUID, uuid5

from kos_assets.errors import InputError

MemoryType = Literal["episodic", "semantic", "procedural", "working"]
Provenance = Literal["raw", "derived", "output"]
ConfidenceLevel = Literal["strong", "weak", "none", "literal", "filtered"]

MEMORY_TYPES: tuple[MemoryType, ...] = get_args(MemoryType)

KOS_NAMESPACE = UUID("6f0a3c52-6b0e-5d0c-9a55-0f8b8f6c1d27")
"""The uuid5 namespace of every id that Knowledge OS mints."""

_NAMESPACE = re.compile(r"global|(agent|shared):[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
_PLAIN_LABEL = re.compile(r"[A-Za-z0-9]")
_LABEL_LIMIT = 250
_TREE_LIMIT = 4000


def memory_id_of_note(note_id: UUID) -> UUID:
    """G6: the memory of a note has an id of its own that follows from the note's."""
    return uuid5(KOS_NAMESPACE, f"memory:{note_id}")


def check_namespace(name: str) -> str:
    """The name itself when it is `global`, `agent:<name>` or `shared:<group>`; else InputError."""
    if not _NAMESPACE.fullmatch(name):
        raise InputError(
            f"{name[:80]!r} is not a namespace.",
            why="Namespaces are global, agent:<name> or shared:<group>; a name is 1 to 64 letters, digits, . - and _.",
        )
    return name


def encode_label(name: str) -> str:
    """One folder name as an ltree label (S8): letters and digits stay, other characters become `_` + 6 hex digits.

    Reversible with `decode_label` up to 250 characters; a longer label is cut and ends in a digest, and the readable
    path is kept beside it.
    """
    encoded = "".join(char if _PLAIN_LABEL.match(char) else f"_{ord(char):06x}" for char in name) or "_000000"
    if len(encoded) <= _LABEL_LIMIT:
        return encoded
    return encoded[: _LABEL_LIMIT - 34] + "__" + uuid5(KOS_NAMESPACE, name).hex


def decode_label(label: str) -> str:
    """The folder name of a label made by `encode_label` (that was not cut)."""
    if label == "_000000":
        return ""
    return re.sub(r"_([0-9a-f]{6})", lambda match: chr(int(match[1], 16)), label)


def home_tree(home_path: str) -> str:
    """An ltree for a readable home path such as `projects/Hütte`; the vault's root is `_000000`.

    A tree longer than 4,000 characters is cut between labels and ends in a digest: an index holds 8 kB of it.
    """
    if not home_path:
        return "_000000"
    labels = [encode_label(part) for part in home_path.split("/")]
    if sum(len(label) + 1 for label in labels) <= _TREE_LIMIT:
        return ".".join(labels)
    cut = "__" + uuid5(KOS_NAMESPACE, home_path).hex
    while sum(len(label) + 1 for label in labels) > _TREE_LIMIT - len(cut):
        labels.pop()
    return ".".join([*labels, cut])
