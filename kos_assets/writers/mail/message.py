"""One message: its parts, chosen and turned to Markdown (W3).

Here: the MIME structure, which part is the text, what is attached, signed or encrypted. Not here: headers (headers.py),
HTML (richtext.py), plain text (plain.py), quotes and signatures (folding.py), threads.
"""

from __future__ import annotations

import email
import email.message
import email.policy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Final

from kos_assets.domain.frame import cut_recalled
from kos_assets.writers.mail import dates, headers, plain, richtext
from kos_assets.writers.mail.charsets import decoded
from kos_assets.writers.mail.headers import Fields
from kos_assets.writers.mail.mbox import split_lines
from kos_assets.writers.mail.people import Person, people
from kos_assets.writers.mail.slim import CUT_HEADER, slimmed

LONGEST_TEXT: Final = 200_000
_MOST_PARTS: Final = 1_000
_MOST_ATTACHMENTS: Final = 200
_LONGEST_NAME: Final = 200
_MOST_FORWARDED: Final = 50
_LITTLE: Final = 5  # an HTML part with this many times more text than the plain one is the message
_NO_TEXT: Final = 20
_BROKEN = (RecursionError, TypeError, ValueError, LookupError, AttributeError, AssertionError)
"""What email's parser is known to raise on malformed structure (parameters numbered both ways, huge numbers, depth)."""
_SIGNATURE_TYPES: Final = {
    "application/pgp-signature": "signed with PGP",
    "application/pkcs7-signature": "signed with S/MIME",
    "application/x-pkcs7-signature": "signed with S/MIME",
}
_SMIME: Final = frozenset(("application/pkcs7-mime", "application/x-pkcs7-mime"))
_UNNAMED: Final = {
    "text/calendar": "invitation.ics",
    "application/ms-tnef": "winmail.dat",
    "message/external-body": "kept elsewhere",
}
_SILENT: Final = frozenset((*_SIGNATURE_TYPES, "application/pgp-encrypted", "text/rfc822-headers"))


@dataclass(frozen=True)
class Attachment:
    """What was attached: its name, its content type, and its size in bytes where that is known."""

    name: str
    kind: str
    size: int | None


@dataclass(frozen=True)
class Message:
    """A message. `text` is Markdown with quotes and signatures still in it, at most 200,000 characters; `notes` say
    what cannot be seen in it (signed, encrypted, a calendar); `recalled_cut`: recalled pieces that were cut from it
    (W8). `at` is aware or None; `sender` is the first address of From."""

    message_id: str
    references: tuple[str, ...]
    subject: str
    sender: Person | None
    people: tuple[Person, ...]
    at: datetime | None
    text: str
    attachments: tuple[Attachment, ...] = ()
    notes: tuple[str, ...] = ()
    recalled_cut: int = 0


@dataclass
class _Reading:
    """What was found so far in the parts of a message."""

    texts: list[str] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    parts: int = 0
    forwarded: int = 0

    def note(self, words: str) -> None:
        if words not in self.notes:
            self.notes.append(words)


def parse_message(data: bytes, *, zone: tzinfo = UTC) -> Message:
    """W3: a message of any quality. Never raises: what cannot be understood is left out or read as plain text. A date
    without an offset is in `zone`."""
    chunk = memoryview(data)
    return read_message(split_lines(lambda at: bytes(chunk[at : at + (1 << 20)])), zone=zone)


def read_message(
    lines: Iterable[bytes], *, zone: tzinfo, quoted: bool = False, arrived: datetime | None = None
) -> Message:
    """A message from its lines, in bounded memory. `quoted`: they are of an mbox; `arrived` stands in for a missing
    date."""
    slim = slimmed(lines, quoted=quoted)
    found = headers.fields(slim)
    reading = _Reading()
    _read(_parsed(slim), reading)
    text, cut = cut_recalled("\n\n".join(text for text in reading.texts if text.strip()))
    senders = people(found, "from") or people(found, "sender", "return-path")
    return Message(
        message_id=headers.message_id(headers.first(found, "message-id")),
        references=tuple(headers.references(found)),
        subject=headers.text(headers.first(found, "subject")),
        sender=senders[0] if senders else None,
        people=tuple(people(found, "from", "to", "cc")),
        at=dates.sent(found, zone, otherwise=arrived),
        text=_bounded(text),
        attachments=tuple(reading.attachments[:_MOST_ATTACHMENTS]),
        notes=tuple(reading.notes),
        recalled_cut=cut,
    )


def _parsed(slim: bytes) -> email.message.Message:
    """The message's structure; the whole as one text where email's parser gives up."""
    try:
        return email.message_from_bytes(slim, policy=email.policy.compat32)
    except _BROKEN:
        bare = email.message.Message(email.policy.compat32)
        bare.set_payload(slim.partition(b"\n\n")[2].decode("ascii", "surrogateescape"))
        return bare


def _bounded(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}\n\n*({len(text) - LONGEST_TEXT:,} more characters are left out)*"


def _read(root: email.message.Message, reading: _Reading) -> None:
    """All parts in their order, without recursion."""
    waiting: list[email.message.Message] = [root]
    while waiting and reading.parts < _MOST_PARTS:
        part = waiting.pop()
        reading.parts += 1
        found = fields_of(part)
        kind, facts = headers.parameters(headers.first(found, "content-type"))
        inner = _inner(part)
        if kind == "multipart/alternative" and inner:
            chosen = _chosen(inner)
            waiting += [one for one in reversed(inner) if one is chosen or not _is_text(one)]
        elif kind == "multipart/signed" and inner:
            protocol = facts.get("protocol", "").casefold()
            reading.note(_SIGNATURE_TYPES.get(protocol, "signed"))
            waiting += reversed(inner)
        elif kind == "multipart/encrypted":
            reading.note("encrypted with PGP: the text cannot be read here")
        elif kind in ("message/rfc822", "message/global") and inner:
            if reading.forwarded < _MOST_FORWARDED:
                reading.forwarded += 1
                reading.texts.append(_forwarded(fields_of(inner[0])))
                waiting += reversed(inner[:1])
        elif inner:
            waiting += reversed(inner)
        else:
            _leaf(part, found, kind, facts, reading)


def _inner(part: email.message.Message) -> list[email.message.Message]:
    payload = part.get_payload()
    return [one for one in payload if isinstance(one, email.message.Message)] if isinstance(payload, list) else []


def fields_of(part: email.message.Message) -> Fields:
    """The headers of a part, as bytes."""
    raw: Iterator[tuple[str, str]] = part.raw_items()
    block = [f"{name}:{value}".encode("ascii", "surrogateescape") for name, value in raw if isinstance(value, str)]
    return headers.fields(b"\n".join(line.strip(b"\r\n") for line in block))


def _forwarded(found: Fields) -> str:
    """A line about a message that is inside another one."""
    sender, subject = people(found, "from"), headers.text(headers.first(found, "subject"))
    sent = dates.sent(found, UTC)
    facts = [str(sender[0]) if sender else "", f"{sent:%Y-%m-%d %H:%M}" if sent is not None else "", subject]
    return plain.neutral("**Attached message:** " + ", ".join(fact for fact in facts if fact))


def _is_text(part: email.message.Message) -> bool:
    kind, _ = headers.parameters(headers.first(fields_of(part), "content-type"))
    return kind in ("text/plain", "text/html", "text/enriched", "text/richtext", "text/watch-html", "") or (
        kind in ("multipart/related", "multipart/mixed", "multipart/alternative")
    )


def _chosen(parts: list[email.message.Message]) -> email.message.Message:
    """Which of several forms of the same text is read: the plain one, unless it says much less than the HTML."""
    plain_one: email.message.Message | None = None
    rich: email.message.Message | None = None
    for part in parts:
        kind, _ = headers.parameters(headers.first(fields_of(part), "content-type"))
        if kind in ("text/plain", "") and plain_one is None:
            plain_one = part
        elif _is_text(part):
            rich = part
    if plain_one is None or rich is None:
        return plain_one or rich or parts[0]
    short = len(text_of(plain_one).split())
    if short < _NO_TEXT:
        root = _root_html(rich)
        long = len(richtext.words(text_of(root)).split()) if root is not None else 0
        return rich if long > max(short * _LITTLE, _NO_TEXT) or short == 0 else plain_one
    return plain_one


def _root_html(part: email.message.Message) -> email.message.Message | None:
    for _ in range(10):
        inner = _inner(part)
        if not inner:
            return part
        part = inner[0]
    return None


def text_of(part: email.message.Message) -> str:
    """A text part in its charset, its transfer encoding undone."""
    found = fields_of(part)
    _, facts = headers.parameters(headers.first(found, "content-type"))
    return decoded(_bytes(part), facts.get("charset", ""))


def _bytes(part: email.message.Message) -> bytes:
    """A part's bytes, its transfer encoding undone; what cannot be decoded as it is."""
    try:
        payload = part.get_payload(decode=True)
    except _BROKEN:
        return b""
    return payload if isinstance(payload, bytes) else b""


def _leaf(part: email.message.Message, found: Fields, kind: str, facts: dict[str, str], reading: _Reading) -> None:
    placed, place = headers.parameters(headers.first(found, "content-disposition"))
    name = (place.get("filename") or facts.get("name") or "")[:_LONGEST_NAME]
    kind = "text/plain" if not kind or kind.startswith("multipart/") else kind  # a container that has no parts
    if kind in _SMIME:
        signed = facts.get("smime-type", "").casefold() == "signed-data"
        what = "signed with S/MIME inside a container" if signed else "encrypted with S/MIME"
        reading.note(f"{what}: the text cannot be read here")
        return
    if kind in _SIGNATURE_TYPES:
        reading.note(_SIGNATURE_TYPES[kind])
    if kind == "text/calendar":
        method = facts.get("method", "").upper()[:20]
        reading.note(f"with a calendar part ({method})" if method.isalpha() else "with a calendar part")
    inline = placed != "attachment" and (not name or placed == "inline" or kind == "text/html")
    if kind.startswith("text/") and inline and kind not in ("text/calendar", "text/x-vcard", "text/vcard", "text/css"):
        if kind not in _SILENT:
            _take_text(part, kind, facts, reading)
        return
    if kind in _SILENT or (kind.startswith("message/") and not name and kind not in _UNNAMED):
        if kind == "message/delivery-status" or (kind.startswith("message/") and kind not in _SILENT):
            _take_text(part, "text/plain", {}, reading)
        return
    attach(reading, Attachment(name or _UNNAMED.get(kind, f"unnamed ({kind})"), kind, _size(part, found)))


def _take_text(part: email.message.Message, kind: str, facts: dict[str, str], reading: _Reading) -> None:
    text = text_of(part)
    if kind == "text/html" or (kind == "text/plain" and richtext.is_document(text)):
        reading.texts.append(plain.neutral(richtext.to_markdown(text)))
        return
    read = plain.read(
        text, flowed=facts.get("format", "").casefold() == "flowed", joined=facts.get("delsp", "").casefold() == "yes"
    )
    reading.texts.append(read.text)
    for words in read.notes:
        reading.note(words)
    for name, size in read.attachments:
        attach(reading, Attachment(name[:_LONGEST_NAME], "application/octet-stream", size))


def attach(reading: _Reading, one: Attachment) -> None:
    """Remember an attachment; the same one only once."""
    if one not in reading.attachments:
        reading.attachments.append(one)


def _size(part: email.message.Message, found: Fields) -> int | None:
    cut = headers.first(found, CUT_HEADER)
    if cut.isdigit() and int(cut):
        return int(cut)
    apple = headers.first(found, "x-apple-content-length")
    if apple.isdigit() and len(apple) < 13:
        return int(apple)
    data = _bytes(part)
    return len(data.strip()) if data.strip() else None
