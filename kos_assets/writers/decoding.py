"""The bytes of a source's file as text, whatever wrote them.

Here: encodings and line ends. Not here: what the text means.
"""

from __future__ import annotations

import codecs
from typing import Final

from kos_assets.vault import textcode

_UTF32: Final = {codecs.BOM_UTF32_LE: "utf-32-le", codecs.BOM_UTF32_BE: "utf-32-be"}
_LIKELY: Final = (
    "cp1252", "cp1251", "cp1250", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874", "koi8_r",
    "cp932", "euc_jp", "gb18030", "big5", "euc_kr",
)  # fmt: skip
"""What Windows and older Unix programs write."""
_SAMPLE: Final = 64 * 1024
_FEWEST: Final = 8


def decoded(data: bytes) -> tuple[str, str] | None:
    """The text with LF line ends, and the encoding's name where it was not UTF-8; None for what is no text.

    Order: UTF-32 and UTF-16 with a mark, UTF-16 of Latin text without one, UTF-8, else the likeliest. NULs and bytes
    that no encoding knows become U+FFFD.
    """
    found = _decoded(data)
    if found is None:
        return None
    text, name = found
    text = textcode.normal_newlines(text).removeprefix("\ufeff")
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}") if "\0" in text else text, name


def _decoded(data: bytes) -> tuple[str, str] | None:
    for mark, name in _UTF32.items():
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace"), "utf-32"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace"), "utf-16"
    if unmarked := _utf16_without_mark(data[:1024]):
        return data.decode(unmarked, "replace"), "utf-16"
    if textcode.is_binary(data):
        return None
    try:
        return data.decode(), ""
    except UnicodeDecodeError:
        name = _guess(data)
        return data.decode(name, "replace"), name


def _utf16_without_mark(sample: bytes) -> str:
    """In UTF-16 most of a Western text's every second byte is zero, and hardly any of the others."""
    even, odd = sample[::2], sample[1::2]
    zeros = even.count(0), odd.count(0)
    if len(odd) < _FEWEST or max(zeros) < len(odd) * 0.5 or min(zeros) > len(odd) * 0.05:
        return ""
    return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"


def _guess(data: bytes) -> str:
    """The likeliest encoding, from the lines that are not ASCII; Windows-1252 where none is."""
    from charset_normalizer import from_bytes

    odd = b"\n".join(line for line in data[: 16 * _SAMPLE].split(b"\n") if not line.isascii())[:_SAMPLE]
    best = from_bytes(odd, cp_isolation=list(_LIKELY)).best() if odd else None
    name = codecs.lookup(best.encoding).name if best is not None else "cp1252"
    return "cp1252" if odd.decode(name, "replace") == odd.decode("cp1252", "replace") else name
