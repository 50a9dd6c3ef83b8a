"""The block at the head of a note: formats, damage, bounds."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.vault import frontmatter


def _codes(data: bytes) -> list[str]:
    return [problem.code for problem in frontmatter.parse(data).problems]


@pytest.mark.parametrize(
    ("data", "kind", "properties", "body"),
    [
        (b"plain\n", "none", {}, b"plain\n"),
        (b"", "none", {}, b""),
        (b"---\ntitle: A\n---\nbody", "yaml", {"title": "A"}, b"body"),
        (b"\xef\xbb\xbf---\r\ntitle: A\r\n---\r\nbody", "yaml", {"title": "A"}, b"body"),
        (b"---\rtitle: A\r---\rbody", "yaml", {"title": "A"}, b"body"),
        (b"---  \ntitle: A\n---\t\nbody", "yaml", {"title": "A"}, b"body"),
        (b"---\ntitle: A\n...\nbody", "yaml", {"title": "A"}, b"body"),
        (b"---\ntitle: A\n---", "yaml", {"title": "A"}, b""),
        (b"---\n---\nbody", "yaml", {}, b"body"),
        (b"---\n# only a comment\n---\nbody", "yaml", {}, b"body"),
        (
            b'+++\ntitle = "A"\nday = 2026-03-04\n[x]\ny = 1\n+++\nbody',
            "toml",
            {"title": "A", "day": "2026-03-04", "x": {"y": 1}},
            b"body",
        ),
        (b"----\nbody", "none", {}, b"----\nbody"),
    ],
)
def test_formats(data: bytes, kind: str, properties: dict[str, object], body: bytes) -> None:
    """V1: YAML, TOML and none, with any line ending and a byte-order mark."""
    head = frontmatter.parse(data)
    assert (head.kind, dict(head.properties), data[head.body_start :]) == (kind, properties, body)
    assert head.sound


def test_yaml_values() -> None:
    """V1, V3: values as Obsidian writes them: wikilinks, lists, nulls, numbers, dates kept as text, tabs, comments."""
    text = (
        'link: "[[A|b]]"\nlinks: ["[[A]]", \'[[B]]\']\nbare: [[A]]\nnull1: ~\nnull2:\nyes: yes\nflag: TRUE\n'
        "int: -12\nfloat: 0.5\nversion: 1.10\nzip: 01234\nhuge: 99999999999999999999\nday: 2026-03-04\ntime: 10:30\n"
        "nan: .nan\ntab:\tvalue\t# comment\nlong: |\n  two\n  lines\nanchor: &x [1]\nalias: *x\n"
        "tagged: !!python/object:os.system rm\nquoted: '12'\nnul: \"a\\0b\"\n1984: number key\n? {a: b}\n: odd key\n"
    )
    values = frontmatter.parse(f"---\n{text}---\n".encode()).properties
    assert values == {
        "link": "[[A|b]]",
        "links": ["[[A]]", "[[B]]"],
        "bare": [["A"]],
        "null1": None,
        "null2": None,
        "yes": "yes",
        "flag": True,
        "int": -12,
        "float": 0.5,
        "version": 1.1,
        "zip": "01234",
        "huge": "99999999999999999999",
        "day": "2026-03-04",
        "time": "10:30",
        "nan": ".nan",
        "tab": "value",
        "long": "two\nlines\n",
        "anchor": [1],
        "alias": [1],
        "tagged": "rm",
        "quoted": "12",
        "nul": "a\ufffdb",
        "1984": "number key",
        '{"a": "b"}': "odd key",
    }
    json.dumps(values, allow_nan=False)


@pytest.mark.parametrize(
    ("data", "code", "line", "body"),
    [
        (b"---\ntitle: A: b\n---\nbody", "frontmatter_broken", 2, b"body"),
        (b"---\na: 1\nb: @x\n---\nbody", "frontmatter_broken", 3, b"body"),
        (b"---\na: [1\n---\nbody", "frontmatter_broken", 2, b"body"),
        (b"---\na: x\x07y\n---\nbody", "frontmatter_broken", None, b"body"),
        (b"---\na: 1\n--- b\n---\nbody", "frontmatter_broken", 3, b"body"),
        (b"---\na: &a [*a]\n---\nbody", "frontmatter_broken", 2, b"body"),
        (b"---\na: 1\na: 2\n---\nbody", "frontmatter_duplicate_key", 3, b"body"),
        (b"---\na:\n\t- b\n---\nbody", "frontmatter_tabs", 3, b"body"),
        (b"---\na: 1\nbody", "frontmatter_not_closed", 1, b"---\na: 1\nbody"),
        (b"---", "frontmatter_not_closed", 1, b"---"),
        (b"+++\na = \n+++\nbody", "frontmatter_broken", 2, b"body"),
        (b"+++\na = 1\na = 2\n+++\nbody", "frontmatter_broken", 3, b"body"),
        (b"---\n\nA text.\n\n---\nmore", "frontmatter_not_properties", 2, b"---\n\nA text.\n\n---\nmore"),
        (b"---\n- a\n- b\n---\nbody", "frontmatter_not_properties", 2, b"---\n- a\n- b\n---\nbody"),
        (b"---\n`code` text\n---\nbody", "frontmatter_broken", 2, b"---\n`code` text\n---\nbody"),
        (b"\n\n---\na: 1\n---\nbody", "frontmatter_not_first", 1, b"\n\n---\na: 1\n---\nbody"),
    ],
)
def test_damage_is_reported_and_hides_no_text(data: bytes, code: str, line: int | None, body: bytes) -> None:
    """V1: what is below a broken block is still read, and the problem says where and what to do."""
    head = frontmatter.parse(data)
    assert data[head.body_start :] == body
    assert not head.sound
    (problem,) = head.problems
    assert problem.code == code
    if line is not None and code != "frontmatter_broken":
        assert problem.line == line
    elif line is not None:
        assert problem.line is not None
        assert abs(problem.line - line) <= 1  # libyaml names the line where it noticed
    assert problem.reason
    assert problem.fix


def test_the_last_of_two_equal_keys_wins() -> None:
    """V1: a duplicate key is a reported problem, and the last value counts."""
    head = frontmatter.parse(b"---\na: 1\nb:\n  c: 1\n  c: 2\na: 3\n---\n")
    assert head.properties == {"a": 3, "b": {"c": 2}}
    assert [problem.line for problem in head.problems] == [5, 6]


@pytest.mark.parametrize(
    "data",
    [
        b"---\ntitle: A: b\nkos_id: 'x'\nkos_namespace: shared:owner # mine\n---\nbody\nkos_namespace: global\n",
        b"---\ntitle: A: b\nkos_id: x\nkos_namespace: shared:owner\n\nnever closed\nkos_namespace: global\n",
        b'+++\nbroken\ntitle = "A: b"\nkos_id = "x"\nkos_namespace = "shared:owner"\n+++\nbody',
    ],
)
def test_identity_and_border_survive_a_broken_block(data: bytes) -> None:
    """V1, V9: a broken block must not fork a note's id or widen who may read it."""
    head = frontmatter.parse(data)
    assert head.properties == {"title": "A: b", "kos_id": "x", "kos_namespace": "shared:owner"}
    assert not head.sound


@pytest.mark.parametrize(
    "block",
    [
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)),
        "a: " + "[" * 30_000 + "\n",
        "- " * 30_000 + "x\n",
        "a: [" + "a," * 30_000 + "]\n",
        "a0: &a0 x\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 2000)),
        "? " * 20_000 + "\n",
    ],
)
def test_bombs_are_refused_quickly(block: str) -> None:
    """V4: what expands, nests or grows without bound costs no time and hides no text."""
    started = time.process_time()
    head = frontmatter.parse(f"---\n{block}---\nbody".encode())
    assert time.process_time() - started < 1
    assert [problem.code for problem in head.problems] == ["frontmatter_broken"]


def test_toml_bombs_are_refused_quickly() -> None:
    """V4: keys with very many parts and deep arrays, on which the TOML reader would take seconds or overflow."""
    started = time.process_time()
    for block in ("a." * 20_000 + "b = 1\n", "a = " + "[" * 30_000 + "\n", "a = " + "[" * 80 + "]" * 80 + "\n"):
        assert _codes(f"+++\n{block}+++\nbody".encode()) == ["frontmatter_broken"]
    assert time.process_time() - started < 1


def test_a_large_block_is_text() -> None:
    """V4: a block beyond 64 KiB is reported and read as text."""
    data = b"---\n" + b"a: b\n" * 20_000 + b"---\nbody"
    assert _codes(data) == ["frontmatter_too_large"]
    assert frontmatter.parse(data).body_start == 0


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab:-[]{}'\"#&*!|>%@`?,=.~\\0 1\n\t\r+é", max_size=60), st.sampled_from(["---", "+++"]))
def test_anything_is_read(inner: str, mark: str) -> None:
    """V1, V4: no block makes parse raise, values are JSON, and the body is what stands below or all of it."""
    data = f"{mark}\n{inner}\n{mark}\nbody".encode()
    head = frontmatter.parse(data)
    json.dumps(dict(head.properties), allow_nan=False)
    assert data[head.body_start :].endswith(b"body")
