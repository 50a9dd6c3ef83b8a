"""HTML in a description as Markdown (W7).

Here: telling HTML from text, and turning it. Not here: what else is in an event.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final

from bs4 import BeautifulSoup, Comment
from markdownify import MarkdownConverter

LONGEST: Final = 100_000
_DEEPEST: Final = 80
_MOST_TAGS: Final = 20_000
_TAG = re.compile(
    r"</?(?:html|body|p|br|div|span|a|b|i|u|em|strong|ul|ol|li|table|tr|td|h[1-6]|font|blockquote|pre|hr)"
    r"(?:\s[^<>]{0,2000})?/?>",
    re.IGNORECASE,
)
_BREAK_TAGS: Final = frozenset(("p", "br", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6"))
_EMPTY_TAGS: Final = frozenset(("br", "hr", "img", "input", "meta", "link", "wbr", "col", "area", "base", "source"))
_UNSEEN: Final = frozenset(("script", "style", "head", "title", "template"))
_SAFE_LINK = re.compile(r"(?:https?:|mailto:|tel:)", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n{3,}")


def is_html(text: str) -> bool:
    """Whether a text is marked up as HTML, by at least one usual tag."""
    return _TAG.search(text) is not None


def to_markdown(html: str) -> str:
    """The text of HTML as Markdown, pictures and scripts left out; at most 100,000 characters of it are read. Deep or
    huge structures give plain text. Never raises for bad HTML."""
    html = html[:LONGEST]
    plain = _Plain()
    plain.feed(html)
    plain.close()
    if plain.deepest > _DEEPEST or plain.tags > _MOST_TAGS:
        return tidy("".join(plain.parts))
    soup = BeautifulSoup(html, "html.parser")
    for unseen in soup.find_all(list(_UNSEEN)):
        unseen.decompose()
    for comment in soup.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    for link in soup.find_all("a", href=True):
        if _SAFE_LINK.match(str(link["href"]).strip()) is None:
            del link["href"]
    converter = MarkdownConverter(heading_style="ATX", bullets="-", strip=["img"], escape_underscores=False)
    return tidy(str(converter.convert_soup(soup)))


def tidy(text: str) -> str:
    """Without trailing blanks, runs of empty lines, and characters that are not text."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").replace("\N{NO-BREAK SPACE}", " ")
    lines = (line.rstrip() for line in text.split("\n"))
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip("\n")


class _Plain(HTMLParser):
    """The text alone, and how deep and how many the tags are."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.tags = self.deepest = self._depth = self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 (HTMLParser's own)
        self.tags += 1
        if tag in _BREAK_TAGS:
            self.parts.append("\n")
        if tag not in _EMPTY_TAGS:
            self._depth += 1
            self._hidden += tag in _UNSEEN
            self.deepest = max(self.deepest, self._depth)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _EMPTY_TAGS:
            self._depth = max(0, self._depth - 1)
            self._hidden = max(0, self._hidden - (tag in _UNSEEN))

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)
