"""The vault on disk, and the index of its files: Dagster wiring only (D1)."""

from __future__ import annotations

import dagster as dg

from kos_assets.domain.mirrors import KINDS
from kos_assets.ingest.notes import sync_notes
from kos_assets.jobs import (
    INGEST_POOL,
    NOTES,
    OUTAGE_RETRIES,
    OWN_MIRRORS,
    mirror_key,
    permanent_failures,
    progress_log,
)
from kos_assets.settings import Settings
from kos_assets.store import invariants
from kos_assets.store.database import Store

OWNERS = ["team:knowledge-os"]

vault_files = dg.AssetSpec(
    ["vault", "files"],
    deps=[mirror_key(kind) for kind in (*KINDS, OWN_MIRRORS)],
    group_name="vault",
    kinds={"markdown", "file"},
    owners=OWNERS,
    description="The Markdown vault on disk: the truth that everything else is built from. Changed by people and by "
    "writers, never by this graph (ids in frontmatter aside).",
)


@dg.asset(
    key=NOTES,
    deps=[vault_files],
    group_name="vault",
    kinds={"python", "postgres"},
    owners=OWNERS,
    pool=INGEST_POOL,
    retry_policy=OUTAGE_RETRIES,
    description="One row per Markdown file: identity, dates, structure, links; and the quarantine of what cannot be "
    "read. An unchanged vault costs one stat per file and writes nothing.",
)
def notes(store: dg.ResourceParam[Store], settings: dg.ResourceParam[Settings]) -> dg.MaterializeResult[None]:
    """Scan the vault, bring kos.notes to what the files say."""
    with permanent_failures():
        report = sync_notes(store, settings, progress=progress_log())
    return dg.MaterializeResult(metadata=dict(report.metadata()))


@dg.asset_check(
    asset=NOTES,
    retry_policy=OUTAGE_RETRIES,
    description="No file of the vault is unreadable. One that is, stands in quarantine with its reason and its fix.",
)
def nothing_blocked(facts: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """V4: a bad file blocks nobody else; a person should look at it, so it is a warning."""
    with permanent_failures():
        found = invariants.quarantined(facts)
    return dg.AssetCheckResult(
        passed=found.passed, severity=dg.AssetCheckSeverity.WARN, metadata=dict(found.metadata())
    )
