"""The programs of `kos up`: one code server per location, Dagster's web server and daemon, the service.

Code servers are started once, on private sockets, and shared: the web server and the daemon would each start their own
otherwise, and pay every import twice. Each program gets the secrets that it needs and no other (S5):

    code servers   kos_writer and kos_dbt, Dagster's database, the alarm webhook; runs are their children
    web server     Dagster's database; it loads no code of ours
    daemon         Dagster's database; likewise
    service        kos_reader, kos_writer (the gate), kos_auditor (history and review)

Here: what is run with which arguments. Not here: running it (supervision.py).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kos_assets.operations import dagster_home, ports
from kos_assets.operations.children import Program
from kos_assets.operations.environment import child_environment
from kos_assets.settings import Settings

CODE_SERVER: Final = "code-"
_LOCATIONS: Final = (
    "{ workspaceOrError { ... on Workspace { locationEntries "
    "{ name locationOrLoadError { ... on PythonError { message } } } } } }"
)


def locations() -> dict[str, str]:
    """The module of each code location, by name, as workspace.yaml says."""
    workspace = dagster_home.read_yaml(dagster_home.source_file("workspace.yaml"))
    entries = [entry["python_module"] for entry in workspace["load_from"]]
    return {str(entry["location_name"]): str(entry["module_name"]) for entry in entries}


def programs(settings: Settings, service: Sequence[str], *, home: Path, sockets: Path) -> list[Program]:
    """Every program in the order of starting. Writes the workspace file that names the code servers' sockets."""
    dagster = {
        "DAGSTER_HOME": str(home),
        "DAGSTER_DISABLE_TELEMETRY": "true",
        "KOS_DAGSTER_DSN": dagster_home.dagster_url(settings),
    }
    servers = [_code_server(settings, name, module, sockets, dagster) for name, module in locations().items()]
    workspace = sockets / "workspace.yaml"
    entries = [{"grpc_server": {"socket": str(_socket(sockets, name)), "location_name": name}} for name in locations()]
    dagster_home.write_yaml(workspace, {"load_from": entries})
    # Not the slow location: the web server and the daemon notice by themselves when it answers.
    needed = frozenset({servers[0].name})
    return [
        *servers,
        _service(settings, service),
        _web_server(settings, workspace, dagster, needed),
        _daemon(settings, workspace, dagster, needed),
    ]


def load_errors(web_server: str, *, patience_s: float = 20.0) -> dict[str, str]:
    """Why code locations are not loaded, by name. One whose server has only just come up is given time."""
    import httpx

    deadline = time.monotonic() + patience_s
    while True:
        try:
            answer = httpx.post(f"{web_server}graphql", json={"query": _LOCATIONS}, timeout=10.0, trust_env=False)
            entries = answer.json()["data"]["workspaceOrError"]["locationEntries"]
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            return {"?": f"the web server does not tell ({type(error).__name__})"}
        errors = {entry["name"]: entry["locationOrLoadError"] for entry in entries}
        found = {name: str(error["message"]).split("\n")[0] for name, error in errors.items() if "message" in error}
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.5)


def _socket(sockets: Path, name: str) -> Path:
    return sockets / f"{name}.sock"


def _code_server(settings: Settings, name: str, module: str, sockets: Path, dagster: Mapping[str, Any]) -> Program:
    path = _socket(sockets, name)
    secrets = {**dagster, "KOS_ALARM_WEBHOOK": settings.alarm_webhook}
    arguments = ["api", "grpc", "--socket", str(path), "--module-name", module, "--location-name", name]
    # "lazy": a location that cannot be imported is shown as such in the UI, and the other one goes on working.
    arguments += ["--lazy-load-user-code", "--use-python-environment-entry-point", "--empty-working-directory"]
    return Program(
        name=f"{CODE_SERVER}{name}",
        title=f"the code server of {name}",
        module="dagster",
        arguments=(*arguments, "--log-level", "warning"),
        environment=child_environment(settings, roles=("writer", "dbt"), secrets=secrets),
        ready=ports.socket_answers(path),
    )


def _service(settings: Settings, argv: Sequence[str]) -> Program:
    return Program(
        name="service",
        title="the service",
        module=argv[0],
        arguments=tuple(argv[1:]),
        environment=child_environment(settings, roles=("reader", "writer", "auditor")),
        ready=ports.http_answers(ports.url(settings.host, settings.port, "/healthz")),
        patience_s=7.0,  # it lets open requests end, 5 s at most
    )


def _web_server(settings: Settings, workspace: Path, dagster: Mapping[str, Any], after: frozenset[str]) -> Program:
    arguments = ["--workspace", str(workspace), "--host", settings.host, "--port", str(settings.dagster_port)]
    return Program(
        name="dagster-webserver",
        title="Dagster's web server",
        module="dagster_webserver",
        arguments=(*arguments, "--dagster-log-level", "warning", "--uvicorn-log-level", "warning"),
        environment=child_environment(settings, secrets=dagster),
        ready=ports.http_answers(ports.url(settings.host, settings.dagster_port, "/server_info")),
        after=after,
    )


def _daemon(settings: Settings, workspace: Path, dagster: Mapping[str, Any], after: frozenset[str]) -> Program:
    return Program(
        name="dagster-daemon",
        title="Dagster's daemon",
        module="dagster._daemon",
        arguments=("run", "--workspace", str(workspace), "--log-level", "warning"),
        environment=child_environment(settings, secrets=dagster),
        ready=lambda: True,  # it listens nowhere; when it ends, its end is seen
        after=after,
    )
