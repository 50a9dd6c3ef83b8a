"""The agents' writer through the mirror: spool, walker, which version counts, what is gone (W1, W5, W8)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from kos_assets.domain.frame import FRAME_END, FRAME_START
from kos_assets.domain.mirrors import mirror_settings
from kos_assets.errors import ConfigError
from kos_assets.vault import frontmatter
from kos_assets.writers.agents import capture, checkouts, history, open_source
from kos_assets.writers.agents.source import AgentSource
from kos_assets.writers.contract import Item, Settling, Skipped, SourceError
from kos_assets.writers.mirror import MirrorReport, mirror

BERLIN = ZoneInfo("Europe/Berlin")
CLAUDE = "\n\nCo-Authored-By: Claude Opus 4.5 <noreply@anthropic.com>\n"
SESSION = "\n\nClaude-Session: https://claude.ai/code/session_01abc\n"
NINE = int(datetime(2026, 3, 4, 9, tzinfo=UTC).timestamp())


class House:
    """A vault, a data folder and a folder of repositories."""

    def __init__(self, base: Path) -> None:
        self.vault, self.data, self.src = base / "vault", base / "data", base / "src"
        for folder in (self.vault, self.data, self.src):
            folder.mkdir()
        self.clock = NINE

    def repo(self, name: str, *, remote: str = "https://github.com/owner/{}.git") -> Path:
        root = self.src / name
        root.mkdir(parents=True)
        self.git(root, "init", "-q", "-b", "main")
        if remote:
            self.git(root, "remote", "add", "origin", remote.format(name))
        return root

    def git(self, root: Path, *arguments: str) -> str:
        moment = f"{self.clock} +0100"
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(root.parent), "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org", "GIT_AUTHOR_DATE": moment,
            "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org", "GIT_COMMITTER_DATE": moment,
        }  # fmt: skip
        done = subprocess.run(
            ["git", *arguments], cwd=root, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, root: Path, message: str, **texts: str | None) -> str:
        """A commit, an hour after the one before; names with `__` for `/`."""
        for name, text in texts.items():
            path = root / f"{name.replace('__', '/')}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink() if text is None else path.write_text(text)
        self.clock += 3600
        self.git(root, "add", "-A", "-f")
        self.git(root, "commit", "-q", "--allow-empty", "-m", message)
        return self.git(root, "rev-parse", "HEAD")

    def wrote(self, path: Path, text: str | bytes | None = None, *, session: str = "s-1", **flags: str) -> None:
        """The agent writes a file, an hour later, and its hook sees that."""
        if text is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode() if isinstance(text, str) else text)
        self.clock += 3600
        call = {"tool_name": "Write", "cwd": "/", "session_id": session, "tool_input": {"file_path": str(path)}}
        given = {"--data-dir": str(self.data), "--vault": str(self.vault), **flags}
        spool = self.data.joinpath(*capture.SPOOL)
        name = capture.work(json.dumps(call).encode(), given, str(spool))
        assert name is not None
        record = json.loads((spool / name).read_text()) | {"at_ns": self.clock * 10**9}
        (spool / f"{self.clock * 10**9}-1.json").write_text(json.dumps(record))
        (spool / name).unlink()

    def source(self, *, walk: bool = False, agent: str = "claude-code") -> AgentSource:
        table: dict[str, Any] = {"agent": agent, "repositories": [str(self.src)] if walk else []}
        found = open_source(mirror_settings("agents", table), vault=self.vault, data_dir=self.data, zone=BERLIN)
        assert isinstance(found, AgentSource)
        return found

    def run(self, *, walk: bool = False) -> MirrorReport:
        source = self.source(walk=walk)
        report = mirror(source, self.vault, name="agents", folder="agents", namespace=None, today=date(2026, 12, 1))
        source.settle()
        return report

    def notes(self) -> dict[str, str]:
        place = self.vault / "agents"
        return {path.relative_to(place).as_posix(): path.read_text() for path in sorted(place.rglob("*.md"))}

    def note(self) -> tuple[Mapping[str, Any], str]:
        (text,) = self.notes().values()
        head = frontmatter.parse(text.encode())
        return head.properties, text.encode()[head.body_start :].decode()

    def waiting(self) -> int:
        return len(list(self.data.joinpath(*capture.SPOOL).glob("*.json")))


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def codes(report: MirrorReport) -> set[str]:
    return {item.code for item in report.skipped} | set(report.left_out)


def test_what_the_hook_saw_becomes_a_note_and_leaves_the_spool(house: House) -> None:
    """W5: keyed by repository and path, with branch, commit and session; the spool is emptied after the notes stand."""
    repo = house.repo("larch")
    commit = house.commit(repo, "begin", other="x")
    house.wrote(repo / "docs" / "adr" / "one.md", "# Use PostgreSQL\n\nBecause of pgvector.\n")
    report = house.run()
    assert (report.written, report.items, house.waiting()) == (1, 1, 0)
    assert list(house.notes()) == ["larch/docs/adr/2026-03-04 Use PostgreSQL.md"]
    says, body = house.note()
    assert body == "# Use PostgreSQL\n\nBecause of pgvector.\n"
    expected = {
        "source_id": "github.com/owner/larch:docs/adr/one.md", "kind": "agent", "provenance": "output",
        "repository": "github.com/owner/larch", "repository_path": "docs/adr/one.md", "branch": "main",
        "commit": commit, "agent": "claude-code", "session": "s-1", "date": "2026-03-04T12:00:00+01:00",
        "timezone": "Europe/Berlin", "origin": "github.com/owner/larch/docs/adr/one.md",
    }  # fmt: skip
    assert expected.items() <= dict(says).items()
    assert isinstance(house.source(), Settling)


def test_the_last_of_many_versions_counts_and_a_second_run_writes_nothing(house: House) -> None:
    """W1, W5: several sessions wrote one file; nothing is written twice, and nothing without something new."""
    repo = house.repo("larch")
    for number in range(3):
        house.wrote(repo / "a.md", f"# A\n\nversion {number}\n", session=f"s-{number}")
    assert house.run().written == 1
    assert "version 2" in house.note()[1]
    assert house.note()[0]["session"] == "s-2"
    (path,) = (house.vault / "agents").rglob("*.md")
    before = path.stat().st_mtime_ns
    again = house.run()
    assert (again.items, again.gone, path.stat().st_mtime_ns) == (0, 0, before)
    house.wrote(repo / "a.md", "# B\n\nversion 3\n", session="s-3")
    assert (house.run().updated, len(house.notes())) == (1, 1)
    house.wrote(repo / "a.md", "# B\n\nversion 3\n", session="s-4")
    report = house.run()
    assert (report.unchanged, report.updated, house.note()[0]["session"]) == (1, 0, "s-3")


def test_the_same_source_gives_the_same_entries(house: House) -> None:
    """W1: two readings are equal, and the fingerprint changes with what waits and with a commit."""
    repo = house.repo("larch")
    house.commit(repo, f"begin{CLAUDE}", a="# A", b="# B")
    house.wrote(repo / "c.md", "# C")
    first, second = house.source(walk=True), house.source(walk=True)
    assert list(first.entries()) == list(second.entries())
    before = first.fingerprint()
    assert before == second.fingerprint() is not None
    house.wrote(repo / "c.md", "# CC")
    after = first.fingerprint()
    house.commit(repo, "more", d="# D")
    assert len({before, after, first.fingerprint()}) == 3


def test_the_walker_finds_what_an_agent_committed(house: House) -> None:
    """W5: by trailers and authors; instruction files whoever wrote them; not what people wrote alone."""
    repo = house.repo("larch")
    house.commit(repo, "by a person", human="# Human", CLAUDE="# Rules", mixed="# Mixed")
    made = house.commit(repo, f"by the agent{SESSION}", agent="# Agent", node_modules__x__README="# Dependency")
    house.commit(repo, f"together{CLAUDE}", mixed="# Mixed, better")
    house.commit(repo, "by a person again", mixed="# Mixed, best")
    (repo / ".cursor" / "rules").mkdir(parents=True)
    (repo / ".cursor" / "rules" / "style.mdc").write_text("---\nglobs: '*.py'\n---\nShort lines.\n")
    house.commit(repo, "rules", **{".claude__agents__tester": "# Tester"})
    report = house.run(walk=True)
    assert report.skipped == []
    found = {frontmatter.parse(text.encode()).properties["repository_path"] for text in house.notes().values()}
    assert found == {"agent.md", "mixed.md", "CLAUDE.md", ".cursor/rules/style.mdc", ".claude/agents/tester.md"}
    text = next(text for text in house.notes().values() if "# Agent" in text)
    assert f'commit: "{made}"' in text
    assert 'session: "session_01abc"' in text
    assert 'date: "2026-03-04T12:00:00+01:00"' in text
    assert house.run(walk=True).unchanged == 5


def test_hook_and_commit_agree_and_do_not_write_in_turns(house: House) -> None:
    """W1: the commit that follows the hook changes nothing; a later commit does; an older one does not."""
    repo = house.repo("larch")
    house.commit(repo, f"begin{CLAUDE}", a="# A\n\nfirst\n")
    house.wrote(repo / "a.md", "# A\n\nsecond\n", session="s-9")
    assert house.run(walk=True).written == 1
    assert "second" in house.note()[1]
    report = house.run(walk=True)
    assert (report.items, codes(report), report.gone) == (0, {"older_version"}, 0)
    house.commit(repo, f"second{CLAUDE}")
    report = house.run(walk=True)
    assert (report.unchanged, report.updated, house.note()[0]["session"]) == (1, 0, "s-9")
    house.commit(repo, "third", a="# A\n\nthird\n")
    assert house.run(walk=True).updated == 1
    assert "session" not in house.note()[0]


def test_a_clone_has_the_same_notes(house: House) -> None:
    """W5: two clones of one remote, over https and ssh, give one note a file, of the newest commit."""
    first = house.repo("larch")
    house.commit(first, f"begin{CLAUDE}", a="# A\n\none\n")
    house.git(house.src, "clone", "-q", str(first), "second")
    house.git(house.src / "second", "remote", "set-url", "origin", "git@github.com:owner/larch.git")
    house.commit(house.src / "second", "newer", a="# A\n\ntwo\n")
    house.run(walk=True)
    assert "two" in house.note()[1]
    shutil.rmtree(house.src / "second")
    report = house.run(walk=True)
    assert (codes(report), report.gone) == ({"older_version"}, 0)


def test_without_a_remote_the_first_commit_is_the_identity(house: House) -> None:
    """W5: a moved repository keeps its notes; one without any commit is known by its folder."""
    repo = house.repo("larch", remote="")
    first = house.commit(repo, f"begin{CLAUDE}", a="# A")
    house.wrote(repo / "b.md", "# B")
    house.run(walk=True)
    assert {frontmatter.parse(text.encode()).properties["source_id"] for text in house.notes().values()} == {
        f"commit:{first}:a.md", f"commit:{first}:b.md"
    }  # fmt: skip
    repo.rename(house.src / "moved")
    report = house.run(walk=True)
    assert (report.written, report.gone) == (0, 0)
    empty = house.repo("empty", remote="")
    house.wrote(empty / "c.md", "# C")
    house.run()
    (name,) = (text for text in house.notes().values() if "# C" in text)
    assert 'source_id: "folder:' in name
    assert str(house.src) not in name


def test_a_repository_that_grows_keeps_its_notes(house: House) -> None:
    """V2, W5: no commit, a first commit, a remote, a clone of it: one note all the time."""
    repo = house.repo("larch", remote="")
    house.wrote(repo / "a.md", "# A")
    house.run(walk=True)
    first = house.note()[0]["source_id"]
    house.commit(repo, f"begin{CLAUDE}")
    assert house.run(walk=True).written == 0
    house.git(repo, "remote", "add", "origin", "https://github.com/owner/larch")
    house.commit(repo, f"more{CLAUDE}", a="# A\n\nmore")
    report = house.run(walk=True)
    assert (report.written, report.updated, report.gone) == (0, 1, 0)
    house.git(house.src, "clone", "-q", str(repo), "second")
    house.git(house.src / "second", "remote", "set-url", "origin", "git@github.com:owner/larch.git")
    house.wrote(house.src / "second" / "a.md", "# A\n\nmost")
    report = house.run(walk=True)
    assert (report.written, report.updated, len(house.notes())) == (0, 1, 1)
    assert house.note()[0]["source_id"] == first
    assert house.note()[0]["repository"] == "github.com/owner/larch"


def test_a_repository_that_is_gone_is_still_known(house: House) -> None:
    """W5: what waits of a repository without a remote that was deleted since goes to the note that there is."""
    repo = house.repo("larch", remote="")
    house.commit(repo, f"begin{CLAUDE}")
    house.wrote(repo / "a.md", "# A")
    house.run()
    house.wrote(repo / "a.md", "# A\n\nmore")
    shutil.rmtree(repo)
    report = house.run()
    assert (report.written, report.updated) == (0, 1)


def test_another_repository_at_the_same_place_is_another(house: House) -> None:
    """W5: what was known by its first commit is not taken for what was cloned into its folder later."""
    repo = house.repo("larch", remote="")
    house.commit(repo, f"begin{CLAUDE}", a="# A")
    house.run(walk=True)
    shutil.rmtree(repo)
    house.commit(house.repo("larch"), f"new{CLAUDE}", a="# Other")
    report = house.run(walk=True)
    assert (report.written, report.updated, report.gone) == (1, 0, 0)


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 9999, '{"given": 1, "kept": {"a": 2}}'])
def test_a_broken_record_of_repositories_is_no_record(house: House, text: str) -> None:
    """W5: the run goes on, and writes it anew."""
    record = house.data / "mirrors" / "agents.repositories.json"
    record.parent.mkdir()
    record.write_text(text)
    house.wrote(house.repo("larch") / "a.md", "# A")
    assert house.run().written == 1
    assert json.loads(record.read_text())["given"] == {str(house.src / "larch" / ".git"): "github.com/owner/larch"}


def test_gone_is_only_what_a_commit_deleted(house: House) -> None:
    """W1: a deleted file is marked; one that is not committed, on another branch, or not searched, is not."""
    repo, other = house.repo("larch"), house.repo("elm")
    house.commit(repo, f"begin{CLAUDE}", kept="# Kept", deleted="# Deleted")
    house.wrote(repo / "draft.md", "# Draft")
    house.wrote(other / "far.md", "# Far")
    house.git(repo, "checkout", "-q", "-b", "side")
    (repo / "draft.md").rename(house.src / "draft")
    house.commit(repo, f"side{CLAUDE}", side="# Side")
    (house.src / "draft").rename(repo / "draft.md")
    assert house.run(walk=True).written == 5
    house.git(repo, "checkout", "-q", "main")
    house.commit(repo, "away", deleted=None)
    shutil.rmtree(other)
    report = house.run(walk=True)
    marked = [name for name, text in house.notes().items() if "gone_since" in text]
    assert (report.gone, len(marked)) == (1, 1)
    assert "Deleted" in marked[0]
    assert {"not_walked", "other_branch"} <= codes(report)
    house.commit(repo, "back", deleted="# Deleted")
    house.run(walk=True)
    assert not any("gone_since" in text for text in house.notes().values())


def test_the_spool_alone_never_says_that_something_is_gone(house: House) -> None:
    """W1: complete only with a walker."""
    assert house.source().complete is False
    assert house.source(walk=True).complete is True


def test_an_unreadable_repository_is_told_and_loses_nothing(house: House) -> None:
    """W1: git fails for one repository; its notes stay, the others go on."""
    repo, other = house.repo("larch"), house.repo("elm")
    house.commit(repo, f"begin{CLAUDE}", a="# A")
    house.commit(other, f"begin{CLAUDE}", b="# B")
    house.run(walk=True)
    shutil.rmtree(repo / ".git" / "objects")
    house.commit(other, f"more{CLAUDE}", c="# C")
    report = house.run(walk=True)
    assert (report.written, report.gone) == (1, 0)
    assert [item.code for item in report.skipped] == ["git_failed"]


def test_a_note_that_a_person_changed_keeps_its_spool_file(house: House) -> None:
    """W5: what the agent wrote is not lost while the note is left alone."""
    repo = house.repo("larch")
    house.wrote(repo / "a.md", "# A\n\none\n")
    house.run()
    (path,) = (house.vault / "agents").rglob("*.md")
    path.write_text(path.read_text() + "\nmy own words\n")
    house.wrote(repo / "a.md", "# A\n\ntwo\n")
    report = house.run()
    assert (report.edited, house.waiting()) == (1, 1)
    path.unlink()
    assert (house.run().written, house.waiting()) == (1, 0)
    assert "two" in house.note()[1]


def test_frontmatter_of_a_file_is_text_and_no_property(house: House) -> None:
    """W5: kept as a fenced block; it cannot pass itself off as ours, nor widen a namespace (V9)."""
    repo = house.repo("larch")
    house.wrote(
        repo / "SKILL.md", "---\nname: x\nkos_namespace: global\nkos_id: 7\nnote: '```'\n---\n\n# Skill\n\nDo it.\n"
    )
    house.run()
    says, body = house.note()
    assert "kos_namespace" not in says
    assert says["title"] == "Skill"
    assert body.startswith("# Skill\n\n````yaml\nname: x\n")
    assert body.endswith("````\n\nDo it.\n")


@pytest.mark.parametrize(
    ("text", "title", "body"),
    [
        ("# One\n\ntext", "One", "# One\n\ntext\n"),
        ("\n\n# One #\ntext", "One", "# One\n\ntext\n"),
        ("One\n===\n\ntext", "One", "# One\n\ntext\n"),
        ("![badge](x)\n\n# One\n\ntext", "One", "# One\n\n![badge](x)\n\n# One\n\ntext\n"),
        ("```sh\n# no title\n```\n\n# One", "One", "# One\n\n```sh\n# no title\n```\n\n# One\n"),
        ("plain", "docs: README", "# docs: README\n\nplain\n"),
        ("# " + "x" * 400, "x" * 300, "# " + "x" * 300 + "\n\n# " + "x" * 400 + "\n"),
        ("---\n---\n", None, ""),
        ("\n \n", None, ""),
        ("---\nnever: closed\n", "docs: README", "# docs: README\n\n---\nnever: closed\n"),
    ],
)
def test_titles(house: House, text: str, title: str | None, body: str) -> None:
    """W5: the first heading of the first level, outside of code; else the file's name. Nothing is lost."""
    repo = house.repo("larch")
    house.wrote(repo / "docs" / "README.md", text)
    report = house.run()
    if title is None:
        assert codes(report) == {"empty"}
        return
    says, found = house.note()
    assert (says["title"], found) == (title, body)


def test_what_was_recalled_is_cut(house: House) -> None:
    """W8: a frame in a file, in the spool or in a commit, never comes back as knowledge."""
    repo = house.repo("larch")
    framed = f"# Notes\n\nmine\n\n{FRAME_START}\n| recalled secret\n{FRAME_END}\n\nmine too\n"
    house.wrote(repo / "a.md", framed)
    house.commit(repo, f"begin{CLAUDE}", b=framed.replace("Notes", "More"))
    report = house.run(walk=True)
    assert report.recalled_cut == 2
    for text in house.notes().values():
        assert "recalled secret" not in text
        assert "mine too" in text


def test_hostile_spool_files(house: House) -> None:
    """W5: each is told once and set aside; the rest goes on; nothing outside the spool is read."""
    repo = house.repo("larch")
    house.wrote(repo / "good.md", "# Good")
    spool = house.data.joinpath(*capture.SPOOL)
    record = json.loads(next(spool.glob("*.json")).read_text())
    bad: list[bytes] = [b"", b"{", b"[" * 100_000, b"[]", b"null", b'{"version": 2}', b"\xff"]
    bad += [json.dumps(record | change).encode() for change in (
        {"path": "../../etc/passwd.md"}, {"path": ""}, {"at_ns": "now"}, {"at_ns": -1}, {"root": 7},
        {"path": "x" * 5000}, {"at_ns": 10**30},
    )]  # fmt: skip
    for number, data in enumerate(bad):
        (spool / f"{number + 1}-1.json").write_bytes(data)
    (spool / "99-1.json").symlink_to("/etc/passwd")
    os.mkfifo(spool / "98-1.json")
    (spool / "97-1.json").write_text(json.dumps(record | {"content": None, "path": "lost.md"}))
    (spool / "96-1.json").write_text(json.dumps(record | {"content": "a\0b\ud800", "path": "odd.md"}))
    (spool / "95-1.json").write_text(json.dumps({**record, "content": None, "too_large": 9**9, "path": "big.md"}))
    (spool / "94-1.json").write_text(json.dumps(record | {"agent": "codex", "path": "codex.md"}))
    report = house.run()
    assert report.written == 2
    told = [item.code for item in report.skipped]
    assert sorted(told) == sorted(["bad_spool_file"] * len(bad) + ["unreadable_file", "too_large"])
    assert report.left_out == {"other_agent": 1}
    assert len(list(spool.glob("*.bad"))) == len(bad)
    again = house.run()
    assert (again.skipped, again.left_out) == ([], {"other_agent": 1})


def test_a_repository_cannot_run_anything(house: House, tmp_path: Path) -> None:
    """V4: filters, monitors, hooks and pagers that a repository names are not started by the walker."""
    repo = house.repo("larch")
    (repo / ".gitattributes").write_text("*.md filter=evil diff=evil\n")
    house.commit(repo, f"begin{CLAUDE}", a="# A")
    mark = tmp_path / "ran"
    for key in ("filter.evil.smudge", "filter.evil.clean", "diff.evil.textconv", "diff.evil.command", "core.fsmonitor",
                "core.pager", "diff.external", "core.sshCommand", "gpg.program"):  # fmt: skip
        house.git(repo, "config", key, f"touch {mark}; cat")
    house.git(repo, "config", "log.showSignature", "true")
    assert house.run(walk=True).written == 1
    assert not mark.exists()


def test_links_and_odd_names_in_a_tree(house: House) -> None:
    """V4: a committed link is not followed; names in any script, with spaces and quotes, come through."""
    repo = house.repo("larch")
    (repo / "leak.md").symlink_to("/etc/hostname")
    names = ["計画", "a b", 'q"uote', "tab\tname", "-rf", "\U0001f600"]
    house.commit(repo, f"begin{CLAUDE}", **{name: f"text of {number}" for number, name in enumerate(names)})
    report = house.run(walk=True)
    assert (report.written, report.skipped) == (len(names), [])


def test_a_vault_inside_of_a_repository_is_not_mirrored_into_itself(tmp_path: Path) -> None:
    """W5: the walker leaves the vault out, also where a searched repository holds it."""
    house = House(tmp_path)
    repo = house.repo("larch")
    house.vault = repo / "notes"
    house.vault.mkdir()
    house.commit(repo, f"begin{CLAUDE}", a="# A", notes__b="# B")
    house.run(walk=True)
    assert list(house.notes()) == ["larch/2026-03-04 A.md"]


def test_a_shallow_clone_does_not_make_its_last_commit_the_author_of_all(house: House) -> None:
    """W5: where history is cut off, the commit at the cut says nothing of who wrote a file."""
    first = house.repo("larch")
    house.commit(first, "by a person", human="# Human")
    house.commit(first, f"by the agent{CLAUDE}", agent="# Agent")
    house.git(house.src, "clone", "-q", "--depth", "1", f"file://{first}", "shallow")
    past = history.read(house.src / "shallow", "HEAD", "claude-code")
    assert set(past.blobs) == {"human.md", "agent.md"}
    assert not any(past.of_agent(path) for path in past.blobs)
    assert history.read(first, "HEAD", "claude-code").of_agent("agent.md")


def test_the_search_is_bounded_and_follows_no_link(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """V4: a loop of links ends, hidden folders and dependencies are left out, and a limit is told."""
    house.repo("a")
    house.repo("b/inner")
    house.repo("node_modules/c")
    house.repo(".hidden/d")
    (house.src / "loop").symlink_to(house.src)
    found = list(checkouts.found([house.src], without=[]))
    assert [entry.root.name for entry in found if isinstance(entry, checkouts.Checkout)] == ["a", "inner"]
    monkeypatch.setattr(checkouts, "MOST_CHECKOUTS", 1)
    found = list(checkouts.found([house.src], without=[]))
    assert [entry.code for entry in found if isinstance(entry, Skipped)] == ["too_many_folders"]


def test_a_repository_with_too_much_is_told(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """V4: more files than the limit are no reason to hold them all."""
    repo = house.repo("larch")
    house.commit(repo, f"begin{CLAUDE}", a="# A", b="# B")
    monkeypatch.setattr(history, "MOST_FILES", 1)
    (told,) = house.run(walk=True).skipped
    assert told.code == "git_failed"
    assert "more than 1 Markdown" in told.reason


def test_other_agents_have_mirrors_of_their_own(house: House) -> None:
    """W5: the option `agent` says whose commits and whose spool files count."""
    repo = house.repo("larch")
    house.commit(repo, "x\n\nCo-authored-by: Codex <noreply@openai.com>", codex="# Codex")
    house.commit(repo, f"y{CLAUDE}", claude_notes="# Claude")
    house.commit(repo, "z\n\nCo-authored-by: Claude Monet <monet@example.org>", monet="# Monet")
    ids = {item.external_id for item in house.source(walk=True, agent="codex").entries() if isinstance(item, Item)}
    assert ids == {"github.com/owner/larch:codex.md"}
    ids = {item.external_id for item in house.source(walk=True).entries() if isinstance(item, Item)}
    assert ids == {"github.com/owner/larch:claude_notes.md"}


def test_settings_that_cannot_work(house: House) -> None:
    """W1: a folder that is not there is no empty source."""

    def opened(folder: str) -> None:
        table = mirror_settings("agents", {"repositories": [folder]})
        open_source(table, vault=house.vault, data_dir=house.data, zone=BERLIN)

    with pytest.raises(ConfigError, match="absolute"):
        opened("src")
    with pytest.raises(SourceError, match="no folder"):
        opened(str(house.src / "gone"))


def test_the_page_shows_what_the_code_does(house: House) -> None:
    """House rule 15: the sample of docs/writers/agents.md, run."""
    page = (Path(__file__).parents[3] / "docs" / "writers" / "agents.md").read_text("utf-8")
    repo = house.repo("larch", remote="git@github.com:owner/larch.git")
    house.git(repo, "commit", "-q", "--allow-empty", "-m", "begin")
    house.wrote(
        repo / "docs" / "queue.md", re.findall(r"^```markdown\n(.*?)^```$", page, re.M | re.S)[0], session="a7c1"
    )
    house.run()
    ((name, text),) = house.notes().items()
    assert f"`agents/{name}`" in page
    assert re.findall(r"^````markdown\n(.*?)^````$", page, re.M | re.S) == [text]
