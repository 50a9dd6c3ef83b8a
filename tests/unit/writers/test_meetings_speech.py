"""JSON of speech-to-text services: samples made here after the published shapes."""

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


def test_whisper_and_whisperx() -> None:
    """W2: segments in seconds; SPEAKER_00 is nobody; words beside the text are not read."""
    meeting = only(
        {
            "text": "all of it",
            "language": "de",
            "segments": [
                {
                    "id": 0,
                    "seek": 0,
                    "start": 0.0,
                    "end": 4.5,
                    "text": " Guten Morgen.",
                    "tokens": [1, 2],
                    "speaker": "SPEAKER_00",
                    "words": [{"word": "Guten", "start": 0.0, "end": 1.0}],
                },
                {"id": 1, "seek": 0, "start": 4.5, "end": 6.0, "text": " Morgen.", "speaker": "SPEAKER_01"},
            ],
        }
    )
    assert spoken(meeting) == [("Speaker 0", 0.0, "Guten Morgen."), ("Speaker 1", 4.5, "Morgen.")]
    assert meeting.people == ()
    assert meeting.language == "de"


def test_whisper_cpp() -> None:
    """W2: times in a record of texts."""
    meeting = only(
        {
            "systeminfo": "x",
            "result": {"language": "en"},
            "transcription": [
                {
                    "timestamps": {"from": "00:00:00,000", "to": "00:00:04,500"},
                    "offsets": {"from": 0, "to": 4500},
                    "text": " Hello.",
                },
                {
                    "timestamps": {"from": "00:10:04,500", "to": "00:10:06,000"},
                    "offsets": {"from": 604500, "to": 606000},
                    "text": " Again.",
                },
            ],
        }
    )
    assert [(start, words) for _, start, words in spoken(meeting)] in (
        [(0.0, "Hello."), (604.5, "Again.")],
        [(0.0, "Hello. Again.")],
    )
    assert meeting.duration == 606.0


def test_assemblyai() -> None:
    """W2: utterances rather than words, milliseconds, speakers by letter, chapters."""
    words = [{"text": "Hello.", "start": 250, "end": 650, "confidence": 0.9, "speaker": "A"}]
    meeting = only(
        {
            "id": "9ea68fd3",
            "language_code": "en_us",
            "audio_duration": 281,
            "words": words,
            "text": "all",
            "utterances": [
                {"confidence": 0.9, "start": 250, "end": 9000, "speaker": "A", "text": LONG, "words": words},
                {"confidence": 0.9, "start": 9100, "end": 9900, "speaker": "B", "text": "Good.", "words": []},
            ],
            "summary": "- The budget stands.",
            "chapters": [{"headline": "Costs", "gist": "c", "summary": "They fall.", "start": 250, "end": 9900}],
        }
    )
    assert [(turn.speaker, turn.start) for turn in meeting.turns] == [("Speaker A", 0.25), ("Speaker B", 9.1)]
    assert meeting.sections == (("Chapters", "- **Costs**: They fall."),)
    assert (meeting.duration, meeting.people) == (281.0, ())


def test_deepgram_utterances_and_paragraphs() -> None:
    """W2: utterances where they were asked for, else paragraphs made of sentences; the short summary."""
    alternatives = [
        {
            "transcript": "hello good",
            "confidence": 0.9,
            "words": [{"word": "hello", "start": 0.4, "end": 0.8, "speaker": 0}],
            "paragraphs": {
                "transcript": "\nSpeaker 0: hello",
                "paragraphs": [
                    {
                        "sentences": [
                            {"text": "Hello.", "start": 0.4, "end": 0.9},
                            {"text": "All.", "start": 1.0, "end": 1.5},
                        ],
                        "speaker": 0,
                        "num_words": 2,
                        "start": 0.4,
                        "end": 1.5,
                    },
                    {
                        "sentences": [{"text": "Good.", "start": 2.0, "end": 2.5}],
                        "speaker": 1,
                        "num_words": 1,
                        "start": 2.0,
                        "end": 2.5,
                    },
                ],
            },
        }
    ]
    results: dict[str, Any] = {
        "channels": [{"alternatives": alternatives}],
        "summary": {"result": "success", "short": "Hellos."},
    }
    value = {
        "metadata": {"request_id": "r", "created": "2026-03-04T10:00:00.000Z", "duration": 25.9, "channels": 1},
        "results": results,
    }
    meeting = only(value)
    assert spoken(meeting) == [("Speaker 0", 0.4, "Hello. All."), ("Speaker 1", 2.0, "Good.")]
    assert (meeting.duration, meeting.summary) == (25.9, "Hellos.")
    results["utterances"] = [
        {"start": 0.4, "end": 1.5, "confidence": 0.9, "channel": 0, "transcript": "hello all", "speaker": 0, "id": "u"}
    ]
    assert spoken(only(value)) == [("Speaker 0", 0.4, "hello all")]


def test_texts_made_of_words() -> None:
    """W2: where only words have the text, they are joined; punctuation that brings its own spaces is not spaced."""
    recall = only(
        [
            {
                "participant": {"id": 1, "name": "Ana Ruiz", "is_host": True},
                "words": [
                    {"text": "Hello", "start_timestamp": {"relative": 1.5, "absolute": "2026-03-04T10:00:01.5Z"}},
                    {"text": "all.", "start_timestamp": {"relative": 2.0}},
                ],
            }
        ]
    )
    assert spoken(recall) == [("Ana Ruiz", 1.5, "Hello all.")]
    rev = only(
        {
            "monologues": [
                {
                    "speaker": 0,
                    "elements": [
                        {"type": "text", "value": "Hello", "ts": 0.75, "end_ts": 1.25},
                        {"type": "punct", "value": ","},
                        {"type": "punct", "value": " "},
                        {"type": "text", "value": "all", "ts": 1.3, "end_ts": 1.5},
                        {"type": "punct", "value": "."},
                    ],
                }
            ]
        }
    )
    assert spoken(rev) == [("Speaker 0", 0.75, "Hello, all.")]
    gong = only(
        {
            "callId": "7",
            "transcript": [
                {
                    "speakerId": "6432345678555530067",
                    "topic": "x",
                    "sentences": [
                        {"start": 460, "end": 1204, "text": LONG},
                        {"start": 1300, "end": 1400, "text": "Good."},
                    ],
                }
            ],
            "parties": [{"speakerId": "6432345678555530067", "name": "Ana Ruiz", "emailAddress": "ana@example.org"}],
        }
    )
    assert [turn.speaker for turn in gong.turns] == ["Ana Ruiz"]
    assert gong.people == ("Ana Ruiz <ana@example.org>",)


def test_json_lines() -> None:
    """W2: several values one after the other are the lines of one transcript."""
    data = b'{"speaker":"Ana Ruiz","text":"Hello.","start":1.5}\n{"speaker":"Bo Lind","text":"Hi.","start":3}\n'
    (meeting,) = parse(data, ".jsonl")
    assert spoken(meeting) == [("Ana Ruiz", 1.5, "Hello."), ("Bo Lind", 3.0, "Hi.")]
