"""Plain text and Markdown: transcripts of every look, notes that stay as they are, and encodings."""

from __future__ import annotations

import codecs
from zoneinfo import ZoneInfo

import pytest

from kos_assets.writers.meetings.meeting import Meeting, UnreadableMeetingError
from kos_assets.writers.meetings.parsing import parse

BERLIN = ZoneInfo("Europe/Berlin")


def read(text: str, suffix: str = ".txt") -> Meeting:
    """The meeting of a text file."""
    (found,) = parse(text.encode(), suffix, BERLIN)
    return found


def spoken(text: str, suffix: str = ".txt") -> list[tuple[str, float | None, str]]:
    """(speaker, start, words) of each turn."""
    return [(turn.speaker, turn.start, "\n".join(turn.paragraphs)) for turn in read(text, suffix).turns]


TWO = [("Ana Ruiz", 5.0, "Hello. And more."), ("Bo Lind", 65.0, "Hi.")]


@pytest.mark.parametrize(
    "text",
    [
        "Ana Ruiz  0:05\nHello.\nAnd more.\n\nBo Lind  1:05\nHi.\n\nTranscribed by https://otter.ai\n",
        "[00:00:05] Ana Ruiz: Hello.\nAnd more.\n[00:01:05] Bo Lind: Hi.\n",
        "00:05 Ana Ruiz: Hello.\n00:07 Ana Ruiz: And more.\n01:05 Bo Lind: Hi.\n",
        "00:00:05,000 --> 00:00:07,000 Ana Ruiz: Hello.\nAnd more.\n00:01:05,000 --> 00:01:07,000 Bo Lind: Hi.\n",
        "0:05 - Ana Ruiz (Steinkar)\n  Hello.\n  And more.\n\n1:05 - Bo Lind\n  Hi.\n".replace(" (Steinkar)", ""),
        "**Ana Ruiz** (00:05): Hello.\nAnd more.\n\n**Bo Lind** (01:05): Hi.\n",
        "**Ana Ruiz** · 00:00:05\n\nHello.\nAnd more.\n\n**Bo Lind** · 00:01:05\n\nHi.\n",
        "Ana Ruiz (00:05)\nHello.\nAnd more.\nBo Lind (01:05)\nHi.\n",
        "Ana Ruiz | 00:05\nHello.\nAnd more.\n\nBo Lind | 01:05\nHi.\n",
        "- [00:05] **Ana Ruiz:** Hello.\n- [00:07] **Ana Ruiz:** And more.\n- [01:05] **Bo Lind:** Hi.\n",
    ],
)
def test_speakers_and_times_in_every_look(text: str) -> None:
    """W2: time and name may stand before the words, above them, in bold or brackets."""
    assert spoken(text) == TWO
    assert read(text).people == ("Ana Ruiz", "Bo Lind")


def test_names_without_times() -> None:
    """W2: `Name: words`, also with a full-width colon."""
    assert spoken("Ana Ruiz: Hello.\nAna Ruiz: And more.\nBo Lind: Hi.\n") == [
        ("Ana Ruiz", None, "Hello. And more."),
        ("Bo Lind", None, "Hi."),
    ]
    assert spoken("王芳：你好。\n王芳：开始吧。\n李明：好。\n") == [
        ("王芳", None, "你好。开始吧。"),
        ("李明", None, "好。"),
    ]


def test_google_meet_document() -> None:
    """W2: the date from the title, attendees from the list, times on lines of their own, the footer left out."""
    text = (
        "Budget (2026-03-04 10:00 GMT+1) - Transcript\nAttendees\nAna Ruiz, Bo Lind, Cy Young\n"
        "Transcript\n00:00:00\n \n"
        "Ana Ruiz: Hello.\nBo Lind: Hi.\n00:05:00\n \nAna Ruiz: Well then.\nMeeting ended after 00:34:12 👋\n"
        "This editable transcript was computer generated and might contain errors. "
        "People can also change the text after it was created.\n"
    )
    meeting = read(text)
    assert [(turn.speaker, turn.start) for turn in meeting.turns] == [
        ("Ana Ruiz", 0.0),
        ("Bo Lind", 0.0),
        ("Ana Ruiz", 300.0),
    ]
    assert meeting.people == ("Ana Ruiz", "Bo Lind", "Cy Young")
    assert meeting.when is not None
    assert meeting.when.at.isoformat() == "2026-03-04T09:00:00+00:00"
    assert meeting.title.startswith("Budget")
    assert "computer generated" not in str(meeting.turns)


def test_zoom_saved_captions_and_chat() -> None:
    """W2: times of the day become times from the start."""
    saved = "[Ana Ruiz] 10:03:12\nHello.\n\n[Bo Lind] 10:03:20\nHi.\n"
    assert spoken(saved) == [("Ana Ruiz", 0.0, "Hello."), ("Bo Lind", 8.0, "Hi.")]
    chat = "10:03:12 From Ana Ruiz to Everyone:\tHello.\n10:03:20 From Bo Lind to Everyone:\tHi.\n"
    assert spoken(chat) == [("Ana Ruiz", 0.0, "Hello."), ("Bo Lind", 8.0, "Hi.")]
    midnight = "[Ana Ruiz] 23:59:58\nHello.\n\n[Bo Lind] 00:00:08\nHi.\n"
    assert spoken(midnight) == [("Ana Ruiz", 0.0, "Hello."), ("Bo Lind", 10.0, "Hi.")]


def test_facts_above_a_transcript() -> None:
    """W2: title, date, attendees and length stand above the words."""
    text = (
        "Title: Budget\nDate: 4 March 2026 10:00\nDuration: 34 min\nAttendees:\n"
        "- Ana Ruiz <ana@example.org>\n- Bo Lind\n\nAna Ruiz: Hello.\nBo Lind: Hi.\nAna Ruiz: Bye.\n"
    )
    meeting = read(text)
    assert (meeting.title, meeting.duration) == ("Budget", 2040.0)
    assert meeting.when is not None
    assert meeting.when.at.isoformat() == "2026-03-04T09:00:00+00:00"
    assert meeting.people == ("Ana Ruiz <ana@example.org>", "Bo Lind")


def test_prose_is_no_transcript() -> None:
    """W2: a text with a few colons and times is notes and stays as it is."""
    text = (
        "We met at 10:30 and spoke of three things.\nFirst: the roof.\nSecond: the stove, until 11:00.\n"
        "Then we went home.\nNothing else was said.\n"
    )
    meeting = read(text)
    assert meeting.turns == ()
    assert meeting.notes == text.rstrip("\n")


def test_markdown_stays_as_it_is() -> None:
    """W2: properties and the title leave the text, nothing else changes."""
    body = (
        "## Decision\n\n**Go** on `Monday`.\n\n- [x] Train Bo ✅ 2026-03-05\n- plain\n\n```\n"
        "## Action items\n- no task\n```\n"
    )
    text = (
        f'---\ntitle: Budget\ndate: 2026-03-04\nattendees: ["[[Ana Ruiz]]", "Bo Lind <bo@example.org>"]\n'
        f"tags: [money]\nduration: 45 min\n---\n# Budget\n\n{body}"
    )
    meeting = read(text, ".md")
    assert meeting.notes == body.strip("\n")
    assert (meeting.title, meeting.tags, meeting.duration) == ("Budget", ("money",), 2700.0)
    assert meeting.people == ("Ana Ruiz", "Bo Lind <bo@example.org>")
    assert meeting.when is not None
    assert meeting.when.dated


def test_a_heading_that_is_not_the_title_stays() -> None:
    """W2: of two titles the property counts; the heading is the person's text."""
    meeting = read("---\ntitle: Budget\n---\n# Budget: go or no go?\n\nText.\n", ".md")
    assert (meeting.title, meeting.notes) == ("Budget", "# Budget: go or no go?\n\nText.")
    assert read("# Budget call\n\nText.\n", ".md").title == "Budget call"


def test_action_items_become_tasks() -> None:
    """W2: bullets below a heading for actions get a box; the rest is left alone."""
    text = (
        "# B\n\n## Notes\n- a fact\n\n## Action items\n- Ana: send it\n- [x] done\n* Bo: pay\n\n"
        "## Nächste Schritte\n- warten\n"
    )
    assert read(text, ".md").notes == (
        "## Notes\n- a fact\n\n## Action items\n- [ ] Ana: send it\n- [x] done\n* [ ] Bo: pay\n\n"
        "## Nächste Schritte\n- [ ] warten"
    )


def test_a_transcript_below_its_heading() -> None:
    """W2: the section becomes turns, what is around it stays."""
    text = (
        "# B\n\nAttendees: Ana Ruiz, Cy Young\n\n## Transcript\n\n**Ana Ruiz** (00:05): Hello.\n\n"
        "**Bo Lind** (00:07): Hi.\n\n## Next steps\n\n- wait\n"
    )
    meeting = read(text, ".md")
    assert [(turn.speaker, turn.start) for turn in meeting.turns] == [("Ana Ruiz", 5.0), ("Bo Lind", 7.0)]
    assert meeting.notes == "Attendees: Ana Ruiz, Cy Young\n\n## Next steps\n\n- [ ] wait"
    assert meeting.people == ("Ana Ruiz", "Cy Young", "Bo Lind")


def test_a_mirrors_own_note_is_not_read_again() -> None:
    """W1: what a mirror wrote is left out, and that is no problem."""
    with pytest.raises(UnreadableMeetingError) as error:
        parse(b"---\nkos_mirror: meetings\n---\n# B\n\nText.\n", ".md")
    assert (error.value.code, error.value.counts) == ("mirrored", False)


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("Ana Müller: Grüße!\nBo Lind: Hé.\nAna Müller: Ja.\n".encode(), ""),
        (codecs.BOM_UTF8 + "Ana Müller: Grüße!\nBo Lind: Hé.\nAna Müller: Ja.\n".encode(), ""),
        ("Ana Müller: Grüße!\nBo Lind: Hé.\nAna Müller: Ja.\n".encode("utf-16"), "utf-16"),
        ("Ana Müller: Grüße!\nBo Lind: Hé.\nAna Müller: Ja.\n".encode("utf-16-le"), "utf-16"),
        (codecs.BOM_UTF16_BE + "Ana Müller: Grüße!\nBo Lind: Hé.\nAna Müller: Ja.\n".encode("utf-16-be"), "utf-16"),
        ("Ana Müller: Grüße!\nBo Lind: Hé.\nAna Müller: Ja.\n".encode("utf-32"), "utf-32"),
        ("Ana Müller: Grüße!\r\nBo Lind: Hé.\r\nAna Müller: Ja.\r\n".encode("cp1252"), "cp1252"),
    ],
)
def test_encodings(data: bytes, encoding: str) -> None:
    """V4: UTF-8, UTF-16, UTF-32 with a mark, Windows-1252; what was not UTF-8 is told."""
    (meeting,) = parse(data, ".txt")
    assert meeting.people == ("Ana Müller", "Bo Lind")
    assert meeting.turns[0].paragraphs == ("Grüße!",)
    assert meeting.encoding == encoding


def test_cyrillic_of_windows() -> None:
    """V4: an encoding that is nowhere named is guessed."""
    text = (
        "Иван Петров: Добрый день, коллеги, начнём совещание.\n"
        "Ольга Иванова: Да, давайте обсудим бюджет на следующий год.\n" * 4
    )
    (meeting,) = parse(text.encode("cp1251"), ".txt")
    assert meeting.people == ("Иван Петров", "Ольга Иванова")


def test_text_that_looks_like_markdown_is_said_plainly() -> None:
    """W2: what somebody said opens no heading, list, fence or comment in the note."""
    from kos_assets.writers.meetings.words import paragraph

    said = {
        "# one": "\\# one",
        "- two": "\\- two",
        "3. three": "3\\. three",
        "```": "\\```",
        "> four": "\\> four",
        "a <!-- b": "a <\\!-- b",
        "%% c": "%\\% c",
        "plain - text #1": "plain - text #1",
        "---": "\\---",
        "| a | b |": "\\| a | b |",
    }
    assert {text: paragraph(text) for text in said} == said


@pytest.mark.parametrize("suffix", [".md", ".txt"])
def test_a_list_of_topics_is_no_transcript(suffix: str) -> None:
    """W2: `Topic: words` once each, bold or in bullets, is notes; nobody is called Budget."""
    text = "**Roof**: mend it\n**Stove**: buy one\n**Budget**: raise by 5 %\n- Water: fine\n- Beds: fine\n"
    assert read(text, suffix).notes == text.rstrip("\n")
    assert read(text, suffix).people == ()


@pytest.mark.parametrize(
    "text",
    [
        "key: one\nvalue: 2\nkey: two\nvalue: 3\nkey: three\nvalue: 4\n",
        "Q: Who pays?\nA: We do.\nQ: When?\nA: Now.\n",
        "**Q:** Who pays?\n**A:** We do.\n**Q:** When?\n**A:** Now.\n",
        "```\nAna Ruiz: Hello.\nBo Lind: Hi.\nAna Ruiz: Bye.\n```\n",
        "问: 谁？\n答: 我。\n问: 何时？\n答: 现在。\n",
    ],
)
def test_lists_questions_and_code_in_notes_are_no_transcript(text: str) -> None:
    """W2: Markdown that only looks like speech stays as it is."""
    assert (read(text, ".md").notes, read(text, ".md").people) == (text.rstrip("\n"), ())


def test_names_in_lower_case() -> None:
    """W2: where half of the lines begin with such a name three times, it is a speaker."""
    text = "john smith: hello\nAna 🎉: hi\njohn smith: so the thing is: wait\nAna 🎉: no\njohn smith: yes\nAna 🎉: ok\n"
    assert [turn.speaker for turn in read(text).turns] == ["john smith", "Ana 🎉"] * 3


def test_what_stands_above_a_transcripts_words_is_kept() -> None:
    """W2: rows that nobody said stay in the note, also under the heading and in a file that is all transcript."""
    below = read("# B\n\n## Transcript\n\n_Recorded by phone._\n\n**Ana** (00:05): Hello.\n", ".md")
    assert below.notes == "_Recorded by phone._"
    text = "Attendees: Cy Young\nIn the hut.\n\n**Ana Ruiz:** Hello.\n\n**Bo Lind:** Hi.\n\n**Ana Ruiz:** Bye.\n"
    whole = read(text, ".md")
    assert whole.notes == "Attendees: Cy Young\nIn the hut."
    assert whole.people == ("Cy Young", "Ana Ruiz", "Bo Lind")
    plain = read("Hut call\nIn the hut.\nMeeting ID: 77\n\n[00:05] Ana Ruiz: Hello.\n[00:06] Bo Lind: Hi.\n")
    assert (plain.title, plain.notes) == ("Hut call", "In the hut.\nMeeting id: 77")


def test_people_as_links_and_lists() -> None:
    """W2: wikilinks name their page; semicolons part names that have commas."""
    text = '---\nattendees: ["[[People/Ana Ruiz|Ana]]", "[[Bo Lind]]"]\n---\nParticipants: Young, Cy; Lind, Di\n'
    assert read(text, ".md").people == ("Ana Ruiz", "Bo Lind", "Young, Cy", "Lind, Di")
