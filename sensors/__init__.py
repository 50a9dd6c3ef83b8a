"""Sensors decide, in well under 20 seconds with a small cursor; what they ask for does the work (house rule 6)."""

from __future__ import annotations

from typing import Final

from sensors.lanes import lanes
from sensors.mirrors import mirrors_due
from sensors.run_failures import run_failures
from sensors.vault_changes import vault_changes

kos_sensors: Final = [vault_changes, mirrors_due, lanes, run_failures]
