"""Who takes part in an event, and in what way (W7).

Here: ORGANIZER and ATTENDEE as people, rooms, resources and groups. Not here: how they are shown (page.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, Protocol

Kind = Literal["person", "room", "resource", "group"]
_KINDS: Final[dict[str, Kind]] = {"ROOM": "room", "RESOURCE": "resource", "GROUP": "group"}
_ADDRESS = re.compile(r"[^\s<>@,;:\"]{1,64}@[^\s<>@,;:\"]{1,255}")
_MOST: Final = 500
_LONGEST: Final = 200


class _Line(Protocol):
    @property
    def value(self) -> str: ...

    def param(self, name: str) -> str: ...


@dataclass(frozen=True, slots=True)
class Person:
    """Someone or something invited. `answer` and `role` are the words of the standard in small letters, or empty."""

    name: str
    address: str
    kind: Kind = "person"
    answer: str = ""
    role: str = ""

    @property
    def label(self) -> str:
        """`Name <address>`, or the one of the two that is known."""
        if self.name and self.address and self.name.casefold() != self.address.casefold():
            return f"{self.name} <{self.address}>"
        return self.name or self.address


def read(lines: Iterable[_Line]) -> tuple[Person, ...]:
    """The people of such lines in their order, each once, at most 500; those with neither name nor address are none."""
    found: dict[tuple[str, str], Person] = {}
    for line in lines:
        person = _person(line)
        if person.label:
            found.setdefault((person.address.casefold(), "" if person.address else person.name), person)
        if len(found) >= _MOST:
            break
    return tuple(found.values())


def _person(line: _Line) -> Person:
    name = line.param("CN").strip("\"' ")[:_LONGEST]
    written = (line.value.strip()[:_LONGEST], line.param("EMAIL"), name)
    address = next((match.group() for text in written if (match := _ADDRESS.search(_bare(text)))), "")
    return Person(
        name=name,
        address="" if address.casefold().startswith("invalid:") or address == "nomail" else address,
        kind=_KINDS.get(line.param("CUTYPE").upper(), "person"),
        answer=line.param("PARTSTAT")[:40].casefold(),
        role=line.param("ROLE")[:40].casefold(),
    )


def _bare(text: str) -> str:
    return text[7:] if text[:7].casefold() == "mailto:" else text
