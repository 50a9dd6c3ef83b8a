"""Draft until the full rule lands: one heading, two contents."""

from __future__ import annotations

from kos_assets.domain.lookalike import Wording


def disagrees(new: Wording, old: Wording) -> str | None:
    """A code when the two state different values of one subject."""
    same = " ".join(new.heading.split()).casefold() == " ".join(old.heading.split()).casefold()
    return "value" if same and new.content.split() != old.content.split() else None
