"""The code location of the night: hygiene, dbt, Great Expectations, the health snapshot.

Here: what belongs to it, composed when Dagster asks (nothing happens at import). Not here: ingest (live.py), which is
in a location of its own so that a one-note edit does not wait for dbt's imports. Live assets are named here as external
ones, so that the lineage is one graph; no job spans both.
"""

from __future__ import annotations

from pathlib import Path

import dagster as dg

from kos_assets.settings import Settings, load


def build(settings: Settings, manifest: Path) -> dg.Definitions:
    """The location, from settings and a prepared dbt manifest."""
    from kos_assets import jobs, resources
    from kos_assets.assets import dbt, health, hygiene
    from kos_assets.checks import memory_checks

    return dg.Definitions(
        assets=[
            *(dg.AssetSpec(key) for key in jobs.INGEST_KEYS),
            *hygiene.ASSETS,
            dbt.health_models(manifest),
            health.health_snapshots,
        ],
        asset_checks=[memory_checks(), *hygiene.CHECKS],
        jobs=[jobs.nightly],
        schedules=[jobs.nightly_schedule(settings)],
        resources={**resources.from_environment(), "dbt": dbt.dbt_resource()},
        executor=dg.in_process_executor,
    )


@dg.definitions
def defs() -> dg.Definitions:
    """What Dagster loads. The manifest is read; it is parsed first if the project changed since `kos up`."""
    from kos_assets.assets.dbt_manifest import prepare_manifest

    settings = load()
    return build(settings, prepare_manifest(settings.data_dir / "dbt"))
