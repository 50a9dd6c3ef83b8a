"""A write that a crash cut off, and its writer's retry: nothing of the accident stays."""

from __future__ import annotations

from typing import Any

import pytest

from kos_assets.ingest.notes import sync_notes
from kos_assets.ingest.statements import sync_statements


def test_a_retry_after_a_crash_takes_the_file_out_of_quarantine(gate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """V6, V9: the file without its record was held back by a scan; written again under its key, it is accepted."""
    with monkeypatch.context() as patched:
        patched.setattr(
            "kos_assets.vault.ledger.Ledger.append", lambda *_, **__: (_ for _ in ()).throw(RuntimeError("cut"))
        )
        with pytest.raises(RuntimeError):
            gate.write("Gateway port", "It is 8080.")
    sync_notes(gate.store, gate.settings)
    assert sync_statements(gate.store, gate.settings, gate.embedder).refused == 1
    assert gate.rows("select code from kos.quarantine") == [("not_written_by_gate",)]
    assert gate.write("Gateway port", "It is 8080.").action == "insert"
    assert gate.rows("select code from kos.quarantine") == []
    assert sync_statements(gate.store, gate.settings, gate.embedder).refused == 0
    assert gate.live() == ["Gateway port"]
