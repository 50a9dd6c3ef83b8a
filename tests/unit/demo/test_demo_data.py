"""The invented vault and its gold sets are what they claim to be: links resolve, bad files are bad, sets are disjoint.

Belongs here: facts about the data under `kos_assets/demo`. Does not: how the product reads or ranks it.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import re
import shutil
import tempfile
import tomllib
import unicodedata
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import kos_assets.demo
from kos_assets.operations.demo_home import lay_out, run_mirrors

DEMO = Path(kos_assets.demo.__file__).parent
SPLITS = ("fit", "held_out")
KINDS = {"fact", "paraphrase", "identifier", "decision", "howto", "person", "multilingual"}
DANGLING = {"rabenkopf stove", "hut wi-fi survey"}
BROKEN_ON_PURPOSE = {
    "inbox/Logger dump SEE-CIS-01.md",
    "inbox/Materialliste Hochanger.md",
    "inbox/Node battery plan.md",
    "inbox/Untitled.md",
    "scratch/Call with the roofers.md",
    "scratch/Winter party.md",
}
LINK = re.compile(r"\[\[([^\]|#]*)(?:#([^\]|]+))?(?:\|[^\]]*)?\]\]")
HEADING = re.compile(r"^#{1,6} (.+?)\s*$", re.MULTILINE)
EMAIL = re.compile(rb"[\w.+-]+@([\w-]+(?:\.[\w-]+)+)")


@cache
def vault() -> Path:
    """The vault as the demo lays it out: the shipped notes, and what the writers make of the raw sources."""
    home = Path(tempfile.mkdtemp(prefix="kos-demo-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    settings = lay_out(home / "demo")
    run_mirrors(settings)
    return settings.require_vault()


def _files(root: Path | None = None) -> list[Path]:
    return sorted(p for p in (root or vault()).rglob("*") if p.is_file())


def _notes() -> dict[str, Path]:
    """The notes that a scan should see, by path inside the vault."""
    found = ((p.relative_to(vault()), p) for p in _files() if p.suffix == ".md")
    return {rel.as_posix(): p for rel, p in found if not any(part.startswith(".") for part in rel.parts)}


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8-sig", errors="replace").replace("\r\n", "\n")


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DEMO / "gold" / name).read_text(encoding="utf-8").splitlines()]


def _shown() -> list[dict[str, Any]]:
    questions: list[dict[str, Any]] = tomllib.loads((DEMO / "questions.toml").read_text(encoding="utf-8"))["question"]
    return questions


def _frontmatter(path: Path) -> str:
    text = _text(path)
    end = text.find("\n---\n", 4)
    return text[4:end] if text.startswith("---\n") and end > 0 else ""


def _body(path: Path) -> str:
    text = _text(path)
    return text[len(_frontmatter(path)) + 9 :] if _frontmatter(path) else text


def _duplicates() -> set[str]:
    by_body: dict[bytes, list[str]] = defaultdict(list)
    for name, path in _notes().items():
        by_body[hashlib.sha256(_body(path).encode()).digest()].append(name)
    return {name for group in by_body.values() if len(group) > 1 for name in group}


def _unanswerable(name: str) -> bool:
    """Whether a note may not be gold: broken, a copy of another, or gone after a date."""
    return name in BROKEN_ON_PURPOSE or name in _duplicates() or "\nexpires:" in "\n" + _frontmatter(vault() / name)


def test_the_vault_is_large_enough() -> None:
    """P1: the vault of the first run has at least 60 notes, in the folders that its welcome note names."""
    notes = _notes()
    assert len(notes) >= 60
    folders = Counter(name.split("/")[0] for name in notes)
    for folder in ("daily", "meetings", "mail", "decisions", "runbooks", "people", "agents", "areas"):
        assert folders[folder] >= 4, folder


def test_the_long_note_is_long() -> None:
    """V4: one note has more than 300 lines and dozens of headings."""
    text = _text(vault() / "runbooks/Hut handbook.md")
    assert text.count("\n") > 300
    assert len(HEADING.findall(text)) > 40


def test_no_note_has_an_id_yet() -> None:
    """V2: ids are minted by the first scan, so the vault as shipped carries none."""
    assert [p for p in _files(DEMO / "vault") if b"kos_id" in p.read_bytes()] == []


def test_no_address_could_belong_to_somebody() -> None:
    """Mail addresses are in domains that are reserved for examples."""
    hosts = {
        m.decode()
        for p in [*_files(), *_files(DEMO / "sources"), *DEMO.glob("*.toml"), *DEMO.glob("gold/*")]
        for m in EMAIL.findall(p.read_bytes().replace(b"=\n", b""))  # quoted-printable folds long lines
    }
    assert hosts
    assert {h for h in hosts if not h.endswith(".example") and h not in ("example.org", "example.com")} == set()


def test_git_leaves_the_bytes_alone() -> None:
    """V4: line endings and encodings survive a checkout on any system."""
    root = DEMO.parent.parent / ".gitattributes"
    assert "kos_assets/demo/vault/** -text" in root.read_text(encoding="utf-8").splitlines()


def test_crlf_file() -> None:
    """V4: every line of this note ends in CRLF."""
    raw = (vault() / "people/Odile Farquhar.md").read_bytes()
    assert raw.count(b"\r\n") == raw.count(b"\n") > 10


def test_bom_file() -> None:
    """V4: this note starts with a UTF-8 byte order mark, before its frontmatter."""
    assert (vault() / "people/Agnes Thurnbichl.md").read_bytes().startswith(b"\xef\xbb\xbf---\n")


def test_nul_file() -> None:
    """V4: this note has NUL bytes in its middle."""
    raw = (vault() / "inbox/Logger dump SEE-CIS-01.md").read_bytes()
    assert b"batt\x00\x00\x00ry" in raw


def test_windows_1252_file() -> None:
    """V4: this note is Windows-1252 and not UTF-8."""
    raw = (vault() / "inbox/Materialliste Hochanger.md").read_bytes()
    with pytest.raises(UnicodeDecodeError):
        raw.decode("utf-8")
    assert "Süßmayr" in raw.decode("cp1252")
    assert "€" in raw.decode("cp1252")


def test_swap_hidden_trashed_and_empty_files() -> None:
    """V3, V4: an editor's swap file, Obsidian's own folders and an empty note are there to be left out or survived."""
    assert (vault() / "projects/.Kobel.md.swp").read_bytes().startswith(b"b0VIM ")
    assert json.loads((vault() / ".obsidian/app.json").read_text(encoding="utf-8"))
    assert list((vault() / ".trash").glob("*.md"))
    assert (vault() / "inbox/Untitled.md").read_bytes() == b""


def test_broken_and_unusual_frontmatter() -> None:
    """V1: an unclosed quote, a key twice, a block that never ends, and TOML."""
    quote = (vault() / "inbox/Node battery plan.md").read_text(encoding="utf-8").splitlines()
    assert quote[1].count('"') == 1
    keys = Counter(line.split(":")[0] for line in _frontmatter(vault() / "scratch/Winter party.md").splitlines())
    assert keys["tags"] == keys["status"] == 2
    lines = (vault() / "scratch/Call with the roofers.md").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "---"
    assert lines.count("---") == 1
    toml = (vault() / "reading/The Patient Network.md").read_text(encoding="utf-8").split("+++\n")
    assert tomllib.loads(toml[1])["title"] == "The Patient Network"


def test_names_beyond_ascii() -> None:
    """V4: file names with an emoji, CJK, Cyrillic and Arabic letters, in composed form."""
    names = "".join(_notes())
    assert unicodedata.normalize("NFC", names) == names
    for sample in ("🚲", "传", "水瀬", "А", "غ", "ü"):
        assert sample in names, sample


def test_exact_duplicates() -> None:
    """V4: three pairs of equal files, one named like a sync conflict."""
    copies = _duplicates()
    assert len(copies) == 6
    assert any(".sync-conflict-" in name for name in copies)


def test_obsidian_features_are_present() -> None:
    """V3: each feature that the vault promises occurs in some note."""
    text = "\n".join(_text(p) for p in _notes().values())
    for sample in ("![[", "#^", "> [!", "%%", "```dataview", "<% tp.", "📅", "✅", "🔁", "aliases:", "- [ ] ", "|---|"):
        assert sample in text, sample
    assert re.search(r"\[\[[^\]|]+#[^\]^|]+\]\]", text), "link to a heading"
    assert re.search(r'^  - "\[\[', text, re.MULTILINE), "quoted link in a frontmatter list"
    assert re.search(r"tags: \[.*\w/\w", text), "nested tag"


def test_links_resolve() -> None:
    """V3: every wikilink names a file, and its heading or block exists, apart from the listed few."""
    targets = {p.stem.lower(): p for p in _notes().values()} | {p.name.lower(): p for p in _files()}
    missing, seen = set(), set()
    for name, path in _notes().items():
        for target, anchor in LINK.findall(_text(path)):
            key = target.strip().lower()
            if key in DANGLING:
                seen.add(key)
                continue
            found = targets.get(key) if key else path
            if found is None or (anchor and not _has_anchor(found, anchor)):
                missing.add(f"{name}: {target}#{anchor}")
    assert missing == set()
    assert seen == DANGLING


def _has_anchor(path: Path, anchor: str) -> bool:
    text = _text(path)
    if anchor.startswith("^"):
        return re.search(rf" {re.escape(anchor)}$", text, re.MULTILINE) is not None
    return anchor in HEADING.findall(text)


@pytest.mark.parametrize(
    ("older", "then", "newer", "now"),
    [
        ("tools/tarn.md", "port 5432", "decisions/ADR-007 PostgreSQL 18 on a new port.md", "**5544**"),
        ("projects/Murmel.md", "every 10 minutes", "decisions/ADR-005 Sample every 15 minutes.md", "**15 minutes**"),
        ("projects/Kobel.md", "1 June 2026", "meetings/2026-06-03 Kobel launch go-no-go.md", "15 June"),
        ("projects/Snow study.md", "ultrasonic US-30", "decisions/ADR-006 Radar for snow depth.md", "**R-80**"),
        ("projects/Water 2026.md", "with [[Samir Haddouni]]", "daily/2026-08-14.md", "key is with *Petra*"),
        ("projects/Supply flights.md", "38.20", "meetings/2026-08-19 Supply flights with Rotorwerk.md", "41.50"),
        ("areas/health/Knee.md", "No running", "areas/health/Knee check-up in May.md", "allowed again"),
    ],
)
def test_contradictions_have_an_order(older: str, then: str, newer: str, now: str) -> None:
    """V6: where two notes disagree, the dates tell which one is later."""
    first, second = _text(vault() / older), _text(vault() / newer)
    assert then in first
    assert now in second
    assert _day(older) < _day(newer)


def _day(name: str) -> str:
    block = _frontmatter(vault() / name)
    for key in ("verified", "updated", "date", "created"):
        if match := re.search(rf'^{key}: "?(\d{{4}}-\d\d-\d\d)', block, re.MULTILINE):
            return match[1]
    return Path(name).stem[:10]


def test_working_notes_expire() -> None:
    """S3: every note of type working says when it ends."""
    working = [p for p in _notes().values() if "\ntype: working\n" in _frontmatter(p) + "\n"]
    assert len(working) >= 2
    assert all("expires: 202" in _frontmatter(p) for p in working)


def test_gold_is_well_formed() -> None:
    """T1: sixty questions, each with one to three live, whole, unduplicated notes."""
    gold = _lines("flat.jsonl")
    notes = _notes()
    assert len(gold) == 60
    for row in gold:
        assert set(row) == {"id", "query", "gold", "lang", "kind", "split"}
        assert 1 <= len(row["gold"]) <= 3
        assert set(row["gold"]) <= set(notes), row["id"]
        assert not [g for g in row["gold"] if _unanswerable(g)], row["id"]
        assert row["kind"] in KINDS
    assert len([r for r in gold if r["lang"] != "en"]) == 12


def test_probes_are_well_formed() -> None:
    """R5: questions that nothing answers: 40 far from the corpus, half of them to fit on, and 8 near it in topic."""
    probes = _lines("probes.jsonl")
    assert all(set(r) == {"id", "query", "lang", "split", "near"} for r in probes)
    assert Counter((r["near"], r["split"]) for r in probes if not r["near"]) == {
        (False, "fit"): 20,
        (False, "held_out"): 20,
    }
    assert len([r for r in probes if r["near"]]) == 8
    assert len([r for r in probes if r["lang"] != "en"]) == 8


@pytest.mark.parametrize("name", ["flat.jsonl", "probes.jsonl"])
def test_splits_are_halves(name: str) -> None:
    """T1: fitting and held-out parts are equal and at least 20 each."""
    sizes = Counter(row["split"] for row in _lines(name))
    assert set(sizes) == set(SPLITS)
    assert sizes["fit"] == sizes["held_out"] >= 20


def test_every_kind_is_in_both_splits() -> None:
    """T1: what is fitted on one kind of question is also measured on it."""
    seen = {(row["kind"], row["split"]) for row in _lines("flat.jsonl")}
    assert seen == {(kind, split) for kind in KINDS for split in SPLITS}


def test_ids_and_questions_are_unique_and_disjoint() -> None:
    """T1: sets are never pooled; a question that the demo shows is in neither gold nor probes."""
    rows = [*_lines("flat.jsonl"), *_lines("probes.jsonl")]
    assert len({row["id"] for row in rows}) == len(rows)
    asked = [" ".join(q.casefold().split()) for q in [*(r["query"] for r in rows), *(s["text"] for s in _shown())]]
    assert [q for q, n in Counter(asked).items() if n > 1] == []


def test_shown_questions() -> None:
    """P1: eight questions, one of them without an answer, each saying what it shows."""
    shown = _shown()
    assert len(shown) == 8
    assert all(set(q) == {"text", "why", "expect"} and q["why"] for q in shown)
    assert len([q for q in shown if not q["expect"]]) == 1
    for question in shown:
        assert set(question["expect"]) <= set(_notes())
        assert not [e for e in question["expect"] if _unanswerable(e)]
