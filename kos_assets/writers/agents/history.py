"""What a repository's history says of its Markdown: who wrote it, when, and whether it was deleted (W5).

Here: one `git log`, one `git ls-tree` and one `git cat-file` a checkout. Nothing is read from the working tree, so that
a run depends on commits alone and no filter or link of a repository has a say. Not here: notes (notes.py).
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import IO, Final

from kos_assets.writers.agents import capture, git

TIMEOUT_S: Final = 120.0
MOST_FILES: Final = 20_000  # of one checkout; all of its Markdown
_FORMAT: Final = "--format=%x01%H%x00%cI%x00%an%x00%ae%x00%(trailers:only,unfold)"
_LOG: Final = (
    "log", "-z", "--name-status", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--encoding=UTF-8",
    "--no-mailmap", _FORMAT,
)  # fmt: skip
_PATHS: Final = (":(icase,glob)**/*.md", ":(icase,glob)**/*.markdown", ":(icase,glob)**/.cursor/rules/**/*.mdc")
_SESSION = re.compile(r"[A-Za-z0-9_-]{1,100}")
_CO_AUTHOR = re.compile(r"co-authored-by:[ \t]*([^<]{0,200})<([^>]{0,200})>", re.IGNORECASE)
_INSTRUCTIONS: Final = frozenset(("claude.md", "claude.local.md", "agents.md"))
_MARKS: Final = {
    "claude-code": ("noreply@anthropic.com", "claude[bot]"),
    "codex": ("noreply@openai.com", "codex"),
    "cursor": ("cursoragent@cursor.com", "cursor agent", "cursor"),
    "copilot": ("copilot@github.com", "copilot", "copilot-swe-agent[bot]", "github copilot"),
    "gemini": ("gemini-code-assist[bot]", "google-labs-jules[bot]", "gemini"),
}


@dataclass(frozen=True)
class Event:
    """The newest commit that touched a path. `at` is when it was committed; `session` of the newest by the agent."""

    at: datetime
    commit: str
    deleted: bool
    by_agent: bool
    session: str


@dataclass
class History:
    """A checkout's Markdown as committed: `blobs` of what is there now, `events` of every path that ever was."""

    root: Path
    blobs: dict[str, str] = field(default_factory=dict)
    events: dict[str, Event] = field(default_factory=dict)

    def without(self, folders: Sequence[Path]) -> History:
        """The same without files that lie in one of the folders (a vault inside of a repository)."""
        inside = [path for path in self.blobs for own in folders if capture.is_inside(f"{self.root}/{path}", str(own))]
        for path in inside:
            self.blobs.pop(path, None)
        return self

    def of_agent(self, path: str) -> bool:
        """Whether the agent ever committed a change of it, or it is an agent's instruction file."""
        event = self.events.get(path)
        return is_instruction(path) or (event is not None and event.by_agent)

    def says_deleted(self, path: str) -> bool:
        """Whether a commit deleted it and none brought it back."""
        event = self.events.get(path)
        return path not in self.blobs and event is not None and event.deleted


def is_instruction(path: str) -> bool:
    """Files that tell agents what to do, whoever wrote them."""
    parts = PurePosixPath(path).parts
    name = parts[-1].casefold()
    ruled = name.endswith(".mdc") and ".cursor" in parts and "rules" in parts
    return name in _INSTRUCTIONS or ruled or (".claude" in parts[:-1] and name.endswith(capture.ENDINGS))


def read(root: Path, commit: str, agent: str) -> History:
    """The Markdown at `commit` (a commit or HEAD) and its past. Raises git.GitError."""
    history = History(root)
    entries = git.tokens(root, ["ls-tree", "-r", "-z", "--full-tree", commit], timeout_s=TIMEOUT_S)
    for entry in entries:
        facts, _, path = entry.partition("\t")
        mode, _, blob = facts.split(" ")[:3] if facts.count(" ") >= 2 else ("", "", "")
        if mode in {"100644", "100755"} and _is_ours(path):
            history.blobs[path] = blob
        if len(history.blobs) > MOST_FILES:
            raise git.GitError(f"it holds more than {MOST_FILES} Markdown files")
    cut = _shallow(root)
    for event, paths in _commits(root, commit, agent):
        told = replace(event, by_agent=False, session="") if event.commit in cut else event
        for status, path in paths:
            _seen(history.events, path, told, deleted=status == "D")
    return history


def _shallow(root: Path) -> frozenset[str]:
    """The commits where a shallow clone was cut off: each seems to have made every file, and says nothing of it."""
    place = capture.git_folder(str(root))
    shared = capture.common_folder(place) if place else str(root)
    return frozenset(capture.text_of(f"{shared}/shallow", 1 << 20).split())


def _is_ours(path: str) -> bool:
    sound = "\ufffd" not in path and not any("\udc80" <= character <= "\udcff" for character in path)
    named = path.casefold().endswith(capture.ENDINGS) or is_instruction(path)
    return sound and named and capture.is_wanted(path)


def _seen(events: dict[str, Event], path: str, event: Event, *, deleted: bool) -> None:
    """The log comes newest first: what is seen later only says that the agent had a hand in it before."""
    newest = events.get(path)
    if newest is None:
        events[path] = Event(event.at, event.commit, deleted, event.by_agent, event.session)
    elif event.by_agent and not newest.by_agent:
        events[path] = Event(newest.at, newest.commit, newest.deleted, by_agent=True, session=event.session)


def _commits(root: Path, commit: str, agent: str) -> Iterator[tuple[Event, list[tuple[str, str]]]]:
    """(who and when, [(status, path), ...]) of each commit. No field can hold a NUL, so that they are counted off."""
    stream = git.tokens(root, [*_LOG, commit, "--", *_PATHS], timeout_s=TIMEOUT_S)
    event: Event | None = None
    paths: list[tuple[str, str]] = []
    for token in stream:
        status = token.lstrip("\n")
        if status.startswith("\x01"):
            if event is not None:
                yield event, paths
            fields = [next(stream, "") for _ in range(4)]
            event, paths = _event(status[1:], fields, agent), []
        elif status:
            paths.append((status[0], next(stream, "")))
    if event is not None:
        yield event, paths


def _event(commit: str, fields: Sequence[str], agent: str) -> Event:
    moment, author, address, trailers = fields
    try:
        at = datetime.fromisoformat(moment)
    except ValueError as error:
        raise git.GitError(f"commit {commit[:12]} has no readable date") from error
    session = _session(trailers) if agent == "claude-code" else ""
    people = [(author, address), *_CO_AUTHOR.findall(trailers)]
    return Event(at, commit, deleted=False, by_agent=bool(session) or _is_agent(people, agent), session=session)


def _session(trailers: str) -> str:
    for line in trailers.split("\n"):
        key, _, value = line.partition(":")
        if key.strip().casefold() == "claude-session":
            name = value.strip().rstrip("/").rsplit("/", 1)[-1]
            return name if _SESSION.fullmatch(name) else "unnamed"
    return ""


def _is_agent(people: Sequence[tuple[str, str]], agent: str) -> bool:
    address, *names = _MARKS.get(agent, (agent, agent))
    for name, written in people:
        called = name.strip().casefold()
        if written.strip().casefold() == address or called in {mark.casefold() for mark in names}:
            return True
    return False


def blobs(root: Path, names: Sequence[str]) -> Iterator[bytes | int | None]:
    """The bytes of each blob, in order; its size where that is over the hook's limit; None where git has it not.

    One git for all of them. Raises git.GitError.
    """
    with tempfile.TemporaryFile() as wanted:
        wanted.write("".join(f"{name}\n" for name in names).encode("ascii"))
        wanted.seek(0)
        limit = TIMEOUT_S + len(names) * 0.05
        with git.asked(root, ["cat-file", "--batch"], timeout_s=limit, stdin=wanted) as stream:
            for _ in names:
                yield _blob(stream)


def _blob(stream: IO[bytes]) -> bytes | int | None:
    head = stream.readline(4096).split()
    if len(head) != 3:
        if head[-1:] == [b"missing"]:
            return None
        raise git.GitError("its answer ended early")
    size = int(head[2])
    if size <= capture.LARGEST_FILE:
        data = stream.read(size)
        stream.read(1)
        return data
    left = size + 1
    while left > 0 and (part := stream.read(min(left, 1 << 16))):
        left -= len(part)
    return size
