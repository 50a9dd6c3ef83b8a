"""Named blocks of SQL files: `-- name: block` starts a block that runs to the next one. Text only, no composition."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import LiteralString, cast

_NAME = re.compile(r"^-- name: ([a-z_0-9]+)\s*$", re.MULTILINE)


@cache
def blocks(file: str) -> Mapping[str, LiteralString]:
    """The blocks of `store/<file>.sql` by name. Raises ValueError for a name used twice."""
    text = resources.files("kos_assets.store").joinpath(f"{file}.sql").read_text("utf-8")
    parts = _NAME.split(text)
    found: dict[str, LiteralString] = {}
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        if name in found:
            raise ValueError(f"{file}.sql defines {name} twice")
        found[name] = cast(LiteralString, body.strip().removesuffix(";"))
    return MappingProxyType(found)
