"""V2: the same note stays the same note, whatever people and git do with its file.

Real git repositories, the real ingest, and an embedder that counts: no note is lost, none is doubled, and no text that
has a vector is embedded again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NOTES = {
    "a.md": "# Anchor\n\nThe anchor is weighed at six in the morning.\n",
    "b.md": "---\ntitle: Bellows\ntags: [forge]\n---\nThe bellows leak at the left seam.\n",
    "deep/c.md": "# Copper\r\n\r\nCopper is bought by the kilo.\r\n",
}
NEW = "# Dovetail\n\nA dovetail joint needs no glue.\n"


def git(root: Path, *arguments: str, check: bool = True) -> str:
    """One git command as a nameless person, with no settings of this machine."""
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
    for role in ("AUTHOR", "COMMITTER"):
        settings |= {f"GIT_{role}_NAME": "A person", f"GIT_{role}_EMAIL": "person@example.org"}
    command = ["git", "-C", str(root), "-c", "core.ignorecase=false", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | settings, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done.stdout


def commit(root: Path, message: str) -> None:
    """Everything that stands."""
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", message)


@pytest.fixture
def place(adopted: Any) -> Any:
    """An adopted vault of three notes in git: committed unstamped first, then ingested, then committed stamped."""
    for path, text in NOTES.items():
        adopted.write(path, text)
    git(adopted.root, "init", "-q", "-b", "main")
    commit(adopted.root, "unstamped")
    adopted.ingest()
    commit(adopted.root, "stamped")
    assert len(adopted.embedder.texts) >= 3
    adopted.embedder.texts.clear()
    return adopted


def settled(place: Any, expected: dict[str, str], *, embedded: int = 0) -> None:
    """After an ingest: exactly these notes with these ids, each with one live memory or folded into one, no text was
    embedded beyond `embedded`, and the next ingest changes nothing."""
    place.ingest()
    assert place.live() == expected
    assert len(place.embedder.texts) == embedded
    counted = dict(place.rows("select note_id::text, count(*) from kos.memories where note_id is not null group by 1"))
    assert all(counted[note_id] == 1 for note_id in expected.values())
    lost = place.rows("""
        select n.path from kos.notes as n join kos.memories as m using (note_id)
        where n.deleted_at is null and m.deleted_at is not null and m.deleted_reason <> 'folded'
    """)
    assert lost == []
    rows, files = place.versions(), place.files()
    place.ingest()
    assert place.versions() == rows
    assert place.files() == files


def test_moves_and_renames(place: Any) -> None:
    """V2: into a folder, out of one, and to another name, all at once."""
    ids = place.live()
    (place.root / "new").mkdir()
    git(place.root, "mv", "a.md", "new/a.md")
    git(place.root, "mv", "deep/c.md", "copper.md")
    git(place.root, "mv", "b.md", "deep/bellows again.md")
    settled(place, {"new/a.md": ids["a.md"], "copper.md": ids["deep/c.md"], "deep/bellows again.md": ids["b.md"]})


@pytest.mark.parametrize("name", ["A.md", "a.MD", "A.Markdown"])
def test_case_only_renames(place: Any, name: str) -> None:
    """V2: the same name in other letters is a rename."""
    ids = place.live()
    git(place.root, "mv", "a.md", name)
    settled(place, {name: ids["a.md"], "b.md": ids["b.md"], "deep/c.md": ids["deep/c.md"]})


def test_a_folder_is_renamed_in_case_and_accent(place: Any) -> None:
    """V2: a folder's new spelling moves every note in it."""
    ids = place.live()
    (place.root / "deep").rename(place.root / "De\u0301ep")
    settled(place, {"a.md": ids["a.md"], "b.md": ids["b.md"], "De\u0301ep/c.md": ids["deep/c.md"]})


def test_copies(place: Any) -> None:
    """V2: the path on record keeps the id, each copy gets one of its own, and equal text costs no vector."""
    ids = place.live()
    shutil.copy(place.root / "a.md", place.root / "0 copy of a.md")
    shutil.copy(place.root / "a.md", place.root / "deep/a.md")
    place.ingest()
    now = place.live()
    assert {path: now[path] for path in ids} == ids
    assert len(set(now.values())) == 5
    settled(place, now)


def test_a_conflict_copy_waits_and_takes_over(place: Any) -> None:
    """V2, V4: beside its note it is set aside; where the note goes away, it is that note."""
    ids = place.live()
    copy = "a.sync-conflict-20260301-101112-ABCDEFG.md"
    shutil.copy(place.root / "a.md", place.root / copy)
    settled(place, ids)
    (place.root / "a.md").unlink()
    settled(place, {copy: ids["a.md"], "b.md": ids["b.md"], "deep/c.md": ids["deep/c.md"]})


def test_restored_from_git(place: Any) -> None:
    """V2: a note that was deleted and comes back is the note that it was, with the vectors that it had."""
    ids = place.live()
    (place.root / "a.md").unlink()
    place.ingest()
    assert set(place.live()) == {"b.md", "deep/c.md"}
    git(place.root, "checkout", "-q", "--", "a.md")
    settled(place, ids)


def test_restored_from_before_the_stamp(place: Any) -> None:
    """V2: an older version without the line gets the same line again."""
    ids = place.live()
    before = (place.root / "a.md").read_bytes()
    git(place.root, "checkout", "-q", "HEAD~1", "--", "a.md", "b.md", "deep/c.md")
    assert (place.root / "a.md").read_bytes() != before
    settled(place, ids)
    assert (place.root / "a.md").read_bytes() == before
    assert git(place.root, "diff", "HEAD", "--stat") == ""


def test_deleted_and_restored_from_before_the_stamp(place: Any) -> None:
    """V2: gone from the disk, then back without its stamp: still no other note."""
    ids = place.live()
    (place.root / "a.md").unlink()
    place.ingest()
    git(place.root, "checkout", "-q", "HEAD~1", "--", "a.md")
    settled(place, ids)


def test_another_branch_and_back(place: Any) -> None:
    """V2: a branch without the note, a branch with more, and the first again."""
    ids = place.live()
    git(place.root, "checkout", "-q", "-b", "other")
    git(place.root, "rm", "-q", "a.md")
    git(place.root, "mv", "b.md", "b2.md")
    commit(place.root, "other")
    settled(place, {"b2.md": ids["b.md"], "deep/c.md": ids["deep/c.md"]})
    git(place.root, "checkout", "-q", "main")
    settled(place, ids)


@pytest.mark.parametrize("names", [("a.md", "b.md"), ("a.md", "b.md", "deep/c.md")], ids=["two", "three"])
def test_swapped_names(place: Any, names: tuple[str, ...]) -> None:
    """V2: names go round; each id stays with its text."""
    ids = place.live()
    held = {name: (place.root / name).rename(place.root / f"{number}.held") for number, name in enumerate(names)}
    turned = dict(zip(names, (*names[1:], names[0]), strict=True))
    for name, other in turned.items():
        held[name].rename(place.root / other)
    settled(place, ids | {other: ids[name] for name, other in turned.items()})


def test_swapped_names_without_stamps(unadopted: Any) -> None:
    """V2: with ids in the sidecar the paths keep them; no note is lost or doubled, no vector made anew."""
    for path, text in NOTES.items():
        unadopted.write(path, text)
    unadopted.ingest()
    ids = unadopted.live()
    unadopted.embedder.texts.clear()
    unadopted.write("a.md", NOTES["b.md"], at=1_780_000_100)
    unadopted.write("b.md", NOTES["a.md"], at=1_780_000_100)
    settled(unadopted, ids)


@pytest.fixture
def clones(place: Any, tmp_path: Path, beside: Callable[..., Any]) -> Any:
    """A second clone with a store of its own, both in step; yields (left, right, sync)."""
    hub = tmp_path / "hub.git"
    git(place.root, "clone", "-q", "--bare", str(place.root), str(hub))
    git(place.root, "remote", "add", "origin", str(hub))
    git(place.root, "fetch", "-q")
    git(place.root, "branch", "-q", "-u", "origin/main")
    git(tmp_path, "clone", "-q", str(hub), str(tmp_path / "right"))
    with beside(tmp_path / "right") as right:
        right.ingest()
        assert right.live() == place.live()
        right.embedder.texts.clear()
        yield place, right


def _push(root: Path) -> None:
    git(root, "push", "-q", "origin", "main")


def _pull(root: Path, *, check: bool = True) -> str:
    return git(root, "pull", "-q", "--no-rebase", "--no-edit", check=check)


def test_two_clones_stamp_the_same_new_note(clones: Any) -> None:
    """V2: a note that came unstamped to both gets the same id in both, so that git has nothing to merge."""
    left, right = clones
    left.write("deep/d.md", NEW)
    commit(left.root, "new, unstamped")
    _push(left.root)
    _pull(right.root)
    for one in clones:
        one.ingest()
        assert b"kos_id: " in (one.root / "deep/d.md").read_bytes()
        assert len(one.embedder.texts) == 1
        one.embedder.texts.clear()
        commit(one.root, "stamped")
    _push(left.root)
    _pull(right.root)
    _push(right.root)
    _pull(left.root)
    assert left.live() == right.live()
    assert len(left.live()) == 4
    for one in clones:
        settled(one, left.live())


def test_two_clones_write_the_same_new_note(clones: Any) -> None:
    """V2: the same text under the same name in both, never synced before: one note."""
    for one in clones:
        one.write("d.md", NEW)
        one.ingest()
        one.embedder.texts.clear()
        commit(one.root, "mine")
    left, right = clones
    _push(left.root)
    _pull(right.root)
    settled(right, left.live())


def test_two_clones_write_other_notes_under_one_name(clones: Any) -> None:
    """V2: git asks the person; who keeps both has two notes, and the path on record keeps the id."""
    left, right = clones
    for one, text in ((left, NEW), (right, "# Dowel\n\nA dowel needs a hole.\n")):
        one.write("d.md", text)
        one.ingest()
        one.embedder.texts.clear()
        commit(one.root, "mine")
    _push(left.root)
    _pull(right.root, check=False)
    ours = git(right.root, "show", "HEAD:d.md")
    theirs = git(right.root, "show", "origin/main:d.md")
    right.write("d.md", ours, at=1_780_000_200)
    right.write("d of the other.md", theirs, at=1_780_000_200)
    commit(right.root, "both kept")
    before = right.live()["d.md"]
    right.ingest()
    now = right.live()
    assert now["d.md"] == before
    assert len(set(now.values())) == 5
    assert len(right.embedder.texts) == 1
    right.embedder.texts.clear()
    settled(right, now)


def test_a_merge_left_open_in_the_note(clones: Any) -> None:
    """V1, V2: git's marks between the properties break the block: the note stays the note that it was, the problem is
    told, nothing is stamped; once it is mended, all is as before."""
    left, right = clones
    ids = left.live()
    for one, tag in ((left, "smith"), (right, "bakery")):
        path = one.root / "b.md"
        one.write("b.md", path.read_text().replace("forge", tag), at=1_780_000_300)
        one.ingest()
        commit(one.root, tag)
    _push(left.root)
    _pull(right.root, check=False)
    open_merge = (right.root / "b.md").read_bytes()
    assert b"<<<<<<<" in open_merge
    right.embedder.texts.clear()
    right.ingest()
    assert right.live() == ids
    assert (right.root / "b.md").read_bytes() == open_merge
    codes = right.rows("select code, line from kos.quarantine where path = 'b.md'")
    assert codes
    assert {code for code, _ in codes} == {"frontmatter_broken"}
    right.write("b.md", git(right.root, "show", "HEAD:b.md"), at=1_780_000_400)
    commit(right.root, "mended")
    right.embedder.texts.clear()
    settled(right, ids)


def test_renamed_in_one_clone_before_it_was_stamped(clones: Any) -> None:
    """V2: two names, two ids for one new note. Git asks; whichever line the person keeps, both clones end with the same
    one note, and neither embeds its text again."""
    left, right = clones
    left.write("d.md", NEW)
    commit(left.root, "new, unstamped")
    _push(left.root)
    _pull(right.root)
    git(right.root, "mv", "d.md", "joints.md")
    for one in clones:
        one.ingest()
        one.embedder.texts.clear()
        commit(one.root, "stamped")
    _push(left.root)
    _pull(right.root, check=False)
    kept = git(right.root, "show", "HEAD:joints.md")
    right.write("joints.md", kept, at=1_780_000_500)
    (right.root / "d.md").unlink(missing_ok=True)
    commit(right.root, "merged")
    _push(right.root)
    _pull(left.root)
    settled(right, right.live())
    settled(left, right.live())
    assert len(left.live()) == 4


def test_a_merge_left_open_in_the_sidecar(clones: Any) -> None:
    """V2, V4: two clones keep ids of other files that cannot be stamped; git leaves its marks in the id file. Both
    sides count, no note gets another id, and the next ingest writes the file without marks."""
    left, right = clones
    for one, name in ((left, "left"), (right, "right")):
        one.write(f"templates/{name}.md", f"A template of the {name} hand.\n")
        one.ingest()
        commit(one.root, name)
    _push(left.root)
    _pull(right.root, check=False)
    sidecar = right.root / ".kos/ids.jsonl"
    assert "<<<<<<<" in sidecar.read_text()
    right.ingest()
    assert "<<<<<<<" not in sidecar.read_text()
    assert left.live().items() <= right.live().items()
    assert len(set(right.live().values())) == 5


def test_a_new_store_from_a_clone(place: Any, tmp_path: Path, beside: Callable[..., Any]) -> None:
    """V2: a clone read into an empty store has the same notes under the same ids, copies and all."""
    shutil.copy(place.root / "a.md", place.root / "0 copy.md")
    place.ingest()
    commit(place.root, "copy")
    git(tmp_path, "clone", "-q", str(place.root), str(tmp_path / "again"))
    with beside(tmp_path / "again") as other:
        other.ingest()
        assert other.live() == place.live()
