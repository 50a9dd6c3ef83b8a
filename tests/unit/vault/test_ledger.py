"""The ledger's files: nothing recorded is lost, whatever crashes, however many write, wherever it is merged."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kos_assets.domain.decisions import Decision, fold
from kos_assets.errors import InputError, VaultError
from kos_assets.vault.ledger import Entry, Ledger, LedgerFile, keyed_hash, keys, ledger_files, machine_name, read_ledger
from kos_assets.vault.problems import Problem

AT = datetime(2026, 11, 3, 9, 30, tzinfo=UTC)
A, B, C = (str(UUID(int=number)) for number in range(1, 4))
MONTH = ".kos/ledger/m-1/2026-11.jsonl"


def everything(root: Path) -> tuple[list[Decision], list[Problem]]:
    found: list[Decision] = []
    problems: list[Problem] = []
    for file in ledger_files(root):
        records, _, damaged = read_ledger(root, file)
        found += records
        problems += damaged
    return found, problems


def only(root: Path) -> LedgerFile:
    (file,) = ledger_files(root)
    return file


def child(code: str, *arguments: str) -> subprocess.Popen[str]:
    source = (
        "import sys\nfrom datetime import UTC, datetime\nfrom pathlib import Path\n"
        "from kos_assets.vault.ledger import Ledger, machine_name\n" + textwrap.dedent(code)
    )
    return subprocess.Popen([sys.executable, "-c", source, *arguments], stdout=subprocess.PIPE, text=True)


def done(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return out


def test_a_record_is_one_line_of_json_in_a_fixed_order(tmp_path: Path) -> None:
    """V6: one readable line each; what was appended is what is read."""
    ledger = Ledger(tmp_path, "m-1")
    made = ledger.append(
        "write", A, by="maría", at=AT, namespace="global", digest="d", edges=[["similar_to", B, "veto"]]
    )
    ledger.append("forget", A, by="maría", at=AT + timedelta(hours=1))
    first, second = (tmp_path / MONTH).read_text("utf-8").splitlines()
    assert list(json.loads(first)) == ["seq", "at", "machine", "by", "op", "subject", "namespace", "digest", "edges"]
    assert json.loads(second) == {
        "seq": 2,
        "at": "2026-11-03T10:30:00.000000+00:00",
        "machine": "m-1",
        "by": "maría",
        "op": "forget",
        "subject": A,
    }
    assert "maría" in first
    records, problems = everything(tmp_path)
    assert problems == []
    assert records[0] == made
    assert [record.name for record in records] == [("m-1", "2026-11", 1), ("m-1", "2026-11", 2)]


def test_several_records_are_numbered_in_one_write(tmp_path: Path) -> None:
    """V6: a batch follows on from what is there."""
    ledger = Ledger(tmp_path, "m-1")
    assert ledger.append_many([], by="m", at=AT) == []
    assert ledger_files(tmp_path) == []
    ledger.append("forget", A, by="m", at=AT)
    made = ledger.append_many([Entry("forget", B, {}), Entry("restore", B, {"cut": C})], by="m", at=AT)
    assert [record.seq for record in made] == [2, 3]
    assert everything(tmp_path)[0][1:] == made


def test_a_crash_at_any_byte_of_the_last_line_costs_that_line_at_most(tmp_path: Path) -> None:
    """V6: a torn last line is isolated and reported; numbers stay unique and what was whole still counts."""
    ledger = Ledger(tmp_path, "m-1")
    ledger.append("forget", A, by="m", at=AT)
    first = (tmp_path / MONTH).stat().st_size
    ledger.append("verify", B, by="müller", at=AT, how="test")
    whole = (tmp_path / MONTH).read_bytes()
    for cut in range(first, len(whole) + 1):
        (tmp_path / MONTH).write_bytes(whole[:cut])
        records, offset, problems = read_ledger(tmp_path, only(tmp_path))
        survives = cut >= len(whole) - 1  # only the end of the line is missing
        assert len(records) == (2 if survives else 1)
        assert offset == (len(whole) if cut == len(whole) else first)
        torn = first < cut and not survives
        assert [problem.line for problem in problems] == ([2] if torn else [])
        made = ledger.append("erase", C, by="m", at=AT)
        after, problems = everything(tmp_path)
        assert [record.seq for record in after] == ([1, 2, 3] if survives else [1, 2])
        assert after[-1] == made
        assert [problem.line for problem in problems] == ([2] if torn else [])
        assert read_ledger(tmp_path, only(tmp_path), offset=offset)[0][-1] == made


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """V6: a write that fails half way is an error and records nothing."""
    Ledger(tmp_path, "m-1").append("forget", A, by="m", at=AT)
    before = (tmp_path / MONTH).read_bytes()
    code = """
        import resource, signal
        from kos_assets.errors import VaultError
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        room = int(sys.argv[2])
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        try:
            Ledger(Path(sys.argv[1]), "m-1").append("forget", "x" * 500, by="m", at=datetime(2026, 11, 4, tzinfo=UTC))
        except VaultError as error:
            print(error.why)
    """
    assert done(child(code, str(tmp_path), str(len(before) + 40))).strip()
    assert (tmp_path / MONTH).read_bytes() == before


def test_threads_share_one_ledger(tmp_path: Path) -> None:
    """V6: a server's threads write through one object."""
    ledger = Ledger(tmp_path, "m-1")

    def write(name: str) -> None:
        for number in range(20):
            ledger.append("forget", f"{name}-{number}", by="m", at=AT)
            ledger.key()

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [record.seq for record in everything(tmp_path)[0]] == list(range(1, 81))


def test_a_clock_that_goes_back_is_overruled(tmp_path: Path) -> None:
    """V6: a machine's own records stay in the order in which they were made, across months too."""
    ledger = Ledger(tmp_path, "m-1")
    ledger.append("forget", A, by="m", at=AT)
    assert ledger.append("restore", A, by="m", at=AT - timedelta(days=2)).at == AT
    december = ledger.append("forget", A, by="m", at=AT + timedelta(days=30))
    assert (december.month, december.seq) == ("2026-12", 1)
    back = ledger.append("restore", A, by="m", at=AT)
    assert (back.month, back.seq, back.at) == ("2026-12", 2, december.at)
    assert not fold(everything(tmp_path)[0])[A].forgotten


def test_a_newer_month_without_a_record_does_not_turn_time_back(tmp_path: Path) -> None:
    """V6: a crash right after a month's file was made leaves the last record's time in force."""
    ledger = Ledger(tmp_path, "m-1")
    ledger.append("forget", A, by="m", at=AT)
    (tmp_path / ".kos/ledger/m-1/2026-12.jsonl").write_bytes(b'{"seq": 1, "at"')
    made = ledger.append("restore", A, by="m", at=AT - timedelta(days=1))
    assert (made.month, made.seq, made.at) == ("2026-12", 1, AT)


def test_another_zone_is_the_same_instant(tmp_path: Path) -> None:
    """S10: times are kept in UTC; the month is UTC's; a time without zone is refused."""
    ledger = Ledger(tmp_path, "m-1")
    late = datetime.fromisoformat("2026-12-01T01:00:00+02:00")
    made = ledger.append("forget", A, by="m", at=late)
    assert (made.month, made.at, made.at.tzinfo) == ("2026-11", late, UTC)
    with pytest.raises(InputError):
        ledger.append("forget", A, by="m", at=datetime(2026, 11, 3))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("op", "subject", "body"),
    [
        ("forget", A, {"seq": 99}),
        ("annotate", A, {"boost": float("inf")}),
        ("forget", "\ud800", {}),
        ("forget", A, {"more": {1}}),
        ("write", A, {"supersedes": UUID(A)}),
        ("wither", A, {}),
    ],
)
def test_what_could_not_be_read_back_is_not_written(
    tmp_path: Path, op: Any, subject: str, body: dict[str, Any]
) -> None:
    """V6: a bad record is an error before the file changes, also within a batch."""
    ledger = Ledger(tmp_path, "m-1")
    ledger.append("forget", B, by="m", at=AT)
    before = (tmp_path / MONTH).read_bytes()
    with pytest.raises(InputError):
        ledger.append_many([Entry("forget", C, {}), Entry(op, subject, body)], by="m", at=AT)
    assert (tmp_path / MONTH).read_bytes() == before


def _line(**changes: Any) -> bytes:
    record = {"seq": 2, "at": AT.isoformat(), "machine": "m-1", "by": "m", "op": "forget", "subject": A, **changes}
    return json.dumps({name: value for name, value in record.items() if value is not ...}).encode()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"seq": 2, "at": ', "no whole record"),
        (b"\xff\xfe\x00", "no whole record"),
        (b"<<<<<<< HEAD", "no whole record"),
        (b"[" * 100_000, "no whole record"),
        (b'"text"', "no whole record"),
        (b"[1]", "no whole record"),
        (_line(by=...), "no whole record"),
        (_line(at="0001-01-01T00:00:00+14:00"), "no whole record"),
        (_line(at="2026-11-03T09:30:00"), "zone"),
        (_line(machine="m-2"), "another machine"),
        (_line(op="transcend"), "not known to this version"),
        (_line(op=["forget"]), "not known to this version"),
        (_line(seq="2"), "number"),
        (_line(seq=True), "number"),
        (_line(subject=7), "wrong type"),
        (_line(subject="\0"), "wrong type"),
        (_line(note_id="seven"), "wrong type"),
        (_line(more="\ud800"), "plain JSON"),
        (_line(op="annotate", boost=float("nan")), "plain JSON"),
        (_line(seq=1, subject=B), "another record has its number"),
    ],
    ids=lambda item: str(item[:40]),
)
def test_a_bad_line_is_reported_and_the_others_count(tmp_path: Path, line: bytes, reason: str) -> None:
    """V4, V6: a damaged line, or a newer version's, costs itself alone, and appending goes on."""
    file = tmp_path / MONTH
    file.parent.mkdir(parents=True)
    file.write_bytes(b"\n".join((_line(seq=1), line, _line(seq=3), b"")))
    records, offset, problems = read_ledger(tmp_path, only(tmp_path))
    assert [record.seq for record in records] == [1, 3]
    assert offset == file.stat().st_size
    (problem,) = problems
    assert (problem.code, problem.line) == ("ledger_damaged", 2)
    assert reason in problem.reason
    assert Ledger(tmp_path, "m-1").append("forget", C, by="m", at=AT).seq == 4


def test_a_newer_versions_last_record_still_counts_for_the_number(tmp_path: Path) -> None:
    """V6: an older version that writes after a newer one never reuses a number; a foreign line gives none."""
    file = tmp_path / MONTH
    file.parent.mkdir(parents=True)
    later = AT + timedelta(days=1)
    foreign = _line(seq=900, machine="m-2", at="2026-11-29T00:00:00+00:00")
    file.write_bytes(_line(seq=8, op="transcend", at=later.isoformat()) + b"\n" + foreign + b"\n")
    made = Ledger(tmp_path, "m-1").append("forget", A, by="m", at=AT)
    assert (made.seq, made.at) == (9, later)


def test_a_long_damaged_end_does_not_hide_the_last_number(tmp_path: Path) -> None:
    """V6: the last whole record is found however far back it stands."""
    file = tmp_path / MONTH
    file.parent.mkdir(parents=True)
    file.write_bytes(_line(seq=5) + b"\n" + b"x" * 300_000)
    assert Ledger(tmp_path, "m-1").append("forget", A, by="m", at=AT).seq == 6


def test_copies_of_a_line_and_other_line_ends_count_once(tmp_path: Path) -> None:
    """V6: what a merge doubles or a checkout converts is still the same record."""
    ledger = Ledger(tmp_path, "m-1")
    made = [ledger.append("forget", A, by="m", at=AT), ledger.append("restore", A, by="m", at=AT)]
    file = tmp_path / MONTH
    file.write_bytes(b"\r\n".join(file.read_bytes().split(b"\n")) * 2 + b"\r\n\r\n")
    assert everything(tmp_path) == (made, [])


def test_reading_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """V5: only what is new is read; line numbers stay those of the file; a replaced file is read whole."""
    ledger = Ledger(tmp_path, "m-1")
    ledger.append("forget", A, by="m", at=AT)
    _, offset, _ = read_ledger(tmp_path, only(tmp_path))
    with (tmp_path / MONTH).open("ab") as file:
        file.write(b"broken\n")
    made = ledger.append("forget", B, by="m", at=AT)
    records, end, problems = read_ledger(tmp_path, only(tmp_path), offset=offset)
    assert (records, [problem.line for problem in problems]) == ([made], [2])
    assert read_ledger(tmp_path, only(tmp_path), offset=end) == ([], end, [])
    for elsewhere in (offset - 5, end + 100):
        again, _, problems = read_ledger(tmp_path, only(tmp_path), offset=elsewhere)
        assert [record.seq for record in again] == [1, 2]
        assert [problem.line for problem in problems] == [2]


def test_only_files_of_the_ledger_are_listed(tmp_path: Path) -> None:
    """V4: a stray file, folder or link is none of the ledger's."""
    assert ledger_files(tmp_path) == []
    Ledger(tmp_path, "m-1").append("forget", A, by="m", at=AT)
    folder = tmp_path / ".kos/ledger/m-1"
    (folder / "2026-11 (conflicted copy).jsonl").touch()
    (folder / "2026-13.jsonl").touch()
    (folder / "2027-01.jsonl").mkdir()
    (folder / "2026-10.jsonl").symlink_to(folder / "2026-11.jsonl")
    (tmp_path / ".kos/ledger/README.md").touch()
    file = only(tmp_path)
    status = (tmp_path / MONTH).stat()
    assert file == LedgerFile("m-1", "2026-11", MONTH, status.st_size, status.st_mtime_ns)


def test_a_link_in_the_place_of_a_month_is_refused(tmp_path: Path) -> None:
    """V4, V7: nothing outside the vault is written."""
    folder = tmp_path / "vault/.kos/ledger/m-1"
    folder.mkdir(parents=True)
    outside = tmp_path / "outside.txt"
    outside.write_text("mine", "utf-8")
    (folder / "2026-11.jsonl").symlink_to(outside)
    with pytest.raises(VaultError):
        Ledger(tmp_path / "vault", "m-1").append("forget", A, by="m", at=AT)
    assert outside.read_text("utf-8") == "mine"


def test_the_key_is_made_once_and_every_machine_has_its_own(tmp_path: Path) -> None:
    """S11: the same text has another hash on another machine; the keys travel with the vault."""
    one, two = Ledger(tmp_path, "m-1"), Ledger(tmp_path, "m-2")
    assert len(one.key()) == 32
    assert one.key() == Ledger(tmp_path, "m-1").key() != two.key()
    assert keys(tmp_path) == {"m-1": one.key(), "m-2": two.key()}
    digest = keyed_hash(one.key(), "the key is under the mat")
    assert re.fullmatch("[0-9a-f]{64}", digest)
    assert digest == keyed_hash(keys(tmp_path)["m-1"], "the key is under the mat")
    assert digest != keyed_hash(two.key(), "the key is under the mat")


@pytest.mark.parametrize("data", [b"", b"short\n", b"zz" * 32, b"\xff" * 64, b"ab" * 4])
def test_a_damaged_key_is_an_error_that_says_what_to_do(tmp_path: Path, data: bytes) -> None:
    """S11: a key is never silently replaced, for then no file would fit its record any more."""
    file = tmp_path / ".kos/ledger/m-1/key"
    file.parent.mkdir(parents=True)
    file.write_bytes(data)
    with pytest.raises(VaultError, match="damaged"):
        Ledger(tmp_path, "m-1").key()
    with pytest.raises(VaultError, match="damaged"):
        keys(tmp_path)
    assert file.read_bytes() == data


def test_a_machine_keeps_its_name_and_two_at_once_agree(tmp_path: Path) -> None:
    """V6: one writer per file needs one stable name per installation."""
    code = "print(machine_name(Path(sys.argv[1])))"
    names = {done(process).strip() for process in [child(code, str(tmp_path / "data")) for _ in range(3)]}
    (name,) = names
    assert re.fullmatch("m-[0-9a-f]{8}", name)
    assert machine_name(tmp_path / "data") == name
    assert [item.name for item in (tmp_path / "data").iterdir()] == ["machine"]
    assert machine_name(tmp_path / "other") != name


@pytest.mark.parametrize("data", [b"", b"../x\n", b"\xff\xfe", b"M 1", b"a/b"])
def test_a_bad_name_of_a_machine_is_refused(tmp_path: Path, data: bytes) -> None:
    """V6: it names a folder, so it cannot be anything."""
    (tmp_path / "machine").write_bytes(data)
    with pytest.raises(VaultError):
        machine_name(tmp_path)


def test_a_data_directory_that_cannot_be_used_is_an_error_that_says_so(tmp_path: Path) -> None:
    """V6: no traceback for a file in the place of a folder."""
    (tmp_path / "data").touch()
    with pytest.raises(VaultError):
        machine_name(tmp_path / "data")
