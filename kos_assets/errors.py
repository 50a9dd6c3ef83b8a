"""The tree of errors: each class is something that a caller can act on.

Here: the classes and how one reads. Not here: expected outcomes (a quarantined file, a folded note): those are return
values.
"""

from __future__ import annotations


class KosError(Exception):
    """Something went wrong that a person can mend. Says what, why, and what to do next."""

    code = "error"

    def __init__(self, what: str, *, why: str | None = None, fix: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        parts = [self.what]
        if self.why:
            parts.append(f"Why: {self.why}")
        if self.fix:
            parts.append(f"Next: {self.fix}")
        return "\n".join(parts)


class ConfigError(KosError):
    """A setting, file or environment variable is wrong: start-up stops."""

    code = "config"


class InputError(KosError):
    """The caller's argument is wrong: nothing was done."""

    code = "invalid_input"


class NotFoundError(KosError):
    """No live row that this caller may read has that id."""

    code = "not_found"


class AuthorityError(KosError):
    """The principal may not write there; names the rule and what would be allowed (G2)."""

    code = "forbidden"


class StoreError(KosError):
    """The database refused or cannot be used."""

    code = "store"


class StoreUnavailableError(StoreError):
    """The database does not answer; the same call may work later."""

    code = "store_unavailable"


class SchemaError(StoreError):
    """The schema is behind, ahead of, or different from this version's migrations."""

    code = "schema"


class VaultError(KosError):
    """The vault as a whole cannot be read or written (one bad file is quarantine, not an error)."""

    code = "vault"


class ProviderUnavailableError(KosError):
    """An inference provider is out of reach or out of quota: its lane pauses, work stays pending (E5)."""

    code = "provider_unavailable"

    def __init__(
        self, what: str, *, why: str | None = None, fix: str | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(what, why=why, fix=fix)
        self.retry_after_s = retry_after_s


class ItemError(KosError):
    """A provider refuses this one item; counts as an attempt (E5)."""

    code = "item"


class OperationError(KosError):
    """A process that this product supervises failed to start, answer or stop."""

    code = "operation"
