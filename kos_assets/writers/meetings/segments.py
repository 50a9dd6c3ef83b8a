"""The transcript in a JSON export, by the roles of its fields: who, when, what (W2).

Here: which list is the transcript, and its lines. Not here: the rest of an export (roles.py), the bounds of reading
(records.py). No vendor is named to the code; docs/writers/meetings.md lists whose exports are tested.
"""

from __future__ import annotations

import datetime as dt
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kos_assets.vault import dates
from kos_assets.vault.dates import When, key_form
from kos_assets.writers.meetings.clock import FARTHEST, number_of, seconds_of, unit_of
from kos_assets.writers.meetings.meeting import Line
from kos_assets.writers.meetings.names import tidy

_RANKS: Final = {
    "utterances": 0, "sentences": 1, "transcriptentries": 1, "speakerblocks": 1, "monologues": 1, "segments": 2,
    "transcripts": 2, "transcript": 2, "transcription": 2, "transcriptions": 2, "turns": 2, "audiosegments": 2,
    "transcriptsegments": 2, "lines": 3, "entries": 3, "captions": 3, "cues": 3, "": 3, "data": 4, "messages": 4,
    "paragraphs": 5, "items": 6, "results": 6, "content": 6, "words": 9,
}  # fmt: skip
"""Names of lists that may be the transcript, the likeliest first; "" is a list that is the whole file."""
_ELSEWHERE: Final = frozenset(
    (
        "highlights", "chapters", "topics", "actionitems", "aiactionitems", "questions", "keyquestions", "clips",
        "bites", "notes", "bookmarks", "outline", "insights", "comments", "attendees", "participants", "speakers",
        "summary",
    )
)  # fmt: skip
_TEXT: Final = (
    "text", "sentence", "transcript", "spokentext", "utterance", "words", "content", "caption", "body", "message",
    "line", "rawtext", "displaytext", "punctuatedword", "word", "value",
)  # fmt: skip
_PARTS: Final = ("sentences", "elements", "words", "lines", "parts", "segments")
_SPEAKER: Final = (
    "speakername", "speaker", "speakerlabel", "speakerdisplayname", "displayname", "participantname", "participant",
    "username", "user", "author", "name", "from", "who", "speakermodellabel", "speakerid", "participantid", "source",
)  # fmt: skip
_NAME: Final = (
    "displayname", "name", "speakername", "fullname", "username", "diarizationlabel", "label", "source", "id",
    "email",
)  # fmt: skip
_START: Final = (
    "starttime", "start", "startoffset", "starttimestamp", "startms", "starttimems", "startseconds",
    "starttimeinseconds", "timestamp", "ts", "time", "offset", "offsets", "begin", "startedat", "timestamps",
    "starttimeseconds", "startat",
)  # fmt: skip
_END: Final = (
    "endtime", "end", "endoffset", "endtimestamp", "endms", "endtimems", "endseconds", "endtimeinseconds", "endts",
    "offsets", "endedat", "timestamps", "endtimeseconds", "endat",
)  # fmt: skip
_INNER_TIME: Final = ("relative", "seconds", "from", "absolute", "datetime", "start")
_INNER_END: Final = ("relative", "seconds", "to", "absolute", "datetime", "end")
_SIDES: Final = {"microphone": "Me", "mic": "Me", "system": "Them", "systemaudio": "Them"}
_MOST_NODES: Final = 2_000_000
_LOOKED_AT: Final = 50
_EPOCH_SECONDS, _EPOCH_MILLIS = (5 * 10**8, 5 * 10**9), (5 * 10**11, 5 * 10**12)


@dataclass(frozen=True)
class Spoken:
    """A transcript's lines, and when it began where its times say so."""

    lines: tuple[Line, ...]
    began: When | None = None


@dataclass(frozen=True)
class _Raw:
    text: str
    speaker: str
    start: Any
    end: Any
    key: str


def spoken_in(value: Any, speakers: Mapping[str, str], zone: dt.tzinfo) -> Spoken | None:
    """The transcript that a JSON value holds, or None. `speakers`: names by the ids that lines may use."""
    best: tuple[tuple[bool, int, int], list[Any]] | None = None
    for key, elements in _lists(value):
        sample = [_raw(part) for part in elements[:_LOOKED_AT] if isinstance(part, Mapping)]
        good = [raw for raw in sample if raw is not None]
        if not good or len(good) * 2 < len(sample):
            continue
        named = any(raw.speaker for raw in good)
        order = (not named, _RANKS[key], -sum(len(raw.text) for raw in good))
        if best is None or order < best[0]:
            best = (order, elements)
    if best is None:
        return None
    raws = [raw for part in best[1] if isinstance(part, Mapping) and (raw := _raw(part)) is not None]
    return _timed(raws, speakers, zone)


def is_transcript(elements: Sequence[Any]) -> bool:
    """Whether a list's elements are lines of one meeting (and not meetings)."""
    sample = [part for part in elements[:_LOOKED_AT] if isinstance(part, Mapping)]
    return bool(sample) and sum(_is_line(part) for part in sample) * 2 > len(sample)


def text_of(part: Mapping[str, Any]) -> str:
    """What an element of a transcript says: its text, or the texts of its parts."""
    return _text({key_form(str(key)): value for key, value in part.items()})


def _lists(value: Any) -> Iterator[tuple[str, list[Any]]]:
    """Lists that may be the transcript, the outer ones first; what is inside a transcript's lines is not offered."""
    waiting: deque[tuple[str, Any]] = deque([("", value)])
    nodes = 0
    while waiting and nodes < _MOST_NODES:
        key, node = waiting.popleft()
        nodes += 1
        if isinstance(node, Mapping):
            for name, part in node.items():
                form = key_form(str(name))
                if isinstance(part, Mapping | list) and form not in _ELSEWHERE:
                    waiting.append((form, part))
        elif isinstance(node, list):
            if key in _RANKS and is_transcript(node):
                yield key, node
            else:
                waiting.extend((f"{key}[]", part) for part in node[:10_000] if isinstance(part, Mapping | list))


def _is_line(part: Mapping[str, Any]) -> bool:
    forms = {key_form(str(key)): value for key, value in part.items()}
    if not _text(forms):
        return False
    timed = any(_has_time(forms.get(key)) for key in (*_START, *_END))
    inner = any(isinstance(forms.get(key), list) and forms[key] for key in _PARTS)
    return timed or inner or bool(_speaker(forms))


def _has_time(value: Any) -> bool:
    return number_of(value) is not None or isinstance(value, str | Mapping)


def _raw(part: Mapping[str, Any]) -> _Raw | None:
    forms = {key_form(str(key)): value for key, value in part.items()}
    text = _text(forms)
    if not text.strip():
        return None
    key = next((key for key in _START if _has_time(forms.get(key))), "")
    start, end = forms.get(key), next((forms[key] for key in _END if _has_time(forms.get(key))), None)
    for name in _PARTS:
        inner = forms.get(name)
        if not key and isinstance(inner, list) and inner and isinstance(inner[0], Mapping):
            first = {key_form(str(each)): value for each, value in inner[0].items()}
            key = next((each for each in _START if _has_time(first.get(each))), "")
            start = first.get(key)
    return _Raw(text, _speaker(forms), _inner(start, _INNER_TIME), _inner(end, _INNER_END), key)


def _text(forms: Mapping[str, Any]) -> str:
    for key in _TEXT:
        value = forms.get(key)
        if isinstance(value, str) and value.strip():
            return value
    for key in _PARTS:
        inner = forms.get(key)
        if isinstance(inner, list) and inner:
            texts = [_own_text(part) for part in inner if isinstance(part, Mapping)]
            spaced = any(text.isspace() for text in texts)
            return ("" if spaced else " ").join(text if spaced else text.strip() for text in texts if text)
    return ""


def _own_text(part: Mapping[str, Any]) -> str:
    forms = {key_form(str(key)): value for key, value in part.items()}
    return next((forms[key] for key in _TEXT if isinstance(forms.get(key), str) and forms[key]), "")


def _speaker(forms: Mapping[str, Any]) -> str:
    for key in _SPEAKER:
        value = forms.get(key)
        if isinstance(value, Mapping):
            inner = {key_form(str(name)): part for name, part in value.items()}
            value = next((inner[name] for name in _NAME if _is_name(inner.get(name))), None)
        if isinstance(value, list) and value and isinstance(value[0], str):
            value = value[0]
        if _is_name(value):
            return _SIDES.get(key_form(value), value) if isinstance(value, str) else str(value)
    return ""


def _is_name(value: Any) -> bool:
    return (isinstance(value, str) and bool(value.strip())) or (isinstance(value, int) and not isinstance(value, bool))


def _inner(value: Any, keys: Sequence[str]) -> Any:
    if not isinstance(value, Mapping):
        return value
    forms = {key_form(str(key)): part for key, part in value.items()}
    return next((forms[key] for key in keys if forms.get(key) is not None), None)


def _timed(raws: Sequence[_Raw], speakers: Mapping[str, str], zone: dt.tzinfo) -> Spoken:
    """The lines with seconds from the start, whatever their times are: clock texts, dates, numbers of some unit."""
    numbers = [number for raw in raws if (number := number_of(raw.start)) is not None]
    characters = sum(len(raw.text) for raw in raws[:-1] or raws)
    first = min(numbers, default=0.0)
    if _EPOCH_MILLIS[0] <= first < _EPOCH_MILLIS[1] or _EPOCH_SECONDS[0] <= first < _EPOCH_SECONDS[1]:
        unit, base = (0.001 if first >= _EPOCH_MILLIS[0] else 1.0), first
    else:
        offsets = any(raw.key == "startoffset" for raw in raws)
        named = any(raw.key in ("startms", "starttimems") for raw in raws)
        unit, base = (0.001 if named else unit_of(numbers, characters, offsets=offsets)), 0.0
    began = dates.written(int(first), zone) if base else None
    dated = next((when for raw in raws if (when := _date(raw.start, zone)) is not None), None)
    names: dict[str, str] = {}
    lines = []
    for raw in raws:
        times = [_seconds(time, unit, base, dated, zone) for time in (raw.start, raw.end)]
        lines.append(Line(raw.text, _named(raw.speaker, speakers, names), times[0], times[1]))
    return Spoken(tuple(lines), began or dated)


def _seconds(value: Any, unit: float, base: float, dated: When | None, zone: dt.tzinfo) -> float | None:
    number = number_of(value)
    if number is not None:
        seconds: float | None = (number - base) * unit
    elif isinstance(value, str):
        seconds = seconds_of(value)
        if seconds is None and dated is not None and (when := _date(value, zone)) is not None:
            seconds = (when.at - dated.at).total_seconds()
    else:
        seconds = None
    return max(0.0, seconds) if seconds is not None and seconds <= FARTHEST else None


def _date(value: Any, zone: dt.tzinfo) -> When | None:
    if not isinstance(value, str) or len(value) < len("2026-03-04T10:00") or seconds_of(value) is not None:
        return None
    return dates.written(value, zone)


def _named(speaker: str, speakers: Mapping[str, str], names: dict[str, str]) -> str:
    """A speaker's name; an id that nothing explains becomes `Speaker 1`, by first appearance."""
    found = speakers.get(speaker)
    if found is not None:
        return found
    opaque = "/" in speaker or (len(speaker) >= 20 and " " not in speaker and any(c.isdigit() for c in speaker))
    if not opaque and not (speaker.isdigit() and len(speaker) > 4):
        return tidy(speaker)
    return names.setdefault(speaker, f"Speaker {len(names) + 1}")
