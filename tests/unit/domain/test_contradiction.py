"""What contradicts, and what merely differs."""

from __future__ import annotations

import pytest

from kos_assets.domain.contradiction import disagrees
from kos_assets.domain.lookalike import Wording


@pytest.mark.parametrize(
    ("heading", "old", "new", "code"),
    [
        ("Rate limit of the API", "It allows 100 calls a minute.", "It allows 250 calls a minute.", "number"),
        ("Base image of services", "They use debian:12-slim.", "They use debian:13-slim.", "identifier"),
        ("Dark mode flag", "It is enabled for all tenants.", "It is not enabled for all tenants.", "negation"),
        ("Daily log", "Walked 5 km.", "Mended 2 nets.", None),
        ("Rate limit of the API", "It allows 100 calls a minute.", "A minute may see 100 calls.", None),
        ("Weekly review notes", "The importer went well.", "Seven nets were mended at sea in 2024.", None),
    ],
)
def test_one_subject_two_values(heading: str, old: str, new: str, code: str | None) -> None:
    """G9: one subject in one frame with another value or negation; other content does not count."""
    assert disagrees(Wording(heading, new), Wording(heading, old)) == code
    assert disagrees(Wording(heading, old), Wording(heading, new)) == code


def test_two_subjects_do_not_contradict() -> None:
    """G9: headings that name two things may state two values."""
    for left, right in (("Rate limit of the API", "Rate limit of the export"), ("Port of host 1", "Port of host 2")):
        assert disagrees(Wording(left, "It allows 100 calls."), Wording(right, "It allows 250 calls.")) is None


def test_long_texts_are_not_listed() -> None:
    """G9: documents differ in many ways; a list of them would not be read."""
    long = " ".join(f"word{number}" for number in range(300))
    assert disagrees(Wording("Survey of the lake", f"{long} 1"), Wording("Survey of the lake", f"{long} 2")) is None
