"""The live code location: from a saved note to its being recallable. What sensor runs load, so imports stay cheap.

Here: which assets, checks, jobs, sensors and resources make up this location, named one by one. Not here: their code.
Not imported here, directly or not: dbt, Great Expectations, model runtimes, serving.
"""

from __future__ import annotations

from typing import Final

import dagster as dg

from kos_assets.assets import memories, mirrors, vault
from kos_assets.jobs import ingest, mirror_job
from kos_assets.resources import from_environment
from sensors import kos_sensors

defs: Final = dg.Definitions(
    assets=[
        *mirrors.mirror_assets,
        vault.vault_files,
        vault.notes,
        memories.memories,
        memories.chunks,
        memories.embeddings,
    ],
    asset_checks=[
        vault.nothing_blocked,
        memories.notes_accounted_for,
        memories.every_live_memory_chunked,
        memories.no_stale_vectors,
        memories.no_missing_vectors,
    ],
    jobs=[ingest, mirror_job],
    sensors=kos_sensors,
    resources=from_environment(),
    executor=dg.in_process_executor,  # also for what a person materialises in the UI
)
