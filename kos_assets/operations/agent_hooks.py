"""The hook in a coding agent's settings: shown first, put in, taken out again (W5).

Here: what is written into which settings file, and undoing exactly that. Not here: the program that runs there
(writers/agents/hook.py), editing JSON (json_text.py), asking the person (cli/hooks.py).

A record of each installation lies in the data folder: the file's bytes from before, and a digest of what was written.
While the file is still what was written, removing puts the old bytes back; else only our own entry is taken out.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
import json
import os
import shlex
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from kos_assets.errors import InputError, OperationError
from kos_assets.operations import json_text
from kos_assets.operations.json_text import JsonTextError, Node

AGENTS: Final = ("claude-code",)
SCOPES: Final = ("user", "project")
EVENT: Final = "PostToolUse"
MATCHER: Final = "Write|Edit|MultiEdit|NotebookEdit"
TIMEOUT_S: Final = 5
_LARGEST: Final = 8 << 20
_PROGRAM: Final = Path("writers", "agents", "hook.py")

Scope = Literal["user", "project"]


@dataclass(frozen=True)
class Change:
    """What would be written: `after` None deletes the file; `before` None is a file that is not there yet."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def needed(self) -> bool:
        """Whether anything changes."""
        return self.before != self.after

    def diff(self) -> list[str]:
        """The change as a unified diff, ready to show."""
        old, new = (("" if data is None else data.decode("utf-8", "replace")) for data in (self.before, self.after))
        names = (
            "/dev/null" if self.before is None else str(self.path),
            "/dev/null" if self.after is None else str(self.path),
        )
        return list(difflib.unified_diff(old.splitlines(), new.splitlines(), *names, lineterm=""))


@dataclass(frozen=True)
class Found:
    """A hook of ours in a settings file. `current`: it runs this installation's program, and that is there."""

    path: Path
    command: str
    current: bool


def settings_file(
    scope: Scope, *, project: Path, home: Path | None = None, environ: Mapping[str, str] | None = None
) -> Path:
    """Where the agent keeps its settings. `user`: for every project. `project`: settings.local.json, which is not
    shared with others, because the command names paths of this machine."""
    if scope == "project":
        return project / ".claude" / "settings.local.json"
    own = (os.environ if environ is None else environ).get("CLAUDE_CONFIG_DIR")
    return (Path(own).expanduser() if own else (home or Path.home()) / ".claude") / "settings.json"


def command(data_dir: Path, vault: Path | None, *, program: Path | None = None, python: str | None = None) -> str:
    """The shell command of the hook. Whatever happens to the program, the agent sees the status 0."""
    words = [python or sys.executable, "-I", "-S", "-X", "utf8", str(program or hook_program())]
    words += ["--data-dir", str(data_dir.absolute())]
    words += ["--vault", str(vault.absolute())] if vault is not None else []
    return f"{shlex.join(words)} || true"


def hook_program() -> Path:
    """The program of this installation."""
    return Path(__file__).resolve().parent.parent / _PROGRAM


def planned(path: Path, wanted: str) -> Change:
    """The settings file with our hook in it, everything else as it is. Raises InputError for a file that is no JSON or
    of another shape (nothing was written), OperationError for one that cannot be read."""
    before = _bytes(path)
    if before is None:
        return Change(path, None, (json.dumps({"hooks": {EVENT: [_group(wanted)]}}, indent=2) + "\n").encode())
    text = _text(path, before)
    try:
        ours = _ours(json_text.read(text))
        if len(ours) == 1 and ours[0][1] == wanted:
            return Change(path, before, before)
        text = _taken_out(text)
        return Change(path, before, json_text.added(text, ["hooks", EVENT], _group(wanted)).encode())
    except JsonTextError as error:
        raise _unfit(path, error) from error


def removal(path: Path, data_dir: Path) -> Change:
    """The settings file without our hook: as it was before where nothing else has changed since.

    Raises InputError, OperationError.
    """
    before = _bytes(path)
    if before is None:
        return Change(path, None, None)
    record = _record(path, data_dir)
    if record.get("written") == _digest(before):
        old = record.get("before")
        return Change(path, before, base64.b64decode(old) if isinstance(old, str) else None)
    text = _text(path, before)
    try:
        return Change(path, before, _taken_out(text).encode())
    except JsonTextError as error:
        raise _unfit(path, error) from error


def apply(change: Change, data_dir: Path, *, remember: bool) -> None:
    """Write it: whole or not at all, the mode kept, links followed to the file itself. `remember` keeps the record that
    removal needs. Raises OperationError, also when the file is no longer what was shown."""
    if _bytes(change.path) != change.before:
        raise OperationError(
            f"{change.path} has changed meanwhile; nothing was written.",
            fix="Run the command again and look at the diff.",
        )
    kept = _record_path(change.path, data_dir)
    try:
        (data_dir / "spool" / "agents").mkdir(mode=0o700, parents=True, exist_ok=True)
        if remember and change.after is not None:
            before = _first(change, data_dir)
            record = {"path": str(change.path), "written": _digest(change.after), "before": before}
            kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _replace(kept, (json.dumps(record) + "\n").encode(), 0o600)
        target = Path(os.path.realpath(change.path))
        if change.after is None:
            target.unlink()
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            _replace(target, change.after, stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o600)
        if not remember:
            kept.unlink(missing_ok=True)
    except OSError as error:
        raise OperationError(
            f"{change.path} cannot be written.", why=error.strerror or str(error), fix="Give this user the right to."
        ) from error


def status(path: Path) -> list[Found]:
    """Our hooks in a settings file. Raises InputError, OperationError."""
    data = _bytes(path)
    if data is None:
        return []
    try:
        ours = _ours(json_text.read(_text(path, data)))
    except JsonTextError as error:
        raise _unfit(path, error) from error
    return [Found(path, line, _is_current(line)) for _, line in ours]


def _is_current(line: str) -> bool:
    try:
        words = shlex.split(line)
    except ValueError:
        return False
    return str(hook_program()) in words and Path(words[0]).exists() and hook_program().exists()


def _group(wanted: str) -> dict[str, Any]:
    return {"matcher": MATCHER, "hooks": [{"type": "command", "command": wanted, "timeout": TIMEOUT_S}]}


def _ours(root: Node) -> list[tuple[tuple[int, int], str]]:
    """((group, hook), command) of every hook that runs our program, from this installation or another."""
    found: list[tuple[tuple[int, int], str]] = []
    hooks = root.value.get("hooks") if isinstance(root.value, dict) else None
    groups = hooks.get(EVENT) if isinstance(hooks, dict) else None
    for number, group in enumerate(groups if isinstance(groups, list) else []):
        inner = group.get("hooks") if isinstance(group, dict) else None
        for place, entry in enumerate(inner if isinstance(inner, list) else []):
            line = entry.get("command") if isinstance(entry, dict) else None
            if isinstance(line, str) and f"kos_assets/{_PROGRAM.as_posix()}" in line:
                found.append(((number, place), line))
    return found


def _taken_out(text: str) -> str:
    """Without our hooks, and without the groups, list and object that are empty then."""
    while ours := _ours(json_text.read(text)):
        group, place = ours[-1][0]
        hooks = json_text.read(text).value["hooks"]
        path: list[str | int] = ["hooks", EVENT, group, "hooks", place]
        if len(hooks[EVENT][group]["hooks"]) == 1:
            path = path[:3]
            if len(hooks[EVENT]) == 1:
                path = path[:2] if len(hooks) > 1 else path[:1]
        text = json_text.without(text, path)
    return text


def _first(change: Change, data_dir: Path) -> str | None:
    """The bytes from before our first installation: those of the record while the file is what we wrote."""
    record = _record(change.path, data_dir)
    if change.before is not None and record.get("written") == _digest(change.before):
        old = record.get("before")
        return old if isinstance(old, str) else None
    if change.before is None:
        return None
    return base64.b64encode(_taken_out(change.before.decode()).encode()).decode("ascii")


def _record(path: Path, data_dir: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        found = json.loads(_record_path(path, data_dir).read_bytes())
        if isinstance(found, dict):
            return found
    return {}


def _record_path(path: Path, data_dir: Path) -> Path:
    return data_dir / "hooks" / f"{_digest(os.path.realpath(path).encode('utf-8', 'surrogateescape'))[:32]}.json"


def _bytes(path: Path) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    seen = os.fstat(descriptor)
    if not stat.S_ISREG(seen.st_mode) or seen.st_size > _LARGEST:
        os.close(descriptor)
        raise _unreadable(path, "it is no regular file of less than 8 MB")
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_LARGEST)


def _text(path: Path, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path} is not UTF-8 at line {line}; it was not touched.", fix="Save it as UTF-8 and run this again."
        ) from error


def _replace(target: Path, data: bytes, mode: int) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _unreadable(path: Path, reason: str) -> OperationError:
    return OperationError(
        f"{path} cannot be read.", why=reason, fix="Mend that and run this again; nothing was written."
    )


def _unfit(path: Path, error: JsonTextError) -> InputError:
    return InputError(
        f"{path} was not touched: line {error.line}, column {error.column}.",
        why=f"As JSON: {error.reason}.",
        fix="Correct that place, then run this again.",
    )
