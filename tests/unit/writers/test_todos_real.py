"""A public vault that nobody here wrote: every checkbox line gives a task of a note or a reason."""

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
from kos_assets.vault import markdown, scan
from kos_assets.writers.contract import Item
from kos_assets.writers.mirror import mirror
from kos_assets.writers.todos import open_source

DATA = os.environ.get("KOS_TEST_DATA")
_BOX = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]{1,4}\[.\](?:[ \t]|$)")


def unpacked(tmp_path: Path, name: str) -> Path:
    """The vault of that name, or the test is skipped."""
    archive = Path(DATA, "vaults", f"{name}.tar.gz") if DATA else None
    if archive is None or not archive.is_file():
        pytest.skip("set KOS_TEST_DATA to the folder with vaults/*.tar.gz to try real vaults")
    root = tmp_path / name
    with tarfile.open(archive) as packed:
        packed.extractall(root, filter="data")
    return root


@pytest.mark.parametrize("name", ["obsidian-tasks", "oldwinter-zh"])
def test_every_task_line_of_a_real_vault(tmp_path: Path, name: str) -> None:
    """W4: lines in = tasks in notes + left out by code; the notes hold them as task lines; a second run is idle."""
    root = unpacked(tmp_path, name)
    lines = 0
    for stat in scan.walk(root)[0]:
        data = scan.read(root, stat)
        assert isinstance(data, bytes)
        lines += sum(_BOX.match(line) is not None for line in re.split(r"\r\n?|\n", data.decode("utf-8", "replace")))
    vault = tmp_path / "vault"
    vault.mkdir()
    settings = mirror_settings("todos", {"path": str(root)})
    source = open_source(settings, vault=vault, data_dir=tmp_path / "data", zone=ZoneInfo("UTC"))
    shown = Counter[str]()
    for entry in source.entries():
        if isinstance(entry, Item):
            counted = sum(int(str(entry.properties[state])) for state in ("open", "done", "cancelled"))
            assert counted == len(markdown.scan(entry.body).tasks)
            shown["in notes"] += counted
    report = mirror(source, vault, name="todos", folder="todos", namespace=None, today=date(2026, 3, 4))
    of_lines = {code: count for code, count in report.left_out.items() if code not in {"not_an_export", "link"}}
    print(f"{name}: {lines} lines = {shown['in notes']} in {report.items} notes + {of_lines}; {report.seconds} s")
    assert lines == shown["in notes"] + sum(of_lines.values())
    assert report.skipped == []
    again = mirror(source, vault, name="todos", folder="todos", namespace=None, today=date(2026, 4, 5))
    assert (again.unchanged, again.written, again.updated) == (report.items, 0, 0)
