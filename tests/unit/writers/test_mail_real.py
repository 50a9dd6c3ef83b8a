"""Public mail that nobody here wrote: everything goes through, and the accounting adds up (W3)."""

from __future__ import annotations

import os
import re
import tarfile
from collections import Counter
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from kos_assets.domain.mirrors import mirror_settings
from kos_assets.writers.mail import open_source
from kos_assets.writers.mirror import mirror

DATA = os.environ.get("KOS_TEST_DATA")


@pytest.mark.parametrize(
    ("name", "files", "threads", "largest"),
    [
        ("notmuch-default", 53, range(24, 25), range(5, 10)),
        ("pyemail-cases", 48, range(35, 42), range(1, 4)),
        ("spamassassin-easy-ham-1", 2500, range(1300, 1500), range(28, 80)),
    ],
)
def test_every_message_of_a_real_mailbox(tmp_path: Path, name: str, files: int, threads: range, largest: range) -> None:
    """W3: messages in = messages in notes + left out by code; nothing is a problem; a second run writes nothing."""
    archive = Path(DATA, "mail", f"{name}.tar.gz") if DATA else None
    if archive is None or not archive.is_file():
        pytest.skip("set KOS_TEST_DATA to the folder with mail/*.tar.gz to try real mail")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    vault = tmp_path / "vault"
    vault.mkdir()
    table = mirror_settings("mail", {"path": str(tmp_path / name), "all_threads": True})
    source = open_source(table, vault=vault, data_dir=tmp_path, zone=ZoneInfo("UTC"))
    report = mirror(source, vault, name="mail", folder="mail", namespace=None, today=date(2026, 12, 1))
    written = (re.search(r"^messages: (\d+)$", path.read_text(), re.MULTILINE) for path in vault.rglob("*.md"))
    sizes = Counter(int(found[1]) for found in written if found is not None)
    messages = sum(size * count for size, count in sizes.items())
    print(f"{name}: {files} files = {messages} in {report.items} notes + {dict(report.left_out)}; {report.seconds} s")
    assert messages + sum(report.left_out.values()) == files
    assert report.skipped == []
    assert report.items in threads
    assert max(sizes) in largest
    if name == "pyemail-cases":  # mutants of one message share ids; fragments are none
        assert set(report.left_out) == {"duplicate", "not_mail"}
    before = {path: path.stat().st_mtime_ns for path in vault.rglob("*.md")}
    again = mirror(source, vault, name="mail", folder="mail", namespace=None, today=date(2026, 12, 2))
    assert (again.written, again.updated, again.gone, again.unchanged) == (0, 0, 0, report.items)
    assert before == {path: path.stat().st_mtime_ns for path in vault.rglob("*.md")}
