"""Passages."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.domain.chunking import Chunk, chunk, embedding_text
from kos_assets.domain.markdown_lines import heading_text
from kos_assets.domain.prose import spoken


def count(text: str) -> int:
    return len(re.findall(r"\w+|[^\w\s]", text))


def cut(content: str, *, title: str = "Note", max_tokens: int = 60) -> list[Chunk]:
    return chunk(content, title=title, max_tokens=max_tokens, count_tokens=count)


def ink(text: str) -> str:
    return "".join(text.split())


def words(number: int, word: str = "word") -> str:
    return " ".join([word] * number)


LINES = st.sampled_from(
    ["# One", "## Two", "### Three", "#", "", "  ", "- item one two", "  more of it", "1. first", "text.", "```", "~~~",
     "```py", "Title", "===", "---", "> quote", "| a | b |", "x" * 300, words(90), "Dr. A. B! C? " * 20, "会议。" * 60,
     "👨\u200d👩\u200d👧" * 40, "\x0b\x1c", "<% tp.date.now() %>", "%% hidden %%", "%%", "said ^id-1",
     "> [!note]- Said", "```dataview", "> ```tasks", "<!-- x", "-->"]
)  # fmt: skip
NOTES = st.lists(LINES, max_size=30).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n", "\r"]).map(lambda end: end.join(lines))
)


@settings(max_examples=150, deadline=None)
@given(st.one_of(NOTES, st.text(max_size=400)), st.integers(8, 80))
def test_every_character_is_in_exactly_one_passage(content: str, max_tokens: int) -> None:
    """R1: passages cover what the content says once, in order, so no text is without a vector."""
    chunks = cut(content, max_tokens=max_tokens)
    assert "".join(ink(part.text) for part in chunks) == ink(spoken(content))
    assert [part.ordinal for part in chunks] == list(range(len(chunks)))
    assert chunks == cut(content, max_tokens=max_tokens)


@settings(max_examples=100, deadline=None)
@given(NOTES)
def test_passages_fit_and_know_their_lines(content: str) -> None:
    """R1: a passage with its title and path fits the embedder's window, and its line numbers are an editor's."""
    lines = re.split(r"\r\n|\r|\n", content)
    for part in cut(content):
        assert count(part.text) <= 60
        if part.text:
            span = "\n".join(lines[part.start_line - 1 : part.end_line])
            left = iter(ink(span))
            assert all(character in left for character in ink(part.text))  # in this order, maybe with more between


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(["abc", "é", "会", "👍🏽", "e\u0301"]), min_size=1, max_size=400).map("".join))
def test_monsters_are_cut_between_graphemes(content: str) -> None:
    """R1: a word without end is cut by characters, never between a letter and its mark."""
    for part in chunk(content, title="", max_tokens=10, count_tokens=len):
        assert part.text[0] not in "\u0301🏽"
        assert len(part.text) <= 10


def test_empty_content_is_one_empty_passage() -> None:
    """R1: the title of an empty note is still found by its vector."""
    assert cut("") == cut(" \n\n") == [Chunk(0, (), "", 1, 1)]
    assert embedding_text("Note", (), "") == "Note"


def test_cut_at_headings_with_their_path() -> None:
    """R10: a passage knows the headings above it; long neighbours do not share one."""
    content = f"{words(30)}\n\n# A\n{words(35)}\n## B\n{words(40)}\n# C\n{words(40)}\n"
    chunks = cut(content)
    assert [part.heading_path for part in chunks] == [(), ("A",), ("A", "B"), ("C",)]
    assert [(part.start_line, part.end_line) for part in chunks] == [(1, 1), (3, 4), (5, 6), (7, 8)]
    assert chunks[2].text == f"## B\n{words(40)}"


def test_small_sections_under_one_parent_share_a_passage() -> None:
    """R1: passages are not tiny: siblings join under their parent, cousins do not."""
    content = f"# A\n## B\nb b\n## C\nc c\n# D\n{words(45)}\n## E\ne e\n"
    chunks = cut(content)
    assert [(part.heading_path, part.start_line) for part in chunks] == [(("A",), 1), (("D",), 6), (("D", "E"), 8)]


def test_a_heading_goes_with_what_it_heads() -> None:
    """R1: a heading never stands alone before its long subsection."""
    chunks = cut(f"# A\n\n## B\n\n{words(48)}\n")
    assert len(chunks) == 1
    assert chunks[0].heading_path == ("A",)


def test_code_stays_whole_when_it_fits() -> None:
    """R1: a fence with blank lines and `#` comments is one block and opens no section."""
    code = "```sh\n# not a heading\n\nmake demo\n\nmake test\n```"
    chunks = cut(f"# A\n{words(45)}\n\n{code}\n\nafter\n")
    assert [code in part.text for part in chunks] == [False, True]
    assert {part.heading_path for part in chunks} == {("A",)}


def test_setext_headings_open_sections_and_rules_do_not() -> None:
    """R1: `Title` over `===` is a heading; `---` after a list or a blank line is not."""
    chunks = cut(f"Top\n===\n{words(50)}\n\nSub\n---\n{words(50)}\n\n- item\n---\n{words(40)}\n")
    assert [part.heading_path for part in chunks] == [("Top",), ("Top", "Sub"), ("Top", "Sub")]


def test_long_lists_are_cut_between_items_and_prose_between_sentences() -> None:
    """R1: a list item keeps its continuation lines, a sentence its words, as long as they fit."""
    items = "\n".join(f"- item {number} {words(6)}\n  continued {number}" for number in range(12))
    assert all(part.text.startswith("- item") for part in cut(items))
    prose = " ".join(f"Sentence {number} has {words(8)}." for number in range(20))
    assert all(part.text.startswith("Sentence") and part.text.endswith(".") for part in cut(prose))


def test_a_long_title_leaves_room_for_text() -> None:
    """R1: half of the budget is for text whatever the title."""
    assert [count(part.text) for part in cut(words(90), title=words(500))] == [23, 23, 23, 21]


def test_embedded_text_names_title_and_path_once() -> None:
    """E3: what is embedded is title, heading path and text, the passage's own heading not twice."""
    assert embedding_text("Kafka", ("Kafka", "Setup"), "## Setup\n\nInstall it.") == "Kafka\nSetup\nInstall it."
    assert embedding_text("Kafka", ("A", "B"), "Second part.") == "Kafka\nA > B\nSecond part."
    assert heading_text("## Plan ##\n") == "Plan"
    assert heading_text("#tag") is None


def test_a_query_longer_than_a_passage_is_in_none() -> None:
    """V3: a block is left out whole, wherever passages are cut, and the lines below keep their numbers."""
    code = "\n".join(f"dv.list({number})" for number in range(200))
    chunks = cut(f"{words(50)}\n\n```dataviewjs\n{code}\n```\n\n# After\n{words(40)}")
    assert [(part.text.split()[0], part.start_line) for part in chunks] == [("word", 1), ("#", 206)]
    comment = cut(f"Said\n%%\n{words(30)}\n\n{words(30)}\n%%\n\n\n\nend")
    assert [part.text for part in comment] == ["Said\n\nend"]


@pytest.mark.parametrize("line", ["<%", "%%x", "```a\n", "# h\n", "- x\n", "a.b! ", "word\n", "\n", "`=", "x"])
def test_time_is_linear(line: str) -> None:
    """V4: 100,000-line notes and unclosed marks cost what their size costs."""
    start = time.process_time()
    chunks = cut(line * 60_000, max_tokens=200)
    assert time.process_time() - start < 4
    assert chunks
