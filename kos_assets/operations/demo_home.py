"""The demo's home: the invented vault, its raw sources, the settings that name both, and what the writers make of them.

Here: files only. Not here: a database, what the demo shows (cli/demo.py), or the data itself (demo/).
"""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import uuid4

from kos_assets import settings as settings_module
from kos_assets.settings import Settings
from kos_assets.vault import sidecar
from kos_assets.writers import MirrorReport
from kos_assets.writers.run import run_mirror

DEMO: Final = Path(__file__).parent.parent / "demo"
MARK: Final = "# Written by `kos demo`.\n"
SPOOL: Final = ("spool", "agents")
_CONFIG: Final = """[vault]
path = {vault}
stamp_quiet_s = 0.0

[serving]
namespaces = ["global", "shared:owner", "agent:scribe"]

[kos]
time_zone = "Europe/Vienna"

[mirror.meetings]
path = {meetings}

[mirror.mail]
path = {mail}
addresses = ["ilka@steinkar.example"]

[mirror.todos]
path = {todos}

[mirror.agents]
agent = "scribe"
"""


def lay_out(home: Path) -> Settings:
    """Copy vault and sources below `home`, an empty folder; adopt the vault; write kos.toml, which later commands with
    this data directory read. What an agent's hook left in the spool is laid out as well."""
    vault, sources = home / "vault", home / "sources"
    shutil.copytree(DEMO / "vault", vault)
    shutil.copytree(DEMO / "sources", sources)
    shutil.copytree(sources / "agents", home.joinpath(*SPOOL))
    sidecar.write_adoption(vault, sidecar.Adoption(uuid4(), "frontmatter"))
    places = {
        "vault": vault,
        "meetings": sources / "meetings",
        "mail": sources / "mail.mbox",
        "todos": sources / "todo.txt",
    }
    text = _CONFIG.format(**{name: json.dumps(path.as_posix()) for name, path in places.items()})
    (home / "kos.toml").write_text(MARK + text, "utf-8")
    return settings_module.load({"KOS_DATA_DIR": str(home)})


def run_mirrors(settings: Settings) -> list[MirrorReport]:
    """W1: every mirror of the demo, without Dagster."""
    today = datetime.now(settings.zone).date()
    return [run_mirror(settings, mirror, today=today) for mirror in settings.mirrors.values()]
