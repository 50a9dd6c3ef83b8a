"""What was decided about memories and entities, and the state that follows from it (V6). Pure.

Here: a record of the ledger, what makes one sound, and the fold of many into one state per memory, whatever order they
came in. Not here: files of the ledger (vault/ledger.py), rows (gate/settle.py).
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, get_args

Op = Literal[
    "write", "pending", "adopt", "restore", "forget", "erase", "verify", "annotate", "resolve", "merge", "unmerge",
    "reject",
]  # fmt: skip
OPS: Final[tuple[Op, ...]] = get_args(Op)
PairState = Literal["merged", "rejected", "open"]
RESERVED: Final = ("seq", "at", "machine", "by", "op", "subject")
_TEXTS: Final = ("namespace", "digest", "other", "hash", "how", "outcome")
_IDS: Final = ("supersedes", "cut", "instead_of", "note_id")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_NOT_TEXT = re.compile("[\x00\ud800-\udfff]")
MOST_SEQ: Final = 2**31 - 1
_DEPTH: Final = 16
_BOOSTS: Final = (0.25, 4.0)
_WRONG_TYPE: Final = "a field of the record has the wrong type"


@dataclass(frozen=True)
class Decision:
    """One record of the ledger: by whom, when (aware UTC), what (`op`), about what; `body` holds the op's own fields.

    (machine, month, seq) names it for ever.
    """

    machine: str
    month: str
    seq: int
    at: datetime
    by: str
    op: Op
    subject: str
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> tuple[str, str, int]:
        """What makes two copies of a record the same."""
        return self.machine, self.month, self.seq

    @property
    def order(self) -> tuple[datetime, str, str, int]:
        """Replay goes by time, then machine, then sequence."""
        return self.at, self.machine, self.month, self.seq


@dataclass(frozen=True)
class MemoryState:
    """What the decisions about one memory come to.

    `written` is the latest write or adoption, `pending` a wait that none of them followed. `supersedes` is what the
    memory replaces after restores that cut it. The later of forget and restore wins; an erasure beats everything.
    """

    written: Decision | None = None
    pending: Decision | None = None
    superseded_by: str | None = None
    supersedes: str | None = None
    forgotten: bool = False
    erased: bool = False
    undone: bool = False
    verified_at: datetime | None = None
    verified_by: str | None = None
    verified_how: str | None = None
    boost: float | None = None
    edges: tuple[tuple[str, str, str], ...] = ()


@dataclass
class _Draft:
    """A state while it is folded. `holders`: who supersedes this memory, latest last."""

    written: Decision | None = None
    pending: Decision | None = None
    supersedes: str | None = None
    holders: list[str] = field(default_factory=list)
    forgotten: bool = False
    erased: bool = False
    undone: bool = False
    verified: Decision | None = None
    boost: float | None = None


def fold(decisions: Iterable[Decision]) -> dict[str, MemoryState]:
    """The state of every subject. Independent of the order of `decisions`; copies of one record count once.

    A memory is superseded by the latest write that names it, until it is restored: then the link is cut for good, and
    its successors live beside it, but for the one that it comes back `instead_of`: that is `undone` until restored.
    A forget keeps the link, so that the restore that ends it cuts it like any; `forgotten` outranks `superseded_by`.
    Restoring what was undone leaves both live, unless that restore is `instead_of` the other again.
    """
    drafts: defaultdict[str, _Draft] = defaultdict(_Draft)
    for decision in in_order(decisions):
        _apply(drafts, decision)
    return {subject: _state(draft) for subject, draft in drafts.items()}


def in_order(decisions: Iterable[Decision]) -> list[Decision]:
    """Each record once, in the order of replay. Of two that claim one name the first in that order counts."""
    found: dict[tuple[str, str, int], Decision] = {}
    for decision in decisions:
        known = found.setdefault(decision.name, decision)
        if known != decision:
            found[decision.name] = min(known, decision, key=_rank)
    return sorted(found.values(), key=lambda item: item.order)


def _rank(decision: Decision) -> tuple[datetime, str]:
    """A choice between two records of one name that does not hang on which came first."""
    body = json.dumps(dict(decision.body), sort_keys=True, default=str)
    return decision.at, json.dumps([decision.op, decision.subject, decision.by, body])


def _apply(drafts: defaultdict[str, _Draft], decision: Decision) -> None:
    draft = drafts[decision.subject]
    if decision.op in ("write", "adopt"):
        draft.written = decision
        old = decision.body.get("supersedes")
        _replace(drafts, decision.subject, old if old != decision.subject else None)
    elif decision.op == "pending":
        draft.pending = decision
    elif decision.op == "forget":
        draft.forgotten = True
    elif decision.op == "erase":
        draft.erased = True
    elif decision.op == "restore":
        _restore(drafts, decision)
    elif decision.op == "verify":
        draft.verified = decision
    elif decision.op == "annotate":
        draft.boost = float(decision.body["boost"])


def _replace(drafts: defaultdict[str, _Draft], subject: str, old: str | None) -> None:
    """`subject` supersedes `old` from now on, and nothing else."""
    draft = drafts[subject]
    if draft.supersedes is not None and draft.supersedes != old:
        _release(drafts, draft.supersedes, subject)
    draft.supersedes = old
    if old is not None:
        _release(drafts, old, subject)
        drafts[old].holders.append(subject)


def _release(drafts: defaultdict[str, _Draft], old: str, holder: str) -> None:
    drafts[old].holders = [item for item in drafts[old].holders if item != holder]


def _restore(drafts: defaultdict[str, _Draft], decision: Decision) -> None:
    draft = drafts[decision.subject]
    draft.forgotten = draft.undone = False
    holders = list(draft.holders)
    draft.holders = []
    for holder in holders:
        if drafts[holder].supersedes == decision.subject:
            drafts[holder].supersedes = None
    if rival := decision.body.get("instead_of"):
        drafts[str(rival)].undone = True


def _state(draft: _Draft) -> MemoryState:
    verified = draft.verified
    edges = draft.written.body.get("edges", ()) if draft.written is not None else ()
    return MemoryState(
        written=draft.written,
        pending=draft.pending if draft.written is None else None,
        superseded_by=draft.holders[-1] if draft.holders else None,
        supersedes=draft.supersedes,
        forgotten=draft.forgotten,
        erased=draft.erased,
        undone=draft.undone,
        verified_at=None if verified is None else verified.at,
        verified_by=None if verified is None else verified.by,
        verified_how=None if verified is None else str(verified.body.get("how")),
        boost=draft.boost,
        edges=tuple((str(kind), str(other), str(code)) for kind, other, code in edges),
    )


def fold_pairs(decisions: Iterable[Decision]) -> dict[frozenset[str], PairState]:
    """What was decided about pairs of entities (N4): a reject beats a merge whatever came first, an unmerge after the
    last merge opens the pair again."""
    pairs: dict[frozenset[str], PairState] = {}
    for decision in in_order(decisions):
        if decision.op not in ("merge", "unmerge", "reject"):
            continue
        pair = frozenset((decision.subject, str(decision.body["other"])))
        if pairs.get(pair) != "rejected":
            states: dict[str, PairState] = {"merge": "merged", "unmerge": "open", "reject": "rejected"}
            pairs[pair] = states[decision.op]
    return pairs


def flaw(decision: Decision) -> str | None:
    """What keeps a record from being folded and stored; None for a sound one."""
    if decision.op not in OPS:
        return f"the record's op {str(decision.op)[:20]!r} is not known to this version"
    seq, body = decision.seq, decision.body
    if not isinstance(seq, int) or isinstance(seq, bool) or not 1 <= seq <= MOST_SEQ:
        return "the record's number is none"
    if not all(isinstance(text, str) and _is_plain(text) for text in (decision.by, decision.subject)):
        return _WRONG_TYPE
    if any(name in RESERVED for name in body) or not _is_plain(dict(body)):
        return "a field of the record is no plain JSON, or not the op's own"
    return None if _is_shaped(decision.op, body) else _WRONG_TYPE


def _is_plain(value: Any, depth: int = 0) -> bool:
    """JSON that Postgres takes too: no NUL, no half surrogate pair, no infinity, not nested deep."""
    if isinstance(value, str):
        return _NOT_TEXT.search(value) is None
    if isinstance(value, float):
        return math.isfinite(value)
    if depth < _DEPTH and isinstance(value, list):
        return all(_is_plain(item, depth + 1) for item in value)
    if depth < _DEPTH and isinstance(value, dict):
        return all(isinstance(name, str) and _is_plain(name) and _is_plain(value[name], depth + 1) for name in value)
    return value is None or isinstance(value, bool | int)


def _is_shaped(op: Op, body: Mapping[str, Any]) -> bool:
    """Whether the fields that the fold and the rows are made from can be used."""
    if any(not isinstance(body[name], str) for name in _TEXTS if body.get(name) is not None):
        return False
    if any(not _is_id(body[name]) for name in _IDS if body.get(name) is not None):
        return False
    edges = body.get("edges", [])
    if not isinstance(edges, list) or not all(_is_edge(edge) for edge in edges):
        return False
    if op == "annotate":
        boost = body.get("boost")
        return isinstance(boost, int | float) and not isinstance(boost, bool) and _BOOSTS[0] <= boost <= _BOOSTS[1]
    needed = {"verify": "how", "merge": "other", "unmerge": "other", "reject": "other"}.get(op)
    return needed is None or isinstance(body.get(needed), str)


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and _UUID.match(value) is not None


def _is_edge(edge: Any) -> bool:
    return isinstance(edge, list) and len(edge) == 3 and all(isinstance(part, str) for part in edge) and _is_id(edge[1])
