"""What of a text is said to a reader."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.domain.prose import code_spans, spoken, spoken_in_place


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n```dataview\nLIST FROM #x\n```\nb", "a\nb"),
        ("a\n~~~dataviewjs\ndv.pages()\n~~~\nb", "a\nb"),
        ("```tasks\nnot done\n```", ""),
        ("```dataview\nnever closed", ""),
        ("> ```dataview\n> LIST\n> ```\n> said\n", "> said\n"),
        ("> ```dataview\n> LIST\nsaid\n", "said\n"),
        ("- item\n    ```tasks\n    not done\n    ```\n- other\n", "- item\n- other\n"),
        ("````md\n```dataview\nLIST\n```\n````\n", "````md\n```dataview\nLIST\n```\n````\n"),
        ("```meta-bind-button\nlabel: x\n```\n```base\nviews:\n```\n```datacorejsx\nx\n```\nz", "z"),
        ("```python\nx = 1 %% 2 %% 3 ^id\n```\n", "```python\nx = 1 %% 2 %% 3 ^id\n```\n"),
        ("<%* const x =\n 1 %>Hello <% tp.file.title %>!", "Hello !"),
        ("a %%hidden\nlines%% b", "a \n b"),
        ("a\n%%\n# hidden\n```compressed-json\nN4Ig\n```\n%%\nb\n", "a\nb\n"),
        ("a <!-- hidden --> b\n<!--\nmore\n-->\nc", "a  b\nc"),
        ("100%% sure <% open <!-- text", "100%% sure <% open <!-- text"),
        ("due `= this.due`, `$= dv.x` and `code`", "due ,  and `code`"),
        ("- `= this.due`\n- said\n", "- said\n"),
        ("# <% tp.file.title %>\n## \nsaid", "## \nsaid"),
        ("write `<% x %>` or ``%% x %%``", "write `<% x %>` or ``%% x %%``"),
        ("{{query (and [[a]] [[b]])}}\n#+BEGIN_QUERY\n{:title x}\n#+END_QUERY\nsaid", "said"),
        ("said ^abc-1\n\n^other\nx^2 and y ^2 z\n", "said \n\nx^2 and y ^2 z\n"),
        ("> [!warning]- Mind the gap\n> said\n", "> Mind the gap\n> said\n"),
        ("> [!note]\n> > [!tip|right]+ Deep\n", "> > Deep\n"),
        ("a [!note] b\n[!x](y)", "a [!note] b\n[!x](y)"),
        ("due:: 2026-03-04 {{date}}", "due:: 2026-03-04 {{date}}"),
    ],
)
def test_what_plugins_and_editors_write_is_not_said(text: str, expected: str) -> None:
    """V3: queries, Templater, comments, block ids and callout marks stay in the content but are no statement of it."""
    assert spoken(text) == expected


PARTS = st.lists(
    st.sampled_from(["<%", "%>", "%%", "<!--", "-->", "`", "``", "`=", "```", "```tasks", "> ", "- ", "\n", "\r\n",
                     "\r", " ^a", "[!x]", "{{query", "}}", "word", " ", "#+BEGIN_QUERY", "#+END_QUERY", "\x0b",
                     "\u2028"]),
    max_size=40,
).map("".join)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(PARTS)
def test_lines_keep_their_numbers(text: str) -> None:
    """V3: in place, every line that is said stands where it stood; nothing is added or put in another order."""
    ends = [part for part in text if part in "\r\n"]
    assert [part for part in spoken_in_place(text) if part in "\r\n"] == ends
    left = iter(text)
    assert all(character in left for character in spoken(text))


@pytest.mark.parametrize(
    "text",
    ["<%" * 400_000, "`" * 400_000, "` `` " * 150_000, "<!--" * 200_000 + "\n", "{{query" * 100_000, "%%x\n" * 200_001,
     "x ^" + "a" * 500_000 + " !", " ^a" * 300_000, "> " * 400_000 + "[!", "```\n" * 100_001, " " * 800_000 + "`",
     "> ```tasks\n" * 100_000, "[!" * 400_000, "- " * 300_000 + "`"],
)  # fmt: skip
def test_time_is_linear(text: str) -> None:
    """V4: marks that never close, in one line or in 100,000, cost what their size costs."""
    start = time.process_time()
    spoken(text)
    spoken_in_place(text)
    assert time.process_time() - start < 4


def test_code_spans() -> None:
    """V3: a run of backticks closes at the next run of the same length."""
    line = "a `b` ``c ` d`` ` e"
    assert [line[start:end] for start, end in code_spans(line)] == ["`b`", "``c ` d``"]
