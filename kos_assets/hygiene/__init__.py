"""Keeping the store healthy: expiry, folded statistics, bounded traces. Each idempotent, bounded, with counts."""
