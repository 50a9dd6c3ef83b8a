"""Meetings: transcripts and summaries as Markdown, text, VTT, SRT and JSON; one note per meeting (W2).

Here: how the writer is opened. Not here: reading (source.py and below) or writing files (mirror.py).
"""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo

from kos_assets.domain.mirrors import RESERVED_FOLDERS, MirrorSettings
from kos_assets.errors import ConfigError
from kos_assets.writers.contract import Source
from kos_assets.writers.meetings import places
from kos_assets.writers.meetings.source import MeetingSource


def open_source(mirror: MirrorSettings, *, vault: Path, data_dir: Path, zone: ZoneInfo) -> Source:
    """The meetings below `mirror.paths`, which may be in the vault: what the product writes there is not read.

    `zone` is for dates and times without one. Raises ConfigError without a path, SourceError for one that is not there
    or cannot hold meetings.
    """
    if not mirror.paths:
        raise ConfigError(
            f"[mirror.{mirror.name}] has no path.",
            why="It says where the transcripts and summaries lie.",
            fix='Write path = "~/meetings" into it.',
        )
    places.check(mirror.name, mirror.paths)
    own = [vault / mirror.folder, *(vault / folder for folder in sorted(RESERVED_FOLDERS)), vault / ".kos", data_dir]
    return MeetingSource(mirror.paths, own, zone)
