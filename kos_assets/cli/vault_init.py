"""`kos init`: adopt a vault, after saying exactly what that will write into it (V2, V7).

Here: the preview, the question, the record of the answer. Not here: stamping itself, which the next ingest does.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import uuid4

import typer

from kos_assets.cli.output import print_line, progress
from kos_assets.cli.vault_check import reading_of, shown_safely

if TYPE_CHECKING:
    from kos_assets.vault.check import Checked, IdPlace

_SAMPLES = 3
_PROMISES = {
    "line": ("gain one line in their frontmatter:", "kos_id: <the note's id>"),
    "block": ("have no frontmatter and gain a block of three lines at the top:", "---, kos_id: <the note's id>, ---"),
    "id": ("carry the id of a note that they are a copy of; it is replaced:", "kos_id: <an id of its own>"),
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("init")(init)


def init(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="The vault to adopt.")],
    stamp: Annotated[
        bool, typer.Option("--stamp/--no-stamp", help="Write each note's id into its frontmatter (one key, kos_id).")
    ] = True,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Adopt a vault: say where the ids of its notes live. Shows what it will write before it writes."""
    from kos_assets.errors import VaultError
    from kos_assets.vault import sidecar
    from kos_assets.vault.check import check

    with progress() as tell:
        found = check(path, reading_of(context, path), progress=lambda done, total: tell("reading", done, total))
    for line in preview(path, found, stamp=stamp):
        print_line(shown_safely(line))
    if not yes and not typer.confirm("Go on?"):
        raise VaultError("Nothing was written.", fix="Run it again with --yes, or with --no-stamp.")
    before = found.adoption
    adoption = sidecar.Adoption(before.vault_id if before else uuid4(), "frontmatter" if stamp else "never")
    sidecar.write_adoption(path, adoption)
    print_line(f"Adopted. Next: kos --vault {shlex.quote(str(path))} ingest")


def preview(path: Path, found: Checked, *, stamp: bool) -> list[str]:
    """What will be written where, line by line: counts, why, and up to three samples of each."""
    blocked = sum(1 for finding in found.findings if finding.severity == "blocked")
    lines = [
        f"{path}: {found.understood.notes} notes, {blocked} files that give none (`kos vault check` lists them).",
        f"Now: {path / '.kos' / 'vault.toml'}, which records the answer. At the next ingest, the ids:",
    ]
    groups: defaultdict[str, list[IdPlace]] = defaultdict(list)
    for item in found.ids:
        groups[item.keeps].append(item)
    lines += _carried(groups["carried"])
    if not stamp:
        rest = len(found.ids) - len(groups["carried"])
        lines.append(f"  {rest} notes keep their id in .kos/ids.jsonl, and no note is touched. A note that is")
        lines.append("  moved and edited between two scans then counts as a new one.")
        return lines
    for keeps, (words, text) in _PROMISES.items():
        if groups[keeps]:
            lines.append(f"  {len(groups[keeps])} notes {words} {text}")
            lines += _samples(groups[keeps])
    by_code: defaultdict[str, list[IdPlace]] = defaultdict(list)
    for item in groups["sidecar"]:
        by_code[item.code].append(item)
    if by_code:
        lines.append(f"  {len(groups['sidecar'])} notes stay untouched and keep their id in .kos/ids.jsonl:")
    for code, items in sorted(by_code.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        lines.append(f"    {len(items)} by {code}: {items[0].reason}")
        lines += _samples(items, "      ")
    lines.append(
        "Nothing else in any file changes, and its time, mode and owner stay. Files edited in the last seconds"
    )
    lines.append("wait for a later ingest. Taking the line out again gives the file back byte for byte.")
    return lines


def _carried(items: Sequence[IdPlace]) -> list[str]:
    return [f"  {len(items)} notes carry their id already and stay as they are."] if items else []


def _samples(items: Sequence[IdPlace], indent: str = "    ") -> list[str]:
    shown = [f"{indent}{item.path}" for item in items[:_SAMPLES]]
    return [*shown, f"{indent}… and {len(items) - _SAMPLES} more"] if len(items) > _SAMPLES else shown
