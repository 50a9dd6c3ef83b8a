"""JSON exports of note takers: samples made here after the published shapes, one per family of field names."""

from __future__ import annotations

import json
from typing import Any

from kos_assets.writers.meetings.meeting import Meeting
from kos_assets.writers.meetings.parsing import parse

LONG = "We agreed to keep the hut open until the end of October and to count the nights by hand. "


def only(value: Any, suffix: str = ".json") -> Meeting:
    """The one meeting of a value."""
    (found,) = parse(json.dumps(value, ensure_ascii=False).encode(), suffix)
    return found


def spoken(meeting: Meeting) -> list[tuple[str, float | None, str]]:
    """(speaker, start, words) of each turn."""
    return [(turn.speaker, turn.start, "\n".join(turn.paragraphs)) for turn in meeting.turns]


FIREFLIES = {
    "data": {
        "transcript": {
            "id": "ASxwZxCstx",
            "title": "Budget",
            "date": 1772614800000,
            "duration": 35.5,
            "participants": ["ana@example.org", "bo@example.org"],
            "organizer_email": "ana@example.org",
            "transcript_url": "https://app.example/view/ASxwZxCstx",
            "meeting_attendees": [{"displayName": "Ana Ruiz", "email": "ana@example.org", "name": None}],
            "speakers": [{"id": 0, "name": "Ana Ruiz"}, {"id": 1, "name": "Bo Lind"}],
            "sentences": [
                {
                    "index": 0,
                    "speaker_name": "Ana Ruiz",
                    "speaker_id": 0,
                    "text": "Hello.",
                    "raw_text": "hello",
                    "start_time": 1.2,
                    "end_time": 2.0,
                },
                {
                    "index": 1,
                    "speaker_name": "Ana Ruiz",
                    "speaker_id": 0,
                    "text": "Shall we?",
                    "start_time": 2.1,
                    "end_time": 3.0,
                },
                {
                    "index": 2,
                    "speaker_name": None,
                    "speaker_id": 1,
                    "text": "Yes.",
                    "start_time": 3.5,
                    "end_time": 2100.0,
                },
            ],
            "summary": {
                "overview": "The budget stands.",
                "keywords": ["budget"],
                "shorthand_bullet": "- **Costs** fall",
                "action_items": ("\n**Ana Ruiz**\nSend the budget (12:30)\n\n**Unassigned**\nAsk the bank (01:02)\n"),
            },
        }
    }
}


def test_fireflies_by_its_graphql_fields() -> None:
    """W2: sentences, meeting_attendees, minutes, a summary with actions by person."""
    meeting = only(FIREFLIES)
    assert spoken(meeting) == [("Ana Ruiz", 1.2, "Hello. Shall we?"), ("Bo Lind", 3.5, "Yes.")]
    assert meeting.people == ("Ana Ruiz <ana@example.org>", "bo@example.org", "Bo Lind")
    assert (meeting.title, meeting.meeting_id, meeting.duration) == ("Budget", "ASxwZxCstx", 2130.0)
    assert meeting.when is not None
    assert meeting.when.at.isoformat() == "2026-03-04T09:00:00+00:00"
    assert [(action.text, action.assignee) for action in meeting.actions] == [
        ("Send the budget", "Ana Ruiz"),
        ("Ask the bank", ""),
    ]
    assert meeting.summary == "The budget stands."
    assert dict(meeting.sections) == {"Notes": "- **Costs** fall", "Keywords": "- budget"}


def test_fireflies_downloaded_sentences() -> None:
    """W2: a list of sentences with clock times is one meeting."""
    meeting = only(
        [
            {
                "sentence": "Hello.",
                "startTime": "00:01",
                "endTime": "00:02",
                "speaker_name": "Ana Ruiz",
                "speaker_id": 0,
            },
            {"sentence": "Hi.", "startTime": "01:05", "endTime": "01:07", "speaker_name": "Speaker 2", "speaker_id": 1},
        ]
    )
    assert spoken(meeting) == [("Ana Ruiz", 1.0, "Hello."), ("Speaker 2", 65.0, "Hi.")]
    assert meeting.people == ("Ana Ruiz",)


def test_fathom_list_of_meetings() -> None:
    """W2: an export of several gives several; invitees, display names, Markdown summary, done actions."""
    item = {
        "title": "Budget",
        "meeting_title": "Budget call",
        "recording_id": 123,
        "share_url": "https://fathom.example/share/x",
        "created_at": "2026-03-04T11:00:00Z",
        "scheduled_start_time": "2026-03-04T10:00:00Z",
        "recording_start_time": "2026-03-04T10:01:10Z",
        "recording_end_time": "2026-03-04T10:31:10Z",
        "transcript_language": "en",
        "transcript": [
            {
                "speaker": {"display_name": "Ana Ruiz", "matched_calendar_invitee_email": "ana@example.org"},
                "text": "Hello.",
                "timestamp": "00:00:05",
            }
        ],
        "default_summary": {
            "template_name": "general",
            "markdown_formatted": "# Outcome\n\n## Costs\n\n- They fall.\n",
        },
        "action_items": [
            {
                "description": "Send the budget",
                "user_generated": False,
                "completed": True,
                "recording_timestamp": "00:10:45",
                "assignee": {"name": "Bo Lind", "email": "bo@example.org"},
            }
        ],
        "calendar_invitees": [{"name": "Bo Lind", "email": "bo@example.org", "is_external": False}],
        "recorded_by": {"name": "Ana Ruiz", "email": "ana@example.org", "team": "Finance"},
    }
    data = json.dumps({"limit": 2, "next_cursor": "x", "items": [item, item | {"recording_id": 124, "title": "Other"}]})
    first, second = parse(data.encode(), ".json")
    assert (first.title, second.title, first.meeting_id, second.meeting_id) == ("Budget", "Other", "123", "124")
    assert first.when is not None
    assert first.when.at.isoformat() == "2026-03-04T10:01:10+00:00"
    assert first.duration == 1800.0
    assert first.summary == "### Outcome\n\n#### Costs\n\n- They fall."
    assert [(action.text, action.assignee, action.done) for action in first.actions] == [
        ("Send the budget", "Bo Lind <bo@example.org>", True)
    ]
    assert first.people == ("Bo Lind <bo@example.org>", "Ana Ruiz <ana@example.org>")
    assert spoken(first) == [("Ana Ruiz", 5.0, "Hello.")]


def test_otter_counts_in_samples() -> None:
    """W2: offsets of 16,000 a second, speakers by id, the start in epoch seconds."""
    meeting = only(
        {
            "speech": {
                "otid": "aBc",
                "title": "Budget",
                "start_time": 1772614800,
                "duration": 250,
                "summary": "budget, bank",
                "speakers": [{"id": 77, "speaker_id": 77, "speaker_name": "Ana Ruiz"}],
                "transcripts": [
                    {
                        "id": 1,
                        "start_offset": 16000,
                        "end_offset": 80000,
                        "speaker_id": 77,
                        "transcript": LONG,
                        "alignment": [{"word": "x"}],
                    },
                    {
                        "id": 2,
                        "start_offset": 96000,
                        "end_offset": 160000,
                        "speaker_id": None,
                        "speaker_model_label": "1",
                        "transcript": "Good.",
                    },
                ],
            }
        }
    )
    assert [(turn.speaker, turn.start) for turn in meeting.turns] == [("Ana Ruiz", 1.0), ("Speaker 1", 6.0)]
    assert meeting.people == ("Ana Ruiz",)
    assert (meeting.duration, meeting.title) == (250.0, "Budget")
    assert meeting.when is not None
    assert meeting.when.at.isoformat() == "2026-03-04T09:00:00+00:00"


def test_granola_note_with_calendar_event() -> None:
    """W2: ISO times of the day, sides instead of names, attendees, a Markdown summary."""
    meeting = only(
        {
            "id": "not_1d3tmYTlCICgjy",
            "object": "note",
            "title": "Budget",
            "owner": {"name": "Ana Ruiz", "email": "ana@example.org"},
            "created_at": "2026-03-04T10:40:00Z",
            "updated_at": "2026-03-05T10:40:00Z",
            "calendar_event": {
                "event_title": "Budget call",
                "scheduled_start_time": "2026-03-04T10:00:00Z",
                "scheduled_end_time": "2026-03-04T10:30:00Z",
                "invitees": [{"email": "cy@example.org"}],
            },
            "attendees": [{"name": "Bo Lind", "email": "bo@example.org"}],
            "summary_text": "plain",
            "summary_markdown": "## Costs\n- They fall.",
            "transcript": [
                {
                    "speaker": {"source": "microphone"},
                    "text": "Hello.",
                    "start_time": "2026-03-04T10:00:10Z",
                    "end_time": "2026-03-04T10:00:12Z",
                },
                {
                    "speaker": {"source": "speaker", "diarization_label": "Bo Lind"},
                    "text": "Hi.",
                    "start_time": "2026-03-04T10:00:14Z",
                    "end_time": "2026-03-04T10:00:15Z",
                },
            ],
        }
    )
    assert spoken(meeting) == [("Me", 0.0, "Hello."), ("Bo Lind", 4.0, "Hi.")]
    assert meeting.people == ("Bo Lind <bo@example.org>", "cy@example.org", "Ana Ruiz <ana@example.org>")
    assert meeting.when is not None
    assert meeting.when.at.isoformat() == "2026-03-04T10:00:00+00:00"
    assert meeting.summary == "### Costs\n- They fall."


def test_tldv_meeting_and_its_transcript() -> None:
    """W2: the name is the title, happenedAt the date; the transcript's list is called data."""
    meeting = only(
        {
            "id": "m1",
            "name": "Budget",
            "happenedAt": "2026-03-04T10:00:00.000Z",
            "duration": 598.2,
            "url": "https://tldv.example/m1",
            "organizer": {"name": "Ana Ruiz", "email": "ana@example.org"},
            "invitees": [{"name": "Bo Lind", "email": "bo@example.org"}],
            "transcript": {
                "id": "t1",
                "meetingId": "m1",
                "data": [
                    {"speaker": "Ana Ruiz", "text": "Hello.", "startTime": 0, "endTime": 2},
                    {"speaker": "Bo Lind", "text": "Hi there, all of you.", "startTime": 3, "endTime": 500},
                ],
            },
            "highlights": [
                {
                    "text": "not said",
                    "startTime": 1,
                    "source": "auto",
                    "topic": {"title": "Costs", "summary": "They fall."},
                }
            ],
        }
    )
    assert spoken(meeting) == [("Ana Ruiz", 0.0, "Hello."), ("Bo Lind", 3.0, "Hi there, all of you.")]
    assert (meeting.title, meeting.duration, meeting.meeting_id) == ("Budget", 598.2, "m1")


def test_grain_counts_in_milliseconds() -> None:
    """W2: numbers too large to be seconds are milliseconds."""
    meeting = only(
        {
            "id": "b5",
            "title": "Budget",
            "start_datetime": "2026-03-04T10:00:00Z",
            "end_datetime": "2026-03-04T10:30:00Z",
            "duration_ms": 1800000,
            "participants": [
                {"name": "Ana Ruiz", "email": "ana@example.org", "scope": "internal", "confirmed_attendee": True}
            ],
            "ai_summary": {"text": "The budget stands."},
            "ai_action_items": [{"text": "Send the budget", "status": "completed", "assignee": {"name": "Ana Ruiz"}}],
            "transcript": [
                {"participant_id": "p1", "speaker": "Ana Ruiz", "start": 4000, "end": 9000, "text": LONG},
                {"participant_id": "p2", "speaker": "Bo", "start": 10000, "end": 11000, "text": "Good."},
            ],
        }
    )
    assert [(turn.speaker, turn.start) for turn in meeting.turns] == [("Ana Ruiz", 4.0), ("Bo", 10.0)]
    assert meeting.summary == "The budget stands."
    assert [(action.text, action.done) for action in meeting.actions] == [("Send the budget", True)]
    assert meeting.duration == 1800.0


def test_read_ai_speaker_blocks() -> None:
    """W2: the words of a block are a text, times are epoch milliseconds."""
    meeting = only(
        {
            "session_id": "01HV",
            "trigger": "meeting_end",
            "title": "Budget",
            "start_time": "2026-03-04T10:00:00Z",
            "end_time": "2026-03-04T10:30:00Z",
            "participants": [{"name": "Ana Ruiz", "email": "ana@example.org"}],
            "owner": {"name": "Ana Ruiz", "email": "ana@example.org"},
            "summary": "The budget stands.",
            "action_items": [{"text": "Send the budget"}],
            "key_questions": [{"text": "Who pays?"}],
            "topics": [{"text": "Costs"}],
            "report_url": "https://read.example/r",
            "transcript": {
                "speakers": [{"name": "Ana Ruiz"}, {"name": "Bo Lind"}],
                "speaker_blocks": [
                    {
                        "start_time": 1772618400000,
                        "end_time": 1772618405000,
                        "speaker": {"name": "Ana Ruiz"},
                        "words": "Hello.",
                    },
                    {
                        "start_time": 1772618407000,
                        "end_time": 1772618409000,
                        "speaker": {"name": "Bo Lind"},
                        "words": "Hi.",
                    },
                ],
            },
        }
    )
    assert spoken(meeting) == [("Ana Ruiz", 0.0, "Hello."), ("Bo Lind", 7.0, "Hi.")]
    assert meeting.sections == (("Questions", "- Who pays?"),)
    assert [action.text for action in meeting.actions] == ["Send the budget"]


def test_google_meet_entries() -> None:
    """W2: participants that are resources are told apart, and named where the export says who they are."""
    entries = [
        {
            "name": "conferenceRecords/c/transcripts/t/entries/1",
            "participant": "conferenceRecords/c/participants/1",
            "text": "Hello.",
            "languageCode": "en-US",
            "startTime": "2026-03-04T10:00:10.5Z",
            "endTime": "2026-03-04T10:00:12Z",
        },
        {
            "name": "conferenceRecords/c/transcripts/t/entries/2",
            "participant": "conferenceRecords/c/participants/2",
            "text": "Hi.",
            "languageCode": "en-US",
            "startTime": "2026-03-04T10:00:14.5Z",
            "endTime": "2026-03-04T10:00:15Z",
        },
    ]
    bare = only({"transcriptEntries": entries})
    assert spoken(bare) == [("Speaker 1", 0.0, "Hello."), ("Speaker 2", 4.0, "Hi.")]
    assert bare.when is not None
    assert bare.when.at.isoformat() == "2026-03-04T10:00:10.500000+00:00"
    people = [
        {"name": "conferenceRecords/c/participants/1", "signedinUser": {"user": "users/1", "displayName": "Ana Ruiz"}}
    ]
    named = only({"transcriptEntries": entries, "participants": people})
    assert spoken(named) == [("Ana Ruiz", 0.0, "Hello."), ("Speaker 1", 4.0, "Hi.")]
    assert named.people == ("Ana Ruiz",)


def test_zoom_timeline_names_who_spoke() -> None:
    """W2: a timeline has no words; it gives people to the transcript beside it."""
    meeting = only(
        {
            "timeline": [
                {
                    "ts": "00:00:01.130",
                    "users": [{"username": "Ana Ruiz", "user_id": "16778240", "email_address": "ana@example.org"}],
                },
                {"ts": "00:00:02.130", "users": []},
                {
                    "ts": "00:00:05.130",
                    "users": [{"username": "Bo Lind", "multiple_people": False}, {"username": "Speaker 1"}],
                },
            ]
        }
    )
    assert meeting.people == ("Ana Ruiz <ana@example.org>", "Bo Lind")
    assert meeting.turns == ()


def test_a_transcript_that_is_one_text() -> None:
    """W2: labelled lines, captions or plain words inside JSON."""
    labelled = only({"title": "T", "transcript": "Ana Ruiz: Hello.\r\nBo Lind: Hi.\r\nAna Ruiz: Bye."})
    assert [turn.speaker for turn in labelled.turns] == ["Ana Ruiz", "Bo Lind", "Ana Ruiz"]
    captions = only({"title": "T", "transcript": "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ana Ruiz>Hello.</v>\n"})
    assert spoken(captions) == [("Ana Ruiz", 1.0, "Hello.")]
    assert spoken(only({"title": "T", "text": "Just words."})) == [("", None, "Just words.")]
