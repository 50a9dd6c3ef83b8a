"""What a JSON export says of the meeting itself: title, id, date, people, found by their roles (W2).

Here: one look-up over the records that may hold such facts. Not here: the transcript (segments.py), summaries and
actions (roles.py).
"""

from __future__ import annotations

import datetime as dt
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kos_assets.vault import dates
from kos_assets.vault.dates import When, key_form
from kos_assets.writers.meetings.names import MOST_PEOPLE, is_person, person, tidy

_WRAPPERS: Final = frozenset(
    (
        "", "data", "transcript", "meeting", "recording", "call", "result", "results", "speech", "metadata",
        "meetinginfo", "calendarevent", "googlecalendarevent", "event", "summary", "note", "document", "session",
        "info", "conversation", "meetingdetails", "metainfo", "meta", "defaultsummary", "aisummary", "videocall",
        "summaries", "insights", "notes", "transcription", "conferencerecord", "content", "meetingsummary",
    )
)  # fmt: skip
"""Records that a fact about the meeting may stand in."""
_DEEPEST: Final = 5
_NAMED_BY_NAME: Final = frozenset(("", "data", "meeting", "recording", "call", "conversation", "session"))
_TITLES: Final = (
    "title",
    "meetingtitle",
    "meetingname",
    "topic",
    "subject",
    "eventtitle",
    "conversationtitle",
    "summary",
)
_IDS: Final = (
    "id", "meetingid", "meetinguuid", "transcriptid", "recordingid", "callid", "otid", "speechid", "sessionid",
    "conversationid", "uuid", "documentid",
)  # fmt: skip
_STARTS: Final = (
    "recordingstarttime", "starttime", "startedat", "startdatetime", "start", "startat", "meetingstarttime",
    "happenedat", "datetime", "date", "datestring", "meetingdate", "scheduledstarttime", "scheduledstart",
    "scheduledat", "recordedat", "createdat", "createddatetime", "created", "createdtime", "timestamp",
)  # fmt: skip
_ENDS: Final = (
    "recordingendtime", "endtime", "endedat", "enddatetime", "end", "endat", "meetingendtime", "scheduledendtime",
    "scheduledend",
)  # fmt: skip
_ZONES: Final = ("timezone", "tz", "timezonename")
_PEOPLE: Final = (
    "attendees", "meetingattendees", "participants", "invitees", "calendarinvitees", "meetingattendance", "guests",
    "people", "parties", "members", "calendarguests",
)  # fmt: skip
_ONE_PERSON: Final = (
    "organizer", "organizeremail", "host", "hostemail", "hostname", "owner", "recordedby", "meetingorganizer",
)  # fmt: skip
_SPEAKERS: Final = ("speakers", "parties", "participants", "users", "attendees")
_NAME: Final = ("name", "displayname", "speakername", "fullname", "username", "matchedspeakerdisplayname")
_ADDRESS: Final = ("email", "emailaddress", "mail", "useremail", "address")
_OF_SPEAKERS: Final = ("id", "speakerid", "participantid", "userid", "index", "name")
_INNER: Final = ("signedinuser", "anonymoususer", "phoneuser", "user", "person", "details", "emailaddress", "identity")
_LONGEST_ID: Final = 200
_MIN_YEAR: Final = 1995


class Facts:
    """The records of one meeting that may hold facts, the outer ones first, with keys in one form."""

    def __init__(self, value: Mapping[str, Any]) -> None:
        self.records: list[tuple[str, Mapping[str, Any]]] = []
        waiting: deque[tuple[str, int, Mapping[str, Any]]] = deque([("", 0, value)])
        while waiting:
            name, depth, node = waiting.popleft()
            forms: dict[str, Any] = {}
            for key, part in node.items():
                forms.setdefault(key_form(str(key)), part)
            self.records.append((name, forms))
            if depth < _DEEPEST:
                inner = ((key, part) for key, part in forms.items() if key in _WRAPPERS and isinstance(part, Mapping))
                waiting.extend((key, depth + 1, part) for key, part in inner)

    def all(self, keys: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """(key, value) of those keys, in their order; of one key, that of the outer record first."""
        for key in keys:
            for _, record in self.records:
                if record.get(key) not in (None, "", [], {}):
                    yield key, record[key]

    def text(self, keys: Sequence[str]) -> str:
        """The first text under those keys."""
        return next((value for _, value in self.all(keys) if isinstance(value, str) and value.strip()), "")

    def title(self) -> str:
        """What the meeting is called; `name` counts in the outer records only."""
        for key in _TITLES[:-1]:
            if found := self.text((key,)):
                return found
        for name, record in self.records:
            for key in ("name",) if name in _NAMED_BY_NAME else ("summary",) if name.endswith("calendarevent") else ():
                value = record.get(key)
                if isinstance(value, str) and value.strip() and "/" not in value:
                    return value
        return ""

    def meeting_id(self) -> str:
        """The export's own id of the meeting, or nothing."""
        for name, record in self.records:
            if name.endswith("event"):
                continue
            for key in _IDS:
                value = record.get(key)
                if isinstance(value, str | int) and not isinstance(value, bool) and 0 < len(str(value)) <= _LONGEST_ID:
                    return str(value)
        return ""

    def zone(self, zone: dt.tzinfo) -> dt.tzinfo:
        """The zone that the export names for its times without one."""
        return dates.zone_of({"timezone": self.text(_ZONES)}, zone)

    def start(self, zone: dt.tzinfo) -> When | None:
        """When the meeting began, else when it was planned, else when the record was made."""
        return next((when for _, value in self.all(_STARTS) if (when := moment(value, zone)) is not None), None)

    def end(self, zone: dt.tzinfo) -> When | None:
        """When the meeting ended."""
        return next((when for _, value in self.all(_ENDS) if (when := moment(value, zone)) is not None), None)

    def people(self) -> Iterator[str]:
        """Who was there or invited, and whose meeting it was; placeholders are nobody."""
        for _, value in self.all(_PEOPLE):
            yield from people_in(value)
        for _, value in self.all(_ONE_PERSON):
            yield from people_in([value])

    def speakers(self) -> dict[str, str]:
        """Names by the ids that the lines of the transcript use."""
        found: dict[str, str] = {}
        for _, value in self.all(_SPEAKERS):
            for part in value[:MOST_PEOPLE] if isinstance(value, list) else ():
                if not isinstance(part, Mapping):
                    continue
                forms = _flat(part)
                name = _first(forms, ("displayname", "speakername", "fullname", "name", "username"))
                if not name or not is_person(tidy(name)):
                    continue
                for key in _OF_SPEAKERS:
                    identity = forms.get(key)
                    if isinstance(identity, str | int) and not isinstance(identity, bool):
                        found.setdefault(str(identity), tidy(name))
        return found


def moment(value: Any, zone: dt.tzinfo) -> When | None:
    """A date as exports write it: text, epoch number, or a record with `dateTime` and `timeZone`."""
    if isinstance(value, Mapping):
        forms = {key_form(str(key)): part for key, part in value.items()}
        zone = dates.zone_of({"timezone": forms.get("timezone")}, zone)
        value = forms.get("datetime") or forms.get("date")
    if isinstance(value, float) and abs(value) < 10**14:
        value = int(value)
    when = dates.written(value, zone) if isinstance(value, str | int) else None
    return when if when is not None and when.at.year >= _MIN_YEAR else None


def people_in(value: Any) -> Iterator[str]:
    """The people of a list of names, addresses or records; of a text, its parts between
    semicolons (`Ruiz, Ana; Lind, Bo`), else commas."""
    if isinstance(value, str):
        value = value.split(";" if ";" in value else ",")
    parts = value if isinstance(value, list) else ()
    for part in parts[:MOST_PEOPLE]:
        if isinstance(part, str):
            if found := person(part):
                yield found
        elif isinstance(part, Mapping):
            forms = _flat(part)
            if found := person(_first(forms, _NAME), _first(forms, _ADDRESS)):
                yield found


def _flat(part: Mapping[str, Any]) -> dict[str, Any]:
    """A person's record, with what stands in a record below it (`user: {displayName}`)."""
    forms = {key_form(str(key)): value for key, value in part.items()}
    for key in _INNER:
        inner = forms.get(key)
        if isinstance(inner, Mapping):
            for name, value in inner.items():
                forms.setdefault(key_form(str(name)), value)
    return forms


def _first(forms: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next((forms[key] for key in keys if isinstance(forms.get(key), str) and forms[key].strip()), "")
