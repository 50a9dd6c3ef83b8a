"""The namespace of a note by its place and its own wish (V9).

Here: the folder map and what "narrower" means. Not here: what agents may write (gate), files under `memories/`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from kos_assets.vault.problems import Problem

GLOBAL: Final = "global"
OWNER: Final = "shared:owner"
_NAME = re.compile(r"(?:global|(?:agent|shared):[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?)\Z")
_FIX = "write global, shared:<group> or agent:<name>, in lower case"


def is_namespace(text: str) -> bool:
    """`global`, `agent:<name>` or `shared:<group>`; names of 1 to 64 of a-z, 0-9, dot, hyphen, underscore."""
    return _NAME.match(text) is not None


def folder_namespace(path: str, folder_map: Mapping[str, str], default: str) -> str:
    """The namespace of the longest mapped folder that `path` lies in (`work` holds `work/a.md`, not `works/a.md`)."""
    best, chosen = -1, default
    for folder, namespace in folder_map.items():
        prefix = folder.strip("/")
        if len(prefix) > best and (not prefix or path.startswith(f"{prefix}/")):
            best, chosen = len(prefix), namespace
    return chosen


def is_narrower(wanted: str, base: str, groups: Mapping[str, Collection[str]]) -> bool:
    """Whether everyone who may read `wanted` may read `base` for certain, so that nobody gains a right.

    Everything is narrower than `global`. The owner reads everything, so `shared:owner` is narrower than everything. A
    group narrows to an agent only if `groups` (group -> names of members) says that the agent belongs to it; an agent
    narrows to nothing but the owner.
    """
    if wanted in (base, OWNER) or base == GLOBAL:
        return True
    kind, _, name = wanted.partition(":")
    group_kind, _, group = base.partition(":")
    return kind == "agent" and group_kind == "shared" and name in groups.get(group, ())


def resolve_namespace(
    path: str,
    kos_namespace: str | None,
    folder_map: Mapping[str, str],
    default: str,
    *,
    groups: Mapping[str, Collection[str]] | None = None,
) -> tuple[str, Problem | None]:
    """The note's namespace, and what is wrong with its wish (V9). A wish may narrow, never widen.

    A wish that is no namespace meant to keep something back: the note is the owner's alone until it is mended.
    """
    base = folder_namespace(path, folder_map, default)
    if kos_namespace is None:
        return base, None
    if not is_namespace(kos_namespace):
        reason = (
            f"kos_namespace {kos_namespace[:40]!r} is no namespace; only the owner sees the note until it is mended"
        )
        return OWNER, Problem("namespace_invalid", None, reason, _FIX)
    if is_narrower(kos_namespace, base, groups or {}):
        return kos_namespace, None
    reason = f"kos_namespace {kos_namespace!r} would let others read what its folder keeps in {base!r}; {base!r} holds"
    return base, Problem("namespace_widens", None, reason, "move the note to another folder, or delete kos_namespace")
