"""G7, first half: the memory type of a note by rules, with the reason kept. Pure; no model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kos_assets.domain.vocabulary import MemoryType

_PROCEDURAL_PATH = re.compile(
    r"(^|/)(runbooks?|how-?tos?|playbooks?|checklists?|procedures?|recipes?|anleitungen)(/|$)", re.I
)
_PROCEDURAL_TITLE = re.compile(r"^(how to|how-to|howto|runbook|checklist|playbook|steps to|anleitung|recipe)\b", re.I)
_EPISODIC_PATH = re.compile(
    r"(^|/)(daily|journal|journals|diary|meetings?|mail|mails|chats?|calendar|logs?|tagebuch)(/|$)", re.I
)
_EPISODIC_KIND = {"mail", "email", "meeting", "daily", "journal", "chat", "event", "log", "incident"}
_DECISION = re.compile(r"(^|/)(decisions?|adrs?|entscheidungen)(/|$)|/ADR[- ]?\d+\b", re.I)
_DATED_NAME = re.compile(r"(^|/)\d{4}-?\d{2}-?\d{2}[^/]*$")
_NUMBERED_STEP = re.compile(r"^\s*\d+[.)]\s+\S", re.MULTILINE)
_STEPS_OF_A_PROCEDURE = 4


@dataclass(frozen=True)
class Classification:
    """A memory type, the rule that chose it, and how sure it is (0..1)."""

    memory_type: MemoryType
    reason: str
    confidence: float


def classify(
    *, explicit: MemoryType | None, path: str, title: str, kind: str | None, content: str, headings: Sequence[str]
) -> Classification:
    """The type of a note: explicit frontmatter wins (G7), then folder, kind, name and shape; else semantic."""
    if explicit is not None:
        return Classification(explicit, "explicit", 1.0)
    folder = path.rpartition("/")[0]
    if kind and kind.lower() in _EPISODIC_KIND:
        return Classification("episodic", f"kind:{kind.lower()}", 0.95)
    if _EPISODIC_PATH.search(folder):
        return Classification("episodic", "folder", 0.9)
    if _PROCEDURAL_PATH.search(folder) or _PROCEDURAL_TITLE.search(title):
        return Classification("procedural", "folder-or-title", 0.9)
    if _DATED_NAME.search(path.rpartition(".")[0]):
        return Classification("episodic", "dated-name", 0.8)
    if _DECISION.search(f"{folder}/{title}"):
        return Classification("semantic", "decision", 0.9)
    steps = any(heading.strip().lower() in {"steps", "procedure", "schritte"} for heading in headings)
    if steps or len(_NUMBERED_STEP.findall(content)) >= _STEPS_OF_A_PROCEDURE:
        return Classification("procedural", "steps", 0.7)
    return Classification("semantic", "default", 0.6)
