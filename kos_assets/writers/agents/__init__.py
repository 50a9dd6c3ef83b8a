"""Coding agents: Markdown that they write in git repositories, one note per repository and path (W5).

Here: how the writer is opened. Not here: the hook (hook.py), what waits in its spool (spool.py), what the hook missed
(checkouts.py, history.py), how a file becomes a note (notes.py), which version counts (source.py).
"""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo

from kos_assets.domain.mirrors import MirrorSettings
from kos_assets.errors import ConfigError
from kos_assets.writers.agents.source import AgentSource
from kos_assets.writers.contract import Source, SourceError


def open_source(mirror: MirrorSettings, *, vault: Path, data_dir: Path, zone: ZoneInfo) -> Source:
    """What the hook left in `data_dir`'s spool, and the repositories below the folders of the option `repositories`
    (and of `mirror.paths`). Times of the hook are written in `zone`.

    Raises ConfigError for a folder that is not absolute, SourceError for one that is not there.
    """
    folders = [Path(folder).expanduser() for folder in (*mirror.options.get("repositories", ()), *mirror.paths)]
    for folder in folders:
        if not folder.is_absolute():
            raise ConfigError(
                f"[mirror.{mirror.name}] repositories: {str(folder)!r} is no absolute path.",
                why="A run may begin in any folder.",
                fix='Write it in full, such as repositories = ["~/src"].',
            )
        if not folder.is_dir():
            raise SourceError(
                f"[mirror.{mirror.name}] repositories: there is no folder {folder}.",
                why="The walker looks for git repositories there; nothing was marked as gone.",
                fix="Mount it or write the right one, or take it out of kos.toml.",
            )
    return AgentSource(
        agent=str(mirror.options.get("agent", "claude-code")),
        name=mirror.name,
        folder=mirror.folder,
        repositories=tuple(folder.resolve() for folder in folders),
        vault=vault,
        data_dir=data_dir,
        zone=zone,
    )
