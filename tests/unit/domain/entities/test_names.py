"""Names: normal form, id, likeness."""

from __future__ import annotations

import unicodedata
from uuid import uuid5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.domain.entities.names import (
    EntityName,
    entity_id,
    identifiers,
    is_acronym,
    is_initialled,
    is_part,
    mail_addresses,
    normalise,
    similarity,
    split_person,
)
from kos_assets.domain.vocabulary import KOS_NAMESPACE


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_the_normal_form_is_stable(name: str) -> None:
    """N1, N3: normalising twice changes nothing, and neither does another Unicode form of the same letters."""
    normal = normalise(name)
    assert normalise(normal) == normal
    assert normalise(unicodedata.normalize("NFD", name)) == normalise(unicodedata.normalize("NFC", name))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("GitHub", " github "),
        ("“Kobel”", "Kobel"),
        ("BY\u2011LT3 node", "BY-LT3 node"),
        ("Jonas’s", "Jonas"),
        ("Théo", "The\u0301o"),
        ("水瀬\u3000遥", "水瀬 遥"),
        ("Ko\u200bbel", "Kobel"),
    ],
)
def test_spellings_of_one_name_are_equal(one: str, other: str) -> None:
    """N3: case, blanks, quotation marks, dashes, forms of letters, invisible characters."""
    assert entity_id("tool", one) == entity_id("tool", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C", "C++"),
        ("C", "C#"),
        ("Théo", "Theo"),
        ("SR-2023-052", "SR-2023-053"),
        ("Node.js", "Nodejs"),
        ("NET", ".NET"),
    ],
)
def test_what_tells_things_apart_stays(one: str, other: str) -> None:
    """N3: signs, accents, digits and inner marks keep names apart."""
    assert normalise(one) != normalise(other)


def test_the_id_is_of_class_and_name_alone() -> None:
    """N1: a uuid5; another class is another entity."""
    assert entity_id("person", "Jane Smith") == uuid5(KOS_NAMESPACE, "entity:person:jane smith")
    assert EntityName("person", "Jordan").entity_id != EntityName("place", "Jordan").entity_id
    with pytest.raises(ValueError, match="class and a name"):
        entity_id("person", " “” ")


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=20), st.text(max_size=20))
def test_likeness_is_symmetric_and_bounded(one: str, other: str) -> None:
    """N3: no order of a pair changes its evidence."""
    assert 0 <= similarity(one, other) <= 1
    assert similarity(one, other) == similarity(other, one)
    assert is_acronym(one, other) == is_acronym(other, one)
    assert is_initialled(one, other) == is_initialled(other, one)


def test_shortened_names() -> None:
    """N3: initials, letters and parts."""
    assert is_initialled("J. Smith", "Jane Smith")
    assert not is_initialled("J. Smith", "Jane Doe")
    assert not is_initialled("Jane Smith", "Jane Smith")
    assert is_acronym("gh", "GitHub")
    assert is_acronym("CSS", "Cascading Style Sheets")
    assert not is_acronym("gh", "GitLab")
    assert is_part("Kobalt", "Kobalt Hosting")
    assert not is_part("Kobalt", "Kobel")
    assert identifiers("SR-2023-052 report") == ("sr 2023 052",)
    assert identifiers("C++") != identifiers("C")


def test_people_and_addresses_are_read() -> None:
    """N1: `Name <mail>`, a bare address, a bare name."""
    assert split_person('"Wen Yulan" <Yulan@Baiyun.example>') == ("Wen Yulan", "yulan@baiyun.example")
    assert split_person("yulan@baiyun.example") == ("", "yulan@baiyun.example")
    assert split_person("Wen Yulan") == ("Wen Yulan", None)
    assert mail_addresses("to a.b@c.example, now") == [(3, 16, "a.b@c.example")]


def test_addresses_take_linear_time() -> None:
    """N1: a long run of letters is no trap."""
    assert mail_addresses("a" * 200_000) == []
