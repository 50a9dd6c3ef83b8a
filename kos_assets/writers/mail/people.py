"""Who a message is from and to (W3).

Here: address headers as names and addresses; pure, and never raising. Not here: other headers (headers.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kos_assets.writers.mail.headers import Fields, every, text

_MOST: Final = 500
_ADDRESS = re.compile(rb"[^\s<>\"(),;:@]{1,200}@[^\s<>\"(),;:@]{1,200}")
_NAMED = re.compile(r"[\w.+-]+@[\w.-]+")


@dataclass(frozen=True)
class Person:
    """A name (may be empty) and an address (in lower case, may be empty), not both empty."""

    name: str
    address: str

    def __str__(self) -> str:
        if self.name and self.address and self.name.casefold() != self.address:
            return f"{self.name} <{self.address}>"
        return self.address or self.name

    @property
    def short(self) -> str:
        """The name, or the address where no name is known."""
        return self.name or self.address


def people(found: Fields, *names: str, charset: str = "") -> list[Person]:
    """Everybody in some headers, in order, each address once; at most 500."""
    kept: dict[str, Person] = {}
    for name in names:
        for raw in every(found, name):
            for person in addresses(raw, charset):
                key = person.address or person.name.casefold()
                if key not in kept or (person.name and not kept[key].name):
                    kept[key] = person
                if len(kept) >= _MOST:
                    return list(kept.values())
    return list(kept.values())


def addresses(raw: bytes, charset: str = "") -> Iterator[Person]:
    """The people of one address header. Groups are opened, comments become names where there is no other."""
    for words, comment, angle in _split(raw):
        found = _ADDRESS.search(angle or words)
        address = text(found[0]).casefold() if found is not None else ""
        name = words if angle or found is None else words.replace(found[0], b" ", 1)
        name = name.strip().strip(b'"').replace(b'\\"', b'"').replace(b"\\\\", b"\\")
        spoken = text(name, charset).strip("'\" ") or text(comment, charset).strip()
        spoken = "" if _NAMED.fullmatch(spoken) and address and spoken.casefold() == address else spoken
        if spoken or address:
            yield Person(spoken[:200], address)


def _split(raw: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """(words, comment, what stands in angle brackets) of each member; one pass, no recursion."""
    words, comment, angle = bytearray(), bytearray(), bytearray()
    depth, quoted, inside, escaped = 0, False, False, False
    for code in raw:
        one = bytes((code,))
        target = comment if depth else angle if inside else words
        if escaped:
            target += one
            escaped = False
        elif one == b"\\" and (quoted or depth):
            escaped = True
        elif quoted:
            quoted = one != b'"'
            target += one if quoted else b""
        elif depth or one == b"(":
            depth += {b"(": 1, b")": -1}.get(one, 0)
            comment += one if depth and not (one == b"(" and depth == 1) else b""
        elif one == b'"':
            quoted = True
        elif one in (b"<", b">"):
            inside = one == b"<"
        elif one in (b",", b";") and not inside:
            yield bytes(words), bytes(comment), bytes(angle)
            words, comment, angle = bytearray(), bytearray(), bytearray()
        elif one == b":" and not inside:
            words.clear()  # the name of a group
        else:
            target += one
    yield bytes(words), bytes(comment), bytes(angle)


def is_one_of(person: Person, own: Iterable[str]) -> bool:
    """Whether an address is among the owner's: the same, with a `+tag`, or in a domain that is given as `@domain`."""
    address = person.address
    local, _, domain = address.rpartition("@")
    return any(one in (address, f"{local.partition('+')[0]}@{domain}", f"@{domain}") for one in own) and bool(address)
