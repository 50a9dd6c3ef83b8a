"""The commands of a memory's life as a person meets them, on a real database and vault."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
import typer.testing

from kos_assets import testing
from kos_assets.cli.app import app
from kos_assets.errors import AuthorityError, InputError, KosError, NotFoundError
from kos_assets.settings import Settings

ID = re.compile(r"^\[([0-9a-f-]{36})\] ", re.MULTILINE)
PORT = "Port of the gateway"
BACKUP, NIGHTLY = "Backup of host db-01", "The backup of host db-01 runs every night at {}."


@dataclass(frozen=True)
class Run:
    """What a command printed on stdout, and the error it ended with."""

    output: str
    code: int
    error: BaseException | None

    @property
    def first(self) -> str:
        """The id that the output begins with."""
        return str(ID.findall(self.output)[0])


Kos = Callable[..., Run]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """One note."""
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "spring.md").write_text("# Spring\n\nThe spring behind the hut never freezes.\n", "utf-8")
    return folder


@pytest.fixture
def kos(database: Settings, vault: Path, monkeypatch: pytest.MonkeyPatch) -> Kos:
    """Run a command against the test's database and vault; `stdin` are bytes that are piped in."""
    for name, value in (
        ("KOS_DSN", database.dsn), ("KOS_DAGSTER_DSN", database.dagster_dsn), ("KOS_DATA_DIR", database.data_dir),
        ("KOS_VAULT", vault), ("KOS_STAMP_QUIET_S", "0"), ("COLUMNS", "200"),
    ):  # fmt: skip
        monkeypatch.setenv(name, str(value))
    runner = typer.testing.CliRunner()

    def run(*arguments: str, stdin: bytes = b"") -> Run:
        result = runner.invoke(app, list(arguments), input=stdin)
        return Run(result.stdout, result.exit_code, result.exception)

    assert run("ingest").code == 0
    return run


def test_a_correction_a_look_alike_and_an_undo(kos: Kos, vault: Path) -> None:
    """G3, G4, S7: what the gate decided stands in words with the ids; history marks what is retired; the undo is one
    command; `--json` is the payload that REST and MCP answer."""
    first = kos("write", BACKUP, NIGHTLY.format("02:00"))
    assert "Stored." in first.output
    assert (vault / f"memories/shared/owner/{first.first}.md").is_file()
    second = kos("write", BACKUP, NIGHTLY.format("03:30"))
    assert f"it replaces [{first.first}]" in second.output
    assert first.first not in kos("search", "when does the backup run").output
    told = kos("history", second.first).output
    assert f"[{first.first}] {BACKUP} (retired: superseded)" in told
    assert f"[{second.first}] {BACKUP} (live)" in told
    payload = json.loads(kos("history", f"[{second.first}]", "--json").output)
    assert [(item["status"], item["content"]) for item in payload["versions"]] == [
        ("retired", NIGHTLY.format("02:00")),
        ("live", NIGHTLY.format("03:30")),
    ]
    assert {event["by"] for event in payload["events"]} == {"owner"}
    other = kos("write", BACKUP.replace("01", "02"), NIGHTLY.replace("01", "02").format("03:30"))
    assert f"Stands beside [{second.first}]: " in other.output
    undone = json.loads(kos("restore", first.first, "--instead", "--json").output)
    assert (undone["memory_id"], undone["also"]) == (first.first, [second.first])
    assert "02:00" in kos("fetch", first.first).output


def test_a_key_makes_a_repeat_harmless(kos: Kos) -> None:
    """G5: the same key twice writes once, and says so."""
    first, again = (kos("write", "Door", "It sticks in rain.", "--key", "door") for _ in range(2))
    assert "Nothing new" in again.output
    assert first.first == again.first


def test_content_is_piped_in(kos: Kos) -> None:
    """G1: `-` and nothing both read stdin, as UTF-8 with either line end."""
    for given in ([], ["-"]):
        found = kos("write", f"Log {len(given)}", *given, stdin="Grüße\r\naus dem Tal.\n".encode())
        payload = json.loads(kos("fetch", found.first, "--json").output)
        assert payload["memories"][0]["content"] == "Grüße\naus dem Tal."


@pytest.mark.parametrize(
    ("stdin", "says"), [(b"\xff\xfe", "no valid UTF-8"), (b"x" * 900_000, "more than"), (b" \n", "content is empty")]
)
def test_what_cannot_be_kept_is_refused_from_stdin_too(kos: Kos, vault: Path, stdin: bytes, says: str) -> None:
    """G1: bytes that are no text, and more than a statement may hold: nothing is written."""
    run = kos("write", "Log", stdin=stdin)
    assert isinstance(run.error, InputError)
    assert says in str(run.error)
    assert not (vault / "memories").exists()


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (["write", "A", "b", "--event-at", "2026-03-04T14:30"], InputError, "2026-03-04T14:30+01:00"),
        (["write", "A", "b", "--expires-at", "2199-01-01"], InputError, "has no zone"),
        (["write", "A", "b", "--event-at", "noon"], InputError, "not a time"),
        (["write", "A", "b", "--event-at", "0001-01-01T00:00+14:00"], InputError, "outside the years"),
        (["write", "A", "b", "--type", "working"], InputError, "expires_at"),
        (["write", "A", "b", "--confidence", "1.5"], InputError, "confidence"),
        (["write", "A", "b", "--namespace", "elsewhere"], InputError, "namespace"),
        (["write", "A", "b", "--supersedes", "12"], InputError, "not a memory id"),
        (["write", "A", "b", "--as", "a,b"], InputError, "no name of a principal"),
        (["write", "A", "b", "--as", "robo", "--namespace", "global"], AuthorityError, "G2"),
        (["history", "00000000-0000-4000-8000-000000000000"], NotFoundError, "never existed"),
        (["restore", "00000000-0000-4000-8000-000000000000"], NotFoundError, "never existed"),
        (["verify", "00000000-0000-4000-8000-000000000000", "--how", "magic"], InputError, "--how is one of"),
        (["boost", "00000000-0000-4000-8000-000000000000", "9"], InputError, "0.25"),
        (["review", "--kind", "boring"], InputError, "Kinds are"),
        (["review", "--limit", "0"], InputError, "from 1 to"),
        (["review", "adopt", "spring.md"], InputError, "ordinary note"),
    ],
)
def test_bad_input_says_what_why_and_next_and_writes_nothing(
    kos: Kos, vault: Path, arguments: list[str], error: type[KosError], says: str
) -> None:
    """S3, S10, G2: each has its own error, and no file of a statement appears."""
    run = kos(*arguments)
    assert type(run.error) is error, run.error
    assert says in str(run.error)
    assert not (vault / "memories").exists()


def test_the_owner_writes_as_an_agent_and_nobody_else_does(kos: Kos, monkeypatch: pytest.MonkeyPatch) -> None:
    """G2, V9: `--as` takes the agent's namespace, provenance and authority; only the owner lends a name."""
    written = json.loads(kos("write", "Key", "Hangs behind the barrel.", "--as", "robo", "--json").output)
    assert written["path"] == f"memories/agent/robo/{written['memory_id']}.md"
    [version] = json.loads(kos("history", written["memory_id"], "--json").output)["versions"]
    assert (version["namespace"], version["author"], version["provenance"]) == ("agent:robo", "robo", "output")
    monkeypatch.setenv("KOS_PRINCIPAL", "other")
    monkeypatch.setenv("KOS_ROLE", "agent")
    assert isinstance(kos("write", "Key", "Elsewhere.", "--as", "robo").error, AuthorityError)
    assert isinstance(kos("history", written["memory_id"]).error, NotFoundError)


def _list_as_stale(database: Settings, memory_id: str) -> None:
    with testing.connect(database) as owner:
        owner.execute(
            "insert into kos.review_items (kind, namespace, memory_id, code)"
            " values ('stale', 'shared:owner', %s, 'age')",
            [memory_id],
        )


def test_stored_text_cannot_steer_the_terminal(kos: Kos, database: Settings) -> None:
    """R2: escape sequences and bidi marks of a memory are not printed by history and review."""
    found = kos("write", "Sign", "Red \x1b[2J\u202eand gone.", "--type", "semantic")
    _list_as_stale(database, found.first)
    for said in (kos("history", found.first).output, kos("review").output):
        assert "and gone." in said
        assert "\x1b" not in said
        assert "\u202e" not in said


def test_a_stale_memory_is_verified_and_a_boost_is_set(kos: Kos, database: Settings) -> None:
    """G8, O1: who, how and when are in history; the item leaves the review list."""
    memory_id = kos("write", PORT, "The gateway listens on 8080.", "--type", "semantic").first
    _list_as_stale(database, memory_id)
    assert "never verified" in kos("review", "--kind", "stale").output
    assert "verify: test" in kos("verify", memory_id, "--how", "test").output
    assert "Nothing waits for you." in kos("review").output
    assert "boost 2" in kos("boost", memory_id, "2").output
    payload = json.loads(kos("history", memory_id, "--json").output)
    [version] = payload["versions"]
    assert (version["verified_by"], version["verified_how"], version["boost"]) == ("owner", "test", 2.0)
    assert [event["action"] for event in payload["events"]] == ["annotate", "verify", "insert"]


def test_a_contradiction_is_shown_with_dates_and_resolved(kos: Kos, database: Settings) -> None:
    """G9: both stand in the list with their dates until one is chosen; the other is forgotten."""
    left = kos("write", "Stove", "Burns pellets.", "--event-at", "2026-02-03T08:00+01:00").first
    right = kos("write", "Boiler", "Burns logs in winter.").first
    with testing.connect(database) as owner:
        owner.execute(
            "insert into kos.review_items (kind, namespace, memory_id, other_id, code)"
            " values ('contradiction', 'shared:owner', %s, %s, 'value')",
            [left, right],
        )
    shown = kos("review").output
    assert f"[{left}] Stove (2026-02-03" in shown
    assert f"[{right}] Boiler (20" in shown
    assert isinstance(kos("review", "resolve", left, right, "--keep", "none").error, InputError)
    assert right in kos("review", "resolve", left, right, "--keep", "left").output
    assert json.loads(kos("review", "--json").output) == {"items": [], "files": [], "more": False}
    assert "retired: forgotten" in kos("history", right).output


def test_a_file_of_a_person_is_listed_and_adopted(kos: Kos, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """V9: a file that the gate did not write waits in the list until the owner takes it over; nobody else may."""
    memory_id = kos("write", "Door", "It sticks in rain.", "--type", "semantic").first
    path = f"memories/shared/owner/{memory_id}.md"
    (vault / path).write_text((vault / path).read_text("utf-8").replace("in rain", "in rain and snow"), "utf-8")
    kos("ingest")
    listed = kos("review", "--kind", "refused").output
    assert path in listed
    assert "changed_after_write" in listed
    monkeypatch.setenv("KOS_ROLE", "orchestrator")
    assert isinstance(kos("review", "adopt", path).error, AuthorityError)
    monkeypatch.setenv("KOS_ROLE", "owner")
    assert f"[{memory_id}] adopt" in kos("review", "adopt", path).output
    assert "Nothing waits for you." in kos("review").output
    assert "rain and snow" in kos("fetch", memory_id).output
    assert isinstance(kos("review", "adopt", f"memories/global/{uuid4()}.md").error, NotFoundError)


@pytest.mark.parametrize("command", ["write", "history", "restore", "verify", "boost", "review"])
def test_the_help_teaches_by_an_example(kos: Kos, command: str) -> None:
    """House rule 15: each command shows one call of itself."""
    assert f"kos {command} " in kos(command, "--help").output.replace("\n", " ")
