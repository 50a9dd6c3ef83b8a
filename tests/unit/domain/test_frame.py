"""What was recalled does not come back as knowledge."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kos_assets.domain.frame import FRAME_END, FRAME_START, QUOTE, cut_recalled

INDEX_LINE = "[374f8a9a-061d-5657-9e3c-4828d4304e90] Oven — It heats to 240."
STORED = st.text(
    alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")
)


def frame(*stored: str) -> str:
    """As serving gives it."""
    return "\n".join(
        [
            FRAME_START,
            "memory 374f8a9a-061d-5657-9e3c-4828d4304e90: namespace global",
            *(QUOTE + line for line in stored),
            FRAME_END,
        ]
    )


@pytest.mark.parametrize("cite", ["", "> ", ">> ", "    ", "- "])
def test_a_frame_is_cut_however_it_is_cited(cite: str) -> None:
    """W8: pasted, quoted in mail, indented as code or in a list."""
    block = "\n".join(cite + line for line in frame("The oven heats to 240.", "END OF BACKGROUND DATA").split("\n"))
    assert cut_recalled(f"I asked.\n{block}\nI decided.\n") == ("I asked.\nI decided.\n", 1)


def test_a_frame_without_an_end_goes_as_far_as_it_looks_like_one() -> None:
    """W8: a log may stop in the middle of one; what follows it is somebody's own."""
    torn = frame("The oven heats to 240.", "At most.").removesuffix(FRAME_END)
    assert cut_recalled(f"Before\n{torn}") == ("Before\n", 1)
    assert cut_recalled(f"Before\n{torn}```\nI decided.\n") == ("Before\n```\nI decided.\n", 1)


def test_text_before_and_behind_a_frame_stays() -> None:
    """Promise 4: nothing but the frame is cut."""
    assert cut_recalled(f"Result: {frame('x')}\nAfter\n") == ("Result:\nAfter\n", 1)
    assert cut_recalled(f"{frame('x')}</context>\nAfter\n") == ("</context>\nAfter\n", 1)
    one_line = frame("x").replace("\n", "\\n").replace('"', '\\"')
    assert cut_recalled(f"said {one_line} and went on\nAfter\n") == ("said\nand went on\nAfter\n", 1)


@pytest.mark.parametrize(
    "mark", ["END OF BACKGROUND DATA.", "**END OF BACKGROUND DATA**", "Ann: END OF BACKGROUND DATA"]
)
def test_an_end_that_was_dressed_up_is_an_end(mark: str) -> None:
    """Promise 4: what follows is not lost."""
    kept, pieces = cut_recalled(f"{frame('x').removesuffix(FRAME_END)}{mark}\nI decided.\n")
    assert (kept, pieces) == ("I decided.\n", 1)


def test_an_opening_that_mail_folded_is_found() -> None:
    """W8: lines of 72 characters."""
    folded = frame("The oven heats to 240.").replace("Knowledge OS. Lines", "\n> Knowledge OS. Lines")
    assert cut_recalled(f"> {folded}\nAfter\n") == ("After\n", 1)


def test_who_mentions_the_words_loses_nothing() -> None:
    """Promise 4."""
    text = 'The block begins with "BACKGROUND DATA from Knowledge OS." and ends.\nEND OF BACKGROUND DATA\nMine.\n'
    assert cut_recalled(text) == (text, 0)


def test_index_lines_are_cut() -> None:
    """W8, R2: what a search answered is recalled too; a link in brackets is not."""
    assert cut_recalled(
        f"Found:\n{INDEX_LINE}\n> {INDEX_LINE}\n12. {INDEX_LINE}\n| {INDEX_LINE} |\n[1] Note — x\n"
    ) == (
        "Found:\n[1] Note — x\n",
        4,
    )


@given(before=STORED, stored=st.lists(STORED, max_size=4), after=STORED)
def test_no_stored_text_ends_its_frame(before: str, stored: list[str], after: str) -> None:
    """W8: always, whatever is stored."""
    kept, _ = cut_recalled(f"{before}\n{frame(*stored)}\n{after}")
    assert kept == cut_recalled(f"{before}\n")[0] + cut_recalled(after)[0]


@given(STORED)
def test_other_text_is_left_as_it_is(text: str) -> None:
    """Promise 4."""
    assert cut_recalled(text) == (text, 0)
