"""A conversation as a note: who wrote what when (W3).

Here: from the messages of a thread to items. Not here: what belongs together (threads.py), how a message is read
(message.py) or folded (folding.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Final

from kos_assets.writers.contract import Item, Value
from kos_assets.writers.mail import folding, headers, plain
from kos_assets.writers.mail.dates import zone_name
from kos_assets.writers.mail.message import Attachment, Message

LARGEST_PART: Final = 4_000_000
"""Bytes of text in one note; a longer conversation goes on in `<id>#2`, `#3`, ..."""
_MOST_PEOPLE: Final = 500
_MOST_NAMES: Final = 200


@dataclass(frozen=True)
class Span:
    """What is known of a conversation before its texts are read: how many messages, and when the first and the last one
    were sent (aware; None where none has a date)."""

    external_id: str
    origin: str
    messages: int
    first: datetime | None
    last: datetime | None


@dataclass
class _Part:
    """A note in the making."""

    blocks: list[str] = field(default_factory=list)
    size: int = 0
    messages: int = 0
    last: datetime | None = None
    people: dict[str, str] = field(default_factory=dict)
    attachments: list[str] = field(default_factory=list)
    recalled_cut: int = 0


def items(span: Span, messages: Iterable[Message], *, zone: tzinfo, largest: int = LARGEST_PART) -> Iterator[Item]:
    """The notes of a conversation, usually one: a heading with date and sender for each message, its text with quotes
    and signatures folded, its attachments by name and size. Messages come oldest first and are let go one by one.

    `at` is the newest message's date (S10: only then is all of it true of that time), in its sender's offset;
    `started` the first one's; the times in the text are in `zone`, the reader's. A message that comes later
    moves nothing before it from one part to another.
    """
    known, part, title, number = folding.Known(), _Part(), "", 1
    for message in messages:
        title = title or _title(message)
        block = _written(message, known, zone)  # at most 200,000 characters: always less than a part
        size = len(block.encode("utf-8", "replace")) + 2
        if part.blocks and part.size + size > largest:
            yield _item(span, part, title, number)
            part, number = _Part(), number + 1
        part.blocks.append(block)
        part.size += size
        _count(part, message)
        known.add(message.text)
    if part.blocks:
        yield _item(span, part, title, number)


def _count(part: _Part, message: Message) -> None:
    part.messages += 1
    part.recalled_cut += message.recalled_cut
    if message.at is not None and (part.last is None or message.at >= part.last):
        part.last = message.at
    for person in message.people:
        key = person.address or person.name.casefold()
        if key not in part.people or (person.name and part.people[key] == person.address):
            part.people[key] = str(person)
    part.attachments += [one.name for one in message.attachments]


def _item(span: Span, part: _Part, title: str, number: int) -> Item:
    last = part.last or span.last
    facts: dict[str, Value] = {"kind": "mail", "messages": span.messages}
    facts |= {"first": _day(span.first)} if span.first is not None else {}
    facts |= {"last": _day(span.last)} if span.last is not None else {}
    facts |= {"part": number, "messages_here": part.messages} if number > 1 else {}
    return Item(
        recalled_cut=part.recalled_cut,
        external_id=span.external_id if number == 1 else f"{span.external_id}#{number}",
        title=title if number == 1 else f"{title} (part {number})",
        body="\n\n".join(part.blocks),
        at=last,
        zone=zone_name(last) if last is not None else None,
        people=list(part.people.values())[:_MOST_PEOPLE],
        attachments=list(dict.fromkeys(part.attachments))[:_MOST_NAMES],
        properties=facts,
        origin=span.origin,
        started=span.first,
    )


def _day(at: datetime) -> str:
    return at.isoformat(timespec="minutes")


def _title(message: Message) -> str:
    """The subject without `Re:`; where there is none, whose mail it is."""
    bare = headers.bare_subject(message.subject)[0]
    if bare:
        return bare
    return f"Mail from {message.sender.short}" if message.sender is not None else "Mail without subject"


def _written(message: Message, known: folding.Known, zone: tzinfo) -> str:
    when = f"{message.at.astimezone(zone):%Y-%m-%d %H:%M}" if message.at is not None else "No date"
    who = message.sender.short if message.sender is not None else "unknown sender"
    text = plain.closed(folding.folded(message.text, known))
    lines = [f"## {when}, {plain.neutral(who)}"]
    lines += [text] if text else ["*(no text of its own)*"]
    lines += [f"*({'; '.join(message.notes)})*"] if message.notes else []
    named = [_named(one) for one in message.attachments]
    lines += [f"Attachments: {plain.neutral(', '.join(named))}"] if named else []
    return "\n\n".join(lines)


def _named(one: Attachment) -> str:
    return one.name if one.size is None else f"{one.name} ({size_in_words(one.size)})"


def size_in_words(size: int) -> str:
    """`812 bytes`, `14 KB`, `2.3 MB`, in steps of 1,000."""
    if size < 1_000:
        return f"{size} bytes"
    return f"{size / 1_000:.0f} KB" if size < 999_500 else f"{size / 1_000_000:.1f} MB"
