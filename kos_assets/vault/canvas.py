"""Obsidian's canvases (`.canvas`, JSON Canvas 1.0) as text, links and connections (V3).

Here: from JSON to what a person reads on the board. Not here: titles, dates and hashes (note.py), what a link leads to.
The order is that of the eye, group by group, from top to bottom and from left to right: the file's own order is that of
drawing and changes when a card is merely touched.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Final

from kos_assets.domain.markdown_lines import open_fence
from kos_assets.vault import markdown
from kos_assets.vault.markdown import Link, Structure
from kos_assets.vault.problems import Problem
from kos_assets.vault.textcode import normal_newlines

SUFFIX: Final = ".canvas"
_MOST_GROUPS: Final = 200  # beyond, cards are not sorted into them: that costs cards times groups
_MOST_PROBLEMS: Final = 20
_NAME_CHARACTERS: Final = 60
_ID = re.compile(r'"id"\s{0,9}:\s{0,9}"([^"\\\n]{1,200})"')


@dataclass(frozen=True, slots=True)
class Connection:
    """A line on the board between two cards that show files: vault paths, and what is written on the line."""

    source: str
    target: str
    label: str


@dataclass(slots=True)
class Canvas:
    """What a board says. `body` is Markdown; lines in `found` are those of the JSON file, 1-based."""

    body: str = ""
    found: Structure = field(default_factory=Structure)
    connections: list[Connection] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class NotACanvas:
    """Why the file cannot be read as a canvas; `line` is 1-based."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class _Card:
    number: int
    line: int
    kind: str
    text: str  # of a text card; a file's path; an address; a group's label
    subpath: str
    x: float
    y: float
    width: float
    height: float

    @property
    def place(self) -> tuple[float, float, int]:
        return self.y, self.x, self.number

    @property
    def name(self) -> str:
        """How a line on the board may call it."""
        lines = (markdown.plain(line.lstrip("#>-*+ \t")) for line in self.text.split("\n"))
        name = PurePosixPath(self.text).stem if self.kind == "file" else next((line for line in lines if line), "")
        return name if len(name) <= _NAME_CHARACTERS else f"{name[: _NAME_CHARACTERS - 1].rstrip()}…"

    def holds(self, card: _Card) -> bool:
        """Whether the middle of another card lies inside this group."""
        middle_x, middle_y = card.x + card.width / 2, card.y + card.height / 2
        return self.x <= middle_x <= self.x + self.width and self.y <= middle_y <= self.y + self.height


def read_canvas(text: str) -> Canvas | NotACanvas:
    """The board in `text` (with or without BOM). An empty file is an empty board, as Obsidian has it. Never raises."""
    text = text.removeprefix("\ufeff")
    if not text.strip():
        return Canvas()
    try:
        board = json.loads(text)
    except json.JSONDecodeError as error:
        return NotACanvas(error.lineno, f"{error.msg} (column {error.colno})")
    except RecursionError:
        return NotACanvas(1, "it is nested too deep")
    except ValueError:
        return NotACanvas(1, "it holds a number of too many digits")
    if "\\ud" in text or "\\uD" in text:  # an escape can spell half of a surrogate pair, which is no text
        board = json.loads(json.dumps(board, ensure_ascii=False).encode("utf-8", "replace"))
    if not isinstance(board, dict):
        return NotACanvas(1, "it is no object with nodes and edges")
    reader = _Board(text)
    reader.cards(board.get("nodes"))
    reader.write()
    reader.edges(board.get("edges"))
    reader.canvas.body = "\n\n".join(reader.parts)
    return reader.canvas


class _Board:
    """The cards of one canvas, and what is made of them."""

    def __init__(self, text: str) -> None:
        self.canvas = Canvas()
        self.parts: list[str] = []
        self.by_id: dict[str, _Card] = {}
        self.lines = _lines_of_ids(text)

    def problem(self, line: int, code: str, reason: str, fix: str) -> None:
        if len(self.canvas.problems) < _MOST_PROBLEMS:
            self.canvas.problems.append(Problem(code, line, reason, fix))

    def cards(self, nodes: object) -> None:
        for number, node in enumerate(_list(nodes)):
            line = self.lines.get(_text(node, "id"), 1)
            card = _card(number, line, node)
            if card is None:
                reason = f"card {number + 1} of the canvas is of no kind that is known (text, file, link, group)"
                self.problem(line, "canvas_card_unknown", reason, "delete the card, or open and save it in Obsidian")
                continue
            self.by_id.setdefault(_text(node, "id") or f"#{number}", card)

    def write(self) -> None:
        """Cards in no named group first, then group by group, each under its label."""
        cards = sorted(self.by_id.values(), key=lambda card: card.place)
        groups = [card for card in cards if card.kind == "group" and card.text]
        members: dict[int, list[_Card]] = {group.number: [] for group in groups}
        loose: list[_Card] = []
        nested = sorted(groups, key=lambda group: group.width * group.height) if len(groups) <= _MOST_GROUPS else []
        for card in cards:
            if card.kind != "group":
                home = next((group for group in nested if group.holds(card)), None)
                (loose if home is None else members[home.number]).append(card)
        for card in loose:
            self._add(card)
        for group in groups:
            self._add_text(f"## {group.text}", group.line)
            for card in members[group.number]:
                self._add(card)

    def _add(self, card: _Card) -> None:
        if not card.text:
            return
        if card.kind == "text":
            self._add_text(card.text, card.line)
        elif card.kind == "file":
            link = markdown.wikilink(f"x{card.subpath}", "embed", card.line)
            heading, block = (link.heading, link.block) if link else (None, None)
            self.canvas.found.links.append(Link("embed", card.text, heading, block, None, card.line))
            self.parts.append(f"![[{card.text}{card.subpath}]]")
        else:
            self.parts.append(f"<{card.text}>")

    def _add_text(self, text: str, line: int) -> None:
        """A card's own Markdown; its fences and comments end with it. All of it stands on one line of the JSON."""
        found, every = markdown.scan(text), self.canvas.found
        every.headings += [replace(heading, line=line, opening=False) for heading in found.headings]
        every.links += [replace(link, line=line) for link in found.links]
        every.tasks += [replace(task, line=line) for task in found.tasks]
        every.tags += found.tags
        every.blocks += found.blocks
        fence = open_fence(text) if "```" in text or "~~~" in text else ""
        self.parts.append(f"{text}\n{fence}" if fence else text)

    def edges(self, edges: object) -> None:
        """Lines between cards: in the text where something is written on them, or where they connect two files."""
        told: dict[str, None] = {}
        connections: dict[Connection, None] = {}
        for edge in _list(edges):
            source, target = self.by_id.get(_text(edge, "fromNode")), self.by_id.get(_text(edge, "toNode"))
            if source is None or target is None:
                line = self.lines.get(_text(edge, "id"), 1)
                reason = "a line of the canvas ends at a card that is not there"
                self.problem(line, "canvas_edge_dangling", reason, "delete the line, or open and save it in Obsidian")
                continue
            label = " ".join(_text(edge, "label").split())
            if _text(edge, "fromEnd") == "arrow" and _text(edge, "toEnd") == "none":
                source, target = target, source
            files = source.kind == "file" and target.kind == "file"
            if files:
                connections[Connection(source.text, target.text, label)] = None
            if (files or label) and source.name and target.name:
                told[f"- {source.name} → {target.name}{f': {label}' if label else ''}"] = None
        self.canvas.connections = list(connections)
        if told:
            self.parts.append("\n".join(told))


def _card(number: int, line: int, node: object) -> _Card | None:
    kind = _text(node, "type")
    key = {"text": "text", "file": "file", "link": "url", "group": "label"}.get(kind)
    if key is None or not isinstance(node, Mapping):
        return None
    text = normal_newlines(_text(node, key)).strip("\n") if kind == "text" else " ".join(_text(node, key).split())
    sizes = [_number(node.get(name)) for name in ("x", "y", "width", "height")]
    return _Card(number, line, kind, text if text.strip() else "", _text(node, "subpath").strip(), *sizes)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _text(value: object, key: str) -> str:
    found = value.get(key) if isinstance(value, Mapping) else None
    return found.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(found, str) else ""


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    try:
        number = float(value)
    except OverflowError:
        return 0.0
    return number if math.isfinite(number) else 0.0


def _lines_of_ids(text: str) -> dict[str, int]:
    """Id -> the first line of the file that holds it."""
    ends = [match.start() for match in re.finditer("\n", text)]
    lines: dict[str, int] = {}
    for name, place in _ids(text):
        lines.setdefault(name, bisect_right(ends, place) + 1)
    return lines


def _ids(text: str) -> Iterator[tuple[str, int]]:
    for match in _ID.finditer(text):
        yield match.group(1), match.start()
