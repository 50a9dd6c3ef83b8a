"""Bytes of a message as text, whatever their charset is said to be (W3).

Here: names of charsets, and which one to believe. Not here: transfer encodings (message.py), encoded words
(headers.py).
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from typing import Final

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:+-]{0,39}")
_WIDER: Final = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "hz": "hz",
    "ks_c_5601-1987": "cp949",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "big5": "big5hkscs",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "ascii": "",
    "tis-620": "cp874",
}
"""By Python's name for it: a superset that programs mean when they say the narrower one (WHATWG Encoding, names)."""
_ALIASES: Final = {
    "x-sjis": "cp932",
    "x-gbk": "gb18030",
    "ansi_x3.4-1968": "ascii",
    "x-mac-roman": "mac_roman",
    "macintosh": "mac_roman",
    "iso-8859-8-i": "iso8859-8",
    "iso-8859-8-e": "iso8859-8",
    "iso-8859-6-i": "iso8859-6",
    "unicode-1-1-utf-7": "utf-7",
    "x-euc-jp": "euc_jp",
    "x-big5": "big5",
    "dos-850": "cp850",
    "cp-850": "cp850",
    "windows-874": "cp874",
    "koi8": "koi8-r",
}
_UNFIT: Final = frozenset(("idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"))
_MULTIBYTE: Final = frozenset(
    ("gb18030", "hz", "cp949", "cp932", "big5hkscs", "euc_jp", "iso2022_jp", "iso2022_jp_2", "iso2022_kr", "utf-7")
)
_GUESSED: Final = (
    *("cp1252", "koi8_r", "cp1251", "gb18030", "big5", "cp932", "euc_jp", "cp949", "iso8859_2", "cp1250", "iso8859_7"),
    *("cp1255", "cp1256", "cp1254"),
)
_SAMPLE: Final = 8192
_JAPANESE_ESCAPES: Final = (b"\x1b$B", b"\x1b$@", b"\x1b(J")


@lru_cache(maxsize=512)
def python_name(charset: str) -> str:
    """Python's name for a charset as mail names it; empty for none, an unknown one, or ASCII (which says nothing)."""
    name = charset.strip().strip("'\"").casefold()
    name = _ALIASES.get(name, name)
    if _NAME.fullmatch(name) is None:
        return ""
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError, UnicodeError):
        return ""
    if not getattr(found, "_is_text_encoding", True) or found.name in _UNFIT:
        return ""
    return _WIDER.get(found.name, found.name)


def decoded(data: bytes, charset: str = "") -> str:
    """The text of some bytes. What is said is believed where it fits; UTF-8 that is said to be a one-byte charset is
    UTF-8; unknown bytes are guessed. Never raises; what no charset can read becomes U+FFFD."""
    name = python_name(charset)
    if not data or (data.isascii() and b"\x1b" not in data and name in ("", "utf-8", "cp1252")):
        return data.decode("ascii", "replace")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) and name.startswith("utf-16"):
        return data.decode("utf-16", "replace")
    if name not in _MULTIBYTE and not name.startswith(("utf-16", "utf-32")):
        as_utf8 = _strict(data, "utf-8")
        if as_utf8 is not None and not (data.isascii() and b"\x1b" in data):
            return as_utf8.removeprefix("\ufeff") if not data.isascii() or not name else _said(data, name)
        if name in ("", "utf-8") and any(escape in data for escape in _JAPANESE_ESCAPES):
            return data.decode("iso2022_jp_2", "replace")
    return _said(data, name)


def _said(data: bytes, name: str) -> str:
    text = _strict(data, name) if name else None
    if text is not None:
        return text.removeprefix("\ufeff")
    if name:
        lenient = _lenient(data, name)
        if name in _MULTIBYTE | {"utf-8"} and lenient.count("\ufffd") * 50 <= len(lenient):
            return lenient
        if name in ("cp1252", "cp1254"):  # five bytes have no character there
            return lenient
    return _guessed(data)


def _guessed(data: bytes) -> str:
    from charset_normalizer import from_bytes

    sample = b"\n".join(line for line in data[: 8 * _SAMPLE].split(b"\n") if not line.isascii())[:_SAMPLE]
    best = from_bytes(sample or data[:_SAMPLE], cp_isolation=list(_GUESSED)).best()
    return _lenient(data, best.encoding if best is not None else "cp1252")


def _strict(data: bytes, name: str) -> str | None:
    try:
        return data.decode(name)
    except (UnicodeError, ValueError, LookupError):
        return None


def _lenient(data: bytes, name: str) -> str:
    try:
        return data.decode(name, "replace")
    except (UnicodeError, ValueError, LookupError):  # a codec that cannot go on after a bad byte (utf-16, hz)
        return data.decode("cp1252", "replace")
