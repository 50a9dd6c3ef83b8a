"""`kos mirror`: outside sources into notes of the vault."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kos_assets.cli.context import settings_of
from kos_assets.cli.output import out, print_error, print_json, print_line, progress, table
from kos_assets.errors import ConfigError, InputError, KosError

if TYPE_CHECKING:
    from kos_assets.domain.mirrors import MirrorSettings
    from kos_assets.settings import Settings
    from kos_assets.writers.mirror import MirrorReport

_SHOWN = 20
_WORDS = {"true": True, "yes": True, "1": True, "on": True, "false": False, "no": False, "0": False, "off": False}


def register(app: typer.Typer) -> None:
    """Add this family's commands."""
    app.command("mirror")(mirror)


def mirror(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="A mirror of kos.toml, or a kind. Without it: the list.")] = None,
    path: Annotated[
        list[Path] | None,
        typer.Option(help="Source to read instead of the one in kos.toml; then nothing is marked as gone."),
    ] = None,
    folder: Annotated[str | None, typer.Option(help="Folder of the vault to write into.")] = None,
    option: Annotated[
        list[str] | None, typer.Option("--set", help="KEY=VALUE of the kind, for example addresses=me@example.org.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Run every mirror of kos.toml.")] = False,
    again: Annotated[bool, typer.Option(help="Read the source even where it looks unchanged.")] = False,
    allow_mass_gone: Annotated[
        bool, typer.Option(help="Accept that most notes (over half, and over ten), or all, are gone from the source.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the reports as JSON.")] = False,
) -> None:
    """Write notes from an outside source: meetings, mail, todos, agents, chats, calendar, or one of your own.

    A run that finds nothing new writes nothing. `kos ingest` (or `kos up`) then takes the notes up.

    Example: kos --vault ~/notes mirror mail --path ~/archive.mbox --set addresses=me@example.org
    """
    settings = settings_of(context)
    if name is None and not every:
        _print_list(settings, as_json=as_json)
        return
    settings.require_vault()
    if every and (name is not None or path or folder or option):
        raise InputError("--all takes no name, --path, --folder or --set.", fix="Run one mirror by its name.")
    if every and not settings.mirrors:
        raise ConfigError(
            "No mirror is set up.", fix="Write a [mirror.NAME] table into kos.toml; `kos mirror` lists the kinds."
        )
    chosen = list(settings.mirrors.values()) if every else [_chosen(settings, str(name), path, folder, option)]
    reports, failed = _run(settings, chosen, allow_mass_gone=allow_mass_gone, again=again, partial=bool(path))
    if as_json:
        print_json([_as_dict(report) for report in reports])
    else:
        for report in reports:
            _print_report(report)
    for other in failed[1:]:
        print_error(other)
    if failed:
        raise failed[0]


def _run(
    settings: Settings, chosen: list[MirrorSettings], *, allow_mass_gone: bool, again: bool, partial: bool
) -> tuple[list[MirrorReport], list[KosError]]:
    """One after the other; a source that is away does not hold up the others."""
    from kos_assets.writers.run import run_mirror

    reports: list[MirrorReport] = []
    failed: list[KosError] = []
    with progress() as tell:
        for item in chosen:
            try:
                report = run_mirror(
                    settings,
                    item,
                    today=datetime.now(settings.zone).date(),
                    progress=tell,
                    allow_mass_gone=allow_mass_gone,
                    again=again,
                    partial=partial,
                )
            except KosError as error:
                failed.append(error)
            else:
                reports.append(report)
    return reports, failed


def _chosen(
    settings: Settings, name: str, paths: list[Path] | None, folder: str | None, options: list[str] | None
) -> MirrorSettings:
    """The mirror of kos.toml with the flags on top, or one made of flags alone."""
    from kos_assets.domain.mirrors import KINDS, mirror_settings
    from kos_assets.writers.run import mirror_of

    known = settings.mirrors.get(name)
    if known is None and name not in KINDS:
        return mirror_of(settings, name)  # says which there are
    base: dict[str, Any] = {"kind": known.kind if known else name}
    if known is not None:
        base |= {**known.options, "path": [str(item) for item in known.paths], "folder": known.folder}
        base |= {"namespace": known.namespace} if known.namespace else {}
    base |= {"path": [str(item) for item in paths]} if paths else {}
    base |= {"folder": folder} if folder else {}
    found = mirror_settings(name, {**base, **_given(base["kind"], options or [])})
    return found if known is None else replace(found, every_minutes=known.every_minutes)


def _given(kind: str, options: list[str]) -> dict[str, Any]:
    """KEY=VALUE as the option's own type; a list is separated by commas."""
    from kos_assets.domain.mirrors import KINDS

    known = KINDS[kind].options if kind in KINDS else {}
    found: dict[str, Any] = {}
    for text in options:
        key, equals, value = text.partition("=")
        if not equals or (kind in KINDS and key not in known):
            names = ", ".join(known) or "none"
            raise InputError(f"--set {text!r} is no KEY=VALUE of {kind}.", why=f"Keys of {kind}: {names}.")
        default = known[key].default if key in known else ""
        if isinstance(default, tuple):
            found[key] = [part.strip() for part in value.split(",") if part.strip()]
        elif isinstance(default, bool):
            if value.lower() not in _WORDS:
                raise InputError(f"--set {key} is yes or no, not {value[:40]!r}.")
            found[key] = _WORDS[value.lower()]
        else:
            found[key] = value
    return found


def _print_list(settings: Settings, *, as_json: bool) -> None:
    from kos_assets.domain.mirrors import KINDS

    mirrors = list(settings.mirrors.values())
    if as_json:
        print_json([{**_plain(item), "every_minutes": item.every_minutes} for item in mirrors])
        return
    if mirrors:
        rows = [(*_plain(item).values(), item.every_minutes) for item in mirrors]
        table("Mirrors of kos.toml", ("name", "kind", "source", "folder", "every (min)"), rows, right=(4,))
    else:
        print_line("No mirror is set up in kos.toml. Kinds that come with kos:")
    table("Kinds", ("kind", "what it reads", "options"), [(k, v.help, ", ".join(v.options)) for k, v in KINDS.items()])


def _plain(item: MirrorSettings) -> dict[str, str]:
    source = ", ".join(map(str, item.paths))
    return {"name": item.name, "kind": item.kind, "source": source, "folder": item.folder}


def _print_report(report: MirrorReport) -> None:
    if report.same_source:
        print_line(f"{report.mirror}: the source is what it was at the last run; nothing was read.")
        return
    rows = [
        (name, value) for name, value in report.metadata().items() if value or name in {"items", "written", "unchanged"}
    ]
    table(f"Mirror {report.mirror}", ("what", "how many"), rows, right=(1,))
    for code, count in sorted(report.left_out.items()):
        print_line(f"  left out on purpose: {count} × {code}")
    for item in report.skipped[:_SHOWN]:
        out.print(f"  {item.where}: {item.reason} ({item.code}). Next: {item.fix}.", markup=False)
    if report.skipped_total > _SHOWN:
        print_line(f"  … and {report.skipped_total - _SHOWN} more: --json lists up to 1,000.")


def _as_dict(report: MirrorReport) -> dict[str, Any]:
    listed = [asdict(item) for item in report.skipped]
    return {"mirror": report.mirror, "same_source": report.same_source, **report.metadata(),
            "left_out_by_code": dict(report.left_out), "skipped": listed, "paths": report.paths}  # fmt: skip
