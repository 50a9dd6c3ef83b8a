"""The block at the head of a note: where it lies, what it says, what is wrong with it (V1).

Here: YAML `---`, TOML `+++`, none, broken, never closed, and what of a broken block must not be lost. Not here: the
meaning of keys (note.py) or editing (stamp.py).
"""

from __future__ import annotations

import datetime as dt
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kos_assets.vault import yaml_block
from kos_assets.vault.problems import Problem
from kos_assets.vault.textcode import normal_newlines
from kos_assets.vault.yaml_block import BlockError, Json

BOM = b"\xef\xbb\xbf"
MAX_BYTES = 64 * 1024
SALVAGED = ("kos_id", "kos_namespace", "expires_at", "title")
_EOL = rb"(\r\n|\n|\r)"
_OPEN = re.compile(rb"(?:\xef\xbb\xbf)?(---|\+\+\+)[ \t]*(?:" + _EOL + rb"|\Z)")
_CLOSE = {
    b"---": re.compile(rb"(?:(?<=\n)|(?<=\r))(?:---|\.\.\.)[ \t]*(?:" + _EOL + rb"|\Z)"),
    b"+++": re.compile(rb"(?:(?<=\n)|(?<=\r))\+\+\+[ \t]*(?:" + _EOL + rb"|\Z)"),
}
_LATE = re.compile(rb"(?:\xef\xbb\xbf)?\s+---[ \t]*\r?\n[^\s:#]+:(?:\s[^\n]*)?\n")
_KEY_LINE = re.compile(r"^[^\s:#][^:\n]*:(?:\s|$)", re.MULTILINE)
_SALVAGE = re.compile(rf"^({'|'.join(SALVAGED)})[ \t]*[:=][ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
_QUOTES = "\"'"
_LONG_KEY = re.compile(r"(?<![\w'\"-])(?:[\w'\"-]+[ \t]*\.[ \t]*){65}")

Kind = Literal["none", "yaml", "toml"]


@dataclass(frozen=True, slots=True)
class Span:
    """Byte offsets: the block is [start, end), its text [inner_start, inner_end). `eol` is its first line's."""

    kind: Kind
    start: int
    inner_start: int
    inner_end: int
    end: int
    eol: bytes


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """What the head of a note says. `body_start` is a byte offset; `sound` means that the block may be edited."""

    kind: Kind
    body_start: int
    properties: Mapping[str, Json] = field(default_factory=dict)
    raw: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    @property
    def sound(self) -> bool:
        """No problem in the block itself, so that a line may be added to it."""
        return not self.problems


def locate(data: bytes) -> Span | Problem | None:
    """Where the block of UTF-8 `data` lies; a Problem when it opens and cannot be used; None when there is none."""
    opened = _OPEN.match(data)
    if opened is None:
        if _LATE.match(data):
            reason = "a frontmatter block must start on the first line; this one is read as text"
            return Problem("frontmatter_not_first", 1, reason, "delete the blank lines above the first ---")
        return None
    mark = opened.group(1)
    closed = _CLOSE[mark].search(data, opened.end())
    if closed is None:
        reason = f"the frontmatter opened by {mark.decode()} is never closed; the whole file is read as text"
        return Problem("frontmatter_not_closed", 1, reason, f"add a line {mark.decode()} below the last property")
    if closed.start() - opened.end() > MAX_BYTES:
        reason = f"the frontmatter is larger than {MAX_BYTES // 1024} KiB; the whole file is read as text"
        return Problem("frontmatter_too_large", 1, reason, "move the text below the block")
    kind: Kind = "yaml" if mark == b"---" else "toml"
    return Span(kind, opened.start(1), opened.end(), closed.start(), closed.end(), opened.group(2))


def parse(data: bytes) -> Frontmatter:
    """The frontmatter of UTF-8 `data`. Never raises: a broken block is reported, what is below still counts (V1)."""
    span = locate(data)
    offset = len(BOM) if data.startswith(BOM) else 0
    if span is None:
        return Frontmatter("none", offset)
    if isinstance(span, Problem):
        head = normal_newlines(data[offset:MAX_BYTES].decode(errors="ignore")).lstrip()
        kept = _salvage(head.split("\n\n", 1)[0])
        return Frontmatter("none", offset, kept, kept, (span,))
    text = normal_newlines(data[span.inner_start : span.inner_end].decode())
    try:
        return _yaml(text, span, offset) if span.kind == "yaml" else _toml(text, span)
    except BlockError as error:
        return _broken(text, span, offset, error)


def _broken(text: str, span: Span, offset: int, error: BlockError) -> Frontmatter:
    """Prose between two thematic breaks is text, not a block; a block with keys is skipped, its vital keys salvaged."""
    line = None if error.line is None else error.line + 2
    problem = Problem(
        "frontmatter_broken",
        line,
        f"the frontmatter cannot be read: {error.reason}",
        "correct the line, or put the value in quotes; until then the properties do not count",
    )
    kept = _salvage(text)
    body = span.end if span.kind == "toml" or _KEY_LINE.search(text) else offset
    return Frontmatter(span.kind, body, kept, kept, (problem,))


def _salvage(text: str) -> dict[str, str]:
    """Identity, border and expiry on a line of their own survive a broken block: losing them would leak or fork."""
    found = {}
    for key, value in _SALVAGE.findall(text):
        bare = value if key == "title" else re.sub(r"\s#.*", "", value)
        found[key] = bare.strip().strip(_QUOTES)
    return found


def _yaml(text: str, span: Span, offset: int) -> Frontmatter:
    problems: list[Problem] = []
    try:
        loaded = yaml_block.load(text)
    except BlockError as error:
        if "\t" not in text:
            raise
        spaced = re.sub(r"^[ \t]+", lambda m: m.group().replace("\t", "  "), text, flags=re.MULTILINE)
        loaded = yaml_block.load(re.sub(r"^([ ]*-)\t", r"\1 ", spaced, flags=re.MULTILINE))
        line = None if error.line is None else error.line + 2
        problems.append(Problem("frontmatter_tabs", line, "tabs indent the frontmatter", "indent with spaces"))
    for key, row in loaded.duplicates:
        reason = f"the property {key!r} is there twice; the last one counts"
        problems.append(Problem("frontmatter_duplicate_key", row + 2, reason, "keep one of them"))
    if loaded.value is None:
        return Frontmatter("yaml", span.end, {}, {}, tuple(problems))
    if not isinstance(loaded.value, dict):
        reason = "the text between the first two --- lines is no list of properties; it is read as text"
        problem = Problem("frontmatter_not_properties", 2, reason, "write key: value lines, or start with a blank line")
        return Frontmatter("yaml", offset, problems=(problem,))
    return Frontmatter("yaml", span.end, loaded.value, loaded.raw, tuple(problems))


def _toml(text: str, span: Span) -> Frontmatter:
    if _LONG_KEY.search(text):  # tomllib takes quadratic time for these: 5 s for 40 kB
        raise BlockError(f"a key has more than {yaml_block.MAX_DEPTH} parts", None)
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"at line (\d+)", str(error))
        raise BlockError(str(error), int(place.group(1)) - 1 if place else None) from None
    except RecursionError:
        raise BlockError("it is nested too deep", None) from None
    values = {yaml_block.clean(key): _json(value, 1) for key, value in table.items()}
    raw = {key: value for key, value in values.items() if isinstance(value, str)}
    return Frontmatter("toml", span.end, values, raw)


def _json(value: object, depth: int) -> Json:
    if depth > yaml_block.MAX_DEPTH:
        raise BlockError(f"it is nested more than {yaml_block.MAX_DEPTH} deep", None)
    if isinstance(value, dict):
        return {yaml_block.clean(str(key)): _json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_json(item, depth + 1) for item in value]
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, str):
        return yaml_block.clean(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if isinstance(value, int | bool) else str(value)
