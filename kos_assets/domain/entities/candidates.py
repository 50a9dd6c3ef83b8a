"""Candidates of one memory: from explicit structure first, then known names, then running text (N1, N5).

Here: which rule found what, with which confidence, one candidate per entity and memory. Not here: how a class is
settled
between memories (classes.py), what is promoted (promotion.py).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator
from typing import Final

import regex  # type: ignore[import-untyped]

from kos_assets.domain.entities.declared import listed_person, own_entity
from kos_assets.domain.entities.extraction_words import NOT_HANDLES, NOT_OWNERS
from kos_assets.domain.entities.known import Found, KnownNames
from kos_assets.domain.entities.masking import Prose, prose_of
from kos_assets.domain.entities.memory_text import Candidate, KnownEntity, MemoryText, Rule
from kos_assets.domain.entities.names import EntityName, mail_addresses, normalise, split_person
from kos_assets.domain.entities.noise import is_noise_tag, noise_reason
from kos_assets.domain.entities.noise_words import ROLE_BOXES, SILENT_BOXES
from kos_assets.domain.entities.running_text import guesses, starts_sentence

_SIGN = regex.compile(r"(?<![\p{L}\p{N}_@/.`])@(?P<handle>\p{L}[\p{L}\p{N}_-]{2,38})(?![\p{L}\p{N}/(@]|\.\p{L})")
_HOSTED = regex.compile(
    r"(?<![\w.-])(?:www\.)?(?:github\.com|gitlab\.com|codeberg\.org|bitbucket\.org)[/:](?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:\.git)?"
    r"(?=[/#?\s)\]}>\"'`,;|]|\.\s|\Z)"
)
_REPOSITORY = regex.compile(
    r"\b(?:[Rr]epository|[Rr]epo|[Dd]épôt|[Rr]epositorio)\s+`(?P<name>[\w./-]{2,60})`|仓库\s*`(?P<name>[\w./-]{2,60})`"
)
_FORMS: Final[frozenset[Rule]] = frozenset(("organisation_form", "title_of_person", "repository"))
_NUMBERED = regex.compile(r"\p{Lu}[\p{Lu}\p{N}]*-?\d+\b")
_NAME_BEFORE = regex.compile(r"\p{Lu}[\p{L}\p{N}&.-]*[ \u00a0]\Z")
_NAME_AFTER = regex.compile(r"[ \u00a0]\p{Lu}")
_DATED = regex.compile(r"\d{4}-\d{2}(?:-\d{2})?\b")


def candidates(memory: MemoryText, known: KnownNames, *, titles: Container[str] = frozenset()) -> list[Candidate]:
    """At most one candidate per entity, the one with the greatest confidence, ordered by entity. Pure and linear.

    `titles` are normalised titles of all notes: a link to a note that is no entity of its own names a document, a link
    to no note a topic.
    """
    best: dict[tuple[tuple[str, str], bool], Candidate] = {}
    prose = prose_of(memory.content)
    for one in (*_from_structure(memory, known, titles), *_from_text(memory, prose, known)):
        key = (one.entity.key, one.ambiguous)
        if key not in best or (-best[key].confidence, best[key].span) > (-one.confidence, one.span):
            best[key] = one
    return sorted(best.values(), key=lambda one: (one.entity.key, one.ambiguous))


def discovered(found: Iterable[Candidate], *, least: float = 0.5) -> list[KnownEntity]:
    """Names that running text gave with at least this confidence, to be looked for in every other memory."""
    rules = ("organisation_form", "title_of_person", "mixed_case", "capitalised_run", "repository")
    return [
        KnownEntity(one.entity, rule=one.rule)
        for one in found
        if one.rule in rules and one.confidence >= least and not one.ambiguous
    ]


def _from_structure(memory: MemoryText, known: KnownNames, titles: Container[str]) -> Iterator[Candidate]:
    own = own_entity(memory)
    if own:
        yield Candidate(memory.memory_id, own.entity, memory.heading, "note_heading", 1.0)
    for entry in memory.people:
        yield from _person(memory, entry, known)
    for target in memory.links:
        yield from _linked(memory, target, known, titles)
    for tag in memory.tags:
        yield from _tagged(memory, tag, known)
    yield from _signs(memory, known)
    yield from _addresses(memory, known)
    yield from _repositories(memory)


def _candidate(
    memory: MemoryText, options: tuple[EntityName, ...], span: str, rule: Rule, confidence: float
) -> Candidate:
    """N5: one option is the entity; several leave the mention open, under its own words."""
    if len(options) == 1:
        return Candidate(memory.memory_id, options[0], span, rule, confidence)
    return Candidate(memory.memory_id, EntityName(options[0].entity_class, span), span, rule, confidence, options)


def _person(memory: MemoryText, entry: str, known: KnownNames) -> Iterator[Candidate]:
    for one in listed_person(entry):
        options = (known.by_mail(one.mails[0]) if one.mails else ()) or known.resolve(one.entity.name) or (one.entity,)
        named = known.resolve(one.entity.name)
        if len(options) > 1 and len(named) == 1 and named[0] in options:
            options = named
        yield _candidate(memory, options, split_person(entry)[0] or entry, "people", 0.95)


def _linked(memory: MemoryText, target: str, known: KnownNames, titles: Container[str]) -> Iterator[Candidate]:
    name = target.rpartition("/")[2].removesuffix(".md").strip()
    options = known.resolve(name)
    if options:
        yield _candidate(memory, options, name, "wikilink", 0.95)
    elif not _DATED.match(name) and not noise_reason(name, declared=True):
        entity_class = "document" if normalise(name) in titles or _NUMBERED.match(name) else "topic"
        yield Candidate(memory.memory_id, EntityName(entity_class, name), name, "wikilink", 0.6)


def _tagged(memory: MemoryText, tag: str, known: KnownNames) -> Iterator[Candidate]:
    for name in dict.fromkeys((tag.partition("/")[0], tag)):
        if is_noise_tag(name):
            continue
        options = known.resolve(name)
        if options:
            yield _candidate(memory, options, name, "tag", 0.8)
        else:
            yield Candidate(memory.memory_id, EntityName("topic", name), name, "tag", 0.6)


def _signs(memory: MemoryText, known: KnownNames) -> Iterator[Candidate]:
    for match in _SIGN.finditer(memory.content):
        handle = match["handle"]
        options = known.resolve(handle) or known.resolve(handle.replace("-", " ").replace("_", " "))
        if options:
            yield _candidate(memory, options, handle, "mention_sign", 0.8)
        elif handle.casefold() not in NOT_HANDLES and not noise_reason(handle):
            yield Candidate(memory.memory_id, EntityName("person", handle), handle, "mention_sign", 0.45)


def _addresses(memory: MemoryText, known: KnownNames) -> Iterator[Candidate]:
    for _, _, mail in mail_addresses(memory.content):
        options = known.by_mail(mail)
        local = mail.partition("@")[0]
        if options:
            yield _candidate(memory, options, mail, "mail_address", 0.9)
        elif local not in SILENT_BOXES and local not in ROLE_BOXES:
            yield Candidate(memory.memory_id, EntityName("person", mail), mail, "mail_address", 0.5)


def _repositories(memory: MemoryText) -> Iterator[Candidate]:
    for match in _HOSTED.finditer(memory.content):
        if match["owner"].casefold() not in NOT_OWNERS:
            name = f"{match['owner']}/{match['name']}"
            yield Candidate(memory.memory_id, EntityName("repository", name), name, "repository", 0.8)
    for match in _REPOSITORY.finditer(memory.content):
        yield Candidate(memory.memory_id, EntityName("repository", match["name"]), match["name"], "repository", 0.7)


def _from_text(memory: MemoryText, prose: Prose, known: KnownNames) -> Iterator[Candidate]:
    taken: list[tuple[int, int]] = []
    for found in known.find(prose.text):
        if _is_mere_capital(prose.text, found):
            continue
        taken.append((found.start, found.end))
        yield _known(memory, known, found)
    for span in (*prose.code, memory.heading):
        for found in known.find(span):
            if found.span == span or (span == memory.heading and not _is_mere_capital(span, found)):
                yield _known(memory, known, found)
    taken.sort()
    for guess in guesses(prose, memory.lang):
        place = bisect_left(taken, (guess.end, 0)) - 1  # the last that begins before the guess ends; they never overlap
        if place < 0 or taken[place][1] <= guess.start:
            entity = EntityName(guess.entity_class, guess.name)
            titled = known.by_surname(guess.name) if guess.rule == "title_of_person" else ()
            yield _candidate(memory, titled or (entity,), guess.name, guess.rule, guess.confidence)


def _is_mere_capital(text: str, found: Found) -> bool:
    """A topic's name of one word where the capital may be the sentence's, or another name's: `Red` in `Red Hat`."""
    if " " in found.span or not found.span[1:].islower() or any(one.entity_class != "topic" for one in found.options):
        return False
    before, after = text[max(0, found.start - 40) : found.start], text[found.end : found.end + 2]
    return bool(_NAME_BEFORE.search(before) or _NAME_AFTER.match(after)) or starts_sentence(text, found.start)


def _known(memory: MemoryText, known: KnownNames, found: Found) -> Candidate:
    if found.first_name:
        return _candidate(memory, found.options, found.span, "first_name", 0.75)
    guessed = known.guessed_by(found.options[0]) if len(found.options) == 1 else None
    if guessed:
        return _candidate(memory, found.options, found.span, guessed, 0.7 if guessed in _FORMS else 0.5)
    return _candidate(memory, found.options, found.span, "known_name", 0.85)
