"""Alarms: one line in a file of the data directory, and a JSON message to the webhook if there is one (M2).

Here: writing and delivering; counts, ids and names only, never note text. Not here: deciding that something is an alarm
(checks, sensors).
"""

from __future__ import annotations

import json
import logging
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from kos_assets.settings import Settings

TIMEOUT_S: Final = 5.0
_log = logging.getLogger("kos.alarms")


@dataclass(frozen=True)
class Alarm:
    """What a person should look at: `source` says who noticed (check, sensor), `subject` what it is about."""

    source: str
    subject: str
    message: str
    severity: Literal["warning", "error"] = "error"
    facts: Mapping[str, int | float | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Delivery:
    """What became of an alarm. `webhook` is None when none is set, else whether it took the message; `problems` say why
    not."""

    alarm_id: str
    file: Path
    recorded: bool
    webhook: bool | None
    problems: tuple[str, ...] = ()


def raise_alarm(alarm: Alarm, settings: Settings, *, now: datetime | None = None) -> Delivery:
    """Record the alarm in `<data_dir>/alarms/YYYY-MM.jsonl`, then post it to the webhook within 5 seconds (M2).

    Never raises: the caller is already in trouble. A failed delivery is a line of its own in the same file.
    """
    at = (now or datetime.now(UTC)).astimezone(UTC)
    alarm_id = str(uuid.uuid4())
    file = settings.data_dir / "alarms" / f"{at:%Y-%m}.jsonl"
    body = {
        "alarm_id": alarm_id,
        "at": at.isoformat(),
        "source": alarm.source,
        "subject": alarm.subject,
        "severity": alarm.severity,
        "message": alarm.message,
        "facts": dict(alarm.facts),
    }
    problems = [_append(file, body)]
    webhook: bool | None = None
    if settings.alarm_webhook:
        refusal = _post(settings.alarm_webhook, body)
        webhook = refusal is None
        if refusal is not None:
            problems += [refusal, _append(file, {"alarm_id": alarm_id, "at": at.isoformat(), "undelivered": refusal})]
    told = tuple(problem for problem in problems if problem)
    if told:
        _log.error("alarm %s on %s: %s", alarm_id, alarm.subject, "; ".join(told))
    return Delivery(alarm_id, file, recorded=problems[0] is None, webhook=webhook, problems=told)


def recent_alarms(settings: Settings, *, limit: int = 20) -> list[dict[str, object]]:
    """The newest recorded alarms, newest first; lines that cannot be read (a torn write) are left out."""
    found: list[dict[str, object]] = []
    for file in sorted((settings.data_dir / "alarms").glob("*.jsonl"), reverse=True):
        for line in reversed(file.read_text("utf-8", errors="replace").splitlines()):
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:
                continue
            if isinstance(entry, dict) and "message" in entry:
                found.append(entry)
                if len(found) == limit:
                    return found
    return found


def _append(file: Path, entry: Mapping[str, object]) -> str | None:
    line = json.dumps(entry, ensure_ascii=False, default=str) + "\n"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line.encode())  # one write, so that two processes do not mix their lines
        finally:
            os.close(descriptor)
    except OSError as error:
        return f"{file} cannot be written: {error.strerror or error}"
    return None


def _post(url: str, body: Mapping[str, object]) -> str | None:
    import httpx

    try:
        answer = httpx.post(url, json=body, timeout=TIMEOUT_S)
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, ValueError) as error:
        return f"the webhook cannot be reached ({type(error).__name__})"
    return None if answer.is_success else f"the webhook answered {answer.status_code}"
