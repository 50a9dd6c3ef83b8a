"""By what a text is found again, wherever it was copied to: short distinctive runs of it, folded so that white space,
punctuation, Markdown, case and the escapes of JSON do not hide it. Pure.

Here: folding, and which runs of a text are telling. Not here: where they are looked for (store/erasure.py,
hygiene/probe.py).
"""

from __future__ import annotations

import html
import itertools
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

RUN = 40
"""Characters of one run, folded."""
_MOST = 64
_LONG_OCTETS = 20
_SHORT_OCTETS = 12
_LEAST_OCTETS = 8
_CHANGES = 4

DROPPED = (
    r"\\[nrtbf]|[\x01-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f\u00a0\u00ad\u1680\u2000-\u200f"
    r"\u2028-\u202f\u205f\u2060\u3000\ufeff]+"
)
"""What folding leaves out, as a regular expression that Python and Postgres read alike."""

_DROPPED = re.compile(DROPPED)
_LOWER = {number: number + 32 for number in range(ord("A"), ord("Z") + 1)}
_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/+=@-]{6,}[A-Za-z0-9=]")
_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
_MOMENT = re.compile(r"\d{4}-?\d{2}-?\d{2}T[\d:.]+\S*")


@dataclass(frozen=True)
class Fingerprint:
    """What an erasure is proved by, taken before it: ids, folded runs of the text, and words that only it had.

    The runs are the erased text itself: they live in memory and are never written or printed.
    """

    memory_ids: tuple[UUID, ...] = ()
    note_ids: tuple[UUID, ...] = ()
    runs: tuple[str, ...] = field(default=(), repr=False)
    terms: tuple[str, ...] = field(default=(), repr=False)
    paths: tuple[str, ...] = ()
    verbatim: tuple[str, ...] = field(default=(), repr=False)

    @property
    def id_runs(self) -> tuple[str, ...]:
        """The ids as they look when folded."""
        return tuple(item.hex for item in (*self.memory_ids, *self.note_ids))


def fold(text: str) -> str:
    """Letters and digits of a text, ASCII in lower case. The same as Postgres makes of it with `DROPPED`."""
    return _DROPPED.sub("", text.translate(_LOWER))


def runs(heading: str, contents: Iterable[str]) -> tuple[str, ...]:
    """Folded runs of at most 40 characters: start, middle and end of each content, its lines, tokens that look like
    keys, a telling heading; each also as JSON and HTML escape it. At most 64 before escaping, spread over the text.

    Empty when there is nothing telling in it.
    """
    found: dict[str, str] = {}
    if _is_telling(heading):
        _add(found, heading)
    for content in contents:
        for token in _keys(content):
            _add(found, token)
        for line in _spread(_lines(content)):
            _add(found, line)
    if not any(key for key in found if key != fold(heading)):
        for content in contents:
            if len(fold(content).encode()) >= _LEAST_OCTETS:
                _add(found, content)
    return tuple(dict.fromkeys(variant for raw in _spread(list(found.values())) for variant in _variants(raw)))


def verbatim(contents: Iterable[str], *, most: int = 3) -> tuple[str, ...]:
    """The longest telling lines as they stand, at most 200 characters each: for programs that search bytes (git)."""
    lines = {line.strip()[:200] for content in contents for line in _lines(content)}
    return tuple(sorted(lines, key=lambda line: (-len(line), line))[:most])


def _lines(content: str) -> list[str]:
    """Telling lines; a long one gives its start, its middle and its end."""
    pieces: list[str] = []
    for line in content.splitlines():
        if not _is_telling(line):
            continue
        pieces.append(line)
        if len(line) > 3 * RUN:
            middle = len(line) // 2
            pieces += [line[middle - RUN // 2 : middle + RUN // 2], line[-RUN:]]
    return pieces


def _is_telling(line: str) -> bool:
    octets = len(fold(line).encode())
    return octets >= _LONG_OCTETS or (octets >= _SHORT_OCTETS and len(line.split()) > 1)


def _keys(content: str) -> list[str]:
    """Tokens that no sentence has: letters and digits that alternate, as in keys and serial numbers."""
    found = dict.fromkeys(_TOKEN.findall(content))
    return _spread([token for token in found if _alternates(token)])


def _alternates(token: str) -> bool:
    if _UUID.fullmatch(token) or _MOMENT.fullmatch(token):
        return False
    folded = fold(token)
    changes = sum(a.isdigit() != b.isdigit() for a, b in itertools.pairwise(folded))
    return len(folded) >= _LEAST_OCTETS and changes >= _CHANGES


def _spread(items: list[str]) -> list[str]:
    """At most 64 of them: first, last, and evenly between."""
    if len(items) <= _MOST:
        return items
    return [items[number * (len(items) - 1) // (_MOST - 1)] for number in range(_MOST)]


def _add(found: dict[str, str], text: str) -> None:
    found.setdefault(fold(text)[:RUN], text)


def _variants(text: str) -> Iterable[str]:
    """The run as it is, and as JSON (ASCII only) and HTML write it."""
    for variant in (text, json.dumps(text)[1:-1], html.escape(text)):
        if folded := fold(variant)[:RUN]:
            yield folded
