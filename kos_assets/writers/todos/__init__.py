"""Todos: todo.txt, Obsidian Tasks, VTODO in .ics, Taskwarrior exports; one note per project or list (W4).

Here: how the writer is opened. Not here: reading (source.py and below) or writing files (mirror.py).
"""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo

from kos_assets.domain.mirrors import RESERVED_FOLDERS, MirrorSettings
from kos_assets.errors import ConfigError
from kos_assets.writers.contract import Source
from kos_assets.writers.todos import places
from kos_assets.writers.todos.source import TodoSource


def open_source(
    mirror: MirrorSettings,
    *,
    vault: Path,
    data_dir: Path,
    zone: ZoneInfo,
) -> Source:
    """The tasks below `mirror.paths`, which may be the vault itself: what the product writes there is not read.

    Days are told in `zone`. Raises ConfigError without a path, SourceError for one that is not there or holds no tasks.
    """
    if not mirror.paths:
        raise ConfigError(
            f"[mirror.{mirror.name}] has no path.",
            why="It says where the tasks lie.",
            fix='Write path = "~/todo/todo.txt", or the folder of your lists, into it.',
        )
    places.check(mirror.name, mirror.paths)
    own = [vault / mirror.folder, *(vault / folder for folder in sorted(RESERVED_FOLDERS)), vault / ".kos", data_dir]
    return TodoSource(mirror.paths, own, zone)
