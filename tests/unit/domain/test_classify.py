"""G7: the type of a note by rules, in their order, with the reason kept."""

from __future__ import annotations

from typing import Any

import pytest

from kos_assets.domain.classify import Classification, classify

_STEPS = "1. Open\n2. Turn\n3. Wait\n4. Close\n"


def _of(**values: Any) -> Classification:
    given = {"explicit": None, "path": "note.md", "title": "Note", "kind": None, "content": "", "headings": ()}
    return classify(**{**given, **values})


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, ("semantic", "default", 0.6)),
        ({"explicit": "semantic", "path": "daily/x.md", "kind": "mail"}, ("semantic", "explicit", 1.0)),
        ({"explicit": "working"}, ("working", "explicit", 1.0)),
        ({"kind": "Meeting", "path": "runbooks/x.md"}, ("episodic", "kind:meeting", 0.95)),
        ({"kind": "recipe"}, ("semantic", "default", 0.6)),
        ({"path": "work/Daily/x.md", "title": "How to rest"}, ("episodic", "folder", 0.9)),
        ({"path": "dailyish/x.md"}, ("semantic", "default", 0.6)),
        ({"path": "daily.md"}, ("semantic", "default", 0.6)),
        ({"path": "ops/runbooks/2026-01-01.md"}, ("procedural", "folder-or-title", 0.9)),
        ({"title": "How to bake"}, ("procedural", "folder-or-title", 0.9)),
        ({"title": "Anleitung Ofen"}, ("procedural", "folder-or-title", 0.9)),
        ({"title": "However"}, ("semantic", "default", 0.6)),
        ({"path": "x/2026-03-04 call.md", "content": _STEPS}, ("episodic", "dated-name", 0.8)),
        ({"path": "x/20260304.md"}, ("episodic", "dated-name", 0.8)),
        ({"path": "2026-03-04/plan.md"}, ("semantic", "default", 0.6)),
        ({"content": _STEPS}, ("procedural", "steps", 0.7)),
        ({"content": _STEPS.replace("4. Close\n", "")}, ("semantic", "default", 0.6)),
        ({"headings": ("Intro", " Steps ")}, ("procedural", "steps", 0.7)),
    ],
)
def test_rules_in_their_order(values: dict[str, Any], expected: tuple[str, str, float]) -> None:
    """G7: explicit wins; kind, folder, name, shape; else semantic, and it says that it guessed."""
    found = _of(**values)
    assert (found.memory_type, found.reason, found.confidence) == expected


def test_a_decision_with_numbered_reasons_is_no_procedure() -> None:
    """G7: a list of four reasons in a decision record does not make it instructions."""
    content = "1. one\n2. two\n3. three\n4. four\n"
    for path, title in (("decisions/db.md", "Database"), ("notes/db.md", "ADR-002: Database")):
        found = classify(explicit=None, path=path, title=title, kind=None, content=content, headings=())
        assert found.memory_type == "semantic"
