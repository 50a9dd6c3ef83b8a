"""What was and what waits: history and review, read as kos_auditor and marked; never part of recall (S7)."""

from kos_assets.audit.reader import Audit

__all__ = ["Audit"]
