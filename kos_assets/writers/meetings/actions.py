"""What is to be done, as every note taker writes it, and as tasks (W2).

Here: from lists, records or Markdown to actions. Not here: where they stand in an export (roles.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC
from typing import Any, Final

from kos_assets.vault import dates
from kos_assets.vault.dates import key_form
from kos_assets.writers.meetings.meeting import Action
from kos_assets.writers.meetings.names import is_person, person
from kos_assets.writers.meetings.words import Cutter, paragraph

MOST: Final = 1_000
_LONGEST: Final = 2_000
_TEXT: Final = ("text", "description", "title", "task", "content", "name", "actionitem", "item", "action", "summary")
_WHO: Final = ("assignee", "assigneename", "owner", "ownername", "assignedto", "responsible", "speaker", "who", "user")
_DUE: Final = ("due", "duedate", "dueat", "deadline")
_DONE: Final = ("completed", "done", "iscompleted", "isdone", "checked")
_STATES: Final = frozenset(("done", "completed", "complete", "closed", "resolved"))
_LISTS: Final = ("actionitems", "items", "tasks", "data", "results")
_BULLET = re.compile(r"\s*(?:[-*•+]|\d{1,3}[.)])\s+(?:\[([ xX/-])\]\s*)?(.*)|\s*\[([ xX])\]\s*(.*)", re.DOTALL)
_BOLD_ROW = re.compile(r"\s*(?:#{1,6}\s+)?(?:\*\*|__)([^*_]{1,80}?):?(?:\*\*|__):?\s*|\s*#{1,6}\s+(.{1,80})")
_STAMP = re.compile(r"\s*[(\[](?:\d{1,2}:)?\d{1,3}:\d{2}[)\]]\s*\Z")


def actions_of(value: Any, cutter: Cutter) -> Iterator[Action]:
    """The actions that a value holds: Markdown, a list of texts or records, or a record with such a list."""
    if isinstance(value, Mapping):
        forms = {key_form(str(key)): part for key, part in value.items()}
        inner = next((forms[key] for key in _LISTS if isinstance(forms.get(key), list)), None)
        if inner is None:
            yield from _record(forms, cutter)
            return
        value = inner
    if isinstance(value, str):
        yield from _markdown(value, cutter)
    elif isinstance(value, list):
        for part in value[:MOST]:
            if isinstance(part, str):
                yield from _markdown(part, cutter)
            elif isinstance(part, Mapping):
                yield from _record({key_form(str(key)): inner for key, inner in part.items()}, cutter)


def task(action: Action) -> str:
    """`- [ ] Send the budget (Ana Ruiz) 📅 2026-03-11`"""
    who = action.assignee.partition(" <")[0]
    words = [action.text if not who or who.casefold() in action.text.casefold() else f"{action.text} ({who})"]
    words += [f"📅 {action.due}"] if action.due else []
    return f"- [{'x' if action.done else ' '}] {' '.join(words)}"


def _record(forms: Mapping[str, Any], cutter: Cutter) -> Iterator[Action]:
    texts = [forms[key] for key in _TEXT if isinstance(forms.get(key), str) and forms[key].strip()]
    text = cutter.line(texts[0])[:_LONGEST] if texts else ""
    if not text:
        return
    state = forms.get("status") or forms.get("state") or ""
    done = any(forms.get(key) is True for key in _DONE) or (isinstance(state, str) and state.casefold() in _STATES)
    due = next((when for key in _DUE if (when := dates.written(forms.get(key), UTC)) is not None), None)
    yield Action(paragraph(text), _who(forms), due.at.date().isoformat() if due is not None else "", done)


def _who(forms: Mapping[str, Any]) -> str:
    for key in _WHO:
        value = forms.get(key)
        if isinstance(value, Mapping):
            inner = {key_form(str(name)): part for name, part in value.items()}
            parts = [inner.get("name"), inner.get("displayname"), inner.get("fullname")]
            name = next((part for part in parts if isinstance(part, str) and part), "")
            address = inner.get("email")
            value = person(name, address if isinstance(address, str) else "")
        if isinstance(value, str) and value.strip() and (found := person(value)):
            return found
    return ""


def _markdown(text: str, cutter: Cutter) -> Iterator[Action]:
    """One action per line; a line in bold, or a heading, names who does what stands below it."""
    who = ""
    for row in cutter.text(text[:200_000]).splitlines():
        bold = _BOLD_ROW.fullmatch(row)
        if bold is not None:
            name = (bold[1] or bold[2] or "").strip()
            who = person(name) if is_person(name) and name.casefold() != "unassigned" else ""
            continue
        bullet = _BULLET.fullmatch(row)
        words = (bullet[2] if bullet[2] is not None else bullet[4]) if bullet is not None else row
        words = cutter.line(_STAMP.sub("", words))[:_LONGEST]
        if words:
            done = bullet is not None and (bullet[1] or bullet[3] or " ") in "xX"
            yield Action(paragraph(words), who, "", done)
