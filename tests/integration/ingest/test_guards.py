"""V1, V4 on a real store: one bad file never blocks another, and what is out of sight is never taken for deleted."""

from __future__ import annotations

import random
import shutil
import string
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kos_assets.errors import VaultError


def _standing(place: Any) -> list[str]:
    return [row[0] for row in place.rows("select path from kos.notes where deleted_at is null order by 1")]


def _live(place: Any) -> list[str]:
    return [row[0] for row in place.rows("select note_path from kos.memories where deleted_at is null order by 1")]


def _quarantine(place: Any) -> dict[str, str]:
    return dict(place.rows("select path, code from kos.quarantine order by 1, 2"))


def test_another_vault_under_the_same_store_is_refused(place: Any, tmp_path: Path) -> None:
    """V4, promise 4: a wrong path would read as the deletion of everything; nothing is changed."""
    place.write("a.md", "Text.\n")
    place.ingest()
    before = place.state()
    other = tmp_path / "another"
    other.mkdir()
    (other / "b.md").write_text("Other.\n")
    settings, place.settings = place.settings, replace(place.settings, vault=other)
    with pytest.raises(VaultError, match="belongs to the vault") as caught:
        place.ingest(allow_mass_deletion=True)
    assert str(settings.vault) in str(caught.value)
    assert place.state() == before
    assert not (other / ".kos").exists()


def test_a_vault_that_was_adopted_may_move(adopted: Any, tmp_path: Path) -> None:
    """V2: its id travels with it, and so do all notes."""
    adopted.write("a.md", "Text.\n")
    adopted.ingest()
    before = adopted.rows("select note_id, path from kos.notes")
    moved = tmp_path / "elsewhere"
    shutil.move(adopted.root, moved)
    adopted.settings = replace(adopted.settings, vault=moved)
    report = adopted.ingest()
    assert (report.notes.new, report.notes.deleted, report.notes.read) == (0, 0, 0)
    assert adopted.rows("select note_id, path from kos.notes") == before
    assert adopted.rows("select vault_root from kos.installation") == [(str(moved.resolve()),)]


def test_a_missing_folder_is_refused(place: Any) -> None:
    """V4: an unmounted drive is not an empty vault."""
    place.write("a.md", "Text.\n")
    place.ingest()
    place.root.rename(place.root.with_name("away"))
    with pytest.raises(VaultError, match="no such folder"):
        place.ingest()
    assert _standing(place) == ["a.md"]


def test_mass_deletion_must_be_meant(place: Any) -> None:
    """V4: more than twenty and more than half of the notes gone at once change nothing until the person says so."""
    for number in range(40):
        place.write(f"n{number:02}.md", f"Note {number}.\n")
    place.ingest()
    before = place.state()
    for number in range(21):
        (place.root / f"n{number:02}.md").unlink()
    with pytest.raises(VaultError, match="21 of 40 notes are gone") as caught:
        place.ingest()
    assert "--allow-mass-deletion" in str(caught.value)
    assert place.state() == before
    assert place.ingest(allow_mass_deletion=True).notes.deleted == 21
    assert len(_live(place)) == 19


def test_moving_everything_is_no_deletion(place: Any) -> None:
    """V2, V4: a renamed top folder keeps every id, without a question."""
    for number in range(30):
        place.write(f"old/n{number:02}.md", f"Note {number}.\n")
    place.ingest()
    ids = place.rows("select note_id from kos.notes order by 1")
    (place.root / "old").rename(place.root / "new")
    report = place.ingest()
    assert (report.notes.moved, report.notes.deleted, report.notes.new) == (30, 0, 0)
    assert place.rows("select note_id from kos.notes order by 1") == ids


def test_what_cannot_be_read_keeps_its_note(place: Any) -> None:
    """V1, V4: a file turned binary or too large, a folder turned into a link or moved too deep: nothing is retired, the
    reason is listed, and mending it releases it."""
    paths = ["a.md", "binary.md", "folder/inner.md", "large.md"]
    for path in paths:
        place.write(path, f"Text of {path}.\n")
    place.ingest()
    before = place.state()
    place.write("binary.md", b"\x89PNG\r\n\x1a\n\x00", at=1_780_000_100)
    with (place.root / "large.md").open("wb") as file:
        file.truncate(17 * 2**20)
    (place.root / "folder").rename(place.root / ".hidden")
    (place.root / "folder").symlink_to("/etc")
    report = place.ingest()
    assert (report.notes.blocked, report.notes.deleted) == (3, 0)
    after = place.state()
    assert {name: rows for name, rows in after.items() if name != "quarantine"} == {
        name: rows for name, rows in before.items() if name != "quarantine"
    }
    assert _quarantine(place) == {"binary.md": "binary", "folder": "symlink_outside", "large.md": "too_large"}
    rows = place.rows(
        "select min(length(reason)), min(length(fix)), bool_and(severity = 'blocked') from kos.quarantine"
    )
    assert rows[0][0] > 10
    assert rows[0][1] > 5
    assert rows[0][2]
    seen = place.rows("select path, first_seen_at from kos.quarantine order by 1")
    place.ingest()
    assert place.rows("select path, first_seen_at from kos.quarantine order by 1") == seen
    (place.root / "folder").unlink()
    (place.root / ".hidden").rename(place.root / "folder")
    for path in ("binary.md", "large.md"):
        place.write(path, f"Text of {path}.\n")
    place.ingest()
    assert place.state() == before


def test_a_bad_file_that_goes_away_leaves_the_list(place: Any) -> None:
    """V4: quarantine holds what stands now, for files that never were notes too."""
    place.write("bad.md", b"\x89PNG\r\n\x1a\n\x00")
    place.write("broken.md", "---\nx: [1\n---\nBody.\n")
    place.ingest()
    assert set(_quarantine(place)) == {"bad.md", "broken.md"}
    (place.root / "bad.md").unlink()
    (place.root / "broken.md").rename(place.root / "moved.md")
    place.ingest()
    assert set(_quarantine(place)) == {"moved.md"}
    (place.root / "moved.md").unlink()
    place.ingest()
    assert _quarantine(place) == {}


def _noise(seed: int, length: int) -> str:
    """Letters that no compression shortens much."""
    return "".join(random.Random(seed).choices(string.ascii_letters + string.digits, k=length))


def test_one_bad_file_never_blocks_the_others(place: Any) -> None:
    """V1, V4: hostile names, properties and sizes; each file is a live memory or is listed with a reason."""
    hostile: dict[str, str | bytes] = {
        "nul.md": b"before\x00after\n",
        "nul-title.md": '---\ntitle: "a\\0b"\naliases: ["x\\0y"]\nhome: "h\\0/x"\nauthor: "A\\0"\n---\nText.\n',
        "toml-nul.md": '+++\ntitle = "a\\u0000b"\nauthor = "A\\u0000"\n+++\nText.\n',
        "surrogate.md": '---\ntitle: "\\ud800"\nkey: "\\udfff"\n---\nText.\n',
        "nan.md": "---\na: .nan\nb: .inf\nc: 1e999\nd: 123456789012345678901234567890\n---\nText.\n",
        "dates.md": "---\ndate: 0001-01-01\ncreated: 9999-12-31T23:59:59-14:00\nexpires_at: 9999-12-31\n---\nText.\n",
        "latin1.md": "Grüße\n".encode("latin-1"),
        "utf16.md": "Text in sixteen bits.\n".encode("utf-16"),
        "home.md": f"---\nhome: '{'/'.join(_noise(number, 300) for number in range(90))}'\n---\nText.\n",
        "-" * 30 + "/" + "/".join(["-" * 30] * 50) + "/dashes.md": "Labels that grow sevenfold.\n",
        "home-odd.md": "---\nhome: '/../a//b/'\n---\nText.\n",
        "word.md": _noise(1, 300_000) + "\n",
        "lines.md": "word\n" * 100_000,
        "author.md": f"---\nauthor: {'y' * 9000}\ntitle: {'z' * 9000}\naliases: [{'w' * 9000}]\n---\nText.\n",
        "deep.md": "> " * 5000 + "deep\n",
        "confidence.md": "---\nconfidence: 7\nmemory_type: working\nkos_id: nonsense\nkos_namespace: '*'\n---\nText.\n",
        "bidi\u202eoverride.md": "Right to left.\n",
        "CASE.md": "Upper.\n",
        "case.md": "Lower.\n",
        "👩‍👩‍👧 семья.md": "Emoji.\n",
        "quote'\";--.md": "Quotes.\n",
        "%s {x} \\ back.md": "Percent.\n",
        "a.md": "A plain one [[b]].\n",
        "b.md": "Another plain one.\n",
    }
    for path, data in hostile.items():
        place.write(path, data)
    for number in range(2):
        place.write(
            "/".join(["d" * 200 + str(number)] + [_noise(part, 230) for part in range(14)]) + "/deep.md", "In.\n"
        )
    report = place.ingest()
    [(live, folded)] = place.rows(
        "select count(*) filter (where deleted_at is null), count(*) filter (where deleted_reason = 'folded')"
        " from kos.memories"
    )
    assert live + folded == report.notes.files == len(hostile)
    assert report.notes.blocked == 2, "paths longer than the index can hold"
    assert sorted(_quarantine(place).values()).count("path_too_long") == 2
    assert {"home.md", "nul.md", "latin1.md", "utf16.md", "confidence.md"} <= set(_quarantine(place))
    assert place.rows("select count(*) from kos.chunks")[0][0] >= live
    assert place.embedder.calls
    listed = place.rows("select path, first_seen_at from kos.quarantine order by 1")
    assert place.ingest().notes.read == 0
    assert place.rows("select path, first_seen_at from kos.quarantine order by 1") == listed


def test_a_damaged_id_file_is_refused(place: Any) -> None:
    """V2: going on would give notes new ids; nothing is changed, in the vault or in the store."""
    place.write("a.md", "Text.\n")
    place.ingest()
    sidecar = place.root / ".kos/ids.jsonl"
    whole = sidecar.read_bytes()
    sidecar.write_bytes(whole[: len(whole) // 2])
    place.write("b.md", "More.\n")
    with pytest.raises(VaultError, match="id file are damaged"):
        place.ingest()
    assert _standing(place) == ["a.md"]
    assert sidecar.read_bytes() == whole[: len(whole) // 2]
    sidecar.write_bytes(whole)
    place.ingest()
    assert _standing(place) == ["a.md", "b.md"]


def test_a_conflict_copy_is_set_aside_whenever_its_note_comes(place: Any) -> None:
    """V4: it is listed while its note stands beside it, and a note of its own when it is alone."""
    copy = "plan.sync-conflict-20260101-101010-ABC.md"
    place.write(copy, "The other version.\n")
    place.ingest()
    assert _live(place) == [copy]
    place.write("plan.md", "The version.\n")
    place.ingest()
    assert _live(place) == ["plan.md"]
    assert _quarantine(place) == {copy: "sync_conflict"}
    (place.root / "plan.md").unlink()
    place.ingest()
    assert _live(place) == [copy]
    assert _quarantine(place) == {}


def test_namespaces_come_from_folder_and_frontmatter(place: Any) -> None:
    """V9: the folder map decides, frontmatter narrows and never widens; a wish that is none keeps the note back."""
    place.settings = replace(place.settings, namespace_folders={"team": "shared:crew", "bots/robo": "agent:robo"})
    notes = {
        "open.md": "", "narrow.md": "kos_namespace: shared:owner", "odd.md": "kos_namespace: Every Body",
        "team/plan.md": "", "team/wide.md": "kos_namespace: global", "team/mine.md": "kos_namespace: shared:owner",
        "bots/robo/log.md": "", "bots/other.md": "",
    }  # fmt: skip
    for path, line in notes.items():
        place.write(path, f"---\n{line}\n---\nText of {path}.\n")
    place.ingest()
    assert dict(place.rows("select note_path, namespace from kos.memories")) == {
        "open.md": "global", "narrow.md": "shared:owner", "odd.md": "shared:owner", "team/plan.md": "shared:crew",
        "team/wide.md": "shared:crew", "team/mine.md": "shared:owner", "bots/robo/log.md": "agent:robo",
        "bots/other.md": "global",
    }  # fmt: skip
    assert {"odd.md", "team/wide.md"} <= set(_quarantine(place))
    assert place.rows("select provenance from kos.memories where namespace = 'agent:robo'") == [("output",)]


def test_another_setting_is_followed_by_every_note(place: Any, fresh: Any) -> None:
    """V9, S10: a folder that is given to a group, or another time zone, holds for unchanged files with the next scan:
    the store is what a rebuild under the new settings gives."""
    place.write("team/plan.md", "The plan of the team.\n")
    place.write("team/dated.md", "---\ndate: 2026-03-04\n---\nDated [[plan]].\n")
    place.write("open.md", "The plan of the team.\n")
    place.ingest()
    assert place.rows("select count(*) from kos.memories where deleted_reason = 'folded'") == [(1,)]
    changes = {"namespace_folders": {"team": "shared:crew"}, "time_zone": "Asia/Tokyo"}
    place.settings = replace(place.settings, **changes)
    place.ingest()
    assert dict(place.rows("select note_path, namespace from kos.memories where deleted_at is null")) == {
        "open.md": "global", "team/dated.md": "shared:crew", "team/plan.md": "shared:crew",
    }  # fmt: skip
    with fresh(place.root, **changes) as rebuilt:
        rebuilt.ingest()
        assert place.state() == rebuilt.state()
    assert place.ingest().notes.read == 0
