"""Ledgers of several writers: processes of one machine, clones that git joins."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from kos_assets.domain.decisions import Decision, fold
from kos_assets.vault.ledger import Ledger, keys, ledger_files, read_ledger
from kos_assets.vault.problems import Problem

AT = datetime(2026, 11, 3, 9, 30, tzinfo=UTC)
A, B = (str(UUID(int=number)) for number in range(1, 3))


def everything(root: Path) -> tuple[list[Decision], list[Problem]]:
    found: list[Decision] = []
    problems: list[Problem] = []
    for file in ledger_files(root):
        records, _, damaged = read_ledger(root, file)
        found += records
        problems += damaged
    return found, problems


def child(code: str, *arguments: str) -> subprocess.Popen[str]:
    source = (
        "import sys\nfrom datetime import UTC, datetime\nfrom pathlib import Path\n"
        "from kos_assets.vault.ledger import Ledger\n" + textwrap.dedent(code)
    )
    return subprocess.Popen([sys.executable, "-c", source, *arguments], stdout=subprocess.PIPE, text=True)


def done(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return out


def test_two_processes_at_once_leave_no_gap_and_no_double(tmp_path: Path) -> None:
    """V6: one writer at a time; numbers are gapless and times never go back."""
    code = """
        import time
        root, go = Path(sys.argv[1]), Path(sys.argv[2])
        print("ready", flush=True)
        while not go.exists():
            time.sleep(0.002)
        for number in range(50):
            Ledger(root, "m-1").append("forget", f"{sys.argv[3]}-{number}", by="m", at=datetime.now(UTC))
    """
    vault = tmp_path / "vault"
    vault.mkdir()
    both = [child(code, str(vault), str(tmp_path / "go"), name) for name in ("left", "right")]
    for process in both:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    (tmp_path / "go").touch()
    for process in both:
        done(process)
    records, problems = everything(vault)
    assert problems == []
    assert len({record.subject for record in records}) == 100
    for month in {record.month for record in records}:
        numbers = [record.seq for record in records if record.month == month]
        assert numbers == list(range(1, len(numbers) + 1))
    assert [record.at for record in records] == sorted(record.at for record in records)


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


def test_two_clones_merge_without_conflict_and_replay_the_same_both_ways(tmp_path: Path) -> None:
    """V6: each clone decides on its own; git joins the ledgers, and the order of the merge does not matter."""
    left, right = tmp_path / "left", tmp_path / "right"
    left.mkdir()
    git(left, "init", "-q", "-b", "main")
    (left / "note.md").write_text("# A note\n", "utf-8")
    here, there = Ledger(left, "m-1"), Ledger(right, "m-2")
    here.append("write", A, by="maria", at=AT)
    here.key()
    git(left, "add", "-A")
    git(left, "commit", "-qm", "start")
    git(tmp_path, "clone", "-q", "left", "right")
    later = [AT + timedelta(minutes=number) for number in range(6)]
    here.append("write", B, by="maria", at=later[1], supersedes=A)
    here.append("merge", "acme", by="maria", at=later[4], other="acme-ltd")
    there.append("forget", A, by="maria", at=later[2])
    there.append("reject", "acme-ltd", by="maria", at=later[3], other="acme")
    there.append("restore", A, by="maria", at=later[5])
    there.key()
    for clone in (left, right):
        git(clone, "add", "-A")
        git(clone, "commit", "-qm", "decisions")
    git(left, "fetch", "-q", "../right", "main:theirs")
    git(right, "fetch", "-q", "../left", "main:theirs")
    for clone in (left, right):
        git(clone, "merge", "-q", "--no-edit", "theirs")
    records, problems = everything(left)
    assert problems == []
    assert len(records) == 6
    assert everything(right) == (records, [])
    by_machine = [[item for item in records if item.machine == name] for name in ("m-1", "m-2")]
    states = fold(by_machine[0] + by_machine[1])
    assert states == fold(by_machine[1] + by_machine[0])
    assert (states[A].forgotten, states[A].superseded_by, states[B].supersedes) == (False, None, None)
    assert keys(left) == keys(right) == {"m-1": here.key(), "m-2": there.key()}
