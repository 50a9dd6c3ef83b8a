"""What a memory's author declares to exist: its own note, its aliases, the people and repositories that it lists (N1).

Here: entities from frontmatter, kind, folder and heading, one memory at a time. Not here: links and tags to them
(candidates.py), names in running text (running_text.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import regex  # type: ignore[import-untyped]

from kos_assets.domain.entities.extraction_words import CLASS_OF_KIND, SIGNIFICANT_TAGS
from kos_assets.domain.entities.memory_text import KnownEntity, MemoryText
from kos_assets.domain.entities.names import EntityName, normalise, split_person
from kos_assets.domain.entities.noise import noise_reason
from kos_assets.domain.entities.noise_words import ROLE_BOXES, SILENT_BOXES

_INDEX: Final = frozenset(("index", "readme", "_index", "overview"))
_PARENS = regex.compile(r"\A(?P<name>[^()（）]+?)\s*[(（](?P<inside>[^()（）]+)[)）]\s*\Z")
_LINK = regex.compile(r"\A\[\[(?P<target>[^\[\]|#]+)(?:#[^\[\]|]*)?(?:\|(?P<shown>[^\[\]]*))?\]\]\Z")
_OTHER_SCRIPT = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Cyrillic}\p{Arabic}\p{Hebrew}\p{Thai}\p{Greek}]"
)
_DATED = regex.compile(r"\A\d{4}-\d{2}-\d{2}\b")
_WORD = regex.compile(r"[\p{L}\p{N}]+")


def declared(memory: MemoryText) -> list[KnownEntity]:
    """The entity that the note itself is about, if it is one, then the people (and their organisations) that it
    lists."""
    own = own_entity(memory)
    return ([own] if own else []) + [entity for entry in memory.people for entity in listed_person(entry)]


def own_entity(memory: MemoryText) -> KnownEntity | None:
    """The person, tool, project, ... that the note is about, with the aliases its author gave; None for other notes."""
    entity_class = note_class(memory)
    if entity_class is None or noise_reason(memory.heading, declared=True) or _DATED.match(memory.heading):
        return None
    name, inside = _unwrapped(memory.heading)
    aliases = [*memory.aliases, *([inside] if inside and _OTHER_SCRIPT.search(inside) else [])]
    kept = [
        alias for alias in aliases if not noise_reason(alias, declared=True) and normalise(alias) != normalise(name)
    ]
    mails = [mail for entry in memory.people if (mail := split_person(entry)[1]) and split_person(entry)[0] == name]
    return KnownEntity(EntityName(entity_class, name), tuple(dict.fromkeys(kept)), tuple(mails), own_note=True)


def note_class(memory: MemoryText) -> str | None:
    """By kind, else (where no kind is given or it is another sort of note) by a tag that names a class, else by folder.

    A kind of another sort (`reference`, `decision`) rules the folder out: a page about a project's tables is no
    project.
    """
    kind = normalise(memory.kind or "")
    if kind in CLASS_OF_KIND:
        return CLASS_OF_KIND[kind]
    tagged = [CLASS_OF_KIND[tag] for tag in map(normalise, memory.tags) if tag in SIGNIFICANT_TAGS]
    if tagged:
        return tagged[0]
    return None if kind else _class_of_folder(memory)


def _class_of_folder(memory: MemoryText) -> str | None:
    *folders, file = memory.note_path.split("/")
    if not folders or "template" in memory.note_path.casefold():
        return None
    stem = normalise(file.rpartition(".")[0])
    if stem in _INDEX:  # topics/ajax/index.md is the page of one; topics/index.md lists them
        return CLASS_OF_KIND.get(normalise(folders[-2])) if len(folders) > 1 else None
    return CLASS_OF_KIND.get(normalise(folders[-1]))


def listed_person(entry: str) -> list[KnownEntity]:
    """Who an entry of frontmatter `people` names: a person or a desk, and the organisation in brackets after the
    name."""
    text = entry.strip()
    if link := _LINK.match(text):
        text = link["target"].rpartition("/")[2].strip()
    name, mail = split_person(text)
    name, inside = _unwrapped(name)
    local = (mail or "").partition("@")[0]
    if not name or local in SILENT_BOXES or noise_reason(name, declared=True):
        return []
    is_desk = local in ROLE_BOXES or any(word in ROLE_BOXES for word in _WORD.findall(name.casefold()))
    mails = (mail,) if mail else ()
    other = inside if inside and _OTHER_SCRIPT.search(inside) and not _OTHER_SCRIPT.search(name) else None
    found = [KnownEntity(EntityName("organisation" if is_desk else "person", name), (other,) if other else (), mails)]
    if inside and not other and inside[:1].isupper() and not noise_reason(inside):
        found.append(KnownEntity(EntityName("organisation", inside)))
    return found


def _unwrapped(name: str) -> tuple[str, str | None]:
    match = _PARENS.match(name)
    return (match["name"].strip(), match["inside"].strip()) if match else (name.strip(), None)


def together(known: Iterable[KnownEntity]) -> list[KnownEntity]:
    """One entry per entity (N3: equal class and normal form), in a fixed order; then a listed name that is an alias an
    author gave to exactly one entity of the same class is that entity's.

    A name that only running text gave is left out if an author declared it, of whatever class. The first spelling of
    an entity with its own note wins, else the smallest by code points.
    """
    rows = list(known)
    said = {normalise(name) for one in rows if not one.rule for name in (one.entity.name, *one.aliases)}
    grouped: dict[tuple[str, str], list[KnownEntity]] = {}
    for one in rows:
        if one.rule and normalise(one.entity.name) in said:
            continue
        grouped.setdefault(one.entity.key, []).append(one)
    united = {key: _united(group) for key, group in sorted(grouped.items())}
    owners: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for key, one in united.items():
        for alias in one.aliases if one.own_note else ():
            owners.setdefault((key[0], normalise(alias)), []).append(key)
    for key, one in list(united.items()):
        claimed = owners.get(key, [])
        if not one.own_note and len(claimed) == 1 and claimed[0] != key:
            united[claimed[0]] = _united(
                [united[claimed[0]], KnownEntity(united[claimed[0]].entity, (one.entity.name,), one.mails)]
            )
            del united[key]
    return list(united.values())


def _united(group: list[KnownEntity]) -> KnownEntity:
    ordered = sorted(group, key=lambda one: (not one.own_note, one.entity.name))
    names = {normalise(ordered[0].entity.name)}
    aliases: list[str] = []
    for alias in sorted({alias for one in ordered for alias in one.aliases}):
        if normalise(alias) not in names:
            names.add(normalise(alias))
            aliases.append(alias)
    mails = tuple(sorted({mail for one in ordered for mail in one.mails}))
    guessed = [one.rule for one in group if one.rule]
    rule = min(guessed) if len(guessed) == len(group) else None
    own_note = any(one.own_note for one in group)
    return KnownEntity(ordered[0].entity, tuple(aliases), mails, own_note=own_note, rule=rule)
