"""Draft until the full guard lands: two wordings differ when their values do."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Wording:
    """Heading and content of a memory."""

    heading: str
    content: str


def difference(new: Wording, old: Wording) -> str | None:
    """A code when the two state different things."""
    if " ".join(new.heading.split()).casefold() == " ".join(old.heading.split()).casefold():
        return None
    numbers = re.compile(r"\d+")
    if numbers.findall(new.heading) != numbers.findall(old.heading):
        return "number"
    if numbers.findall(new.content) != numbers.findall(old.content):
        return "number"
    return None
