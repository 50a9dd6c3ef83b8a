"""Foreign text made fit for a note: one line, Markdown that ends where it should, no recalled frames (W8).

Here: cleaning. Not here: what a text means.
"""

from __future__ import annotations

import re
from typing import Final

from kos_assets.domain.frame import FRAME_START, cut_recalled
from kos_assets.domain.markdown_lines import open_fence

LONGEST_LINE: Final = 20_000
"""Characters of something said at once; a longer one is cut into several."""

_OPENING: Final = FRAME_START.split(" from ")[0]
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_SPACE_BEFORE_LINE = re.compile("[\u2028\u2029\x0b\x0c\x85]")
_BLOCK = re.compile(r"(?:#{1,6}(?=\s|\Z)|>|[-+*](?=\s|\Z)|(?:-[ \t]*){3,}\Z|\|)")
_NUMBER = re.compile(r"(\d{1,9})([.)])(?=\s|\Z)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r"(#{1,6})(?=[ \t])")


class Cutter:
    """Cuts recalled text and counts the pieces (W8)."""

    def __init__(self) -> None:
        self.pieces = 0

    def text(self, text: str) -> str:
        """The text, of several lines, without what was recalled."""
        kept, pieces = cut_recalled(text)
        self.pieces += pieces
        return kept

    def line(self, text: str) -> str:
        """One clean line; recalled text is cut before and after the lines are joined, since that may make a frame."""
        if text.isascii() and text.isprintable() and "  " not in text and _OPENING not in text and "[" not in text:
            return text.strip()
        text = self.text(_SPACE_BEFORE_LINE.sub("\n", text))
        return self.text(" ".join(_CONTROL.sub("", text).split()))


def paragraph(text: str) -> str:
    """A clean line that Markdown reads as a plain paragraph: no heading, list, quote, fence or comment opens in it."""
    found = _BLOCK.match(text)
    if found is not None or text.startswith(("```", "~~~")):
        text = "\\" + text
    else:
        text = _NUMBER.sub(r"\1\\\2", text, count=1) if _NUMBER.match(text) else text
    if "<!--" in text:
        text = text.replace("<!--", "<\\!--")
    if "%%" in text:
        text = text.replace("%%", "%\\%")
    return text


def whole(markdown: str) -> str:
    """Markdown that swallows nothing below it: fences and comments that stay open are closed or made plain."""
    text = markdown.strip("\n").rstrip()
    fence = open_fence(text)
    if fence:
        return f"{text}\n{fence}"
    if text.rfind("<!--") > text.rfind("-->"):
        place = text.rfind("<!--")
        text = f"{text[:place]}<\\!--{text[place + 4 :]}"
    if text.count("%%") % 2:
        place = text.rfind("%%")
        text = f"{text[:place]}%\\%{text[place + 2 :]}"
    return text


def below(markdown: str, level: int) -> str:
    """The same with its headings moved so that the highest is of `level`; code is left alone."""
    lines = markdown.splitlines()
    fence, found = "", []
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark is not None and (not fence or (mark[1][0] == fence[0] and len(mark[1]) >= len(fence))):
            fence = "" if fence else mark[1]
        elif not fence and (heading := _HEADING.match(line)) is not None:
            found.append((number, len(heading[1])))
    shift = level - min((depth for _, depth in found), default=level)
    for number, depth in found if shift else ():
        lines[number] = "#" * min(6, max(1, depth + shift)) + lines[number][depth:]
    return "\n".join(lines)
