"""Times inside a recording, in every spelling, as seconds (W2).

Here: reading and writing them, durations, and the unit of bare numbers. Not here: dates (vault/dates.py).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Final

CLOCK: Final = r"-?(?:\d{1,4}:)?\d{1,4}:\d{1,2}(?:[.,]\d{1,9})?"
"""A time of any such file as a pattern: hours may be missing, the fraction follows a dot or a comma."""

FARTHEST: Final = 31 * 24 * 3600.0
"""Seconds; a time beyond says nothing about a meeting."""

_CLOCK = re.compile(r"(-?)(?:(\d{1,4}):)?(\d{1,4}):(\d{1,2})(?:[.,](\d{1,9}))?")
_ISO = re.compile(r"P(?:(\d{1,3})D)?T(?:(\d{1,4})H)?(?:(\d{1,6})M)?(?:(\d{1,8})(?:\.\d+)?S)?", re.IGNORECASE)
_SPOKEN = re.compile(
    r"(\d{1,6}(?:[.,]\d{1,3})?)\s*(h|hr|hrs|hours?|std|m|min|mins|minutes?|minuten|s|sec|secs|seconds?)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,9})?s?")
_UNITS: Final = (1.0, 60.0, 0.001)
_SHORTEST_UNNAMED: Final = 600
_MILLIS_FROM: Final = 10**6
_MS_RATE, _SAMPLE_RATE = 0.5, 0.003
_SAMPLES_A_SECOND: Final = 16_000.0


def seconds_of(text: str) -> float | None:
    """`01:02:03.456`, `2:03`, `62:03`, `-00:00:01`: seconds, never below 0; None for anything else."""
    found = _CLOCK.fullmatch(text.strip())
    if found is None:
        return None
    sign, hours, minutes, seconds, fraction = found.groups()
    total = int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{fraction or 0}")
    return 0.0 if sign else total if total <= FARTHEST else None


def mark(seconds: float) -> str:
    """`01:02:03`: a time as it stands in a note."""
    whole = int(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def number_of(value: Any) -> float | None:
    """A finite number, also one written as text (`"12.5"`, `"12.5s"`)."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value.strip().rstrip("s"))
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 10**15:
        return None
    return float(value) if math.isfinite(value) else None


def unit_of(starts: Sequence[float], characters: int, *, offsets: bool) -> float:
    """What one of these numbers is in seconds, by how fast people would have spoken: 1, a thousandth, or, for offsets
    in samples, a sixteen-thousandth. Numbers with a fraction are seconds."""
    span = max(starts, default=0.0) - min(starts, default=0.0)
    if span <= 0 or any(start != int(start) for start in starts):
        return 1.0
    rate = characters / span
    if offsets and rate < _SAMPLE_RATE:
        return 1 / _SAMPLES_A_SECOND
    return 0.001 if rate < _MS_RATE else 1.0


def duration_of(value: Any, key: str, last: float | None) -> float | None:
    """A length in seconds, whatever its unit: the key may name it, else the smallest that is no shorter than the
    transcript counts. None where it cannot be told."""
    if isinstance(value, str):
        spelled = _spelled(value.strip())
        if spelled is not None:
            return spelled
    number = number_of(value)
    if number is None or number <= 0:
        return None
    if key.endswith(("ms", "millis", "milliseconds")):
        return _fitting(number / 1000)
    if key.endswith(("minutes", "mins", "min")):
        return _fitting(number * 60)
    if key.endswith(("seconds", "secs", "sec")) or key == "audioduration":
        return _fitting(number)
    if last is not None and last > 0:
        fitting = [number * unit for unit in _UNITS if number * unit >= last * 0.95]
        return _fitting(min(fitting, default=last))
    if number < _SHORTEST_UNNAMED:
        return None
    return _fitting(number / 1000 if number >= _MILLIS_FROM else number)


def _spelled(text: str) -> float | None:
    if (clock := seconds_of(text)) is not None:
        return clock
    if (iso := _ISO.fullmatch(text)) is not None:
        days, hours, minutes, seconds = (int(part or 0) for part in iso.groups())
        return _fitting(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
    parts = _SPOKEN.findall(text[:60])
    factors = {"h": 3600.0, "m": 60.0, "s": 1.0}
    total = sum(
        float(number.replace(",", ".")) * factors["h" if unit.lower() == "std" else unit[0].lower()]
        for number, unit in parts
    )
    return _fitting(total) if parts else None


def _fitting(seconds: float) -> float | None:
    return seconds if 0 < seconds <= FARTHEST else None
