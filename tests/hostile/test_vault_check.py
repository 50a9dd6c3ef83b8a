"""V1, V2, V7, V9: `kos vault check` and the preview of `kos init` say what there is, where, and what to do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from kos_assets.cli import vault_check, vault_init
from kos_assets.errors import KosError, VaultError
from kos_assets.ingest.note_rows import LONGEST_PATH
from kos_assets.vault import check as checking
from kos_assets.vault.check import Reading, check
from kos_assets.vault.stamp import unstamped

ID = "12345678-1234-5678-9234-56789abcdef0"
FILES = {
    "Home.md": "---\naliases: [Start]\ntags: [map]\npeople: [Ada Byron]\ndate: 2026-03-04\n---\n"
    "# Rooms\n\n[[Plan]] [[Plan#Steps]] [[Plan#Nowhere]] [[Missing]] ![[sketch.png]] ![[Plan]]\n\n"
    "- [ ] sweep\n- [x] oil #chore\n",
    "Plan.md": "# Plan\n\n## Steps\n\nSee [[start]] [[Home#^one]]. ^two\n\n[[#^two]]\n",
    "2026-03-05 call.md": "Called.\n",
    "broken.md": "---\ntitle: a: b\n---\nText.\n",
    "twice.md": "---\na: 1\nb: 2\na: 3\n---\nText.\n",
    "templates/day.md": "Today.\n",
    "work/wide.md": "---\nkos_namespace: global\n---\nText.\n",
    "Copy of marked.md": f"---\nkos_id: {ID}\n---\nMarked.\n",
    "marked.md": f"---\nkos_id: {ID}\n---\nMarked.\n",
    "case/Note.md": "One.\n",
    "case/note.md": "Two.\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small vault with one of each."""
    for path, text in FILES.items():
        file = tmp_path / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "vault/picture.md").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (tmp_path / "vault/out.md").symlink_to("/etc/hostname")
    return tmp_path / "vault"


@pytest.fixture
def kos(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The two commands on an app of their own; no database is set anywhere."""
    monkeypatch.delenv("KOS_VAULT", raising=False)
    app = typer.Typer()

    @app.callback()
    def _root(context: typer.Context) -> None:
        context.obj = {}

    vault_check.register(app)
    vault_init.register(app)

    def run(*arguments: str, given: str = "") -> Any:
        return CliRunner().invoke(app, list(arguments), input=given)

    return run


def files(root: Path) -> dict[str, tuple[int, int]]:
    """Every file with time and size."""
    found = [path for path in root.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in found}


def test_what_is_understood(root: Path) -> None:
    """V3, V9: links by where they lead, tags, tasks, aliases, people, dates by rule, notes by namespace."""
    seen = check(root, Reading(folders={"work": "shared:team"})).understood
    assert (seen.notes, seen.statements) == (11, 0)
    assert (seen.links, seen.embeds) == (7, 2)
    assert (seen.to_notes, seen.to_files, seen.unresolved) == (7, 1, 1)
    assert (seen.tags, seen.tasks_open, seen.tasks_done, seen.aliases, seen.people) == (2, 1, 1, 1, 1)
    assert seen.dates["frontmatter:date"] == 1
    assert seen.dates["filename"] == 1
    assert sum(seen.dates.values()) == 11
    assert seen.namespaces == {"global": 10, "shared:team": 1}


def test_each_finding_has_its_place_and_its_fix(root: Path) -> None:
    """V1, V4: file, line, severity, code, and words for a person."""
    found = check(root, Reading(folders={"work": "shared:team"})).findings
    assert {(item.path, item.line, item.severity, item.code) for item in found} == {
        ("Home.md", 9, "notice", "heading_missing"),
        ("Home.md", 9, "notice", "link_unresolved"),
        ("Plan.md", 5, "notice", "block_missing"),
        ("broken.md", 2, "problem", "frontmatter_broken"),
        ("case/note.md", None, "notice", "name_collision"),
        ("marked.md", None, "notice", "id_copied"),
        ("out.md", None, "blocked", "symlink_outside"),
        ("picture.md", None, "blocked", "binary"),
        ("twice.md", 4, "problem", "frontmatter_duplicate_key"),
        ("work/wide.md", None, "problem", "namespace_widens"),
    }
    assert all(item.reason and item.fix for item in found)


def test_where_ids_will_live_is_where_they_do(root: Path, tmp_path: Path, kos: Any, beside: Any) -> None:
    """V2, V7: what `kos init` announces is what the next ingest writes, file by file and byte for byte."""
    before = {path: (root / path).read_bytes() for path in FILES}
    places = {item.path: item.keeps for item in check(root).ids}
    assert places["Copy of marked.md"] == "carried"
    assert kos("init", str(root), "--yes").exit_code == 0
    assert {path: (root / path).read_bytes() for path in FILES} == before
    with beside(root) as place:
        place.ingest()
        live = place.live()
    gained = {path: len((root / path).read_bytes()) - len(data) for path, data in before.items()}
    expected = {"carried": 0, "sidecar": 0, "id": 0, "block": 53, "line": 45}
    assert gained == {path: expected[places[path]] for path in FILES}
    assert all(unstamped((root / path).read_bytes()) == unstamped(data) for path, data in before.items())
    carried = {path for path in FILES if live[path].encode() in (root / path).read_bytes()}
    assert carried == {path for path in FILES if places[path] != "sidecar"}
    kept = {json.loads(line)["path"] for line in (root / ".kos/ids.jsonl").read_text().splitlines()}
    assert kept >= {path for path in FILES if places[path] == "sidecar"}
    again = {item.path: item.keeps for item in check(root).ids}
    assert set(again.values()) == {"carried", "sidecar"}


def test_nothing_is_written_and_no_database_is_asked(root: Path, kos: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """V7: the check, as text and as JSON, and an init that is declined, leave every file as it was."""
    monkeypatch.setenv("KOS_DSN", "postgresql://nobody@127.0.0.1:1/none")
    before = files(root)
    assert kos("vault", "check", str(root)).exit_code == 0
    assert kos("vault", "check", str(root), "--json", "--limit", "1").exit_code == 0
    declined = kos("init", str(root), given="n\n")
    assert isinstance(declined.exception, VaultError)
    assert files(root) == before
    assert not (root / ".kos").exists()


def test_the_command_speaks(root: Path, kos: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """V1: each problem as file:line with reason and fix; --strict ends with 1, notices alone do not."""
    shown = kos("vault", "check", str(root), "--limit", "0").output
    assert "broken.md:2: problem: frontmatter_broken" in shown
    assert "picture.md: blocked: binary" in shown
    few = kos("vault", "check", str(root), "--limit", "2").output
    assert "more findings are not shown" in few
    assert "blocked: " in few
    assert "notice: " not in few
    assert kos("vault", "check", str(root), "--strict").exit_code == 1
    for path in ("broken.md", "twice.md", "picture.md", "out.md"):
        (root / path).unlink()
    assert kos("vault", "check", str(root), "--strict").exit_code == 0
    said = json.loads(kos("vault", "check", str(root), "--json").output)
    assert said["understood"]["notes"] == 9
    assert said["severities"] == {"notice": 5}
    assert said["stamp"] is None


def test_the_preview_counts_and_names_reasons(root: Path, kos: Any) -> None:
    """V2: counts of files that gain a line, a block, another id, or stay untouched, with why and samples."""
    shown = kos("init", str(root), given="n\n").output
    for words in (
        "11 notes, 2 files that give none",
        "1 notes carry their id already",
        "2 notes gain one line",
        "4 notes have no frontmatter and gain a block of three lines",
        "1 notes carry the id of a note that they are a copy of",
        "3 notes stay untouched",
        "1 by frontmatter_broken",
        "1 by frontmatter_duplicate_key",
        "1 by template",
        "      templates/day.md",
    ):
        assert words in shown, shown
    off = kos("init", str(root), "--no-stamp", given="n\n").output
    assert "10 notes keep their id in .kos/ids.jsonl, and no note is touched" in off


def test_a_name_cannot_steer_the_terminal(tmp_path: Path, kos: Any) -> None:
    """V4: control characters in file names are shown as replacement characters."""
    (tmp_path / "a\x1b[2J\nb\u202e.md").write_text("---\nx: [\n---\n")
    shown = kos("vault", "check", str(tmp_path)).output + kos("init", str(tmp_path), given="n\n").output
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "a\ufffd[2J\ufffdb\ufffd.md" in shown


def test_damaged_records_of_the_vault(tmp_path: Path) -> None:
    """V2: a damaged line of the id file is a problem with its line; a damaged adoption stops, since guessing stamps."""
    (tmp_path / ".kos").mkdir()
    (tmp_path / ".kos/ids.jsonl").write_text('{"path": "a.md"}\n')
    assert [(item.path, item.line, item.code) for item in check(tmp_path).findings] == [
        (".kos/ids.jsonl", 1, "sidecar_damaged")
    ]
    (tmp_path / ".kos/vault.toml").write_text("stamp = 1\n")
    with pytest.raises(VaultError, match="damaged"):
        check(tmp_path)


def test_agents_memories_are_no_notes(tmp_path: Path) -> None:
    """V9: files where only the gate writes are counted apart, and one that it did not write is named."""
    path = tmp_path / "memories/agent/scout/note.md"
    path.parent.mkdir(parents=True)
    path.write_text("Not written by the gate.\n")
    found = check(tmp_path)
    assert (found.understood.notes, found.understood.statements) == (0, 1)
    assert [item.severity for item in found.findings] == ["blocked"]


def test_a_missing_vault(tmp_path: Path, kos: Any) -> None:
    """It says so."""
    assert isinstance(kos("vault", "check", str(tmp_path / "none")).exception, KosError)


def test_limits_that_are_written_twice_agree() -> None:
    """The check's limit of a path is the ingest's."""
    assert checking.LONGEST_PATH == LONGEST_PATH


def test_every_code_is_documented() -> None:
    """V1, V4: docs/vault.md says what each code means."""
    rooms = Path(checking.__file__).parent, Path(checking.__file__).parents[1] / "ingest"
    others = ("ledger.py", "memory_file.py", "statements.py", "trust.py")  # what agents wrote has pages of its own
    files = [path for room in rooms for path in room.glob("*.py") if path.name not in others]
    sources = "".join(path.read_text("utf-8") for path in files)
    makers = r"(?:Problem|Unreadable|Finding|IdPlace|Unsafe|_report|_problem|problem)"
    codes = set(re.findall(makers + r'\(\s*(?:[\w.]+, )?(?:[\w."]+, ){0,2}"([a-z0-9_]{4,})"', sources))
    codes -= {"problem", "notice", "blocked", "sidecar", "carried"}
    assert len(codes) > 30
    documented = (Path(__file__).parents[2] / "docs/vault.md").read_text("utf-8")
    assert [code for code in sorted(codes) if f"`{code}`" not in documented] == []
