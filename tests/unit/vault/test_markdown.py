"""What one pass over the lines finds, and what it must not find."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.vault.markdown import Heading, Link, Task, plain, scan


def _targets(text: str) -> list[str]:
    return [link.target for link in scan(text).links]


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("[[A]]", Link("wikilink", "A", None, None, None, 1)),
        ("[[dir/A b|shown]]", Link("wikilink", "dir/A b", None, None, "shown", 1)),
        ("[[A#H1#H2]]", Link("wikilink", "A", "H1#H2", None, None, 1)),
        ("[[A#^blk-1|x]]", Link("wikilink", "A", None, "blk-1", "x", 1)),
        ("[[#Here]]", Link("wikilink", "", "Here", None, None, 1)),
        ("![[pic.png|100]]", Link("embed", "pic.png", None, None, "100", 1)),
        ("| [[A\\|b]] |", Link("wikilink", "A", None, None, "b", 1)),
        ("> [!note] [[A]]", Link("wikilink", "A", None, None, None, 1)),
        ("[t](a%20b.md)", Link("markdown", "a b.md", None, None, "t", 1)),
        ("[t](<a b.md> 'title')", Link("markdown", "a b.md", None, None, "t", 1)),
        ("[t](a_(b).md#top)", Link("markdown", "a_(b).md", "top", None, "t", 1)),
        ("![](pic.png)", Link("embed", "pic.png", None, None, None, 1)),
        ("[[`A`]]x", None),
        ("[t](https://example.org)", None),
        ("[t](mailto:a@example.org)", None),
        ("[t](//example.org/a)", None),
        ("[[]] [[ ]] []() [t]( )", None),
        ("`[[A]]` ``[[B]] ` [[C]]``", None),
        ("%%[[A]]%% <!-- [[B]] -->", None),
    ],
)
def test_links(text: str, link: Link | None) -> None:
    """V3: wikilinks with alias, heading and block, embeds, Markdown links inside the vault."""
    assert scan(text).links == ([] if link is None else [link])


@pytest.mark.parametrize(
    "text",
    [
        "```\n[[x]] #x\n# x\n- [ ] x\n```",
        "~~~~ md\n[[x]]\n~~~\n[[x]]\n~~~~",
        "```\nnever closed [[x]]\n",
        "> ```\n> [[x]]\n> ```",
        "- item\n  ```\n  [[x]] #x\n  ```",
        "\n    indented [[x]] #x\n\n    # more\n",
        "\tindented [[x]]",
        "%%\n[[x]] #x\n- [ ] x\n# x\n%%",
        "<!-- a\n[[x]] #x -->",
    ],
)
def test_code_and_comments_say_nothing(text: str) -> None:
    """V3: fences, indented code and comments hold no links, tags, tasks or headings; what follows them does."""
    found = scan(text)
    assert (found.links, found.tags, found.tasks, found.headings) == ([], [], [], [])
    if "never" not in text:
        assert _targets(text + "\n\n[[after]]") == ["after"]


@pytest.mark.parametrize(
    "text",
    [
        "- list\n\n    [[x]]",
        "1. list\n\n\t[[x]]",
        "text\n    [[x]]",
        "a %% open [[x]]",
        "<!-- open [[x]]",
        "``` inline ``` [[x]]",
        "`open [[x]]",
        "%%a%% [[x]] %%b%%",
        "`%%` [[x]] `%%`",
        "> ```\n> code\n\n[[x]]",
        "~~struck [[x]]~~",
    ],
)
def test_what_only_looks_like_code_or_comment(text: str) -> None:
    """V3: list continuations, lone marks and marks inside code hide nothing."""
    assert _targets(text) == ["x"]


def test_headings() -> None:
    """V3: both kinds of heading, with their lines; not inside quotes or lists of dashes."""
    text = (
        "# A #\n\n## B ## c ##\n####### no\n#no\nSet\n===\n\n\nSub\n---\n\ntext\nmore\n---\n\n"
        "- item\n---\n> # quoted\n#\n"
    )
    assert scan(text, 10).headings == [
        Heading(1, "A", 10, 1, opening=True),
        Heading(2, "B ## c", 12),
        Heading(2, "Sub", 19, 2),
        Heading(1, "", 29),
    ]
    assert scan("Set\n===\n").headings == [Heading(1, "Set", 1, 2, opening=True)]


@pytest.mark.parametrize(
    ("above", "opening"),
    [
        ("", True),
        ("\n\n", True),
        ("<!-- made by hand -->\n", True),
        ("%% c %%\n", True),
        ("#tag #b/c\n", True),
        ("![[cover.png]]\n", True),
        ("[![b](x)](y)\n", True),
        ("<p align=center>\n", True),
        ("[[Up]] | [[Next]]\n", True),
        ("A sentence.\n", False),
        ("- a\n", False),
        ("```\ncode\n```\n", False),
        ("## Sub\n", False),
    ],
)
def test_an_opening_heading_has_no_text_above(above: str, opening: bool) -> None:
    """R2: only a heading that opens the note names it."""
    assert scan(f"{above}\n# Title\n").headings[-1].opening is opening


def test_tags() -> None:
    """V3: nested tags, other scripts and emoji; not colours in quotes, numbers, anchors or link fragments."""
    text = (
        "#a #A #b/c/ (#no) x#no #1 #1a #日本/東 #🎉 https://x.org/#no [[P#no]] [t](#no) #[[page]] [[a]]#no\n"
        "## head #in-heading, #x.\n"
    )
    assert scan(text).tags == ["a", "b/c", "1a", "日本/東", "🎉", "in-heading", "x"]


def test_tasks() -> None:
    """V3: checkbox lines of every list kind, nested and quoted, with any status."""
    text = "- [ ] one\n* [x] two [[A]]\n\t+ [/] three\n1. [-] four\n> - [?] five\n- [] no\n-[ ] no\n- [x]no\n- [ ]\n"
    found = scan(text)
    assert found.tasks == [
        Task(" ", "one", 1),
        Task("x", "two [[A]]", 2),
        Task("/", "three", 3),
        Task("-", "four", 4),
        Task("?", "five", 5),
        Task(" ", "", 9),
    ]
    assert [link.target for link in found.links] == ["A"]


def test_plain() -> None:
    """R2: a title shows what a reader sees."""
    assert plain("The [[a/B|b]] and [[C]] of **[d](e.md)**  `f` 2 ** 3") == "The b and C of d f 2 3"
    assert plain("a_b * c ** d") == "a_b * c ** d"


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "[[",
                "]]",
                "](",
                "[",
                ")",
                "|",
                "#",
                "^",
                "`",
                "```",
                "~~~",
                "%%",
                "<!--",
                "-->",
                "\n",
                "\n\n",
                "    ",
                "- ",
                "[ ] ",
                "> ",
                "a",
                "=",
                "---",
                "!",
                "\t",
                "\\",
                "<",
                ">",
                '"',
                "é",
            ]
        ),
        max_size=40,
    )
)
def test_any_text_is_scanned(parts: list[str]) -> None:
    """V4: no text makes the scan raise; every finding lies on a line of the text."""
    text = "".join(parts)
    found = scan(text)
    last = text.count("\n") + 1
    lines = [link.line for link in found.links] + [heading.line for heading in found.headings]
    assert all(1 <= line <= last for line in lines + [task.line for task in found.tasks])
    assert all(link.target or link.heading is not None or link.block is not None for link in found.links)


@pytest.mark.parametrize(
    "piece",
    [
        "[[",
        "[](a",
        "[](<a",
        '[a](b "',
        "`",
        "``a`",
        "%%",
        "<!--",
        "<!-- -->",
        "](((",
        "#",
        "[a](b(c",
        " ",
        "- [ ] a\n",
        "# a\n",
        "%%\n",
        "> ",
        "- > 1. ",
        "<<<<<<< x\n",
        "x ^a\n",
        "^a",
        "~~~\n> ",
    ],
)
def test_time_is_linear(piece: str) -> None:
    """V4: half a megabyte of any mark on one line or many costs no more than text (about 0.3 s here)."""
    text = piece * (500_000 // len(piece))
    started = time.process_time()
    scan(text)
    assert time.process_time() - started < 3


def test_block_ids_are_anchors() -> None:
    """V3: `^id` at the end of a line or alone on it; not in code, not in the middle, not after a word."""
    text = "said ^one\n- item ^two-2\n\n^three\n`x ^four`\n```\n^five\n```\nx^6\n^7 x\n^one\n> quoted ^eight  \n"
    assert scan(text).blocks == ["one", "two-2", "three", "one", "eight"]


@pytest.mark.parametrize(
    ("box", "state"), [(" ", "open"), ("x", "done"), ("X", "done"), ("-", "cancelled"), ("/", "open"), (">", "open")]
)
def test_every_mark_in_a_box_is_a_task(box: str, state: str) -> None:
    """V3: people give their own marks to tasks; done and cancelled are the two that end one."""
    tasks = scan(f"> 1. [{box}] do it").tasks
    assert [(task.status, task.state) for task in tasks] == [(box, state)]
