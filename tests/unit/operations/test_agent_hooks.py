"""The hook in the agent's settings: shown, put in, taken out, and everything else byte for byte as it was (W5)."""

from __future__ import annotations

import json
import shlex
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from kos_assets.cli import hooks as cli
from kos_assets.errors import InputError, KosError, OperationError
from kos_assets.operations import agent_hooks, json_text

LINE = agent_hooks.command(Path("/data/kos"), Path("/my notes/it's"))
OTHER = {"matcher": "Bash", "hooks": [{"type": "command", "command": "echo done"}]}
STYLES = [
    "{}",
    "{ }\n",
    '{"a":1}',
    '{\n  "model": "opus"\n}\n',
    '{\n\t"hooks": {\n\t\t"PostToolUse": []\n\t},\n\t"z": [1, 2,   3]\n}',
    '{"hooks": {}, "b": {"c": [1,2]}}\n\n',
    '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}',
    '{\r\n    "env": { "A": "é \\u00e9" },\r\n    "hooks": {\r\n        "PostToolUse": [\r\n            '
    + json.dumps(OTHER)
    + "\r\n        ]\r\n    }\r\n}\r\n",
    "\ufeff" + '{\n  "a": "b"\n}\n',
]


def install(path: Path, data: Path, line: str = LINE) -> agent_hooks.Change:
    change = agent_hooks.planned(path, line)
    agent_hooks.apply(change, data, remember=True)
    return change


def remove(path: Path, data: Path) -> agent_hooks.Change:
    change = agent_hooks.removal(path, data)
    agent_hooks.apply(change, data, remember=False)
    return change


def value(path: Path) -> Any:
    return json.loads(path.read_text("utf-8-sig"))


@pytest.mark.parametrize("before", STYLES)
@pytest.mark.parametrize("record", [True, False])
def test_removing_gives_back_every_byte(tmp_path: Path, before: str, record: bool) -> None:
    """W5: whatever the file's style; with the record exactly, and without it unless an empty place was there before."""
    path = tmp_path / "settings.json"
    path.write_bytes(before.encode())
    install(path, tmp_path / "data")
    assert agent_hooks.status(path) == [agent_hooks.Found(path, LINE, current=True)]
    was = json.loads(before.removeprefix("\ufeff"))
    groups = value(path)["hooks"]["PostToolUse"]
    assert groups[:-1] == was.get("hooks", {}).get("PostToolUse", [])
    assert groups[-1]["matcher"] == "Write|Edit|MultiEdit|NotebookEdit"
    assert groups[-1]["hooks"] == [{"type": "command", "command": LINE, "timeout": 5}]
    assert {key: item for key, item in value(path).items() if key != "hooks"} == {
        key: item for key, item in was.items() if key != "hooks"
    }
    if not record:
        next((tmp_path / "data" / "hooks").iterdir()).unlink()
    remove(path, tmp_path / "data")
    assert agent_hooks.status(path) == []
    if record or ('"PostToolUse": []' not in before and '"hooks": {}' not in before and before != "{ }\n"):
        assert path.read_bytes() == before.encode()
    else:
        assert {key: item for key, item in value(path).items() if key != "hooks"} == {
            key: item for key, item in was.items() if key != "hooks"
        }


def test_installing_twice_changes_nothing(tmp_path: Path) -> None:
    """W5: idempotent; and the diff names exactly what comes in."""
    path = tmp_path / "settings.json"
    path.write_text('{\n  "model": "opus"\n}\n')
    change = install(path, tmp_path)
    lines = change.diff()
    assert [line for line in lines if line.startswith("-")] == [f"--- {path}", '-  "model": "opus"']
    assert '+  "model": "opus",' in lines
    assert agent_hooks.planned(path, LINE).needed is False
    assert agent_hooks.planned(path, LINE).diff() == []


def test_a_moved_program_is_brought_up_to_date(tmp_path: Path) -> None:
    """W5: one hook, not two; removing afterwards still gives the first bytes back."""
    path, before = tmp_path / "settings.json", b'{"a": 1}\n'
    path.write_bytes(before)
    old = agent_hooks.command(Path("/data"), None, program=Path("/old/kos_assets/writers/agents/hook.py"))
    install(path, tmp_path, old)
    assert [found.current for found in agent_hooks.status(path)] == [False]
    install(path, tmp_path)
    assert [found.command for found in agent_hooks.status(path)] == [LINE]
    remove(path, tmp_path)
    assert path.read_bytes() == before


def test_what_others_wrote_since_stays(tmp_path: Path) -> None:
    """W5: only our entry is taken out, also where it shares a group; reinstalling does not bring old bytes back."""
    path = tmp_path / "settings.json"
    path.write_text("{}")
    install(path, tmp_path)
    changed = value(path)
    changed["hooks"]["PostToolUse"][0]["hooks"].append({"type": "command", "command": "mine"})
    changed["model"] = "opus"
    path.write_text(json.dumps(changed))
    install(path, tmp_path, LINE.replace("/data/kos", "/data/new"))
    remove(path, tmp_path)
    assert value(path) == {
        "model": "opus",
        "hooks": {"PostToolUse": [{"matcher": agent_hooks.MATCHER, "hooks": [{"type": "command", "command": "mine"}]}]},
    }
    assert agent_hooks.removal(path, tmp_path).needed is False


def test_a_file_that_was_not_there_goes_again(tmp_path: Path) -> None:
    """W5: made with its folder, private, and deleted by removing."""
    path = tmp_path / ".claude" / "settings.json"
    change = install(path, tmp_path / "data")
    assert change.before is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "data" / "spool" / "agents").stat().st_mode) == 0o700
    remove(path, tmp_path / "data")
    assert not path.exists()
    assert agent_hooks.removal(path, tmp_path / "data").needed is False


def test_a_linked_file_stays_a_link_and_keeps_its_mode(tmp_path: Path) -> None:
    """W5: settings that are kept elsewhere (dotfiles) are written there."""
    real, path = tmp_path / "dotfiles.json", tmp_path / "settings.json"
    real.write_text("{}")
    real.chmod(0o640)
    path.symlink_to(real)
    install(path, tmp_path)
    assert path.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert "hook.py" in real.read_text()


@pytest.mark.parametrize(
    ("text", "place", "why"),
    [
        (b"", "line 1, column 1", "Expecting value"),
        (b'{\n  "a": 1,\n}', "line 3, column 1", "property name"),
        (b'{\n  // a comment\n  "a": 1\n}', "line 2, column 3", "property name"),
        (b'{"a": 1} x', "line 1, column 10", "more after the end"),
        (b"[]", "line 1, column 1", "the file is no object"),
        (b'{"hooks": []}', "line 1, column 11", "hooks is no object"),
        (b'{"hooks": {"PostToolUse": {}}}', "line 1, column 27", "PostToolUse is no list"),
        (b'{"hooks": {}, "hooks": {}}', "line 1, column 15", "twice"),
        (b"[" * 100_000, "line 1, column 1", "nested too deep"),
    ],
)
def test_a_file_that_is_not_fit_is_not_touched(tmp_path: Path, text: bytes, place: str, why: str) -> None:
    """W5: refused with the place and the reason."""
    path = tmp_path / "settings.json"
    path.write_bytes(text)
    with pytest.raises(InputError) as refused:
        agent_hooks.planned(path, LINE)
    assert place in refused.value.what
    assert why in str(refused.value.why)
    assert path.read_bytes() == text


def test_other_files_that_cannot_be_read(tmp_path: Path) -> None:
    """W5: no UTF-8, and a folder in the file's place."""
    path = tmp_path / "settings.json"
    path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(InputError, match="UTF-8 at line 1"):
        agent_hooks.planned(path, LINE)
    with pytest.raises(OperationError, match="cannot be read"):
        agent_hooks.planned(tmp_path, LINE)


def test_a_file_that_changes_while_the_person_reads_the_diff(tmp_path: Path) -> None:
    """W5: what was shown is what is written, or nothing is."""
    path = tmp_path / "settings.json"
    path.write_text("{}")
    change = agent_hooks.planned(path, LINE)
    path.write_text('{"new": 1}')
    with pytest.raises(OperationError, match="changed meanwhile"):
        agent_hooks.apply(change, tmp_path, remember=True)
    assert path.read_text() == '{"new": 1}'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(
    other=st.dictionaries(st.text(max_size=6), JSON, max_size=4),
    groups=st.lists(JSON, max_size=3),
    indent=st.sampled_from([None, 1, 2, 4, "\t"]),
)
def test_putting_in_and_taking_out_is_nothing(
    other: dict[str, Any], groups: list[Any], indent: int | str | None
) -> None:
    """W5: for any settings, only the list gains an element, and taking it out gives the text back."""
    whole = {**other, "hooks": {"PostToolUse": [*groups, OTHER], "Stop": groups}}
    text = json.dumps(whole, indent=indent)
    more = json_text.added(text, ["hooks", "PostToolUse"], {"x": [1]})
    assert json.loads(more) == {**whole, "hooks": {**whole["hooks"], "PostToolUse": [*groups, OTHER, {"x": [1]}]}}
    assert json_text.without(more, ["hooks", "PostToolUse", len(groups) + 1]) == text


def test_the_command_runs_in_a_shell_and_never_fails(tmp_path: Path) -> None:
    """W5: paths are quoted; a program that is gone (status 2 would stop the agent) answers 0."""
    words = shlex.split(LINE)
    assert words[words.index("--vault") + 1] == "/my notes/it's"
    for line in (
        agent_hooks.command(tmp_path / "a b", tmp_path),
        agent_hooks.command(tmp_path, None, program=tmp_path / "gone.py"),
        agent_hooks.command(tmp_path, None, python=str(tmp_path / "gone")),
    ):
        done = subprocess.run(["/bin/sh", "-c", line], input=b"{}", capture_output=True, timeout=30, check=False)
        assert (done.returncode, done.stdout) == (0, b"")


def test_where_settings_are(tmp_path: Path) -> None:
    """W5: the person's own file; of a project, the file that is not shared, because paths of this machine are in it."""
    at = agent_hooks.settings_file
    assert at("user", project=tmp_path, home=tmp_path, environ={}) == tmp_path / ".claude" / "settings.json"
    assert at("user", project=tmp_path, environ={"CLAUDE_CONFIG_DIR": "/c"}) == Path("/c/settings.json")
    assert at("project", project=tmp_path, environ={}) == tmp_path / ".claude" / "settings.local.json"


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W5: `kos hooks install|status|remove`: shown first, asked, done, undone."""
    app = typer.Typer()
    cli.register(app)
    (tmp_path / "vault").mkdir()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("KOS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("KOS_VAULT", str(tmp_path / "vault"))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "claude" / "settings.json"

    def run(*words: str, answer: str = "") -> Any:
        return CliRunner().invoke(app, ["hooks", *words], input=answer)

    refused = run("install", "claude-code", answer="n\n")
    assert isinstance(refused.exception, KosError)
    assert f"+++ {path}" in refused.output
    assert not path.exists()
    done = run("install", "claude-code", answer="y\n")
    assert done.exit_code == 0, done.output
    (found,) = agent_hooks.status(path)
    assert found.current
    assert shlex.split(found.command)[0] == sys.executable
    assert "nothing was written" in run("install", "claude-code", "--yes").output
    shown = json.loads(run("status", "--json").output)
    assert [row["state"] for row in shown["hooks"]] == ["installed", "not installed"]
    assert "0 files wait" in run("status").output
    assert set(json.loads(run("measure", "--runs", "1", "--json").output)) == {"python alone", "10 kB", "1 MB", "other"}
    assert run("remove", "claude-code", "--yes").exit_code == 0
    assert not path.exists()
    assert "nothing was written" in run("remove", "claude-code").output
    assert isinstance(run("install", "emacs").exception, InputError)
    assert isinstance(run("install", "claude-code", "--scope", "team").exception, InputError)
