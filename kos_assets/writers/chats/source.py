"""Exports and session logs as one source of conversations (W6).

Here: the order of things, which of two copies counts, and what is reported. Not here: files (places.py, archive.py,
records.py, logs.py), the shapes of the services (chatgpt.py, claude.py, sessions.py), text (talk.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from kos_assets.writers.chats import archive, chatgpt, claude, logs, places, sessions, talk
from kos_assets.writers.chats.records import UNREAD, Readable, Record, Unreadable, records
from kos_assets.writers.chats.shapes import Conversation, moment, sound_id
from kos_assets.writers.contract import Entry, Skipped, SourceError
from kos_assets.writers.listing import SourceFile, fingerprint

_MADE_AS: Final = "1"
_TEXTS: Final = frozenset(("mapping", "chat_messages")) | UNREAD
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_AGAIN: Final = "export again, or take the file away"
_MOST_BAD_LINES: Final = 20

Rank = tuple[float, int]
Spot = tuple[int, int]


class ChatSource:
    """The conversations below some paths. Account exports first, then session logs, each in order of its path."""

    def __init__(self, paths: Sequence[Path], zone: ZoneInfo) -> None:
        self._paths = tuple(paths)
        self._zone = zone

    @property
    def complete(self) -> bool:
        """What is in no export and no log any more is gone from the source."""
        return True

    def fingerprint(self) -> str | None:
        """What the files are, and the zone that times are written in."""
        return fingerprint(places.found(self._paths), f"{_MADE_AS} {self._zone.key}")

    def entries(self) -> Iterator[Entry]:
        """W6: every conversation once, as one note or as numbered parts. Raises SourceError where nothing is there."""
        every = list(places.found(self._paths))
        found = [place for place in every if isinstance(place, SourceFile)]
        if not found:
            raise SourceError(
                "There is no chat export and no session log in " + ", ".join(map(str, self._paths)) + ".",
                why="A conversations.json, a .zip that holds one, or .jsonl session logs were expected.",
                fix="Put the export there as it was downloaded, or change path in kos.toml.",
            )
        yield from (place for place in every if isinstance(place, Skipped))
        yield from self._accounts([place for place in found if places.kind_of(place) != "jsonl"])
        yield from self._sessions([place for place in found if places.kind_of(place) == "jsonl"])

    def _accounts(self, exports: Sequence[SourceFile]) -> Iterator[Entry]:
        best = self._best(exports)
        for number, stream in enumerate(_streams(exports)):
            if isinstance(stream, Skipped):
                yield stream
                continue
            where, text = stream
            for place, record in enumerate(records(text)):
                if isinstance(record, Unreadable):
                    yield Skipped(where, record.code, record.reason, _AGAIN)
                    continue
                spot = best.get(_external_id(record.value))
                if spot is None or spot[1] == (number, place):
                    yield from self._account(record, f"{where}:{place + 1}")
                else:
                    yield _older(where, place + 1)

    def _account(self, record: Record, where: str) -> Iterator[Entry]:
        if record.too_large:
            reason = "the conversation is too large to be read"
            yield Skipped(where, "too_large", reason, "it stays out; delete it in the service to be rid of this line")
            return
        conversation = chatgpt.conversation(record.value, self._zone) or claude.conversation(record.value, self._zone)
        if conversation is None:
            reason = "it is no conversation of ChatGPT or Claude, or has no id"
            yield Skipped(where, "unknown_shape", reason, "check that the file is an export of one of them")
            return
        yield from self._notes(conversation, where)

    def _best(self, exports: Sequence[SourceFile]) -> dict[str, tuple[Rank, Spot]]:
        """Where the newest copy of each conversation is: by its update, then its size, then the first. Empty where
        only one text is there, which is then read only once."""
        best: dict[str, tuple[Rank, Spot]] = {}
        if len(exports) < 2 and sum(1 for _ in _streams(exports)) < 2:
            return best
        for number, stream in enumerate(_streams(exports)):
            if isinstance(stream, Skipped):
                continue
            for place, record in enumerate(records(stream[1], _TEXTS)):
                if isinstance(record, Unreadable):
                    continue
                name = _external_id(record.value)
                rank = (self._updated(record.value), record.size)
                if name and (name not in best or rank > best[name][0]):
                    best[name] = (rank, (number, place))
        return best

    def _updated(self, value: Any) -> float:
        at = moment(value.get("update_time", value.get("updated_at")), self._zone)
        return at.timestamp() if at is not None else 0.0

    def _sessions(self, found: Sequence[SourceFile]) -> Iterator[Entry]:
        kept: dict[str, SourceFile] = {}
        for place in found:
            stem = Path(place.label).stem
            if stem.startswith("agent-") or "/subagents/" in f"/{place.label}":
                reason = "it is what a sub-agent did, not the conversation"
                yield Skipped(place.label, "subagent", reason, "nothing to do", counts=False)
                continue
            other = kept.get(stem.casefold())
            if other is None or place.size > other.size:
                kept[stem.casefold()] = place
            if other is not None:
                yield _older(place.label if kept[stem.casefold()] is other else other.label, 0)
        for place in kept.values():
            yield from self._session(place)

    def _session(self, place: SourceFile) -> Iterator[Entry]:
        log, bad = sessions.SessionLog(self._zone), 0
        origin = Path(place.label).name
        try:
            with places.opened(place) as file:
                for line in logs.lines(file):
                    if isinstance(line, logs.Line):
                        log.take(line.value)
                        continue
                    bad += 1
                    if bad <= _MOST_BAD_LINES:
                        yield _bad_line(place, line, origin)
        except OSError as error:
            yield Skipped(
                place.label, "unreadable_file", error.strerror or str(error), "give the right to read it", origin
            )
            return
        if not log.recognised:
            yield Skipped(
                place.label,
                "not_a_session",
                "no line of a session is in it",
                "nothing to do",
                counts=False,
            )
            return
        if log.full:
            reason = f"more than {sessions.LARGEST_SESSION // 1_000_000} MB was said; what came later is left out"
            yield Skipped(place.label, "too_large", reason, "begin a new session", origin)
        stem = Path(origin).stem
        chat_id = stem.casefold() if _UUID.fullmatch(stem) else log.session_id or sound_id(stem)
        yield from self._notes(log.conversation(chat_id, origin), place.label)

    def _notes(self, conversation: Conversation, where: str) -> Iterator[Entry]:
        told = False
        for item in talk.items(conversation, self._zone):
            told = True
            yield item
        if not told:
            yield Skipped(where, "empty", "nothing was said in it", "nothing to do", counts=False)


def _streams(exports: Sequence[SourceFile]) -> Iterator[tuple[str, Readable] | Skipped]:
    """Every text of conversations in the exports, each open until the next is asked for."""
    for place in exports:
        try:
            with places.opened(place) as file:
                if places.kind_of(place) == "zip":
                    yield from archive.members(file, place.label)
                else:
                    yield place.label, file
        except OSError as error:
            yield Skipped(
                place.label, "unreadable_file", error.strerror or str(error), "give this user the right to read it"
            )


def _external_id(value: Any) -> str:
    """Whose conversation a record is, by what is known without its texts; empty where that is not enough."""
    if not isinstance(value, dict):
        return ""
    if "mapping" in value:
        name = chatgpt.chat_id({key: value.get(key) for key in ("conversation_id", "id")})
        return f"{chatgpt.SOURCE}:{name}" if name else ""
    name = claude.chat_id(value)
    return f"{claude.SOURCE}:{name}" if name else ""


def _older(where: str, number: int) -> Skipped:
    reason, fix = "a newer copy of the same conversation counts", "nothing to do"
    spot = f"{where}:{number}" if number else where
    return Skipped(spot, "older_copy", reason, fix, counts=False)


def _bad_line(place: SourceFile, line: logs.BadLine, origin: str) -> Skipped:
    where = f"{place.label}:{line.number}"
    if line.unfinished:
        reason, fix = "the line is still being written", "the next run reads it"
        return Skipped(where, "unfinished_line", reason, fix, counts=False)
    return Skipped(where, "bad_line", line.reason, "nothing else of the log is touched by it", origin)
