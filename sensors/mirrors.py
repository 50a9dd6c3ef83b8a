"""Decides which mirrors are due, and asks for one run of their kinds. Never works (D2, house rule 6).

Each mirror of kos.toml is due every `every_minutes`; the one of coding agents also as soon as its hook has left
something in the spool. The cursor is a JSON object: a sequence, and when each mirror was last asked for.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import dagster as dg

from kos_assets.domain.mirrors import KINDS, MirrorSettings
from kos_assets.errors import KosError
from kos_assets.jobs import OWN_MIRRORS, mirror_job, mirror_key
from kos_assets.settings import Settings

_SPOOL: Final = ("spool", "agents")


@dataclass(frozen=True)
class Cursor:
    """What the last tick knew: how many runs were asked for, and when each mirror was (seconds since the epoch)."""

    sequence: int
    asked_at: Mapping[str, float]

    @classmethod
    def read(cls, text: str | None) -> Cursor:
        """The cursor in `text`; a fresh one when there is none or it is another version's."""
        try:
            value = json.loads(text or "{}")
            return cls(int(value["sequence"]), {str(name): float(at) for name, at in value["asked_at"].items()})
        except (ValueError, TypeError, AttributeError, KeyError):
            return cls(0, {})

    def write(self) -> str:
        """As JSON."""
        return json.dumps({"sequence": self.sequence, "asked_at": dict(self.asked_at)})


def due(
    mirrors: Mapping[str, MirrorSettings], cursor: Cursor, now: float, *, spooled_at: float
) -> list[MirrorSettings]:
    """The mirrors to run now. Pure. A clock that went back makes a mirror due at once, not never.

    `spooled_at` is when the hook last left something (0: nothing waits); what a run has seen already, and left in the
    spool for its reasons, makes nothing due.
    """
    found = []
    for item in mirrors.values():
        asked_at = cursor.asked_at.get(item.name, float("-inf"))
        fresh = item.kind == "agents" and spooled_at > asked_at
        if now - asked_at >= item.every_minutes * 60 or now < asked_at or fresh:
            found.append(item)
    return found


def asked(cursor: Cursor, chosen: list[MirrorSettings], now: float, known: Mapping[str, MirrorSettings]) -> Cursor:
    """The cursor after a request; mirrors that are not set up any more are dropped from it."""
    kept = {name: at for name, at in cursor.asked_at.items() if name in known}
    return Cursor(cursor.sequence + 1, {**kept, **{item.name: now for item in chosen}})


@dg.sensor(
    job=mirror_job,
    minimum_interval_seconds=15,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Asks for a run of the mirrors that are due.",
)
def mirrors_due(context: dg.SensorEvaluationContext, settings: dg.ResourceParam[Settings]) -> dg.SensorResult:
    """One tick: the clock, and a look into the spool."""
    now, cursor = time.time(), Cursor.read(context.cursor)
    if not settings.mirrors:
        return dg.SensorResult(skip_reason="No mirror is set up in kos.toml.")
    if context.instance.get_run_records(
        dg.RunsFilter(job_name=mirror_job.name, statuses=[dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.STARTED]),
        limit=1,
    ):
        return dg.SensorResult(skip_reason="A run of mirrors is queued or in progress.")
    try:
        chosen = due(settings.mirrors, cursor, now, spooled_at=_spooled_at(settings))
    except (KosError, OSError) as error:
        return dg.SensorResult(skip_reason=str(error))
    if not chosen:
        return dg.SensorResult(skip_reason="No mirror is due.")
    after = asked(cursor, chosen, now, settings.mirrors)
    kinds = sorted({item.kind if item.kind in KINDS else OWN_MIRRORS for item in chosen})
    request = dg.RunRequest(
        run_key=f"mirrors-{after.sequence}-{int(now)}", asset_selection=[mirror_key(kind) for kind in kinds]
    )
    return dg.SensorResult(run_requests=[request], cursor=after.write())


def _spooled_at(settings: Settings) -> float:
    """When the hook last left a file, by its name: nanoseconds, then a process."""
    names = [path.name for path in settings.data_dir.joinpath(*_SPOOL).glob("*.json")]
    return max((int(stamp) for name in names if (stamp := name.split("-")[0]).isdecimal()), default=0) / 1e9
