"""Chats: ChatGPT and Claude account exports, Claude Code session logs; one note per conversation (W6).

Here: how the writer is opened. Not here: reading (source.py and below) or writing files (mirror.py).
"""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo

from kos_assets.domain.mirrors import MirrorSettings
from kos_assets.errors import ConfigError
from kos_assets.writers.chats import places
from kos_assets.writers.chats.source import ChatSource
from kos_assets.writers.contract import Source


def open_source(
    mirror: MirrorSettings,
    *,
    vault: Path,  # noqa: ARG001
    data_dir: Path,  # noqa: ARG001
    zone: ZoneInfo,
) -> Source:
    """The conversations below `mirror.paths`: exports as .zip, folder or .json; session logs as .jsonl or their folder.

    Times are written in `zone`. `vault` and `data_dir` are not used. Raises ConfigError without a path, SourceError for
    one that is not there.
    """
    if not mirror.paths:
        raise ConfigError(
            f"[mirror.{mirror.name}] has no path.",
            why="It says where the exports or session logs lie.",
            fix='Write path = "~/Downloads/chatgpt-export.zip" or path = "~/.claude/projects" into it.',
        )
    places.check(mirror.paths)
    return ChatSource(mirror.paths, zone)
