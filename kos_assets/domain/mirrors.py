"""What a mirror is set up with: the `[mirror.NAME]` tables of kos.toml as frozen values (W1).

Here: the kinds, their defaults and options, and what is wrong with a table. Not here: reading kos.toml (settings.py) or
a source (writers).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, Final

from kos_assets.domain.vocabulary import check_namespace
from kos_assets.errors import ConfigError, InputError

OWNER: Final = "shared:owner"
_GLOBAL: Final = "global"
RESERVED_FOLDERS: Final = frozenset(("memories", "node_modules", "lost+found"))


@dataclass(frozen=True)
class Option:
    """One key of a kind's table beside the common ones. `default` also says the type."""

    default: Any
    help: str


@dataclass(frozen=True)
class Kind:
    """A writer that comes with the product. `namespace` None: the folder map and the vault's default decide (V9)."""

    help: str
    namespace: str | None = None
    needs_path: bool = True
    options: Mapping[str, Option] = field(default_factory=dict)


KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "meetings": Kind("Transcripts and summaries: Markdown, text, VTT, SRT, JSON."),
        "mail": Kind(
            "mbox, Maildir, .eml and .emlx: one note per thread that you replied to.",
            namespace=OWNER,
            options={
                "addresses": Option((), "Your own addresses; a thread counts when one of them wrote in it."),
                "all_threads": Option(False, "Mirror threads that you did not reply to as well."),
            },
        ),
        "todos": Kind("todo.txt, Obsidian Tasks, VTODO (.ics), Taskwarrior exports: one note per project or list."),
        "agents": Kind(
            "Markdown that coding agents write in git repositories.",
            needs_path=False,
            options={
                "agent": Option("claude-code", "Name of the agent whose namespace the notes belong to."),
                "repositories": Option((), "Folders whose git repositories the walker looks through."),
            },
        ),
        "chats": Kind("ChatGPT and Claude account exports, Claude Code session logs.", namespace=OWNER),
        "calendar": Kind(".ics calendars with recurrences, zones, attendees, cancellations.", namespace=OWNER),
    }
)
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_COMMON: Final = ("kind", "path", "folder", "namespace", "every_minutes")
_SCHEDULE: Final = 15
_LONGEST_CYCLE: Final = 24 * 60


@dataclass(frozen=True)
class MirrorSettings:
    """One mirror. `folder` is relative to the vault; `kind` is a key of KINDS or `module:callable` (a writer of your
    own); `options` has every option of the kind, with its default where none was given. `namespace` is what the person
    set; where that is None and no folder map holds the folder, `usual_namespace` counts (V9)."""

    name: str
    kind: str
    paths: tuple[Path, ...] = ()
    folder: str = ""
    namespace: str | None = None
    usual_namespace: str | None = None
    every_minutes: int = _SCHEDULE
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


def mirror_settings(name: str, table: Any, *, place: Callable[[str], Path] = Path) -> MirrorSettings:
    """The mirror that `[mirror.<name>]` describes; `place` makes a path of a text (`~`).

    Raises ConfigError: which key, what is wrong, the fix.
    """
    if not isinstance(table, Mapping):
        raise ConfigError(f"[mirror] {name} is no table.", fix=f"Write [mirror.{name}] on a line of its own.")
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} cannot name a mirror.", fix="Use 1 to 40 letters, digits, - and _.")
    kind = str(table.get("kind", name))
    known = KINDS.get(kind)
    if known is None and ":" not in kind:
        raise ConfigError(
            f"[mirror.{name}] has no known kind: {kind!r}.",
            why=f"Kinds are {', '.join(KINDS)}, or module:callable for a writer of your own.",
            fix=f'Name the table after its kind, or write kind = "mail" into [mirror.{name}].',
        )
    options = dict(table) if known is None else _options(name, known, table)
    for key in _COMMON:
        options.pop(key, None)
    paths = tuple(place(path) for path in _texts(name, "path", table.get("path", ())))
    if kind == "agents" and table.get("namespace") == _GLOBAL:
        raise ConfigError(
            f"[mirror.{name}] namespace cannot be global.",
            why="What an agent wrote is its own until a person adopts it (V9).",
            fix='Leave it out, or write namespace = "shared:<group>".',
        )
    return MirrorSettings(
        name=name,
        kind=kind,
        paths=paths,
        folder=_folder(name, str(table.get("folder", name))),
        namespace=_namespace(name, table.get("namespace")),
        usual_namespace=_namespace(name, _usual_namespace(known, kind, options)),
        every_minutes=_minutes(name, table.get("every_minutes", _SCHEDULE)),
        options=MappingProxyType(options),
    )


def check_folders(mirrors: Sequence[MirrorSettings]) -> None:
    """Raise ConfigError where two mirrors would write into one folder, or one below the other's."""
    for number, item in enumerate(mirrors):
        for other in mirrors[number + 1 :]:
            one, two = sorted((f"{item.folder.casefold()}/", f"{other.folder.casefold()}/"), key=len)
            if two.startswith(one):
                raise ConfigError(
                    f"Mirrors {item.name} and {other.name} write into one folder: {item.folder}, {other.folder}.",
                    why="Each would take the other's notes for gone, and who reads one's would read the other's.",
                    fix='Give each a folder of its own, beside the other: folder = "...".',
                )


def settled_namespace(mirror: MirrorSettings, person: Mapping[str, str]) -> MirrorSettings:
    """V9: the mirror with the namespace that counts: its own, then the person's folder map, then the kind's usual one.

    A map that says `global` of everything, or of a folder above, is no reason to show an agent's notes, mail, chats or
    calendars to everyone: only the mirror's own setting is.
    """
    if mirror.namespace is not None:
        return mirror
    place = f"{mirror.folder}/"
    mapped = [folder for folder in person if not folder or place.startswith(f"{folder}/")]
    chosen = person[max(mapped, key=len)] if mapped else None
    if chosen is None or (chosen == _GLOBAL and mirror.usual_namespace is not None):
        chosen = mirror.usual_namespace
    return replace(mirror, namespace=chosen)


def _usual_namespace(known: Kind | None, kind: str, options: Mapping[str, Any]) -> str | None:
    if kind == "agents":
        return f"agent:{options['agent']}"
    return known.namespace if known is not None else None


def _options(name: str, kind: Kind, table: Mapping[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(table) - set(kind.options) - set(_COMMON))
    if unknown:
        raise ConfigError(
            f"[mirror.{name}] has an unknown key: {unknown[0]}.",
            why=f"Known keys: {', '.join([*_COMMON, *kind.options])}.",
        )
    return {key: _option(name, key, option, table) for key, option in kind.options.items()}


def _option(name: str, key: str, option: Option, table: Mapping[str, Any]) -> Any:
    value = table.get(key, option.default)
    if isinstance(option.default, tuple):
        return _texts(name, key, value)
    if type(value) is not type(option.default):
        wanted = {bool: "true or false", int: "a whole number", str: "a text"}[type(option.default)]
        raise ConfigError(f"[mirror.{name}] {key} must be {wanted}, not {value!r}.")
    return value


def _texts(name: str, key: str, value: Any) -> tuple[str, ...]:
    parts = (value,) if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) and part.strip() for part in parts):
        raise ConfigError(f"[mirror.{name}] {key} must be a text or a list of texts, not {value!r}.")
    return tuple(part.strip() for part in parts)


def _folder(name: str, folder: str) -> str:
    parts = PurePosixPath(folder).parts
    sound = parts and parts[0] != "/" and ".." not in parts and not any(part.startswith(".") for part in parts)
    if not sound or parts[0].casefold() in RESERVED_FOLDERS:
        raise ConfigError(
            f"[mirror.{name}] folder cannot be {folder!r}.",
            why="It lies inside the vault, is not hidden, not the gate's `memories`, and none that scans leave out.",
            fix=f'Write a folder such as folder = "{name}".',
        )
    return "/".join(parts)


def _namespace(name: str, value: Any) -> str | None:
    try:
        return None if value is None else check_namespace(str(value))
    except InputError as error:
        raise ConfigError(f"[mirror.{name}] namespace: {error.what}", why=error.why) from error


def _minutes(name: str, value: Any) -> int:
    minutes = value if isinstance(value, int) and not isinstance(value, bool) else 0
    if not 1 <= minutes <= _LONGEST_CYCLE:
        raise ConfigError(f"[mirror.{name}] every_minutes must be 1 to {_LONGEST_CYCLE}, not {value!r}.")
    return minutes
