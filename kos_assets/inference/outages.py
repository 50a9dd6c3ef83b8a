"""E5: whose fault a failed call is. The provider's: the lane pauses and nothing is lost. The item's: one attempt.

Here: the two verdicts, and reading them from statuses and sentences. Not here: clients and their exceptions
(`providers`), times (`resets`), pausing, back-off and attempts (enrichment).

When a failure fits neither list it is an outage: a wrong pause costs minutes, a wrong attempt parks a whole backlog
(a quota window that was taken for errors of items has dead-lettered thousands of them in another system).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from kos_assets.errors import ItemError, KosError, ProviderUnavailableError
from kos_assets.inference import resets

_SAID_CHARS: Final = 300


@dataclass(frozen=True)
class Outage:
    """The provider cannot be used now. `retry_after_s` is what it said, None when it said nothing (back off)."""

    reason: str
    retry_after_s: float | None = None


@dataclass(frozen=True)
class ItemFault:
    """Another call with the same item would fail too."""

    reason: str


Fault = Outage | ItemFault

_TOO_LONG: Final = re.compile(
    r"(prompt|input|request|conversation) is too (long|large)|too large to process|"
    r"(exceed\w*|beyond|over|longer than)\b.{0,40}\bcontext|context (window|length|size|limit)\b.{0,40}exceed|"
    r"maximum context|input length\b.{0,40}exceed",
    re.IGNORECASE,
)
_NO_ANSWER: Final = re.compile(
    r"output token maximum|violate[sd]? (our|the|anthropic's) usage policy|content (filtering|policy)|"
    r"unable to respond to this request",
    re.IGNORECASE,
)
_LIMIT: Final = re.compile(
    r"\blimit reached\b|hit your\b.{0,40}\blimit\b|out of (extra )?usage\b|usage limit\b|\brate[ _-]?limit|"
    r"_limit_reached\b|\bquota\b|spend(ing)? limit\b|exceed your account's",
    re.IGNORECASE,
)
_ACCOUNT: Final = re.compile(
    r"/login\b|not logged in|invalid (api|authentication) (key|credentials)|oauth (token|session)|"
    r"authentication_error|permission_error|billing_error|credit balance|subscription|disabled organization",
    re.IGNORECASE,
)
_DOWN: Final = re.compile(
    r"overloaded|at capacity|unavailable|connection (error|refused|reset|closed)|unable to connect|timed? ?out|"
    r"fetch failed|socket hang up|network error|internal server error|api_error|"
    r"\b(ECONNREFUSED|ECONNRESET|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|EPIPE)\b",
    re.IGNORECASE,
)
_STATUS: Final = re.compile(r"\bAPI Error:?\s*(?:\(?(?P<status>[45]\d\d)\b)", re.IGNORECASE)
# A 400 that blames the request as we build it, not the item in it: no item would pass until somebody mends it.
_OUR_REQUEST: Final = re.compile(
    r"^(output_config|output_format|system|model|max_tokens|temperature|top_[pk]|thinking|tools?|metadata)\b[\w.\[\]]*:|"
    r"\b(temperature|top_p|top_k|output_config|model|anthropic-\w+)\b.{0,60}"
    r"\b(not supported|unsupported|deprecated|not available|not permitted|does not support|removed|invalid|gone)\b|"
    r"does not support|schema\b.{0,40}(invalid|unsupported|not supported)|invalid (json )?schema",
    re.IGNORECASE,
)
_ALWAYS_OUTAGES: Final = frozenset({401, 402, 403, 404, 405, 407, 408, 409, 421, 425, 426, 429, 499})
_ITEMS: Final = frozenset({413, 415, 422})


def from_status(status: int, said: str, headers: Mapping[str, str], now: datetime) -> Fault:
    """The verdict on an answer with an HTTP status. `headers` by lower-case name; `now` is aware.

    A status below 400 stands for an error in the middle of a stream.
    """
    reason = f"{status}: {short(said)}" if status >= 400 else short(said)
    if status not in _ALWAYS_OUTAGES and _TOO_LONG.search(said):
        return ItemFault(f"The text is longer than the model reads ({reason}).")
    if status in _ITEMS:
        return ItemFault(reason)
    if 400 <= status < 500 and status not in _ALWAYS_OUTAGES:
        theirs = _ACCOUNT.search(said) or _LIMIT.search(said) or _OUR_REQUEST.search(said)
        return Outage(reason, resets.from_text(said, now)) if theirs else ItemFault(reason)
    stated = resets.from_headers(headers, now)
    return Outage(reason, stated if stated is not None else resets.from_text(said, now))


def from_text(said: str, now: datetime) -> Fault | None:
    """The verdict on a sentence of a command-line client; None when it says nothing that is known."""
    if status := _STATUS.search(said):
        return from_status(int(status["status"]), said, {}, now)
    if _LIMIT.search(said):
        return Outage(short(said), resets.from_text(said, now))
    if _TOO_LONG.search(said):
        return ItemFault(f"The text is longer than the model reads ({short(said)}).")
    if _NO_ANSWER.search(said):
        return ItemFault(f"The model gave no answer: {short(said)}")
    if _ACCOUNT.search(said) or _DOWN.search(said):
        return Outage(short(said), resets.from_text(said, now))
    return None


def as_error(fault: Fault, who: str, *, fix: str | None = None) -> ProviderUnavailableError | ItemError:
    """The exception that carries `fault`; `who` is the provider as a person knows it."""
    if isinstance(fault, ItemFault):
        return ItemError(f"{who} could not do this item.", why=fault.reason)
    return ProviderUnavailableError(
        f"{who} cannot be used now.", why=fault.reason, fix=fix, retry_after_s=fault.retry_after_s
    )


def fault_of(error: KosError) -> Fault | None:
    """The verdict that an exception of a completer or embedder carries; None for an error that is neither (a bug)."""
    reason = ": ".join(part for part in (error.what, error.why) if part)
    if isinstance(error, ProviderUnavailableError):
        return Outage(reason, error.retry_after_s)
    return ItemFault(reason) if isinstance(error, ItemError) else None


def short(said: str) -> str:
    """One line of at most 300 characters of what a provider said."""
    line = " ".join(said.split())
    return line if len(line) <= _SAID_CHARS else line[: _SAID_CHARS - 1] + "…"
