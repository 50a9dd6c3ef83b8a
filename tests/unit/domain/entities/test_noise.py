"""The noise gate."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.domain.entities.noise import is_noise_tag, noise_reason


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("snake_case_name", "code_symbol"),
        ("MAX_RETRIES", "code_symbol"),
        ("parseNote", "code_symbol"),
        ("parse_note()", "code_symbol"),
        ("std::vector", "code_symbol"),
        ("--verbose", "code_symbol"),
        ("@types/node", "code_symbol"),
        ("os.path.join", "code_symbol"),
        ("/srv/restore/COUNTS", "path"),
        ("C:\\Windows\\temp", "path"),
        ("hut-map.svg", "path"),
        ("config.toml", "path"),
        ("0d2b6f6e1c7a4b0f9d3c51a2e8f7b6a49c0e1d21", "hash"),
        ("0d2b6f6", "hash"),
        ("9F4C 71D2", "hash"),
        ("6f0a3c52-6b0e-5d0c-9a55-0f8b8f6c1d27", "hash"),
        ("https://example.org/x", "address"),
        ("2026-05-20", "date"),
        ("20.05.2026", "date"),
        ("YYYY-MM-DD", "date"),
        ("8,410 km", "number"),
        ("v1.2.3", "number"),
        ("Action items", "template_heading"),
        ("Action Items:", "template_heading"),
        ("Zusammenfassung", "template_heading"),
        ("TODO", "template_heading"),
        ("Nächste Schritte", "template_heading"),
        ("Prochaines étapes", "template_heading"),
        ("总结", "template_heading"),
        ("задачи", "template_heading"),
        ("September", "calendar"),
        ("Mittwoch", "calendar"),
        ("Mondays", "calendar"),
        ("12 mai", "calendar"),
        ("{{title}}", "template_code"),
        ("<% tp.date %>", "template_code"),
    ],
)
def test_what_nobody_can_make_an_entity(name: str, reason: str) -> None:
    """N1: not even an author's link or a model's claim."""
    assert noise_reason(name) == reason
    assert noise_reason(name, declared=True) == reason


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("SR-2023-052", "identifier"),
        ("GAM-CIS-02", "identifier"),
        ("gw-nord-01", "identifier"),
        ("However", "stop_phrase"),
        ("Aber", "stop_phrase"),
        ("Warning", "stop_phrase"),
        ("Go", "too_short"),
    ],
)
def test_what_only_an_author_makes_an_entity(name: str, reason: str) -> None:
    """N1: identifiers and short or plain words are names where somebody gave them a note or a link."""
    assert noise_reason(name) == reason
    assert noise_reason(name, declared=True) is None


@pytest.mark.parametrize(
    "name",
    [
        "Jonas Ebenreit",
        "Node.js",
        "iPhone",
        "macOS",
        "C++",
        "LoRaWAN",
        "Frostl & Herd",
        "Kobel",
        "闻雨兰",
        "CI/CD",
        "Théo",
    ],
)
def test_names_pass(name: str) -> None:
    """N1: the gate leaves names alone, brands in small letters too."""
    assert noise_reason(name, declared=True) is None


@settings(max_examples=100, deadline=None)
@given(st.from_regex(r"[0-9a-f]{32,64}", fullmatch=True) | st.from_regex(r"[a-z]{1,8}_[a-z]{1,20}", fullmatch=True))
def test_no_hash_and_no_symbol_passes(name: str) -> None:
    """N1: never, whoever says so."""
    assert noise_reason(name, declared=True) is not None


def test_tags_that_sort_are_noise() -> None:
    """N1: kinds, states and dates; a tag that names a subject is not."""
    assert is_noise_tag("daily")
    assert is_noise_tag("2026/05")
    assert not is_noise_tag("murmel/radio")
