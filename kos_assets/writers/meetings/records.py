"""JSON of any size as values, in bounded memory (W2).

Here: reading with limits on depth and amount, and leaving out what no note is made of. Not here: what the values mean
(roles.py, segments.py).
"""

from __future__ import annotations

import io
from typing import Any, Final

import ijson  # type: ignore[import-untyped]

from kos_assets.vault.dates import key_form
from kos_assets.writers.meetings.meeting import UnreadableMeetingError

DEEPEST: Final = 40
LARGEST: Final = 96_000_000
"""What is kept of one file: characters of texts and keys, and 64 for each value."""

_PER_VALUE: Final = 64
_BUFFER: Final = 2**20
"""A text or number is scanned again from its start with every buffer: one of 64 MB takes 14 s with 1 MiB at a time,
and minutes with the usual 64 KiB."""
_UNREAD: Final = frozenset(
    (
        "alignment", "tokens", "embedding", "embeddings", "wordconfidences", "logprobs", "wordclouds",
        "sentimentanalysisresults", "entities", "iabcategoriesresult", "avatarurl", "thumbnail", "waveform", "images",
        "analytics", "metrics",
    )
)  # fmt: skip
_TEXTS: Final = frozenset(("text", "transcript", "sentence", "punctuatedword", "rawtext", "utterance", "content"))
_OPENING: Final = frozenset(("start_map", "start_array"))
_CLOSING: Final = frozenset(("end_map", "end_array"))


class _Assembly:
    """Values being put together from events. Lists of words are passed over where the text stands beside them."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._stack: list[Any] = []
        self._key = ""
        self._skipping = 0
        self._kept = 0
        self._forms: dict[str, str] = {}

    def feed(self, event: str, value: Any) -> None:
        if self._skipping:
            self._skipping += (event in _OPENING) - (event in _CLOSING)
        elif event == "map_key":
            self._key = value
        elif event in _CLOSING:
            self._stack.pop()
        else:
            self._add(event, value)

    def _add(self, event: str, value: Any) -> None:
        opens = event in _OPENING
        if opens and (len(self._stack) >= DEEPEST or self._unread(event)):
            self._skipping = 1
            return
        self._kept += _PER_VALUE + (len(value) if isinstance(value, str) else 0)
        if self._kept > LARGEST:
            reason = "it holds more than a meeting can: too many values"
            raise UnreadableMeetingError("too_large", reason, "export the meeting without words' times, or as VTT")
        part: Any = ({} if event == "start_map" else []) if opens else value
        if not self._stack:
            self.values.append(part)
        elif isinstance(self._stack[-1], dict):
            self._stack[-1][self._key] = part
        else:
            self._stack[-1].append(part)
        if opens:
            self._stack.append(part)

    def _unread(self, event: str) -> bool:
        owner = self._stack[-1] if self._stack else None
        if not isinstance(owner, dict):
            return False
        form = self._form(self._key)
        if form in _UNREAD:
            return True
        beside = form == "words" and event == "start_array"
        return beside and any(isinstance(owner[key], str) and self._form(key) in _TEXTS for key in owner)

    def _form(self, key: str) -> str:
        form = self._forms.get(key)
        if form is None:
            if len(self._forms) > 10_000:
                self._forms.clear()
            form = self._forms[key] = key_form(key)
        return form


def value_of(text: str) -> Any:
    """The value that a JSON text holds; of several (JSON lines), a list. Raises UnreadableMeetingError."""
    assembly = _Assembly()
    data = text.encode("utf-8", "surrogatepass")
    try:
        for event, value in ijson.basic_parse(io.BytesIO(data), use_float=True, multiple_values=True, buf_size=_BUFFER):
            assembly.feed(event, value)
    except (ijson.JSONError, ValueError, OverflowError) as error:
        reason = "it is not whole JSON: " + (str(error).splitlines() or ["unknown"])[0][:120]
        raise UnreadableMeetingError("broken_json", reason, "export it again") from error
    if not assembly.values:
        raise UnreadableMeetingError("empty", "the file is empty", "export it again, or delete it")
    return assembly.values[0] if len(assembly.values) == 1 else assembly.values
