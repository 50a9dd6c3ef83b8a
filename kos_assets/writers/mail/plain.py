"""Plain text of a message as safe Markdown (W3).

Here: format=flowed, uuencoded files and PGP blocks in the text, and what would be markup by accident or by malice. Not
here: quotes and signatures (folding.py), HTML (richtext.py). Pure, linear.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from kos_assets.domain.markdown_lines import fence_of

_QUOTE = re.compile(r"(?:>[ ]?)+")
_UU_BEGIN = re.compile(r"begin [0-7]{3,4} (\S.{0,200})")
_UU_LINE = re.compile(r"[\x20-\x60]{1,120}")
_ACTIVE: Final = (
    "a|abbr|applet|area|audio|base|body|br|button|canvas|center|code|col|dd|details|div|dl|dt|em|embed|font|form|frame|"
    "frameset|h[1-6]|head|hr|html|iframe|img|input|ins|kbd|li|link|map|mark|math|meta|noscript|object|ol|option|p|param|"
    "picture|pre|script|section|select|source|span|strong|style|sub|summary|sup|svg|table|tbody|td|template|textarea|"
    "tfoot|th|thead|title|tr|track|u|ul|video|wbr"
)
_ACTIVE_TAG = re.compile(rf"<(?=/?(?:{_ACTIVE})(?:[\s/>]|$))", re.IGNORECASE | re.MULTILINE)
_ANY_TAG = re.compile(r"(?<![\w`\\<])<(?=/?[A-Za-z][A-Za-z0-9-]{0,40}(?:[\s/>]|$)|!|\?)", re.MULTILINE)
_FENCE = re.compile(r"^([ \t>]{0,12})(`{3,}|~{3,})[ \t]*([^`\n]+)$", re.MULTILINE)
_INLINE_QUERY = re.compile(r"`(?=\$?=)")
_HEADING = re.compile(r"^([ \t]{0,3}(?:>[ ]?){0,9})(?=#{1,6}(?:[ \t]|$))", re.MULTILINE)
_UNDERLINE = re.compile(r"[ ]{0,3}(?:={1,}|-{1,})[ ]*")
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u200b\u200e\u200f\u2060\u202a-\u202e\u2066-\u2069\ufeff]"
)
_PGP_SIGNED: Final = "-----BEGIN PGP SIGNED MESSAGE-----"
_PGP_SIGNATURE: Final = "-----BEGIN PGP SIGNATURE-----"
_PGP_END: Final = "-----END PGP "
_PGP_BLOCKS: Final = {
    "-----BEGIN PGP MESSAGE-----": "encrypted with PGP: the text cannot be read here",
    "-----BEGIN PGP PUBLIC KEY BLOCK-----": "with a PGP key",
}


@dataclass
class Plain:
    """A text without what is no text in it. `attachments`: uuencoded files by name and size in bytes."""

    text: str
    notes: list[str] = field(default_factory=list)
    attachments: list[tuple[str, int | None]] = field(default_factory=list)


def read(text: str, *, flowed: bool = False, joined: bool = False) -> Plain:
    """Plain text as Markdown. `flowed` and `joined` are format=flowed and delsp=yes (RFC 3676)."""
    text = unseen_cut(text)
    found = Plain("")
    lines = _without_blocks(text.split("\n"), found)
    if flowed:
        lines = _unflowed(lines, joined=joined)
    found.text = headings_shown(neutral("\n".join(line.rstrip() for line in lines).strip("\n")))
    return found


def unseen_cut(text: str) -> str:
    """Line ends as `\\n`, without control characters and marks that turn the direction of writing."""
    return _UNSEEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\x85", "\n"))


def neutral(text: str) -> str:
    """Markdown in which nothing runs, is fetched, or points into the vault: raw HTML tags, pictures, embeds, wikilinks,
    comments and the languages of code blocks (Dataview, Templater) are made plain."""
    text = _FENCE.sub(r"\1\2", text)
    text = text.replace("%%", "% %").replace("<%", "< %").replace("[[", r"\[[").replace("![", r"!\[")
    text = text.replace(r"\\[[", r"\[[").replace(r"!\\[", r"!\[")
    return _INLINE_QUERY.sub("` ", _ANY_TAG.sub(r"\\<", _ACTIVE_TAG.sub(r"\\<", text)))


def headings_shown(text: str) -> str:
    """Lines of plain text that Markdown would take for a heading, as they were written."""
    return _HEADING.sub(r"\1\\", text)


def closed(text: str) -> str:
    """A text that can be followed by another: every code fence closed, no line underlined into a heading."""
    fence, before, kept = None, "", []
    for row in text.split("\n"):
        line = row
        if fence is not None:
            fence = None if fence.closed_by(line) else fence
        elif (fence := fence_of(line)) is None and before.strip() and _UNDERLINE.fullmatch(line) is not None:
            line = "\\" + line.strip()
        kept.append(line)
        before = line
    return "\n".join([*kept, fence.mark] if fence is not None else kept)


def _unflowed(lines: list[str], *, joined: bool) -> list[str]:
    """RFC 3676: a line that ends with a space goes on in the next one of the same quote depth."""
    kept: list[str] = []
    going, depth = False, 0
    parts: list[str] = []
    for line in lines:
        marks = _QUOTE.match(line)
        quoted = line[: len(line) - len(line.lstrip(">"))] if marks is not None else ""
        rest = line[len(quoted) :]
        rest = rest[1:] if rest.startswith(" ") else rest  # space-stuffing
        here, soft = len(quoted), rest.endswith(" ") and rest != "-- "
        if not (going and here == depth and rest != "-- "):
            kept += ["".join(parts)] if parts else []
            parts = [f"{quoted} " if quoted else ""]
        parts.append(rest[:-1] if soft and joined else rest)
        going, depth = soft, here
    return [*kept, "".join(parts)] if parts else kept


def _without_blocks(lines: list[str], found: Plain) -> list[str]:
    """Without uuencoded files and PGP's armour, which are named."""
    kept: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at].rstrip()
        begun = _UU_BEGIN.fullmatch(line)
        if begun is not None and (end := _uu_end(lines, at + 1)) > 0:
            found.attachments.append((begun[1], sum((ord(row[0]) - 32) & 63 for row in lines[at + 1 : end] if row)))
            at = end + 1
        elif line == _PGP_SIGNED:
            found.notes.append("signed with PGP")
            at += 1
            while at < len(lines) and lines[at].strip():
                at += 1  # Hash: ...
        elif line == _PGP_SIGNATURE or line in _PGP_BLOCKS:
            found.notes += [_PGP_BLOCKS[line]] if line in _PGP_BLOCKS else []
            end = _armour_end(lines, at + 1)
            kept += [] if end > 0 else [line]
            at = end + 1 if end > 0 else at + 1
        else:
            kept.append(lines[at].removeprefix("- ") if line.startswith("- --") else lines[at])
            at += 1
    found.notes = list(dict.fromkeys(found.notes))
    return kept


def _uu_end(lines: list[str], at: int) -> int:
    """The line `end` of a uuencoded file; -1 where what follows is none."""
    while at < len(lines):
        row = lines[at].rstrip("\n")
        if row.rstrip() == "end":
            return at
        if _UU_LINE.fullmatch(row) is None:
            return -1
        at += 1
    return -1


def _armour_end(lines: list[str], at: int) -> int:
    for place in range(at, min(len(lines), at + 2_000)):
        if lines[place].startswith(_PGP_END):
            return place
        if lines[place].startswith("-----BEGIN PGP "):
            return -1
    return -1
