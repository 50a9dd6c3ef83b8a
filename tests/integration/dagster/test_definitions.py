"""The live location: what is in it, that it loads cheaply, that every asset is described (D1)."""

from __future__ import annotations

import itertools
import subprocess
import sys

import dagster as dg

from kos_assets.definitions.live import defs
from kos_assets.domain.mirrors import KINDS
from kos_assets.jobs import INGEST_KEYS, OWN_MIRRORS, mirror_key
from kos_assets.operations.programs import locations

HEAVY = ("dbt", "dagster_dbt", "great_expectations", "onnxruntime", "pandas", "sklearn", "fastapi", "fastmcp", "igraph")


def specs() -> dict[dg.AssetKey, dg.AssetSpec]:
    return {spec.key: spec for spec in defs.resolve_all_asset_specs()}


def test_the_location_is_sound() -> None:
    """D1: every key, resource, job and sensor resolves."""
    dg.Definitions.validate_loadable(defs)


def test_lineage_runs_from_the_files_to_the_vectors() -> None:
    """D1: vault/files -> kos/notes -> kos/memories -> kos/chunks -> kos/embeddings."""
    found = specs()
    order = [dg.AssetKey(["vault", "files"]), *INGEST_KEYS]
    writers = {mirror_key(kind) for kind in (*KINDS, OWN_MIRRORS)}
    assert set(found) == {*order, *writers}
    for before, after in itertools.pairwise(order):
        assert [dep.asset_key for dep in found[after].deps] == [before]


def test_every_asset_says_what_it_is() -> None:
    """D1: group, kinds, owner, description."""
    for spec in specs().values():
        assert spec.group_name
        assert spec.kinds
        assert spec.owners
        assert spec.description


def test_the_job_takes_the_four_steps_and_their_checks() -> None:
    """D3: one job per location, in this process."""
    job = defs.resolve_job_def("ingest")
    assert job.executor_def is dg.in_process_executor
    assert set(job.asset_layer.executable_asset_keys) == set(INGEST_KEYS)
    steps = {node.name for node in job.nodes}
    assert {"kos__memories_notes_accounted_for", "kos__embeddings_no_stale_vectors"} <= steps


def test_heavy_libraries_stay_out() -> None:
    """D4: a one-note edit does not wait for the imports of the night, of the model or of serving."""
    program = (
        f"import sys, kos_assets.definitions.live\nprint(','.join(name for name in {HEAVY!r} if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_workspace_names_both_locations() -> None:
    """D1: `kos up` starts what workspace.yaml says."""
    assert locations() == {"live": "kos_assets.definitions.live", "nightly": "kos_assets.definitions.nightly"}
