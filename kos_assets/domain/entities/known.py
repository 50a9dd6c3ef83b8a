"""Names that are known, found again anywhere in a text, and what each may mean (N1, N5).

Here: an index of names, aliases, first names and addresses; one pass over a text. Not here: where known names come from
(declared.py, running_text.py), the noise gate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import regex  # type: ignore[import-untyped]

from kos_assets.domain.entities.declared import together
from kos_assets.domain.entities.memory_text import KnownEntity, Rule
from kos_assets.domain.entities.names import EntityName, normalise
from kos_assets.domain.entities.noise_words import STARTERS

_SPACELESS: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}"
_WORD = regex.compile(
    rf"(?V1)[[\p{{L}}\p{{N}}\p{{M}}]--[{_SPACELESS}]]+(?:[-'’.&+#/][[\p{{L}}\p{{N}}\p{{M}}]--[{_SPACELESS}]]+)*[+#]*"
)
_RUN = regex.compile(rf"[{_SPACELESS}\u30fb\u30fc]+")
_PLAIN_GAP = regex.compile(r"[ \t\u00a0]+|[ \t]*\n[ \t]*(?![-*+>|#\d])")
_POSSESSIVE = regex.compile(r"['’]s?\Z")
_SHORTEST: Final = 3
_LONGEST_RUN: Final = 12


@dataclass(frozen=True, slots=True)
class Found:
    """Where a known name stands, and the entities that it may mean: one, or several that nobody may choose from
    (N5)."""

    start: int
    end: int
    span: str
    options: tuple[EntityName, ...]
    first_name: bool


class KnownNames:
    """An index over known entities. Building is linear in their names; finding is linear in the text."""

    def __init__(self, known: Iterable[KnownEntity]) -> None:
        """Equal entities are put together first; the order of `known` has no influence."""
        self.entities: tuple[KnownEntity, ...] = tuple(together(known))
        self._names: dict[str, dict[EntityName, None]] = {}
        self._guessed: dict[EntityName, Rule] = {}
        self._first: dict[str, dict[EntityName, None]] = {}
        self._last: dict[str, dict[EntityName, None]] = {}
        self._mails: dict[str, dict[EntityName, None]] = {}
        self._spelled: dict[str, set[tuple[str, ...]]] = {}
        self._unspaced: dict[str, set[str]] = {}
        for one in self.entities:
            self._add(one)

    def _add(self, one: KnownEntity) -> None:
        if one.rule:
            self._guessed[one.entity] = one.rule
        for name in (one.entity.name, *one.aliases):
            self._names.setdefault(normalise(name), {})[one.entity] = None
        for mail in one.mails:
            self._mails.setdefault(mail.lower(), {})[one.entity] = None
        if not (one.entity.entity_class == "topic" and one.entity.name.islower() and " " not in one.entity.name):
            self._add_spelling(one.entity.name)
        for alias in one.aliases:
            if alias != alias.lower() or _RUN.search(alias) or " " in alias:
                self._add_spelling(alias)
        parts = one.entity.name.split()
        if one.entity.entity_class == "person" and len(parts) > 1 and len(parts[0]) >= _SHORTEST:
            self._first.setdefault(normalise(parts[0]), {})[one.entity] = None
            self._add_spelling(parts[0])
            self._last.setdefault(normalise(parts[-1]), {})[one.entity] = None

    def _add_spelling(self, name: str) -> None:
        if _RUN.fullmatch(name):
            if len(name) > 1:
                self._unspaced.setdefault(name[0], set()).add(name)
            return
        parts = tuple(_WORD.findall(name))
        if parts and (len(name) >= _SHORTEST or _RUN.search(name)) and normalise(name) not in STARTERS:
            self._spelled.setdefault(parts[0], set()).add(parts)

    def resolve(self, name: str) -> tuple[EntityName, ...]:
        """The entities that bear this name or alias, or, if none, this first name; in a fixed order.

        N5: a bare first name that several known people bear means all of them, even if one of them lists it as an
        alias.
        """
        normal = normalise(name)
        named, first = self._names.get(normal, {}), self._first.get(normal, {})
        people = [entity for entity in named if entity.entity_class == "person" and normalise(entity.name) != normal]
        if first and (people or not named):
            return tuple(sorted({**named, **first}))
        return tuple(sorted(named))

    def guessed_by(self, entity: EntityName) -> Rule | None:
        """The rule of running text that alone knows this entity; None if an author declared it."""
        return self._guessed.get(entity)

    def is_first_name(self, name: str) -> bool:
        """Whether it is the first name of somebody known and nobody's whole name."""
        normal = normalise(name)
        return normal in self._first and all(normalise(entity.name) != normal for entity in self._names.get(normal, {}))

    def by_surname(self, name: str) -> tuple[EntityName, ...]:
        """The people with this last name, in a fixed order: for `Frau X` and `Mr X`."""
        return tuple(sorted(self._last.get(normalise(name), {})))

    def by_mail(self, mail: str) -> tuple[EntityName, ...]:
        """The entities with this address, in a fixed order."""
        return tuple(sorted(self._mails.get(mail.lower(), {})))

    def find(self, text: str) -> Iterator[Found]:
        """Known names in `text`, the longest at each place, spelled as known; names in scripts without spaces too."""
        tokens = [match.span() for match in _WORD.finditer(text)]
        at = 0
        while at < len(tokens):
            count = self._longest(text, tokens, at)
            if count:
                start, end = tokens[at][0], tokens[at + count - 1][1]
                span = _bare(text[start:end])
                if options := self.resolve(span):
                    yield Found(start, start + len(span), span, options, self.is_first_name(span))
            at += count or 1
        if self._unspaced:
            yield from self._in_runs(text)

    def _longest(self, text: str, tokens: list[tuple[int, int]], at: int) -> int:
        first = _bare(text[slice(*tokens[at])])
        best = 0
        for parts in self._spelled.get(first, ()):
            if best < len(parts) <= len(tokens) - at and self._stands(text, tokens[at : at + len(parts)], parts):
                best = len(parts)
        return best

    def _stands(self, text: str, tokens: list[tuple[int, int]], parts: tuple[str, ...]) -> bool:
        for place, ((start, end), part) in enumerate(zip(tokens, parts, strict=True)):
            word = text[start:end]
            if word != part and not (place == len(parts) - 1 and _bare(word) == part):
                return False
            if place and not _PLAIN_GAP.fullmatch(text, tokens[place - 1][1], start):
                return False
        return True

    def _in_runs(self, text: str) -> Iterator[Found]:
        for run in _RUN.finditer(text):
            at = run.start()
            while at < run.end():
                rest = text[at : min(run.end(), at + _LONGEST_RUN)]
                name = max(
                    (one for one in self._unspaced.get(text[at], ()) if rest.startswith(one)), key=len, default=""
                )
                if name:
                    yield Found(at, at + len(name), name, self.resolve(name), first_name=False)
                at += len(name) or 1


def _bare(word: str) -> str:
    return _POSSESSIVE.sub("", word) if word[-1] in "s'’" and ("'" in word or "’" in word) else word
