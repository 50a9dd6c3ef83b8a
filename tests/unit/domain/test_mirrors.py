"""The `[mirror.NAME]` tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kos_assets.domain.mirrors import KINDS, check_folders, mirror_settings, settled_namespace
from kos_assets.errors import ConfigError


def test_a_table_gets_its_defaults() -> None:
    """W1: kind from the name, folder from the name, the kind's own options."""
    found = mirror_settings(
        "mail", {"path": "~/a.mbox", "addresses": "me@example.org"}, place=Path("/home/ada").joinpath
    )
    assert (found.kind, found.folder, found.every_minutes) == ("mail", "mail", 15)
    assert found.paths == (Path("/home/ada/~/a.mbox"),)
    assert dict(found.options) == {"addresses": ("me@example.org",), "all_threads": False}


@pytest.mark.parametrize(
    ("name", "table", "usual"),
    [
        ("mail", {}, "shared:owner"), ("chats", {}, "shared:owner"), ("calendar", {}, "shared:owner"),
        ("agents", {}, "agent:claude-code"), ("agents", {"agent": "robo"}, "agent:robo"), ("meetings", {}, None),
        ("todos", {}, None), ("books", {"kind": "books:Books"}, None),
    ],
)  # fmt: skip
def test_who_may_read_by_default(name: str, table: dict[str, Any], usual: str | None) -> None:
    """V9: mail, chats and calendar are the owner's; what agents wrote is the agent's, never global by itself."""
    found = mirror_settings(name, table)
    assert (found.namespace, found.usual_namespace) == (None, usual)


def test_a_writer_of_ones_own_takes_any_option() -> None:
    """W1: kos cannot know them."""
    assert dict(mirror_settings("books", {"kind": "books:Books", "shelf": "red"}).options) == {"shelf": "red"}


@pytest.mark.parametrize(
    ("name", "table", "says"),
    [
        ("mails", {}, "no known kind"), ("mail", {"adresses": ["x"]}, "unknown key: adresses"),
        ("mail", {"path": 3}, "path must be a text"), ("mail", {"path": [""]}, "path must be a text"),
        ("mail", {"all_threads": "yes"}, "must be true or false"),
        ("mail", {"folder": "memories/x"}, "folder cannot be"),
        ("mail", {"folder": "../x"}, "folder cannot be"), ("mail", {"folder": "/x"}, "folder cannot be"),
        ("mail", {"folder": ""}, "folder cannot be"), ("mail", {"folder": ".kos"}, "folder cannot be"),
        ("mail", {"namespace": "everyone"}, "namespace"), ("mail", {"every_minutes": 0}, "every_minutes"),
        ("mail", {"every_minutes": True}, "every_minutes"), ("mail", {"every_minutes": 1441}, "every_minutes"),
        ("a/b", {"kind": "mail"}, "cannot name a mirror"), ("mail", "x", "is no table"),
        ("agents", {"agent": "a b"}, "namespace"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(name: str, table: Any, says: str) -> None:
    """House rule 8: the key, what is wrong, and at start-up."""
    with pytest.raises(ConfigError, match=says):
        mirror_settings(name, table)


def test_every_kind_says_what_it_reads() -> None:
    """House rule 15: the list of kinds is what `kos mirror` prints."""
    assert set(KINDS) == {"meetings", "mail", "todos", "agents", "chats", "calendar"}
    assert all(kind.help and all(option.help for option in kind.options.values()) for kind in KINDS.values())


@pytest.mark.parametrize("folders", [("inbox", "inbox"), ("inbox", "Inbox/mail"), ("a/b", "a")])
def test_two_mirrors_never_share_a_folder(folders: tuple[str, str]) -> None:
    """V7, V9: nor does one lie in the other's."""
    first, second = (
        mirror_settings(name, {"folder": folder}) for name, folder in zip(("todos", "mail"), folders, strict=True)
    )
    with pytest.raises(ConfigError, match="write into one folder"):
        check_folders([first, second])
    check_folders([first, mirror_settings("mail", {"folder": f"{folders[0]}s"})])


@pytest.mark.parametrize(
    ("table", "person", "namespace"),
    [
        ({}, {}, "agent:claude-code"), ({}, {"": "global"}, "agent:claude-code"),
        ({}, {"agents": "shared:crew"}, "shared:crew"),
        ({"namespace": "shared:crew"}, {"agents": "shared:x"}, "shared:crew"),
        ({}, {"agentsx": "shared:crew"}, "agent:claude-code"),
    ],
)  # fmt: skip
def test_what_agents_wrote_is_never_global_by_itself(
    table: dict[str, Any], person: dict[str, str], namespace: str
) -> None:
    """V9: the setting, then the folder map, then the agent's own; `global` not even by setting."""
    assert settled_namespace(mirror_settings("agents", table), person).namespace == namespace
    with pytest.raises(ConfigError, match="cannot be global"):
        mirror_settings("agents", {"namespace": "global"})
