"""The small parts of the database's supervision that need no server: pid files, ports, locks, refusals."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import tempfile
from pathlib import Path

import pytest

from kos_assets.errors import OperationError
from kos_assets.operations import binaries, locks
from kos_assets.operations.binaries import Postmaster, read_pid_file
from kos_assets.operations.postgres import EmbeddedPostgres, free_port

PID_FILE = "4480\n/proc/self/cwd\n1796070170\n20777\n\n127.0.0.1\n  2163751         9\n{status}\n"


@pytest.mark.parametrize("status", ["starting", "ready", "stopping"])
def test_pid_file_tells_pid_port_and_status(status: str) -> None:
    assert read_pid_file(PID_FILE.format(status=f"{status}   ")) == Postmaster(4480, 20777, status)


def test_half_written_pid_file_is_a_server_that_starts() -> None:
    assert read_pid_file("") is None
    assert read_pid_file("44x0\n") is None
    assert read_pid_file("4480\n/proc/self/cwd\n") == Postmaster(4480, 0, "starting")


def test_wanted_port_is_kept_when_free_and_left_when_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert free_port(port) != port
    assert free_port(port) == port
    assert 0 < free_port(99_999) < 65_536


def test_settings_keep_note_text_out_of_the_log() -> None:
    """P7: statements, parameters, quoted values and DETAIL lines are not logged."""
    conf = binaries.conf_text()
    for line in (
        "log_min_messages = 'log'",
        "log_error_verbosity = 'terse'",
        "log_statement = 'none'",
        "log_min_error_statement = 'panic'",
        "log_parameter_max_length_on_error = '0'",
    ):
        assert line in conf.splitlines()


def test_a_lease_is_seen_and_a_dropped_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "users.lock"
    first, second = locks.SharedLease(path), locks.SharedLease(path)
    first.drop()
    first.drop()
    assert not locks.unused(path)
    second.drop()
    assert locks.unused(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_forked_child_neither_ends_nor_prolongs_its_parents_lease(tmp_path: Path) -> None:
    path = tmp_path / "users.lock"
    lease = locks.SharedLease(path)
    child = os.fork()
    if child == 0:
        lease.drop()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert not locks.unused(path)
    child = os.fork()
    if child == 0:
        signal.pause()
    try:
        lease.drop()
        assert locks.unused(path)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_turn_that_does_not_come_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "start.lock"
    with (
        locks.exclusive(path, timeout_s=1),
        pytest.raises(OperationError, match=r"start\.lock"),
        locks.exclusive(path, timeout_s=0.1),
    ):
        pass
    with locks.exclusive(path, timeout_s=0.1):
        pass


def test_a_folder_without_the_servers_programs_names_the_ways_out(tmp_path: Path) -> None:
    (tmp_path / "psql").touch()
    with pytest.raises(OperationError) as caught:
        EmbeddedPostgres(tmp_path / "data", bindir=tmp_path).acquire()
    assert "KOS_PG_BINDIR" in str(caught.value)
    assert "KOS_DSN" in str(caught.value)


def test_an_absent_wheel_names_the_ways_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(OperationError) as caught:
        binaries.locate(None, None)
    assert "KOS_PG_BINDIR" in str(caught.value)
    assert "KOS_DSN" in str(caught.value)


@pytest.mark.parametrize(
    ("script", "word"),
    [("exit 127", "127"), ("echo cannot load libpq; exit 1", "libpq"), ("echo PostgreSQL 14.9", "14")],
)
def test_programs_that_do_not_run_or_are_too_old_are_refused(tmp_path: Path, script: str, word: str) -> None:
    for name in ("postgres", "initdb", "pg_ctl"):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    with pytest.raises(OperationError, match=word):
        binaries.locate(tmp_path, None)


def test_a_full_disk_is_named_and_leaves_no_half_cluster(tmp_path: Path) -> None:
    folder = Path(tempfile.mkdtemp(prefix="kos-programs-", dir="/tmp"))
    try:
        folder.chmod(0o755)  # as root the programs run as an account that cannot enter tmp_path
        for name, script in (("postgres", "echo 'postgres (PostgreSQL) 18.6'"), ("pg_ctl", "exit 1")):
            (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / "initdb").write_text("#!/bin/sh\ntouch PG_VERSION\necho 'HINT:  Check free disk space.'\nexit 1\n")
        for path in folder.iterdir():
            path.chmod(0o755)
        with pytest.raises(OperationError, match="Free some space on the disk"):
            EmbeddedPostgres(tmp_path / "data", bindir=folder).acquire()
    finally:
        shutil.rmtree(folder)
    assert not list((tmp_path / "data").glob("cluster*"))
    assert locks.unused(tmp_path / "data" / "users.lock")


def test_nothing_runs_and_nothing_is_made_where_nothing_was_started(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / "data")
    assert server.running() is None
    assert server.stop() is False
    server.release()
    assert not (tmp_path / "data").exists()


def test_a_data_directory_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OperationError, match="cannot use"):
        EmbeddedPostgres(tmp_path / "file" / "data").acquire()


@pytest.mark.parametrize(("memory_mb", "cache"), [(512, "128MB"), (4096, "512MB"), (65536, "1024MB")])
def test_the_cache_follows_the_machine(memory_mb: int, cache: str) -> None:
    """P2: an eighth of the memory, within bounds, so that a small laptop and a large server both work."""
    assert binaries._sized(memory_mb)["shared_buffers"] == cache
