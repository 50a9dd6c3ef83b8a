"""JSON exports of note takers as meetings, read by the roles of their fields (W2).

Here: how many meetings a file holds, and of each the summary, sections, actions and tags. Not here: title, date,
people (facts.py), the transcript (segments.py), actions' shapes (actions.py), the bounds of reading (records.py).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kos_assets.vault.dates import When, key_form
from kos_assets.writers.meetings import cues, plain
from kos_assets.writers.meetings.actions import actions_of
from kos_assets.writers.meetings.clock import FARTHEST, duration_of
from kos_assets.writers.meetings.facts import Facts, people_in
from kos_assets.writers.meetings.meeting import Action, Flaws, Line, Meeting, UnreadableMeetingError
from kos_assets.writers.meetings.names import is_person, merged
from kos_assets.writers.meetings.segments import is_transcript, spoken_in
from kos_assets.writers.meetings.turns import Said, joined
from kos_assets.writers.meetings.words import Cutter, below, paragraph, whole

MOST_MEETINGS: Final = 20_000

_MANY: Final = (
    "items", "transcripts", "meetings", "recordings", "notes", "data", "results", "documents", "calls", "sessions",
    "conversations", "speeches",
)  # fmt: skip
_SUMMARY: Final = (
    "summarymarkdown", "markdownformatted", "overview", "summary", "summarytext", "aisummary", "abstractsummary",
    "meetingsummary", "short", "shortsummary", "shortoverview", "gist", "intelligencenotesmd", "summaryoverview",
)  # fmt: skip
_SECTIONS: Final = (
    ("Key points", ("keypoints", "keytakeaways", "takeaways", "highlightstext", "bulletgist")),
    ("Decisions", ("decisions", "keydecisions")),
    ("Notes", ("notesmarkdown", "notesmd", "meetingnotes", "notes", "shorthandbullet", "detailednotes")),
    ("Chapters", ("chapters", "outline", "summarydetails", "sections", "aitemplatesections")),
    ("Questions", ("questions", "keyquestions")),
    ("Next steps", ("nextsteps",)),
    ("Keywords", ("keywords",)),
)
_ACTIONS: Final = ("actionitems", "aiactionitems", "actions", "tasks", "todos", "followups", "actionitem")
_WHOLE_TEXT: Final = (
    "transcript", "transcription", "fulltranscript", "transcripttext", "text", "fulltext", "rawtranscript",
    "transcriptcontent",
)  # fmt: skip
_HEADINGS: Final = ("headline", "title", "label", "heading", "name", "topic", "question", "summarytitle")
_TEXTS: Final = ("markdown", "text", "summary", "description", "content", "body", "gist", "answer", "value", "data")
_DURATIONS: Final = (
    "duration", "durationms", "durationseconds", "durationminutes", "audioduration", "durationinseconds", "length",
)  # fmt: skip
_LONGEST_SECTION: Final = 400_000
_MOST_PARTS: Final = 500
_MOST_TAGS: Final = 30


def meetings_of(value: Any, zone: dt.tzinfo, cutter: Cutter) -> Iterator[Meeting]:
    """Every meeting that the value of a JSON file holds. Raises UnreadableMeetingError where there is none."""
    many = _many(value)
    found = 0
    for part in many if many is not None else [value]:
        meeting = _meeting(part, zone, cutter)
        if meeting is not None:
            found += 1
            yield meeting
    if not found:
        reason = "it is JSON, but no meeting was found in it: no transcript, summary or action items"
        raise UnreadableMeetingError("not_a_meeting", reason, "remove it from there, or export the meeting itself")


def _many(value: Any) -> list[Any] | None:
    """The list of meetings that an export of several holds; None where it holds one."""
    node, depth = value, 0
    while depth < 3:
        if isinstance(node, list):
            records = [part for part in node[:50] if isinstance(part, Mapping)]
            good = records and not is_transcript(node) and all(_looks_whole(part) for part in records)
            return node[:MOST_MEETINGS] if good else None
        if not isinstance(node, Mapping):
            return None
        forms = {key_form(str(key)): part for key, part in node.items()}
        inner = [forms[key] for key in _MANY if isinstance(forms.get(key), list) and _is_many(forms[key])]
        if inner and not any(key in forms for key in ("title", "summary")):
            return list(inner[0][:MOST_MEETINGS])
        node, depth = forms.get("data"), depth + 1
    return None


def _is_many(part: list[Any]) -> bool:
    records = [one for one in part[:50] if isinstance(one, Mapping)]
    return bool(records) and not is_transcript(part) and all(_looks_whole(one) for one in records)


def _looks_whole(part: Mapping[str, Any]) -> bool:
    """Whether a record is a meeting of its own: it has a name or id, and something that a meeting is made of."""
    keys = {key_form(str(key)) for key in part}
    named = keys & {"title", "id", "name", "meetingid", "recordingid", "meetingtitle", "topic", "callid"}
    made = keys & {
        "sentences", "transcript", "transcripts", "utterances", "segments", "summary", "defaultsummary", "actionitems",
        "summarymarkdown", "summarytext", "notes", "overview", "speakerblocks", "aisummary", "duration", "attendees",
        "participants", "startdatetime", "happenedat",
    }  # fmt: skip
    return bool(named and made)


def _meeting(value: Any, zone: dt.tzinfo, cutter: Cutter) -> Meeting | None:
    if isinstance(value, list):
        value = {"segments": value} if not is_transcript(value) else {"transcript": value}
    if not isinstance(value, Mapping):
        return None
    facts = Facts(value)
    zone = facts.zone(zone)
    speakers = facts.speakers()
    spoken = spoken_in(value, speakers, zone)
    flaws = Flaws()
    lines = spoken.lines if spoken is not None else tuple(_from_text(facts, flaws))
    said = joined(lines, cutter)
    summary = _summary(facts, cutter)
    sections = tuple(_sections(facts, summary, cutter))
    actions = tuple(action for _, part in facts.all(_ACTIONS) for action in actions_of(part, cutter))
    people = merged([*facts.people(), *_speaking(said), *_timeline(value)])
    if not (said.turns or summary or sections or actions or _is_timeline(value)):
        return None
    began = facts.start(zone)
    return Meeting(
        title=cutter.line(facts.title()[:1000]),
        meeting_id=cutter.line(facts.meeting_id()).encode("utf-8", "replace").decode(),
        when=began if began is not None or spoken is None else spoken.began,
        duration=_duration(facts, began, zone, said.last),
        summary=summary,
        actions=_once(actions),
        sections=sections,
        people=people,
        tags=tuple(_tags(facts)),
        turns=tuple(said.turns),
        url=_url(facts),
        language=facts.text(("language", "languagecode", "transcriptlanguage"))[:20].strip(),
        flaws=tuple(flaws.kept),
        flaw_count=flaws.count,
        named=said.named,
        said=said.said,
    )


def _from_text(facts: Facts, flaws: Flaws) -> Iterator[Line]:
    """The lines of a transcript that is one text inside the export."""
    text = next((part for _, part in facts.all(_WHOLE_TEXT) if isinstance(part, str) and part.strip()), "")
    listed = next((part for _, part in facts.all(_WHOLE_TEXT) if isinstance(part, list)), [])
    if not text and listed and all(isinstance(part, str) for part in listed):
        text = "\n".join(listed)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.startswith("WEBVTT"):
        yield from cues.lines_of(text, flaws)
        return
    found = plain.transcript_of(text, sure=True) if text else None
    if found is not None:
        yield from (Line(row) for row in found[0].rows)
        yield from found[1]
    else:
        yield from (Line(row) for row in text.split("\n") if row.strip())


def _speaking(said: Said) -> Iterator[str]:
    yield from dict.fromkeys(turn.speaker for turn in said.turns if is_person(turn.speaker))


def _is_timeline(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("timeline"), list)


def _timeline(value: Mapping[str, Any]) -> Iterator[str]:
    """Who spoke by a recording's timeline, which has no words."""
    timeline = value.get("timeline")
    seen: dict[str, None] = {}
    for part in timeline if isinstance(timeline, list) else ():
        users = part.get("users") if isinstance(part, Mapping) else None
        if isinstance(users, list):
            seen.update(dict.fromkeys(people_in(users)))
    yield from seen


def _summary(facts: Facts, cutter: Cutter) -> str:
    for _, value in facts.all(_SUMMARY):
        forms = {key_form(str(key)): part for key, part in value.items()} if isinstance(value, Mapping) else {}
        inner = next((forms[key] for key in ("markdown", "text", "content") if isinstance(forms.get(key), str)), value)
        if isinstance(inner, str | list) and (found := _markdown(inner, cutter)):
            return found
    return ""


def _sections(facts: Facts, summary: str, cutter: Cutter) -> Iterator[tuple[str, str]]:
    for heading, keys in _SECTIONS:
        for _, value in facts.all(keys):
            found = _markdown(value, cutter) if isinstance(value, str | list | Mapping) else ""
            if found and found not in summary:
                yield heading, found
                break


def _markdown(value: Any, cutter: Cutter) -> str:
    """A value as Markdown: a text as it stands, its headings below ours; a list as bullets."""
    if isinstance(value, str):
        text = value[:_LONGEST_SECTION].replace("\r\n", "\n").replace("\r", "\n")
        return whole(below(cutter.text(text).strip(), 3))
    if isinstance(value, Mapping):
        value = [value]
    rows: list[str] = []
    for part in value[:_MOST_PARTS]:
        heading, words = _part(part)
        heading, words = cutter.line(heading[:500]), cutter.line(words[:20_000])
        if heading and words and heading != words:
            rows.append(f"- **{heading.replace('*', '')}**: {words}")
        elif heading or words:
            rows.append(f"- {paragraph(words or heading)}")
    return whole("\n".join(rows))


def _part(part: Any) -> tuple[str, str]:
    if isinstance(part, str):
        return "", part.lstrip("-*• ")
    if not isinstance(part, Mapping):
        return "", ""
    forms = {key_form(str(key)): value for key, value in part.items()}
    heading = next((forms[key] for key in _HEADINGS if isinstance(forms.get(key), str) and forms[key].strip()), "")
    words = next((forms[key] for key in _TEXTS if isinstance(forms.get(key), str) and forms[key].strip()), "")
    if not words:
        inner = next((value for value in forms.values() if isinstance(value, list)), [])
        words = "; ".join(text for one in inner[:100] for text in _part(one)[1:] if text)
    return heading, words


def _once(actions: tuple[Action, ...]) -> tuple[Action, ...]:
    return tuple({action.text.casefold(): action for action in reversed(actions)}.values())[::-1]


def _duration(facts: Facts, began: When | None, zone: dt.tzinfo, last: float | None) -> float | None:
    for key, value in facts.all(_DURATIONS):
        if (found := duration_of(value, key, last)) is not None:
            return found
    ended = facts.end(zone)
    if began is not None and ended is not None and not began.dated and not ended.dated:
        span = (ended.at - began.at).total_seconds()
        if 0 < span <= FARTHEST:
            return span
    return last


def _tags(facts: Facts) -> Iterator[str]:
    for _, value in facts.all(("tags", "labels")):
        for part in value[:_MOST_TAGS] if isinstance(value, list) else ():
            name = part.get("name") if isinstance(part, Mapping) else part
            if isinstance(name, str) and name.strip():
                yield "-".join(name.strip().lstrip("#").split())[:60]
        return


def _url(facts: Facts) -> str:
    keys = ("shareurl", "transcripturl", "weburl", "meetingurl", "reporturl", "url", "permalink", "liveurl")
    for _, value in facts.all(keys):
        if (
            isinstance(value, str)
            and value.startswith(("https://", "http://"))
            and len(value) < 500
            and not value.split()[1:]
        ):
            return value.strip()
    return ""
