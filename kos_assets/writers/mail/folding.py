"""Quotes and signatures, folded away (W3).

Here: which lines of a message are someone else's, which of those nobody has kept, and where a signature begins. Not
here: words of languages (folding_words.py), threads (page.py). Pure; linear in the length of a message.

mail-parser-reply 1.36 was looked at and is not used: it drops everything below `Thanks,` or from the first `- item` of
a list on, needs the language beforehand, and its patterns backtrack over the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kos_assets.writers.mail.folding_words import (
    ADDRESSED,
    ANY_FIELD,
    DATED,
    FOOTER_RULE,
    LIST_FOOTER,
    ORIGINAL,
    RULED,
    SENDER_FIELD,
    SENT_FROM,
    WROTE,
)

_MOST_KNOWN: Final = 1_000_000
_PIECE: Final = 40
_MOST_PIECES: Final = 200
_ENOUGH: Final = 0.6
_FOLDED_CHARACTERS: Final = 4_000
_FOLDED_LINES: Final = 80
_FORWARDED_CHARACTERS: Final = 20_000
_FORWARDED_LINES: Final = 400
_CONTEXT_LINES: Final = 2
_CONTEXT_CHARACTERS: Final = 200
_SHORT_QUOTE: Final = 3
_LONGEST_SIGNATURE: Final = 15
_LONGEST_ATTRIBUTION: Final = 400
_LONGEST_FOOTER: Final = 15
_LONGEST_LINE: Final = 1_000
_QUOTED = re.compile(r"[ \t]{0,3}>")
_INITIALS = re.compile(r"[ \t]{0,3}[A-Za-z]{1,4}>")
_ONE_MARK = re.compile(r"[ \t]{0,3}(?:[A-Za-z]{1,4})?>[ ]?")
_LETTERS = re.compile(r"[\W_]+")
_BLANK_LINES = re.compile(r"\n{3,}")


class Known:
    """What earlier messages of the thread said, so that quotes of it need not be kept again. At most the last million
    letters."""

    def __init__(self) -> None:
        self._letters = ""

    def add(self, text: str) -> None:
        """Remember a text."""
        self._letters = (self._letters + "\n" + _squeezed(text))[-_MOST_KNOWN:]

    def holds(self, text: str) -> bool:
        """Whether most of a text was said before, however it is broken into lines, marked up or shortened."""
        letters = _squeezed(text)
        if len(letters) <= _PIECE:
            return letters in self._letters
        starts = range(0, len(letters) - _PIECE + 1, _PIECE)
        chosen = starts[:: max(1, len(starts) // _MOST_PIECES)]
        said = sum(1 for at in chosen if letters[at : at + _PIECE] in self._letters)
        return said >= len(chosen) * _ENOUGH


@dataclass(frozen=True)
class _Block:
    """Lines of one kind: the writer's own, or a quote with the line that says whose it is. `original`: a whole message,
    not marked line by line."""

    lines: Sequence[str]
    quoted: bool
    source: str = ""
    original: bool = False


def folded(text: str, known: Known) -> str:
    """What a message says itself. A quote of what is known is dropped, but for its last lines where an answer follows;
    a quote that is the only copy is kept: as it is where it is short, else as a folded callout, cut at 4,000 characters
    (20,000 of a forwarded message). Signatures, footers of lists and `Sent from my ...` are dropped. A message that is
    nothing but a signature stays."""
    blocks = _blocks(text.split("\n"))
    written: list[list[str]] = []
    answered = False
    for block in reversed(blocks):
        if block.quoted:
            written.append(_kept_quote(block, known, answered=answered))
            continue
        own = _without_signature(block.lines)
        answered = answered or bool(own)
        written.append([own] if own else [])
    result = _BLANK_LINES.sub("\n\n", "\n\n".join(piece for pieces in reversed(written) for piece in pieces)).strip(
        "\n"
    )
    return result or ("" if any(block.quoted for block in blocks) else text.strip("\n"))


def _kept_quote(block: _Block, known: Known, *, answered: bool) -> list[str]:
    content = [_ONE_MARK.sub("", line, count=1) if _is_quote(line) else line for line in block.lines]
    said = [line.strip() for line in content if line.strip()]
    if not said:
        return []
    if known.holds("\n".join(content)):
        if not answered:
            return []
        context = said[-_CONTEXT_LINES:]
        cut = [line if len(line) <= _CONTEXT_CHARACTERS else f"{line[:_CONTEXT_CHARACTERS]}…" for line in context]
        return [
            "\n".join(
                f"> {'… ' if place == 0 and len(said) > len(cut) else ''}{line}" for place, line in enumerate(cut)
            )
        ]
    if len(said) <= _SHORT_QUOTE and not (block.source or block.original) and sum(map(len, said)) <= _FOLDED_CHARACTERS:
        return ["\n".join(f"> {line}" for line in said)]
    return [_callout(block, content)]


def _callout(block: _Block, content: Sequence[str]) -> str:
    """A quote behind a fold, as Obsidian shows it; plain Markdown everywhere else."""
    kept: list[str] = []
    left, most = (_FORWARDED_CHARACTERS, _FORWARDED_LINES) if block.original else (_FOLDED_CHARACTERS, _FOLDED_LINES)
    lines = "\n".join(content).strip("\n").split("\n")
    for line in lines[:most]:
        if len(line) > left:
            kept.append(f"> {line[:left]}…")
            break
        kept.append(f"> {line}".rstrip())
        left -= len(line)
    if len(kept) < len(lines):
        kept.append("> […]")
    return "\n".join([f"> [!quote]- {block.source or 'Quoted'}", *kept])


def _blocks(lines: Sequence[str]) -> list[_Block]:
    """The text as blocks. What stands below the line of an original message, or below the head of one, is a quote to
    the end; so are lines with marks, and the line above them that says who wrote them."""
    end = _original_at(lines)
    found: list[_Block] = []
    own: list[str] = []
    at = 0
    while at < end:
        if not _is_quote(lines[at]) or not _quotes_here(lines, at, end):
            own.append(lines[at])
            at += 1
            continue
        stop = _quote_end(lines, at, end)
        source = _attribution(own)
        found += [_Block(tuple(own), False)] if any(line.strip() for line in own) else []
        found.append(_Block(lines[at:stop], True, source))
        own, at = [], stop
    open_end = _unmarked_at(own) if end == len(lines) else None
    if open_end is not None:
        source = _attribution(head := own[:open_end])
        found += [_Block(tuple(head), False)] if any(line.strip() for line in head) else []
        found.append(_Block(own[open_end:], True, source, original=True))
        own = []
    found += [_Block(tuple(own), False)] if any(line.strip() for line in own) else []
    if end < len(lines):
        found.append(_below_original(lines[end:]))
    return found


def _below_original(lines: Sequence[str]) -> _Block:
    """An original message: its lines without the separator, and its head as one line."""
    rest = list(lines)
    while rest and (not rest[0].strip() or ORIGINAL.fullmatch(rest[0]) or not _LETTERS.sub("", rest[0])):
        rest.pop(0)
    head: list[str] = []
    while (
        rest
        and len(head) < 12
        and (ANY_FIELD.match(rest[0][:_LONGEST_LINE]) or (head and rest[0].strip() and rest[0][0] in " \t"))
    ):
        head.append(" ".join(rest.pop(0).replace("*", "").split()))
        if rest and not rest[0].strip() and len(rest) > 1 and ANY_FIELD.match(rest[1][:_LONGEST_LINE]):
            rest.pop(0)
    return _Block(rest, True, ", ".join(head)[:_LONGEST_ATTRIBUTION], original=True)


def _original_at(lines: Sequence[str]) -> int:
    """Where an original message begins that is not marked line by line: below such a line as programs write, or at a
    head of a sender and two other fields. Else the end."""
    for at, line in enumerate(lines):
        if len(line) > _LONGEST_LINE or _is_quote(line):
            continue
        if ORIGINAL.fullmatch(line) and RULED.search(line):
            return at if not _marked_below(lines, at + 1) else len(lines)
        if SENDER_FIELD.match(line) and _head_size(lines, at) >= 3:
            ruled = at > 0 and not _LETTERS.sub("", lines[at - 1]) and lines[at - 1].strip()
            return at - 1 if ruled else at
    return len(lines)


def _marked_below(lines: Sequence[str], at: int) -> bool:
    """Whether what follows is marked line by line anyway."""
    following = [line for line in lines[at : at + 6] if line.strip()]
    return bool(following) and all(_is_quote(line) for line in following)


def _head_size(lines: Sequence[str], at: int) -> int:
    fields = 0
    for line in lines[at : at + 12]:
        if ANY_FIELD.match(line[:_LONGEST_LINE]):
            fields += 1
        elif line.strip() and not line.startswith((" ", "\t")):
            break
    return fields


def _is_quote(line: str) -> bool:
    return _QUOTED.match(line) is not None or _INITIALS.match(line) is not None


def _quotes_here(lines: Sequence[str], at: int, end: int) -> bool:
    """Initials before a mark (`AB> text`) count only where two lines in a row have them."""
    if _QUOTED.match(lines[at]):
        return True
    return (at + 1 < end and _INITIALS.match(lines[at + 1]) is not None) or (
        at > 0 and _INITIALS.match(lines[at - 1]) is not None
    )


def _quote_end(lines: Sequence[str], at: int, end: int) -> int:
    """The first line after a quote; blank lines inside it are of it."""
    last = at
    while at < end and (not lines[at].strip() or _is_quote(lines[at])):
        last = at if lines[at].strip() else last
        at += 1
    return last + 1


def _attribution(own: list[str]) -> str:
    """Take the line that says who wrote what follows off the end of a text, where there is one; up to three lines."""
    at = len(own)
    while at and not own[at - 1].strip():
        at -= 1
    if len(own) - at > 2 or not at or len(own[at - 1]) > _LONGEST_ATTRIBUTION:
        return ""
    above = [line.strip() for line in own[max(0, at - 3) : at]]
    for count, strictly in ((1, True), (2, True), (3, True), (1, False)):
        if count > len(above) or not _says_who(above[-count:], strictly=strictly):
            continue
        taken = count
        while taken < len(above) and DATED.search(" ".join(above[-taken:])) is None and above[-taken - 1]:
            taken += 1  # the date may stand on the line before
        taken = taken if DATED.search(" ".join(above[-taken:])) else count
        del own[at - taken :]
        return " ".join(above[-taken:]).rstrip(":：")
    return ""


def _says_who(lines: Sequence[str], *, strictly: bool) -> bool:
    """Whether lines say who wrote what follows: a word for that with a date or an address, or both of these; not
    `strictly`, a name and that word."""
    words = " ".join(lines)
    if len(words) > _LONGEST_ATTRIBUTION or not all(lines):
        return False
    dated, addressed = DATED.search(words) is not None, ADDRESSED.search(words) is not None
    wrote = WROTE.search(words) is not None
    if not words.rstrip("*_ ").endswith((":", "：")):
        return wrote and dated and (addressed or words.rstrip().endswith(("...", "…")))
    if not strictly:
        return wrote and len(words) < 80
    return (wrote and (dated or addressed)) or (dated and addressed)


def _unmarked_at(own: Sequence[str]) -> int | None:
    """Where a quote without marks begins: after a line with a date, an address and a word like `wrote`, at the end of a
    text."""
    for at, line in enumerate(own):
        if at == 0 or len(line) > _LONGEST_ATTRIBUTION or not line.rstrip().endswith((":", "：")):
            continue
        if WROTE.search(line) and DATED.search(line) and ADDRESSED.search(line):
            return at + 1
    return None


def _without_signature(lines: Sequence[str]) -> str:
    """A text of the writer's own, without what stands below it."""
    kept = [line.rstrip() for line in lines]
    kept = kept[: _footer_at(kept)]
    for at in range(len(kept) - 1, max(-1, len(kept) - _LONGEST_SIGNATURE - 3), -1):
        if (
            kept[at].strip() in ("--", "\\--", "—")
            and sum(1 for line in kept[at:] if line.strip()) <= _LONGEST_SIGNATURE
        ):
            kept = kept[:at]
            break
    kept = kept[: _footer_at(kept)]
    while kept and (not kept[-1].strip() or SENT_FROM.fullmatch(kept[-1][:_LONGEST_LINE])):
        kept.pop()
    return "\n".join(kept).strip("\n")


def _footer_at(lines: Sequence[str]) -> int:
    """Where the footer of a mailing list begins: a ruled line near the end with such words below it."""
    for at in range(max(0, len(lines) - _LONGEST_FOOTER), len(lines)):
        line = lines[at].strip()
        if FOOTER_RULE.fullmatch(line[:_LONGEST_LINE]) and LIST_FOOTER.search(
            "\n".join((line, *lines[at + 1 :]))[:4_000]
        ):
            return at
    return len(lines)


def _squeezed(text: str) -> str:
    return _LETTERS.sub("", text.casefold())
