"""`kos vault check`: what a vault says and what is wrong with it, from its files alone.

Here: asking vault/check.py and showing the answer. Not here: adopting a vault (vault_init.py), or anything that writes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kos_assets.cli.context import settings_of
from kos_assets.cli.output import print_json, print_line, progress, table

if TYPE_CHECKING:
    from kos_assets.vault.check import Checked, Finding, IdPlace, Reading

_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_FAILS = ("blocked", "problem")
PLACES = {
    "carried": "carry their id in the file already",
    "line": "gain one line, kos_id, in their frontmatter",
    "block": "gain a block of three lines, having no frontmatter",
    "id": "carry another note's id, which is replaced",
    "sidecar": "keep their id in .kos/ids.jsonl",
}


def register(app: typer.Typer) -> None:
    """Add the family `kos vault`."""
    family = typer.Typer(help="A vault seen from its files alone, without a database.", no_args_is_help=True)
    family.callback()(_family)
    family.command("check")(check)
    app.add_typer(family, name="vault")


def _family() -> None:
    """A vault seen from its files alone, without a database."""


def reading_of(context: typer.Context, path: Path) -> Reading:
    """The settings of the vault at `path` that reading it depends on."""
    from kos_assets.vault.check import Reading

    settings = settings_of(context, vault=path)
    return Reading(settings.zone, settings.source, settings.default_namespace, settings.namespace_folders)


def check(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="The vault to look at.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 when anything is blocked or a problem.")
    ] = False,
    limit: Annotated[int, typer.Option(min=0, help="Most findings shown; 0: all. JSON holds all of them.")] = 100,
) -> None:
    """Say what is understood of a vault, and each problem with its file, line, reason and fix.

    Needs no database and writes nothing. Notices (a link that leads to no note yet) fail nothing.

    Example: kos vault check ~/notes
    """
    from kos_assets.vault import check as vault_check

    with progress() as tell:
        found = vault_check.check(
            path, reading_of(context, path), progress=lambda done, total: tell("reading", done, total)
        )
    if as_json:
        print_json(_as_json(found))
    else:
        _show(path, found, limit)
    if strict and any(finding.severity in _FAILS for finding in found.findings):
        raise typer.Exit(1)


def _as_json(found: Checked) -> dict[str, Any]:
    adoption = found.adoption
    return {
        "understood": {name: _plain(value) for name, value in asdict(found.understood).items()},
        "stamp": adoption.stamp if adoption else None,
        "ids": dict(Counter(item.keeps for item in found.ids)),
        "sidecar": [{"path": item.path, "code": item.code, "reason": item.reason} for item in in_sidecar(found.ids)],
        "severities": dict(Counter(finding.severity for finding in found.findings)),
        "findings": [asdict(finding) for finding in found.findings],
    }


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, dict) else value


def in_sidecar(ids: Sequence[IdPlace]) -> list[IdPlace]:
    """The notes that cannot be stamped."""
    return [item for item in ids if item.keeps == "sidecar"]


def _show(path: Path, found: Checked, limit: int) -> None:
    table(shown_safely(f"Understood of {path}"), ("what", "how many"), _understood(found), right=(1,))
    table("Where the ids live", ("notes", "which"), _places(found), right=(0,))
    shown = found.findings if limit == 0 else _worst_first(found.findings)[:limit]
    for finding in sorted(shown, key=lambda finding: (finding.path, finding.line or 0)):
        where = f"{finding.path}:{finding.line}" if finding.line else finding.path
        print_line(shown_safely(f"{where}: {finding.severity}: {finding.code}"))
        print_line(shown_safely(f"    {finding.reason}; {finding.fix}"))
    if len(shown) < len(found.findings):
        left = len(found.findings) - len(shown)
        print_line(f"{left} more findings are not shown: --limit 0 shows all of them.")
    counts = Counter(finding.severity for finding in found.findings)
    figures = f"{counts['blocked']} files blocked, {counts['problem']} problems, {counts['notice']} notices."
    print_line(f"{figures} Nothing was written.")


def shown_safely(text: str) -> str:
    """One line in which no file name can steer a terminal: control characters and turns of direction are replaced."""
    return _STEERING.sub("\N{REPLACEMENT CHARACTER}", text)


def _worst_first(findings: Sequence[Finding]) -> list[Finding]:
    order = {"blocked": 0, "problem": 1, "notice": 2}
    return sorted(findings, key=lambda finding: (order[finding.severity], finding.path, finding.line or 0))


def _understood(found: Checked) -> list[tuple[str, object]]:
    seen = found.understood
    rows: list[tuple[str, object]] = [
        ("notes", seen.notes),
        ("of them canvas files", seen.canvases),
        ("memories written by agents", seen.statements),
        ("headings", seen.headings),
        ("links", seen.links),
        ("embeds", seen.embeds),
        ("links and embeds that lead to a note", seen.to_notes),
        ("… to another file", seen.to_files),
        ("… to no note", seen.unresolved),
        ("tags, each counted once", seen.tags),
        ("tasks open", seen.tasks_open),
        ("tasks done", seen.tasks_done),
        ("tasks cancelled", seen.tasks_cancelled),
        ("aliases", seen.aliases),
        ("people, each counted once", seen.people),
    ]
    rows += [(f"dated by {'the file, not the note' if rule == 'none' else rule}", n) for rule, n in seen.dates.items()]
    rows += [(f"in namespace {name}", number) for name, number in seen.namespaces.items()]
    return rows


def _places(found: Checked) -> list[tuple[int, str]]:
    """Counts by place; before `kos init`, and where stamping is off, nothing is stamped."""
    counts: Counter[str] = Counter(item.keeps for item in found.ids)
    if found.adoption is not None and found.adoption.stamp == "never":
        stay = sum(counts.values()) - counts["carried"]
        return [(counts["carried"], PLACES["carried"]), (stay, f"{PLACES['sidecar']}: stamping is off")]
    would = "" if found.adoption is not None else "after kos init: "
    rows: list[tuple[int, str]] = []
    for keeps, words in PLACES.items():
        if counts[keeps] and keeps != "sidecar":
            rows.append((counts[keeps], words if keeps == "carried" else f"{would}{words}"))
    codes = Counter(item.code for item in in_sidecar(found.ids))
    reasons = {item.code: item.reason for item in reversed(in_sidecar(found.ids))}
    rows += [(number, f"{PLACES['sidecar']}: {code} ({reasons[code]})") for code, number in codes.most_common()]
    return rows
