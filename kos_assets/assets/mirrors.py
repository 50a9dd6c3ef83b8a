"""Outside sources as notes of the vault: one asset per kind of writer, Dagster wiring only (W1, D1)."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any, Final

import dagster as dg

from kos_assets.assets.vault import OWNERS
from kos_assets.domain.mirrors import KINDS, MirrorSettings
from kos_assets.errors import KosError
from kos_assets.jobs import MIRROR_POOL, OWN_MIRRORS, mirror_key, permanent_failures, progress_log
from kos_assets.settings import Settings


def mirrors_of(settings: Settings, kind: str) -> list[MirrorSettings]:
    """The mirrors of one kind; those of writers that do not come with kos are of the kind `own`."""
    own = [item for item in settings.mirrors.values() if item.kind not in KINDS]
    return own if kind == OWN_MIRRORS else [item for item in settings.mirrors.values() if item.kind == kind]


def _asset(kind: str, description: str) -> dg.AssetsDefinition:
    @dg.asset(
        key=mirror_key(kind),
        group_name="writers",
        kinds={"python", "markdown"},
        owners=OWNERS,
        pool=MIRROR_POOL,
        description=f"{description} Set up in kos.toml; a run that finds nothing new writes nothing.",
    )
    def written(settings: dg.ResourceParam[Settings]) -> dg.MaterializeResult[None]:
        """Run every mirror of this kind that kos.toml names."""
        from kos_assets.writers.run import run_mirror

        chosen, totals, codes = mirrors_of(settings, kind), Counter[str](), Counter[str]()
        failed: list[KosError] = []
        with permanent_failures():
            for item in chosen:
                today = datetime.now(settings.zone).date()
                try:
                    report = run_mirror(settings, item, today=today, progress=progress_log())
                except KosError as error:  # one source that is away does not hold up the others
                    failed.append(error)
                    continue
                totals.update({name: int(value) for name, value in report.metadata().items() if name != "seconds"})
                codes.update(report.codes)
            if failed:
                raise failed[0]
        metadata: dict[str, Any] = {"mirrors": len(chosen), **totals}
        return dg.MaterializeResult(metadata={**metadata, "skipped_by_code": dg.MetadataValue.json(dict(codes))})

    return written


mirror_assets: Final = [_asset(kind, known.help) for kind, known in KINDS.items()] + [
    _asset(OWN_MIRRORS, "Writers of your own, by module:callable.")
]
