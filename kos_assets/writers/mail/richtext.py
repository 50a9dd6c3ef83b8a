"""HTML of a message as Markdown (W3).

Here: HTML in, Markdown out: what is hidden, fetched or run is left out, tables for layout are undone. Not here: quotes
and signatures (folding.py). Nothing is ever fetched.
"""

from __future__ import annotations

import html as entities
import re
from html.parser import HTMLParser
from typing import Final

from bs4 import BeautifulSoup, Tag
from bs4.element import PreformattedString
from markdownify import MarkdownConverter

LONGEST: Final = 300_000
_DEEPEST: Final = 100
_MOST_TAGS: Final = 15_000
_LONGEST_LINK: Final = 300
_LONGEST_CELL: Final = 200
_DROPPED = re.compile(r"<(style|script|title|svg|math|xml|noscript|template|object|iframe)\b|<!--", re.IGNORECASE)
_DECLARED = re.compile(r"<[!?][^<>]{0,300}>")
_DOCUMENT = re.compile(r"\s{0,200}(?:<!doctype\s+html|<html[\s>]|<head[\s>]|<body[\s>])", re.IGNORECASE)
_HIDDEN = re.compile(
    r"display:none|visibility:hidden|mso-hide:all|font-size:0(?:px|pt|em|%)?(?:;|$)|max-height:0(?:px)?(?:;|$)"
)
_SAFE_LINK = re.compile(r"(?:https?://|mailto:|tel:)[^\s<>]+", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n{3,}")
_RULE = re.compile(r"^[ \t]*(?:\* ?\* ?\*|---)[ \t]*$", re.MULTILINE)
_TAGS = re.compile(r"<[^<>]{0,2000}>")
_TAG_OR_MARK = re.compile(r"<(?:(/?)([A-Za-z][A-Za-z0-9:-]{0,30})((?:[\s/][^<>]*)?)>)?")
_ATTRIBUTE = re.compile(
    r"""(?<=[\s"'/])(href|style|alt|hidden)(?:\s{0,20}=\s{0,20}("[^"]*"|'[^']*'|[^\s"']{1,2000}))?""", re.IGNORECASE
)
_LONGEST_ATTRIBUTES: Final = 3_000
_BREAKS: Final = frozenset(("p", "br", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "table"))
_EMPTY: Final = frozenset(("br", "hr", "img", "input", "meta", "link", "wbr", "col", "area", "base", "source"))
_UNSEEN: Final = (
    "script",
    "style",
    "head",
    "title",
    "template",
    "iframe",
    "object",
    "button",
    "input",
    "select",
    "audio",
    "video",
)
_LAYOUT: Final = ("table", "tbody", "thead", "tfoot", "tr", "td", "th", "center", "font")
_IN_CELLS: Final = ("table", "p", "div", "ul", "ol", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "pre")


def is_document(text: str) -> bool:
    """Whether a text that is said to be plain is an HTML document."""
    return _DOCUMENT.match(text) is not None and "</" in text


def words(html: str) -> str:
    """Roughly what can be read in HTML, to compare how much two parts say."""
    return entities.unescape(_TAGS.sub(" ", _undressed(html)[:LONGEST]))


def to_markdown(html: str) -> str:
    """The text of HTML as Markdown: scripts, styles, hidden parts and pictures left out, links kept, tables of layout
    undone; at most 300,000 characters of it are read. Deep or huge structures give plain text. Never raises for bad
    HTML."""
    html = _TAG_OR_MARK.sub(_plain_tag, _undressed(html.replace("\0", ""))[:LONGEST])
    outline = _Outline()
    outline.feed(html)
    outline.close()
    if outline.deepest > _DEEPEST or outline.tags > _MOST_TAGS:
        return tidy("".join(outline.parts))
    soup = BeautifulSoup(html, "html.parser")
    _clean(soup)
    converter = MarkdownConverter(heading_style="ATX", bullets="-", escape_underscores=False, escape_asterisks=False)
    return tidy(_RULE.sub("", str(converter.convert_soup(soup))))


def tidy(text: str) -> str:
    """Without trailing blanks and runs of empty lines."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\N{NO-BREAK SPACE}", " ").replace("\u200c", "")
    lines = (line.rstrip() for line in text.split("\n"))
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip("\n")


def _undressed(html: str) -> str:
    """Without styles, scripts, comments and declarations, found by their ends in one pass."""
    kept: list[str] = []
    at, without_end = 0, set[str]()
    while (found := _DROPPED.search(html, at)) is not None:
        kept.append(html[at : found.start()])
        name = (found[1] or "--").casefold()
        close = None
        if name not in without_end:
            close = re.compile("-->" if name == "--" else rf"</{name}\s{{0,20}}>", re.IGNORECASE).search(
                html, found.end()
            )
        if close is None:
            without_end.add(name)
            at = found.end()
            if name in ("style", "script"):
                return _DECLARED.sub("", "".join(kept))
            continue
        at = close.end()
    kept.append(html[at:])
    return _DECLARED.sub("", "".join(kept))


def _plain_tag(found: re.Match[str]) -> str:
    """A tag with nothing but the attributes that are read, and sound: HTMLParser is quadratic in broken ones."""
    if found[2] is None:
        return "&lt;"
    if found[1]:
        return f"</{found[2]}>"
    if found[2].casefold() == "img":
        alt = re.search(r"""\salt\s?=\s?["']([^"']{1,12})["']""", found[3][:_LONGEST_ATTRIBUTES], re.IGNORECASE)
        return _spoken(alt[1]) if alt is not None else ""
    kept = [" "]
    for attribute in _ATTRIBUTE.finditer(found[3][:_LONGEST_ATTRIBUTES]):
        value = (attribute[2] or "").strip("\"'").replace('"', "&quot;")
        kept.append(f'{attribute[1].casefold()}="{value}" ')
    return f"<{found[2]}{''.join(kept).rstrip()}>"


def _clean(soup: BeautifulSoup) -> None:
    """Take out of a document what is not its text."""
    for string in soup.find_all(string=lambda text: isinstance(text, PreformattedString)):
        string.extract()
    for tag in soup.find_all(True):
        if tag.decomposed:
            continue
        style = "".join(str(tag.get("style") or "").split()).casefold()
        if tag.name in _UNSEEN or tag.has_attr("hidden") or (style and _HIDDEN.search(style)):
            tag.decompose()
        elif tag.name == "a":
            _bare_link(tag)
        elif tag.name in ("h1", "h2", "h3", "h4"):
            tag.name = f"h{int(tag.name[1]) + 2}"
    for table in reversed(soup.find_all("table")):
        if not _is_data(table):
            for cell in [table, *table.find_all(_LAYOUT)]:
                if cell.name != "font":
                    cell.name = "div"


def _spoken(alt: str) -> str:
    """What a picture says in the text: a smiley; nothing else (logos, pixels that watch the reader)."""
    alt = entities.unescape(alt)
    return alt if 0 < len(alt) <= 4 and not any(letter.isascii() for letter in alt) else ""


def _bare_link(tag: Tag) -> None:
    target = str(tag.get("href") or "").strip()
    fits = _SAFE_LINK.fullmatch(target) is not None and len(target) <= _LONGEST_LINK
    if not fits or "](" in target or not tag.get_text(strip=True):
        tag.unwrap()
    else:
        tag.attrs = {"href": target.replace("(", "%28").replace(")", "%29")}


def _is_data(table: Tag) -> bool:
    """Whether a table holds figures and words in rows, rather than the layout of a page."""
    rows = table.find_all("tr")
    if len(rows) < 2 or table.find(_IN_CELLS) is not None:
        return False
    widths = [len(row.find_all(("td", "th"))) for row in rows]
    return min(widths) >= 2 and all(len(cell.get_text()) <= _LONGEST_CELL for cell in table.find_all(("td", "th")))


class _Outline(HTMLParser):
    """The text alone, and how deep and how many the tags are."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.tags = self.deepest = self._depth = self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - HTMLParser's own
        self.tags += 1
        if tag in _BREAKS:
            self.parts.append("\n")
        if tag not in _EMPTY:
            self._depth += 1
            self._hidden += tag in _UNSEEN and tag != "head"
            self.deepest = max(self.deepest, self._depth)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _EMPTY:
            self._depth = max(0, self._depth - 1)
            self._hidden = max(0, self._hidden - (tag in _UNSEEN and tag != "head"))

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)
