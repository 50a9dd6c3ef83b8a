"""WebVTT and SRT, as the standard says and as programs write them."""

from __future__ import annotations

import pytest
import webvtt
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.writers.meetings.meeting import Meeting
from kos_assets.writers.meetings.parsing import parse


def read(text: str, suffix: str = ".vtt") -> Meeting:
    """The meeting of a caption file."""
    (found,) = parse(text.encode(), suffix)
    return found


def spoken(text: str, suffix: str = ".vtt") -> list[tuple[str, float | None, str]]:
    """(speaker, start, words) of each turn."""
    return [(turn.speaker, turn.start, "\n".join(turn.paragraphs)) for turn in read(text, suffix).turns]


def test_teams_voices_and_identifiers() -> None:
    """W2: voice tags with and without an end, ids above the times, lines of one speaker joined."""
    text = (
        "WEBVTT\n\n5e1f-0/12-0\n00:00:02.310 --> 00:00:04.100\n<v Ana Ruiz>Hello &amp; welcome.</v>\n\n"
        "5e1f-0/13-1\n00:00:04.500 --> 00:00:06.000\n<v Ana Ruiz>Let us\nbegin.</v>\n\n"
        "5e1f-0/14-0\n00:00:06.100 --> 00:00:07.000\n<v.loud Bo Lind>Yes.\n"
    )
    assert spoken(text) == [("Ana Ruiz", 2.31, "Hello & welcome. Let us begin."), ("Bo Lind", 6.1, "Yes.")]
    assert read(text).people == ("Ana Ruiz", "Bo Lind")
    assert read(text).duration == 7.0


def test_teams_metadata_cues() -> None:
    """W2: cues whose payload is JSON."""
    text = (
        "WEBVTT\n\n00:00:16.246 --> 00:00:17.726\n"
        '{"startDateTime":"2026-03-04T10:00:16Z","endDateTime":"2026-03-04T10:00:17Z",'
        '"speakerName":"Ana Ruiz","spokenText":"Hello.","spokenLanguage":"en-us"}\n\n'
        '00:00:18.000 --> 00:00:19.000\n{"speakerName":"Bo Lind","spokenText":"Hi.", broken\n'
    )
    assert spoken(text)[0] == ("Ana Ruiz", 16.246, "Hello.")
    assert "Hi." in spoken(text)[1][2]


def test_zoom_names_before_a_colon() -> None:
    """W2: names in the text; what is no name stays text."""
    text = (
        "WEBVTT\r\n\r\n1\r\n00:00:01.000 --> 00:00:02.000\r\nAna Ruiz: Hello.\r\n\r\n2\r\n"
        "00:00:02.500 --> 00:00:04.000\r\n"
        "Ana Ruiz: The plan is this: we wait.\r\n\r\n3\r\n00:00:05.000 --> 00:00:06.000\r\n"
        "müller, jan: Ratio 3:1.\r\n\r\n"
        "4\r\n00:00:07.000 --> 00:00:08.000\r\n田中: はい。\r\n\r\n5\r\n"
        "00:00:08.000 --> 00:00:09.000\r\nand so we wait: that is it\r\n"
    )
    assert spoken(text) == [
        ("Ana Ruiz", 1.0, "Hello. The plan is this: we wait. müller, jan: Ratio 3:1."),
        ("田中", 7.0, "はい。 and so we wait: that is it"),
    ]


def test_speech_with_colons_has_no_speakers() -> None:
    """W2: a word before a colon now and then is no speaker."""
    rows = [f"Word {n} of a long talk goes on." for n in range(20)]
    rows[7] = "Remember: nobody said that this is a name."
    text = "WEBVTT\n\n" + "".join(f"00:{n:02d}.000 --> 00:{n:02d}.900\n{row}\n\n" for n, row in enumerate(rows, 10))
    assert {speaker for speaker, _, _ in spoken(text)} == {""}


def test_blocks_that_are_not_spoken() -> None:
    """W2: header, notes, styles and regions are no text; cue settings are no text; facts of the header count."""
    text = (
        "WEBVTT - Budget\nKind: captions\nLanguage: de\n\nNOTE duration:\"00:34:12.5\"\n\nNOTE\nlong\n"
        "note\n\nSTYLE\n::cue { color: lime }\n\n"
        "REGION\nid:bill\nwidth:40%\n\n00:01.000 --> 00:02.000 align:start position:0% line:-1\n"
        "Hallo.\n\nNOTE between\n\n"
        "00:03.000 --> 00:04.000\n"
        "<c.yellow>Wie</c> <00:00:03.500><i>geht</i> <b>es</b>? 3 < 5 <lang fr>oui</lang> {\\an8}\n"
    )  # fmt: skip
    assert spoken(text) == [("", 1.0, "Hallo. Wie geht es? 3 < 5 oui")]
    assert (read(text).language, read(text).duration) == ("de", 2052.5)


def test_srt_with_tags_commas_and_blank_lines() -> None:
    """W2: HTML in SRT is no text; a blank line inside a cue loses nothing; numbers that are said stay."""
    text = (
        '1\n00:00:01,000 --> 00:00:02,000\n<font color="#fff">{\\an8}Hello</font><br/>\n\nand welcome.\n\n2\n'
        "00:00:03,000 --> 00:00:04,000\n42\n\n3\n00:00:05,000 --> 00:00:06,000\nNOTE that a --> b.\n"
    )
    assert spoken(text, ".srt") == [("", 1.0, "Hello and welcome. 42 NOTE that a --> b.")]


def test_srt_without_blank_lines() -> None:
    """W2: the number of the next cue is no text."""
    text = (
        "1\n00:00:01,000 --> 00:00:02,000\nHello.\n2\n00:00:03,000 --> 00:00:04,000\nHi.\n3\n"
        "00:00:05,000 --> 00:00:06,000\n"
    )
    assert spoken(text, ".srt") == [("", 1.0, "Hello. Hi.")]


@pytest.mark.parametrize(
    ("timing", "start"),
    [
        ("01:02.500 --> 01:03.000", 62.5),
        ("-00:00:01.000 --> 00:00:02.000", 0.0),
        ("0:0:7.5 --> 0:0:8.5", 7.5),
        ("00:00:07,5 -> 00:00:08,5", 7.5),
        ("75:00 --> 76:00", 4500.0),
        ("00:00:70.000 --> 00:00:71.000", 70.0),
        ("100:00:00.000 --> 100:00:01.000", 360000.0),
        ("00:00:05.000-->00:00:02.000", 5.0),
    ],
)
def test_times_that_are_only_nearly_right(timing: str, start: float) -> None:
    """W2: hours may be missing, commas are dots, what is below zero is zero."""
    assert spoken(f"WEBVTT\n\n{timing}\nHello.\n") == [("", start, "Hello.")]
    assert read(f"{timing}\nHello.\n", ".srt").flaw_count == 0


def test_a_cue_without_a_readable_time_keeps_its_words() -> None:
    """W2, V4: nothing that was said is lost; the line is told."""
    text = (
        "WEBVTT\n\n00:01.000 --> 00:02.000\nOne.\n\n00:0x:03.000 --> 00:04.000\nTwo.\n\n"
        "00:05.000 --> 00:06.000\nThree.\n"
    )
    meeting = read(text)
    assert meeting.turns[0].paragraphs == ("One. Two. Three.",)
    assert [(flaw.line, flaw.code) for flaw in meeting.flaws] == [(6, "bad_cue_time")]


def test_captions_that_scroll_are_folded() -> None:
    """W2: rows that are shown again, 10 ms cues, captions that grow and cues twice are said once; echoes stay."""
    scrolling = (
        "WEBVTT\nKind: captions\nLanguage: en\n\n00:00:00.000 --> 00:00:02.000 align:start position:0%\n"
        " \nso<00:00:00.500><c> today</c>\n\n"
        "00:00:02.000 --> 00:00:02.010 align:start position:0%\nso today\n \n\n"
        "00:00:02.010 --> 00:00:04.000\nso today\nwe<c> count</c>\n\n"
        "00:00:04.000 --> 00:00:04.010\nwe count\n \n\n00:00:04.010 --> 00:00:06.000\nwe count\nthe nights\n"
    )
    assert spoken(scrolling) == [("", 0.0, "so today we count the nights")]
    growing = "WEBVTT\n\n" + "".join(
        f"00:00:01.000 --> 00:00:0{end}.000\n<v Ana>{words}</v>\n\n"
        for end, words in ((2, "We"), (3, "We count"), (4, "We count the nights."))
    )
    assert spoken(growing) == [("Ana", 1.0, "We count the nights.")]
    twice = "WEBVTT\n\n" + "00:01.000 --> 00:03.000\nHello.\n\n" * 3
    assert spoken(twice) == [("", 1.0, "Hello.")]
    echo = "WEBVTT\n\n00:01.000 --> 00:02.000\nYes.\n\n00:02.000 --> 00:03.000\nYes.\n"
    assert spoken(echo) == [("", 1.0, "Yes. Yes.")]


def test_overlapping_speakers_are_both_kept() -> None:
    """W2: who speaks at the same time is not folded."""
    text = (
        "WEBVTT\n\n00:01.000 --> 00:05.000\n<v Ana>No.</v>\n\n00:02.000 --> 00:03.000\n<v Bo>No.</v>\n\n"
        "00:04.000 --> 00:06.000\n<v Ana>Yes.</v> <v Bo>Well.</v>\n"
    )
    assert [(speaker, words) for speaker, _, words in spoken(text)] == [
        ("Ana", "No."),
        ("Bo", "No."),
        ("Ana", "Yes."),
        ("Bo", "Well."),
    ]


def test_a_long_monologue_has_paragraphs_and_times() -> None:
    """W2: a turn that goes on is marked with the time every five minutes and cut at sentences."""
    rows = "".join(
        f"00:{n // 60:02d}:{n % 60:02d}.000 --> 00:{n // 60:02d}:{n % 60:02d}.900\nSentence {n} is said here.\n\n"
        for n in range(900)
    )
    turns = read("WEBVTT\n\n" + rows).turns
    assert [turn.start for turn in turns] == [0.0, 300.0, 600.0]
    paragraphs = [paragraph for turn in turns for paragraph in turn.paragraphs]
    assert all(len(paragraph) <= 1400 and paragraph.endswith(".") for paragraph in paragraphs)
    assert " ".join(paragraphs).count("Sentence") == 900


@pytest.mark.parametrize(
    "speaker",
    [
        "Speaker 1",
        "SPEAKER_07",
        "speaker2",
        "Unknown Speaker",
        "Sprecher 2",
        "说话人 1",
        "话者1",
        "Participant 3",
        "+49 151 234",
    ],
)
def test_placeholders_are_nobody(speaker: str) -> None:
    """W2: a placeholder speaks in the transcript and is no person."""
    meeting = read(f"WEBVTT\n\n00:01.000 --> 00:02.000\n<v {speaker}>Hello.</v>\n")
    assert meeting.people == ()
    assert meeting.turns[0].speaker


@pytest.mark.parametrize(
    "speaker",
    ["Ana María Ruiz-Díaz", "李小龙", "Ольга Иванова", "محمد علي", "สมชาย ใจดี", "Jean-Luc O’Neill", "X Æ A-12"],
)
def test_names_of_every_script(speaker: str) -> None:
    """W2: a name is kept as it is written."""
    assert read(f"WEBVTT\n\n00:01.000 --> 00:02.000\n<v {speaker}>Hello.</v>\n").people == (speaker,)


words = st.text(st.sampled_from("abcdefgh ,.!?é漢"), min_size=1, max_size=30).map(str.strip).filter(bool)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 300), st.sampled_from(["Ana Ruiz", "Bo Lind", "王芳"]), words), min_size=1, max_size=12
    )
)
def test_agrees_with_webvtt_py_on_what_is_well_formed(cues: list[tuple[int, str, str]]) -> None:
    """W2: the same voices and words as the library reads, where cues do not repeat or overlap."""
    text, at = "WEBVTT\n\n", 0
    for gap, speaker, said in cues:
        at += gap + 1
        text += f"{at // 60:02d}:{at % 60:02d}.000 --> {at // 60:02d}:{at % 60:02d}.500\n<v {speaker}>{said}</v>\n\n"
    expected = [(caption.voice, " ".join(caption.text.split())) for caption in webvtt.from_string(text).captions]
    found = [(turn.speaker, " ".join(turn.paragraphs)) for turn in read(text).turns]
    assert "".join(said for _, said in found).replace(" ", "") == "".join(said for _, said in expected).replace(" ", "")
    changes = [
        speaker for number, (speaker, _) in enumerate(expected) if not number or expected[number - 1][0] != speaker
    ]
    assert [
        speaker for number, (speaker, _) in enumerate(found) if not number or found[number - 1][0] != speaker
    ] == changes
