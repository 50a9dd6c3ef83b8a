"""The one line by which an agent sees a memory (R2), and the cleaning of inline text that it rests on.

Here: the exact string, byte for byte. Not here: which memories are listed and in what order, HTML or terminal escaping.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

import regex  # type: ignore[import-untyped]

PREVIEW_CHARS: Final = 80
"""Code points of content in a preview (R2, fixed)."""
HEADING_CHARS: Final = 300
"""A longer heading is cut here, at a grapheme border, with `…`; R2 forbids cutting below 120."""
ELLIPSIS: Final = "…"

_HEADING_FLOOR: Final = 120
# What \s misses of Unicode's and Python's whitespace, so that str.split() and this agree.
_SPACE: Final = regex.compile(r"[\s\x1c-\x1f\x85]+")
# Variation selectors, joiners and tags show nothing by themselves but shape their neighbours: judged one by one below.
_CONDITIONAL = r"\ufe00-\ufe0f\u180b-\u180d\u180f\U000e0100-\U000e01ef\u200c\u200d\U000e0020-\U000e007f"
_NEVER: Final = regex.compile(
    rf"(?V1)[[\p{{Cc}}\p{{Cs}}\p{{Default_Ignorable_Code_Point}}\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb"
    rf"\u2800\U000e0000-\U000e0fff]--[{_CONDITIONAL}]]+"
)
_JOINING = (
    r"\p{Arabic}\p{Syriac}\p{Mongolian}\p{Nko}\p{Mandaic}\p{Devanagari}\p{Bengali}\p{Gurmukhi}\p{Gujarati}\p{Oriya}"
    r"\p{Tamil}\p{Telugu}\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Khmer}\p{Myanmar}\p{Tibetan}\p{Balinese}\p{Javanese}"
)
_PICTURE = r"\p{Extended_Pictographic}"
_KEPT = (
    r"\U0001f3f4[\U000e0061-\U000e007a]{2}[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,3}\U000e007f"  # flag of Wales
    rf"|(?<=[{_PICTURE}\p{{Emoji_Modifier}}\ufe0f])\u200d(?={_PICTURE})"  # families, professions
    rf"|(?<=[{_JOINING}])[\u200c\u200d](?=[{_JOINING}])"  # Persian and Indic words
    r"|(?<=[\p{Emoji}\p{S}])[\ufe0e\ufe0f](?![\ufe00-\ufe0f])"  # text or picture
    r"|(?<=\p{Han})[\ufe00-\ufe02\U000e0100-\U000e01ef]|(?<=\p{Mongolian})[\u180b-\u180d\u180f]"  # glyph variants
)
_SHAPERS: Final = regex.compile(rf"(?V1)({_KEPT})|[{_CONDITIONAL}]")
_GRAPHEME: Final = regex.compile(r"\X")
# Cleaning looks at most this far ahead, so the beginning of a text can be cleaned without the rest.
_LOOKAHEAD: Final = 64


def clean_inline(text: str) -> str:
    """`text` as one line that shows what it holds (R2). Idempotent.

    Whitespace of any kind becomes single spaces, none at the ends. Control, bidi and zero-width characters go; a
    joiner, variation selector or tag stays only where it shapes its neighbours (emoji, Persian and Indic words, flags).
    """
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    text = _NEVER.sub("", _SPACE.sub(" ", text))
    return " ".join(_SHAPERS.sub(lambda match: match[1] or "", text).split())


def index_line(memory_id: UUID, heading: str, content: str) -> str:
    """R2: `[{memory_id}] {heading} — {preview}`.

    The preview is the first 80 code points of the cleaned content, less a grapheme that the cut would split, with `…`
    only if something was cut. A heading is kept whole up to 300 code points.
    """
    return f"[{memory_id}] {_heading(heading)} — {_preview(content)}"


def _preview(content: str) -> str:
    return _cut(_clean_start(content, PREVIEW_CHARS), PREVIEW_CHARS)


def _heading(heading: str) -> str:
    """At most 300 code points; a monstrous cluster (thousands of marks) that starts before the 120th is cut inside."""
    cleaned = _clean_start(heading, HEADING_CHARS)
    kept = _cut(cleaned, HEADING_CHARS)
    if len(kept) < min(len(cleaned), _HEADING_FLOOR):
        return cleaned[:HEADING_CHARS] + ELLIPSIS
    return kept


def _clean_start(text: str, wanted: int) -> str:
    """`clean_inline(text)`, of which only the first `wanted` code points and what follows them are needed.

    Reads a prefix that doubles until it is enough: a 2 MB note costs no more than a short one.
    """
    size = 8 * wanted
    while size < len(text):
        cleaned = clean_inline(text[:size])
        if len(cleaned) > wanted + _LOOKAHEAD:
            return cleaned
        size *= 2
    return clean_inline(text)


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    end = 0
    for match in _GRAPHEME.finditer(text):
        if match.end() > limit:
            break
        end = match.end()
    return text[:end] + ELLIPSIS
