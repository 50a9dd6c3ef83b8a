"""The agents' hook: what it copies, what it leaves, and that nothing it meets can hold up an agent (W5)."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.writers.agents import capture, hook

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def checkout(root: Path, *, head: str = "ref: refs/heads/main\n", remote: str = "") -> Path:
    """A folder that looks like a checkout to a reader of git's files."""
    git = root / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text(head)
    (git / "refs" / "heads" / "main").write_text(f"{COMMIT}\n")
    (git / "config").write_text(f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {remote}\n' if remote else "")
    return root


def call(path: Path | str, **more: Any) -> bytes:
    return json.dumps(
        {
            "session_id": "a7c1",
            "transcript_path": "/t.jsonl",
            "cwd": "/",
            "hook_event_name": "PostToolUse",
            "tool_name": "Write",
            "tool_input": {"file_path": str(path), "content": "not read"},
            "tool_response": {"filePath": str(path), "success": True},
            **more,
        }
    ).encode()


def work(data_dir: Path, data: bytes, **flags: Path) -> dict[str, Any] | None:
    """What one call puts into the spool, in this process."""
    data_dir.mkdir(exist_ok=True)
    given = {"--data-dir": str(data_dir), **{f"--{name}": str(value) for name, value in flags.items()}}
    name = capture.work(data, given, str(data_dir / "spool" / "agents"))
    return None if name is None else dict(json.loads((data_dir / "spool" / "agents" / name).read_text()))


def program(data_dir: Path, data: bytes, *, extra: tuple[str, ...] = ()) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-I", "-S", "-X", "utf8", *extra, str(hook.__file__), "--data-dir", str(data_dir)]
    return subprocess.run(command, input=data, capture_output=True, timeout=30, check=False)


def settled(data_dir: Path) -> list[Path]:
    """The spool, once the hook's child has ended."""
    deadline = time.monotonic() + 20
    place = data_dir / "spool" / "agents"
    while time.monotonic() < deadline:
        found = sorted(place.glob("*.json")) if place.exists() else []
        if found:
            return found
        time.sleep(0.02)
    return []


def test_a_written_file_waits_in_the_spool_with_its_repository(tmp_path: Path) -> None:
    """W5: content, repository, path, branch, commit, session and time; the file is private, the program silent."""
    repo = checkout(tmp_path / "repo", remote="https://me:secret@github.com/owner/repo.git")
    (repo / "docs").mkdir()
    (repo / "docs" / "plan.md").write_text("# Plan\n\nÜber CJK 計画 and \U0001f600\n")
    data = tmp_path / "data"
    data.mkdir()
    done = program(data, call("docs/plan.md", cwd=str(repo)))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (file,) = settled(data)
    record = json.loads(file.read_text())
    assert re.fullmatch(r"\d+-\d+\.json", file.name)
    assert record["content"] == "# Plan\n\nÜber CJK 計画 and \U0001f600\n"
    assert {key: record[key] for key in ("path", "remote", "branch", "commit", "session", "agent")} == {
        "path": "docs/plan.md",
        "remote": "github.com/owner/repo",
        "branch": "main",
        "commit": COMMIT,
        "session": "a7c1",
        "agent": "claude-code",
    }
    assert "secret" not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"tool_name": "Write"}', b'{"tool_name": "Write", "tool_input": []}',
     b"[" * 100_000, b'{"tool_name": "Write", "tool_input": {"file_path": 7}}',
     b'{"tool_name": ["Write"], "tool_input": {"file_path": "/a.md"}}',
     b'{"tool_name": "Write", "tool_input": {"file_path": "/a\\u0000.md"}}',
     b'{"tool_name": "Write", "tool_input": {"file_path": "/\\ud800.md"}, "cwd": 3}'],
)  # fmt: skip
def test_whatever_comes_in_the_agent_goes_on(tmp_path: Path, data: bytes) -> None:
    """W5: status 0 and not a byte of output for any input; the spool gains nothing."""
    (tmp_path / "spool" / "agents").mkdir(parents=True)
    done = program(tmp_path, data)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list((tmp_path / "spool" / "agents").glob("*.json")) == []


def test_arguments_that_make_no_sense_do_not_stop_the_agent(tmp_path: Path) -> None:
    """W5: without a data folder there is nowhere to write, and nothing is made."""
    command = [sys.executable, "-I", "-S", str(hook.__file__), "--data-dir"]
    done = subprocess.run(command, input=b"{}", capture_output=True, timeout=30, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr, list(tmp_path.iterdir())) == (0, b"", b"", [])
    assert program(tmp_path / "gone", call(tmp_path / "a.md")).returncode == 0
    assert not (tmp_path / "gone").exists()


def test_an_input_that_never_ends_does_not_hold_up_the_agent(tmp_path: Path) -> None:
    """W5: the program is back although stdin stays open; what its child waits for is cut off by the system."""
    command = [sys.executable, "-I", "-S", "-X", "utf8", str(hook.__file__), "--data-dir", str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as waiting:
        assert waiting.stdin is not None
        assert waiting.stdout is not None
        began = time.monotonic()
        assert waiting.stdout.read() == b""
        assert waiting.wait(10) == 0
        assert time.monotonic() - began < 5  # 0.08 s on an idle machine
        waiting.stdin.close()


def test_only_what_starts_fast_is_imported(tmp_path: Path) -> None:
    """W5: nothing outside the standard library, nothing of this package but the file beside it, nothing slow."""
    repo = checkout(tmp_path / "repo")
    (repo / "a.md").write_text("text")
    (tmp_path / "data").mkdir()
    folder, spool = str(Path(hook.__file__).parent), str(tmp_path / "data" / "spool" / "agents")
    code = (
        f"import sys; sys.path.append({folder!r}); import hook, capture; "
        f"capture.work({call(repo / 'a.md')!r}, {{'--data-dir': {str(tmp_path / 'data')!r}}}, {spool!r})"
    )
    command = [sys.executable, "-I", "-S", "-X", "utf8", "-X", "importtime", "-c", code]
    done = subprocess.run(command, capture_output=True, timeout=30, check=True)
    names = {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in done.stderr.decode().splitlines()[1:]}
    assert len(list(Path(spool).iterdir())) == 1
    assert names - set(sys.stdlib_module_names) == {"hook", "capture"}
    slow = {"re", "enum", "json", "pathlib", "typing", "argparse", "subprocess", "logging", "signal", "site", "inspect"}
    assert not names & slow


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.none() | st.floats(allow_nan=False))))
def test_json_is_read_as_the_library_reads_it(value: dict[str, Any]) -> None:
    """W5: the fast way to read and write JSON gives what `json` gives."""
    for indent in (None, 2):
        text = json.dumps(value, indent=indent)
        assert capture.parsed(f"\ufeff {text}\n".encode()) == value
    flat: dict[str, object] = {
        json.dumps(key)[1:-1]: item for key, item in value.items() if isinstance(item, str | int)
    }
    assert json.loads(capture.written(flat)) == {json.loads(f'"{key}"'): item for key, item in flat.items()}


@pytest.mark.parametrize("text", ["", "{", "{} x", "[1,]", "{'a': 1}", "nul"])
def test_what_is_no_json_is_refused(text: str) -> None:
    """W5: as an error that the log can name."""
    with pytest.raises(ValueError):  # noqa: PT011 - json's own error and ours
        capture.parsed(text.encode())


def test_what_is_not_mirrored(tmp_path: Path) -> None:
    """W5: other tools, other files, no repository, the vault, hidden folders, dependencies."""
    repo = checkout(tmp_path / "repo")
    for name in ("a.md", "a.txt", "vault/a.md", ".obsidian/a.md", "node_modules/x/README.md", ".git/a.md",
                 "vendor/b.md", ".claude/skills/x/SKILL.md", "UPPER.MD", "b.markdown"):  # fmt: skip
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text("text")
    (tmp_path / "outside.md").write_text("text")
    vault = repo / "vault"

    def kept(name: str, **more: Any) -> bool:
        return work(tmp_path / "data", call(repo / name, **more), vault=vault) is not None

    assert kept("a.md")
    assert kept("UPPER.MD")
    assert kept("b.markdown")
    assert kept(".claude/skills/x/SKILL.md")
    for name in ("a.txt", "vault/a.md", ".obsidian/a.md", "node_modules/x/README.md", ".git/a.md", "vendor/b.md"):
        assert not kept(name), name
    assert not kept("../outside.md")
    assert not kept("a.md", tool_name="Read")


def test_a_link_counts_as_the_file_that_it_leads_to(tmp_path: Path) -> None:
    """W5: a link out of the repository mirrors nothing; one inside counts under the file's own name."""
    repo = checkout(tmp_path / "repo")
    (repo / "CLAUDE.md").write_text("rules")
    (repo / "AGENTS.md").symlink_to("CLAUDE.md")
    (tmp_path / "secret.md").write_text("secret")
    (repo / "out.md").symlink_to(tmp_path / "secret.md")
    found = work(tmp_path / "data", call(repo / "AGENTS.md"))
    assert found is not None
    assert found["path"] == "CLAUDE.md"
    assert work(tmp_path / "data", call(repo / "out.md")) is None


def test_devices_and_sizes(tmp_path: Path) -> None:
    """W5: a pipe is not opened, a file over the limit leaves its size, bytes that are no UTF-8 come through."""
    repo = checkout(tmp_path / "repo")
    os.mkfifo(repo / "pipe.md")
    with pytest.raises(ValueError, match="regular"):
        work(tmp_path / "data", call(repo / "pipe.md"))
    (repo / "big.md").write_bytes(b"x" * (capture.LARGEST_FILE + 1))
    found = work(tmp_path / "data", call(repo / "big.md"))
    assert found is not None
    assert found["too_large"] == capture.LARGEST_FILE + 1
    assert "content" not in found
    (repo / "latin.md").write_bytes("Müller".encode("latin-1"))
    found = work(tmp_path / "data", call(repo / "latin.md"))
    assert found is not None
    assert found["content_base64"] == "TfxsbGVy"


def test_a_failure_is_told_in_a_log_that_stays_small(tmp_path: Path) -> None:
    """W5: the log is private and starts anew at its limit."""
    spool = tmp_path / "spool" / "agents"
    spool.mkdir(parents=True)
    log = spool / "hook.log"
    program(tmp_path, b"{")
    deadline = time.monotonic() + 20
    while not log.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert "Error" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    log.write_bytes(b"x" * (hook.LARGEST_LOG + 1))
    hook.log(str(spool), "again")
    assert log.read_text().endswith("again\n")
    assert log.stat().st_size < 100


def test_the_spool_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W5: a spool that nobody empties does not fill the disk."""
    repo = checkout(tmp_path / "repo")
    (repo / "a.md").write_text("text")
    monkeypatch.setattr(capture, "MOST_WAITING", 2)
    assert work(tmp_path / "data", call(repo / "a.md"))
    assert work(tmp_path / "data", call(repo / "a.md"))
    with pytest.raises(ValueError, match="wait in the spool"):
        work(tmp_path / "data", call(repo / "a.md"))


def test_branch_and_commit_without_git(tmp_path: Path) -> None:
    """W5: loose refs, packed refs, a detached HEAD, no commit yet, a worktree, a submodule."""
    repo = checkout(tmp_path / "repo", remote="git@github.com:o/r.git")
    assert capture.git_facts(str(repo)) == {"remote": "github.com/o/r", "branch": "main", "commit": COMMIT}
    (repo / ".git" / "refs" / "heads" / "main").unlink()
    assert capture.git_facts(str(repo))["commit"] == ""
    other = COMMIT[::-1]
    packed = f"# pack-refs with: peeled\n{other} refs/heads/main\n^{COMMIT}\n{COMMIT} refs/heads/main2\n"
    (repo / ".git" / "packed-refs").write_text(packed)
    assert capture.git_facts(str(repo))["commit"] == other
    (repo / ".git" / "HEAD").write_text(f"{COMMIT}\n")
    assert capture.git_facts(str(repo)) == {"remote": "github.com/o/r", "branch": "", "commit": COMMIT}
    (repo / ".git" / "HEAD").write_text("ref: refs/heads/../../../../etc/passwd\n")
    assert capture.git_facts(str(repo))["commit"] == ""
    inner = repo / ".git" / "worktrees" / "w"
    inner.mkdir(parents=True)
    (inner / "HEAD").write_text("ref: refs/heads/main\n")
    (inner / "commondir").write_text("../..\n")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {inner}\n")
    assert capture.git_facts(str(tree)) == {"remote": "github.com/o/r", "branch": "main", "commit": other}
    sub = repo / "sub"
    sub.mkdir()
    checkout(tmp_path / "module")
    (tmp_path / "module" / ".git").rename(repo / ".git" / "modules")
    (sub / ".git").write_text("gitdir: ../.git/modules\n")
    assert capture.git_facts(str(sub)) == {"remote": "", "branch": "main", "commit": COMMIT}


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("https://github.com/o/r.git", "github.com/o/r"),
        ("https://user:pa%20ss@GitHub.com:443/o/r/", "github.com/o/r"),
        ("https://user:pa/ss@github.com/o/r", "github.com/o/r"),
        ("https://ghp_abcdef@github.com/o/r.git", "github.com/o/r"),
        ("https://user:pa?ss@host/o/r", ""),
        ("https://host/o/r.git?access_token=abc#x", "host/o/r"),
        ("git@github.com:o/r.git", "github.com/o/r"),
        ("ssh://git@github.com:22/o/r.git", "github.com/o/r"),
        ("ssh://git@host:2222/o/r.git", "host:2222/o/r"),
        ("host:o/r", "host/o/r"),
        ("oauth2:token@host/o/r", ""),
        ("file:///srv/git/r.git", "/srv/git/r"),
        ("/srv/git/r.git", "/srv/git/r"),
        ("../other", ""),
        ("C:\\repos\\r", ""),
        ("ext::sh -c evil", ""),
        ("", ""),
    ],
)
def test_one_remote_has_one_name(url: str, plain: str) -> None:
    """W5: https, ssh and git lead to one name; neither user, password, token nor query is in it."""
    assert capture.plain_remote(url) == plain


@settings(max_examples=200, deadline=None)
@given(
    user=st.text(min_size=1, max_size=12),
    secret=st.text(alphabet=st.characters(codec="ascii", min_codepoint=33), min_size=1, max_size=20),
)
def test_a_password_is_never_kept(user: str, secret: str) -> None:
    """W5: whatever a url's user and password are made of, the name of the remote does not hold them."""
    name = capture.plain_remote(f"https://{user}:QQ{secret}QQ@example.org/o/r.git")
    assert "QQ" not in name


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300))
def test_any_config_has_a_remote_or_none(text: str) -> None:
    """W5: git's config of any repository is read without an error."""
    assert isinstance(capture.remote_of(text), str)
