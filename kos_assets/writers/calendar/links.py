"""Web links of an event: where to join, and the names of what is attached (W7).

Here: which link is the conference's, and attachments by name. Not here: following any of them: nothing is ever fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, Protocol
from urllib.parse import unquote

_WEB = re.compile(r"https?://[^\s<>\"'\\)\]}]{1,1000}", re.IGNORECASE)
_JOIN = re.compile(
    r"https?://(?:meet\.google\.com/|teams\.(?:microsoft|live)\.com/(?:l/meetup-join|meet)/|(?:[\w-]+\.)?zoom(?:gov)?\.(?:us|com)/(?:j|my|w|s)/"
    r"|[\w-]+\.webex\.com/|(?:[\w-]+\.)?whereby\.com/|meet\.jit\.si/|(?:meet|app|global)\.goto(?:meeting)?\.com/"
    r"|[\w-]+\.bluejeans\.com/|(?:bbb|meet|jitsi|talk)\.[\w.-]{1,200}/)",
    re.IGNORECASE,
)
_LONGEST: Final = 200
_MOST: Final = 50


class _Line(Protocol):
    @property
    def value(self) -> str: ...

    def param(self, name: str) -> str: ...


def web(text: str) -> str:
    """The first http(s) link of a text, empty where there is none."""
    match = _WEB.search(text)
    return match.group().rstrip(".,;") if match else ""


def conference(named: Iterable[str], texts: Sequence[str]) -> str:
    """Where to join: of the properties made for it, else a link in the texts to a known meeting service."""
    for text in named:
        link = web(text) or (text[:_LONGEST] if text[:4].casefold() in ("tel:", "sip:", "xmpp") else "")
        if link:
            return link
    for text in texts:
        for found in _WEB.finditer(text):
            if _JOIN.match(found.group()):
                return found.group().rstrip(".,;")
    return ""


def attachments(lines: Iterable[_Line]) -> tuple[str, ...]:
    """Names only, at most 50: the file name that is given, else the end of the link, else the type of inline data."""
    names: dict[str, None] = {}
    for line in lines:
        name = line.param("FILENAME") or line.param("X-FILENAME") or line.param("X-APPLE-FILENAME")
        inline = line.param("ENCODING").upper() == "BASE64" or line.param("VALUE").upper() == "BINARY"
        if not name and inline:
            name = f"inline {line.param('FMTTYPE') or 'file'}"
        if not name:
            link = line.value.strip().split("?", 1)[0].split("#", 1)[0].rstrip("/")
            name = unquote(link.rsplit("/", 1)[-1], errors="replace")
        name = " ".join(name.split())[:_LONGEST]
        if name:
            names[name] = None
        if len(names) >= _MOST:
            break
    return tuple(names)
