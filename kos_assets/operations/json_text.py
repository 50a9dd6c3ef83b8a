"""Editing a JSON file of someone else's as text: everything that is not touched keeps its bytes.

Here: where a value lies in the text, putting an element into a list, taking one out. Not here: which file, or what the
values mean (agent_hooks.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

_SPACE = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r"\n([ \t]+)\S")
_DECODER = json.JSONDecoder()
_OBJECT: Final = "{"


class JsonTextError(ValueError):
    """The text is no JSON, or not of the shape that is needed: `reason`, at a place (1-based)."""

    def __init__(self, reason: str, text: str, at: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = text.count("\n", 0, at) + 1
        self.column = at - text.rfind("\n", 0, at)


@dataclass
class Node:
    """A value in a text, as offsets [start, end). `members` are those of an object (in order, with the offset of the
    key) or of a list (key empty), as deep as was asked for."""

    start: int
    end: int
    value: Any
    members: list[tuple[str, int, Node]] = field(default_factory=list)

    def get(self, key: str) -> Node | None:
        """The member of an object."""
        return next((node for name, _, node in self.members if name == key), None)


def read(text: str) -> Node:
    """The whole text as a tree, eight levels deep. Raises JsonTextError with the place, also for a key that is there
    twice, because readers differ in which one counts."""
    start = _skip(text, 1 if text.startswith("\ufeff") else 0)
    try:
        _, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise JsonTextError(error.msg, text, error.pos) from None
    except RecursionError:
        raise JsonTextError("it is nested too deep", text, start) from None
    if _skip(text, end) != len(text):
        raise JsonTextError("there is more after the end of the value", text, _skip(text, end))
    return _node(text, start, 8)


def added(text: str, path: Sequence[str], element: Any) -> str:
    """The text with `element` at the end of the list that the keys of `path` lead to; what is missing is made.

    Raises JsonTextError where a value on the way is no object, or the last no list.
    """
    node, rest = read(text), list(path)
    _check(text, node, "" if path else "the file", as_list=not path)
    while rest:
        inner = node.get(rest[0])
        if inner is None:
            break
        rest.pop(0)
        _check(text, inner, path[len(path) - len(rest) - 1], as_list=not rest)
        node = inner
    if not rest:
        return _appended(text, node, json.dumps(element, indent=_unit(text), ensure_ascii=False), len(path))
    value: Any = [element]
    for key in reversed(rest[1:]):
        value = {key: value}
    member = f"{json.dumps(rest[0])}: {json.dumps(value, indent=_unit(text), ensure_ascii=False)}"
    return _appended(text, node, member, len(path) - len(rest))


def without(text: str, path: Sequence[str | int]) -> str:
    """The text without the value that `path` leads to, its key, and the comma that goes with it."""
    node = read(text)
    for step in path[:-1]:
        node = _step(node, step)[1]
    at, gone = _step(node, path[-1])
    number = [start for _, start, _ in node.members].index(at)
    if len(node.members) == 1:
        return text[: node.start + 1] + text[node.end - 1 :]
    if number == 0:
        return text[:at] + text[node.members[1][1] :]
    return text[: node.members[number - 1][2].end] + text[gone.end :]


def _step(node: Node, step: str | int) -> tuple[int, Node]:
    for number, (name, at, inner) in enumerate(node.members):
        if step in (number, name) and type(step) is (int if not name and isinstance(node.value, list) else str):
            return at, inner
    raise KeyError(step)


def _check(text: str, node: Node, name: str, *, as_list: bool) -> None:
    if not isinstance(node.value, list if as_list else dict):
        shape = "list" if as_list else "object"
        raise JsonTextError(f"{name or 'the file'} is no {shape}", text, node.start)


def _appended(text: str, node: Node, written: str, depth: int) -> str:
    """`written` (indented from its own margin) as the last member of a node that lies `depth` levels deep."""
    eol, unit = "\r\n" if "\r\n" in text else "\n", _unit(text)
    margin, outer = unit * (depth + 1), unit * depth
    block = written.replace("\n", f"\n{margin}").replace("\n", eol)
    if node.members:
        last = node.members[-1][2]
        return f"{text[: last.end]},{eol}{margin}{block}{text[last.end :]}"
    return f"{text[: node.start + 1]}{eol}{margin}{block}{eol}{outer}{text[node.end - 1 :]}"


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found.group(1) if found else "  "


def _node(text: str, start: int, deep: int) -> Node:
    """Only called on text that is JSON. Raises JsonTextError for a key that is there twice."""
    value, end = _DECODER.raw_decode(text, start)
    node = Node(start, end, value)
    if deep == 0 or text[start] not in "{[":
        return node
    at = _skip(text, start + 1)
    while text[at] not in "}]":
        key, begin = "", at
        if text[start] == _OBJECT:
            key, at = _DECODER.raw_decode(text, at)
            if node.get(key) is not None:
                raise JsonTextError(f"the key {key!r} is there twice", text, begin)
            at = _skip(text, _skip(text, at) + 1)
        inner = _node(text, at, deep - 1)
        node.members.append((key, begin, inner))
        at = _skip(text, inner.end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return node


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
