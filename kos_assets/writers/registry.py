"""Which code reads which kind of source, loaded when it runs (house rule 7).

Here: from a mirror's settings to its source. Not here: the kinds' options (domain/mirrors.py) or a run (run.py).
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Protocol, cast
from zoneinfo import ZoneInfo

from kos_assets.domain.mirrors import KINDS, MirrorSettings
from kos_assets.errors import ConfigError
from kos_assets.writers.contract import Source


class OpenSource(Protocol):
    """What a kind's package, or a writer of one's own, offers under the name that `kind` gives."""

    def __call__(self, mirror: MirrorSettings, *, vault: Path, data_dir: Path, zone: ZoneInfo) -> Source:
        """The source of one mirror; `zone` is for times without one. Raises ConfigError, SourceError."""
        ...


def open_source(mirror: MirrorSettings, *, vault: Path, data_dir: Path, zone: ZoneInfo) -> Source:
    """The source of a mirror. Raises ConfigError where its kind cannot be loaded or its settings cannot work."""
    known = KINDS.get(mirror.kind)
    if known is not None and known.needs_path and not mirror.paths:
        raise ConfigError(
            f"Mirror {mirror.name} has no source.",
            why=f"{mirror.kind} reads files: {known.help}",
            fix=f'Write path = "..." into [mirror.{mirror.name}], or pass --path.',
        )
    module, name = (f"kos_assets.writers.{mirror.kind}", "open_source") if known else mirror.kind.split(":", 1)
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"Mirror {mirror.name}: {module}:{name} cannot be loaded.",
            why=str(error),
            fix="Install the package that holds it where kos runs, or mend kind in kos.toml.",
        ) from error
    return cast("OpenSource", found)(mirror, vault=vault, data_dir=data_dir, zone=zone)
