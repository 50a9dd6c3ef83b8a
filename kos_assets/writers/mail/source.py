"""Mail as a source of notes (W3).

Here: the order of things, which threads count, and their ids. Not here: files (places.py, mbox.py), one message
(message.py), what belongs together (threads.py), the note (page.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from kos_assets.domain.mirrors import MirrorSettings
from kos_assets.errors import ConfigError
from kos_assets.writers.contract import Entry, Item, Skipped, SourceError
from kos_assets.writers.listing import fingerprint
from kos_assets.writers.mail import mbox, page, places
from kos_assets.writers.mail.dates import from_epoch
from kos_assets.writers.mail.message import Message, read_message
from kos_assets.writers.mail.register import Register
from kos_assets.writers.mail.threads import Letter, grouped
from kos_assets.writers.note import note_id_of
from kos_assets.writers.standing import Standing

_MADE_AS: Final = "1"


def open_source(mirror: MirrorSettings, *, vault: Path, data_dir: Path, zone: ZoneInfo) -> MailSource:  # noqa: ARG001
    """The mail of a mirror. Raises ConfigError where its settings cannot work, SourceError where nothing is there."""
    own = tuple(dict.fromkeys(str(one).strip().casefold() for one in mirror.options.get("addresses", ())))
    all_threads = bool(mirror.options.get("all_threads", False))
    if not mirror.paths:
        raise ConfigError(
            f"Mirror {mirror.name} has no mail to read.",
            fix=f'Write path = "~/archive.mbox" (or a Maildir, or a folder of .eml) into [mirror.{mirror.name}].',
        )
    if not own and not all_threads:
        raise ConfigError(
            f"Mirror {mirror.name} does not know which addresses are yours.",
            why="Only threads that you wrote in become notes.",
            fix=f'Write addresses = ["you@example.org"] into [mirror.{mirror.name}], or all_threads = true.',
        )
    wrong = next((one for one in own if one.count("@") != 1 or one.endswith("@") or " " in one), None)
    if wrong is not None:
        raise ConfigError(
            f"[mirror.{mirror.name}] addresses holds {wrong!r}, which is no address.",
            fix='Write "you@example.org", or "@example.org" for all addresses there.',
        )
    places.check(mirror.paths)
    notes = mirror.folder or mirror.name
    return MailSource(
        mirror.paths, own=own, all_threads=all_threads, zone=zone, vault=vault, notes=notes, name=mirror.name
    )


class MailSource:
    """The threads below some paths. A second look reads only the messages of threads that become notes."""

    def __init__(
        self,
        paths: Sequence[Path],
        *,
        own: Sequence[str],
        all_threads: bool,
        zone: ZoneInfo,
        vault: Path,
        notes: str,
        name: str,
    ) -> None:
        self._paths, self._own, self._all, self._zone = tuple(paths), tuple(own), all_threads, zone
        self._vault, self._notes, self._name = vault, notes, name

    @property
    def complete(self) -> bool:
        """What is in no mailbox any more is gone from the source."""
        return True

    def fingerprint(self) -> str | None:
        """What the files are, the zone, and whose mail it is."""
        return fingerprint(places.files_of(self._paths), f"{_MADE_AS} {self._zone.key} {self._all} {self._own}")

    def entries(self) -> Iterator[Entry]:
        """W3: every thread that the owner wrote in (or every thread) as one note. Each message is in one note or is one
        Skipped. Raises SourceError where no mail is there at all."""
        register = Register(self._own, self._zone)
        for box in places.found(self._paths):
            if isinstance(box, Skipped):
                yield box
            else:
                yield from register.look_through(box)
        if not register.boxes:
            raise SourceError(
                "There is no mail in " + ", ".join(map(str, self._paths)) + ".",
                why="An mbox, a Maildir, or .eml or .emlx files were expected.",
                fix="Name the place where your mail program or its export keeps them (path in kos.toml).",
            )
        standing: dict[UUID, bool] | None = None
        for group in grouped(register.letters):
            letters = [register.letters[place] for place in group]
            if not self._all and not any(letter.mine for letter in letters):
                yield from (_not_replied(register, letter) for letter in letters)
                continue
            if standing is None:
                known = Standing(self._vault, self._name, self._notes)
                known.look()
                standing = {one: found.gone_since is not None for one, (_, found) in known.notes.items()}
            yield from self._thread(register, letters, standing)

    def _thread(self, register: Register, letters: Sequence[Letter], standing: dict[UUID, bool]) -> Iterator[Entry]:
        dated = [at for letter in letters if letter.at is not None and (at := from_epoch(letter.at)) is not None]
        span = page.Span(
            external_id=_thread_id(register, letters, standing, self._name),
            origin=register.where(letters[0]),
            messages=len(letters),
            first=min(dated).astimezone(self._zone) if dated else None,
            last=max(dated).astimezone(self._zone) if dated else None,
        )
        kept: list[Item] = []
        try:
            with ExitStack() as stack:
                kept.extend(page.items(span, self._messages(register, letters, stack), zone=self._zone))
        except OSError as error:
            reason, fix = error.strerror or str(error), "run it again"
            for letter in letters:
                yield Skipped(register.where(letter), "changed_while_read", reason, fix)
            return
        yield from kept

    def _messages(self, register: Register, letters: Sequence[Letter], stack: ExitStack) -> Iterator[Message]:
        """The messages, read one by one; the file of the last one stays open."""
        last: tuple[int, int] | None = None
        for letter in letters:
            if last is None or last[0] != letter.box:
                stack.close()
                last = letter.box, stack.enter_context(places.opened(register.boxes[letter.box]))
            lines = mbox.lines(last[1], letter.start, letter.end)
            came: datetime | None = from_epoch(letter.came) if letter.came is not None else None
            yield read_message(lines, zone=self._zone, quoted=letter.quoted, arrived=came)


def _not_replied(register: Register, letter: Letter) -> Skipped:
    reason, fix = "you wrote nothing in this thread", "nothing to do; all_threads = true takes it in"
    return Skipped(register.where(letter), "not_replied", reason, fix, counts=False)


def _thread_id(register: Register, letters: Sequence[Letter], standing: dict[UUID, bool], mirror: str) -> str:
    """The id of a thread: that of its first message, also one that is only named (the first reference of the oldest
    message). So a root that shows up later changes nothing where the replies named it; and where they did not, a note
    that stands already under the id of any message of the thread keeps it."""
    ids = list(dict.fromkeys(number for letter in letters for number in (*letter.references[:1], letter.name)))
    ids += list(dict.fromkeys(number for letter in letters for number in letter.references))
    names = [register.names[number] for number in dict.fromkeys(ids)]
    if standing:
        kept = [(standing[one], name) for name in names if (one := note_id_of(mirror, name)) in standing]
        if kept:
            return min(kept, key=lambda one: one[0])[1]
    return names[0]
