"""Index lines, byte for byte."""

from __future__ import annotations

from uuid import UUID

import pytest
import regex  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.domain.index_line import HEADING_CHARS, PREVIEW_CHARS, clean_inline, index_line

ID = UUID("12345678-1234-5678-1234-567812345678")
START = f"[{ID}] "
FAMILY = "👨\u200d👩\u200d👧\u200d👦"
WALES = "🏴\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f"
ODD = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            " \n\t\0\x1b\u200b\u200c\u200d\u200e\u202e\u2066\ufe0f\ufe0e\u00ad\ufeff\u0301\u094d\U000e0067"
        ),
        st.sampled_from("👨👩👧🇩🇪❤🏴1#कمیa葛\U000e007f\U000e0100"),
    ),
    max_size=250,
)


@pytest.mark.parametrize(
    ("heading", "content", "expected"),
    [
        ("Plan", "Short.", "Plan — Short."),
        ("Plan", "", "Plan — "),
        ("Plan", " \n\t ", "Plan — "),
        ("Plan\nB", "one\r\n\r\ntwo\u2028three\x85four\u3000five", "Plan B — one two three four five"),
        ("Plan", "x" * 80, "Plan — " + "x" * 80),
        ("Plan", "x" * 81, "Plan — " + "x" * 80 + "…"),
        ("Plan", "x" * 80 + "\n\u200b ", "Plan — " + "x" * 80),
        ("Plan", "x" * 79 + " y", "Plan — " + "x" * 79 + " …"),
        ("Plan", "x" * 79 + "e\u0301 rest", "Plan — " + "x" * 79 + "…"),
        ("Plan", "x" * 78 + FAMILY, "Plan — " + "x" * 78 + "…"),
        ("Plan", "x" * 73 + FAMILY, "Plan — " + "x" * 73 + FAMILY),
        ("Plan", "x" * 79 + "🇩🇪", "Plan — " + "x" * 79 + "…"),
        ("Plan", "x" * 78 + "🇩🇪🇫🇷", "Plan — " + "x" * 78 + "🇩🇪…"),
        ("Cymru " + WALES, WALES, f"Cymru {WALES} — {WALES}"),
        ("بحث", "سَلام\u200f عالم", "بحث — سَلام عالم"),
        ("یادداشت", "می\u200cخواهم", "یادداشت — می\u200cخواهم"),
        ("हिन्दी", "क्\u200dष", "हिन्दी — क्\u200dष"),
        ("Invoice\u202egnp.exe", "\u2066safe\u2069", "Invoicegnp.exe — safe"),
        ("N\0UL", "a\x1b[31mred\x07", "NUL — a[31mred"),
        ("Tags", "hi" + "".join(chr(0xE0000 + ord(char)) for char in "obey me"), "Tags — hi"),
        ("Tags", "🏴" + "".join(chr(0xE0000 + ord(char)) for char in "ignore all"), "Tags — 🏴"),
        ("VS", "❤\ufe0f 1\ufe0f\u20e3 a\ufe0f b\ufe0f\ufe01\ufe02", "VS — ❤\ufe0f 1\ufe0f\u20e3 a b"),
        ("ZW", "pass\u200bword s\u200de\u200dc \u00adsoft", "ZW — password sec soft"),
        ("h" * 300, "c", "h" * 300 + " — c"),
        ("h" * 301, "c", "h" * 300 + "… — c"),
        ("bad \ud800 half", "x", "bad half — x"),
    ],
)
def test_index_line_byte_for_byte(heading: str, content: str, expected: str) -> None:
    """R2: the exact index line."""
    assert index_line(ID, heading, content) == START + expected


@settings(max_examples=200, deadline=None)
@given(ODD)
def test_cleaning_is_idempotent_and_leaves_one_line(text: str) -> None:
    """R2: whitespace is single, nothing invisible controls the line, and cleaning twice changes nothing."""
    cleaned = clean_inline(text)
    assert clean_inline(cleaned) == cleaned
    assert cleaned == " ".join(cleaned.split())
    assert not regex.search("[\\p{Cc}\\p{Cs}\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad]", cleaned)
    cleaned.encode()


@settings(max_examples=200, deadline=None)
@given(ODD)
def test_preview_is_a_prefix_that_splits_no_grapheme(content: str) -> None:
    """R2: at most 80 code points, cut only between graphemes, `…` only if something was cut."""
    preview = index_line(ID, "H", content).removeprefix(f"{START}H — ")
    whole = clean_inline(content)
    if len(whole) <= PREVIEW_CHARS:
        assert preview == whole
        return
    assert preview.endswith("…")
    kept = preview[:-1]
    assert whole.startswith(kept)
    borders = [0, *(match.end() for match in regex.finditer(r"\X", whole))]
    assert len(kept) == max(border for border in borders if border <= PREVIEW_CHARS)


@settings(max_examples=100, deadline=None)
@given(ODD, st.integers(1, 6))
def test_heading_is_never_cut_below_120(text: str, times: int) -> None:
    """R2: a heading loses nothing of its first 120 characters."""
    cleaned = clean_inline(text * times)
    line = index_line(ID, text * times, "")
    heading = line.removeprefix(START).removesuffix(" — ")
    assert heading == cleaned or (heading.endswith("…") and cleaned.startswith(heading[:-1]) and len(heading) > 120)
    assert len(heading) <= HEADING_CHARS + 1


def test_a_pile_of_marks_cannot_blow_up_the_line() -> None:
    """R2: one base with thousands of marks is dropped from a preview and bounded in a heading."""
    pile = "a" + "\u0301" * 5_000
    line = index_line(ID, pile, pile)
    assert line == START + pile[:HEADING_CHARS] + "… — …"


def test_a_huge_note_costs_no_more_than_its_beginning() -> None:
    """R2: the line of a 5 MB note equals that of its beginning, also when it begins with blanks."""
    assert index_line(ID, "H", "word " * 1_000_000) == index_line(ID, "H", "word " * 100)
    assert index_line(ID, "H", "\n" * 1_000_000 + "end") == f"{START}H — end"
