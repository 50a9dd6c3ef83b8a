"""The store is a function of the vault's files: whatever happened to them, in whatever order it was seen."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st

PATHS = (
    "alpha.md", "beta.md", "projects/alpha.md", "projects/gamma plan.md", "team/delta.md", "team/alpha.md",
    "daily/2026-03-04.md", "templates/note.md", "日記/メモ.md", "projects/deep/er/epsilon.md",
)  # fmt: skip
_LONG = "\n\n".join(
    f"## Part {part}\n\n" + f"The {part} paragraph of the long note speaks. " * 12 for part in "abcdefg"
)
_FOX = "The quick brown fox jumps over the lazy dog every single day of the whole long year. " * 3
BODIES = (
    "",
    "The harbour opens at dawn.\n",
    "The   harbour opens\n\nat dawn.",
    "# Harbour\n\nThe harbour opens at dawn, says [[beta]] and [[gamma plan|the plan]].\n",
    _FOX + "Port 8080.\n",
    _FOX + "Port 9090.\n",
    "Embeds ![[delta#Part a]] and links [[delta#Part b]] then [text](projects/alpha.md) and [[nowhere]].\n",
    "Aliases: [[Otter]] and [[Harbour]] #tag/one\n",
    _LONG,
    _LONG.replace("The d paragraph of the long", "The fourth paragraph of the very long"),
    "議事録です。新しい倉庫について話しました。\n",
)
FRONT = (
    "kos_namespace: shared:owner", "kos_namespace: agent:robo", "kos_namespace: NOT A NAMESPACE", "date: 2026-01-05",
    "updated: 2026-02-01", "updated: 2026-02-02T10:00:00+02:00", "aliases: [Otter, Pipe]", "tags: [one, two/three]",
    "title: Harbour", "memory_type: procedural", "up: '[[alpha]]'", "up: '[[beta#Top]]'", "expires_at: 2150-01-01",
    "kos_id: 11111111-1111-4111-8111-111111111111", "kos_id: 22222222-2222-4222-8222-222222222222",
    "memory_type: mood", "author: Ada", "confidence: 0.4", "home: elsewhere/das Gerät",
)  # fmt: skip
_BROKEN = "broken: [never closed\n"
_BINARY = b"\x89PNG\r\n\x1a\n\x00\x01"


class Disk:
    """A vault that operations are done to. Each written file gets a time of its own; nothing reads the clock."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.ticks = itertools.count(1_750_000_000, 1000)

    def files(self) -> list[Path]:
        return sorted(path for path in self.root.rglob("*.md") if ".kos" not in path.parts)

    def pick(self, number: int) -> Path | None:
        files = self.files()
        return files[number % len(files)] if files else None

    def put(self, file: Path, data: bytes) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        self.touch(file)

    def touch(self, file: Path) -> None:
        moment = next(self.ticks)
        os.utime(file, (moment, moment))

    def do(self, action: str, a: int, b: int) -> None:
        target = self.root / PATHS[b % len(PATHS)]
        if action == "create":
            self.put(target, BODIES[a % len(BODIES)].encode())
            return
        file = self.pick(a)
        if file is not None:
            getattr(self, f"_{action}")(file, target, b)

    def _edit(self, file: Path, _: Path, b: int) -> None:
        head, _body = _split(file.read_bytes())
        self.put(file, head + BODIES[b % len(BODIES)].encode())

    def _front(self, file: Path, _: Path, b: int) -> None:
        line = FRONT[b % len(FRONT)]
        head, body = _split(file.read_bytes())
        lines = head.decode(errors="surrogateescape").splitlines()[1:-1]
        kept = [old for old in lines if old.partition(":")[0] != line.partition(":")[0]]
        drop = line in lines
        new = "\n".join(["---", *kept, *([] if drop else [line]), "---", ""])
        self.put(file, new.encode(errors="surrogateescape") + body)

    def _rename(self, file: Path, target: Path, _: int) -> None:
        if not target.exists():
            self._over(file, target, 0)

    def _over(self, file: Path, target: Path, _: int) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        file.replace(target)

    def _swap(self, file: Path, _: Path, b: int) -> None:
        other = self.pick(b)
        if other is not None and other != file:
            aside = self.root / ".swap"
            file.rename(aside)
            other.rename(file)
            aside.rename(other)

    def _delete(self, file: Path, _: Path, __: int) -> None:
        file.unlink()

    def _copy(self, file: Path, target: Path, b: int) -> None:
        if file != target:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target)
            if b % 2:
                self.touch(target)

    def _duplicate(self, file: Path, target: Path, _: int) -> None:
        if file != target:
            self.put(target, _split(file.read_bytes())[1])

    def _break(self, file: Path, _: Path, __: int) -> None:
        head, body = _split(file.read_bytes())
        if head and _BROKEN.encode() not in head:
            self.put(file, head[:4] + _BROKEN.encode() + head[4:] + body)

    def _mend(self, file: Path, _: Path, __: int) -> None:
        data = file.read_bytes()
        if _BROKEN.encode() in data or data.startswith(_BINARY):
            self.put(file, data.removeprefix(_BINARY).replace(_BROKEN.encode(), b""))

    def _touch(self, file: Path, _: Path, __: int) -> None:
        self.touch(file)

    def _binary(self, file: Path, _: Path, __: int) -> None:
        if not file.read_bytes().startswith(_BINARY):
            self.put(file, _BINARY + file.read_bytes())

    def _link(self, file: Path, target: Path, b: int) -> None:
        link = f"[[{target.stem}{'#Top' if b % 2 else ''}]]\n"
        self.put(file, file.read_bytes().rstrip(b"\n") + b"\n\n" + link.encode())

    def mend_all(self) -> None:
        """A file that cannot be read keeps its note (V1), which no rebuild can know: all can be read at the end."""
        for file in self.files():
            if file.read_bytes().startswith(_BINARY):
                self._mend(file, file, 0)


def _split(data: bytes) -> tuple[bytes, bytes]:
    end = data.find(b"\n---\n", 3) if data.startswith(b"---\n") else -1
    return (data[: end + 5], data[end + 5 :]) if end >= 0 else (b"", data)


_ACTIONS = (
    "create", "create", "edit", "edit", "front", "front", "front", "rename", "over", "swap", "delete", "copy",
    "duplicate", "break", "mend", "touch", "binary", "link", "scan", "scan", "scan", "notes",
)  # fmt: skip
_steps = st.lists(st.tuples(st.sampled_from(_ACTIONS), st.integers(0, 60), st.integers(0, 60)), min_size=4, max_size=24)
_start = st.lists(st.tuples(st.just("create"), st.integers(0, 10), st.integers(0, 9)), min_size=2, max_size=6)
_MAPPED = {"team": "shared:crew"}


@pytest.mark.parametrize("stamp", [None, "frontmatter", "never"])
def test_a_store_that_followed_the_vault_equals_a_rebuild(
    fresh: Callable[..., Any], new_vault: Callable[..., Path], stamp: str | None
) -> None:
    """V2, V5, G6: after any sequence of operations and scans the store is what a fresh rebuild of the files gives."""
    with fresh(None, namespace_folders=_MAPPED) as followed, fresh(None, namespace_folders=_MAPPED) as rebuilt:

        @settings(max_examples=14, phases=[Phase.explicit, Phase.reuse, Phase.generate])  # to shrink one takes minutes
        @given(start=_start, steps=_steps)
        def check(start: Any, steps: Any) -> None:
            with TemporaryDirectory() as folder:
                root = new_vault(Path(folder) / "vault", stamp)
                _follow(followed.at(root), Disk(root), [*start, ("scan", 0, 0), *steps])
                copy = Path(folder) / "copy"
                shutil.copytree(root, copy)
                rebuilt.at(copy).ingest()
                was, expected = followed.state(), rebuilt.state()
            for name, rows in expected.items():
                assert _differences(was[name], rows) == [], name

        check()


def _follow(place: Any, disk: Disk, steps: Any) -> None:
    for action, a, b in steps:
        event(action)
        if action == "scan":
            place.ingest(allow_mass_deletion=True)
        elif action == "notes":
            place.scan(allow_mass_deletion=True)
        else:
            disk.do(action, a, b)
    disk.mend_all()
    place.ingest(allow_mass_deletion=True)


def _differences(was: list[Any], expected: list[Any]) -> list[Any]:
    """The fields that differ, else whole rows: short enough to be read in a report."""
    if len(was) != len(expected):
        return [("extra", row) for row in was if row not in expected] + [
            ("lost", row) for row in expected if row not in was
        ]
    return [
        (left[0], number, one, other)
        for left, right in zip(was, expected, strict=True)
        for number, (one, other) in enumerate(zip(left, right, strict=True))
        if one != other
    ]
