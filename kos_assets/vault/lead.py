"""The date that a note's first lines give it (S10): `Berlin, 4 March 2026`, `**Date:** 2026-03-04`, `On 4 March 2026`.

Here: which of the dates near the top of a text is the note's own. Not here: how dates are spelled (dates.py). Nothing
is guessed: a date that may be two, two different dates, a due date or a year of foundation give none.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from typing import Final

from kos_assets.domain.prose import code_spans, spoken
from kos_assets.vault import markdown
from kos_assets.vault.date_words import LABELS, OTHER_DATES, WEEKDAYS
from kos_assets.vault.dates import When, spelled

_CHARACTERS: Final = 4000  # of the body that are looked at
_LINES: Final = 12  # with text, in which a line that begins with a date gives it
_PLAIN_LINES: Final = 5  # in which a date anywhere gives it
_PLACE_WORDS: Final = 3
_DATE_WORDS: Final = 5  # 4 de marzo de 2026
_BEFORE: Final = WEEKDAYS | LABELS
_FENCE: Final = re.compile(r"[> \t]*(`{3,}|~{3,})")
_HEADING: Final = re.compile(r" {0,3}#{1,6}(?:[ \t]|\Z)")
_SKIPPED: Final = re.compile(r"\t| {4}|[> \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[.\]|\[[^\]]+\]:|[| :-]+\Z")
_TASK_MARKS: Final = re.compile("[\U0001f4c5\u23f3\U0001f6eb\u2795\u2705\u274c\U0001f501\U0001f5d3]")
_DATED_LINK: Final = re.compile(r"(::?[*_ \t]{0,4})\[\[(?:[^\[\]|]{0,80}/)?([^\[\]|/]{8,40})(?:\|[^\[\]]{0,40})?\]\]")
_HTML_TAG: Final = re.compile(r"<[^<>]*>")
_ZONE_NAME: Final = re.compile(r"[A-Z][A-Za-z]+(?:/[A-Z][A-Za-z_]+){1,2}[)\].,;]*\Z")
_WORD: Final = re.compile(r"[^\W\d_]+")
_NOT_OF_TIMES: Final = re.compile(r"[^\W\d_TZtz]")


def lead_date(body: str, zone: dt.tzinfo) -> When | None:
    """The date of the first lines of `body` (without frontmatter), or None. Bounded: 4,000 characters, 12 lines.

    A line that begins with a date, or with a word for one and a date, or is a letter's head, decides; else the only day
    that the first five lines name. Dates in code, links, addresses, tables' rules, tasks and headings do not count.
    """
    days: dict[dt.date, When] = {}
    unclear = False
    for number, line in enumerate(_lines(body)):
        dates = spelled(line, zone)
        if not dates:
            continue
        start, first = dates[0]
        words = {word.casefold() for word in _WORD.findall(line[:start])}
        if words & OTHER_DATES:
            continue
        if first is not None and not unclear and (words <= _BEFORE or _is_letterhead(line, start)):
            return first
        if number < _PLAIN_LINES:
            unclear = unclear or any(when is None for _, when in dates)
            days.update({when.at.date(): when for _, when in reversed(dates) if when is not None})
    return next(iter(days.values())) if len(days) == 1 and not unclear else None


def _is_letterhead(line: str, start: int) -> bool:
    """`Berlin, den 4. März 2026`: a place, and a date that ends the line."""
    place, comma, rest = line[:start].rpartition(",")
    between = {word.casefold() for word in _WORD.findall(rest)}
    short = len(place.split()) <= _PLACE_WORDS and len(line[start:].split()) <= _DATE_WORDS
    return bool(comma) and short and between <= _BEFORE


def _lines(body: str) -> Iterator[str]:
    """The first lines of prose, with what is no prose masked out; a heading below prose ends them."""
    fence = ""
    count = 0
    for raw in spoken(body[:_CHARACTERS]).split("\n"):
        opened = _FENCE.match(raw)
        if fence:
            if opened and opened[1].startswith(fence) and not raw[opened.end() :].strip():
                fence = ""
            continue
        if opened:
            fence = opened[1]
            continue
        if not raw.strip():
            continue
        if _HEADING.match(raw):
            if count:
                return
            continue
        count += 1
        if count > _LINES:
            return
        if not _SKIPPED.match(raw) and not _TASK_MARKS.search(raw):
            yield _masked(raw[:500])


def _masked(line: str) -> str:
    for start, end in code_spans(line):
        line = line[:start] + "|" * (end - start) + line[end:]
    line = markdown.without_links(_DATED_LINK.sub(r"\1 \2 ", line))
    line = _HTML_TAG.sub("|", line)
    return " ".join("|" if _is_address(token) else token for token in line.split())


def _is_address(token: str) -> bool:
    """A web address, a path, or a name that only contains a date (`log_2026-03-04.txt`)."""
    if "://" in token or token.startswith("www.") or "@" in token or "\\" in token:
        return True
    if ("/" in token or "." in token or "_" in token) and any(character.isdigit() for character in token):
        return _NOT_OF_TIMES.search(token.strip("*_()[],;:")) is not None and not _ZONE_NAME.match(token)
    return False
