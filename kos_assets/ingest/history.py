"""Step 5, where the person asked for it: the vault as it stands now as one commit of its own repository (V8)."""

from __future__ import annotations

from kos_assets.ingest.reports import HistoryReport
from kos_assets.settings import Settings
from kos_assets.vault.commit import commit_vault

_MESSAGE = "Vault as scanned by Knowledge OS"


def sync_history(settings: Settings) -> HistoryReport:
    """Commit what changed in the vault, when `auto_commit` is on. What git refuses is told and fails nothing."""
    if not settings.auto_commit:
        return HistoryReport()
    found = commit_vault(settings.require_vault(), _MESSAGE)
    return HistoryReport(commit=found.commit or "", committed_files=found.files, commit_told=found.reason)
