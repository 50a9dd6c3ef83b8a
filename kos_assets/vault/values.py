"""Typed values out of a note's properties, and what is wrong with them (V1, V3).

Here: the meaning of frontmatter keys. Not here: dates (dates.py), where the properties come from (frontmatter.py).
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from typing import Final
from uuid import UUID

from kos_assets.vault import dates
from kos_assets.vault.problems import Problem
from kos_assets.vault.yaml_block import Json

MEMORY_TYPES: Final = frozenset(("episodic", "semantic", "procedural", "working"))
WIKI_VALUE: Final = re.compile(r"!?\[\[([^\[\]]+)\]\]")
_PEOPLE_KEYS = ("people", "attendees", "participants", "author", "authors", "from", "to", "cc")
_PEOPLE_SPLIT = re.compile(r"\s*;\s*|(?<=>)\s*,\s*")
_LETTER = re.compile(r"[^\W\d_]")


class Values:
    """Reads typed values out of the properties, and notes what is wrong with them."""

    def __init__(self, properties: Mapping[str, Json]) -> None:
        self.properties = properties
        self.problems: list[Problem] = []
        self.stamp_sound = True

    def _problem(self, code: str, reason: str, fix: str) -> None:
        self.problems.append(Problem(code, None, reason, fix))

    def text(self, key: str) -> str | None:
        value = self.properties.get(key)
        if value is None or isinstance(value, list | dict | bool):
            return None
        return " ".join(str(value).split()) or None

    def texts(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """A list, or one text with commas; wikilinks unwrapped; without repetitions."""
        found: dict[str, None] = {}
        for key in keys:
            for item in _leaves(self.properties.get(key)):
                parts = item.split(",") if isinstance(self.properties.get(key), str) else [item]
                found.update(dict.fromkeys(" ".join(part.split()) for part in parts))
        found.pop("", None)
        return tuple(found)

    def people(self) -> tuple[str, ...]:
        """Names as written (`Ada`, `Ada Byron <ada@example.org>`), from every property that names people."""
        forms = {dates.key_form(name): value for name, value in self.properties.items()}
        found: dict[str, None] = {}
        for key in _PEOPLE_KEYS:
            value = forms.get(key)
            for item in _leaves(value):
                parts = _PEOPLE_SPLIT.split(item)
                if isinstance(value, str) and "<" not in item:
                    parts = [name for part in parts for name in part.split(",")]
                found.update(dict.fromkeys(" ".join(part.split()).lstrip("@") for part in parts))
        return tuple(name for name in found if _LETTER.search(name) and "://" not in name)

    def kos_id(self) -> UUID | None:
        value = self.properties.get("kos_id")
        if value is None:
            self.stamp_sound = "kos_id" not in self.properties
            return None
        try:
            return UUID(value if isinstance(value, str) else "")
        except ValueError:
            self.stamp_sound = False
            self._problem("kos_id_invalid", "the property kos_id holds no id", "delete the property kos_id")
            return None

    def namespace(self) -> str | None:
        """As written; anything but text comes back as text, so that it is refused rather than ignored (V9)."""
        value = self.properties.get("kos_namespace")
        return None if value is None else str(value).strip()

    def memory_type(self) -> str | None:
        explicit, plain = self.text("memory_type"), self.text("type")
        if explicit and explicit.casefold() not in MEMORY_TYPES:
            self._problem(
                "memory_type_unknown",
                f"memory_type is {explicit[:40]!r}",
                f"use one of {', '.join(sorted(MEMORY_TYPES))}",
            )
        chosen = (explicit or plain or "").casefold()
        return chosen if chosen in MEMORY_TYPES else None

    def confidence(self) -> float | None:
        value = self.properties.get("confidence")
        if value is None:
            return None
        try:
            number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else -1.0
        except ValueError:
            number = -1.0
        if 0 <= number <= 1:
            return number
        self._problem("confidence_invalid", "confidence is not a number from 0 to 1", "write a number such as 0.8")
        return None

    def time(self, key: str, zone: dt.tzinfo) -> dt.datetime | None:
        value = self.properties.get(key)
        if value is None:
            return None
        when = dates.written(value, zone)
        if when is None:
            self._problem("date_invalid", f"{key} holds no date", "write a date such as 2026-03-04")
        return when.at if when else None


def _leaves(value: Json) -> Iterator[str]:
    """The texts in a value, wikilinks unwrapped. `[[A]]` without quotes is a list in a list in YAML, and means A."""
    if isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        named = value.get("name") or value.get("email")
        if isinstance(named, str):
            yield named
    elif value is not None and not isinstance(value, bool):
        yield WIKI_VALUE.sub(lambda match: match.group(1).rpartition("|")[2].rpartition("/")[2], str(value))
