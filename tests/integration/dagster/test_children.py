"""Real child processes: an end that leaves nobody, a tether that outlasts kill -9, secrets in the right hands."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from kos_assets.errors import OperationError
from kos_assets.operations import children as children_module
from kos_assets.operations import ports
from kos_assets.operations.children import Child, Program, end, marked
from kos_assets.operations.environment import child_environment
from kos_assets.operations.programs import programs
from kos_assets.settings import Settings

DSN = "postgresql://postgres:secret@127.0.0.1:5432/kos"
FAMILY = """
import signal, subprocess, sys, time
if "stubborn" in sys.argv:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
stubborn = "import signal,time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(300)"
subprocess.Popen([sys.executable, "-c", stubborn], start_new_session="leaver" in sys.argv)
open(sys.argv[1], "w").write("up")
time.sleep(300)
"""


@pytest.fixture
def leash() -> Iterator[tuple[int, int]]:
    pair = os.pipe()
    yield pair
    for descriptor in pair:
        os.close(descriptor)


@pytest.fixture
def family(tmp_path: Path, leash: tuple[int, int]) -> Iterator[Callable[..., Child]]:
    """Starts a child with a grandchild that ignores SIGINT."""
    (tmp_path / "family.py").write_text(FAMILY, "utf-8")
    started: list[Child] = []

    def start(*words: str) -> Child:
        flag = tmp_path / f"up{len(started)}"
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        program = Program("family", "a family", "family", (str(flag), *words), environment, flag.exists)
        child = Child(program, mark=f"test{os.getpid()}{len(started)}", logs=tmp_path, cwd=tmp_path, leash=leash[0])
        started.append(child)
        child.start()
        until(flag.exists)
        return child

    yield start
    end(started, at_once=True)


def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def test_end_leaves_nobody(family: Callable[..., Child], monkeypatch: pytest.MonkeyPatch) -> None:
    """P2: children of children end too, also one that ignores Ctrl-C and one that left the group."""
    monkeypatch.setattr(children_module, "_RUNS_S", 2.0)
    children = [family(), family("leaver"), family("stubborn")]
    assert [len(child.members()) for child in children] == [2, 2, 2]
    end(children)
    assert [child.members() for child in children] == [[], [], []]
    assert all(child.status() is not None for child in children)


def test_a_killed_starter_takes_its_children_along(tmp_path: Path) -> None:
    """P2: no orphans after kill -9 either: the tether notices that the pipe closed."""
    (tmp_path / "family.py").write_text(FAMILY, "utf-8")
    mark = f"orphans{os.getpid()}"
    script = f"""
import os, pathlib, time
from kos_assets.operations.children import Child, Program
here = pathlib.Path({str(tmp_path)!r})
reading, writing = os.pipe()
program = Program("family", "a family", "family", (str(here / "up"),), {{**os.environ, "PYTHONPATH": str(here)}}, bool)
Child(program, mark={mark!r}, logs=here, cwd=here, leash=reading).start()
time.sleep(300)
"""
    starter = subprocess.Popen([sys.executable, "-c", script])
    try:
        until((tmp_path / "up").exists)
        assert len(marked(mark)) == 2
    finally:
        starter.kill()
        starter.wait()
    until(lambda: not marked(mark))


def test_the_log_tells_how_a_child_ended(family: Callable[..., Child], tmp_path: Path) -> None:
    """P2: the end of the log, each line after the child's name, from its last start only."""
    child = family()
    assert child.status() is None
    child.signal(signal.SIGINT)
    until(lambda: child.status() is not None)
    assert child.tail().splitlines()[-1] == "family | KeyboardInterrupt"
    assert (tmp_path / "family.log").stat().st_mode & 0o077 == 0
    assert child.status() in {"ended by signal SIGINT", "ended with status 1"}


def test_each_child_knows_only_its_own_secrets(tmp_path: Path) -> None:
    """S5: the service holds the DSNs of the roles that serve, as whom it reads, writes and audits, and can compute no
    other: not the administrator's, not dbt's, not Dagster's."""
    outside = {"KOS_DSN": DSN, "PGPASSWORD": "x", "PATH": "/bin", "PYTHONDONTWRITEBYTECODE": "1", "KOS_CONFIG": "/c"}
    settings = Settings(
        dsn=DSN,
        dagster_dsn=f"{DSN}_dagster",
        vault=Path("notes"),
        data_dir=tmp_path,
        alarm_webhook="https://example.org/hook",
        principal="robo",
        principal_role="agent",
        principal_groups=("crew",),
        read_namespaces=("global", "shared:crew"),
    )
    told = child_environment(settings, roles=("reader", "writer", "auditor"), inherited=outside)
    dsns = {name: value for name, value in told.items() if "DSN" in name or "PG" in name}
    assert set(dsns) == {"KOS_READER_DSN", "KOS_WRITER_DSN", "KOS_AUDITOR_DSN"}
    assert all(f"kos_{name.split('_')[1].lower()}" in value for name, value in dsns.items())
    assert len(set(dsns.values())) == 3
    assert "secret" not in "".join(told.values())
    assert not {"KOS_ALARM_WEBHOOK", "PYTHONDONTWRITEBYTECODE"} & told.keys()
    assert told["PATH"] == "/bin"
    assert told["KOS_CONFIG"] == "/c"
    assert told["KOS_VAULT"] == str(Path("notes").absolute())
    assert told["KOS_DATA_DIR"] == str(tmp_path)
    assert (told["KOS_PRINCIPAL"], told["KOS_ROLE"], told["KOS_GROUPS"]) == ("robo", "agent", "crew")
    assert told["KOS_NAMESPACES"] == "global,shared:crew"


def test_each_program_gets_the_roles_that_it_works_as(tmp_path: Path) -> None:
    """S5: the service reads, writes and audits; code servers write and run dbt; Dagster's own get no role."""
    settings = Settings(dsn=DSN, dagster_dsn=f"{DSN}_dagster", vault=tmp_path, data_dir=tmp_path)
    given = {
        program.name: {name for name in program.environment if name.endswith("_DSN")}
        for program in programs(settings, ("kos_assets.cli", "serve"), home=tmp_path, sockets=tmp_path)
    }
    assert given.pop("service") == {"KOS_READER_DSN", "KOS_WRITER_DSN", "KOS_AUDITOR_DSN"}
    dagster = {"KOS_DAGSTER_DSN"}
    for name, dsns in given.items():
        assert dsns == dagster | ({"KOS_WRITER_DSN", "KOS_DBT_DSN"} if name.startswith("code-") else set()), name


def test_a_taken_port_is_explained() -> None:
    """P2: which process has it, and which setting chooses another."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        port = taken.getsockname()[1]
        with pytest.raises(OperationError) as refused:
            ports.require_free("127.0.0.1", port, what="The service", variable="KOS_PORT")
    assert f"127.0.0.1:{port}" in refused.value.what
    assert str(os.getpid()) in str(refused.value.why)
    assert f"KOS_PORT={port + 1}" in str(refused.value.fix)
    ports.require_free("127.0.0.1", port, what="The service", variable="KOS_PORT")


@pytest.mark.parametrize("name", ["home", "Übung mit Leerzeichen", "long" * 40])
def test_sockets_live_where_only_this_user_may_enter(tmp_path: Path, name: str) -> None:
    """P2: a private folder with a path that fits into a socket's address, the same at each start."""
    home = tmp_path / name
    home.mkdir()
    with ports.socket_folder(home) as first:
        assert first.stat().st_mode & 0o077 == 0
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(first / "nightly.sock"))
            server.listen(1)
            assert ports.socket_answers(first / "nightly.sock")()
        assert not ports.socket_answers(first / "nightly.sock")()
    with ports.socket_folder(home) as second:
        assert second == first
    assert not first.exists()


def test_this_process_is_never_its_own_child() -> None:
    """P2: the sweep by mark spares the supervisor, even when it runs below another one."""
    assert psutil.Process().pid not in {process.pid for process in marked("")}
