"""The first look through all mail: headers only, as small records (W3).

Here: which messages there are, which of two copies counts, which are left out on purpose. Not here: what belongs
together (threads.py), texts (message.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final
from zoneinfo import ZoneInfo

from kos_assets.writers.contract import Skipped
from kos_assets.writers.mail import headers, mbox, places
from kos_assets.writers.mail.dates import sent
from kos_assets.writers.mail.headers import Fields
from kos_assets.writers.mail.mbox import Span
from kos_assets.writers.mail.people import Person, is_one_of, people
from kos_assets.writers.mail.places import Box
from kos_assets.writers.mail.threads import Letter

_APPLE_DELETED: Final = 1 << 1
_APPLE_DRAFT: Final = 1 << 6
_MOZILLA_EXPUNGED: Final = 0x0008
_MOST_PEOPLE: Final = 40
_A_DAY: Final = 86_400.0
_MOST_DIGESTED: Final = 64 << 20
_DUPLICATE: Final = "the same message is there already"


class Register:
    """Every message once. `names` are ids by number; `boxes` the files that `Letter.box` counts."""

    def __init__(self, own: Sequence[str], zone: ZoneInfo) -> None:
        self.letters: list[Letter] = []
        self.boxes: list[Box] = []
        self.names: list[str] = []
        self._own, self._zone = tuple(own), zone
        self._numbers: dict[str, int] = {}
        self._subjects: dict[str, int] = {}
        self._people: dict[str, int] = {}
        self._mine: dict[str, bool] = {}
        self._places: dict[int, int] = {}

    def look_through(self, box: Box) -> Iterator[Skipped]:
        """Take in the messages of a file; what gives no letter is yielded. A file that cannot be read is one Skipped
        without an origin: any thread may have lost a message by it, so none is taken for gone."""
        number = len(self.boxes)
        self.boxes.append(box)
        try:
            with places.opened(box) as descriptor:
                for count, span in enumerate(_spans(box, descriptor), start=1):
                    where = f"{box.name}:{count}" if box.kind == "mbox" else box.name
                    yield from self._take(number, where, span, descriptor)
        except OSError as error:
            reason = error.strerror or str(error)
            yield Skipped(box.name, "unreadable_file", reason, "give this user the right to read it; run it again")

    def number_of(self, name: str) -> int:
        """The number of an id."""
        return self._numbers[name]

    def where(self, letter: Letter) -> str:
        """The file that a letter lies in."""
        return self.boxes[letter.box].name

    def _take(self, number: int, where: str, span: Span, descriptor: int) -> Iterator[Skipped]:
        box = self.boxes[number]
        found = headers.fields(span.head)
        left_out = _left_out(box, span, found)
        if left_out is not None:
            yield Skipped(where, *left_out, "nothing to do", counts=False)
            return
        letter = self._letter(number, span, found, descriptor)
        place = self._places.get(letter.name)
        if place is not None and not self._same(self.letters[place], letter):
            letter.name = self._number(_digest(span, found, descriptor))
            place = self._places.get(letter.name)
        if place is None:
            self._places[letter.name] = len(self.letters)
            self.letters.append(letter)
            return
        if self.letters[place].partial and not letter.partial:
            letter.mine = letter.mine or self.letters[place].mine
            self.letters[place] = letter
        yield Skipped(where, "duplicate", _DUPLICATE, "nothing to do", counts=False)

    def _same(self, one: Letter, other: Letter) -> bool:
        """Whether two messages of one id are copies: programs that count their ids anew give one id twice."""
        near = one.at is None or other.at is None or abs(one.at - other.at) <= _A_DAY
        return near or one.subject == other.subject >= 0

    def _letter(self, number: int, span: Span, found: Fields, descriptor: int) -> Letter:
        name = headers.message_id(headers.first(found, "message-id")) or _digest(span, found, descriptor)
        bare, reply = headers.bare_subject(headers.text(headers.first(found, "subject")))
        key = headers.subject_key(bare)
        at = sent(found, self._zone, otherwise=span.at)
        everybody = people(found, "from", "to", "cc")[:_MOST_PEOPLE]
        return Letter(
            box=number,
            start=span.start,
            end=span.end,
            quoted=span.quoted,
            name=self._number(name),
            references=tuple(self._number(one) for one in headers.references(found) if one != name),
            subject=self._subjects.setdefault(key, len(self._subjects)) if key else -1,
            reply=reply,
            at=at.timestamp() if at is not None else None,
            came=span.at.timestamp() if span.at is not None else None,
            people=tuple(self._strangers(everybody)),
            mine=any(self._is_mine(one) for one in people(found, "from")),
            partial=self.boxes[number].partial,
        )

    def _strangers(self, everybody: Sequence[Person]) -> Iterator[int]:
        """Numbers of addresses; the owner's own join nothing, for they are in every message."""
        for one in everybody:
            if one.address and not self._is_mine(one):
                yield self._people.setdefault(one.address, len(self._people))

    def _is_mine(self, person: Person) -> bool:
        known = self._mine.get(person.address)
        if known is None:
            known = self._mine[person.address] = is_one_of(person, self._own)
        return known

    def _number(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self.names)
            self.names.append(name)
        return number


def _spans(box: Box, descriptor: int) -> Iterator[Span]:
    if box.kind == "mbox":
        return mbox.spans(descriptor, box.file.size)
    return iter(
        (mbox.emlx(descriptor, box.file.size) if box.kind == "emlx" else mbox.whole(descriptor, box.file.size),)
    )


def _left_out(box: Box, span: Span, found: Fields) -> tuple[str, str] | None:
    """The code and the reason why a message is none that was sent and kept; None where it is one."""
    if not found:
        return "no_headers", "it has no headers"
    labels = [label.strip() for label in headers.text(headers.first(found, "x-gmail-labels")).split(",")]
    mozilla = headers.first(found, "x-mozilla-status").strip()
    expunged = len(mozilla) == 4 and mozilla.isalnum() and _hexadecimal(mozilla) & _MOZILLA_EXPUNGED
    if "T" in box.flags or span.flags & _APPLE_DELETED or expunged or "Trash" in labels:
        return "deleted", "it was deleted"
    if "D" in box.flags or span.flags & _APPLE_DRAFT or "Drafts" in labels or "Draft" in labels:
        return "draft", "it was never sent"
    if "Spam" in labels:
        return "spam", "it is marked as spam"
    if headers.first(found, "x-imap") and b"FOLDER INTERNAL DATA" in headers.first(found, "subject"):
        return "folder_data", "the mail program keeps its own data in it"
    return None


def _hexadecimal(digits: bytes) -> int:
    try:
        return int(digits, 16)
    except ValueError:
        return 0


def _digest(span: Span, found: Fields, descriptor: int) -> str:
    """An id for a message without one (or with another message's): the same in every kind of mailbox that it may be
    kept in, whatever was added to its headers there."""
    digest = hashlib.sha256()
    for name in ("from", "to", "date", "subject"):
        digest.update(headers.text(headers.first(found, name)).encode("utf-8", "replace") + b"\0")
    inside, blank = False, 0
    for line in mbox.lines(descriptor, span.start, min(span.end, span.start + _MOST_DIGESTED)):
        bare = line.rstrip()
        if not inside:
            inside = not bare
        elif not bare:
            blank += 1
        else:
            digest.update(b"\n" * blank + (bare.lstrip(b">") if b"From " in bare[:40] else bare) + b"\n")
            blank = 0
    return "sha256-" + digest.hexdigest()[:32]
